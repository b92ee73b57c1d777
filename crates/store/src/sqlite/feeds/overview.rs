//! How feeds and subscriptions stand, counted along indexes that hold nothing else.

use std::time::Duration;

use domain::{overview::FeedOverview, push::SubscriptionState};
use rusqlite::{Connection, Result};

pub(crate) const FEEDS: &str = include_str!("sql/overview_feeds.sql");

pub(crate) const SUBSCRIPTIONS: &str = include_str!("sql/overview_subscriptions.sql");

pub(crate) const LEASE: &str = include_str!("sql/overview_lease.sql");

pub(crate) fn overview(connection: &Connection, now: i64) -> Result<FeedOverview> {
    let mut overview = connection.prepare_cached(FEEDS)?.query_row([now], |row| {
        let count = |at: usize| row.get(at).map(unsigned);
        Ok(FeedOverview {
            all: count(0)?,
            due: count(1)?,
            failing: count(2)?,
            pushed: count(3)?,
            gone: count(4)?,
            ..FeedOverview::default()
        })
    })?;
    let mut states = connection.prepare_cached(SUBSCRIPTIONS)?;
    let states = states.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1).map(unsigned)?)))?;
    for state in states {
        let (state, count) = state?;
        overview.subscriptions.extend(SubscriptionState::by_name(&state).map(|state| (state, count)));
    }
    let ends_at: Option<i64> = connection.prepare_cached(LEASE)?.query_row([], |row| row.get(0))?;
    overview.lease_left_min = ends_at.map(|at| Duration::from_millis(unsigned(at - now)));
    Ok(overview)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
