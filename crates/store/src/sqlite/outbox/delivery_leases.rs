//! Leases of deliveries once they are claimed: beats, the way back, and when the next can be had.

use std::time::Duration;

use domain::{DeliveryId, Lease, WebhookId};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    outbox::delivery_claims::{Waiting, known_types, of_known_type, waiting},
    shared::writer::WriteTx,
};
use crate::values::millis;

pub(crate) const RENEW: &str = include_str!("sql/delivery_leases_renew.sql");

pub(crate) const RELEASE: &str = include_str!("sql/delivery_leases_release.sql");

/// A lease that ends much later than it is long was taken before a clock went back: it counts no more.
pub(crate) const BY_DUE: &str = concat!(
    "
-- 60000: clock::LEASE_SLACK_MS.
SELECT next_attempt_at, iif(lease_until <= ?3 + lease_ms + 60000, lease_until, 0)
FROM deliveries INDEXED BY deliveries_due
WHERE webhook_id = ?1
  AND is_tried = ?2
  AND status = 'pending'
  AND ",
    of_known_type!(),
    "
ORDER BY next_attempt_at"
);

pub(crate) const LEASED_UNTIL: &str = include_str!("sql/delivery_leases_leased_until.sql");

pub(crate) fn renew(
    changes: &mut WriteTx<'_>,
    leases: &[(DeliveryId, Lease)],
    lease: Duration,
) -> Result<Vec<DeliveryId>> {
    let (now, lease_ms) = (changes.now(), millis(lease));
    let mut statement = changes.connection.prepare_cached(RENEW)?;
    let mut lost = Vec::new();
    for (id, held) in leases {
        if statement.execute((id.0, &held.owner, held.fence, now, lease_ms))? == 0 {
            lost.push(*id);
        }
    }
    Ok(lost)
}

pub(crate) fn release(changes: &mut WriteTx<'_>, leases: &[(DeliveryId, Lease)]) -> Result<()> {
    let mut statement = changes.connection.prepare_cached(RELEASE)?;
    for (id, held) in leases {
        // Nothing to release if another has it.
        if statement.execute((id.0, &held.owner, held.fence))? > 0 {
            changes.log.deliveries();
        }
    }
    Ok(())
}

/// When the next can be claimed of any webhook but these.
pub(crate) fn next_at(connection: &Connection, but_not_to: &[WebhookId], now: i64) -> Result<Option<i64>> {
    let mut next: Option<i64> = None;
    for one in waiting(connection)? {
        let at_best = one.ready_at(one.new_at, one.tried_at, now);
        let is_later = |at_best: i64| next.is_some_and(|next| next <= at_best);
        if but_not_to.contains(&one.webhook) || at_best.is_none_or(is_later) {
            continue;
        }
        next = next.into_iter().chain(next_to(connection, &one, now)?).min();
        if next.is_some_and(|next| next <= now) {
            break;
        }
    }
    Ok(next)
}

fn next_to(connection: &Connection, one: &Waiting, now: i64) -> Result<Option<i64>> {
    let queue = |is_tried| next_in_queue(connection, one.webhook, is_tried, now);
    let at = one.ready_at(queue(false)?, queue(true)?, now);
    if one.breaker.is_none() {
        return Ok(at);
    }
    // No probe goes out while anything is being sent.
    let leased_until = leased_until(connection, one.webhook, now)?;
    Ok(at.map(|at| at.max(leased_until)))
}

/// What is claimed is due again when its lease runs out. The walk passes those that are, and ends at the first that is
/// not.
fn next_in_queue(connection: &Connection, webhook: WebhookId, is_tried: bool, now: i64) -> Result<Option<i64>> {
    let mut statement = connection.prepare_cached(BY_DUE)?;
    let mut rows = statement.query((webhook.0, is_tried, now, known_types()))?;
    let mut next: Option<i64> = None;
    while let Some(row) = rows.next()? {
        let (due_at, lease_until): (i64, i64) = (row.get(0)?, row.get(1)?);
        if next.is_some_and(|next| next <= due_at) {
            break;
        }
        let at = if lease_until > now { due_at.max(lease_until) } else { due_at };
        next = next.into_iter().chain([at]).min();
    }
    Ok(next)
}

/// When the last of the leases on deliveries to a webhook runs out; 0 if there is none.
pub(crate) fn leased_until(connection: &Connection, webhook: WebhookId, now: i64) -> Result<i64> {
    let until: Option<i64> = connection.prepare_cached(LEASED_UNTIL)?.query_row((webhook.0, now), |row| row.get(0))?;
    Ok(until.unwrap_or(0))
}
