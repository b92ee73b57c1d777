//! How much a receiver is trusted with: a window that grows with each success and is halved by each failure, and a breaker
//! that opens after ten failures in a row. While it is open one probe at a time is sent, until one succeeds.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::retry::RetryRules;

/// What a receiver that nothing is known of is sent at once.
const WINDOW_FIRST: u32 = 2;

/// While the breaker is open, a row that was never tried is probed so long after the last such row: a receiver that
/// refuses some events for ever is sent a new one within a second all the same.
pub const PROBE_NEW_AFTER: Duration = Duration::from_millis(500);

/// A probe that took so long hung.
const PROBE_HANGS_AFTER: Duration = Duration::from_secs(1);

/// After a probe that hung, a row that was tried before is probed so long after a row that was never tried may be at the
/// latest: the next probe may hang as well, and what is new is not to wait for it.
const PROBE_TRIED_BEHIND_NEW: Duration = Duration::from_millis(100);

/// Of three probes of rows that were tried before, two go to the row that was tried most, which a receiver that refuses
/// the first attempts of everything takes soonest, and the third to the one that was tried least: what was tried most may
/// be just what the receiver refuses.
pub const PROBES_A_ROUND: u32 = 3;

/// A receiver that nothing was sent to for so long, and for this part of the time that disables it, was idle, not failing.
const IDLE_AFTER_MAX: Duration = Duration::from_hours(24);
const IDLE_PART: u32 = 5;

/// When a breaker opens, how often is probed, and when a webhook is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerRules {
    /// Failures in a row after which only probes are sent.
    pub open_after: u32,
    /// What is waited after the first failed probe of a row that was tried before; each further one waits twice as long.
    pub probe_first: Duration,
    /// The longest such wait.
    pub probe_max: Duration,
    /// A receiver that fails for so long is disabled.
    pub disable_after: Duration,
    /// Attempts of one delivery may be so far apart without being idle.
    pub retry_max: Duration,
}

impl Default for BreakerRules {
    fn default() -> Self {
        Self {
            open_after: 10,
            probe_first: Duration::from_secs(5),
            probe_max: Duration::from_mins(1),
            disable_after: Duration::from_hours(5 * 24),
            retry_max: RetryRules::default().max,
        }
    }
}

impl BreakerRules {
    /// After so long without an attempt a receiver was idle. Attempts of one delivery may be further apart than that; but
    /// whatever they are, one pause is never so long that the failure after it disables the webhook.
    pub fn idle_after(&self) -> Duration {
        let part = self.disable_after / IDLE_PART;
        let pause = self.retry_max.saturating_mul(2).min(part.saturating_mul(IDLE_PART - 1));
        IDLE_AFTER_MAX.min(part).max(pause)
    }

    /// Whether so many failures in a row open the breaker.
    pub fn opens_at(&self, failures: u32) -> bool {
        failures >= self.open_after.max(1)
    }

    /// How long after a failed probe of a row that was tried before the next such probe is sent; the failed one is counted
    /// already.
    pub fn probe_in(&self, probes: u32) -> Duration {
        let doubled = 1u32.checked_shl(probes.saturating_sub(1).min(31)).unwrap_or(u32::MAX);
        self.probe_first.saturating_mul(doubled).min(self.probe_max)
    }

    /// Whether a receiver that has failed since then is disabled.
    pub fn is_given_up(&self, failing_since: Timestamp, now: Timestamp) -> bool {
        Duration::try_from(now.duration_since(failing_since)).is_ok_and(|failing| failing >= self.disable_after)
    }

    /// Whether a receiver whose last failure was then has been idle since. A clock that went back is no idleness.
    pub fn was_idle(&self, failed_at: Timestamp, now: Timestamp) -> bool {
        now.duration_since(failed_at) > SignedDuration::try_from(self.idle_after()).unwrap_or(SignedDuration::MAX)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    /// Failed probes of rows that were tried before, since it opened.
    pub probes: u32,
    /// When the next row that was tried before may be probed.
    pub probe_at: Timestamp,
    /// When the next row that was never tried may be.
    pub probe_new_at: Timestamp,
}

impl Breaker {
    /// It opens now. The first probes follow at once, one of a row that was never tried and one of a row that was: neither
    /// a receiver that refuses some events nor one that refuses the first attempts of everything is held up.
    pub fn open(now: Timestamp) -> Self {
        Self { probes: 0, probe_at: now, probe_new_at: now }
    }

    /// A probe failed that took so long, of a row that was tried before or never. The probe of a row that was tried before
    /// does not defer those that never were: where such probes follow each other faster than [`PROBE_NEW_AFTER`], nothing
    /// new would ever be sent.
    #[must_use]
    pub fn probed(self, is_new: bool, took: Duration, rules: &BreakerRules, now: Timestamp) -> Self {
        let new_after_pause = after(now, PROBE_NEW_AFTER);
        let (probes, probe_at, probe_new_at) = if is_new {
            (self.probes, self.probe_at, new_after_pause)
        } else {
            let probes = self.probes.saturating_add(1);
            (probes, after(now, rules.probe_in(probes)), self.probe_new_at.min(new_after_pause))
        };
        let earliest =
            if took >= PROBE_HANGS_AFTER { after(new_after_pause, PROBE_TRIED_BEHIND_NEW) } else { probe_at };
        Self { probes, probe_at: probe_at.max(earliest), probe_new_at }
    }
}

pub(super) fn after(now: Timestamp, delay: Duration) -> Timestamp {
    now.saturating_add(delay).unwrap_or(Timestamp::MAX)
}

/// After so many successes in a row a receiver that limits its rate is sent one more at once.
const CAP_RAISED_AFTER: u32 = 16;

/// What a node may send a receiver at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    size: u32,
    /// Up to this it grows with each success; lower than the most for a receiver that limits its rate.
    cap: u32,
    max: u32,
    /// Successes since the cap was last changed.
    successes: u32,
}

impl Window {
    /// The window of a receiver that nothing is known of.
    pub fn new(max: u32) -> Self {
        let max = max.max(1);
        Self { size: WINDOW_FIRST.min(max), cap: max, max, successes: 0 }
    }

    /// How many may be under way.
    pub fn size(&self) -> u32 {
        self.size
    }

    pub fn succeeded(&mut self) {
        self.successes = self.successes.saturating_add(1);
        if self.cap < self.max && self.successes >= CAP_RAISED_AFTER {
            (self.cap, self.successes) = (self.cap + 1, 0);
        }
        self.size = (self.size + 1).min(self.cap);
    }

    /// A request did not.
    pub fn failed(&mut self) {
        self.size = (self.size / 2).max(1);
    }

    /// The receiver says that this was too much: all that is under way beyond what it takes would be refused, so it is sent
    /// one at a time, and more only as it goes well.
    pub fn limited(&mut self) {
        (self.size, self.cap, self.successes) = (1, 1, 0);
    }
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
    fn d9_window_is_one_after_429_and_grows_with_successes() {
        let mut window = Window::new(3);
        window.limited();
        (0..15).for_each(|_| window.succeeded());
        assert_eq!(window.size(), 1);
        window.succeeded();
        assert_eq!(window.size(), 2);
        (0..100).for_each(|_| window.succeeded());
        assert_eq!(window.size(), 3);
    }

    #[test]
    fn d9_ten_failures_open_the_breaker_and_space_probes() {
        let rules = BreakerRules::default();
        assert_eq!([9, 10, 11].map(|failures| rules.opens_at(failures)), [false, true, true]);
        let waits: Vec<u64> = [1, 2, 3, 4, 5, u32::MAX].map(|probes| rules.probe_in(probes).as_secs()).to_vec();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
        let never = BreakerRules { open_after: 0, ..rules };
        assert!(!never.opens_at(0), "a receiver that has not failed is never probed");
    }

    #[test]
    fn d9_when_the_next_rows_may_be_probed() {
        const NOW: i64 = 1_000_000;
        let at = |ms: i64| Timestamp::from_millisecond(NOW + ms).unwrap();
        let usual = BreakerRules::default();
        let impatient = BreakerRules { probe_first: Duration::from_millis(10), ..usual };
        let open = Breaker::open(at(0));
        assert_eq!((open.probes, open.probe_at, open.probe_new_at), (0, at(0), at(0)));
        // When a row of either kind may be probed, from now, before and after a probe that ends now.
        for (is_new, took_ms, rules, (tried, new), expect) in [
            (true, 999, usual, (-1000, -1000), (0, -1000, 500)),
            (true, 999, usual, (4000, 0), (0, 4000, 500)),
            (false, 999, usual, (0, 300), (1, 5000, 300)),
            (false, 999, usual, (0, -1000), (1, 5000, -1000)),
            // Rows that were tried are probed faster than new ones may be, and are being sent when the time of those comes.
            (false, 5, impatient, (0, 1), (1, 10, 1)),
            (false, 5, impatient, (-5, -1), (1, 10, -1)),
            // A clock that was set back by an hour.
            (false, 5, usual, (0, 3_600_000), (1, 5000, 500)),
            // After a probe that hung a new row goes first.
            (true, 1000, impatient, (0, 0), (0, 600, 500)),
            (false, 1000, impatient, (0, 0), (1, 600, 0)),
            (false, 1000, impatient, (0, 500), (1, 600, 500)),
            (false, 15_000, usual, (0, 0), (1, 5000, 0)),
        ] {
            let before = Breaker { probes: 0, probe_at: at(tried), probe_new_at: at(new) };
            let next = before.probed(is_new, Duration::from_millis(took_ms), &rules, at(0));
            let in_ms = |time: Timestamp| time.as_millisecond() - NOW;
            let found = (next.probes, in_ms(next.probe_at), in_ms(next.probe_new_at));
            assert_eq!(found, expect, "new {is_new}, {took_ms} ms, {tried} {new}");
        }
    }

    #[test]
    fn d9_idle_days_do_not_count_as_failures() {
        let rules = BreakerRules::default();
        let since: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        let day = |day: i64| since + jiff::SignedDuration::from_hours(24 * day);
        assert!(!rules.is_given_up(since, day(4)));
        assert!(rules.is_given_up(since, day(5)));
        assert!(!rules.is_given_up(day(1), since));
        assert!(!rules.was_idle(since, day(1)));
        assert!(rules.was_idle(since, day(2)));
        assert!(!rules.was_idle(day(3), since));
        let slow = BreakerRules { retry_max: Duration::from_hours(48), ..rules };
        assert!(!slow.was_idle(since, day(4)), "attempts may be two days apart");
    }

    #[test]
    fn d9_one_pause_is_never_long_enough_to_disable() {
        let hours = Duration::from_hours;
        for (disable_after, retry_max, expect) in [
            (hours(5 * 24), hours(6), hours(24)),
            (hours(30 * 24), hours(6), hours(24)),
            (hours(5), Duration::from_secs(1), hours(1)),
            (hours(5), hours(6), hours(4)),
            (Duration::from_secs(10), hours(6), Duration::from_secs(8)),
        ] {
            let rules = BreakerRules { disable_after, retry_max, ..BreakerRules::default() };
            assert_eq!(rules.idle_after(), expect, "{disable_after:?} {retry_max:?}");
            assert!(rules.idle_after() < disable_after);
        }
    }
}
