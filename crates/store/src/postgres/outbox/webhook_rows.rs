//! The row of one webhook, read and written.

use std::iter;

use deadpool_postgres::{GenericClient, Transaction};
use domain::{
    AccountId, FeedId, FolderId, WebhookId,
    delivery::{
        Breaker, EventType, Health, NewWebhook, OldSecrets, Rate, Webhook, WebhookHeaders, WebhookPatch, WebhookSecret,
    },
};
use jiff::Timestamp;
use serde::Serialize;
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, execute, query_opt,
    shared::{
        errors::reason,
        values::{Parsed, headers, list, optional, text, time, to_u32},
    },
};

/// Of `webhooks`, in the order of [`webhook_of`]; and the time, which tells the secrets that are in force.
macro_rules! columns {
    () => {
        "webhooks.id, webhooks.url, webhooks.description, webhooks.enabled, webhooks.event_types, webhooks.feed_ids,
       webhooks.folder_ids, webhooks.headers, webhooks.include_content, webhooks.backlog, webhooks.failures,
       webhooks.disabled_reason, webhooks.created_at, webhooks.secret, webhooks.old_secrets,
       (SELECT pirssonite_now_ms()), webhooks.rate_per_second, webhooks.probe_at IS NOT NULL, webhooks.held_until,
       webhooks.account_id"
    };
}
pub(crate) use columns;

const INSERT: &str = concat!(
    "
INSERT INTO webhooks (url, description, enabled, event_types, feed_ids, folder_ids, headers, include_content, backlog,
                      secret, rate_per_second, account_id, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, (SELECT pirssonite_now_ms()))
RETURNING ",
    columns!()
);

/// One that was disabled and is enabled is well; at another URL is another receiver.
const UPDATE: &str = concat!(
    "
UPDATE webhooks
SET failures = CASE WHEN $4 AND NOT enabled OR $2 <> url THEN 0 ELSE failures END,
    failing_since = CASE WHEN $4 AND NOT enabled OR $2 <> url THEN NULL ELSE failing_since END,
    failed_at = CASE WHEN $4 AND NOT enabled OR $2 <> url THEN NULL ELSE failed_at END,
    probes = CASE WHEN $4 AND NOT enabled OR $2 <> url THEN 0 ELSE probes END,
    probe_at = CASE WHEN $4 AND NOT enabled OR $2 <> url THEN NULL ELSE probe_at END,
    probe_new_at = CASE WHEN $4 AND NOT enabled OR $2 <> url THEN NULL ELSE probe_new_at END,
    held_until = CASE WHEN $4 AND NOT enabled OR $2 <> url THEN NULL ELSE held_until END,
    disabled_reason = CASE WHEN $4 AND NOT enabled THEN NULL ELSE disabled_reason END,
    url = coalesce($2, url),
    description = CASE WHEN $3 THEN $5 ELSE description END,
    enabled = coalesce($4, enabled),
    event_types = CASE WHEN $6 THEN $7 ELSE event_types END,
    feed_ids = CASE WHEN $8 THEN $9 ELSE feed_ids END,
    folder_ids = CASE WHEN $10 THEN $11 ELSE folder_ids END,
    headers = coalesce($12, headers),
    include_content = coalesce($13, include_content),
    backlog = coalesce($14, backlog),
    rate_per_second = CASE WHEN $15 THEN $16 ELSE rate_per_second END
WHERE id = $1
  AND deleted_at IS NULL
RETURNING ",
    columns!()
);

const HEALTH: &str = include_str!("sql/webhook_rows_health.sql");

/// Keeps a new webhook.
pub(crate) async fn insert(
    client: &impl GenericClient,
    account: AccountId,
    new: &NewWebhook,
) -> Result<Webhook, Error> {
    let values: Params<'_> = &[
        &text(&new.url),
        &optional(new.description.as_ref()),
        &new.enabled,
        &written(new.event_types.as_ref()),
        &written(new.feed_ids.as_ref()),
        &written(new.folder_ids.as_ref()),
        &headers(&new.headers).expect("a list of texts can always be written down"),
        &new.include_content,
        &new.backlog,
        &new.secret.expose(),
        &thousandths(new.rate_per_second),
        &account.0,
    ];
    let statement = client.prepare_cached(INSERT).await?;
    webhook_of(&client.query_one(&statement, values).await?)
}

pub(crate) async fn update(
    client: &impl GenericClient,
    id: WebhookId,
    patch: &WebhookPatch,
) -> Result<Option<Webhook>, Error> {
    let headers = patch.headers.as_ref().map(|list| headers(list).expect("a list of texts can always be written down"));
    let row = query_opt(
        client,
        UPDATE,
        &[
            &id.0,
            &optional(patch.url.as_ref()),
            &patch.description.is_some(),
            &patch.enabled,
            &patch.description.as_ref().and_then(|description| optional(description.as_ref())),
            &patch.event_types.is_some(),
            &written(patch.event_types.as_ref().and_then(Option::as_ref)),
            &patch.feed_ids.is_some(),
            &written(patch.feed_ids.as_ref().and_then(Option::as_ref)),
            &patch.folder_ids.is_some(),
            &written(patch.folder_ids.as_ref().and_then(Option::as_ref)),
            &headers,
            &patch.include_content,
            &patch.backlog,
            &patch.rate_per_second.is_some(),
            &thousandths(patch.rate_per_second.flatten()),
        ],
    )
    .await?;
    row.as_ref().map(webhook_of).transpose()
}

/// How receivers stand from now on; and why webhooks are disabled, if they are. Their rows are locked.
pub(crate) async fn update_health(
    transaction: &Transaction<'_>,
    changed: &[(i64, Health, Option<&str>)],
) -> Result<(), Error> {
    if changed.is_empty() {
        return Ok(());
    }
    let ms = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
    let times = |of: fn(&Health) -> Option<Timestamp>| -> Vec<Option<i64>> {
        changed.iter().map(|(_, health, _)| ms(of(health))).collect()
    };
    let ids: Vec<i64> = changed.iter().map(|(id, ..)| *id).collect();
    let failures: Vec<i64> = changed.iter().map(|(_, health, _)| i64::from(health.failures)).collect();
    let probes: Vec<i64> =
        changed.iter().map(|(_, health, _)| health.breaker.map_or(0, |open| i64::from(open.probes))).collect();
    let reasons: Vec<Option<&str>> = changed.iter().map(|(.., disable)| *disable).collect();
    let values: Params<'_> = &[
        &ids,
        &failures,
        &times(|health| health.failing_since),
        &times(|health| health.failed_at),
        &probes,
        &times(|health| health.breaker.map(|open| open.probe_at)),
        &times(|health| health.breaker.map(|open| open.probe_new_at)),
        &times(|health| health.held_until),
        &reasons,
    ];
    execute(transaction, HEALTH, values).await.map(drop)
}

/// How a receiver stands, from the columns that begin at this place: failures, since when, the last, probes, when the next
/// are, and until when it is held.
pub(crate) fn health_at(row: &Row, at: usize) -> Health {
    let time_at = |place: usize| row.get::<_, Option<i64>>(at + place).map(time);
    let (probes, probe_new_at) = (to_u32(row.get(at + 3)), time_at(5));
    let open = |probe_at| Breaker { probes, probe_at, probe_new_at: probe_new_at.unwrap_or(probe_at) };
    Health {
        failures: to_u32(row.get(at)),
        failing_since: time_at(1),
        failed_at: time_at(2),
        breaker: time_at(4).map(open),
        held_until: time_at(6),
    }
}

fn thousandths(rate: Option<Rate>) -> Option<i64> {
    rate.map(|rate| i64::from(rate.thousandths()))
}

/// From the columns that begin at this place; none if it cannot be read, which is logged: whoever asks so has work to do
/// for the others.
pub(crate) fn readable_at(row: &Row, at: usize) -> Option<Webhook> {
    let webhook = webhook_at(row, at);
    if let Err(error) = &webhook {
        tracing::error!(webhook_id = row.get::<_, i64>(at), error = reason(error), "webhook unreadable");
    }
    webhook.ok()
}

pub(crate) fn webhook_of(row: &Row) -> Result<Webhook, Error> {
    webhook_at(row, 0)
}

fn webhook_at(row: &Row, at: usize) -> Result<Webhook, Error> {
    let secret = row.try_get::<_, Parsed<WebhookSecret>>(at + 13)?.0;
    let old_secrets = row.try_get::<_, Parsed<OldSecrets>>(at + 14)?.0;
    Ok(Webhook {
        id: WebhookId(row.get(at)),
        account_id: AccountId(row.get(at + 19)),
        url: row.get(at + 1),
        description: row.get(at + 2),
        enabled: row.get(at + 3),
        event_types: row.try_get::<_, Option<Parsed<Vec<EventType>>>>(at + 4)?.map(|kinds| kinds.0),
        feed_ids: row.try_get::<_, Option<Parsed<Vec<FeedId>>>>(at + 5)?.map(|ids| ids.0),
        folder_ids: row.try_get::<_, Option<Parsed<Vec<FolderId>>>>(at + 6)?.map(|ids| ids.0),
        headers: row.try_get::<_, Parsed<WebhookHeaders>>(at + 7)?.0,
        include_content: row.get(at + 8),
        backlog: row.get(at + 9),
        rate_per_second: row.get::<_, Option<i64>>(at + 16).and_then(Rate::from_thousandths),
        consecutive_failures: to_u32(row.get(at + 10)),
        is_breaker_open: row.get(at + 17),
        held_until: row.get::<_, Option<i64>>(at + 18).filter(|until| *until > row.get(at + 15)).map(time),
        disabled_reason: row.get(at + 11),
        created_at: time(row.get(at + 12)),
        secrets: iter::once(secret).chain(old_secrets.at(time(row.get(at + 15))).cloned()).collect(),
    })
}

fn written<T: Serialize>(wanted: Option<&Vec<T>>) -> Option<String> {
    list(wanted).expect("a list of names and numbers can always be written down")
}
