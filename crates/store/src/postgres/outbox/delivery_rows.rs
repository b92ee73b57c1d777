//! Deliveries and attempts as they are read.

use deadpool_postgres::{Client, GenericClient};
use domain::{
    AccountId, WebhookId,
    delivery::{Attempt, Delivery, DeliveryStatus, number_of, public_id},
};
use tokio_postgres::{Error, IsolationLevel, Row};

use crate::postgres::{
    query, query_opt,
    shared::values::{Parsed, count, time, to_u32},
};

/// What the API shows, in the order of [`delivery_of`]. A lease is shown while it counts.
macro_rules! columns {
    () => {
        "deliveries.id, deliveries.event_id, events.type, deliveries.webhook_id, deliveries.status, deliveries.attempts,
       deliveries.next_attempt_at,
       CASE
           -- 60000: clock::LEASE_SLACK_MS.
           WHEN deliveries.lease_until - (SELECT pirssonite_now_ms()) BETWEEN 1 AND deliveries.lease_ms + 60000
               THEN deliveries.lease_owner
       END,
       deliveries.lease_until, deliveries.last_status, deliveries.last_error, deliveries.reason, deliveries.created_at,
       deliveries.ended_at, events.nonce"
    };
}
pub(crate) use columns;

const ONE: &str = concat!(
    "
SELECT ",
    columns!(),
    "
FROM deliveries
JOIN events ON events.id = deliveries.event_id
JOIN webhooks ON webhooks.id = deliveries.webhook_id
WHERE deliveries.id = $1
  AND webhooks.account_id = $2
  AND webhooks.deleted_at IS NULL"
);

const ATTEMPTS: &str = include_str!("sql/delivery_rows_attempts.sql");

/// One to a webhook of an account's.
pub(crate) async fn one(
    client: &impl GenericClient,
    account: AccountId,
    id: i64,
    installation: &str,
) -> Result<Option<Delivery>, Error> {
    let row = query_opt(client, ONE, &[&id, &account.0]).await?;
    // One in a state of a later version is that one's to show.
    let row = row.filter(|row| row.try_get::<_, Parsed<DeliveryStatus>>(4).is_ok());
    row.as_ref().map(|row| delivery_of(row, installation)).transpose()
}

/// A delivery and its attempts, as of one moment: a mark comes before both or after.
pub(crate) async fn with_attempts(
    client: &mut Client,
    account: AccountId,
    id: i64,
    installation: &str,
) -> Result<Option<(Delivery, Vec<Attempt>)>, Error> {
    let reads = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = reads.start().await?;
    let Some(delivery) = one(&transaction, account, id, installation).await? else { return Ok(None) };
    let attempts = query(&transaction, ATTEMPTS, &[&id]).await?.iter().map(attempt_of).collect();
    transaction.commit().await?;
    Ok(Some((delivery, attempts)))
}

pub(crate) fn delivery_of(row: &Row, installation: &str) -> Result<Delivery, Error> {
    let status = row.try_get::<_, Parsed<DeliveryStatus>>(4)?.0;
    let lease_owner: Option<String> = row.get(7);
    Ok(Delivery {
        id: public_id("dlv", installation, row.get(0), row.get(14)),
        event_id: public_id("evt", installation, row.get(1), row.get(14)),
        event_type: row.get(2),
        webhook_id: WebhookId(row.get(3)),
        delivery_status: status,
        attempts: to_u32(row.get(5)),
        // A test is due before everything else, but not before it was made.
        next_attempt_at: (status == DeliveryStatus::Pending).then(|| time(row.get::<_, i64>(6).max(row.get(12)))),
        lease_until: lease_owner.is_some().then(|| time(row.get(8))),
        lease_owner,
        last_status_code: row.get::<_, Option<i64>>(9).and_then(status_code),
        last_error: row.get(10),
        reason: row.get(11),
        created_at: time(row.get(12)),
        delivered_at: row.get::<_, Option<i64>>(13).filter(|_| status == DeliveryStatus::Delivered).map(time),
    })
}

fn attempt_of(row: &Row) -> Attempt {
    Attempt {
        number: to_u32(row.get(0)),
        at: time(row.get(1)),
        duration_ms: count(row.get(2)),
        status_code: row.get::<_, Option<i64>>(3).and_then(status_code),
        answer: row.get(4),
        error: row.get(5),
    }
}

fn status_code(column: i64) -> Option<u16> {
    u16::try_from(column).ok()
}

/// The row of a delivery that the world knows by this id.
pub(crate) fn row_of(id: &str, installation: &str) -> Option<i64> {
    number_of("dlv", installation, id)
}
