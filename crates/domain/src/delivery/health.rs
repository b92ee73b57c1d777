//! How a receiver stands, and what an attempt's end means for it and for the delivery.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    circuit::{Circuit, circuit, is_given_up, probe_in},
    outbox::DeliveryStatus,
    retry::Verdict,
};

/// Why a webhook is disabled that answered 410.
const GONE: &str = "it answered 410 Gone: it wants nothing any more";

/// Why a webhook is disabled that failed for too long.
const FAILED_FOR_DAYS: &str = "it has failed for 5 days";

/// How a receiver stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Health {
    /// Failures in a row.
    pub failures: u32,
    /// Since when.
    pub failing_since: Option<Timestamp>,
    /// When the next probe may be sent, if only probes are.
    pub probe_at: Option<Timestamp>,
}

/// What an attempt leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consequence {
    /// How the receiver stands from now on.
    pub health: Health,
    /// Why it is to be disabled, if it is.
    pub disable: Option<&'static str>,
    /// How the delivery stands from now on.
    pub status: DeliveryStatus,
    /// Whether it was one of the attempts that the delivery has: a probe that fails is none.
    pub is_counted: bool,
    /// When it is tried again, if it is.
    pub next_in: Duration,
}

impl Health {
    /// What this attempt leads to. Once only probes are sent, what was under way before is not counted: probes alone
    /// decide how long it is waited for the next, and what the receiver asks for in answer to one.
    pub fn after(
        &self,
        verdict: Verdict,
        is_probe: bool,
        retry_after: Option<Duration>,
        now: Timestamp,
    ) -> Consequence {
        let status = match verdict {
            Verdict::Delivered => DeliveryStatus::Delivered,
            Verdict::Gone => DeliveryStatus::Failed,
            Verdict::Failed if !is_probe => DeliveryStatus::Failed,
            Verdict::Failed | Verdict::Retry(_) => DeliveryStatus::Pending,
        };
        let next_in = match verdict {
            Verdict::Retry(wait) => wait,
            _ => Duration::ZERO,
        };
        let health = match verdict {
            Verdict::Delivered => Self::default(),
            _ => self.failed(is_probe, retry_after.unwrap_or_default(), now),
        };
        let disable = match verdict {
            Verdict::Delivered => None,
            Verdict::Gone => Some(GONE),
            _ => health.failing_since.filter(|since| is_given_up(*since, now)).map(|_| FAILED_FOR_DAYS),
        };
        let is_counted = !is_probe || status != DeliveryStatus::Pending;
        let next_in = if is_counted { next_in } else { probe_in(health.failures).max(retry_after.unwrap_or_default()) };
        Consequence { health, disable, status, is_counted, next_in }
    }

    fn failed(&self, is_probe: bool, retry_after: Duration, now: Timestamp) -> Self {
        let failing_since = self.failing_since.or(Some(now));
        if circuit(self.failures) == Circuit::Broken && !is_probe {
            return Self { failing_since, ..*self };
        }
        let failures = self.failures.saturating_add(1);
        let probe_at = match circuit(failures) {
            Circuit::Whole => None,
            Circuit::Broken => Some(now.saturating_add(probe_in(failures).max(retry_after)).unwrap_or(Timestamp::MAX)),
        };
        Self { failures, failing_since, probe_at }
    }
}

impl Consequence {
    /// What an attempt leads to whose webhook has another URL by now: whatever the old receiver said is nothing to the
    /// new one, which is sent what the old one did not take, at once.
    pub fn of_another_receiver(health: Health, verdict: Verdict) -> Self {
        let is_delivered = verdict == Verdict::Delivered;
        let status = if is_delivered { DeliveryStatus::Delivered } else { DeliveryStatus::Pending };
        Self { health, disable: None, status, is_counted: is_delivered, next_in: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: Verdict = Verdict::Retry(Duration::from_secs(7));

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_second(secs).unwrap()
    }

    #[test]
    fn d9_ten_failures_break_it_and_one_success_mends_it() {
        let mut health = Health::default();
        for failure in 1..=10 {
            let next = health.after(RETRY, false, None, at(failure));
            assert_eq!((next.status, next.is_counted, next.next_in.as_secs()), (DeliveryStatus::Pending, true, 7));
            assert_eq!(next.disable, None);
            health = next.health;
        }
        assert_eq!(health, Health { failures: 10, failing_since: Some(at(1)), probe_at: Some(at(15)) });
        let mended = health.after(Verdict::Delivered, true, None, at(20));
        assert_eq!(
            (mended.health, mended.status, mended.is_counted),
            (Health::default(), DeliveryStatus::Delivered, true)
        );
    }

    #[test]
    fn d9_a_probe_that_fails_costs_no_attempt_and_what_was_under_way_does_not_count_twice() {
        let broken = Health { failures: 10, failing_since: Some(at(1)), probe_at: Some(at(15)) };
        let late = broken.after(RETRY, false, None, at(12));
        assert_eq!((late.health, late.is_counted, late.next_in.as_secs()), (broken, true, 7));
        for verdict in [RETRY, Verdict::Failed] {
            let probe = broken.after(verdict, true, None, at(15));
            assert_eq!((probe.status, probe.is_counted, probe.next_in.as_secs()), (DeliveryStatus::Pending, false, 10));
            assert_eq!(probe.health, Health { failures: 11, failing_since: Some(at(1)), probe_at: Some(at(25)) });
        }
    }

    #[test]
    fn d8_a_probe_honours_what_the_receiver_asks_for() {
        let broken = Health { failures: 10, failing_since: Some(at(1)), probe_at: Some(at(15)) };
        for (asked, wait) in [(120, 120), (3, 10)] {
            let probe = broken.after(RETRY, true, Some(Duration::from_secs(asked)), at(15));
            assert_eq!((probe.health.probe_at, probe.next_in.as_secs()), (Some(at(15 + wait)), wait.unsigned_abs()));
        }
    }

    #[test]
    fn d9_what_an_old_receiver_says_is_nothing_to_the_new_one() {
        let health = Health { failures: 3, failing_since: Some(at(1)), probe_at: None };
        for verdict in [RETRY, Verdict::Failed, Verdict::Gone] {
            let next = Consequence::of_another_receiver(health, verdict);
            assert_eq!((next.health, next.disable, next.is_counted), (health, None, false));
            assert_eq!((next.status, next.next_in), (DeliveryStatus::Pending, Duration::ZERO));
        }
        let next = Consequence::of_another_receiver(health, Verdict::Delivered);
        assert_eq!((next.health, next.status, next.is_counted), (health, DeliveryStatus::Delivered, true));
    }

    #[test]
    fn d8_410_fails_the_delivery_and_disables_the_webhook() {
        for is_probe in [false, true] {
            let gone = Health::default().after(Verdict::Gone, is_probe, None, at(1));
            assert_eq!((gone.status, gone.is_counted), (DeliveryStatus::Failed, true));
            assert!(gone.disable.is_some_and(|why| why.contains("410")));
        }
    }

    #[test]
    fn d9_five_days_of_failures_disable_it() {
        let failing = Health { failures: 40, failing_since: Some(at(0)), probe_at: None };
        assert_eq!(failing.after(RETRY, true, None, at(5 * 86_400 - 1)).disable, None);
        assert_eq!(failing.after(RETRY, true, None, at(5 * 86_400)).disable, Some(FAILED_FOR_DAYS));
        assert_eq!(failing.after(Verdict::Delivered, true, None, at(5 * 86_400)).disable, None);
    }
}
