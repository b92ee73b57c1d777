-- Finding due steps of other hubs than those that are busy goes from hub to hub, and does not walk what is due at those.
CREATE INDEX subscriptions_due_by_hub ON subscriptions (hub_url, next_step_at, id) WHERE next_step_at IS NOT NULL;
