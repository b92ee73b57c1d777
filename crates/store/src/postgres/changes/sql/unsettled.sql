-- Differs from the other store: the other store has one writer, so numbers are visible in their order.
-- All numbers after this may still be taken back, or not be visible yet: the smallest key that a writer holds. A key is
-- one number, with ours in front, and is shown here in its halves.
SELECT min((classid::bigint << 32 | objid::bigint) - $1::bigint)
FROM pg_locks
WHERE locktype = 'advisory'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND objsubid = 1
  AND classid::bigint >> 16 = $1::bigint >> 48
