//! How many requests a second a webhook is sent at most, over all nodes: a moment before which no more is sent, moved on by
//! each request.

use std::time::Duration;

/// What a webhook may be sent at once although its rate is lower, as a part of a second.
const BURST_MS: f64 = 100.0;

/// Requests a second, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(u32);

impl Rate {
    /// The lowest and the highest that can be set.
    pub const RANGE: (f64, f64) = (0.001, 10_000.0);

    /// So many a second, to a thousandth; `None` if that is not in the range.
    pub fn per_second(rate: f64) -> Option<Self> {
        let (min, max) = Self::RANGE;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
        (min..=max).contains(&rate).then(|| Self((rate * 1000.0).round() as u32))
    }

    /// As it is stored.
    pub fn thousandths(self) -> u32 {
        self.0
    }

    /// From what was stored; `None` for what never is.
    pub fn from_thousandths(thousandths: i64) -> Option<Self> {
        u32::try_from(thousandths).ok().filter(|thousandths| *thousandths > 0).map(Self)
    }

    /// Milliseconds between two requests.
    pub fn spacing_ms(self) -> f64 {
        1_000_000.0 / f64::from(self.0)
    }

    /// How many may be sent now, if so many milliseconds from now on are taken already: one as soon as none are, or a tenth
    /// of a second's worth at once.
    pub fn allowed(self, taken_ms: f64) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast of a float saturates")]
        let allowed = ((self.burst_ms() - self.really_taken(taken_ms)) / self.spacing_ms()).floor().max(0.0) as u32;
        allowed
    }

    /// In how long one more may be sent, if so much is taken.
    pub fn ready_in(self, taken_ms: f64) -> Duration {
        let wait_ms = self.really_taken(taken_ms) - (self.burst_ms() - self.spacing_ms());
        Duration::try_from_secs_f64(wait_ms.max(0.0) / 1000.0).unwrap_or(Duration::MAX)
    }

    fn burst_ms(self) -> f64 {
        BURST_MS.max(self.spacing_ms())
    }

    /// No claim takes more than a burst: if more seems to be taken, a clock went back.
    fn really_taken(self, taken_ms: f64) -> f64 {
        if taken_ms > self.burst_ms() + 1.0 { 0.0 } else { taken_ms.max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(rate: f64) -> Rate {
        Rate::per_second(rate).unwrap()
    }

    #[test]
    fn d1_rate_is_positive_and_bounded() {
        for wrong in [0.0, -1.0, 0.0009, 10_001.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::per_second(wrong), None, "{wrong}");
        }
        for set in [5.0, 0.5, 0.001, 10_000.0] {
            assert_eq!(Rate::from_thousandths(rate(set).thousandths().into()), Some(rate(set)));
        }
        assert_eq!(Rate::from_thousandths(0), None);
    }

    #[test]
    fn d9_a_low_rate_is_even_and_a_high_one_comes_in_small_groups() {
        assert_eq!((rate(5.0).allowed(0.0), rate(5.0).allowed(1.0)), (1, 0));
        assert_eq!(rate(5.0).ready_in(150.0), Duration::from_millis(150));
        assert_eq!((rate(100.0).allowed(0.0), rate(100.0).allowed(50.0), rate(100.0).allowed(95.0)), (10, 5, 0));
        assert_eq!(rate(100.0).ready_in(95.0), Duration::from_millis(5));
        assert_eq!(rate(0.5).allowed(0.0), 1);
        assert_eq!(rate(0.5).ready_in(2000.0), Duration::from_secs(2));
        assert_eq!(
            (rate(5.0).allowed(200.0), rate(5.0).allowed(3_600_000.0)),
            (0, 1),
            "a clock that goes back locks nothing"
        );
    }
}
