//! A subscription as the store keeps it and payloads show it.

use jiff::Timestamp;
use serde::Serialize;

use super::secrets::Secrets;
use crate::{
    ids::{FeedId, SubscriptionId},
    ingest::{Document, Stored},
    lease::Lease,
};

/// Misses in a row after which a hub is taken for silent.
const MISSES_MAX: u32 = 2;

/// How a subscription stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SubscriptionState {
    /// Wanted, and not verified by the hub yet.
    Pending,
    /// Verified: the hub pushes.
    Active,
    /// Wanted, but the hub does not push; it is tried again later.
    Inactive,
    /// No longer wanted; the hub is being told.
    Unsubscribing,
}

impl SubscriptionState {
    /// All that there are.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Active, Self::Inactive, Self::Unsubscribing];

    /// Its name, in the API and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Inactive => "inactive",
            Self::Unsubscribing => "unsubscribing",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// What a hub is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    Subscribe,
    /// To push no longer.
    Unsubscribe,
}

impl Mode {
    /// Its name, in `hub.mode` and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Subscribe => "subscribe",
            Self::Unsubscribe => "unsubscribe",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Subscribe, Self::Unsubscribe].into_iter().find(|mode| mode.name() == name)
    }
}

/// A subscription of a feed at a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    pub id: SubscriptionId,
    /// The feed; none once it was removed.
    pub feed_id: Option<FeedId>,
    pub hub_url: String,
    /// The topic: a string, sent and compared as it was found.
    pub topic_url: String,
    /// The secret part of its callback.
    pub token: String,
    /// The base of the callback that the hub was given.
    pub base_url: String,
    pub state: SubscriptionState,
    /// Whether it is the one of its feed; others are remembered because their hubs failed, or are on their way out.
    pub is_current: bool,
    /// The lease that the hub gave.
    pub lease_secs: Option<u32>,
    pub expires_at: Option<Timestamp>,
    /// When it became active.
    pub activated_at: Option<Timestamp>,
    /// When the hub last verified it.
    pub verified_at: Option<Timestamp>,
    /// What the hub was asked for and has not verified yet.
    pub asked: Option<Mode>,
    /// When the hub must have verified what it has accepted.
    pub verify_by: Option<Timestamp>,
    /// Failures since the last success.
    pub error_count: u32,
    /// What the last of them was.
    pub last_error: Option<String>,
    /// When the last push came.
    pub last_push_at: Option<Timestamp>,
    pub push_count: u64,
    /// Entries' worth of polls that found what the hub had not pushed.
    pub miss_count: u64,
    /// Of them, those since the last push; as many as end the trust, where there is no reason for any.
    pub misses_in_row: u32,
    /// What the hub may sign with.
    pub secrets: Secrets,
    /// When something is to be done about it; never, if there is nothing.
    pub next_step_at: Option<Timestamp>,
    /// When an inactive one may be tried again.
    pub retry_at: Option<Timestamp>,
}

impl Subscription {
    /// A subscription that no hub knows of yet, due at once.
    pub fn new(
        id: SubscriptionId,
        feed_id: FeedId,
        hub_url: &str,
        topic_url: &str,
        offer: &Offer,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            feed_id: Some(feed_id),
            hub_url: hub_url.to_owned(),
            topic_url: topic_url.to_owned(),
            token: offer.token.clone(),
            base_url: offer.base_url.clone(),
            state: SubscriptionState::Pending,
            is_current: true,
            lease_secs: None,
            expires_at: None,
            activated_at: None,
            verified_at: None,
            asked: None,
            verify_by: None,
            error_count: 0,
            last_error: None,
            last_push_at: None,
            push_count: 0,
            miss_count: 0,
            misses_in_row: 0,
            secrets: Secrets::default(),
            next_step_at: Some(now),
            retry_at: None,
        }
    }

    /// Whether the hub pushes.
    pub fn is_active(&self) -> bool {
        self.state == SubscriptionState::Active
    }

    /// Whether the hub is trusted to push: only then is the feed not polled as usual.
    pub fn is_trusted(&self) -> bool {
        self.is_current && self.is_active() && self.misses_in_row < MISSES_MAX
    }

    /// No trust until a push has come.
    pub(super) fn distrust(&mut self) {
        self.misses_in_row = self.misses_in_row.max(MISSES_MAX);
    }

    /// The URL that the hub is given.
    pub fn callback(&self) -> String {
        format!("{}/api/websub/callback/{}", self.base_url.trim_end_matches('/'), self.token)
    }
}

/// A subscription without what hubs and we keep secret: part of its feed, and of payloads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionView {
    /// The feed; null once it was removed and the hub is being told.
    pub feed_id: Option<FeedId>,
    pub hub_url: String,
    pub topic_url: String,
    pub state: SubscriptionState,
    /// Whether the hub pushes.
    pub is_active: bool,
    /// The lease that the hub gave.
    pub lease_seconds: Option<u32>,
    pub expires_at: Option<Timestamp>,
    /// Failures since the last success.
    pub error_count: u32,
    /// What the last of them was.
    pub last_error: Option<String>,
    /// When the last push came.
    pub last_push_at: Option<Timestamp>,
    pub push_count: u64,
    /// Polls so far that found what the hub had not pushed.
    pub miss_count: u64,
}

impl From<&Subscription> for SubscriptionView {
    fn from(subscription: &Subscription) -> Self {
        Self {
            feed_id: subscription.feed_id,
            hub_url: subscription.hub_url.clone(),
            topic_url: subscription.topic_url.clone(),
            state: subscription.state,
            is_active: subscription.is_active(),
            lease_seconds: subscription.lease_secs,
            expires_at: subscription.expires_at,
            error_count: subscription.error_count,
            last_error: subscription.last_error.clone(),
            last_push_at: subscription.last_push_at,
            push_count: subscription.push_count,
            miss_count: subscription.miss_count,
        }
    }
}

/// What a new subscription is made with, should one be needed.
#[derive(Clone, PartialEq, Eq)]
pub struct Offer {
    pub token: String,
    /// Where hubs reach us.
    pub base_url: String,
}

impl std::fmt::Debug for Offer {
    /// Without the token.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Offer").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// A subscription that a worker has claimed because something is to be done about it.
#[derive(Debug, Clone)]
pub struct SubscriptionJob {
    /// As it was when it was claimed.
    pub subscription: Subscription,
    /// Proof of the claim.
    pub lease: Lease,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When its feed was last fetched by then.
    pub feed_fetched_at: Option<Timestamp>,
}

/// What the store changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    pub before: Subscription,
    /// How it is; `None` if it is no more.
    pub after: Option<Subscription>,
}

/// What must be known to judge a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushTarget {
    pub subscription: Subscription,
    /// Where its feed is polled: what relative links in a push are relative to. None once it was removed.
    pub feed_url: Option<String>,
}

/// A push that is the hub's, on its way into the store.
#[derive(Debug, Clone)]
pub struct Push {
    pub subscription_id: SubscriptionId,
    /// The secret that it was signed with.
    pub secret: String,
    /// Its entries; of the feed's state nothing in it counts.
    pub document: Document,
    /// It has less than the feed: the feed is to be polled this much later.
    pub poll_in: Option<std::time::Duration>,
}

/// What became of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushStored {
    Stored(Stored),
    /// There is no active subscription any more.
    NotActive,
    /// The feed was removed.
    NoFeed,
}

/// Whom a request at the callback concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// The subscription with this token.
    Token(String),
    /// The ones with this topic.
    Topic(String),
}
