//! What an attempt's end means: delivered, tried again later, or given up.

use std::time::Duration;

/// How deliveries are tried again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryRules {
    /// What the first failure waits; each further one waits twice as long.
    pub first: Duration,
    pub max: Duration,
    pub attempts: u32,
    /// The part of a wait that is left to chance, to both sides: 0 to 1.
    pub jitter: f64,
    /// Retries that are allowed, if fewer than `attempts` say; 0 for no such limit.
    pub budget: u32,
}

impl Default for RetryRules {
    fn default() -> Self {
        Self { first: Duration::from_secs(5), max: Duration::from_hours(6), attempts: 16, jitter: 0.2, budget: 0 }
    }
}

impl RetryRules {
    /// Attempts that a delivery has. A budget lowers it without touching rows: it is looked at when an attempt ends.
    pub fn attempts_max(&self) -> u32 {
        let attempts = self.attempts.max(1);
        if self.budget == 0 { attempts } else { attempts.min(self.budget.saturating_add(1)) }
    }

    /// What the failure of this attempt (from 1) waits. `chance` is from 0 to 1; what the receiver asks for is honoured
    /// up to the longest wait.
    pub fn wait(&self, attempt: u32, retry_after: Option<Duration>, chance: f64) -> Duration {
        let doubled = 1u32.checked_shl(attempt.saturating_sub(1).min(31)).unwrap_or(u32::MAX);
        let wait = self.first.saturating_mul(doubled).min(self.max);
        let jitter = self.jitter.clamp(0.0, 1.0);
        let spread = 1.0 + jitter * (2.0 * chance.clamp(0.0, 1.0) - 1.0);
        wait.mul_f64(spread).max(retry_after.unwrap_or_default().min(self.max))
    }
}

/// How an attempt ended, as far as the receiver is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptEnd {
    /// It answered with this status, and may have asked to be left alone for a while.
    Answered { status: u16, retry_after: Option<Duration> },
    /// It did not answer.
    Unanswered,
}

/// What becomes of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    /// It is tried again after this.
    Retry(Duration),
    /// It has failed for good.
    Failed,
    /// It has failed, and its webhook wants nothing any more (410).
    Gone,
}

/// How long a receiver is left alone that answered 429 without saying for how long.
const HOLD_DEFAULT: Duration = Duration::from_secs(1);

impl AttemptEnd {
    /// Whether the answer speaks of the event rather than of how the receiver is: 4xx, but for what asks for another try.
    pub fn is_about_event(&self) -> bool {
        match self {
            Self::Answered { status: 408 | 410 | 425 | 429, .. } => false,
            Self::Answered { status: 400..=499, .. } => true,
            _ => false,
        }
    }

    /// For how long the receiver asks to be sent nothing at all, not only not this.
    pub fn hold(&self) -> Option<Duration> {
        match self {
            Self::Answered { status: 429, retry_after } => Some(retry_after.unwrap_or(HOLD_DEFAULT)),
            Self::Answered { status: 503, retry_after } => *retry_after,
            _ => None,
        }
    }

    /// With no more asked for than is honoured.
    #[must_use]
    pub fn honoured(self, rules: &RetryRules) -> Self {
        match self {
            Self::Answered { status, retry_after } => {
                Self::Answered { status, retry_after: retry_after.map(|asked| asked.min(rules.max)) }
            }
            Self::Unanswered => self,
        }
    }
}

/// Judges an attempt, counted from 1.
pub fn judge(ended: AttemptEnd, attempt: u32, rules: &RetryRules, chance: f64) -> Verdict {
    let retry_after = match ended {
        AttemptEnd::Answered { status: 200..=299, .. } => return Verdict::Delivered,
        AttemptEnd::Answered { status: 410, .. } => return Verdict::Gone,
        AttemptEnd::Answered { retry_after, .. } => retry_after,
        AttemptEnd::Unanswered => None,
    };
    if attempt >= rules.attempts_max() {
        return Verdict::Failed;
    }
    Verdict::Retry(rules.wait(attempt, retry_after, chance))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn answered(status: u16) -> AttemptEnd {
        AttemptEnd::Answered { status, retry_after: None }
    }

    #[test]
    fn d8_2xx_delivers_410_ends_and_the_rest_is_tried_again() {
        let rules = RetryRules::default();
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(judge(answered(status), 1, &rules, 0.5), Verdict::Delivered, "{status}");
        }
        for status in [100, 301, 302, 307, 400, 404, 429, 500, 503] {
            assert_eq!(judge(answered(status), 1, &rules, 0.5), Verdict::Retry(5 * SECOND), "{status}");
        }
        assert_eq!(judge(AttemptEnd::Unanswered, 1, &rules, 0.5), Verdict::Retry(5 * SECOND));
        assert_eq!(judge(answered(410), 1, &rules, 0.5), Verdict::Gone);
    }

    #[test]
    fn d8_waits_double_up_to_the_longest_and_spread_by_chance() {
        let rules = RetryRules::default();
        let waits: Vec<u64> = (1..=15).map(|attempt| rules.wait(attempt, None, 0.5).as_secs()).collect();
        let doubled = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_240, 20_480, 21_600, 21_600];
        assert_eq!(waits, doubled);
        assert!((20..30).contains(&(doubled.iter().sum::<u64>() / 3600)), "about a day");
        assert_eq!(rules.wait(1, None, 0.0), 4 * SECOND);
        assert_eq!(rules.wait(1, None, 1.0), 6 * SECOND);
        assert_eq!(RetryRules { jitter: 0.0, ..rules }.wait(1, None, 0.0), 5 * SECOND);
        assert_eq!(RetryRules { jitter: 1.0, ..rules }.wait(1, None, 0.0), Duration::ZERO);
        assert_eq!(rules.wait(u32::MAX, None, 0.5), Duration::from_hours(6));
    }

    #[test]
    fn d8_retry_after_is_honoured_up_to_the_longest_wait() {
        let rules = RetryRules::default();
        let asked = |secs| AttemptEnd::Answered { status: 503, retry_after: Some(Duration::from_secs(secs)) };
        assert_eq!(judge(asked(60), 1, &rules, 0.5), Verdict::Retry(60 * SECOND));
        assert_eq!(judge(asked(1), 1, &rules, 0.5), Verdict::Retry(5 * SECOND));
        assert_eq!(judge(asked(u64::MAX), 1, &rules, 0.5), Verdict::Retry(Duration::from_hours(6)));
    }

    #[test]
    fn d8_fails_after_its_attempts_or_a_lower_budget() {
        let rules = RetryRules::default();
        assert!(matches!(judge(answered(500), 15, &rules, 0.5), Verdict::Retry(_)));
        assert_eq!(judge(answered(500), 16, &rules, 0.5), Verdict::Failed);
        for (budget, attempts) in [(0, 16), (1, 2), (15, 16), (100, 16)] {
            assert_eq!(RetryRules { budget, ..rules }.attempts_max(), attempts, "{budget}");
        }
        assert_eq!(RetryRules { attempts: 0, ..rules }.attempts_max(), 1);
    }
}
