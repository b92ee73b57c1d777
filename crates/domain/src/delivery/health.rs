//! How a receiver stands, and what an attempt's end means for it and for the delivery.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    breaker::{Breaker, BreakerRules, after},
    outbox::{AttemptOutcome, DeliveryStatus},
    retry::{AttemptEnd, Verdict},
};

/// Why a webhook is disabled that answered 410.
const GONE: &str = "it answered 410 Gone: it wants nothing any more";

/// How a receiver stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Health {
    /// Failures in a row that speak of the receiver, not of an event.
    pub failures: u32,
    /// Since when nothing has succeeded although something was tried, without a long pause.
    pub failing_since: Option<Timestamp>,
    /// When something last failed.
    pub failed_at: Option<Timestamp>,
    /// The breaker, if it is open.
    pub breaker: Option<Breaker>,
    /// Until then the receiver asked to be sent nothing.
    pub held_until: Option<Timestamp>,
}

/// What an attempt leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consequence {
    /// How the receiver stands from now on.
    pub health: Health,
    /// Why it is to be disabled, if it is.
    pub disable: Option<String>,
    /// How the delivery stands from now on.
    pub status: DeliveryStatus,
    /// Whether it was one of the attempts that the delivery has: a failed probe is none, unless the answer speaks of the
    /// event.
    pub is_counted: bool,
    /// When it is tried again, if it is.
    pub next_in: Duration,
}

impl Health {
    /// What this attempt leads to.
    pub fn after(&self, finished: &AttemptOutcome, rules: &BreakerRules, now: Timestamp) -> Consequence {
        let AttemptOutcome { verdict, ended, is_probe, .. } = finished;
        let is_refused = ended.is_about_event();
        let status = match verdict {
            Verdict::Delivered => DeliveryStatus::Delivered,
            Verdict::Gone => DeliveryStatus::Failed,
            Verdict::Failed if !is_probe || is_refused => DeliveryStatus::Failed,
            Verdict::Failed | Verdict::Retry(_) => DeliveryStatus::Pending,
        };
        let health = match verdict {
            Verdict::Delivered => Self { held_until: self.held_until, ..Self::default() },
            _ => self.failed(finished, rules, now),
        };
        let is_counted = !is_probe || is_refused || status != DeliveryStatus::Pending;
        let next_in = match (verdict, is_counted) {
            (_, false) => probe_again_in(&health, finished, rules),
            (Verdict::Retry(wait), true) => *wait,
            _ => Duration::ZERO,
        };
        Consequence { disable: disabled_by(*verdict, &health, rules, now), health, status, is_counted, next_in }
    }

    fn failed(&self, finished: &AttemptOutcome, rules: &BreakerRules, now: Timestamp) -> Self {
        let was_idle = self.failed_at.is_some_and(|failed_at| rules.was_idle(failed_at, now));
        let failing_since = self.failing_since.filter(|_| !was_idle).or(Some(now));
        let held_until = finished.ended.hold().map(|hold| after(now, hold)).max(self.held_until);
        let is_refused = finished.ended.is_about_event();
        let (failures, breaker) = match self.breaker {
            // Sent before it opened: only probes say how the receiver stands now.
            Some(open) if !finished.is_probe => (self.failures, Some(open)),
            Some(open) => {
                let failures = if is_refused { self.failures } else { self.failures.saturating_add(1) };
                (failures, Some(open.probed(finished.is_first(), finished.attempt.duration, rules, now)))
            }
            None if is_refused => (self.failures, None),
            None => {
                let failures = self.failures.saturating_add(1);
                (failures, rules.opens_at(failures).then(|| Breaker::open(now)))
            }
        };
        Self { failures, failing_since, failed_at: Some(now), breaker, held_until }
    }
}

/// When a row is tried again whose probe failed and cost it no attempt: with the next probe.
fn probe_again_in(health: &Health, finished: &AttemptOutcome, rules: &BreakerRules) -> Duration {
    let probes = if finished.is_first() { 1 } else { health.breaker.map_or(1, |open| open.probes) };
    let asked = match finished.ended {
        AttemptEnd::Answered { retry_after, .. } => retry_after.unwrap_or_default(),
        AttemptEnd::Unanswered => Duration::ZERO,
    };
    rules.probe_in(probes).max(asked)
}

fn disabled_by(verdict: Verdict, health: &Health, rules: &BreakerRules, now: Timestamp) -> Option<String> {
    match verdict {
        Verdict::Delivered => None,
        Verdict::Gone => Some(GONE.to_owned()),
        _ if health.failing_since.is_some_and(|since| rules.is_given_up(since, now)) => {
            Some(format!("it has failed for {}", in_words(rules.disable_after)))
        }
        _ => None,
    }
}

/// A long time as one would say it.
fn in_words(time: Duration) -> String {
    let counted = |count: u64, unit: &str| format!("{count} {unit}{}", if count == 1 { "" } else { "s" });
    match time.as_secs() {
        secs if secs >= 86_400 && secs % 86_400 == 0 => counted(secs / 86_400, "day"),
        secs if secs >= 3600 && secs % 3600 == 0 => counted(secs / 3600, "hour"),
        secs if secs >= 60 && secs % 60 == 0 => counted(secs / 60, "minute"),
        secs => counted(secs, "second"),
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

/// The receiver of a webhook, as the ends of several attempts leave it, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverState {
    url: String,
    is_enabled: bool,
    is_removed: bool,
    before: Health,
    health: Health,
    disable: Option<String>,
}

impl ReceiverState {
    /// As it is stored.
    pub fn new(url: String, is_enabled: bool, health: Health) -> Self {
        Self { url, is_enabled, is_removed: false, before: health, health, disable: None }
    }

    /// Of a webhook that is removed: nothing of it is written, and no event recorded.
    pub fn removed() -> Self {
        Self { is_removed: true, ..Self::new(String::new(), false, Health::default()) }
    }

    /// What an attempt leads to, after those that were applied.
    pub fn decide(&self, outcome: &AttemptOutcome, rules: &BreakerRules, now: Timestamp) -> Consequence {
        if self.is_removed || self.url == outcome.url {
            self.health.after(outcome, rules, now)
        } else {
            Consequence::of_another_receiver(self.health, outcome.verdict)
        }
    }

    /// Applies what was decided, now that it is known that the delivery was the worker's own.
    pub fn apply(&mut self, consequence: &Consequence) {
        self.health = consequence.health;
        if self.is_enabled && self.disable.is_none() {
            self.disable.clone_from(&consequence.disable);
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn health(&self) -> Health {
        self.health
    }

    /// Whether its health is to be written.
    pub fn is_changed(&self) -> bool {
        !self.is_removed && self.before != self.health
    }

    /// Whether `delivery.failed` is recorded for this.
    pub fn reports_failure(&self, consequence: &Consequence) -> bool {
        !self.is_removed && consequence.status == DeliveryStatus::Failed
    }

    /// Why it is disabled by this, if it is.
    pub fn disabled_reason(&self) -> Option<&str> {
        self.disable.as_deref()
    }

    /// Whether a change of the webhook is told: whoever looks at it sees something else than before. It is disabled, or its
    /// breaker has opened or closed.
    pub fn is_shown_otherwise(&self) -> bool {
        let is_breaker_moved = self.before.breaker.is_some() != self.health.breaker.is_some();
        self.disable.is_some() || !self.is_removed && is_breaker_moved
    }

    /// Whether a change of deliveries is told: those that waited for it can be claimed now.
    pub fn has_recovered(&self) -> bool {
        self.before.failures > 0 && self.health.failures == 0
    }

    /// Whether a change of deliveries is told for this attempt: one has failed for good, or is sent to another URL at once.
    /// Of others it is not: they are many, and whoever sends them knows.
    pub fn changes_deliveries(&self, outcome: &AttemptOutcome, consequence: &Consequence) -> bool {
        consequence.status == DeliveryStatus::Failed || self.is_redirected(outcome, consequence)
    }

    /// Whether this attempt left a delivery that is sent to another URL at once.
    fn is_redirected(&self, outcome: &AttemptOutcome, consequence: &Consequence) -> bool {
        !self.is_removed && self.url != outcome.url && consequence.status == DeliveryStatus::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        delivery::EventType,
        ids::{DeliveryId, EventId, WebhookId},
        lease::Lease,
    };

    const RETRY: Verdict = Verdict::Retry(Duration::from_secs(7));

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_second(secs).unwrap()
    }

    fn answered(status: u16, retry_after: Option<u64>) -> AttemptEnd {
        AttemptEnd::Answered { status, retry_after: retry_after.map(Duration::from_secs) }
    }

    /// The end of an attempt at a row that was tried before.
    fn attempt(verdict: Verdict, status: u16) -> AttemptOutcome {
        AttemptOutcome {
            id: DeliveryId(1),
            lease: Lease { owner: "w".into(), fence: 1 },
            webhook_id: WebhookId(1),
            event: EventId(1),
            kind: EventType::EntryCreated,
            url: String::new(),
            verdict,
            ended: answered(status, None),
            is_probe: false,
            tries: 1,
            attempt: crate::delivery::AttemptLog::default(),
        }
    }

    fn probe(verdict: Verdict, status: u16) -> AttemptOutcome {
        AttemptOutcome { is_probe: true, ..attempt(verdict, status) }
    }

    fn open(secs: i64) -> Health {
        let failed = Some(at(1));
        Health {
            failures: 10,
            failing_since: failed,
            failed_at: failed,
            breaker: Some(Breaker::open(at(secs))),
            held_until: None,
        }
    }

    fn after(health: &Health, finished: &AttemptOutcome, secs: i64) -> Consequence {
        health.after(finished, &BreakerRules::default(), at(secs))
    }

    #[test]
    fn d9_ten_failures_open_the_breaker_and_one_success_closes_it() {
        let mut health = Health::default();
        for failure in 1..=10 {
            assert_eq!(health.breaker, None);
            let next = after(&health, &attempt(RETRY, 500), failure);
            assert_eq!((next.status, next.is_counted, next.next_in.as_secs()), (DeliveryStatus::Pending, true, 7));
            assert_eq!(next.disable, None);
            health = next.health;
        }
        let failed_at = Some(at(10));
        assert_eq!(health, Health { failed_at, breaker: Some(Breaker::open(at(10))), ..open(0) });
        let closed = after(&health, &probe(Verdict::Delivered, 200), 20);
        assert_eq!(
            (closed.health, closed.status, closed.is_counted),
            (Health::default(), DeliveryStatus::Delivered, true)
        );
    }

    #[test]
    fn d9_4xx_is_a_fault_of_the_event_not_the_receiver() {
        for (status, is_counted) in
            [(400, false), (404, false), (422, false), (499, false), (408, true), (425, true), (429, true), (500, true)]
        {
            let next = after(&Health::default(), &attempt(RETRY, status), 1);
            assert_eq!(next.health.failures, u32::from(is_counted), "{status}");
            assert_eq!(next.health.failing_since, Some(at(1)), "{status}: nothing has succeeded since");
        }
        let unanswered = AttemptOutcome { ended: AttemptEnd::Unanswered, ..attempt(RETRY, 0) };
        assert_eq!(after(&Health::default(), &unanswered, 1).health.failures, 1);
        // It costs the event an attempt, also as a probe: no row that is refused stays for ever.
        let refused = after(&open(1), &probe(RETRY, 422), 20);
        assert_eq!((refused.is_counted, refused.next_in.as_secs(), refused.health.failures), (true, 7, 10));
        assert_eq!(refused.health.breaker.map(|open| open.probe_at), Some(at(25)), "the next probe waits all the same");
        assert_eq!(after(&open(1), &probe(Verdict::Failed, 422), 20).status, DeliveryStatus::Failed);
    }

    #[test]
    fn d9_a_failed_probe_costs_no_attempt() {
        let open = open(10);
        let late = after(&open, &attempt(RETRY, 500), 12);
        assert_eq!((late.health.breaker, late.health.failures), (open.breaker, 10));
        assert_eq!((late.is_counted, late.next_in.as_secs()), (true, 7));
        for verdict in [RETRY, Verdict::Failed] {
            let next = after(&open, &probe(verdict, 500), 15);
            assert_eq!((next.status, next.is_counted, next.next_in.as_secs()), (DeliveryStatus::Pending, false, 5));
            assert_eq!((next.health.failures, next.health.breaker.map(|open| open.probes)), (11, Some(1)));
            assert_eq!(next.health.breaker.map(|open| open.probe_at), Some(at(20)));
        }
        let new = AttemptOutcome { tries: 0, ..probe(RETRY, 500) };
        let next = after(&open, &new, 15);
        assert_eq!((next.is_counted, next.next_in.as_secs()), (false, 5));
        assert_eq!(next.health.breaker.map(|open| (open.probes, open.probe_at)), Some((0, at(10))));
    }

    #[test]
    fn d9_429_and_503_with_retry_after_hold_back_the_webhook() {
        for (status, asked, held) in [
            (429, Some(120), Some(120)),
            (503, Some(60), Some(60)),
            (429, None, Some(1)),
            (503, None, None),
            (500, Some(60), None),
        ] {
            let finished = AttemptOutcome { ended: answered(status, asked), ..attempt(RETRY, status) };
            let next = after(&Health::default(), &finished, 10);
            assert_eq!(next.health.held_until, held.map(|secs| at(10 + secs)), "{status} {asked:?}");
        }
        let held = Health { held_until: Some(at(100)), ..Health::default() };
        let shorter = AttemptOutcome { ended: answered(429, Some(5)), ..attempt(RETRY, 429) };
        assert_eq!(after(&held, &shorter, 10).health.held_until, Some(at(100)), "the longest counts");
        let delivered = after(&held, &attempt(Verdict::Delivered, 200), 11);
        assert_eq!(delivered.health.held_until, Some(at(100)), "what was under way does not end it");
    }

    #[test]
    fn d8_a_probe_honours_what_the_receiver_asks_for() {
        for (asked, wait) in [(120, 120), (3, 5)] {
            let asked = AttemptOutcome { ended: answered(500, Some(asked)), ..probe(RETRY, 500) };
            assert_eq!(after(&open(1), &asked, 15).next_in.as_secs(), wait);
        }
    }

    #[test]
    fn d9_what_an_old_receiver_says_is_nothing_to_the_new_one() {
        let health = Health { failures: 3, failing_since: Some(at(1)), ..Health::default() };
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
            let gone = after(&Health::default(), &AttemptOutcome { is_probe, ..attempt(Verdict::Gone, 410) }, 1);
            assert_eq!((gone.status, gone.is_counted), (DeliveryStatus::Failed, true));
            assert!(gone.disable.is_some_and(|why| why.contains("410")));
        }
    }

    #[test]
    fn d9_five_days_of_failures_disable_a_webhook() {
        const DAY: i64 = 86_400;
        let failing = Health { failing_since: Some(at(0)), failed_at: Some(at(5 * DAY - 60)), ..open(0) };
        assert_eq!(after(&failing, &probe(RETRY, 500), 5 * DAY - 1).disable, None);
        let disabled = after(&failing, &probe(RETRY, 500), 5 * DAY);
        assert_eq!(disabled.disable.as_deref(), Some("it has failed for 5 days"));
        assert_eq!(after(&failing, &probe(Verdict::Delivered, 200), 5 * DAY).disable, None);
        // One failure, given up at once by a small retry budget; then nothing for a week; then another.
        let once = after(&Health::default(), &attempt(Verdict::Failed, 500), 0).health;
        let again = after(&once, &attempt(Verdict::Failed, 500), 7 * DAY);
        assert_eq!((again.disable, again.health.failing_since), (None, Some(at(7 * DAY))));
        // The same where much less than a day disables it.
        let hours = BreakerRules { disable_after: Duration::from_hours(6), ..BreakerRules::default() };
        let again = once.after(&attempt(Verdict::Failed, 500), &hours, at(6 * 3600));
        assert_eq!((again.disable, again.health.failing_since), (None, Some(at(6 * 3600))));
        let halfway = once.after(&attempt(RETRY, 500), &hours, at(3 * 3600)).health;
        let disabled = halfway.after(&attempt(RETRY, 500), &hours, at(6 * 3600));
        assert_eq!(disabled.disable.as_deref(), Some("it has failed for 6 hours"));
    }

    #[test]
    fn d9_receiver_after_several_attempts() {
        let rules = BreakerRules::default();
        let well = || ReceiverState::new("https://r.org/".into(), true, Health::default());
        let at_receiver = |outcome: AttemptOutcome| AttemptOutcome { url: "https://r.org/".into(), ..outcome };
        let after = |mut receiver: ReceiverState, outcomes: &[AttemptOutcome]| {
            for outcome in outcomes {
                let consequence = receiver.decide(outcome, &rules, at(100));
                receiver.apply(&consequence);
            }
            receiver
        };
        let failed = || at_receiver(attempt(RETRY, 500));
        let gone = || at_receiver(attempt(Verdict::Gone, 410));
        let delivered = || at_receiver(attempt(Verdict::Delivered, 200));
        let broken = || ReceiverState::new("https://r.org/".into(), true, open(1));
        let disabled = ReceiverState::new("https://r.org/".into(), false, Health::default());
        for (name, receiver, expect_failures, is_changed, is_disabled, has_recovered) in [
            ("delivered", after(well(), &[delivered()]), 0, false, false, false),
            ("failed twice", after(well(), &[failed(), failed()]), 2, true, false, false),
            ("failed, then delivered", after(well(), &[failed(), delivered()]), 0, false, false, false),
            ("gone", after(well(), &[gone(), failed()]), 2, true, true, false),
            ("gone, disabled before", after(disabled, &[gone()]), 1, true, false, false),
            ("delivered to a broken one", after(broken(), &[delivered()]), 0, true, false, true),
            ("another URL", after(well(), &[attempt(RETRY, 500)]), 0, false, false, false),
            ("removed", after(ReceiverState::removed(), &[gone()]), 1, false, false, false),
        ] {
            let found = (
                receiver.health().failures,
                receiver.is_changed(),
                receiver.disabled_reason().is_some(),
                receiver.has_recovered(),
            );
            assert_eq!(found, (expect_failures, is_changed, is_disabled, has_recovered), "{name}");
        }
        let ten: [AttemptOutcome; 10] = std::array::from_fn(|_| failed());
        for (name, receiver, is_webhook_told, are_deliveries_told) in [
            ("delivered", after(well(), &[delivered()]), false, false),
            ("failed once", after(well(), &[failed()]), false, false),
            ("failed ten times", after(well(), &ten), true, false),
            ("failed, then delivered", after(well(), &[failed(), delivered()]), false, false),
            ("gone", after(well(), &[gone()]), true, false),
            ("delivered to a broken one", after(broken(), &[delivered()]), true, true),
            ("removed", after(ReceiverState::removed(), &[gone()]), false, false),
        ] {
            let told = (receiver.is_shown_otherwise(), receiver.has_recovered());
            assert_eq!(told, (is_webhook_told, are_deliveries_told), "{name}");
        }
        let last = || at_receiver(attempt(Verdict::Failed, 500));
        for (name, receiver, outcome, is_told) in [
            ("delivered", well(), delivered(), false),
            ("tried again", well(), failed(), false),
            ("failed for good", well(), last(), true),
            ("gone", well(), gone(), true),
            ("tried again at another URL", well(), attempt(RETRY, 500), true),
            ("delivered at the old URL", well(), attempt(Verdict::Delivered, 200), false),
            ("of a removed webhook, tried again", ReceiverState::removed(), failed(), false),
            ("of a removed webhook, failed for good", ReceiverState::removed(), last(), true),
        ] {
            let consequence = receiver.decide(&outcome, &rules, at(100));
            assert_eq!(receiver.changes_deliveries(&outcome, &consequence), is_told, "{name}");
        }
        let elsewhere = attempt(RETRY, 500);
        let consequence = well().decide(&elsewhere, &rules, at(100));
        assert!(well().is_redirected(&elsewhere, &consequence));
        assert!(!well().is_redirected(&failed(), &well().decide(&failed(), &rules, at(100))));
        let given_up = well().decide(&gone(), &rules, at(100));
        assert!(well().reports_failure(&given_up) && !well().reports_failure(&consequence));
        let removed = ReceiverState::removed();
        assert_eq!(removed.decide(&gone(), &rules, at(100)).status, DeliveryStatus::Failed);
        assert!(!removed.reports_failure(&given_up) && !removed.is_redirected(&elsewhere, &consequence));
    }
}
