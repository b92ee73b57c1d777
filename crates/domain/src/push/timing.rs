//! When something is to be done about a subscription.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// The lease of a hub that names none, or nonsense.
pub(super) const LEASE_SECS_DEFAULT: u32 = 432_000;

/// The longest lease that is believed.
pub(super) const LEASE_SECS_MAX: u32 = 14 * 24 * 60 * 60;

/// The shortest time from a verification to the next request: a hub that grants seconds does not make us ask all day.
const RENEW_MIN: Duration = Duration::from_secs(5);

/// A lease that ran out is asked for again so long after it began at the earliest.
pub(super) const ASK_AGAIN_MIN: Duration = Duration::from_mins(1);

/// A hub that has accepted must have verified within this time.
pub const VERIFY_WITHIN: Duration = Duration::from_mins(5);

/// Failures after which a subscription is given up for now.
pub(super) const FAILURES_MAX: u32 = 5;

/// Failures of a first subscription after which another of the feed's hubs is tried.
pub(super) const FAILURES_OF_FIRST_HUB_MAX: u32 = 2;

/// What a subscription that is not active waits after each of its first failures.
const FIRST_WAITS: [Duration; 4] =
    [Duration::from_mins(1), Duration::from_mins(5), Duration::from_mins(30), Duration::from_hours(2)];

/// An inactive subscription is tried again after this.
pub(super) const RETRY_INACTIVE: Duration = Duration::from_hours(24);

/// The longest that a hub can defer us.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

/// For so long a hub that never verified is told that we do not want it.
pub(super) const UNVERIFIED_KEPT: Duration = Duration::from_hours(24);

/// How renewals are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenewalRules {
    /// How long before its end a lease is renewed.
    pub renew_before: Duration,
}

impl Default for RenewalRules {
    fn default() -> Self {
        Self { renew_before: Duration::from_hours(48) }
    }
}

/// The lease that counts.
pub(super) fn lease_secs(named: Option<u64>) -> u32 {
    match named {
        None | Some(0) => LEASE_SECS_DEFAULT,
        Some(secs) => u32::try_from(secs).unwrap_or(u32::MAX).min(LEASE_SECS_MAX),
    }
}

/// From the start of a lease to its renewal: so long before its end, but not before half of it is gone, and not at once
/// however short it is.
pub(super) fn renew_in(lease: Duration, rules: RenewalRules) -> Duration {
    lease.saturating_sub(rules.renew_before).max(lease / 2).max(RENEW_MIN)
}

/// From a failure to the next try. `left` is what is left of the lease of an active one.
pub(super) fn retry_in(failures: u32, left: Option<Duration>, retry_after: Option<Duration>) -> Duration {
    let wait = if let Some(left) = left {
        let doubled = 1u64.checked_shl(failures.min(32)).unwrap_or(u64::MAX);
        Duration::from_secs(doubled).min(Duration::from_mins(1)).max(left / 5)
    } else {
        let place = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
        FIRST_WAITS.get(place).copied().unwrap_or(RETRY_INACTIVE)
    };
    wait.max(retry_after.unwrap_or_default().min(RETRY_AFTER_MAX))
}

/// A time, so much later.
pub(super) fn after(now: Timestamp, delay: Duration) -> Timestamp {
    let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
    now.saturating_add(delay).unwrap_or(now)
}

/// What is left until then; nothing if it is past.
pub(super) fn until(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn w4_a_lease_is_what_the_hub_says_within_reason() {
        for (named, secs) in [
            (None, 432_000),
            (Some(0), 432_000),
            (Some(1), 1),
            (Some(864_000), 864_000),
            (Some(14 * 86_400), 14 * 86_400),
            (Some(14 * 86_400 + 1), 14 * 86_400),
            (Some(u64::MAX), 14 * 86_400),
        ] {
            assert_eq!(lease_secs(named), secs, "{named:?}");
        }
    }

    #[test]
    fn w8_renewal_is_two_days_early_or_halfway() {
        for (lease, renewed) in [
            (10 * DAY, 8 * DAY),
            (4 * DAY, 2 * DAY),
            (95 * HOUR, 95 * HOUR / 2),
            (DAY, DAY / 2),
            (Duration::from_mins(1), Duration::from_secs(30)),
            (Duration::from_secs(12), Duration::from_secs(6)),
            (Duration::from_secs(6), Duration::from_secs(5)),
            (Duration::from_secs(1), Duration::from_secs(5)),
        ] {
            assert_eq!(renew_in(lease, RenewalRules::default()), renewed, "{lease:?}");
        }
        assert_eq!(renew_in(10 * DAY, RenewalRules { renew_before: DAY }), 9 * DAY);
    }

    #[test]
    fn w9_a_first_subscription_waits_longer_after_each_failure() {
        let waits: Vec<u64> = (1..=5).map(|failures| retry_in(failures, None, None).as_secs() / 60).collect();
        assert_eq!(waits, [1, 5, 30, 120, 24 * 60]);
        assert_eq!(retry_in(1, None, Some(HOUR)), HOUR);
        assert_eq!(retry_in(1, None, Some(10 * DAY)), DAY);
        assert_eq!(retry_in(2, None, Some(Duration::from_secs(1))), Duration::from_mins(5));
    }

    #[test]
    fn w9_active_retries_after_a_fifth_of_the_lease_left() {
        assert_eq!(retry_in(1, Some(2 * DAY), None), 2 * DAY / 5);
        assert_eq!(retry_in(1, Some(Duration::ZERO), None), Duration::from_secs(2));
        assert_eq!(retry_in(3, Some(Duration::ZERO), None), Duration::from_secs(8));
        assert_eq!(retry_in(10, Some(Duration::ZERO), None), Duration::from_mins(1));
        assert_eq!(retry_in(u32::MAX, Some(Duration::ZERO), None), Duration::from_mins(1));
        assert_eq!(retry_in(1, Some(HOUR), Some(2 * HOUR)), 2 * HOUR);
    }
}
