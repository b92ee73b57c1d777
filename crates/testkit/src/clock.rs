//! A clock that a test sets.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::ports::Clock;
use jiff::{SignedDuration, Timestamp};

/// Shows the system's time until it is set; from then on it stands still until it is moved. Clones show the same.
#[derive(Debug, Clone, Default)]
pub struct SimulatedClock(Arc<Mutex<Option<Timestamp>>>);

impl SimulatedClock {
    /// A clock that stands at this instant.
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(Some(now))))
    }

    /// Moves it to this instant, which may be an earlier one.
    pub fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Moves it on.
    ///
    /// # Panics
    ///
    /// Beyond the end of time.
    pub fn advance(&self, by: Duration) {
        let by = SignedDuration::try_from(by).expect("a test's steps are short");
        self.set(self.now() + by);
    }
}

impl Clock for SimulatedClock {
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from, until a test sets it")]
    fn now(&self) -> Timestamp {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(Timestamp::now)
    }
}
