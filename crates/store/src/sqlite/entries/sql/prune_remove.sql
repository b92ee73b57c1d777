-- Guarded once more: an entry may have been starred, or marked as unread, since it was found.
DELETE FROM entries
WHERE id = ?1
  AND (is_read = 1 OR received_at < ?2)
  AND is_starred = 0
RETURNING feed_id, is_read, identity, link_trait, title_trait, fingerprint
