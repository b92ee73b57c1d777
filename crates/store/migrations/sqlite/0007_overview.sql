-- What is counted for `/metrics`, without walking whole tables.
CREATE INDEX feeds_failing ON feeds (failure_count, is_gone) WHERE failure_count > 0 AND is_gone = 0;
CREATE INDEX feeds_pushed ON feeds (is_pushed) WHERE is_pushed = 1;
CREATE INDEX feeds_gone ON feeds (is_gone) WHERE is_gone = 1;
CREATE INDEX subscriptions_by_state ON subscriptions (state);
