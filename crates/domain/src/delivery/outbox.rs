//! The outbox: deliveries on their way, and what is known of them.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    event::{EventType, FollowerView, PayloadFeed},
    retry::{AttemptEnd, Verdict},
    webhook::Webhook,
};
use crate::{
    ids::{DeliveryId, EventId, WebhookId},
    lease::Lease,
    trace::TraceContext,
};

/// Of an answer, so many bytes are kept.
pub const ANSWER_BYTES_MAX: usize = 1024;

/// Of a delivery, so many attempts are kept: the last ones. Only probes of a broken receiver can be more.
pub const ATTEMPTS_KEPT_MAX: u32 = 100;

/// Updates of one entry are recorded once in this time at most.
pub const UPDATES_EVERY: Duration = Duration::from_hours(24);

/// For so long the row of a removed webhook is kept at least: whoever was about to queue something for it has done so by
/// then.
pub const REMOVED_KEPT: Duration = Duration::from_mins(1);

/// Payloads up to this size come with the claim; larger ones are fetched one by one when they are sent, so that what is
/// claimed never fills the memory.
pub const PAYLOAD_INLINE_MAX: usize = 32 * 1024;

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryStatus {
    /// It is to be sent, or sent again.
    Pending,
    Delivered,
    /// It was given up.
    Failed,
    /// Somebody called it off.
    Cancelled,
}

impl DeliveryStatus {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Delivered, Self::Failed, Self::Cancelled];

    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether a user may have it sent again. What was cancelled stays so, unless a replay meets it.
    pub fn can_requeue(self) -> bool {
        matches!(self, Self::Failed | Self::Delivered)
    }

    /// Whether a user may call it off: what has not arrived.
    pub fn can_cancel(self) -> bool {
        matches!(self, Self::Pending | Self::Failed)
    }
}

/// What a worker asks for when it claims.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimLimits {
    /// In all. Each webhook is given its first before any is given its second, so that no backlog keeps others waiting.
    pub limit: u32,
    /// For each of these webhooks.
    pub of: Vec<(WebhookId, u32)>,
    /// For each webhook that is not among them.
    pub of_others: u32,
    /// Of these webhooks the first is one that was tried before, if there is one, and then one that was not: of the others
    /// it is the other way round.
    pub retries_first: Vec<WebhookId>,
}

impl ClaimLimits {
    /// The same for one webhook, and none for any other.
    #[must_use]
    pub fn only_to(self, webhook: WebhookId) -> Self {
        let known = self.of.iter().find(|(id, _)| *id == webhook).map(|(_, most)| *most);
        Self { of: vec![(webhook, known.unwrap_or(1))], of_others: 0, ..self }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Claimed {
    /// The deliveries, in the order in which they were given: the first of each webhook, then the second, and of one
    /// webhook those that are due for longest first.
    pub jobs: Vec<DeliveryJob>,
    /// The webhooks that they go to, with the secrets that are in force now.
    pub webhooks: Vec<Webhook>,
}

/// A delivery that a worker has claimed.
#[derive(Debug, Clone)]
pub struct DeliveryJob {
    pub id: DeliveryId,
    /// Proof of the claim.
    pub lease: Lease,
    pub webhook_id: WebhookId,
    /// The row of the event.
    pub event: EventId,
    /// The id of the event, as receivers know it: the same in every attempt.
    pub event_id: String,
    pub kind: EventType,
    pub happened_at: Timestamp,
    /// The feed that it is about, as it was stored.
    pub feed: Option<String>,
    /// What the account of the webhook has of that feed and of the entry.
    pub view: FollowerView,
    /// What else it is about, as it was stored; `None` if it is larger than [`PAYLOAD_INLINE_MAX`].
    pub data: Option<String>,
    /// The size of that.
    pub size: usize,
    pub attempts: u32,
    /// Requests that were ever made for it, also those that were no attempts.
    pub tries: u32,
    /// It is sent to see whether a broken receiver is well again.
    pub is_probe: bool,
}

impl DeliveryJob {
    /// The trace that its event belongs to.
    pub fn trace(&self) -> Option<TraceContext> {
        serde_json::from_str::<PayloadFeed>(self.feed.as_deref()?).ok()?.trace
    }
}

/// How an attempt ended, on its way into the store.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptOutcome {
    pub id: DeliveryId,
    /// Proof of the claim: a mark without a good one changes nothing.
    pub lease: Lease,
    pub webhook_id: WebhookId,
    /// The row of the event.
    pub event: EventId,
    pub kind: EventType,
    /// The URL that the webhook had then.
    pub url: String,
    /// What becomes of it.
    pub verdict: Verdict,
    /// What the receiver said. What it asks for is [honoured](AttemptEnd::honoured) as far as it says here.
    pub ended: AttemptEnd,
    /// It was a probe.
    pub is_probe: bool,
    /// Requests that were made before it.
    pub tries: u32,
    /// What is kept of it.
    pub attempt: AttemptLog,
}

impl AttemptOutcome {
    /// Whether it was the first request that was ever made for its delivery.
    pub fn is_first(&self) -> bool {
        self.tries == 0
    }
}

/// What is kept of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttemptLog {
    /// Which it was, from 1.
    pub number: u32,
    /// How long it took.
    pub duration: Duration,
    pub status_code: Option<u16>,
    /// The first [`ANSWER_BYTES_MAX`] of the answer.
    pub answer: Option<String>,
    /// Why there was none, or why it was not good.
    pub error: Option<String>,
}

/// What became of marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FinishReport {
    /// Those that changed nothing, because the row was not theirs any more.
    pub skipped: Vec<DeliveryId>,
    /// Those of which nothing is stored yet, because somebody else has their rows or their webhooks locked: they are to be
    /// stored again in a moment.
    pub locked: Vec<DeliveryId>,
    /// Webhooks that were disabled by them, and why.
    pub disabled: Vec<(WebhookId, String)>,
}

/// A delivery as it is stored, with its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: String,
    /// The id of the event, which is the same for all who receive it.
    pub event_id: String,
    /// What happened. A node of another version may know events that this one does not.
    pub event_type: String,
    pub webhook_id: WebhookId,
    pub delivery_status: DeliveryStatus,
    /// Attempts so far, since it was last queued.
    pub attempts: u32,
    /// When it is tried next.
    pub next_attempt_at: Option<Timestamp>,
    /// Who sends it just now.
    pub lease_owner: Option<String>,
    /// Until when, unless that is renewed.
    pub lease_until: Option<Timestamp>,
    /// The last answer's status.
    pub last_status_code: Option<u16>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// Why it was cancelled.
    pub reason: Option<String>,
    /// When it was first queued.
    pub created_at: Timestamp,
    pub delivered_at: Option<Timestamp>,
}

/// An attempt as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Which it was, from 1 since it was last queued. One more probe of a broken receiver has the same number again.
    pub number: u32,
    pub at: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    pub status_code: Option<u16>,
    /// The first of the answer.
    pub answer: Option<String>,
    pub error: Option<String>,
}

/// Which deliveries are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// Those that stand so.
    pub status: Option<DeliveryStatus>,
    /// Those that go there.
    pub webhook_id: Option<WebhookId>,
}

/// A page of deliveries, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryPage {
    pub deliveries: Vec<Delivery>,
    /// Where the next page begins, if there is one: the id of the last delivery of this one.
    pub next_cursor: Option<String>,
}

/// The outbox in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overview {
    /// Deliveries that are to be sent, or sent again.
    pub pending: u64,
    /// Of those, the ones that are due, leased by nobody, and to a webhook that is sent to, at whatever rate.
    pub ready: u64,
    /// Of those, the ones that somebody sends.
    pub in_flight: u64,
    /// Deliveries that were given up.
    pub failed: u64,
    /// Seconds since the oldest pending one was first queued.
    pub oldest_pending_age: Option<u64>,
}

/// What became of a request about a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// Done: this is how it is now.
    Done(Box<Delivery>),
    /// It stands so, in which that cannot be done.
    WrongState(DeliveryStatus),
    NotFound,
}

/// How long deliveries are kept once they are done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxLimits {
    /// Delivered and cancelled ones.
    pub delivered_older_than: Duration,
    pub failed_older_than: Duration,
    /// At most so many go in one call.
    pub chunk: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d10_what_may_be_requeued_or_cancelled() {
        for (status, can_requeue, can_cancel) in [
            (DeliveryStatus::Pending, false, true),
            (DeliveryStatus::Delivered, true, false),
            (DeliveryStatus::Failed, true, true),
            (DeliveryStatus::Cancelled, false, false),
        ] {
            assert_eq!((status.can_requeue(), status.can_cancel()), (can_requeue, can_cancel), "{status:?}");
        }
    }
}
