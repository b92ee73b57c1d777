//! What people do to deliveries: queue them, queue them again, call them off.

use std::collections::HashMap;

use domain::{
    AccountId, WebhookId,
    delivery::{DeliveryStatus, DomainEvent, EventType, Follows, Moved, PayloadWebhook, fan_out, number_of},
    ports::{StoreResult, TestOutcome},
};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    SqliteStore,
    outbox::{
        delivery_rows::{self, ViewContext},
        events, webhooks,
    },
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{DUE_FIRST_MS, text};

/// Deliveries in one transaction, when all that failed are queued again.
const CHUNK: u32 = 500;

const REQUEUE: &str = include_str!("sql/delivery_moves_requeue.sql");

const CANCEL: &str = include_str!("sql/delivery_moves_cancel.sql");

pub(crate) const SEND_AT_ONCE: &str = include_str!("sql/delivery_moves_send_at_once.sql");

const PROBE_NOW: &str = include_str!("sql/delivery_moves_probe_now.sql");

/// Before all else that waits for its webhook.
const PUT_FIRST: &str = "UPDATE deliveries SET next_attempt_at = ?2 WHERE id = ?1";

pub(crate) const FAILED: &str = include_str!("sql/delivery_moves_failed.sql");

pub(crate) fn test(changes: &mut WriteTx<'_>, account: AccountId, key: &str, id: WebhookId) -> Result<TestOutcome> {
    let (connection, now) = (changes.connection, changes.now());
    let Some(webhook) = webhooks::one(connection, account, id, now)? else { return Ok(TestOutcome::NotFound) };
    if !webhook.enabled {
        return Ok(TestOutcome::Disabled);
    }
    let about = PayloadWebhook::new(id, &webhook.url, webhook.disabled_reason.clone());
    let events = [DomainEvent::Webhook(EventType::WebhookTest, account, about)];
    connection.prepare_cached(PROBE_NOW)?.execute((id.0, now))?;
    // It is the last row that this inserts.
    events::queue(changes, &fan_out(&[webhook], &Follows::new(), &HashMap::new(), &events))?;
    let row = connection.last_insert_rowid();
    connection.prepare_cached(PUT_FIRST)?.execute((row, DUE_FIRST_MS))?;
    let queued = delivery_rows::one(connection, row, ViewContext { account, key, now })?;
    queued.map(|delivery| TestOutcome::Queued(Box::new(delivery))).ok_or(rusqlite::Error::QueryReturnedNoRows)
}

pub(crate) fn requeue(changes: &mut WriteTx<'_>, account: AccountId, key: &str, id: &str) -> Result<Moved> {
    move_one(changes, account, key, id, |changes, id, status| {
        if !status.can_requeue() {
            return Ok(false);
        }
        requeue_row(changes, id, changes.now())?;
        Ok(true)
    })
}

pub(crate) fn cancel(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    key: &str,
    id: &str,
    reason: &str,
) -> Result<Moved> {
    move_one(changes, account, key, id, |changes, id, status| {
        if !status.can_cancel() {
            return Ok(false);
        }
        changes.connection.prepare_cached(CANCEL)?.execute((id, text(reason), changes.now()))?;
        changes.log.deliveries();
        Ok(true)
    })
}

/// Queues all that failed of a webhook again, a chunk at a time: what fails meanwhile once more is not queued twice.
pub(crate) async fn requeue_failed(
    store: &SqliteStore,
    account: AccountId,
    webhook: WebhookId,
) -> StoreResult<Option<u64>> {
    let (mut after, mut queued) = (0, 0);
    loop {
        let work = move |changes: &mut WriteTx<'_>| requeue_some(changes, account, webhook, after);
        let Some(ids) = store.writer.write(Priority::Usual, work).await? else { return Ok(None) };
        let Some(last) = ids.last() else { return Ok(Some(queued)) };
        after = *last;
        queued += u64::try_from(ids.len()).unwrap_or(u64::MAX);
    }
}

/// Makes all that waits for a webhook due now. Whoever does that has to say that something is queued.
pub(crate) fn send_at_once(connection: &Connection, webhook: WebhookId, now: i64) -> Result<()> {
    connection.prepare_cached(SEND_AT_ONCE)?.execute((webhook.0, now)).map(drop)
}

/// Queues a row again, whatever became of it.
pub(crate) fn requeue_row(changes: &mut WriteTx<'_>, id: i64, now: i64) -> Result<()> {
    changes.connection.prepare_cached(REQUEUE)?.execute((id, now))?;
    changes.log.deliveries();
    Ok(())
}

fn requeue_some(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    webhook: WebhookId,
    after: i64,
) -> Result<Option<Vec<i64>>> {
    if !webhooks::exists(changes.connection, account, webhook)? {
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
    account: AccountId,
    key: &str,
    id: &str,
    change: impl FnOnce(&mut WriteTx<'_>, i64, DeliveryStatus) -> Result<bool>,
) -> Result<Moved> {
    let shown = ViewContext { account, key, now: changes.now() };
    let Some(row) = number_of("dlv", key, id) else { return Ok(Moved::NotFound) };
    let before = delivery_rows::one(changes.connection, row, shown)?.filter(|delivery| delivery.id == id);
    let (Some(before), id) = (before, row) else { return Ok(Moved::NotFound) };
    if !change(changes, id, before.delivery_status)? {
        return Ok(Moved::WrongState(before.delivery_status));
    }
    let after = delivery_rows::one(changes.connection, id, shown)?;
    Ok(after.map_or(Moved::NotFound, |delivery| Moved::Done(Box::new(delivery))))
}
