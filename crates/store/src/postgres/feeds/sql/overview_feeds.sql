WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
SELECT (SELECT count(*) FROM feeds),
       (SELECT count(*) FROM feeds WHERE NOT is_gone AND next_check_at <= (SELECT ms FROM now)),
       (SELECT count(*) FROM feeds WHERE failure_count > 0 AND NOT is_gone),
       (SELECT count(*) FROM feeds WHERE is_pushed),
       (SELECT count(*) FROM feeds WHERE is_gone),
       (SELECT min(expires_at) FROM subscriptions WHERE state = 'active') - (SELECT ms FROM now)
