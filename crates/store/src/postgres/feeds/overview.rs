//! How feeds and subscriptions stand, counted along indexes that hold nothing else.

use std::time::Duration;

use deadpool_postgres::Client;
use domain::{overview::FeedOverview, push::SubscriptionState};
use tokio_postgres::Error;

use crate::postgres::query;

const FEEDS: &str = "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
SELECT (SELECT count(*) FROM feeds),
       (SELECT count(*) FROM feeds WHERE NOT is_gone AND next_check_at <= (SELECT ms FROM now)),
       (SELECT count(*) FROM feeds WHERE failure_count > 0 AND NOT is_gone),
       (SELECT count(*) FROM feeds WHERE is_pushed),
       (SELECT count(*) FROM feeds WHERE is_gone),
       (SELECT min(expires_at) FROM subscriptions WHERE state = 'active') - (SELECT ms FROM now)";

const SUBSCRIPTIONS: &str = "
SELECT state, count(*)
FROM subscriptions
GROUP BY state";

pub(crate) async fn overview(client: &Client) -> Result<FeedOverview, Error> {
    let mut overview = FeedOverview::default();
    for row in query(client, FEEDS, &[]).await? {
        let count = |at: usize| u64::try_from(row.get::<_, i64>(at)).unwrap_or(0);
        let left: Option<i64> = row.get(5);
        overview = FeedOverview {
            all: count(0),
            due: count(1),
            failing: count(2),
            pushed: count(3),
            gone: count(4),
            subscriptions: Vec::new(),
            lease_left_min: left.map(|left| Duration::from_millis(u64::try_from(left).unwrap_or(0))),
        };
    }
    for row in query(client, SUBSCRIPTIONS, &[]).await? {
        let state = SubscriptionState::by_name(row.get(0));
        let count = u64::try_from(row.get::<_, i64>(1)).unwrap_or(0);
        overview.subscriptions.extend(state.map(|state| (state, count)));
    }
    Ok(overview)
}
