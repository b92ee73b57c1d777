//! How attempts ended, each guarded by its lease: delivery, owner, fence, and that it is still pending. A lease that ran
//! out but that nobody else has taken is still good.
//!
//! If all arrived, one statement writes everything. If one did not, what that means depends on how its webhook stands:
//! the webhooks are locked first, and what the domain decides is written in the same transaction. Rows that others have
//! locked are waited for only a moment; then the rest is stored without them.

use std::collections::{BTreeMap, HashSet};

use deadpool_postgres::{Client, Transaction};
use domain::{
    WebhookId,
    changes::ChangeLog,
    delivery::{
        AttemptOutcome, BreakerRules, Consequence, DeliveryStatus, DomainEvent, EventType, FinishReport, Health,
        PayloadWebhook, Verdict,
    },
    ports::StoreResult,
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    PostgresStore,
    outbox::{
        delivery_mark_locks::{self, Taken, at_places, webhooks_of},
        delivery_mark_rows::{Decided, forget, mark},
        events, webhook_rows,
    },
    shared::{
        claim_bounds,
        errors::{is_locked, reason, store_error},
        values::time,
    },
};

/// How a webhook stands, and what becomes of it.
#[derive(Debug)]
struct Standing {
    before: Health,
    health: Health,
    is_enabled: bool,
    url: String,
    disable: Option<String>,
}

/// What became of marks.
#[derive(Debug, Default)]
struct Ended<'f> {
    applied: Vec<&'f AttemptOutcome>,
    /// Nothing of them is stored yet.
    locked: Vec<&'f AttemptOutcome>,
    /// Webhooks that were disabled by them, and why.
    disabled: Vec<(WebhookId, String)>,
}

/// What is done about rows that others have locked.
#[derive(Debug, Clone, Copy)]
enum Others {
    WaitedFor,
    PassedOver,
}

pub(crate) async fn finish(
    store: &PostgresStore,
    finished: &[AttemptOutcome],
    rules: &BreakerRules,
) -> StoreResult<FinishReport> {
    if finished.is_empty() {
        return Ok(FinishReport::default());
    }
    let mut client = store.client().await?;
    let once = without_repeats(finished);
    let ended = if once.iter().all(|one| one.verdict == Verdict::Delivered) {
        finish_delivered(store, &client, &once, rules).await
    } else {
        finish_mixed(store, &mut client, &once, rules, Others::WaitedFor).await
    };
    let ended = match ended {
        Err(error) if is_locked(&error) => finish_mixed(store, &mut client, &once, rules, Others::PassedOver).await,
        ended => ended,
    };
    let Ended { applied, locked, disabled } = ended.map_err(store_error)?;
    // Of a mark that is there twice the second is skipped, once the first is stored.
    let mut applied: HashSet<_> = applied.into_iter().map(|one| (one.id, &one.lease)).collect();
    let locked: HashSet<_> = locked.into_iter().map(|one| (one.id, &one.lease)).collect();
    let rest = finished.iter().filter(|one| !applied.remove(&(one.id, &one.lease)));
    let (locked, skipped): (Vec<_>, Vec<_>) = rest.partition(|one| locked.contains(&(one.id, &one.lease)));
    let [skipped, locked] = [skipped, locked].map(|some| some.into_iter().map(|one| one.id).collect());
    Ok(FinishReport { skipped, locked, disabled })
}

fn without_repeats(finished: &[AttemptOutcome]) -> Vec<&AttemptOutcome> {
    let mut seen = HashSet::new();
    finished.iter().filter(|one| seen.insert((one.id, &one.lease))).collect()
}

async fn finish_delivered<'f>(
    store: &PostgresStore,
    client: &Client,
    finished: &[&'f AttemptOutcome],
    rules: &BreakerRules,
) -> Result<Ended<'f>, Error> {
    let decided: Vec<Decided<'_>> =
        finished.iter().map(|one| (*one, Health::default().after(one, rules, time(0)))).collect();
    let rows = mark(client, &decided, &webhooks_of(finished), None).await?;
    if rows.first().is_some_and(|row| row.get(3)) {
        store.freed(client).await;
    }
    if let Err(error) = forget(client, &rows).await {
        // The marks are stored, whatever becomes of old attempts; those go with the next one.
        tracing::warn!(error = reason(&error), "old attempts at deliveries were not removed");
    }
    Ok(Ended { applied: at_places(finished, &rows), ..Ended::default() })
}

async fn finish_mixed<'f>(
    store: &PostgresStore,
    client: &mut Client,
    finished: &[&'f AttemptOutcome],
    rules: &BreakerRules,
    others: Others,
) -> Result<Ended<'f>, Error> {
    let transaction = client.transaction().await?;
    let Taken { webhooks, free, locked, now } = match others {
        Others::WaitedFor => delivery_mark_locks::wait(&transaction, finished).await?,
        Others::PassedOver => delivery_mark_locks::pass_over(&transaction, finished).await?,
    };
    let Some(now) = now.filter(|_| !free.is_empty()) else { return Ok(Ended { locked, ..Ended::default() }) };
    let mut standing: BTreeMap<WebhookId, Standing> = webhooks.iter().map(standing_of).collect();
    let decided: Vec<Decided<'_>> = free.iter().map(|one| (*one, decide(&mut standing, one, rules, now))).collect();
    let rows = mark(&transaction, &decided, &[], Some(now)).await?;
    forget(&transaction, &rows).await?;
    let given_up = decided.iter().filter(|(_, consequence)| consequence.status == DeliveryStatus::Failed);
    let given_up = given_up.filter_map(|(one, _)| DomainEvent::delivery_failed(one, &store.installation)).collect();
    let mut log = write_standing(&transaction, &standing, given_up, now).await?;
    log.deliveries_if(decided.iter().any(|(_, consequence)| consequence.status == DeliveryStatus::Failed));
    let is_mended = standing.values().any(|one| one.before.failures > 0 && one.health.failures == 0);
    let is_moved = |(one, consequence): &Decided<'_>| {
        let url = standing.get(&one.webhook_id).map(|webhook| &webhook.url);
        url.is_some_and(|url| *url != one.url) && consequence.status == DeliveryStatus::Pending
    };
    log.deliveries_if(is_mended || decided.iter().any(is_moved));
    store.commit(transaction, log).await?;
    // What is tried again may be due at once.
    claim_bounds::lock(&store.bounds.deliveries).requeued();
    let disabled = standing.iter().filter_map(|(id, one)| Some((*id, one.disable.clone()?))).collect();
    Ok(Ended { applied: free, locked, disabled })
}

/// What one attempt leads to, after those before it.
fn decide(
    standing: &mut BTreeMap<WebhookId, Standing>,
    one: &AttemptOutcome,
    rules: &BreakerRules,
    now: i64,
) -> Consequence {
    let Some(webhook) = standing.get_mut(&one.webhook_id) else {
        return Health::default().after(one, rules, time(now));
    };
    if webhook.url != one.url {
        return Consequence::of_another_receiver(webhook.health, one.verdict);
    }
    let consequence = webhook.health.after(one, rules, time(now));
    webhook.health = consequence.health;
    if webhook.is_enabled && consequence.disable.is_some() {
        (webhook.is_enabled, webhook.disable) = (false, consequence.disable.clone());
    }
    consequence
}

/// Writes how webhooks stand, where that has changed, and tells the others of those that are disabled and of what was
/// given up.
async fn write_standing(
    transaction: &Transaction<'_>,
    standing: &BTreeMap<WebhookId, Standing>,
    given_up: Vec<DomainEvent>,
    now: i64,
) -> Result<ChangeLog, Error> {
    let changed = standing.iter().filter(|(_, one)| one.before != one.health || one.disable.is_some());
    let changed: Vec<_> = changed.map(|(id, one)| (id.0, one.health, one.disable.as_deref())).collect();
    webhook_rows::update_health(transaction, &changed).await?;
    let disabled = standing.iter().filter_map(|(id, one)| {
        let disabled_reason = Some(one.disable.clone()?);
        let about = PayloadWebhook::new(*id, &one.url, disabled_reason);
        Some(DomainEvent::Webhook(EventType::WebhookDisabled, about))
    });
    let mut log = ChangeLog::default();
    log.deliveries_if(events::tell(transaction, &disabled.chain(given_up).collect::<Vec<_>>(), now).await?);
    let is_shown =
        |one: &Standing| one.disable.is_some() || one.before.breaker.is_some() != one.health.breaker.is_some();
    if standing.values().any(is_shown) {
        log.webhooks();
    }
    Ok(log)
}

fn standing_of(row: &Row) -> (WebhookId, Standing) {
    let health = webhook_rows::health_at(row, 3);
    let standing = Standing { before: health, health, is_enabled: row.get(1), url: row.get(2), disable: None };
    (WebhookId(row.get(0)), standing)
}
