-- Differs from the other store: it has no twin because the other store stores pushes one by one, and asks with ingest_known.
-- The same of several, each in the feed of a subscription.
SELECT identity, link_trait, title_trait, fingerprint, CASE WHEN is_kept THEN NULL ELSE id END, updated_at,
       changed_at, is_thin, subscription_id
FROM (
    SELECT entries.*, subscriptions.id AS subscription_id,
           row_number() OVER (PARTITION BY subscriptions.id, entries.identity ORDER BY entries.id DESC) AS rank
    FROM unnest($1::bigint[], $2::bytea[]) AS given (subscription_id, identity)
    JOIN subscriptions ON subscriptions.id = given.subscription_id
    JOIN entries ON entries.feed_id = subscriptions.feed_id AND entries.identity = given.identity
) AS ranked
WHERE rank <= $3
UNION ALL
SELECT identity, link_trait, title_trait, fingerprint, NULL, NULL, NULL, NULL, subscription_id
FROM (
    SELECT pruned_entries.*, subscriptions.id AS subscription_id,
           row_number() OVER (PARTITION BY subscriptions.id, pruned_entries.identity) AS rank
    FROM unnest($1::bigint[], $2::bytea[]) AS given (subscription_id, identity)
    JOIN subscriptions ON subscriptions.id = given.subscription_id
    JOIN pruned_entries ON pruned_entries.feed_id = subscriptions.feed_id AND pruned_entries.identity = given.identity
) AS ranked
WHERE rank <= $3
ORDER BY 5 NULLS LAST
