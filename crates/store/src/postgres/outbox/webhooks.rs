//! Webhooks: found, made, changed, removed.

use std::time::Duration;

use deadpool_postgres::{Client, GenericClient, Transaction};
use domain::{
    AccountId, WebhookId,
    changes::ChangeLog,
    delivery::{NewWebhook, OldSecrets, Webhook, WebhookHeaders, WebhookPatch, WebhookSecret},
};
use tokio_postgres::Error;

use crate::postgres::{
    PostgresStore, execute, now_ms,
    outbox::{
        delivery_moves,
        webhook_rows::{self, columns, readable_at, webhook_of},
    },
    query, query_opt,
    shared::values::{Parsed, millis, old_secrets, time},
};

const ALL: &str =
    concat!("SELECT ", columns!(), "\nFROM webhooks\nWHERE account_id = $1\n  AND deleted_at IS NULL\nORDER BY id");

const BY_ID: &str = concat!("SELECT ", columns!(), "\nFROM webhooks\nWHERE id = $1\n  AND deleted_at IS NULL");

const OF_ACCOUNT: &str =
    concat!("SELECT ", columns!(), "\nFROM webhooks\nWHERE id = $1\n  AND account_id = $2\n  AND deleted_at IS NULL");

/// Nobody removes the row meanwhile; how it stands may be written.
const HELD: &str = concat!(
    "SELECT ",
    columns!(),
    "\nFROM webhooks\nWHERE id = $1\n  AND account_id = $2\n  AND deleted_at IS NULL\nFOR KEY SHARE"
);

/// Those that events may be for, of accounts that are found so.
macro_rules! enabled {
    ($accounts:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            "\nFROM webhooks\nWHERE enabled\n  AND deleted_at IS NULL\n  AND account_id ",
            $accounts,
            "\nORDER BY id"
        )
    };
}

/// Of those who follow these feeds.
pub(crate) const OF_FEEDS: &str =
    enabled!("IN (SELECT follows.account_id FROM follows WHERE follows.feed_id = ANY($1))");

/// Of those who follow the feeds of these subscriptions.
pub(crate) const OF_SUBSCRIPTIONS: &str = enabled!(
    "IN (
      SELECT follows.account_id
      FROM follows
      WHERE follows.feed_id = ANY(ARRAY(SELECT feed_id FROM subscriptions WHERE id = ANY($1)))
  )"
);

pub(crate) const OF_ACCOUNTS: &str = enabled!("= ANY($1)");

const DELETE: &str = include_str!("sql/webhooks_delete.sql");

const SECRETS: &str = include_str!("sql/webhooks_secrets.sql");

const STORED: &str = include_str!("sql/webhooks_stored.sql");

const ROTATE: &str = concat!(
    "
UPDATE webhooks
SET secret = $2,
    old_secrets = $3
WHERE id = $1
RETURNING ",
    columns!()
);

pub(crate) async fn all(client: &impl GenericClient, account: AccountId) -> Result<Vec<Webhook>, Error> {
    query(client, ALL, &[&account.0]).await?.iter().map(webhook_of).collect()
}

/// One of an account's.
pub(crate) async fn one(
    client: &impl GenericClient,
    account: AccountId,
    id: WebhookId,
) -> Result<Option<Webhook>, Error> {
    query_opt(client, OF_ACCOUNT, &[&id.0, &account.0]).await?.as_ref().map(webhook_of).transpose()
}

pub(crate) async fn by_id(client: &impl GenericClient, id: WebhookId) -> Result<Option<Webhook>, Error> {
    query_opt(client, BY_ID, &[&id.0]).await?.as_ref().map(webhook_of).transpose()
}

/// One of an account's, whose row stays until the transaction ends.
pub(crate) async fn held(
    transaction: &Transaction<'_>,
    account: AccountId,
    id: WebhookId,
) -> Result<Option<Webhook>, Error> {
    query_opt(transaction, HELD, &[&id.0, &account.0]).await?.as_ref().map(webhook_of).transpose()
}

/// One that cannot be read gets no events, and does not stop those of others.
pub(crate) async fn enabled(client: &impl GenericClient, which: &str, ids: &[i64]) -> Result<Vec<Webhook>, Error> {
    Ok(query(client, which, &[&ids]).await?.iter().filter_map(|row| readable_at(row, 0)).collect())
}

pub(crate) async fn exists(client: &impl GenericClient, account: AccountId, id: WebhookId) -> Result<bool, Error> {
    let sql = "SELECT id FROM webhooks WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL";
    Ok(query_opt(client, sql, &[&id.0, &account.0]).await?.is_some())
}

pub(crate) async fn create(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    new: &NewWebhook,
) -> Result<Webhook, Error> {
    let transaction = client.transaction().await?;
    let webhook = webhook_rows::insert(&transaction, account, new).await?;
    store.commit(transaction, changed(account)).await?;
    Ok(webhook)
}

pub(crate) async fn update(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    id: WebhookId,
    patch: &WebhookPatch,
) -> Result<Option<Webhook>, Error> {
    let transaction = client.transaction().await?;
    let Some(stored) = query_opt(&transaction, STORED, &[&id.0, &account.0]).await? else { return Ok(None) };
    let before = query_opt(&transaction, BY_ID, &[&id.0]).await?.and_then(|row| readable_at(&row, 0));
    let updated = if patch.has_masked_headers() {
        let Parsed(headers) = stored.try_get::<_, Parsed<WebhookHeaders>>(1)?;
        webhook_rows::update(&transaction, id, &patch.clone().unmasked(&headers)).await?
    } else {
        webhook_rows::update(&transaction, id, patch).await?
    };
    let sends_what_waits = patch.sends_what_waits(stored.get(0), before.as_ref());
    if sends_what_waits {
        delivery_moves::send_at_once(&transaction, id).await?;
    }
    let mut log = if updated == before { ChangeLog::default() } else { changed(account) };
    log.deliveries_if(sends_what_waits);
    store.commit(transaction, log).await?;
    Ok(updated)
}

pub(crate) async fn delete(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    id: WebhookId,
) -> Result<bool, Error> {
    let transaction = client.transaction().await?;
    let is_deleted = execute(&transaction, DELETE, &[&id.0, &account.0]).await? > 0;
    store.commit(transaction, if is_deleted { changed(account) } else { ChangeLog::default() }).await?;
    Ok(is_deleted)
}

fn changed(account: AccountId) -> ChangeLog {
    let mut log = ChangeLog::default();
    log.webhooks(account);
    log
}

/// The one that it had signs along for so long, beside those that do already.
pub(crate) async fn rotate(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    id: WebhookId,
    secret: &WebhookSecret,
    keep: Duration,
) -> Result<Option<Webhook>, Error> {
    let transaction = client.transaction().await?;
    let Some(row) = query_opt(&transaction, SECRETS, &[&id.0, &account.0]).await? else { return Ok(None) };
    // After the wait for the lock.
    let now = now_ms(&transaction).await?;
    let Parsed(had) = row.try_get::<_, Parsed<WebhookSecret>>(0)?;
    let Parsed(old) = row.try_get::<_, Parsed<OldSecrets>>(1)?;
    let old = old.with(had, time(now + millis(keep)), time(now));
    let old = old_secrets(&old).expect("a list of texts and numbers can always be written down");
    let rotated = query_opt(&transaction, ROTATE, &[&id.0, &secret.expose(), &old]).await?;
    let rotated = rotated.as_ref().map(webhook_of).transpose()?;
    store.commit(transaction, changed(account)).await?;
    Ok(rotated)
}
