//! The row of one webhook, read and written.

use std::iter;

use domain::{
    AccountId, WebhookId,
    delivery::{Breaker, Health, NewWebhook, Rate, Webhook, WebhookPatch},
};
use jiff::Timestamp;
use rusqlite::{Connection, Result, Row, params};

use crate::sqlite::shared::errors::{unfit, unreadable};
use crate::values::{
    Unreadable, headers, headers_of, ids_of, kinds_of, list, old_secrets_of, optional, text, time, to_u32,
    webhook_secret_of,
};

/// All that a webhook is made of, in the order of [`webhook_of`].
macro_rules! columns {
    () => {
        "id, url, description, enabled, event_types, feed_ids, folder_ids, headers, include_content, backlog, failures,
       disabled_reason, created_at, secret, old_secrets, rate_per_second, probe_at IS NOT NULL, held_until, account_id"
    };
}
pub(crate) use columns;

/// How its receiver stands, in the order of [`health_at`].
macro_rules! health_columns {
    () => {
        "failures, failing_since, failed_at, probes, probe_at, probe_new_at, held_until"
    };
}
pub(crate) use health_columns;

const INSERT: &str = include_str!("sql/webhook_rows_insert.sql");

const UPDATE: &str = include_str!("sql/webhook_rows_update.sql");

const HEALTH: &str = include_str!("sql/webhook_rows_health.sql");

/// Keeps a new webhook; returns its id.
pub(crate) fn insert(connection: &Connection, account: AccountId, new: &NewWebhook, now: i64) -> Result<WebhookId> {
    connection.prepare_cached(INSERT)?.execute(params![
        account.0,
        text(&new.url),
        optional(new.description.as_ref()),
        new.enabled,
        list(new.event_types.as_ref()).map_err(unfit)?,
        list(new.feed_ids.as_ref()).map_err(unfit)?,
        list(new.folder_ids.as_ref()).map_err(unfit)?,
        headers(&new.headers).map_err(unfit)?,
        new.include_content,
        new.backlog,
        new.rate_per_second.map(Rate::thousandths),
        new.secret.expose(),
        now,
    ])?;
    Ok(WebhookId(connection.last_insert_rowid()))
}

pub(crate) fn update(connection: &Connection, id: WebhookId, patch: &WebhookPatch) -> Result<()> {
    connection.prepare_cached(UPDATE)?.execute(params![
        id.0,
        optional(patch.url.as_ref()),
        patch.description.is_some(),
        patch.enabled,
        patch.description.as_ref().and_then(|description| optional(description.as_ref())),
        patch.event_types.is_some(),
        list(patch.event_types.as_ref().and_then(Option::as_ref)).map_err(unfit)?,
        patch.feed_ids.is_some(),
        list(patch.feed_ids.as_ref().and_then(Option::as_ref)).map_err(unfit)?,
        patch.folder_ids.is_some(),
        list(patch.folder_ids.as_ref().and_then(Option::as_ref)).map_err(unfit)?,
        patch.headers.as_ref().map(|list| headers(list)).transpose().map_err(unfit)?,
        patch.include_content,
        patch.backlog,
        patch.rate_per_second.is_some(),
        patch.rate_per_second.flatten().map(Rate::thousandths),
    ])?;
    Ok(())
}

/// How its receiver stands from now on.
pub(crate) fn update_health(connection: &Connection, id: WebhookId, health: &Health) -> Result<()> {
    let at = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
    let Health { failures, failing_since, failed_at, breaker, held_until } = health;
    let row = (
        id.0,
        failures,
        at(*failing_since),
        at(*failed_at),
        breaker.map_or(0, |open| open.probes),
        at(breaker.map(|open| open.probe_at)),
        at(breaker.map(|open| open.probe_new_at)),
        at(*held_until),
    );
    connection.prepare_cached(HEALTH)?.execute(row).map(drop)
}

/// From the columns that begin at this place.
pub(crate) fn health_at(row: &Row<'_>, at: usize) -> Result<Health> {
    let time_at = |place: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at + place)?.map(time));
    let (probes, probe_at, probe_new_at) = (to_u32(row.get(at + 3)?), time_at(4)?, time_at(5)?);
    let open = |probe_at| Breaker { probes, probe_at, probe_new_at: probe_new_at.unwrap_or(probe_at) };
    Ok(Health {
        failures: to_u32(row.get(at)?),
        failing_since: time_at(1)?,
        failed_at: time_at(2)?,
        breaker: probe_at.map(open),
        held_until: time_at(6)?,
    })
}

/// None if it cannot be read, which is logged: whoever asks so has work to do for the others.
pub(crate) fn readable(row: &Row<'_>, now: i64) -> Option<Webhook> {
    let webhook = webhook_of(row, now);
    if let Err(error) = &webhook {
        tracing::error!(webhook_id = row.get::<_, i64>(0).ok(), %error, "webhook unreadable");
    }
    webhook.ok()
}

/// With the secrets that are in force at this time.
pub(crate) fn webhook_of(row: &Row<'_>, now: i64) -> Result<Webhook> {
    let json = |place: usize| move |error: serde_json::Error| unreadable(place, error);
    let words = |place: usize| move |error: Unreadable| unreadable(place, error);
    let secret = webhook_secret_of(row.get_ref(13)?.as_str()?).map_err(words(13))?;
    let old_secrets = old_secrets_of(row.get_ref(14)?.as_str()?).map_err(words(14))?;
    Ok(Webhook {
        id: WebhookId(row.get(0)?),
        account_id: AccountId(row.get(18)?),
        url: row.get(1)?,
        description: row.get(2)?,
        enabled: row.get(3)?,
        event_types: kinds_of(row.get_ref(4)?.as_str_or_null()?).map_err(json(4))?,
        feed_ids: ids_of(row.get_ref(5)?.as_str_or_null()?).map_err(json(5))?,
        folder_ids: ids_of(row.get_ref(6)?.as_str_or_null()?).map_err(json(6))?,
        headers: headers_of(row.get_ref(7)?.as_str()?).map_err(words(7))?,
        include_content: row.get(8)?,
        backlog: row.get(9)?,
        rate_per_second: row.get::<_, Option<i64>>(15)?.and_then(Rate::from_thousandths),
        consecutive_failures: to_u32(row.get(10)?),
        is_breaker_open: row.get(16)?,
        held_until: row.get::<_, Option<i64>>(17)?.filter(|until| *until > now).map(time),
        disabled_reason: row.get(11)?,
        created_at: time(row.get(12)?),
        secrets: iter::once(secret).chain(old_secrets.at(time(now)).cloned()).collect(),
    })
}
