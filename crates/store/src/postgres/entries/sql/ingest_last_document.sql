INSERT INTO last_documents (feed_id, identities, stored_at)
VALUES ($1, $2, $3)
ON CONFLICT (feed_id) DO UPDATE
SET identities = excluded.identities,
    stored_at = excluded.stored_at
