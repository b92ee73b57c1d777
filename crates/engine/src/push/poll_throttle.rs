//! Feeds whose hubs sign wrongly: each is polled for that once in ten minutes at most.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use domain::FeedId;
use jiff::{SignedDuration, Timestamp};

const POLL_EVERY: SignedDuration = SignedDuration::from_mins(10);

/// Feeds that are remembered. Where there are more, the others are polled as usual.
const REMEMBERED_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct PollThrottle {
    polled_at: Mutex<HashMap<FeedId, Timestamp>>,
}

impl PollThrottle {
    /// Whether a feed may be polled for this reason now. If so, it may not for the next ten minutes.
    pub(super) fn allows(&self, feed: FeedId, now: Timestamp) -> bool {
        let mut polled_at = self.polled_at.lock().unwrap_or_else(PoisonError::into_inner);
        polled_at.retain(|_, at| now.duration_since(*at) < POLL_EVERY);
        if polled_at.contains_key(&feed) || polled_at.len() >= REMEMBERED_MAX {
            return false;
        }
        polled_at.insert(feed, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w5_poll_throttle_is_ten_minutes_and_bounded() {
        let (poll_throttle, start) = (PollThrottle::default(), Timestamp::UNIX_EPOCH);
        let at = |minutes: i64| start + SignedDuration::from_mins(minutes);
        for (minutes, feed, expect) in [(0, 1, true), (0, 2, true), (9, 1, false), (10, 1, true), (11, 1, false)] {
            assert_eq!(poll_throttle.allows(FeedId(feed), at(minutes)), expect, "{minutes} {feed}");
        }
        let turns = (10..10_000).filter(|feed| poll_throttle.allows(FeedId(*feed), at(11))).count();
        assert_eq!(turns, REMEMBERED_MAX - 1, "besides the one that is remembered");
    }
}
