-- Numbers become visible in the order of commits, not in their own. So whoever takes some says first that it will: it
-- holds, until its end, a lock whose key is the last number that was taken before (see `unsettled.sql`). Nobody waits for
-- it.
WITH held AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared($1::bigint + last_value)
    FROM changes_number_seq
)
INSERT INTO changes (kind, account_id, feed_id, count, entry_ids, at)
SELECT given.kind, given.account_id, given.feed_id, given.count, given.entry_ids::bigint[], pirssonite_now_ms()
FROM held
CROSS JOIN unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[]) WITH ORDINALITY
    AS given (kind, account_id, feed_id, count, entry_ids, place)
ORDER BY given.place
