//! How attempts ended, each guarded by its lease: delivery, owner, fence, and that it is still pending. A lease that ran
//! out but that nobody else has taken is still good.
//!
//! If all arrived, one statement writes everything. If one did not, what that means depends on how its webhook stands:
//! the webhooks are locked first, and what the domain decides is written in the same transaction. Rows that others have
//! locked are waited for only a moment; then the rest is stored without them.

use std::collections::{BTreeMap, HashMap, HashSet};

use deadpool_postgres::{Client, Transaction};
use domain::{
    AccountId, WebhookId,
    changes::ChangeLog,
    delivery::{
        AttemptOutcome, BreakerRules, Consequence, DomainEvent, EventType, FinishReport, Health, PayloadWebhook,
        ReceiverState, Verdict,
    },
    ports::StoreResult,
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    PostgresStore,
    outbox::{
        delivery_mark_locks::{self, LockedRows, at_places, webhooks_of},
        delivery_mark_rows::{Decided, forget, mark},
        events, webhook_rows,
    },
    query,
    shared::{
        claim_bounds,
        errors::{is_locked, reason, store_error},
        values::time,
    },
};

const NONCES: &str = "SELECT id, nonce FROM events WHERE id = ANY($1)";

/// What became of marks.
#[derive(Debug, Default)]
struct Marked<'f> {
    applied: Vec<&'f AttemptOutcome>,
    /// Nothing of them is stored yet.
    locked: Vec<&'f AttemptOutcome>,
    /// Webhooks that were disabled by them, and why.
    disabled: Vec<(WebhookId, String)>,
}

/// What is done about rows that others have locked.
#[derive(Debug, Clone, Copy)]
enum LockPolicy {
    Wait,
    Skip,
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
        finish_mixed(store, &mut client, &once, rules, LockPolicy::Wait).await
    };
    let ended = match ended {
        Err(error) if is_locked(&error) => finish_mixed(store, &mut client, &once, rules, LockPolicy::Skip).await,
        ended => ended,
    };
    let Marked { applied, locked, disabled } = ended.map_err(store_error)?;
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
) -> Result<Marked<'f>, Error> {
    let decided: Vec<Decided<'_>> =
        finished.iter().map(|one| (*one, Health::default().after(one, rules, time(0)))).collect();
    let rows = mark(client, &decided, &webhooks_of(finished), None).await?;
    let recovered: Vec<i64> = rows.first().map(|row| row.get(3)).unwrap_or_default();
    if !recovered.is_empty() {
        store.recovered(client, recovered.into_iter().map(AccountId)).await;
    }
    if let Err(error) = forget(client, &rows).await {
        // The marks are stored, whatever becomes of old attempts; those go with the next one.
        tracing::warn!(error = reason(&error), "removing old attempts failed");
    }
    Ok(Marked { applied: at_places(finished, &rows), ..Marked::default() })
}

async fn finish_mixed<'f>(
    store: &PostgresStore,
    client: &mut Client,
    finished: &[&'f AttemptOutcome],
    rules: &BreakerRules,
    others: LockPolicy,
) -> Result<Marked<'f>, Error> {
    let transaction = client.transaction().await?;
    let LockedRows { webhooks, free, locked, now } = match others {
        LockPolicy::Wait => delivery_mark_locks::wait(&transaction, finished).await?,
        LockPolicy::Skip => delivery_mark_locks::pass_over(&transaction, finished).await?,
    };
    let Some(now) = now.filter(|_| !free.is_empty()) else { return Ok(Marked { locked, ..Marked::default() }) };
    let mut receivers: BTreeMap<WebhookId, ReceiverState> = webhooks.iter().map(receiver_of).collect();
    let decided: Vec<Decided<'_>> = free.iter().map(|one| (*one, decide(&mut receivers, one, rules, now))).collect();
    let rows = mark(&transaction, &decided, &[], Some(now)).await?;
    forget(&transaction, &rows).await?;
    let is_reported = |(one, consequence): &&Decided<'_>| {
        receivers.get(&one.webhook_id).is_some_and(|receiver| receiver.reports_failure(consequence))
    };
    let accounts: HashMap<WebhookId, AccountId> = webhooks.iter().map(account_of).collect();
    let reported: Vec<&AttemptOutcome> = decided.iter().filter(is_reported).map(|(one, _)| *one).collect();
    let nonces = nonces_of(&transaction, &reported).await?;
    let given_up = reported.into_iter().filter_map(|one| {
        let (account, nonce) = (accounts.get(&one.webhook_id)?, nonces.get(&one.event.0).copied());
        DomainEvent::delivery_failed(*account, one, &store.installation, nonce.unwrap_or_default())
    });
    let given_up = given_up.collect();
    let mut log = write_receivers(&transaction, &receivers, &accounts, given_up, now).await?;
    let changes_deliveries = |(one, consequence): &Decided<'_>| {
        receivers.get(&one.webhook_id).is_some_and(|receiver| receiver.changes_deliveries(one, consequence))
    };
    log.deliveries_if(receivers.values().any(ReceiverState::has_recovered) || decided.iter().any(changes_deliveries));
    store.commit(transaction, log).await?;
    // What is tried again may be due at once.
    claim_bounds::lock(&store.bounds.deliveries).requeued();
    let disabled = receivers.iter().filter_map(|(id, one)| Some((*id, one.disabled_reason()?.to_owned()))).collect();
    Ok(Marked { applied: free, locked, disabled })
}

/// The nonces of the events of these deliveries, by their rows.
async fn nonces_of(transaction: &Transaction<'_>, finished: &[&AttemptOutcome]) -> Result<HashMap<i64, i64>, Error> {
    if finished.is_empty() {
        return Ok(HashMap::new());
    }
    let events: Vec<i64> = finished.iter().map(|one| one.event.0).collect();
    let rows = query(transaction, NONCES, &[&events]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// What one attempt leads to, after those before it. A webhook whose row is gone is removed.
fn decide(
    receivers: &mut BTreeMap<WebhookId, ReceiverState>,
    one: &AttemptOutcome,
    rules: &BreakerRules,
    now: i64,
) -> Consequence {
    let receiver = receivers.entry(one.webhook_id).or_insert_with(ReceiverState::removed);
    let consequence = receiver.decide(one, rules, time(now));
    receiver.apply(&consequence);
    consequence
}

/// Writes how webhooks stand, where that has changed, and the events of those that are disabled and of what was given
/// up.
async fn write_receivers(
    transaction: &Transaction<'_>,
    receivers: &BTreeMap<WebhookId, ReceiverState>,
    accounts: &HashMap<WebhookId, AccountId>,
    given_up: Vec<DomainEvent>,
    now: i64,
) -> Result<ChangeLog, Error> {
    let changed = receivers.iter().filter(|(_, one)| one.is_changed() || one.disabled_reason().is_some());
    let changed: Vec<_> = changed.map(|(id, one)| (id.0, one.health(), one.disabled_reason())).collect();
    webhook_rows::update_health(transaction, &changed).await?;
    let disabled = receivers.iter().filter_map(|(id, one)| {
        let disabled_reason = Some(one.disabled_reason()?.to_owned());
        let about = PayloadWebhook::new(*id, one.url(), disabled_reason);
        Some(DomainEvent::Webhook(EventType::WebhookDisabled, *accounts.get(id)?, about))
    });
    let mut log = ChangeLog::default();
    log.deliveries_if(events::record(transaction, &disabled.chain(given_up).collect::<Vec<_>>(), now).await?);
    for (id, _) in receivers.iter().filter(|(_, one)| one.is_shown_otherwise()) {
        if let Some(account) = accounts.get(id) {
            log.webhooks(*account);
        }
    }
    Ok(log)
}

/// Whose a webhook is.
fn account_of(row: &Row) -> (WebhookId, AccountId) {
    (WebhookId(row.get(0)), AccountId(row.get(11)))
}

fn receiver_of(row: &Row) -> (WebhookId, ReceiverState) {
    let is_removed: bool = row.get(3);
    let stored = || ReceiverState::new(row.get(2), row.get(1), webhook_rows::health_at(row, 4));
    (WebhookId(row.get(0)), if is_removed { ReceiverState::removed() } else { stored() })
}
