//! How attempts ended, each guarded by its lease: delivery, owner, fence, and that it is still pending. A lease that ran
//! out but that nobody else has taken is still good.
//!
//! If all arrived, one statement writes everything. If one did not, what that means depends on how its webhook stands:
//! the webhooks are locked first, and what the domain decides is written in the same transaction.

use std::collections::{BTreeMap, HashSet};

use deadpool_postgres::{Client, Transaction};
use domain::{
    Lease, WebhookId,
    delivery::{Consequence, DeliveryStatus, EventType, Finished, Health, Marks, News, PayloadWebhook, Verdict},
    ports::StoreResult,
};
use tokio_postgres::{Error, Row};

use super::{
    Params, PostgresStore, both,
    delivery_mark_rows::{Decided, forget, mark},
    errors::store_error,
    events, polls, prepare, query,
    values::{small, time},
    webhook_rows,
};

const LOCK_WEBHOOKS: &str = "
SELECT id, failures, failing_since, probe_at, enabled, url
FROM webhooks
WHERE id = ANY($1)
ORDER BY id
FOR NO KEY UPDATE";

/// The time is that after the wait for the locks.
const LOCK: &str = "
WITH held AS MATERIALIZED (
    SELECT given.place
    FROM deliveries
    JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY AS given (id, owner, fence, place)
        ON deliveries.id = given.id
        AND deliveries.lease_owner = given.owner
        AND deliveries.lease_fence = given.fence
    WHERE deliveries.status = 'pending'
    ORDER BY deliveries.id
    FOR NO KEY UPDATE OF deliveries
)
SELECT place, pirssonite_now_ms()
FROM held";

/// How a webhook stands, and what becomes of it.
#[derive(Debug)]
struct Standing {
    before: Health,
    health: Health,
    is_enabled: bool,
    url: String,
    disable: Option<&'static str>,
}

pub(super) async fn finish(store: &PostgresStore, finished: &[Finished]) -> StoreResult<Marks> {
    if finished.is_empty() {
        return Ok(Marks::default());
    }
    let mut client = store.client().await?;
    let once = without_repeats(finished);
    let marked = if once.iter().all(|one| one.verdict == Verdict::Delivered) {
        finish_delivered(store, &client, &once).await
    } else {
        finish_mixed(store, &mut client, &once).await
    };
    let (applied, disabled) = marked.map_err(store_error)?;
    // Of a mark that is there twice the second is skipped.
    let mut applied: HashSet<_> = applied.into_iter().map(|one| (one.id, &one.lease)).collect();
    let skipped = finished.iter().filter(|one| !applied.remove(&(one.id, &one.lease))).map(|one| one.id).collect();
    Ok(Marks { skipped, disabled })
}

fn without_repeats(finished: &[Finished]) -> Vec<&Finished> {
    let mut seen = HashSet::new();
    finished.iter().filter(|one| seen.insert((one.id, &one.lease))).collect()
}

/// Those whose marks were applied, and the webhooks that were disabled.
type Applied<'f> = (Vec<&'f Finished>, Vec<(WebhookId, String)>);

async fn finish_delivered<'f>(
    store: &PostgresStore,
    client: &Client,
    finished: &[&'f Finished],
) -> Result<Applied<'f>, Error> {
    let decided: Vec<Decided<'_>> =
        finished.iter().map(|one| (*one, Health::default().after(one.verdict, one.is_probe, None, time(0)))).collect();
    let rows = mark(client, &decided, &webhooks_of(finished), None).await?;
    if rows.first().is_some_and(|row| row.get(3)) {
        store.wake.raise();
    }
    forget(client, &rows).await?;
    Ok((at_places(finished, &rows), Vec::new()))
}

async fn finish_mixed<'f>(
    store: &PostgresStore,
    client: &mut Client,
    finished: &[&'f Finished],
) -> Result<Applied<'f>, Error> {
    let transaction = client.transaction().await?;
    prepare(&transaction, &[LOCK_WEBHOOKS, LOCK]).await?;
    let (ids, owners, fences) = polls::columns_of(leases_of(finished));
    let webhooks = webhooks_of(finished);
    let (which, guard): (Params<'_>, Params<'_>) = (&[&webhooks], &[&ids, &owners, &fences]);
    let locks = both(query(&transaction, LOCK_WEBHOOKS, which), query(&transaction, LOCK, guard));
    let (webhooks, held) = locks.await?;
    let Some(now) = held.first().map(|row| row.get(1)) else { return Ok((Vec::new(), Vec::new())) };
    let applied = at_places(finished, &held);
    let mut standing: BTreeMap<WebhookId, Standing> = webhooks.iter().map(standing_of).collect();
    let decided: Vec<Decided<'_>> = applied.iter().map(|one| (*one, decide(&mut standing, one, now))).collect();
    let rows = mark(&transaction, &decided, &[], Some(now)).await?;
    forget(&transaction, &rows).await?;
    let has_queued = write_standing(&transaction, &standing, now).await?;
    let is_mended = standing.values().any(|one| one.before.failures > 0 && one.health.failures == 0);
    let is_moved = |(one, consequence): &Decided<'_>| {
        let url = standing.get(&one.webhook_id).map(|webhook| &webhook.url);
        url.is_some_and(|url| *url != one.url) && consequence.status == DeliveryStatus::Pending
    };
    store.commit(transaction, has_queued || is_mended || decided.iter().any(is_moved)).await?;
    let disabled = standing.iter().filter_map(|(id, one)| Some((*id, one.disable?.to_owned())));
    Ok((applied, disabled.collect()))
}

/// What one attempt leads to, after those before it.
fn decide(standing: &mut BTreeMap<WebhookId, Standing>, one: &Finished, now: i64) -> Consequence {
    let Some(webhook) = standing.get_mut(&one.webhook_id) else {
        return Health::default().after(one.verdict, one.is_probe, one.retry_after, time(now));
    };
    if webhook.url != one.url {
        return Consequence::of_another_receiver(webhook.health, one.verdict);
    }
    let consequence = webhook.health.after(one.verdict, one.is_probe, one.retry_after, time(now));
    webhook.health = consequence.health;
    if webhook.is_enabled && consequence.disable.is_some() {
        (webhook.is_enabled, webhook.disable) = (false, consequence.disable);
    }
    consequence
}

/// Writes how webhooks stand, where that has changed, and tells the others of those that are disabled. True if any is
/// told.
async fn write_standing(
    transaction: &Transaction<'_>,
    standing: &BTreeMap<WebhookId, Standing>,
    now: i64,
) -> Result<bool, Error> {
    let changed = standing.iter().filter(|(_, one)| one.before != one.health || one.disable.is_some());
    let changed: Vec<_> = changed.map(|(id, one)| (id.0, one.health, one.disable)).collect();
    webhook_rows::update_health(transaction, &changed).await?;
    let disabled = standing.iter().filter_map(|(id, one)| {
        let disabled_reason = Some(one.disable?.to_owned());
        let about = PayloadWebhook { id: *id, url: one.url.clone(), disabled_reason };
        Some(News::Webhook(EventType::WebhookDisabled, about))
    });
    events::tell(transaction, &disabled.collect::<Vec<_>>(), now).await
}

fn leases_of<'f>(finished: &[&'f Finished]) -> impl Iterator<Item = (i64, &'f Lease)> {
    finished.iter().map(|one| (one.id.0, &one.lease))
}

fn webhooks_of(finished: &[&Finished]) -> Vec<i64> {
    let mut webhooks: Vec<i64> = finished.iter().map(|one| one.webhook_id.0).collect();
    webhooks.sort_unstable();
    webhooks.dedup();
    webhooks
}

/// Those at the places, counted from 1, that rows begin with; in the order given.
fn at_places<'f>(finished: &[&'f Finished], rows: &[Row]) -> Vec<&'f Finished> {
    let places: HashSet<usize> = rows.iter().filter_map(|row| usize::try_from(row.get::<_, i64>(0)).ok()).collect();
    finished.iter().zip(1..).filter(|(_, place)| places.contains(place)).map(|(one, _)| *one).collect()
}

fn standing_of(row: &Row) -> (WebhookId, Standing) {
    let time_at = |place: usize| row.get::<_, Option<i64>>(place).map(time);
    let health = Health { failures: small(row.get(1)), failing_since: time_at(2), probe_at: time_at(3) };
    let standing = Standing { before: health, health, is_enabled: row.get(4), url: row.get(5), disable: None };
    (WebhookId(row.get(0)), standing)
}
