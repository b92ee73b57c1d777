//! What people do to deliveries: queue them, queue them again, call them off.

use std::collections::HashMap;

use domain::{
    WebhookId,
    delivery::{DeliveryStatus, DomainEvent, EventType, Moved, PayloadWebhook, fan_out, number_of},
    ports::{StoreResult, TestOutcome},
};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    SqliteStore,
    outbox::{
        delivery_rows::{self, Shown},
        events, webhooks,
    },
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{DUE_FIRST_MS, text};

/// Deliveries in one transaction, when all that failed are queued again.
const CHUNK: u32 = 500;

/// As if it were new, but for its log: it has all its attempts again.
const REQUEUE: &str = "
UPDATE deliveries
SET status = 'pending',
    attempts = 0,
    next_attempt_at = ?2,
    last_status = NULL,
    last_error = NULL,
    reason = NULL,
    ended_at = NULL,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1";

/// Whoever sends it just now has lost the lease.
const CANCEL: &str = "
UPDATE deliveries
SET status = 'cancelled',
    reason = ?2,
    ended_at = ?3,
    lease_owner = NULL,
    lease_until = 0,
    lease_fence = lease_fence + 1
WHERE id = ?1";

/// What waits for a later time, of whichever line.
pub(crate) const HURRY: &str = "
UPDATE deliveries INDEXED BY deliveries_due
SET next_attempt_at = ?2
WHERE webhook_id = ?1
  AND is_tried IN (0, 1)
  AND status = 'pending'
  AND next_attempt_at > ?2";

/// A test is the next probe if the breaker is open.
const PROBE_NOW: &str = "
UPDATE webhooks
SET probe_new_at = ?2
WHERE id = ?1
  AND probe_at IS NOT NULL";

/// Before all else that waits for its webhook.
const PUT_FIRST: &str = "UPDATE deliveries SET next_attempt_at = ?2 WHERE id = ?1";

pub(crate) const FAILED: &str = "
SELECT id
FROM deliveries INDEXED BY deliveries_by_status
WHERE webhook_id = ?
  AND status = 'failed'
  AND id > ?
ORDER BY id
LIMIT ?";

pub(crate) fn test(changes: &mut WriteTx<'_>, key: &str, id: WebhookId) -> Result<TestOutcome> {
    let (connection, now) = (changes.connection, changes.now());
    let Some(webhook) = webhooks::one(connection, id, now)? else { return Ok(TestOutcome::NotFound) };
    if !webhook.enabled {
        return Ok(TestOutcome::Disabled);
    }
    let about = PayloadWebhook::new(id, &webhook.url, webhook.disabled_reason.clone());
    let news = [DomainEvent::Webhook(EventType::WebhookTest, about)];
    connection.prepare_cached(PROBE_NOW)?.execute((id.0, now))?;
    // It is the last row that this inserts.
    events::queue(changes, &fan_out(&[webhook], &HashMap::new(), &news))?;
    let row = connection.last_insert_rowid();
    connection.prepare_cached(PUT_FIRST)?.execute((row, DUE_FIRST_MS))?;
    let queued = delivery_rows::one(connection, row, Shown { key, now })?;
    queued.map(|delivery| TestOutcome::Queued(Box::new(delivery))).ok_or(rusqlite::Error::QueryReturnedNoRows)
}

pub(crate) fn requeue(changes: &mut WriteTx<'_>, key: &str, id: &str) -> Result<Moved> {
    move_one(changes, key, id, |changes, id, status| {
        if !matches!(status, DeliveryStatus::Failed | DeliveryStatus::Delivered) {
            return Ok(false);
        }
        requeue_row(changes, id, changes.now())?;
        Ok(true)
    })
}

pub(crate) fn cancel(changes: &mut WriteTx<'_>, key: &str, id: &str, reason: &str) -> Result<Moved> {
    move_one(changes, key, id, |changes, id, status| {
        if !matches!(status, DeliveryStatus::Pending | DeliveryStatus::Failed) {
            return Ok(false);
        }
        changes.connection.prepare_cached(CANCEL)?.execute((id, text(reason), changes.now()))?;
        Ok(true)
    })
}

/// Queues all that failed of a webhook again, a chunk at a time: what fails meanwhile once more is not queued twice.
pub(crate) async fn requeue_failed(store: &SqliteStore, webhook: WebhookId) -> StoreResult<Option<u64>> {
    let (mut after, mut queued) = (0, 0);
    loop {
        let chunk = store.writer.write(Priority::Usual, move |changes| requeue_some(changes, webhook, after)).await?;
        let Some(ids) = chunk else { return Ok(None) };
        let Some(last) = ids.last() else { return Ok(Some(queued)) };
        after = *last;
        queued += u64::try_from(ids.len()).unwrap_or(u64::MAX);
    }
}

/// Makes all that waits for a webhook due now. Whoever does that has to say that something is queued.
pub(crate) fn hurry(connection: &Connection, webhook: WebhookId, now: i64) -> Result<()> {
    connection.prepare_cached(HURRY)?.execute((webhook.0, now)).map(drop)
}

/// Queues a row again, whatever became of it.
pub(crate) fn requeue_row(changes: &mut WriteTx<'_>, id: i64, now: i64) -> Result<()> {
    changes.connection.prepare_cached(REQUEUE)?.execute((id, now))?;
    changes.outbox.set_queued();
    Ok(())
}

fn requeue_some(changes: &mut WriteTx<'_>, webhook: WebhookId, after: i64) -> Result<Option<Vec<i64>>> {
    if !webhooks::exists(changes.connection, webhook)? {
        return Ok(None);
    }
    let ids = failed(changes.connection, webhook, after)?;
    let now = changes.now();
    for id in &ids {
        requeue_row(changes, *id, now)?;
    }
    Ok(Some(ids))
}

fn failed(connection: &Connection, webhook: WebhookId, after: i64) -> Result<Vec<i64>> {
    connection.prepare_cached(FAILED)?.query_map((webhook.0, after, CHUNK), |row| row.get(0))?.collect()
}

/// Changes a delivery, unless it stands so that it cannot be.
fn move_one(
    changes: &mut WriteTx<'_>,
    key: &str,
    id: &str,
    change: impl FnOnce(&mut WriteTx<'_>, i64, DeliveryStatus) -> Result<bool>,
) -> Result<Moved> {
    let shown = Shown { key, now: changes.now() };
    let Some(id) = number_of("dlv", key, id) else { return Ok(Moved::NotFound) };
    let Some(before) = delivery_rows::one(changes.connection, id, shown)? else { return Ok(Moved::NotFound) };
    if !change(changes, id, before.delivery_status)? {
        return Ok(Moved::WrongState(before.delivery_status));
    }
    let after = delivery_rows::one(changes.connection, id, shown)?;
    Ok(after.map_or(Moved::NotFound, |delivery| Moved::Done(Box::new(delivery))))
}
