//! At most 20 events in any second of a stream, and the first few at once.

use std::time::Duration;

use tokio::time::Instant;

/// Events that may come at once.
const BURST: f64 = 8.0;
/// Events a second after that. With the burst it is 20 in the worst second.
const PER_SEC: f64 = 12.0;

#[derive(Debug)]
pub(super) struct Pace {
    /// What was left then.
    left: f64,
    at: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { left: BURST, at: None }
    }
}

impl Pace {
    /// How long so many events have to wait; zero if they need not.
    pub(super) fn wait(&self, now: Instant, events: u32) -> Duration {
        let missing = f64::from(events).min(BURST) - self.left_at(now);
        if missing <= 0.0 { Duration::ZERO } else { Duration::from_secs_f64(missing / PER_SEC) }
    }

    pub(super) fn spend(&mut self, now: Instant, events: u32) {
        self.left = self.left_at(now) - f64::from(events);
        self.at = Some(now);
    }

    fn left_at(&self, now: Instant) -> f64 {
        let passed = self.at.map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64());
        (self.left + passed * PER_SEC).min(BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u2_no_second_has_more_than_20_events() {
        let begin = Instant::now();
        for events in 1..=6 {
            let (mut pace, mut sent) = (Pace::default(), Vec::new());
            for millisecond in 0..5_000 {
                let now = begin + Duration::from_millis(millisecond);
                if pace.wait(now, events).is_zero() {
                    pace.spend(now, events);
                    sent.push(millisecond);
                }
            }
            for first in &sent {
                let within = sent.iter().filter(|other| (*first..*first + 1_000).contains(other)).count();
                assert!(within * usize::try_from(events).unwrap() <= 20, "{events} at {first}: {within}");
            }
            assert!(sent.windows(2).all(|pair| pair[1] - pair[0] <= 500), "none waits long: {sent:?}");
        }
    }
}
