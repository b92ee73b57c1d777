//! Feeds that are polled for pushes which were not taken: each once in a while at most, so that whoever sends many costs
//! the store and the log little.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use domain::FeedId;
use jiff::{SignedDuration, Timestamp};

/// How often a feed is polled because a push was signed wrongly.
const UNSIGNED_EVERY: SignedDuration = SignedDuration::from_mins(10);

/// Feeds that are remembered.
const REMEMBERED_MAX: usize = 4096;

#[derive(Debug)]
pub(super) struct PollThrottle {
    every: SignedDuration,
    /// Whether feeds may be polled that are too many to be remembered.
    allows_others: bool,
    allowed_at: Mutex<HashMap<FeedId, Timestamp>>,
}

impl PollThrottle {
    /// For pushes that may be anybody's. Where there are too many feeds, the others are polled as usual.
    pub(super) fn unsigned() -> Self {
        Self { every: UNSIGNED_EVERY, allows_others: false, allowed_at: Mutex::default() }
    }

    /// For pushes that were not read, each of which has to lead to a poll. It takes so long until one that was asked for
    /// begins: that answers what is refused meanwhile.
    pub(super) fn unread(poll_after: Duration) -> Self {
        let every = SignedDuration::try_from(poll_after).unwrap_or(UNSIGNED_EVERY);
        Self { every, allows_others: true, allowed_at: Mutex::default() }
    }

    /// Whether a feed may be polled for this reason now. If so, it may not again for a while.
    pub(super) fn allows(&self, feed: FeedId, now: Timestamp) -> bool {
        let mut allowed_at = self.allowed_at.lock().unwrap_or_else(PoisonError::into_inner);
        allowed_at.retain(|_, at| now.duration_since(*at) < self.every);
        if allowed_at.contains_key(&feed) {
            return false;
        }
        if allowed_at.len() >= REMEMBERED_MAX {
            return self.allows_others;
        }
        allowed_at.insert(feed, now);
        true
    }

    /// The poll that was allowed could not be asked for: the next push may.
    pub(super) fn forget(&self, feed: FeedId) {
        self.allowed_at.lock().unwrap_or_else(PoisonError::into_inner).remove(&feed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(throttle: &PollThrottle, cases: &[(i64, i64, bool)]) {
        for (secs, feed, expect) in cases {
            let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(*secs);
            assert_eq!(throttle.allows(FeedId(*feed), now), *expect, "{secs} {feed}");
        }
    }

    /// How many of many other feeds may be polled.
    fn others(throttle: &PollThrottle, secs: i64) -> usize {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(secs);
        (10..10_000).filter(|feed| throttle.allows(FeedId(*feed), now)).count()
    }

    #[test]
    fn w5_feeds_of_wrongly_signed_pushes_are_polled_once_in_ten_minutes() {
        let throttle = PollThrottle::unsigned();
        check(&throttle, &[(0, 1, true), (0, 2, true), (599, 1, false), (600, 1, true), (660, 1, false)]);
        assert_eq!(others(&throttle, 660), REMEMBERED_MAX - 1, "besides the one that is remembered");
    }

    #[test]
    fn w5_feeds_of_unread_pushes_are_polled_after_each_once_at_a_time() {
        let throttle = PollThrottle::unread(Duration::from_secs(10));
        // The poll of the first is due when the last is refused.
        check(&throttle, &[(0, 1, true), (0, 2, true), (9, 1, false), (10, 1, true), (11, 1, false)]);
        throttle.forget(FeedId(1));
        check(&throttle, &[(11, 1, true), (12, 1, false)]);
        assert_eq!(others(&throttle, 12), 9_990, "none is left out");
    }
}
