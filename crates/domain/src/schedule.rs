//! When to poll a feed next: a function of how the last poll ended, of what server and feed ask for, and of how often
//! the feed has changed.

use std::time::Duration;

use ::feed::Skips;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};

/// What a failing feed waits after its first failure; each further one doubles it, up to the longest interval.
pub const BACKOFF_FIRST: Duration = Duration::from_mins(15);

/// The longest wait that a server can ask for.
pub const RETRY_AFTER_MAX: Duration = Duration::from_hours(7 * 24);

/// What a feed that nothing is known of waits.
pub const ADAPTIVE_FIRST: Duration = Duration::from_hours(1);

/// The part of a wait that is left to chance, so that feeds fetched together drift apart.
const JITTER: f64 = 0.1;

/// The bounds of polling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub min: Duration,
    pub max: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { min: Duration::from_mins(15), max: Duration::from_hours(24) }
    }
}

/// What a poll showed of its feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    Changed,
    Unchanged,
    /// Without an answer; this many times in a row, this one included.
    Failed(u32),
}

/// All that the next poll depends on.
#[derive(Debug, Clone, Copy)]
pub struct Poll {
    pub now: Timestamp,
    /// The bounds in force.
    pub bounds: Bounds,
    pub freshness: Freshness,
    /// The interval adapted to so far.
    pub adaptive: Duration,
    /// The user's interval for this feed: it goes before everything but a server's refusal.
    pub own_interval: Option<Duration>,
    /// For how long the answer is fresh, by its headers: see [`fresh_for`].
    pub fresh_for: Option<Duration>,
    pub ttl: Option<Duration>,
    /// The server's `Retry-After`: see [`retry_after`].
    pub retry_after: Option<Duration>,
    /// Hours and days at which the feed asks to be left alone.
    pub skips: Skips,
    /// From 0 to 1, by chance.
    pub chance: f64,
}

/// When to poll again, and the interval adapted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// From now.
    pub delay: Duration,
    /// To be kept until then.
    pub adaptive: Duration,
}

/// Decides when to poll next.
pub fn next(poll: &Poll) -> Next {
    let adaptive = adapt(poll);
    let wanted = match poll.freshness {
        Freshness::Failed(times) => backoff(times, poll.bounds).max(poll.own_interval.unwrap_or_default()),
        Freshness::Changed | Freshness::Unchanged => poll.own_interval.unwrap_or_else(|| {
            let asked = poll.fresh_for.unwrap_or_default().max(poll.ttl.unwrap_or_default());
            adaptive.max(asked).clamp(poll.bounds.min, poll.bounds.max)
        }),
    };
    let wanted = wanted.mul_f64(1.0 + JITTER * poll.chance.clamp(0.0, 1.0));
    // A server that says when to come back is not asked before that, whoever wants it.
    let wanted = wanted.max(poll.retry_after.unwrap_or_default().min(RETRY_AFTER_MAX));
    let delay = if poll.own_interval.is_some() { wanted } else { past_skips(poll.now, wanted, poll.skips) };
    Next { delay, adaptive }
}

/// The latest time for the next poll after one that a person asked for before the feed was due: asking never defers a
/// feed, unless its server wants that. The server's `Retry-After` counts from the answer, which came within `answer_max` of the
/// claim.
pub fn due_by(
    due_at: Timestamp,
    claimed_at: Timestamp,
    retry_after: Option<Duration>,
    answer_max: Duration,
) -> Timestamp {
    let Some(wait) = retry_after else { return due_at };
    let wait = SignedDuration::try_from(wait.min(RETRY_AFTER_MAX) + answer_max).unwrap_or(SignedDuration::MAX);
    due_at.max(claimed_at.saturating_add(wait).unwrap_or(claimed_at))
}

/// Half as long after a change, half as long again after none: a feed is asked about twice as often as it changes.
fn adapt(poll: &Poll) -> Duration {
    let adapted = match poll.freshness {
        Freshness::Changed => poll.adaptive / 2,
        Freshness::Unchanged => poll.adaptive.mul_f64(1.5),
        Freshness::Failed(_) => poll.adaptive,
    };
    adapted.clamp(poll.bounds.min, poll.bounds.max)
}

/// From a quarter of an hour, but not less than any poll waits.
fn backoff(times: u32, bounds: Bounds) -> Duration {
    let doubled = 1u32.checked_shl(times.saturating_sub(1).min(31)).unwrap_or(u32::MAX);
    BACKOFF_FIRST.max(bounds.min).saturating_mul(doubled).min(bounds.max)
}

/// Moves a poll behind the hours and days that the feed wants to be spared. One that wants to be spared always is not.
fn past_skips(now: Timestamp, delay: Duration, skips: Skips) -> Duration {
    const HOURS_IN_A_WEEK: usize = 7 * 24;
    let all_hours = skips.hours & 0x00ff_ffff == 0x00ff_ffff;
    let all_days = skips.days & 0x7f == 0x7f;
    if skips.is_empty() || all_hours || all_days {
        return delay;
    }
    let mut at = now.saturating_add(SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX)).unwrap_or(now);
    for _ in 0..HOURS_IN_A_WEEK {
        let civil = at.to_zoned(TimeZone::UTC);
        let hour = u32::try_from(civil.hour()).unwrap_or_default();
        let day = u32::try_from(civil.weekday().to_monday_zero_offset()).unwrap_or_default();
        if skips.hours & (1 << hour) == 0 && u32::from(skips.days) & (1 << day) == 0 {
            break;
        }
        let into_hour = at.as_second().rem_euclid(3600);
        at = at.saturating_add(SignedDuration::from_secs(3600 - into_hour)).unwrap_or(at);
    }
    Duration::try_from(at.duration_since(now)).unwrap_or(delay)
}

/// For how long an answer is fresh, by `Cache-Control` (`max-age`, less `Age`) or else by `Expires`. `no-cache` and
/// `no-store` mean that it never is.
pub fn fresh_for(
    cache_control: Option<&str>,
    expires: Option<&str>,
    age: Option<&str>,
    now: Timestamp,
) -> Option<Duration> {
    let directives =
        || cache_control.unwrap_or_default().split(',').map(|directive| directive.trim().to_ascii_lowercase());
    if directives().any(|directive| directive == "no-cache" || directive == "no-store") {
        return None;
    }
    let max_age = directives().find_map(|directive| secs(directive.strip_prefix("max-age=")?.trim_matches('"')));
    if let Some(max_age) = max_age {
        let age = age.and_then(|age| secs(age.trim())).unwrap_or(0);
        return Some(Duration::from_secs(max_age.saturating_sub(age)));
    }
    until(expires?, now)
}

/// A number of seconds; one that is too large to count is as large as can be (RFC 9111, 1.2.2).
fn secs(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// What `Retry-After` asks for: seconds, or a date. That is by the clock of whoever answers, which its `Date` tells: our own
/// may be wrong, and is only asked where there is none.
pub fn retry_after(value: Option<&str>, date: Option<&str>, now: Timestamp) -> Option<Duration> {
    let value = value?.trim();
    match secs(value) {
        Some(secs) => Some(Duration::from_secs(secs)),
        None => until(value, date.and_then(::feed::date::parse).unwrap_or(now)),
    }
}

/// The time until an HTTP date; none if it is past or no date.
fn until(date: &str, now: Timestamp) -> Option<Duration> {
    Duration::try_from(::feed::date::parse(date)?.duration_since(now)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);
    const HOUR: Duration = Duration::from_hours(1);

    fn monday_noon() -> Timestamp {
        "2026-03-02T12:00:00Z".parse().unwrap()
    }

    fn poll() -> Poll {
        Poll {
            now: monday_noon(),
            bounds: Bounds::default(),
            freshness: Freshness::Unchanged,
            adaptive: HOUR,
            own_interval: None,
            fresh_for: None,
            ttl: None,
            retry_after: None,
            skips: Skips::default(),
            chance: 0.0,
        }
    }

    #[test]
    fn f4_the_interval_adapts_within_its_bounds() {
        for (freshness, before, after) in [
            (Freshness::Unchanged, HOUR, HOUR * 3 / 2),
            (Freshness::Changed, HOUR, HOUR / 2),
            (Freshness::Changed, 20 * MINUTE, 15 * MINUTE),
            (Freshness::Unchanged, 20 * HOUR, 24 * HOUR),
            (Freshness::Unchanged, 24 * HOUR, 24 * HOUR),
        ] {
            let next = next(&Poll { freshness, adaptive: before, ..poll() });
            assert_eq!((next.delay, next.adaptive), (after, after), "{freshness:?} {before:?}");
        }
    }

    #[test]
    fn f4_a_failing_feed_backs_off_and_keeps_what_it_adapted_to() {
        for (times, delay) in
            [(1, 15 * MINUTE), (2, 30 * MINUTE), (3, HOUR), (7, 16 * HOUR), (8, 24 * HOUR), (u32::MAX, 24 * HOUR)]
        {
            let next = next(&Poll { freshness: Freshness::Failed(times), ..poll() });
            assert_eq!((next.delay, next.adaptive), (delay, HOUR), "{times}");
        }
        let bounds = Bounds { min: 2 * HOUR, max: 5 * HOUR };
        for (times, delay) in [(1, 2 * HOUR), (2, 4 * HOUR), (3, 5 * HOUR)] {
            let next = next(&Poll { freshness: Freshness::Failed(times), bounds, ..poll() });
            assert_eq!(next.delay, delay, "no more often than a feed that does not fail: {times}");
        }
    }

    #[test]
    fn f4_server_and_feed_can_ask_for_longer_but_not_for_ever() {
        let check = |poll: Poll, delay: Duration| assert_eq!(next(&poll).delay, delay, "{poll:?}");
        check(Poll { fresh_for: Some(5 * HOUR), ..poll() }, 5 * HOUR);
        check(Poll { fresh_for: Some(MINUTE), ..poll() }, HOUR * 3 / 2);
        check(Poll { fresh_for: Some(9000 * HOUR), ..poll() }, 24 * HOUR);
        check(Poll { ttl: Some(3 * HOUR), ..poll() }, 3 * HOUR);
        check(Poll { ttl: Some(3 * HOUR), fresh_for: Some(2 * HOUR), ..poll() }, 3 * HOUR);
        check(Poll { retry_after: Some(30 * HOUR), freshness: Freshness::Failed(1), ..poll() }, 30 * HOUR);
        check(Poll { retry_after: Some(MINUTE), freshness: Freshness::Failed(1), ..poll() }, 15 * MINUTE);
        check(
            Poll { retry_after: Some(Duration::from_secs(u64::MAX)), freshness: Freshness::Failed(1), ..poll() },
            RETRY_AFTER_MAX,
        );
    }

    #[test]
    fn f4_a_feed_can_have_its_own_interval() {
        let check = |poll: Poll, delay: Duration| assert_eq!(next(&poll).delay, delay, "{poll:?}");
        let own = Poll { own_interval: Some(5 * MINUTE), ..poll() };
        check(own, 5 * MINUTE);
        check(Poll { fresh_for: Some(HOUR), ttl: Some(HOUR), ..own }, 5 * MINUTE);
        check(Poll { freshness: Freshness::Failed(1), ..own }, 15 * MINUTE);
        check(Poll { retry_after: Some(HOUR), ..own }, HOUR);
        check(Poll { own_interval: Some(48 * HOUR), freshness: Freshness::Failed(1), ..poll() }, 48 * HOUR);
    }

    #[test]
    fn f5_polling_by_hand_defers_only_by_retry_after() {
        let (now, secs) = (monday_noon(), Duration::from_secs(30));
        for (due_in, retry_after, expect) in [
            (20 * MINUTE, None, 20 * MINUTE),
            (20 * MINUTE, Some(MINUTE), 20 * MINUTE),
            (20 * MINUTE, Some(5 * HOUR), 5 * HOUR + secs),
            (20 * MINUTE, Some(Duration::MAX), RETRY_AFTER_MAX + secs),
        ] {
            assert_eq!(due_by(now + due_in, now, retry_after, secs), now + expect, "{due_in:?} {retry_after:?}");
        }
    }

    #[test]
    fn f4_hours_and_days_are_skipped() {
        let check = |skips: Skips, delay: Duration, expect: Duration| {
            assert_eq!(past_skips(monday_noon(), delay, skips), expect, "{skips:?} {delay:?}");
        };
        let hours = |hours: &[u32]| Skips { hours: hours.iter().map(|hour| 1 << hour).sum(), days: 0 };
        check(hours(&[13]), HOUR, 2 * HOUR);
        check(hours(&[13]), HOUR + 10 * MINUTE, 2 * HOUR);
        check(hours(&[13, 14, 15]), HOUR, 4 * HOUR);
        check(hours(&[12]), HOUR, HOUR);
        check(Skips { hours: 0, days: 1 }, HOUR, 12 * HOUR);
        check(Skips { hours: 1, days: 1 }, HOUR, 13 * HOUR);
        check(Skips { hours: 0x00ff_ffff, days: 0 }, HOUR, HOUR);
        check(Skips { hours: 0, days: 0x7f }, HOUR, HOUR);
    }

    #[test]
    fn f4_jitter_only_ever_adds() {
        assert_eq!(next(&Poll { chance: 1.0, ..poll() }).delay, HOUR.mul_f64(1.65));
        assert_eq!(
            next(&Poll { chance: 0.5, freshness: Freshness::Failed(1), ..poll() }).delay,
            (15 * MINUTE).mul_f64(1.05)
        );
    }

    #[test]
    fn f4_headers_say_how_long_an_answer_is_fresh() {
        let noon = monday_noon();
        let secs = |duration: Option<Duration>| duration.map(|duration| duration.as_secs());
        for (cache_control, expires, age, expect) in [
            (Some("max-age=600"), None, None, Some(600)),
            (Some("public, Max-Age=600"), Some("Mon, 02 Mar 2026 15:00:00 GMT"), None, Some(600)),
            (Some("max-age=600"), None, Some("100"), Some(500)),
            (Some("max-age=600"), None, Some("1000"), Some(0)),
            (Some("no-cache, max-age=600"), None, None, None),
            (Some("max-age=x"), Some("Mon, 02 Mar 2026 13:00:00 GMT"), None, Some(3600)),
            // Too large to count, and then as large as can be, but never no answer and never a wrapped one.
            (Some("max-age=99999999999999999999"), None, None, Some(u64::MAX)),
            (Some("max-age=99999999999999999999"), None, Some("99999999999999999999"), Some(0)),
            (Some("max-age=600"), None, Some("99999999999999999999"), Some(0)),
            (Some("max-age=600"), None, Some("-5"), Some(600)),
            (Some("max-age=-1"), None, None, None),
            (Some("max-age="), None, None, None),
            (Some("max-age=1e9"), None, None, None),
            // No date at all, or one that no feed has: as if nothing had been said.
            (None, Some("Fri, 31 Dec 9999 23:59:59 GMT"), None, None),
            (None, Some("Fri, 31 Dec 99999 23:59:59 GMT"), None, None),
            (None, Some("99999999999999999999"), None, None),
            (None, Some("Mon, 02 Mar 2026 11:00:00 GMT"), None, None),
            (None, Some("0"), None, None),
            (None, None, None, None),
        ] {
            assert_eq!(secs(fresh_for(cache_control, expires, age, noon)), expect, "{cache_control:?} {expires:?}");
        }
        assert_eq!(secs(retry_after(Some("120"), None, noon)), Some(120));
        assert_eq!(secs(retry_after(Some("Mon, 02 Mar 2026 12:05:00 GMT"), None, noon)), Some(300));
        assert_eq!(secs(retry_after(Some("soon"), None, noon)), None);
        // By the clock of whoever answers: ours is an hour behind it here.
        let date = Some("Mon, 02 Mar 2026 13:00:00 GMT");
        assert_eq!(secs(retry_after(Some("Mon, 02 Mar 2026 13:05:00 GMT"), date, noon)), Some(300));
        assert_eq!(secs(retry_after(Some("-1"), None, noon)), None);
        assert_eq!(secs(retry_after(Some("99999999999999999999"), None, noon)), Some(u64::MAX));
    }

    #[test]
    fn f4_next_poll_is_within_a_day_or_a_week_after_refusal() {
        let now = monday_noon();
        let absurd = Duration::from_secs(u64::MAX);
        for fresh_for in [
            fresh_for(Some("max-age=99999999999999999999"), None, None, now),
            fresh_for(Some("max-age=18446744073709551615"), None, None, now),
            fresh_for(Some("s-maxage=0, max-age=\"31536000\""), None, None, now),
            fresh_for(None, Some("Thu, 31 Dec 2037 23:55:55 GMT"), None, now),
        ] {
            assert_eq!(next(&Poll { fresh_for, ..poll() }).delay, 24 * HOUR, "{fresh_for:?}");
        }
        for ttl in [absurd, Duration::from_mins(u64::from(u32::MAX))] {
            assert_eq!(next(&Poll { ttl: Some(ttl), ..poll() }).delay, 24 * HOUR, "{ttl:?}");
        }
        for adaptive in [absurd / 2, Duration::from_secs(u64::from(u32::MAX))] {
            let polled = next(&Poll { adaptive, ..poll() });
            assert_eq!((polled.delay, polled.adaptive), (24 * HOUR, 24 * HOUR), "{adaptive:?}");
        }
        for asked in ["99999999999999999999", "18446744073709551615", "Thu, 31 Dec 2037 23:55:55 GMT"] {
            let refused =
                Poll { retry_after: retry_after(Some(asked), None, now), freshness: Freshness::Failed(1), ..poll() };
            assert_eq!(next(&refused).delay, RETRY_AFTER_MAX, "{asked}");
        }
    }
}
