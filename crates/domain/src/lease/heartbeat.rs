//! How often a lease is renewed: three times in its length, so that one beat may fail and another be late before it is
//! lost.

use std::time::Duration;

/// Beats in one lease.
const BEATS_IN_A_LEASE: u32 = 3;

/// The shortest time between two beats.
const BEAT_MIN: Duration = Duration::from_millis(100);

/// How long a lease is unless it is set.
const LENGTH_DEFAULT: Duration = Duration::from_secs(10);

/// The longest lease: for so long a worker that died keeps its rows.
const LENGTH_MAX: Duration = Duration::from_mins(10);

/// A lease that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongLease {
    /// Beats cannot keep it.
    #[error("a lease of {} ms is too short: it is renewed every {} ms at the most often, and must be longer than that", .0.as_millis(), BEAT_MIN.as_millis())]
    TooShort(Duration),
    /// A worker that died would keep its rows for too long.
    #[error("a lease of {} s is too long: for so long nobody takes over what a worker has that died; write {} s or less", .0.as_secs(), LENGTH_MAX.as_secs())]
    TooLong(Duration),
}

/// How long a lease is, and how often it is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTime {
    length: Duration,
    beat_every: Duration,
}

impl LeaseTime {
    /// A lease that can be kept: the time between two beats is a third of it, at least 100 ms, and always shorter.
    pub fn new(length: Duration) -> Result<Self, WrongLease> {
        if length > LENGTH_MAX {
            return Err(WrongLease::TooLong(length));
        }
        let beat_every = (length / BEATS_IN_A_LEASE).max(BEAT_MIN);
        if beat_every < length { Ok(Self { length, beat_every }) } else { Err(WrongLease::TooShort(length)) }
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
    fn fr_003_interval_is_positive_and_shorter_than_the_lease_d5() {
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
    fn fr_003_ac3_an_impossible_lease_is_refused_d5() {
        for lease in [0, 1, 99, 100] {
            let error = LeaseTime::new(Duration::from_millis(lease)).unwrap_err();
            assert!(error.to_string().contains(&format!("a lease of {lease} ms is too short")), "{error}");
        }
    }

    #[test]
    fn fr_003_a_lease_of_over_ten_minutes_is_refused_d7() {
        assert!(LeaseTime::new(Duration::from_mins(10)).is_ok());
        let error = LeaseTime::new(Duration::from_millis(600_001)).unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
    }
}
