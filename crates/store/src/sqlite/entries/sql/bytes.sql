-- Differs from the other store: the other store adds up the bytes in the statement of the page (pages.rs).
-- Bytes of an entry's texts, which are not read for it.
SELECT octet_length(guid) + coalesce(octet_length(url), 0) + coalesce(octet_length(title), 0)
       + coalesce(octet_length(author), 0) + octet_length(categories) + octet_length(enclosures)
FROM entries
WHERE id = ?
