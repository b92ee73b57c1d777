-- Differs from the other store: events and deliveries in one statement, where the other store has one for each (events_event,
-- events_delivery).
-- Ids are taken first, in the order given. Deliveries find the one of their event by its place: a join of two lists whose
-- lengths the planner cannot know might compare each with each.
WITH given AS MATERIALIZED (
    SELECT nextval('events_id_seq') AS id, given.*
    FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[], $8::text[], $9::text[])
        WITH ORDINALITY
        AS given (type, feed_id, account_id, webhook_id, entry_id, is_backlog, feed, data, place)
), new_events AS (
    INSERT INTO events (id, type, created_at, feed_id, account_id, webhook_id, entry_id, is_backlog, feed, size, data)
    SELECT id, type, $1, feed_id, account_id, webhook_id, entry_id, is_backlog, feed, octet_length(data), data
    FROM given
)
INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at)
SELECT (SELECT array_agg(id ORDER BY place) FROM given)[queued.place], queued.webhook_id, $1, $1
FROM unnest($10::bigint[], $11::bigint[]) AS queued (place, webhook_id)
RETURNING id
