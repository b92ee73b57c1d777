//! How often hubs may call: each subscription has a rate of its own, and all calls that name none share one. So no
//! stranger uses up what a hub has, and memory grows with the subscriptions, not with what strangers send.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
};

use domain::SubscriptionId;
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};

/// After so many calls those subscriptions are forgotten that have been quiet.
const TIDY_EVERY: u64 = 10_000;

/// What a call is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateKey {
    /// The subscription with the token of the address.
    Subscription(SubscriptionId),
    /// Nobody: the token is none of ours.
    UnknownToken,
    /// Whoever has the topic: the address has no token.
    NoToken,
}

#[derive(Debug)]
pub(crate) struct CallRateLimit {
    subscriptions: DefaultKeyedRateLimiter<SubscriptionId>,
    unknown_tokens: DefaultDirectRateLimiter,
    no_token: DefaultDirectRateLimiter,
    count: AtomicU64,
}

impl CallRateLimit {
    /// So many a minute for each subscription, and so many of strangers of each kind; all of them at once if they come
    /// so.
    pub(crate) fn new(per_minute: NonZeroU32, strangers_per_minute: NonZeroU32) -> Self {
        let strangers = Quota::per_minute(strangers_per_minute);
        Self {
            subscriptions: RateLimiter::keyed(Quota::per_minute(per_minute)),
            unknown_tokens: RateLimiter::direct(strangers),
            no_token: RateLimiter::direct(strangers),
            count: AtomicU64::new(0),
        }
    }

    /// Whether one more may come in.
    pub(crate) fn admits(&self, key: RateKey) -> bool {
        match key {
            RateKey::Subscription(id) => self.admits_subscription(id),
            RateKey::UnknownToken => self.unknown_tokens.check().is_ok(),
            RateKey::NoToken => self.no_token.check().is_ok(),
        }
    }

    fn admits_subscription(&self, id: SubscriptionId) -> bool {
        if self.count.fetch_add(1, Ordering::Relaxed) % TIDY_EVERY == TIDY_EVERY - 1 {
            self.subscriptions.retain_recent();
        }
        self.subscriptions.check_key(&id).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u8_w3_rate_is_per_subscription_strangers_share_one() {
        let rate = CallRateLimit::new(NonZeroU32::new(3).unwrap(), NonZeroU32::new(5).unwrap());
        let admitted = |callee| (0..10).filter(|_| rate.admits(callee)).count();
        let [one, two] = [1, 2].map(|id| RateKey::Subscription(SubscriptionId(id)));
        assert_eq!((admitted(RateKey::UnknownToken), admitted(RateKey::NoToken)), (5, 5));
        assert_eq!((admitted(one), admitted(two)), (3, 3));
        assert_eq!((admitted(one), admitted(RateKey::UnknownToken), admitted(RateKey::NoToken)), (0, 0, 0));
    }
}
