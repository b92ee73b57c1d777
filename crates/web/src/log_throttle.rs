//! What would be logged once for each request, logged once a while.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Lines of one kind are so far apart at least.
const EVERY: Duration = Duration::from_secs(10);

/// Lets a line through once a while, and counts the others.
#[derive(Debug)]
pub(crate) struct LogThrottle(Mutex<Passed>);

#[derive(Debug)]
struct Passed {
    last: Option<Instant>,
    /// Lines since then.
    held_back: u64,
}

impl LogThrottle {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Passed { last: None, held_back: 0 }))
    }

    /// If a line may be logged now: how many were not, since the last.
    pub(crate) fn pass(&self) -> Option<u64> {
        self.pass_at(Instant::now())
    }

    fn pass_at(&self, now: Instant) -> Option<u64> {
        let mut passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if passed.last.is_some_and(|last| now.saturating_duration_since(last) < EVERY) {
            passed.held_back += 1;
            return None;
        }
        passed.last = Some(now);
        Some(std::mem::take(&mut passed.held_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p3_refused_requests_are_logged_once_a_while() {
        let (throttle, start) = (LogThrottle::new(), Instant::now());
        for (after_ms, expect) in [(0, Some(0)), (1, None), (9_999, None), (10_000, Some(2)), (10_001, None)] {
            assert_eq!(throttle.pass_at(start + Duration::from_millis(after_ms)), expect, "{after_ms}");
        }
    }
}
