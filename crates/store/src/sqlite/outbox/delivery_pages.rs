//! Pages of deliveries, and the outbox in numbers. Each webhook has its own ranges in the indexes, one for each state:
//! what is wanted is gathered from their ends, and nothing is walked that is not.

use std::collections::BTreeSet;

use domain::{
    AccountId, WebhookId,
    delivery::{DeliveryFilter, DeliveryPage, DeliveryStatus, DueRows, Overview, claimable, number_of},
    ports::Viewer,
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::outbox::{
    delivery_rows::{self, ViewContext},
    webhook_rows, webhooks,
};
use crate::values::{count, time, usize_to_i64};

const WEBHOOKS: &str = "SELECT id, enabled FROM webhooks WHERE deleted_at IS NULL";

pub(crate) const WEBHOOKS_OF: &str =
    "SELECT id, enabled FROM webhooks INDEXED BY webhooks_of_account WHERE account_id = ? AND deleted_at IS NULL";

pub(crate) const NEWEST: &str = include_str!("sql/delivery_pages_newest.sql");

pub(crate) const PENDING: &str = include_str!("sql/delivery_pages_pending.sql");

pub(crate) const DUE: &str = include_str!("sql/delivery_pages_due.sql");

pub(crate) const HELD: &str = include_str!("sql/delivery_pages_held.sql");

const HEALTH: &str = concat!("SELECT ", webhook_rows::health_columns!(), " FROM webhooks WHERE id = ?");

pub(crate) const FAILED: &str = include_str!("sql/delivery_pages_failed.sql");

pub(crate) const OLDEST: &str = include_str!("sql/delivery_pages_oldest.sql");

/// A page of at most so many, after the one with this id.
pub(crate) fn page(
    connection: &Connection,
    filter: DeliveryFilter,
    limit: usize,
    after: Option<&str>,
    shown: ViewContext<'_>,
) -> Result<DeliveryPage> {
    let before = match after {
        None => i64::MAX,
        // One that is none of ours is after all.
        Some(id) => number_of("dlv", shown.key, id).unwrap_or(0),
    };
    // One more than is shown, to know whether there is a next page.
    let ids = newest(connection, shown.account, filter, limit.saturating_add(1), before)?;
    let mut page = DeliveryPage::default();
    for id in ids.iter().rev().take(limit) {
        page.deliveries.extend(delivery_rows::one(connection, *id, shown)?);
    }
    if ids.len() > limit {
        page.next_cursor = page.deliveries.last().map(|last| last.id.clone());
    }
    Ok(page)
}

pub(crate) fn overview(connection: &Connection, viewer: Viewer, now: i64) -> Result<Overview> {
    let mut overview = Overview::default();
    let mut oldest: Option<i64> = None;
    for (id, is_enabled) in webhook_ids(connection, viewer)? {
        let number = |sql: &str| -> Result<u64> {
            connection.prepare_cached(sql)?.query_row([id.0], |row| row.get(0)).map(count)
        };
        overview.pending += number(PENDING)?;
        overview.failed += number(FAILED)?;
        let (held, held_and_due) = held(connection, id, now)?;
        overview.in_flight += held;
        if is_enabled {
            let due = |is_tried: bool| -> Result<u64> {
                connection.prepare_cached(DUE)?.query_row((id.0, is_tried, now), |row| row.get(0)).map(count)
            };
            let (new, tried) = (due(false)?, due(true)?);
            let free = (new + tried).saturating_sub(held_and_due);
            overview.ready += ready(connection, id, DueRows { free, new, tried, in_flight: held }, now)?;
        }
        let first: Option<i64> = connection.prepare_cached(OLDEST)?.query_row([id.0], |row| row.get(0)).optional()?;
        oldest = oldest.into_iter().chain(first).min();
    }
    overview.oldest_pending_age = oldest.map(|oldest| count(now - oldest) / 1000);
    Ok(overview)
}

/// Nothing is claimed for a webhook that cannot be read.
fn ready(connection: &Connection, id: WebhookId, due: DueRows, now: i64) -> Result<u64> {
    if due.free == 0 {
        return Ok(0);
    }
    let Some(webhook) = webhooks::one_readable(connection, id, now)? else { return Ok(0) };
    let health = connection.prepare_cached(HEALTH)?.query_row([id.0], |row| webhook_rows::health_at(row, 0))?;
    Ok(claimable(&webhook, due, health.breaker, time(now)))
}

fn webhook_ids(connection: &Connection, viewer: Viewer) -> Result<Vec<(WebhookId, bool)>> {
    let id_of = |row: &Row<'_>| Ok((WebhookId(row.get(0)?), row.get(1)?));
    match viewer {
        Viewer::Server => connection.prepare_cached(WEBHOOKS)?.query_map([], id_of)?.collect(),
        Viewer::Account(account) => connection.prepare_cached(WEBHOOKS_OF)?.query_map([account.0], id_of)?.collect(),
    }
}

/// The newest of a kind, at most so many. What is older than as many that are known already is not looked at.
fn newest(
    connection: &Connection,
    account: AccountId,
    filter: DeliveryFilter,
    most: usize,
    before: i64,
) -> Result<BTreeSet<i64>> {
    let mut statement = connection.prepare_cached(NEWEST)?;
    let mut found = BTreeSet::new();
    for (webhook, _) in webhook_ids(connection, Viewer::Account(account))? {
        if filter.webhook_id.is_some_and(|wanted| wanted != webhook) {
            continue;
        }
        for status in DeliveryStatus::ALL.into_iter().filter(|one| filter.status.is_none_or(|wanted| wanted == *one)) {
            let oldest = found.first().copied().filter(|_| found.len() >= most).unwrap_or(0);
            let range = (webhook.0, status.name(), before, oldest, usize_to_i64(most));
            for id in statement.query_map(range, |row| row.get::<_, i64>(0))? {
                found.insert(id?);
            }
            while found.len() > most {
                found.pop_first();
            }
        }
    }
    Ok(found)
}

fn held(connection: &Connection, webhook: WebhookId, now: i64) -> Result<(u64, u64)> {
    let mut statement = connection.prepare_cached(HELD)?;
    statement.query_row((webhook.0, now), |row| Ok((count(row.get(0)?), count(row.get(1)?))))
}
