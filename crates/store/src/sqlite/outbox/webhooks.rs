//! Webhooks: found, made, changed, removed. Whoever changes one makes the writer read the listeners anew.

use std::time::Duration;

use domain::{
    AccountId, WebhookId,
    delivery::{NewWebhook, Webhook, WebhookPatch, WebhookSecret},
};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::sqlite::{
    outbox::{
        delivery_moves,
        webhook_rows::{self, columns, readable, webhook_of},
    },
    shared::{
        errors::{unfit, unreadable},
        writer::WriteTx,
    },
};
use crate::values::{headers_of, millis, old_secrets, old_secrets_of, time, webhook_secret_of};

pub(crate) const ALL: &str = concat!(
    "SELECT ",
    columns!(),
    "
FROM webhooks INDEXED BY webhooks_of_account
WHERE account_id = ?
  AND deleted_at IS NULL
ORDER BY id"
);

pub(crate) const BY_ID: &str =
    concat!("SELECT ", columns!(), "\nFROM webhooks\nWHERE id = ?\n  AND deleted_at IS NULL");

pub(crate) const ENABLED: &str = concat!(
    "SELECT ",
    columns!(),
    "\nFROM webhooks\nWHERE account_id = ?\n  AND enabled = 1\n  AND deleted_at IS NULL\nORDER BY id"
);

const DELETE: &str = include_str!("sql/webhooks_delete.sql");

const DELETE_ALL: &str = include_str!("sql/webhooks_delete_all.sql");

const SECRETS: &str = "SELECT secret, old_secrets FROM webhooks WHERE id = ? AND account_id = ? AND deleted_at IS NULL";

const STORED: &str = "SELECT enabled, headers FROM webhooks WHERE id = ? AND account_id = ? AND deleted_at IS NULL";

const EXISTS: &str = "SELECT 1 FROM webhooks WHERE id = ? AND account_id = ? AND deleted_at IS NULL";

const ROTATE: &str = include_str!("sql/webhooks_rotate.sql");

pub(crate) fn all(connection: &Connection, account: AccountId, now: i64) -> Result<Vec<Webhook>> {
    connection.prepare_cached(ALL)?.query_map([account.0], |row| webhook_of(row, now))?.collect()
}

/// One of the account's.
pub(crate) fn one(connection: &Connection, account: AccountId, id: WebhookId, now: i64) -> Result<Option<Webhook>> {
    if exists(connection, account, id)? { receiver(connection, id, now) } else { Ok(None) }
}

pub(crate) fn receiver(connection: &Connection, id: WebhookId, now: i64) -> Result<Option<Webhook>> {
    connection.prepare_cached(BY_ID)?.query_row([id.0], |row| webhook_of(row, now)).optional()
}

/// The same, for whoever has work to do for others too: one that cannot be read is none.
pub(crate) fn one_readable(connection: &Connection, id: WebhookId, now: i64) -> Result<Option<Webhook>> {
    let one = connection.prepare_cached(BY_ID)?.query_row([id.0], |row| Ok(readable(row, now))).optional()?;
    Ok(one.flatten())
}

/// Those of an account that events may be for. One that cannot be read gets no events, and does not stop those of
/// others.
pub(crate) fn enabled(connection: &Connection, account: AccountId, now: i64) -> Result<Vec<Webhook>> {
    let mut statement = connection.prepare_cached(ENABLED)?;
    statement.query_map([account.0], |row| Ok(readable(row, now)))?.filter_map(Result::transpose).collect()
}

pub(crate) fn exists(connection: &Connection, account: AccountId, id: WebhookId) -> Result<bool> {
    connection.prepare_cached(EXISTS)?.exists((id.0, account.0))
}

pub(crate) fn create(changes: &mut WriteTx<'_>, account: AccountId, new: &NewWebhook) -> Result<Webhook> {
    let now = changes.now();
    let id = webhook_rows::insert(changes.connection, account, new, now)?;
    changes.outbox.forget_listeners();
    changes.log.webhooks(account);
    receiver(changes.connection, id, now)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

pub(crate) fn update(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    id: WebhookId,
    patch: &WebhookPatch,
) -> Result<Option<Webhook>> {
    let (connection, now) = (changes.connection, changes.now());
    let stored = connection
        .prepare_cached(STORED)?
        .query_row((id.0, account.0), |row| Ok((row.get::<_, bool>(0)?, row.get::<_, String>(1)?)))
        .optional()?;
    let Some((was_enabled, stored)) = stored else { return Ok(None) };
    let before = one_readable(connection, id, now)?;
    if patch.has_masked_headers() {
        let stored = headers_of(&stored).map_err(|error| unreadable(1, error))?;
        webhook_rows::update(connection, id, &patch.clone().unmasked(&stored))?;
    } else {
        webhook_rows::update(connection, id, patch)?;
    }
    changes.outbox.forget_listeners();
    if patch.sends_what_waits(was_enabled, before.as_ref()) {
        delivery_moves::send_at_once(connection, id, now)?;
        changes.log.deliveries();
    }
    let after = receiver(connection, id, now)?;
    if after != before {
        changes.log.webhooks(account);
    }
    Ok(after)
}

pub(crate) fn delete(changes: &mut WriteTx<'_>, account: AccountId, id: WebhookId) -> Result<bool> {
    let deleted = changes.connection.prepare_cached(DELETE)?.execute((id.0, changes.now(), account.0))?;
    changes.outbox.forget_listeners();
    if deleted > 0 {
        changes.log.webhooks(account);
    }
    Ok(deleted > 0)
}

/// Removes all webhooks of an account.
pub(crate) fn delete_all(changes: &mut WriteTx<'_>, account: AccountId) -> Result<()> {
    if changes.connection.prepare_cached(DELETE_ALL)?.execute((account.0, changes.now()))? > 0 {
        changes.outbox.forget_listeners();
        changes.log.webhooks(account);
    }
    Ok(())
}

/// The one that it had signs along for so long, beside those that do already.
pub(crate) fn rotate(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    id: WebhookId,
    secret: &WebhookSecret,
    keep: Duration,
) -> Result<Option<Webhook>> {
    let (connection, now) = (changes.connection, changes.now());
    let known = connection.prepare_cached(SECRETS)?.query_row((id.0, account.0), |row| {
        let had = webhook_secret_of(row.get_ref(0)?.as_str()?).map_err(|error| unreadable(0, error))?;
        let old = old_secrets_of(row.get_ref(1)?.as_str()?).map_err(|error| unreadable(1, error))?;
        Ok((had, old))
    });
    let Some((had, old)) = known.optional()? else { return Ok(None) };
    let old = old_secrets(&old.with(had, time(now + millis(keep)), time(now))).map_err(unfit)?;
    connection.prepare_cached(ROTATE)?.execute((id.0, secret.expose(), old))?;
    changes.log.webhooks(account);
    receiver(connection, id, now)
}
