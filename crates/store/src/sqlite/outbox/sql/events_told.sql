UPDATE entries
SET update_told_at = ?2
WHERE id = ?1
  AND update_told_at <= ?2 - ?3
