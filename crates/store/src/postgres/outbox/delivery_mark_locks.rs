//! The rows that marks concern, locked: webhooks before deliveries, each in the order of their ids.
//!
//! Somebody else may hold one of them for long, a node that is frozen inside its transaction for instance. So rows are
//! waited for only a moment. Whoever has waited so long passes over all that is locked, and waits for nothing: the marks
//! of the others are not held up.
//!
//! Differs from the other store: SQLite has one writer, and no rows are locked.

use std::collections::HashSet;

use deadpool_postgres::Transaction;
use domain::{Lease, delivery::AttemptOutcome};
use tokio_postgres::{Error, Row};

use crate::postgres::{Params, feeds::polls, query, query_then};

/// How long a row is waited for: whoever locks one is usually done within milliseconds.
macro_rules! lock_timeout {
    () => {
        "250ms"
    };
}
pub(crate) use lock_timeout;

/// Until the end of the transaction.
const SET_LOCK_TIMEOUT: &str = concat!("SET LOCAL lock_timeout = '", lock_timeout!(), "'");

macro_rules! lock_webhooks {
    () => {
        "
SELECT id, enabled, url, deleted_at IS NOT NULL, failures, failing_since, failed_at, probes, probe_at, probe_new_at, held_until,
       account_id
FROM webhooks
WHERE id = ANY($1)
ORDER BY id
FOR NO KEY UPDATE"
    };
}

const LOCK_WEBHOOKS: &str = lock_webhooks!();

const LOCK_FREE_WEBHOOKS: &str = concat!(lock_webhooks!(), " SKIP LOCKED");

const KNOWN_WEBHOOKS: &str = "SELECT id FROM webhooks WHERE id = ANY($1)";

/// Those that still belong to whoever marks them.
macro_rules! own {
    () => {
        "
    SELECT given.place
    FROM deliveries
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY AS given (id, owner, fence, place)
        ON deliveries.id = given.id
        AND deliveries.lease_owner = given.owner
        AND deliveries.lease_fence = given.fence
    WHERE deliveries.status = 'pending'"
    };
}

/// The time is that after the wait for the locks.
macro_rules! lock {
    ($how:literal) => {
        concat!(
            "
WITH held AS MATERIALIZED (",
            own!(),
            "
    ORDER BY deliveries.id
    FOR NO KEY UPDATE OF deliveries",
            $how,
            "
)
SELECT place, pirssonite_now_ms()
FROM held"
        )
    };
}

const LOCK: &str = lock!("");

const LOCK_FREE: &str = lock!(" SKIP LOCKED");

const OWN: &str = own!();

/// What is locked now, until the transaction ends.
#[derive(Debug)]
pub(crate) struct LockedRows<'f> {
    /// The rows of webhooks.
    pub(crate) webhooks: Vec<Row>,
    /// The marks that can be stored, in the order given.
    pub(crate) free: Vec<&'f AttemptOutcome>,
    /// Those that cannot, because somebody else has locked their deliveries or webhooks.
    pub(crate) locked: Vec<&'f AttemptOutcome>,
    /// When that was; none if there is nothing to store.
    pub(crate) now: Option<i64>,
}

/// Waits for what is locked, but only a moment: then that is the [error](crate::postgres::shared::errors::is_locked).
pub(crate) async fn wait<'f>(
    transaction: &Transaction<'_>,
    finished: &[&'f AttemptOutcome],
) -> Result<LockedRows<'f>, Error> {
    let (ids, owners, fences) = polls::columns_of(leases_of(finished));
    let webhooks = webhooks_of(finished);
    let (which, guard): (Params<'_>, Params<'_>) = (&[&webhooks], &[&ids, &owners, &fences]);
    let held = query_then(transaction, LOCK_WEBHOOKS, which, query(transaction, LOCK, guard));
    let (_, (webhooks, held)) = query_then(transaction, SET_LOCK_TIMEOUT, &[], held).await?;
    Ok(LockedRows { webhooks, free: at_places(finished, &held), locked: Vec::new(), now: now_of(&held) })
}

/// Passes over what is locked. That is told from what is not there, or not theirs any more, by a look afterwards that
/// waits for nobody: whoever let go in between has left what is seen then.
pub(crate) async fn pass_over<'f>(
    transaction: &Transaction<'_>,
    finished: &[&'f AttemptOutcome],
) -> Result<LockedRows<'f>, Error> {
    let (ids, owners, fences) = polls::columns_of(leases_of(finished));
    let webhooks = webhooks_of(finished);
    let (which, guard): (Params<'_>, Params<'_>) = (&[&webhooks], &[&ids, &owners, &fences]);
    let of_deliveries = query_then(transaction, LOCK_FREE, guard, query(transaction, OWN, guard));
    let of_all = query_then(transaction, KNOWN_WEBHOOKS, which, of_deliveries);
    let (webhooks, (known, (held, own))) = query_then(transaction, LOCK_FREE_WEBHOOKS, which, of_all).await?;
    let mut elsewhere: HashSet<i64> = known.iter().map(|row| row.get(0)).collect();
    for row in &webhooks {
        elsewhere.remove(&row.get(0));
    }
    let (mut free, mut locked) = (at_places(finished, &held), at_places(finished, &own));
    free.retain(|one| !elsewhere.contains(&one.webhook_id.0));
    let is_free: HashSet<_> = free.iter().map(|one| (one.id, &one.lease)).collect();
    locked.retain(|one| !is_free.contains(&(one.id, &one.lease)));
    Ok(LockedRows { webhooks, free, locked, now: now_of(&held) })
}

pub(crate) fn webhooks_of(finished: &[&AttemptOutcome]) -> Vec<i64> {
    let mut webhooks: Vec<i64> = finished.iter().map(|one| one.webhook_id.0).collect();
    webhooks.sort_unstable();
    webhooks.dedup();
    webhooks
}

/// Those at the places, counted from 1, that rows begin with; in the order given.
pub(crate) fn at_places<'f>(finished: &[&'f AttemptOutcome], rows: &[Row]) -> Vec<&'f AttemptOutcome> {
    let places: HashSet<usize> = rows.iter().filter_map(|row| usize::try_from(row.get::<_, i64>(0)).ok()).collect();
    finished.iter().zip(1..).filter(|(_, place)| places.contains(place)).map(|(one, _)| *one).collect()
}

fn leases_of<'f>(finished: &[&'f AttemptOutcome]) -> impl Iterator<Item = (i64, &'f Lease)> {
    finished.iter().map(|one| (one.id.0, &one.lease))
}

fn now_of(held: &[Row]) -> Option<i64> {
    held.first().map(|row| row.get(1))
}
