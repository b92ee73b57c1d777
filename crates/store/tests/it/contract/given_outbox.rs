//! What cases of delivery are made of: webhooks, deliveries that wait, claims, and how attempts ended.

use std::time::Duration;

use domain::{
    DeliveryId, FeedId, Lease, WebhookId,
    delivery::{
        Attempt, AttemptEnd, AttemptLog, AttemptOutcome, BreakerRules, ClaimLimits, Claimed, Delivery, DeliveryFilter,
        DeliveryJob, DeliveryStatus, EventType, FinishReport, NewWebhook, Verdict, Webhook, WebhookSecret, data_for,
    },
    ingest::PollOutcome,
    ports::TestOutcome,
};
use serde_json::Value;

use super::{
    Harness,
    given::{LEASE, result, unchanged},
};

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// What a failed attempt waits here.
pub(super) const RETRY: Verdict = Verdict::Retry(Duration::from_secs(5));

/// A webhook that wants everything but backlog.
pub(super) fn new_webhook(url: &str) -> NewWebhook {
    NewWebhook::to(url, secret("first"))
}

/// A secret with these bytes.
pub(super) fn secret(bytes: &str) -> WebhookSecret {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Any text of such digits, in fours, is one in base64.
    let digits = bytes.bytes().map(|byte| char::from(DIGITS[usize::from(byte % 64)])).collect::<String>();
    WebhookSecret::parse(&format!("whsec_{digits:A>8}")).unwrap()
}

/// So many, of whatever webhooks.
pub(super) fn limits(limit: u32) -> ClaimLimits {
    ClaimLimits { limit, of_others: limit, ..ClaimLimits::default() }
}

/// How an attempt ended, with the log of such an end. To which URL it went is filled in when it is marked, unless it is
/// another than the webhook has then.
pub(super) fn finished(job: &DeliveryJob, verdict: Verdict) -> AttemptOutcome {
    let (status_code, error) = match verdict {
        Verdict::Delivered => (Some(200), None),
        Verdict::Gone => (Some(410), Some("410 Gone".to_owned())),
        Verdict::Retry(_) | Verdict::Failed => (Some(500), Some("500 Internal Server Error".to_owned())),
    };
    AttemptOutcome {
        id: job.id,
        lease: job.lease.clone(),
        webhook_id: job.webhook_id,
        event: job.event,
        kind: job.kind,
        url: String::new(),
        verdict,
        ended: AttemptEnd::Answered { status: status_code.unwrap_or(500), retry_after: None },
        is_probe: job.is_probe,
        tries: job.tries,
        attempt: AttemptLog {
            number: job.attempts + 1,
            duration: Duration::from_millis(20),
            status_code,
            answer: Some("an answer".to_owned()),
            error,
        },
    }
}

pub(super) fn lease_of(job: &DeliveryJob) -> (DeliveryId, Lease) {
    (job.id, job.lease.clone())
}

pub(super) fn ids(jobs: &[DeliveryJob]) -> Vec<DeliveryId> {
    jobs.iter().map(|job| job.id).collect()
}

/// The row of a delivery, as its id tells it.
pub(super) fn row(delivery: &Delivery) -> DeliveryId {
    // Behind the installation, before the nonce.
    let digits = "dlv_".len() + 12;
    DeliveryId(i64::from_str_radix(&delivery.id[digits..digits + 12], 16).unwrap())
}

pub(super) fn rows(deliveries: &[Delivery]) -> Vec<DeliveryId> {
    deliveries.iter().map(row).collect()
}

pub(super) fn kinds(deliveries: &[Delivery]) -> Vec<EventType> {
    deliveries.iter().map(|delivery| EventType::by_name(&delivery.event_type).unwrap()).collect()
}

impl Harness {
    /// A webhook that wants everything but backlog.
    pub(super) async fn webhook(&self, url: &str) -> WebhookId {
        self.webhook_like(new_webhook(url)).await.id
    }

    /// One that wants everything but backlog, and events of what others did not get.
    pub(super) async fn quiet_webhook(&self, url: &str) -> WebhookId {
        let wanted = EventType::ALL.into_iter().filter(|kind| *kind != EventType::DeliveryFailed).collect();
        self.webhook_like(NewWebhook { event_types: Some(wanted), ..new_webhook(url) }).await.id
    }

    pub(super) async fn webhook_like(&self, new: NewWebhook) -> Webhook {
        self.store.create_webhook(new).await.unwrap()
    }

    pub(super) async fn the_webhook(&self, id: WebhookId) -> Webhook {
        self.store.webhook(id).await.unwrap().expect("the webhook is there")
    }

    /// Queues so many deliveries to a webhook, due now; the first first.
    pub(super) async fn queue(&self, webhook: WebhookId, count: usize) -> Vec<Delivery> {
        let queued = self.queue_tests(webhook, count).await;
        // As what happens is queued.
        self.tamper("UPDATE deliveries SET next_attempt_at = created_at WHERE next_attempt_at = 0").await;
        queued
    }

    /// The same, before all else that waits for the webhook.
    pub(super) async fn queue_tests(&self, webhook: WebhookId, count: usize) -> Vec<Delivery> {
        let mut queued = Vec::new();
        for _ in 0..count {
            match self.store.test_webhook(webhook).await.unwrap() {
                TestOutcome::Queued(delivery) => queued.push(*delivery),
                other => panic!("nothing was queued: {other:?}"),
            }
        }
        queued
    }

    pub(super) async fn claim_with(&self, owner: &str, limits: &ClaimLimits) -> Claimed {
        self.store.claim_deliveries(owner, LEASE, limits).await.unwrap()
    }

    /// Claims up to so many of whatever webhooks.
    pub(super) async fn take(&self, owner: &str, limit: u32) -> Vec<DeliveryJob> {
        self.claim_with(owner, &limits(limit)).await.jobs
    }

    pub(super) async fn take_one(&self, owner: &str) -> DeliveryJob {
        self.take(owner, 1).await.pop().expect("something is due")
    }

    /// One webhook with one delivery, claimed.
    pub(super) async fn one_claimed(&self) -> (WebhookId, Delivery, DeliveryJob) {
        let webhook = self.webhook("https://r.org/1").await;
        let queued = self.queue(webhook, 1).await.remove(0);
        (webhook, queued, self.take_one("worker").await)
    }

    /// The attempts of a delivery, the first first.
    pub(super) async fn attempts(&self, id: &str) -> Vec<Attempt> {
        self.store.delivery(id).await.unwrap().expect("the delivery is there").1
    }

    pub(super) async fn mark(&self, finished: Vec<AttemptOutcome>) -> FinishReport {
        self.mark_within(finished, &BreakerRules::default()).await
    }

    /// The same with other rules than the usual.
    pub(super) async fn mark_within(&self, mut finished: Vec<AttemptOutcome>, rules: &BreakerRules) -> FinishReport {
        for one in finished.iter_mut().filter(|one| one.url.is_empty()) {
            if let Some(webhook) = self.store.receiver(one.webhook_id).await.unwrap() {
                one.url = webhook.url;
            }
        }
        self.store.finish_deliveries(finished, rules).await.unwrap()
    }

    /// An attempt whose mark counts, and that disables nothing.
    pub(super) async fn end(&self, job: &DeliveryJob, verdict: Verdict) {
        assert_eq!(self.mark(vec![finished(job, verdict)]).await, FinishReport::default());
    }

    /// A delivery as it is shown in every way.
    pub(super) async fn shown(&self, id: &str) -> Delivery {
        let (delivery, _) = self.store.delivery(id).await.unwrap().expect("the delivery is there");
        let (status, webhook_id) = (Some(delivery.delivery_status), Some(delivery.webhook_id));
        let page = self.outbox(DeliveryFilter { status, webhook_id }).await;
        assert!(page.contains(&delivery), "one and the same");
        delivery
    }

    pub(super) async fn status(&self, id: &str) -> DeliveryStatus {
        self.shown(id).await.delivery_status
    }

    /// The newest 500 deliveries of a kind, the newest first.
    pub(super) async fn outbox(&self, filter: DeliveryFilter) -> Vec<Delivery> {
        self.store.deliveries(filter, 500, None).await.unwrap().deliveries
    }

    /// All deliveries to a webhook, the oldest first.
    pub(super) async fn deliveries_to(&self, webhook: WebhookId) -> Vec<Delivery> {
        let filter = DeliveryFilter { webhook_id: Some(webhook), ..DeliveryFilter::default() };
        let mut deliveries = self.outbox(filter).await;
        deliveries.reverse();
        deliveries
    }

    /// The events of a webhook's deliveries, in order.
    pub(super) async fn kinds_to(&self, webhook: WebhookId) -> Vec<EventType> {
        kinds(&self.deliveries_to(webhook).await)
    }

    /// All that is due, claimed and delivered: the events with what they are about, in order.
    pub(super) async fn drain(&self) -> Vec<(DeliveryJob, Value)> {
        let mut drained = Vec::new();
        loop {
            let jobs = self.take("drain", 100).await;
            if jobs.is_empty() {
                return drained;
            }
            let ended = jobs.iter().map(|job| finished(job, Verdict::Delivered)).collect();
            assert_eq!(self.mark(ended).await, FinishReport::default());
            for job in jobs {
                let data = match &job.data {
                    Some(data) => data.clone(),
                    None => self.store.event_data(job.event).await.unwrap().expect("the event is there"),
                };
                assert_eq!(job.size, data.len());
                let sent = data_for(job.feed.as_deref(), &data, &job.view, true);
                drained.push((job, serde_json::from_str(&sent).unwrap()));
            }
        }
    }

    /// Fails attempts at what goes to a webhook until so many have failed in a row.
    pub(super) async fn fail_times(&self, webhook: WebhookId, times: u32) {
        self.fail_times_more(webhook, times).await;
        assert_eq!(self.the_webhook(webhook).await.consecutive_failures, times);
    }

    /// Fails so many attempts more.
    pub(super) async fn fail_times_more(&self, webhook: WebhookId, times: u32) {
        for _ in 0..times {
            let only = ClaimLimits { limit: 1, of: vec![(webhook, 1)], of_others: 0, ..ClaimLimits::default() };
            let job = self.claim_with("failing", &only).await.jobs.pop().expect("something is due");
            self.end(&job, Verdict::Retry(Duration::ZERO)).await;
        }
    }

    /// A poll that fails.
    pub(super) async fn fail_poll(&self, feed: FeedId) {
        let job = self.claim(feed).await;
        assert!(self.finish(result(&job, PollOutcome::Failed("no".to_owned()))).await.applied);
    }

    /// A poll that brings nothing new.
    pub(super) async fn poll_unchanged(&self, feed: FeedId) {
        let job = self.claim(feed).await;
        assert!(self.finish(unchanged(&job)).await.applied);
    }
}
