//! The real time and the real chance: the one place that asks the system for them.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use domain::ports::{Clock, Ids};
use jiff::Timestamp;

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the port that everything else takes the time from")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// The system's clock, but for when that is set back: then it goes on from where it was. For the embedded store, so that
/// nothing which is due in a moment waits until the clock has caught up.
#[derive(Debug, Default)]
pub struct SteadyClock {
    /// What it last showed, and when that was by a clock that nobody sets.
    last: Mutex<Option<(Timestamp, Instant)>>,
}

impl SteadyClock {
    /// The time, by the system's clock, and by the one that nobody sets.
    fn read(&self, wall: Timestamp, steady: Instant) -> Timestamp {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = last.and_then(|(shown, at)| shown.checked_add(steady.saturating_duration_since(at)).ok());
        let now = expected.map_or(wall, |expected| expected.max(wall));
        *last = Some((now, steady));
        now
    }
}

impl Clock for SteadyClock {
    #[expect(clippy::disallowed_methods, reason = "the port that the store takes the time from")]
    fn now(&self) -> Timestamp {
        self.read(Timestamp::now(), Instant::now())
    }
}

/// The system's source of chance.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl Ids for SystemIds {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the system has a source of chance: without one no secret is safe");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "there is no other way to come by an instant")]
    fn d8_clock_set_back_delays_nothing() {
        let (clock, begun) = (SteadyClock::default(), Instant::now());
        let noon: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let secs = Duration::from_secs;
        assert_eq!(clock.read(noon, begun), noon);
        assert_eq!(clock.read(noon + secs(2), begun + secs(1)), noon + secs(2), "set forward it is followed");
        let back = noon - secs(3600);
        assert_eq!(clock.read(back, begun + secs(2)), noon + secs(3));
        assert_eq!(clock.read(back + secs(5), begun + secs(7)), noon + secs(8));
        assert_eq!(clock.read(noon + secs(60), begun + secs(8)), noon + secs(60), "until it has caught up");
    }
}
