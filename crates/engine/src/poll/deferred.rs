//! The feeds that found no place in their host's queue. The store has deferred them for a while, so that claims go on to
//! the feeds of others; here it is remembered which they are, so that they are polled as soon as there is capacity.
//!
//! Nothing depends on it: what is forgotten is due again by itself.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::FeedId;
use jiff::{SignedDuration, Timestamp};

use crate::hosts::{self, HOST_WAITING_MAX, Hosts};

/// For how long a feed is deferred.
pub(crate) const DEFER_FOR: Duration = Duration::from_mins(1);

/// For how long that is remembered: a little longer, so that there is no moment in which a feed is neither remembered
/// nor due.
const REMEMBERED_FOR: SignedDuration = SignedDuration::from_secs(70);

/// Feeds that are remembered.
const REMEMBERED_MAX: usize = 65_536;

/// The free places in a host's queue from which it is filled up again: a claim costs the store something.
const REFILL_MIN: usize = HOST_WAITING_MAX / 2;

/// Feeds that are picked at once.
const PICKED_MAX: usize = HOST_WAITING_MAX;

#[derive(Debug, Default)]
pub(crate) struct DeferredFeeds {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    hosts: HashMap<String, HashMap<FeedId, Remembered>>,
    count: usize,
}

#[derive(Debug, Clone, Copy)]
struct Remembered {
    /// When it was first deferred. In the store it loses its place with every time; here it keeps it.
    since: Timestamp,
    until: Timestamp,
}

impl State {
    fn remove(&mut self, host: &str, feed: FeedId) {
        let Some(feeds) = self.hosts.get_mut(host) else { return };
        self.count -= usize::from(feeds.remove(&feed).is_some());
        if feeds.is_empty() {
            self.hosts.remove(host);
        }
    }

    fn remove_past(&mut self, now: Timestamp) {
        for feeds in self.hosts.values_mut() {
            feeds.retain(|_, remembered| remembered.until > now);
        }
        self.hosts.retain(|_, feeds| !feeds.is_empty());
        self.count = self.hosts.values().map(HashMap::len).sum();
    }
}

impl DeferredFeeds {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether none is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().count == 0
    }

    /// Remembers feeds that are deferred now, each with its URL.
    pub(crate) fn note<'u>(&self, feeds: impl Iterator<Item = (FeedId, &'u str)>, now: Timestamp) {
        let until = now.saturating_add(REMEMBERED_FOR).unwrap_or(Timestamp::MAX);
        let mut state = self.lock();
        for (feed, url) in feeds {
            if state.count >= REMEMBERED_MAX {
                state.remove_past(now);
            }
            if state.count >= REMEMBERED_MAX {
                return;
            }
            let feeds = state.hosts.entry(hosts::key(url)).or_default();
            let before = feeds.len();
            feeds.entry(feed).or_insert(Remembered { since: now, until }).until = until;
            state.count += feeds.len() - before;
        }
    }

    /// Forgets those that are due again by themselves.
    pub(crate) fn forget_past(&self, now: Timestamp) {
        self.lock().remove_past(now);
    }

    /// Forgets a feed: it is polled now.
    pub(crate) fn forget(&self, feed: FeedId, url: &str) {
        let mut state = self.lock();
        if state.count > 0 {
            state.remove(&hosts::key(url), feed);
        }
    }

    /// Forgets feeds that were picked.
    pub(crate) fn forget_all(&self, picked: &[(String, FeedId)]) {
        let mut state = self.lock();
        for (host, feed) in picked {
            state.remove(host, *feed);
        }
    }

    /// Feeds for which their hosts' queues have places again, with their hosts; of each host those that have waited
    /// longest. They stay remembered.
    pub(crate) fn pick(
        &self,
        hosts: &Hosts,
        now: Timestamp,
        wanted: &(dyn Fn(FeedId) -> bool + Sync),
    ) -> Vec<(String, FeedId)> {
        let mut picked = Vec::new();
        for (host, feeds) in &self.lock().hosts {
            let capacity = hosts.queue_capacity(host).min(PICKED_MAX - picked.len());
            if capacity < REFILL_MIN {
                continue;
            }
            let waiting = feeds.iter().filter(|(feed, remembered)| remembered.until > now && wanted(**feed));
            let mut waiting: Vec<_> = waiting.map(|(feed, remembered)| (remembered.since, *feed)).collect();
            waiting.sort_unstable();
            picked.extend(waiting.into_iter().take(capacity).map(|(_, feed)| (host.clone(), feed)));
        }
        picked
    }

    /// Whether any of those that are wanted is still deferred.
    pub(crate) fn any(&self, now: Timestamp, wanted: impl Fn(FeedId) -> bool) -> bool {
        self.lock().hosts.values().flatten().any(|(feed, remembered)| remembered.until > now && wanted(*feed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn ids(picked: &[(String, FeedId)]) -> Vec<i64> {
        picked.iter().map(|(_, feed)| feed.0).collect()
    }

    fn deferred(ids: std::ops::Range<i64>, url: &str) -> DeferredFeeds {
        let deferred = DeferredFeeds::default();
        deferred.note(ids.map(|id| (FeedId(id), url)), NOW);
        deferred
    }

    #[test]
    fn f4_deferred_feed_is_picked_at_half_queue() {
        let hosts = Hosts::new(1);
        let mut waiting: Vec<_> = (0..=HOST_WAITING_MAX).map(|_| hosts.apply("http://a/")).collect();
        let deferred = deferred(0..1000, "http://a/feed");
        assert!(deferred.pick(&hosts, NOW, &|_| true).is_empty());
        // Whoever is served goes out of the queue, whether or not they still wait.
        waiting.truncate(1);
        waiting.clear();
        let picked = deferred.pick(&hosts, NOW, &|feed| feed.0 % 2 == 1);
        assert_eq!(picked.len(), HOST_WAITING_MAX);
        assert_eq!(ids(&picked)[..3], [1, 3, 5]);
        deferred.forget_all(&picked);
        deferred.forget(FeedId(513), "http://a/other");
        assert_eq!(ids(&deferred.pick(&hosts, NOW, &|feed| feed.0 % 2 == 1))[0], 515);
    }

    #[test]
    fn f4_deferred_first_is_picked_first() {
        let hosts = Hosts::new(1);
        let minute = SignedDuration::try_from(DEFER_FOR).unwrap();
        let deferred = deferred(50..52, "http://a/");
        deferred.note([(FeedId(1), "http://a/")].into_iter(), NOW + minute / 2);
        deferred.note([(FeedId(51), "http://a/"), (FeedId(2), "http://a/")].into_iter(), NOW + minute);
        assert_eq!(ids(&deferred.pick(&hosts, NOW + minute, &|_| true)), [50, 51, 1, 2]);
        assert_eq!(ids(&deferred.pick(&hosts, NOW + minute * 3 / 2, &|_| true)), [51, 1, 2]);
    }

    #[test]
    fn f4_deferred_feeds_are_forgotten_and_bounded() {
        let hosts = Hosts::new(1);
        let later = NOW + SignedDuration::try_from(DEFER_FOR).unwrap() * 2;
        let many = i64::try_from(REMEMBERED_MAX).unwrap();
        let deferred = deferred(0..many + 5, "http://a/");
        assert_eq!(deferred.lock().count, REMEMBERED_MAX);
        assert!(deferred.any(NOW, |feed| feed.0 == many - 1) && !deferred.any(NOW, |feed| feed.0 == many));
        assert!(!deferred.any(later, |_| true) && deferred.pick(&hosts, later, &|_| true).is_empty());
        deferred.note([(FeedId(many), "http://b/")].into_iter(), later);
        assert_eq!(deferred.lock().count, 1);
        assert!(deferred.any(later, |feed| feed.0 == many));
        deferred.forget(FeedId(many), "http://b/");
        assert!(deferred.is_empty());
        deferred.note([(FeedId(1), "http://b/")].into_iter(), NOW);
        deferred.forget_past(later);
        assert!(deferred.is_empty());
    }
}
