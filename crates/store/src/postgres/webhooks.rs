//! Webhooks: found, made, changed, removed.

use std::time::Duration;

use deadpool_postgres::GenericClient;
use domain::{
    WebhookId,
    delivery::{NewWebhook, Webhook, WebhookPatch, WebhookSecret},
};
use tokio_postgres::Error;

use super::{
    execute, query, query_opt,
    values::millis,
    webhook_rows::{self, columns, readable_at, webhook_of},
};

const ALL: &str = concat!("SELECT ", columns!(), "\nFROM webhooks\nWHERE deleted_at IS NULL\nORDER BY id");

const BY_ID: &str = concat!("SELECT ", columns!(), "\nFROM webhooks\nWHERE id = $1\n  AND deleted_at IS NULL");

/// Those who may be told of something.
pub(super) const ENABLED: &str =
    concat!("SELECT ", columns!(), "\nFROM webhooks\nWHERE enabled\n  AND deleted_at IS NULL\nORDER BY id");

const DELETE: &str = "
UPDATE webhooks
SET deleted_at = (SELECT pirssonite_now_ms()),
    enabled = false
WHERE id = $1
  AND deleted_at IS NULL";

/// The one that it had signs along, and no older one.
const ROTATE: &str = concat!(
    "
UPDATE webhooks
SET old_secret = secret,
    old_secret_until = (SELECT pirssonite_now_ms()) + $3,
    secret = $2
WHERE id = $1
  AND deleted_at IS NULL
RETURNING ",
    columns!()
);

pub(super) async fn all(client: &impl GenericClient) -> Result<Vec<Webhook>, Error> {
    query(client, ALL, &[]).await?.iter().map(webhook_of).collect()
}

pub(super) async fn one(client: &impl GenericClient, id: WebhookId) -> Result<Option<Webhook>, Error> {
    query_opt(client, BY_ID, &[&id.0]).await?.as_ref().map(webhook_of).transpose()
}

/// One that cannot be read is told nothing, and does not stop what it would be told of.
pub(super) async fn enabled(client: &impl GenericClient) -> Result<Vec<Webhook>, Error> {
    Ok(query(client, ENABLED, &[]).await?.iter().filter_map(|row| readable_at(row, 0)).collect())
}

pub(super) async fn exists(client: &impl GenericClient, id: WebhookId) -> Result<bool, Error> {
    let sql = "SELECT id FROM webhooks WHERE id = $1 AND deleted_at IS NULL";
    Ok(query_opt(client, sql, &[&id.0]).await?.is_some())
}

pub(super) async fn create(client: &impl GenericClient, new: &NewWebhook) -> Result<Webhook, Error> {
    webhook_rows::insert(client, new).await
}

pub(super) async fn update(
    client: &impl GenericClient,
    id: WebhookId,
    patch: &WebhookPatch,
) -> Result<Option<Webhook>, Error> {
    webhook_rows::update(client, id, patch).await
}

pub(super) async fn delete(client: &impl GenericClient, id: WebhookId) -> Result<bool, Error> {
    Ok(execute(client, DELETE, &[&id.0]).await? > 0)
}

pub(super) async fn rotate(
    client: &impl GenericClient,
    id: WebhookId,
    secret: &WebhookSecret,
    keep: Duration,
) -> Result<Option<Webhook>, Error> {
    query_opt(client, ROTATE, &[&id.0, &secret.expose(), &millis(keep)]).await?.as_ref().map(webhook_of).transpose()
}
