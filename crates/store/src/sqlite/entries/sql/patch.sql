-- Nothing if it is so already.
UPDATE entry_states
SET is_read = coalesce(?3, is_read),
    is_starred = coalesce(?4, is_starred),
    modified_at = max(modified_at, ?5)
WHERE entry_id = ?1
  AND account_id = ?2
  AND (is_read <> coalesce(?3, is_read) OR is_starred <> coalesce(?4, is_starred))
