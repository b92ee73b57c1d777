//! Push subscriptions.

use domain::{
    FeedId,
    push::{Subscription, SubscriptionState, SubscriptionView as Shown},
};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::ids;

/// A subscription as the API shows it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Subscription)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubscriptionView {
    /// The feed; null once it was removed and the hub is being told.
    #[schema(value_type = Option<ids::FeedId>)]
    feed_id: Option<FeedId>,
    /// The hub.
    hub_url: String,
    /// The topic.
    topic_url: String,
    /// How it stands.
    state: StateView,
    /// Whether the hub pushes.
    is_active: bool,
    /// The lease that the hub gave.
    lease_seconds: Option<u32>,
    /// When that ends.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Failures since the last success.
    error_count: u32,
    /// What the last of them was.
    last_error: Option<String>,
    /// When the last push came.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_push_at: Option<Timestamp>,
    /// Pushes so far.
    push_count: u64,
    /// Polls so far that found what the hub had not pushed.
    miss_count: u64,
}

impl From<Shown> for SubscriptionView {
    fn from(shown: Shown) -> Self {
        let Shown {
            feed_id,
            hub_url,
            topic_url,
            state,
            is_active,
            lease_seconds,
            expires_at,
            error_count,
            last_error,
            last_push_at,
            push_count,
            miss_count,
        } = shown;
        Self {
            feed_id,
            hub_url,
            topic_url,
            state: state.into(),
            is_active,
            lease_seconds,
            expires_at,
            error_count,
            last_error,
            last_push_at,
            push_count,
            miss_count,
        }
    }
}

impl From<&Subscription> for SubscriptionView {
    fn from(subscription: &Subscription) -> Self {
        Shown::from(subscription).into()
    }
}

/// How a subscription stands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubscriptionState)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StateView {
    Pending,
    Active,
    Inactive,
    Unsubscribing,
}

impl From<SubscriptionState> for StateView {
    fn from(state: SubscriptionState) -> Self {
        match state {
            SubscriptionState::Pending => Self::Pending,
            SubscriptionState::Active => Self::Active,
            SubscriptionState::Inactive => Self::Inactive,
            SubscriptionState::Unsubscribing => Self::Unsubscribing,
        }
    }
}
