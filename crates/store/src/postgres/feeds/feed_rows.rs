//! The rows of feeds, written: what a document says of it, and what its subscriptions mean for it. Whoever is here
//! holds their locks.

use std::{collections::BTreeMap, time::Duration};

use deadpool_postgres::{Client, Transaction};
use domain::{FeedId, feed_state::FeedStateChange, ingest::Document};
use jiff::Timestamp;
use tokio_postgres::Error;

use crate::postgres::{
    entries::ingest::Sorted,
    execute,
    push::discovery::PushState,
    shared::values::{millis, optional, usize_to_i64},
};
use crate::target::Target;

const STATE: &str = include_str!("sql/feed_rows_state.sql");

const EFFECTS: &str = include_str!("sql/feed_rows_effects.sql");

const POLL_SOON: &str = include_str!("sql/feed_rows_poll_soon.sql");

/// What is to be done about a feed because of a subscription.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Effects {
    /// Whether a hub is trusted to push it, if that has changed.
    pub(crate) is_pushed: Option<bool>,
    /// After how many milliseconds it is to be polled, if it is to be.
    pub(crate) poll_in: Option<i64>,
    /// Entries that have come.
    pub(crate) new_entries: i64,
}

/// Writes what a document says of its feed, and ends the lease.
pub(crate) async fn write_state(
    transaction: &Transaction<'_>,
    target: Target,
    change: FeedStateChange,
    push: &PushState,
    document: &Document,
    sorted: &Sorted<'_>,
) -> Result<(), Error> {
    let (standing, validators) = (change.standing, document.validators_after(sorted.has_passed_over));
    let discovery = push.changed_discovery(document.found.as_ref());
    let (hubs, topic) = discovery.as_ref().map(|(hubs, topic)| (hubs, topic.as_deref())).unzip();
    execute(
        transaction,
        STATE,
        &[
            &target.feed_id,
            &optional(document.title.as_ref()),
            &optional(document.site_url.as_ref()),
            &optional(validators.etag.as_ref()),
            &optional(validators.last_modified.as_ref()),
            &validators.body_hash.as_ref().map(|hash| hash.0.as_slice()),
            &target.now,
            &usize_to_i64(sorted.new.len()),
            &millis(change.check_in),
            &millis(change.audit_in),
            &i64::from(change.adaptive_secs),
            &document.hints.ttl_mins.map(i64::from),
            &i64::from(document.hints.skips.hours),
            &i64::from(document.hints.skips.days),
            &hubs,
            &discovery.is_some(),
            &topic.flatten(),
            &change.due_by.map(Timestamp::as_millisecond),
            &i64::from(standing.failure_count),
            &standing.is_failing,
            &standing.is_gone,
            &optional(document.icon_url.as_ref()),
            &optional(document.logo_url.as_ref()),
        ],
    )
    .await
    .map(drop)
}

/// Writes what is to be done about feeds.
pub(crate) async fn write_effects(
    transaction: &Transaction<'_>,
    effects: &BTreeMap<i64, Effects>,
    now: i64,
) -> Result<(), Error> {
    if effects.is_empty() {
        return Ok(());
    }
    let feeds: Vec<i64> = effects.keys().copied().collect();
    let is_pushed: Vec<Option<bool>> = effects.values().map(|effects| effects.is_pushed).collect();
    let new_entries: Vec<i64> = effects.values().map(|effects| effects.new_entries).collect();
    let poll_in: Vec<Option<i64>> = effects.values().map(|effects| effects.poll_in).collect();
    execute(transaction, EFFECTS, &[&now, &feeds, &is_pushed, &new_entries, &poll_in]).await.map(drop)
}

pub(crate) async fn poll_soon(client: &Client, feed: FeedId, delay: Duration) -> Result<(), Error> {
    execute(client, POLL_SOON, &[&feed.0, &millis(delay)]).await.map(drop)
}
