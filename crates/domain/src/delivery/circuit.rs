//! How much a receiver is trusted with: more with each success, half with each failure, and after ten failures in a row
//! one probe at a time until one succeeds.

use std::time::Duration;

use jiff::Timestamp;

/// What a receiver that nothing is known of is sent at once.
const WINDOW_FIRST: u32 = 2;

/// Failures in a row after which only probes are sent.
pub const BROKEN_AFTER: u32 = 10;

/// What a broken receiver's rows wait between two probes: twice as long after each, up to the longest.
const PROBE_FIRST: Duration = Duration::from_secs(5);
const PROBE_MAX: Duration = Duration::from_mins(5);

/// For so long a receiver may fail before it is disabled.
pub const DISABLED_AFTER: Duration = Duration::from_hours(5 * 24);

/// What a node may send a receiver at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    size: u32,
    max: u32,
}

impl Window {
    /// The window of a receiver that nothing is known of.
    pub fn new(max: u32) -> Self {
        Self { size: WINDOW_FIRST.min(max.max(1)), max: max.max(1) }
    }

    /// How many may be under way.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// A request arrived.
    pub fn succeeded(&mut self) {
        self.size = (self.size + 1).min(self.max);
    }

    /// A request did not.
    pub fn failed(&mut self) {
        self.size = (self.size / 2).max(1);
    }
}

/// How a receiver stands, as its failures in a row tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circuit {
    /// It is sent what its window allows.
    Whole,
    /// It is sent one probe at a time, which costs no attempt.
    Broken,
}

/// How a receiver with so many failures in a row stands.
pub fn circuit(consecutive_failures: u32) -> Circuit {
    if consecutive_failures < BROKEN_AFTER { Circuit::Whole } else { Circuit::Broken }
}

/// How long after a failed probe the next is sent; the failure is counted already.
pub fn probe_in(consecutive_failures: u32) -> Duration {
    let probes = consecutive_failures.saturating_sub(BROKEN_AFTER).min(31);
    PROBE_FIRST.saturating_mul(1u32.checked_shl(probes).unwrap_or(u32::MAX)).min(PROBE_MAX)
}

/// Whether a receiver that has failed since then is disabled.
pub fn is_given_up(failing_since: Timestamp, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(failing_since)).is_ok_and(|failing| failing >= DISABLED_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d9_a_window_starts_at_two_grows_by_one_and_is_halved() {
        let mut window = Window::new(16);
        assert_eq!(window.size(), 2);
        (0..20).for_each(|_| window.succeeded());
        assert_eq!(window.size(), 16);
        let halved: Vec<u32> = (0..6)
            .map(|_| {
                window.failed();
                window.size()
            })
            .collect();
        assert_eq!(halved, [8, 4, 2, 1, 1, 1]);
        window.succeeded();
        assert_eq!(window.size(), 2);
        assert_eq!(Window::new(1).size(), 1);
        assert_eq!(Window::new(0).size(), 1);
    }

    #[test]
    fn d9_ten_failures_in_a_row_leave_probes() {
        assert_eq!(circuit(9), Circuit::Whole);
        assert_eq!(circuit(10), Circuit::Broken);
        let waits: Vec<u64> = [10, 11, 12, 16, 17, u32::MAX].map(|failures| probe_in(failures).as_secs()).to_vec();
        assert_eq!(waits, [5, 10, 20, 300, 300, 300]);
    }

    #[test]
    fn d9_five_days_of_failures_are_enough() {
        let since: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        let day = |day: i64| since + jiff::SignedDuration::from_hours(24 * day);
        assert!(!is_given_up(since, day(4)));
        assert!(is_given_up(since, day(5)));
        assert!(!is_given_up(day(1), since));
    }
}
