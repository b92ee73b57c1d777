-- Its guid is the first that it had.
UPDATE entries
SET fingerprint = ?2,
    url = ?3,
    title = ?4,
    author = ?5,
    published_at = ?6,
    updated_at = ?7,
    changed_at = ?8,
    categories = ?9,
    enclosures = ?10,
    is_thin = ?11,
    link_trait = ?12,
    title_trait = ?13
WHERE id = ?1
