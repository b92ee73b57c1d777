INSERT INTO entries (
    feed_id, identity, fingerprint, guid, url, title, author, published_at, updated_at, sort_at, received_at, changed_at,
    categories, enclosures, is_thin, link_trait, title_trait
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13, ?14, ?15, ?16)
