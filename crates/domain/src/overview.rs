//! How feeds and subscriptions stand, in numbers: what `/metrics` shows.

use std::time::Duration;

use crate::push::SubscriptionState;

/// How many there are of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedOverview {
    pub all: u64,
    /// Feeds that are due.
    pub due: u64,
    /// Feeds whose last poll failed, without those that are gone.
    pub failing: u64,
    /// Feeds that a hub is trusted to push.
    pub pushed: u64,
    /// Feeds that are gone.
    pub gone: u64,
    /// Subscriptions in each state; those that are not named are none.
    pub subscriptions: Vec<(SubscriptionState, u64)>,
    /// The time that is left of the lease that ends first; zero if it has ended.
    pub lease_left_min: Option<Duration>,
}
