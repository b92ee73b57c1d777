-- Differs from the other store: the other store reads this with the claim; RETURNING joins nothing here.
SELECT url, site_url, icon_url, logo_url
FROM feeds
WHERE id = ?1
