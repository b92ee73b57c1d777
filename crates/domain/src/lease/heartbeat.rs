//! How often a lease is renewed: three times in its length, so that one beat may fail and another be late before it is
//! lost.

use std::time::Duration;

/// Beats in one lease.
const BEATS_IN_A_LEASE: u32 = 3;

/// The shortest time between two beats.
const BEAT_MIN: Duration = Duration::from_millis(100);

/// How long a lease is unless it is set.
const LENGTH_DEFAULT: Duration = Duration::from_secs(10);

/// A lease that cannot be kept by beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a lease of {} ms is too short: it is renewed every {} ms at the most often, and must be longer than that", .0.as_millis(), BEAT_MIN.as_millis())]
pub struct LeaseTooShort(pub Duration);

/// How long a lease is, and how often it is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTime {
    length: Duration,
    beat_every: Duration,
}

impl LeaseTime {
    /// A lease that can be kept: the time between two beats is a third of it, at least 100 ms, and always shorter.
    pub fn new(length: Duration) -> Result<Self, LeaseTooShort> {
        let beat_every = (length / BEATS_IN_A_LEASE).max(BEAT_MIN);
        if beat_every < length { Ok(Self { length, beat_every }) } else { Err(LeaseTooShort(length)) }
    }

    /// How long it lasts without a beat.
    pub fn length(self) -> Duration {
        self.length
    }

    /// The time between two beats.
    pub fn beat_every(self) -> Duration {
        self.beat_every
    }
}

impl Default for LeaseTime {
    fn default() -> Self {
        Self { length: LENGTH_DEFAULT, beat_every: LENGTH_DEFAULT / BEATS_IN_A_LEASE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fr_003_the_interval_is_derived_positive_and_shorter_than_the_lease_d5() {
        let millis = Duration::from_millis;
        for (lease, pause) in [(10_000, 3333), (600, 200), (301, 100), (300, 100), (200, 100), (101, 100)] {
            let time = LeaseTime::new(millis(lease)).unwrap();
            let beat = time.beat_every();
            assert_eq!((time.length(), beat.as_millis()), (millis(lease), pause), "{lease}");
            assert!(!beat.is_zero() && beat < millis(lease));
        }
    }

    #[test]
    fn fr_003_the_default_is_one_that_holds_d4() {
        assert_eq!(LeaseTime::new(Duration::from_secs(10)), Ok(LeaseTime::default()));
    }

    #[test]
    fn fr_003_ac3_a_lease_for_which_that_cannot_hold_is_refused_with_a_clear_error_d5() {
        for lease in [0, 1, 99, 100] {
            let error = LeaseTime::new(Duration::from_millis(lease)).unwrap_err();
            assert!(error.to_string().contains(&format!("a lease of {lease} ms is too short")), "{error}");
        }
    }
}
