//! What the store said of a session, a token or a name, for half a second: a page asks ten times in a row. So whatever is
//! ended on one node has ended on all of them within a second.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How long an answer is good for, from when it was asked for.
pub(super) const FRESH_FOR: Duration = Duration::from_millis(500);
/// Answers that are kept.
const KEPT_MAX: usize = 1_000;

#[derive(Debug)]
pub(super) struct Lookups<K, V> {
    kept: Mutex<HashMap<K, (Instant, V)>>,
    fresh_for: Duration,
}

impl<K, V> Default for Lookups<K, V> {
    fn default() -> Self {
        Self::fresh_for(FRESH_FOR)
    }
}

impl<K, V> Lookups<K, V> {
    /// Answers that are good for another time than the usual.
    pub(super) fn fresh_for(fresh_for: Duration) -> Self {
        Self { kept: Mutex::new(HashMap::new()), fresh_for }
    }
}

impl<K: Eq + Hash, V: Clone> Lookups<K, V> {
    /// The answer, if it is fresh.
    pub(super) fn get(&self, key: &K, now: Instant) -> Option<V> {
        let kept = self.lock();
        let fresh = kept.get(key).filter(|(asked, _)| now.saturating_duration_since(*asked) < self.fresh_for);
        fresh.map(|(_, value)| value.clone())
    }

    /// Keeps an answer that was asked for then.
    pub(super) fn put(&self, key: K, asked: Instant, value: V) {
        let mut kept = self.lock();
        if kept.len() >= KEPT_MAX && !kept.contains_key(&key) {
            kept.retain(|_, (then, _)| asked.saturating_duration_since(*then) < self.fresh_for);
            if kept.len() >= KEPT_MAX {
                kept.clear();
            }
        }
        kept.insert(key, (asked, value));
    }

    /// Something was changed: everything is asked for anew.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, (Instant, V)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a4_answers_are_good_for_less_than_a_second_and_bounded() {
        let (lookups, now) = (Lookups::default(), Instant::now());
        lookups.put(0, now, "a");
        assert_eq!(lookups.get(&0, now + Duration::from_millis(499)), Some("a"));
        assert_eq!(lookups.get(&0, now + Duration::from_millis(500)), None);
        for number in 1..5_000 {
            lookups.put(number, now, "b");
            assert!(lookups.lock().len() <= KEPT_MAX);
        }
        lookups.clear();
    }
}
