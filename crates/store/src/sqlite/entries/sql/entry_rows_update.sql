-- Its guid is the first that it had. The latest time of change that it named stays: older versions are known by it.
UPDATE entries
SET fingerprint = ?2,
    url = ?3,
    title = ?4,
    author = ?5,
    published_at = ?6,
    updated_at = max(coalesce(updated_at, ?7), coalesce(?7, updated_at)),
    changed_at = ?8,
    categories = ?9,
    enclosures = ?10,
    is_thin = ?11,
    link_trait = ?12,
    title_trait = ?13
WHERE id = ?1
