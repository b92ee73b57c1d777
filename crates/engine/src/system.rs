//! The real time and the real chance: the one place that asks the system for them.

use domain::ports::{Clock, Ids};
use jiff::Timestamp;

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the port that everything else takes the time from")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
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
