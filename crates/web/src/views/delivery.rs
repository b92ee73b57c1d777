//! Deliveries, their attempts, and the outbox in numbers.

use domain::{
    WebhookId,
    delivery::{Attempt, Delivery, DeliveryStatus, Overview},
};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::ids;

/// A delivery.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeliveryShown)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliveryView {
    #[serde(flatten)]
    stored: StoredDeliveryView,
    /// Attempts that it has before it has failed.
    max_attempts: u32,
}

impl DeliveryView {
    pub(crate) fn new(delivery: Delivery, max_attempts: u32) -> Self {
        Self { stored: delivery.into(), max_attempts }
    }
}

/// A delivery, as the API shows it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Delivery)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredDeliveryView {
    /// Its id.
    id: String,
    /// The id of the event, which is the same for all who receive it.
    event_id: String,
    /// What happened. A node of another version may know events that this one does not.
    event_type: String,
    /// Where it goes.
    #[schema(value_type = ids::WebhookId)]
    webhook_id: WebhookId,
    /// How it stands.
    delivery_status: StatusView,
    /// Attempts so far, since it was last queued.
    attempts: u32,
    /// When it is tried next.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_attempt_at: Option<Timestamp>,
    /// Who sends it just now.
    lease_owner: Option<String>,
    /// Until when, unless that is renewed.
    #[schema(value_type = Option<String>, format = DateTime)]
    lease_until: Option<Timestamp>,
    /// The last answer's status.
    last_status_code: Option<u16>,
    /// Why the last attempt failed.
    last_error: Option<String>,
    /// Why it was cancelled.
    reason: Option<String>,
    /// When it was first queued.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it arrived.
    #[schema(value_type = Option<String>, format = DateTime)]
    delivered_at: Option<Timestamp>,
}

impl From<Delivery> for StoredDeliveryView {
    fn from(delivery: Delivery) -> Self {
        let Delivery {
            id,
            event_id,
            event_type,
            webhook_id,
            delivery_status,
            attempts,
            next_attempt_at,
            lease_owner,
            lease_until,
            last_status_code,
            last_error,
            reason,
            created_at,
            delivered_at,
        } = delivery;
        Self {
            id,
            event_id,
            event_type,
            webhook_id,
            delivery_status: delivery_status.into(),
            attempts,
            next_attempt_at,
            lease_owner,
            lease_until,
            last_status_code,
            last_error,
            reason,
            created_at,
            delivered_at,
        }
    }
}

/// How a delivery stands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeliveryStatus)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StatusView {
    Pending,
    Delivered,
    Failed,
    Cancelled,
}

impl From<DeliveryStatus> for StatusView {
    fn from(status: DeliveryStatus) -> Self {
        match status {
            DeliveryStatus::Pending => Self::Pending,
            DeliveryStatus::Delivered => Self::Delivered,
            DeliveryStatus::Failed => Self::Failed,
            DeliveryStatus::Cancelled => Self::Cancelled,
        }
    }
}

/// An attempt, as the API shows it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Attempt)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttemptView {
    /// Which it was, from 1 since it was last queued. One more probe of a broken receiver has the same number again.
    number: u32,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// How long it took.
    duration_ms: u64,
    /// What was answered.
    status_code: Option<u16>,
    /// The first of the answer.
    answer: Option<String>,
    /// What went wrong.
    error: Option<String>,
}

impl From<Attempt> for AttemptView {
    fn from(attempt: Attempt) -> Self {
        let Attempt { number, at, duration_ms, status_code, answer, error } = attempt;
        Self { number, at, duration_ms, status_code, answer, error }
    }
}

/// The outbox in numbers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Overview)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OverviewView {
    /// Deliveries that are to be sent, or sent again.
    pending: u64,
    /// Of those, the ones that are due, leased by nobody, and to a webhook that is sent to, at whatever rate.
    ready: u64,
    /// Of those, the ones that somebody sends.
    in_flight: u64,
    /// Deliveries that were given up.
    failed: u64,
    /// Seconds since the oldest pending one was first queued.
    oldest_pending_age: Option<u64>,
}

impl From<Overview> for OverviewView {
    fn from(overview: Overview) -> Self {
        let Overview { pending, ready, in_flight, failed, oldest_pending_age } = overview;
        Self { pending, ready, in_flight, failed, oldest_pending_age }
    }
}
