//! Leases of deliveries once they are claimed: beats, the way back, and when the next can be had.

use std::time::Duration;

use domain::{DeliveryId, Lease, WebhookId};
use rusqlite::{Connection, Result};

use super::{
    delivery_claims::{Waiting, waiting},
    writer::Changes,
};
use crate::values::millis;

/// A lease that ran out but that nobody else has taken is still good.
pub(super) const RENEW: &str = "
UPDATE deliveries
SET lease_until = ?4
WHERE id = ?1
  AND lease_owner = ?2
  AND lease_fence = ?3
  AND status = 'pending'";

pub(super) const RELEASE: &str = "
UPDATE deliveries
SET lease_owner = NULL,
    lease_until = 0
WHERE id = ?1
  AND lease_owner = ?2
  AND lease_fence = ?3
  AND status = 'pending'";

pub(super) const BY_DUE: &str = "
SELECT next_attempt_at, lease_until
FROM deliveries INDEXED BY deliveries_due
WHERE webhook_id = ?
  AND status = 'pending'
ORDER BY next_attempt_at";

/// When the last of the leases runs out that are held on deliveries to a webhook.
pub(super) const HELD_UNTIL: &str = "
SELECT max(lease_until)
FROM deliveries INDEXED BY deliveries_held
WHERE webhook_id = ?
  AND lease_owner IS NOT NULL";

pub(super) fn renew(
    changes: &mut Changes<'_>,
    leases: &[(DeliveryId, Lease)],
    lease: Duration,
) -> Result<Vec<DeliveryId>> {
    let until = changes.now() + millis(lease);
    let mut statement = changes.connection.prepare_cached(RENEW)?;
    let mut lost = Vec::new();
    for (id, held) in leases {
        if statement.execute((id.0, &held.owner, held.fence, until))? == 0 {
            lost.push(*id);
        }
    }
    Ok(lost)
}

pub(super) fn release(changes: &mut Changes<'_>, leases: &[(DeliveryId, Lease)]) -> Result<()> {
    let mut statement = changes.connection.prepare_cached(RELEASE)?;
    for (id, held) in leases {
        // Nothing to give back if another has it.
        if statement.execute((id.0, &held.owner, held.fence))? > 0 {
            changes.outbox.set_queued();
        }
    }
    Ok(())
}

/// When the next can be claimed of any webhook but these.
pub(super) fn next_at(connection: &Connection, but_not_to: &[WebhookId], now: i64) -> Result<Option<i64>> {
    let mut next: Option<i64> = None;
    for one in waiting(connection)? {
        if but_not_to.contains(&one.webhook) || next.is_some_and(|next| next <= one.first_at) {
            continue;
        }
        let at = next_to(connection, &one, now)?;
        next = Some(next.map_or(at, |next| next.min(at)));
        if at <= now {
            break;
        }
    }
    Ok(next)
}

/// What is claimed is due again when its lease runs out. The walk passes those that are, and ends at the first that is
/// not.
fn next_to(connection: &Connection, one: &Waiting, now: i64) -> Result<i64> {
    let mut statement = connection.prepare_cached(BY_DUE)?;
    let mut rows = statement.query([one.webhook.0])?;
    let mut next = i64::MAX;
    while let Some(row) = rows.next()? {
        let (due_at, lease_until): (i64, i64) = (row.get(0)?, row.get(1)?);
        if next <= due_at {
            break;
        }
        next = next.min(if lease_until > now { due_at.max(lease_until) } else { due_at });
    }
    if !one.is_broken() {
        return Ok(next);
    }
    // No probe goes out before its time, nor while anything is being sent.
    Ok(next.max(one.probe_at.unwrap_or(0)).max(held_until(connection, one.webhook)?))
}

pub(super) fn held_until(connection: &Connection, webhook: WebhookId) -> Result<i64> {
    let until: Option<i64> = connection.prepare_cached(HELD_UNTIL)?.query_row([webhook.0], |row| row.get(0))?;
    Ok(until.unwrap_or(0))
}
