//! How often a lease is renewed: three times in its length, so that one beat may fail and another be late before it is
//! lost.

use std::time::Duration;

/// Beats in one lease.
const BEATS_IN_A_LEASE: u32 = 3;

/// The shortest time between two beats.
const BEAT_MIN: Duration = Duration::from_millis(100);

/// A lease that cannot be kept by beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a lease of {} ms is too short: it is renewed every {} ms at the most often, and must be longer than that", .0.as_millis(), BEAT_MIN.as_millis())]
pub struct LeaseTooShort(pub Duration);

/// The time between two beats of such a lease: a third of it, at least 100 ms, and always shorter than it.
pub fn beat_every(lease: Duration) -> Result<Duration, LeaseTooShort> {
    let pause = (lease / BEATS_IN_A_LEASE).max(BEAT_MIN);
    if pause < lease { Ok(pause) } else { Err(LeaseTooShort(lease)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fr_003_the_interval_is_derived_positive_and_shorter_than_the_lease_d5() {
        let millis = Duration::from_millis;
        for (lease, pause) in [(10_000, 3333), (600, 200), (301, 100), (300, 100), (200, 100), (101, 100)] {
            let beat = beat_every(millis(lease)).unwrap();
            assert_eq!(beat.as_millis(), pause, "{lease}");
            assert!(!beat.is_zero() && beat < millis(lease));
        }
    }

    #[test]
    fn fr_003_ac3_a_lease_for_which_that_cannot_hold_is_refused_with_a_clear_error_d5() {
        for lease in [0, 1, 99, 100] {
            let error = beat_every(Duration::from_millis(lease)).unwrap_err();
            assert!(error.to_string().contains(&format!("a lease of {lease} ms is too short")), "{error}");
        }
    }
}
