//! How feeds and subscriptions stand, counted along indexes that hold nothing else.

use std::time::Duration;

use deadpool_postgres::Client;
use domain::{overview::FeedOverview, push::SubscriptionState};
use tokio_postgres::Error;

use crate::postgres::query;

const FEEDS: &str = include_str!("sql/overview_feeds.sql");

const SUBSCRIPTIONS: &str = include_str!("sql/overview_subscriptions.sql");

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
