//! What cases of delivery are made of: webhooks, deliveries that wait, claims, and how attempts ended.

use std::time::Duration;

use domain::{
    DeliveryId, Lease, WebhookId,
    account::READER,
    delivery::{
        AttemptEnd, AttemptLog, AttemptOutcome, BreakerRules, ClaimLimits, DeliveryJob, FinishReport, NewWebhook,
        Verdict, WebhookSecret,
    },
    ports::{DeliveryStore, StoreResult, TestOutcome},
};
use store::PostgresStore;

use super::LEASE;

pub(super) const RETRY: Verdict = Verdict::Retry(Duration::ZERO);

/// A webhook that wants everything.
pub(super) fn new_webhook() -> NewWebhook {
    NewWebhook { backlog: true, ..NewWebhook::to("https://r.org/", WebhookSecret::parse("whsec_c2VjcmV0").unwrap()) }
}

/// A webhook with so many deliveries, due now.
pub(super) async fn webhook(store: &PostgresStore, deliveries: usize) -> WebhookId {
    let id = store.create_webhook(READER, new_webhook()).await.unwrap().id;
    queue(store, id, deliveries).await;
    id
}

pub(super) async fn queue(store: &PostgresStore, id: WebhookId, deliveries: usize) {
    for _ in 0..deliveries {
        let queued = store.test_webhook(READER, id).await.unwrap();
        assert!(matches!(queued, TestOutcome::Queued(_)), "{queued:?}");
    }
}

/// So many, of whatever webhooks.
pub(super) fn limits(limit: u32) -> ClaimLimits {
    ClaimLimits { limit, of_others: limit, ..ClaimLimits::default() }
}

pub(super) async fn claim(store: &PostgresStore, owner: &str, limit: u32) -> Vec<DeliveryJob> {
    store.claim_deliveries(owner, LEASE, &limits(limit)).await.unwrap().jobs
}

pub(super) fn lease_of(job: &DeliveryJob) -> (DeliveryId, Lease) {
    (job.id, job.lease.clone())
}

pub(super) fn finished(job: &DeliveryJob, verdict: Verdict) -> AttemptOutcome {
    AttemptOutcome {
        id: job.id,
        lease: job.lease.clone(),
        webhook_id: job.webhook_id,
        event: job.event,
        kind: job.kind,
        url: new_webhook().url,
        verdict,
        ended: AttemptEnd::Answered {
            status: if verdict == Verdict::Delivered { 200 } else { 500 },
            retry_after: None,
        },
        is_probe: job.is_probe,
        tries: job.tries,
        attempt: AttemptLog { number: job.attempts + 1, status_code: Some(200), ..AttemptLog::default() },
    }
}

/// Stores marks, those again that others' locks held up, until none is.
pub(super) async fn mark_at_last(store: &PostgresStore, mut marks: Vec<AttemptOutcome>) -> StoreResult<FinishReport> {
    let mut stored = FinishReport::default();
    loop {
        let FinishReport { skipped, locked, disabled } =
            store.finish_deliveries(marks.clone(), &BreakerRules::default()).await?;
        stored.skipped.extend(skipped);
        stored.disabled.extend(disabled);
        if locked.is_empty() {
            return Ok(stored);
        }
        marks.retain(|one| locked.contains(&one.id));
    }
}

pub(super) async fn failures(store: &PostgresStore, id: WebhookId) -> u32 {
    store.webhook(READER, id).await.unwrap().unwrap().consecutive_failures
}
