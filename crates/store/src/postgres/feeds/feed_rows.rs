//! The rows of feeds, written: what a document says of it, and what its subscriptions mean for it. Whoever is here
//! holds their locks.

use std::{collections::BTreeMap, time::Duration};

use deadpool_postgres::{Client, Transaction};
use domain::{
    FeedId,
    ingest::{Document, Validators},
};
use tokio_postgres::Error;

use crate::postgres::{
    entries::ingest::{Sorted, Target},
    execute,
    push::discovery::PushState,
    shared::values::{millis, optional, usize_to_i64},
};

/// It is due again when the schedule says, or if a hub is trusted to push it, when that is to be checked. A claim takes
/// the wish for a poll away: one that is there came later, and is not put off.
const STATE: &str = "
UPDATE feeds
SET title = coalesce($2, title),
    site_url = coalesce($3, site_url),
    etag = $4,
    last_modified = $5,
    body_hash = $6,
    last_fetched_at = $7,
    failure_count = 0,
    last_error = NULL,
    is_gone = false,
    is_failing = false,
    unread_count = unread_count + $8,
    entry_count = entry_count + $8,
    next_check_at = least($7 + CASE WHEN is_pushed THEN $10::bigint ELSE $9 END,
                          CASE WHEN poll_wanted_at > 0 THEN next_check_at END, $18::bigint),
    adaptive_secs = $11,
    ttl_mins = $12,
    skip_hours = $13,
    skip_days = $14,
    hubs = coalesce($15, hubs),
    topic_url = CASE WHEN $16 THEN $17 ELSE topic_url END,
    lease_owner = NULL,
    lease_until = 0
WHERE id = $1";

/// A feed that is being polled just now is polled once more: what that brings may be older than the wish. One that is
/// gone is not woken.
const EFFECTS: &str = "
UPDATE feeds
SET is_pushed = coalesce(given.is_pushed, feeds.is_pushed),
    unread_count = unread_count + given.new_entries,
    entry_count = entry_count + given.new_entries,
    poll_wanted_at = CASE WHEN given.poll_in IS NULL OR is_gone THEN poll_wanted_at ELSE $1 END,
    next_check_at = CASE
        WHEN given.poll_in IS NULL OR is_gone THEN next_check_at
        WHEN lease_until > $1 THEN $1 + given.poll_in
        ELSE least(next_check_at, $1 + given.poll_in)
    END
FROM unnest($2::bigint[], $3::boolean[], $4::bigint[], $5::bigint[]) AS given (id, is_pushed, new_entries, poll_in)
WHERE feeds.id = given.id";

/// The same, for whoever does not hold the lock yet. The time is that after the wait for it.
const POLL_SOON: &str = "
WITH held AS MATERIALIZED (
    SELECT id
    FROM feeds
    WHERE id = $1
      AND NOT is_gone
    FOR NO KEY UPDATE
),
now AS MATERIALIZED (
    SELECT id, pirssonite_now_ms() AS ms
    FROM held
)
UPDATE feeds
SET poll_wanted_at = now.ms,
    next_check_at = CASE
        WHEN lease_until > now.ms THEN now.ms + $2
        ELSE least(next_check_at, now.ms + $2)
    END
FROM now
WHERE feeds.id = now.id";

/// When a feed is to be polled again, in milliseconds from now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) check_in: i64,
    pub(crate) audit_in: i64,
    /// No later than this.
    pub(crate) due_by: Option<i64>,
    pub(crate) adaptive_secs: i64,
}

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

/// Writes what a document says of its feed, and gives the lease back.
pub(crate) async fn write_state(
    transaction: &Transaction<'_>,
    target: Target,
    schedule: Schedule,
    push: &PushState,
    document: &Document,
    sorted: &Sorted<'_>,
) -> Result<(), Error> {
    let none = Validators::default();
    // Something newer is there: the next poll asks for the whole again, and will see.
    let validators = if sorted.has_passed_over { &none } else { &document.validators };
    let news = push.news(document.found.as_ref());
    let (hubs, topic) = news.as_ref().map(|(hubs, topic)| (hubs, topic.as_deref())).unzip();
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
            &schedule.check_in,
            &schedule.audit_in,
            &schedule.adaptive_secs,
            &document.asks.ttl_mins.map(i64::from),
            &i64::from(document.asks.skips.hours),
            &i64::from(document.asks.skips.days),
            &hubs,
            &news.is_some(),
            &topic.flatten(),
            &schedule.due_by,
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
