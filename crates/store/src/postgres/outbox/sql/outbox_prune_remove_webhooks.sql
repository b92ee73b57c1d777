-- But for those that somebody holds, who may be about to queue something.
DELETE FROM webhooks
WHERE id = ANY(ARRAY(
    SELECT id
    FROM webhooks
    WHERE deleted_at <= $1
      AND NOT EXISTS (SELECT FROM deliveries WHERE webhook_id = webhooks.id)
    ORDER BY id
    FOR UPDATE SKIP LOCKED
))
