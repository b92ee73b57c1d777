//! Busy hubs that a claim has passed over, and that nothing of others was due.
//!
//! Such a claim walks all that is due at those hubs. After every step of a hub with thousands of them it would be made
//! again, and find nothing: so it is remembered for a second, unless there may be something new.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};

const REMEMBERED_FOR: SignedDuration = SignedDuration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct SkippedHubs {
    last: Mutex<Option<(HashSet<String>, Timestamp)>>,
}

impl SkippedHubs {
    /// Whether a claim that passes these hubs over would find nothing.
    pub(super) fn covers(&self, busy: &[String], now: Timestamp) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(|(hubs, at)| {
            let age = now.duration_since(*at);
            !age.is_negative() && age < REMEMBERED_FOR && hubs.iter().all(|hub| busy.contains(hub))
        })
    }

    /// A claim that passed these hubs over has taken all that was due elsewhere.
    pub(super) fn skipped(&self, busy: Vec<String>, now: Timestamp) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((busy.into_iter().collect(), now));
    }

    /// Something may be due that was not.
    pub(super) fn forget(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w8_claim_past_busy_hubs_is_not_repeated() {
        let hubs = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (passed, start) = (SkippedHubs::default(), Timestamp::UNIX_EPOCH);
        let after = |millis| start + SignedDuration::from_millis(millis);
        assert!(!passed.covers(&hubs(&["a"]), start));
        passed.skipped(hubs(&["a", "b"]), start);
        assert!(passed.covers(&hubs(&["b", "a"]), after(999)));
        assert!(passed.covers(&hubs(&["a", "b", "c"]), start));
        assert!(!passed.covers(&hubs(&["a"]), start), "b is free again");
        assert!(!passed.covers(&hubs(&["a", "b"]), after(1000)));
        assert!(!passed.covers(&hubs(&["a", "b"]), after(-1)), "the clock was set back");
        passed.forget();
        assert!(!passed.covers(&hubs(&["a", "b"]), start));
    }
}
