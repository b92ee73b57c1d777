//! Feeds as the API shows them, with the subscription that each has.

use domain::{
    Feed, FeedId, FolderId,
    push::{SubscriptionState, SubscriptionView},
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::shared::errors::unreadable;
use crate::values::{count, state_of, time, to_u32};

pub(crate) const SELECT: &str = include_str!("sql/feed_rows_select.sql");

pub(crate) fn all(connection: &Connection) -> Result<Vec<Feed>> {
    connection.prepare_cached(SELECT)?.query_map([], feed_of)?.collect()
}

pub(crate) fn one(connection: &Connection, id: FeedId) -> Result<Option<Feed>> {
    connection.prepare_cached(&format!("{SELECT}\nWHERE feeds.id = ?"))?.query_row([id.0], feed_of).optional()
}

fn feed_of(row: &Row<'_>) -> Result<Feed> {
    Ok(Feed {
        id: FeedId(row.get(0)?),
        url: row.get(1)?,
        has_credentials: row.get(24)?,
        site_url: row.get(2)?,
        title: row.get(3)?,
        custom_title: row.get(4)?,
        folder_id: row.get::<_, Option<i64>>(5)?.map(FolderId),
        last_fetched_at: row.get::<_, Option<i64>>(6)?.map(time),
        next_check_at: time(row.get(7)?),
        failure_count: to_u32(row.get(8)?),
        last_error: row.get(9)?,
        is_gone: row.get(10)?,
        unread_count: count(row.get(11)?),
        poll_interval: row.get::<_, Option<i64>>(12)?.map(to_u32),
        push_enabled: row.get(13)?,
        subscription: subscription_of(row)?,
    })
}

/// The current one, if there is one.
fn subscription_of(row: &Row<'_>) -> Result<Option<SubscriptionView>> {
    let Some(hub_url) = row.get(14)? else { return Ok(None) };
    let state = state_of(row.get_ref(16)?.as_str()?).map_err(|error| unreadable(16, error))?;
    Ok(Some(SubscriptionView {
        feed_id: Some(FeedId(row.get(0)?)),
        hub_url,
        topic_url: row.get(15)?,
        state,
        is_active: state == SubscriptionState::Active,
        lease_seconds: row.get::<_, Option<i64>>(17)?.map(to_u32),
        expires_at: row.get::<_, Option<i64>>(18)?.map(time),
        error_count: to_u32(row.get(19)?),
        last_error: row.get(20)?,
        last_push_at: row.get::<_, Option<i64>>(21)?.map(time),
        push_count: count(row.get(22)?),
        miss_count: count(row.get(23)?),
    }))
}
