//! Time for leases: the node's clock, but never earlier than it showed before. By a clock that was set back, a lease that
//! has run out would look good until the clock has caught up.

use std::sync::{Arc, Mutex, PoisonError};

use domain::ports::Clock;
use jiff::{SignedDuration, Timestamp};

#[derive(Debug)]
pub(super) struct LeaseClock {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last: Timestamp,
    /// By how much the clock was set back in all.
    behind: SignedDuration,
}

impl LeaseClock {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let state = State { last: clock.now(), behind: SignedDuration::ZERO };
        Self { clock, state: Mutex::new(state) }
    }

    /// Goes on from the last time that was asked for, if the clock was set back since.
    pub(super) fn now(&self) -> Timestamp {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now().saturating_add(state.behind).unwrap_or(Timestamp::MAX);
        if now < state.last {
            state.behind = state.behind.saturating_add(state.last.duration_since(now));
        } else {
            state.last = now;
        }
        state.last
    }
}

#[cfg(test)]
mod tests {
    use testkit::SimulatedClock;

    use super::*;

    #[test]
    fn d6_time_for_leases_never_goes_back() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let clock = SimulatedClock::at(at(5000));
        let lease_clock = LeaseClock::new(Arc::new(clock.clone()));
        for (shown, expect) in [(5010, 5010), (1400, 5010), (1410, 5020), (1400, 5020), (1401, 5021), (9000, 12_620)] {
            clock.set(at(shown));
            assert_eq!(lease_clock.now(), at(expect), "{shown}");
        }
    }
}
