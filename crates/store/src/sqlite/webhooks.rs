//! Webhooks: found, made, changed, removed. Whoever changes one makes the writer ask anew who is to be told of events.

use std::time::Duration;

use domain::{
    WebhookId,
    delivery::{NewWebhook, Webhook, WebhookPatch, WebhookSecret},
};
use rusqlite::{Connection, OptionalExtension, Result};

use super::{
    webhook_rows::{self, columns, webhook_of},
    writer::Changes,
};
use crate::values::millis;

const ALL: &str = concat!("SELECT ", columns!(), "\nFROM webhooks\nWHERE deleted_at IS NULL\nORDER BY id");

pub(super) const BY_ID: &str =
    concat!("SELECT ", columns!(), "\nFROM webhooks\nWHERE id = ?\n  AND deleted_at IS NULL");

const ENABLED: &str =
    concat!("SELECT ", columns!(), "\nFROM webhooks\nWHERE enabled = 1\n  AND deleted_at IS NULL\nORDER BY id");

const DELETE: &str = "
UPDATE webhooks
SET deleted_at = ?2,
    enabled = 0
WHERE id = ?1
  AND deleted_at IS NULL";

/// The one that it had signs along, and no older one.
const ROTATE: &str = "
UPDATE webhooks
SET old_secret = secret,
    old_secret_until = ?3,
    secret = ?2
WHERE id = ?1
  AND deleted_at IS NULL";

pub(super) fn all(connection: &Connection, now: i64) -> Result<Vec<Webhook>> {
    connection.prepare_cached(ALL)?.query_map([], |row| webhook_of(row, now))?.collect()
}

pub(super) fn one(connection: &Connection, id: WebhookId, now: i64) -> Result<Option<Webhook>> {
    connection.prepare_cached(BY_ID)?.query_row([id.0], |row| webhook_of(row, now)).optional()
}

pub(super) fn enabled(connection: &Connection, now: i64) -> Result<Vec<Webhook>> {
    connection.prepare_cached(ENABLED)?.query_map([], |row| webhook_of(row, now))?.collect()
}

pub(super) fn exists(connection: &Connection, id: WebhookId) -> Result<bool> {
    connection.prepare_cached("SELECT 1 FROM webhooks WHERE id = ? AND deleted_at IS NULL")?.exists([id.0])
}

pub(super) fn create(changes: &mut Changes<'_>, new: &NewWebhook) -> Result<Webhook> {
    let now = changes.now();
    let id = webhook_rows::insert(changes.connection, new, now)?;
    changes.outbox.forget_listeners();
    one(changes.connection, id, now)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

pub(super) fn update(changes: &mut Changes<'_>, id: WebhookId, patch: &WebhookPatch) -> Result<Option<Webhook>> {
    let (connection, now) = (changes.connection, changes.now());
    if !exists(connection, id)? {
        return Ok(None);
    }
    webhook_rows::update(connection, id, patch)?;
    changes.outbox.forget_listeners();
    // What it has kept, or what waited for its old receiver, may be claimed now.
    if patch.enabled == Some(true) || patch.url.is_some() {
        changes.outbox.set_queued();
    }
    one(connection, id, now)
}

pub(super) fn delete(changes: &mut Changes<'_>, id: WebhookId) -> Result<bool> {
    let deleted = changes.connection.prepare_cached(DELETE)?.execute((id.0, changes.now()))?;
    changes.outbox.forget_listeners();
    Ok(deleted > 0)
}

pub(super) fn rotate(
    changes: &mut Changes<'_>,
    id: WebhookId,
    secret: &WebhookSecret,
    keep: Duration,
) -> Result<Option<Webhook>> {
    let (connection, now) = (changes.connection, changes.now());
    connection.prepare_cached(ROTATE)?.execute((id.0, secret.expose(), now + millis(keep)))?;
    one(connection, id, now)
}
