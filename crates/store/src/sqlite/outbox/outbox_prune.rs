//! What is done with for too long goes, a chunk at a time: found by a reader, removed by the writer.

use domain::{
    delivery::{OutboxLimits, REMOVED_KEPT},
    ports::StoreResult,
};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    SqliteStore,
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{millis, usize_to_i64};

const WEBHOOKS: &str = "SELECT id, deleted_at FROM webhooks";

pub(crate) const OF_KIND: &str = include_str!("sql/outbox_prune_of_kind.sql");

pub(crate) const OF_REMOVED: &str = include_str!("sql/outbox_prune_of_removed.sql");

pub(crate) const EVENTS: &str = include_str!("sql/outbox_prune_events.sql");

pub(crate) const REMOVE: &str = include_str!("sql/outbox_prune_remove.sql");

pub(crate) const REMOVE_EVENTS: &str = include_str!("sql/outbox_prune_remove_events.sql");

pub(crate) const REMOVE_WEBHOOKS: &str = include_str!("sql/outbox_prune_remove_webhooks.sql");

/// What is older than these goes.
#[derive(Debug, Clone, Copy)]
struct Oldest {
    delivered: i64,
    failed: i64,
}

#[derive(Debug, Default)]
struct Prunable {
    deliveries: Vec<i64>,
    removed_webhooks: Vec<i64>,
}

pub(crate) async fn prune(store: &SqliteStore, limits: OutboxLimits) -> StoreResult<u64> {
    let now = store.now();
    let oldest =
        Oldest { delivered: now - millis(limits.delivered_older_than), failed: now - millis(limits.failed_older_than) };
    let chunk = limits.chunk;
    let found = store.slow_readers.read(move |connection| find(connection, oldest, chunk)).await?;
    let mut removed = 0;
    if !found.deliveries.is_empty() || !found.removed_webhooks.is_empty() {
        removed += store.writer.write(Priority::Usual, move |changes| remove(changes, &found, oldest)).await?;
    }
    // Only now: of these deliveries some may have been the last of their events.
    let events =
        store.slow_readers.read(move |connection| without_deliveries(connection, oldest.delivered, chunk)).await?;
    if !events.is_empty() {
        removed += store.writer.write(Priority::Usual, move |changes| remove_events(changes, &events)).await?;
    }
    Ok(removed)
}

fn find(connection: &Connection, oldest: Oldest, chunk: u32) -> Result<Prunable> {
    let most = usize::try_from(chunk).unwrap_or(usize::MAX);
    let mut found = Prunable::default();
    let mut webhooks = connection.prepare_cached(WEBHOOKS)?;
    let mut webhooks = webhooks.query([])?;
    while let Some(row) = webhooks.next()? {
        let (webhook, deleted_at): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
        if deleted_at.is_some() {
            found.removed_webhooks.push(webhook);
            let left = most - found.deliveries.len();
            let mut of_removed = connection.prepare_cached(OF_REMOVED)?;
            for id in of_removed.query_map((webhook, usize_to_i64(left)), |row| row.get(0))? {
                found.deliveries.push(id?);
            }
            continue;
        }
        for (status, before) in
            [("delivered", oldest.delivered), ("cancelled", oldest.delivered), ("failed", oldest.failed)]
        {
            let left = most - found.deliveries.len();
            find_done(connection, (webhook, status), before, left, &mut found.deliveries)?;
        }
    }
    Ok(found)
}

fn find_done(
    connection: &Connection,
    range: (i64, &str),
    before: i64,
    most: usize,
    found: &mut Vec<i64>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(OF_KIND)?;
    let mut rows = statement.query(range)?;
    let end = found.len() + most;
    while found.len() < end
        && let Some(row) = rows.next()?
    {
        if row.get::<_, i64>(1)? >= before {
            break;
        }
        if row.get::<_, Option<i64>>(2)?.is_some_and(|ended_at| ended_at < before) {
            found.push(row.get(0)?);
        }
    }
    Ok(())
}

fn without_deliveries(connection: &Connection, before: i64, chunk: u32) -> Result<Vec<i64>> {
    connection.prepare_cached(EVENTS)?.query_map((before, chunk), |row| row.get(0))?.collect()
}

fn remove(changes: &mut WriteTx<'_>, found: &Prunable, oldest: Oldest) -> Result<u64> {
    let (connection, now) = (changes.connection, changes.now());
    let mut remove = connection.prepare_cached(REMOVE)?;
    let mut attempts = connection.prepare_cached("DELETE FROM attempts WHERE delivery_id = ?")?;
    let mut removed = 0;
    for id in &found.deliveries {
        if remove.execute((id, oldest.delivered, oldest.failed))? > 0 {
            attempts.execute([id])?;
            removed += 1;
        }
    }
    for webhook in &found.removed_webhooks {
        connection.prepare_cached(REMOVE_WEBHOOKS)?.execute((webhook, now - millis(REMOVED_KEPT)))?;
    }
    Ok(removed)
}

fn remove_events(changes: &mut WriteTx<'_>, events: &[i64]) -> Result<u64> {
    let mut remove = changes.connection.prepare_cached(REMOVE_EVENTS)?;
    let mut removed = 0;
    for event in events {
        removed += u64::from(remove.execute([event])? > 0);
    }
    Ok(removed)
}
