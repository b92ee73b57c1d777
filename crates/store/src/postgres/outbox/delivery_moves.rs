//! Deliveries that a user queues again or calls off.

use deadpool_postgres::{Client, Transaction};
use domain::{
    AccountId, WebhookId,
    changes::ChangeLog,
    delivery::{DeliveryStatus, Moved},
};
use tokio_postgres::Error;

use crate::postgres::{
    PostgresStore, execute, now_ms,
    outbox::{delivery_rows, webhooks},
    query, query_opt,
    shared::{
        lending::long_work,
        values::{Parsed, usize_to_i64},
    },
};

/// Deliveries in one transaction: their rows are locked meanwhile.
pub(crate) const CHUNK: usize = 500;

const LOCK: &str = include_str!("sql/delivery_moves_lock.sql");

/// What a delivery that is queued again is like: it has all its attempts. Their log stays.
macro_rules! queued_again {
    () => {
        "status = 'pending',
    attempts = 0,
    next_attempt_at = (SELECT pirssonite_now_ms()),
    last_status = NULL,
    last_error = NULL,
    reason = NULL,
    ended_at = NULL"
    };
}
pub(crate) use queued_again;

const REQUEUE: &str = concat!("\nUPDATE deliveries\nSET ", queued_again!(), "\nWHERE id = $1");

const CANCEL: &str = include_str!("sql/delivery_moves_cancel.sql");

/// Walks the failed ones by their ids: what fails again meanwhile is not met twice.
const REQUEUE_FAILED: &str = concat!(
    "
WITH failed AS MATERIALIZED (
    SELECT id
    FROM deliveries
    WHERE webhook_id = $1
      AND status = 'failed'
      AND id > $2
    ORDER BY id
    LIMIT $3
    FOR NO KEY UPDATE
)
UPDATE deliveries
SET ",
    queued_again!(),
    "
WHERE id = ANY(ARRAY(SELECT id FROM failed))
RETURNING id"
);

pub(crate) const PROBE_NOW: &str = include_str!("sql/delivery_moves_probe_now.sql");

const SEND_AT_ONCE: &str = include_str!("sql/delivery_moves_send_at_once.sql");

pub(crate) async fn requeue(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    public_id: &str,
) -> Result<Moved, Error> {
    let transaction = client.transaction().await?;
    let Some(id) = row_of(store, &transaction, account, public_id).await? else { return Ok(Moved::NotFound) };
    match lock(&transaction, account, id).await? {
        None => return Ok(Moved::NotFound),
        Some(status) if !status.can_requeue() => return Ok(Moved::WrongState(status)),
        Some(_) => {}
    }
    execute(&transaction, REQUEUE, &[&id]).await?;
    let moved = moved(store, &transaction, account, id).await?;
    store.commit(transaction, queued()).await?;
    store.bounds.pending().forget();
    Ok(moved)
}

pub(crate) async fn cancel(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    public_id: &str,
    reason: &str,
) -> Result<Moved, Error> {
    let transaction = client.transaction().await?;
    let Some(id) = row_of(store, &transaction, account, public_id).await? else { return Ok(Moved::NotFound) };
    match lock(&transaction, account, id).await? {
        None => return Ok(Moved::NotFound),
        Some(status) if !status.can_cancel() => return Ok(Moved::WrongState(status)),
        Some(_) => {}
    }
    execute(&transaction, CANCEL, &[&id, &crate::postgres::shared::values::text(reason)]).await?;
    let moved = moved(store, &transaction, account, id).await?;
    store.commit(transaction, queued()).await?;
    Ok(moved)
}

/// In chunks, each by itself: what is queued can be claimed meanwhile.
pub(crate) async fn requeue_failed(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    webhook: WebhookId,
) -> Result<Option<u64>, Error> {
    if !webhooks::exists(client, account, webhook).await? {
        return Ok(None);
    }
    let (mut after, mut requeued) = (i64::MIN, 0);
    loop {
        let transaction = client.transaction().await?;
        let rows = query(&transaction, REQUEUE_FAILED, &[&webhook.0, &after, &usize_to_i64(CHUNK)]).await?;
        let Some(last) = rows.iter().map(|row| row.get(0)).max() else { return Ok(Some(requeued)) };
        store.commit(transaction, queued()).await?;
        store.bounds.pending().forget();
        (after, requeued) = (last, requeued + rows.len() as u64);
    }
}

/// Makes all that waits for a webhook due now. Whoever does that has to say that something is queued.
pub(crate) async fn send_at_once(transaction: &Transaction<'_>, webhook: WebhookId) -> Result<(), Error> {
    let now = now_ms(transaction).await?;
    long_work(transaction).await?;
    execute(transaction, SEND_AT_ONCE, &[&webhook.0, &now]).await.map(drop)
}

/// That deliveries can be claimed, or no longer.
pub(crate) fn queued() -> ChangeLog {
    let mut log = ChangeLog::default();
    log.deliveries();
    log
}

/// How it stands, until the transaction ends.
async fn lock(transaction: &Transaction<'_>, account: AccountId, id: i64) -> Result<Option<DeliveryStatus>, Error> {
    let row = query_opt(transaction, LOCK, &[&id, &account.0]).await?;
    row.map(|row| row.try_get::<_, Parsed<DeliveryStatus>>(0)).transpose().map(|status| status.map(|status| status.0))
}

/// The row that has this id, also by the nonce of its event.
async fn row_of(
    store: &PostgresStore,
    transaction: &Transaction<'_>,
    account: AccountId,
    id: &str,
) -> Result<Option<i64>, Error> {
    let Some(row) = delivery_rows::row_of(id, &store.installation) else { return Ok(None) };
    let delivery = delivery_rows::one(transaction, account, row, &store.installation).await?;
    Ok(delivery.filter(|delivery| delivery.id == id).map(|_| row))
}

async fn moved(
    store: &PostgresStore,
    transaction: &Transaction<'_>,
    account: AccountId,
    id: i64,
) -> Result<Moved, Error> {
    let delivery = delivery_rows::one(transaction, account, id, &store.installation).await?;
    Ok(delivery.map_or(Moved::NotFound, |delivery| Moved::Done(Box::new(delivery))))
}
