-- Differs from the other store: the other store remembers in the statement that removes (prune_remove).
INSERT INTO pruned_entries (feed_id, identity, link_trait, title_trait, fingerprint)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
