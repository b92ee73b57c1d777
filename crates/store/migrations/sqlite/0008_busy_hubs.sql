-- Due steps hub by hub, for claims that pass over hubs which are busy. Twin of postgres/0008_busy_hubs.sql.
CREATE INDEX subscriptions_due_at_hub ON subscriptions (hub_url, next_step_at, id) WHERE next_step_at IS NOT NULL;
