-- Differs from the other store: it has no twin because the other store stores pushes one by one, and asks with ingest_known.
-- The same of several, each in the feed of a subscription.
SELECT entries.identity, link_trait, title_trait, fingerprint, entries.id, updated_at, changed_at, is_thin, subscriptions.id
FROM unnest($1::bigint[], $2::bytea[]) AS given (subscription_id, identity)
JOIN subscriptions ON subscriptions.id = given.subscription_id
JOIN entries ON entries.feed_id = subscriptions.feed_id AND entries.identity = given.identity
UNION ALL
SELECT pruned_entries.identity, link_trait, title_trait, fingerprint, NULL, NULL, NULL, NULL, subscriptions.id
FROM unnest($1::bigint[], $2::bytea[]) AS given (subscription_id, identity)
JOIN subscriptions ON subscriptions.id = given.subscription_id
JOIN pruned_entries ON pruned_entries.feed_id = subscriptions.feed_id AND pruned_entries.identity = given.identity
ORDER BY 5 NULLS LAST
