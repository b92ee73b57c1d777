INSERT INTO pruned_entries (feed_id, identity, link_trait, title_trait, fingerprint)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
