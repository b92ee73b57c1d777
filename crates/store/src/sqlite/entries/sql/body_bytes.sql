-- Differs from the other store: the other store adds up the bytes in the statement of the page (pages.rs).
-- Bytes of its long texts.
SELECT coalesce(octet_length(summary), 0) + coalesce(octet_length(content), 0)
FROM entry_bodies
WHERE entry_id = ?
