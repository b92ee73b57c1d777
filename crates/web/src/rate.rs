//! How often a hub may push for one subscription, and ask about it.

use std::{
    hash::Hash,
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
};

use domain::SubscriptionId;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// After so many pushes those subscriptions are forgotten that have been quiet.
const TIDY_EVERY: u64 = 10_000;

/// What came of late, for each key; what has none shares one account.
#[derive(Debug)]
pub(crate) struct Rate<K: Hash + Eq + Clone> {
    limiter: DefaultKeyedRateLimiter<K>,
    count: AtomicU64,
}

/// Pushes, by subscription.
pub(crate) type PushRate = Rate<Option<SubscriptionId>>;

/// Questions whether something is wanted, by token: each may lead to a poll.
pub(crate) type VerificationRate = Rate<Option<String>>;

impl VerificationRate {
    /// Whether one more question may be asked.
    pub(crate) fn allows(&self, token: Option<&str>) -> bool {
        self.admits(&token.map(str::to_owned))
    }
}

impl<K: Hash + Eq + Clone> Rate<K> {
    /// So many a minute, and all of them at once if they come so.
    pub(crate) fn new(per_minute: NonZeroU32) -> Self {
        Self { limiter: RateLimiter::keyed(Quota::per_minute(per_minute)), count: AtomicU64::new(0) }
    }

    /// Whether one more may come in.
    pub(crate) fn admits(&self, key: &K) -> bool {
        if self.count.fetch_add(1, Ordering::Relaxed) % TIDY_EVERY == TIDY_EVERY - 1 {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(key).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u8_each_subscription_has_its_own_account() {
        let rate = PushRate::new(NonZeroU32::new(3).unwrap());
        let admitted = |id: i64| (0..10).filter(|_| rate.admits(&Some(SubscriptionId(id)))).count();
        assert_eq!((admitted(1), admitted(2)), (3, 3));
        assert_eq!(admitted(1), 0);
    }
}
