//! What goes to one webhook.

use std::{collections::VecDeque, sync::Arc};

use domain::delivery::{AttemptOutcome, BreakerRules, DeliveryJob, Verdict, Webhook, Window};
use jiff::{SignedDuration, Timestamp};

/// After so long a webhook is looked at again before something is sent to it: it may have been changed, disabled or
/// removed, here or elsewhere.
const REREAD_EVERY: SignedDuration = SignedDuration::from_millis(100);

/// How much there is of what, of one queue or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InFlightCounts {
    pub(super) sending: u32,
    pub(super) waiting: u32,
    pub(super) unmarked: u32,
    /// Sent beyond the places that webhooks have of their own.
    pub(super) shared: u32,
    /// Of that, to slow receivers.
    pub(super) shared_slow: u32,
    /// Held, beyond one for each webhook.
    pub(super) shared_held: u32,
    /// Of that, for slow receivers.
    pub(super) shared_held_slow: u32,
}

impl InFlightCounts {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            sending: self.sending + other.sending,
            waiting: self.waiting + other.waiting,
            unmarked: self.unmarked + other.unmarked,
            shared: self.shared + other.shared,
            shared_slow: self.shared_slow + other.shared_slow,
            shared_held: self.shared_held + other.shared_held,
            shared_held_slow: self.shared_held_slow + other.shared_held_slow,
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            sending: self.sending.saturating_sub(other.sending),
            waiting: self.waiting.saturating_sub(other.waiting),
            unmarked: self.unmarked.saturating_sub(other.unmarked),
            shared: self.shared.saturating_sub(other.shared),
            shared_slow: self.shared_slow.saturating_sub(other.shared_slow),
            shared_held: self.shared_held.saturating_sub(other.shared_held),
            shared_held_slow: self.shared_held_slow.saturating_sub(other.shared_held_slow),
        }
    }
}

/// Whether anything may be sent to a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intake {
    Open,
    /// Its receiver wants nothing any more (410): it is sent nothing until that is stored.
    Paused,
    /// The webhook is not there any more.
    Removed,
}

/// What goes to one webhook.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct WebhookQueue {
    pub(super) webhook: Arc<Webhook>,
    pub(super) window: Window,
    pub(super) waiting: VecDeque<DeliveryJob>,
    pub(super) sending: u32,
    /// Sent, but how that ended is not stored yet: a crash would send it again.
    pub(super) unmarked: u32,
    /// The last claim brought as much as there was capacity for: there may be more.
    pub(super) may_have_more: bool,
    /// The last request was slow.
    pub(super) is_slow: bool,
    /// The last that was claimed had never been tried: the next is one that was.
    pub(super) retries_first: bool,
    intake: Intake,
    /// Marks that cannot be stored for now, because somebody else has their rows locked.
    deferred: u32,
    /// What is known of the webhook is too old to go by, whatever its age.
    must_reread: bool,
    /// Failures in a row as far as this node knows, which is before the store does.
    failures: u32,
    /// The breaker is open, as far as this node knows.
    is_breaker_open: bool,
    /// Its receiver has asked to be left alone, and the store does not know yet.
    is_held: bool,
    /// The webhook was as it is here at this time, or later.
    read_at: Timestamp,
}

impl WebhookQueue {
    pub(super) fn new(webhook: Arc<Webhook>, places: u32, asked_at: Timestamp) -> Self {
        Self {
            failures: webhook.consecutive_failures,
            is_breaker_open: webhook.is_breaker_open,
            is_held: false,
            webhook,
            window: Window::new(places),
            waiting: VecDeque::new(),
            sending: 0,
            unmarked: 0,
            may_have_more: false,
            is_slow: false,
            retries_first: false,
            intake: Intake::Open,
            deferred: 0,
            must_reread: false,
            read_at: asked_at,
        }
    }

    pub(super) fn totals(&self) -> InFlightCounts {
        let (shared, shared_held) = (self.sending.saturating_sub(1), self.held().saturating_sub(1));
        InFlightCounts {
            sending: self.sending,
            waiting: self.waits(),
            unmarked: self.unmarked,
            shared,
            shared_slow: if self.is_slow { shared } else { 0 },
            shared_held,
            shared_held_slow: if self.is_slow { shared_held } else { 0 },
        }
    }

    fn waits(&self) -> u32 {
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn held(&self) -> u32 {
        self.sending + self.waits()
    }

    /// Nothing of it is under way, not even into the store.
    pub(super) fn is_idle(&self) -> bool {
        self.held() + self.unmarked == 0
    }

    /// Its own place is free: nothing is held, and the marks of not too many are on their way.
    pub(super) fn has_place_of_its_own(&self) -> bool {
        self.held() == 0 && self.unmarked < self.window.size()
    }

    /// It takes part in what slow receivers share.
    pub(super) fn is_slow_at_work(&self) -> bool {
        self.is_slow && (self.may_have_more || !self.is_idle())
    }

    /// As many again may wait as are sent, so that one can follow another without a claim in between. Of a slow receiver
    /// one is enough: what waits is renewed as long as it waits.
    fn waiting_max(&self) -> u32 {
        if self.is_slow { 1 } else { self.window.size() }
    }

    /// None while the store has to hear first what became of it.
    pub(super) fn capacity(&self) -> u32 {
        let is_unheard = (self.is_breaker_open || self.is_held) && self.unmarked > 0;
        if self.intake != Intake::Open || self.deferred > 0 || is_unheard {
            return 0;
        }
        if self.is_breaker_open {
            // One request at a time.
            return 1u32.saturating_sub(self.held());
        }
        (self.window.size() + self.waiting_max()).saturating_sub(self.held())
    }

    pub(super) fn wants_more(&self) -> bool {
        self.may_have_more && self.waits() * 2 <= self.waiting_max()
    }

    /// Whether one more may be sent, if there is a place for it. What waits for one that was removed has its turn too, and
    /// is released then.
    pub(super) fn may_send(&self) -> bool {
        self.intake != Intake::Paused && self.sending < self.window.size()
    }

    /// It is sent only what was claimed as a probe.
    pub(super) fn is_breaker_open(&self) -> bool {
        self.is_breaker_open
    }

    /// A request has ended so. Returns what waited for a receiver that is to be sent no more of it now.
    pub(super) fn ended(&mut self, outcome: &AttemptOutcome, was_long: bool, rules: &BreakerRules) -> Vec<DeliveryJob> {
        self.unmarked += 1;
        if outcome.verdict == Verdict::Delivered {
            self.window.succeeded();
            self.is_slow = was_long;
            (self.failures, self.is_breaker_open) = (0, false);
        } else if !outcome.ended.is_about_event() {
            self.window.failed();
            self.failures = self.failures.saturating_add(1);
            self.is_breaker_open |= rules.opens_at(self.failures);
        }
        if outcome.verdict == Verdict::Gone {
            self.intake = Intake::Paused;
        }
        if outcome.ended.hold().is_some() {
            self.window.limited();
            self.is_held = true;
        }
        if outcome.verdict == Verdict::Gone || self.is_held {
            return self.waiting.drain(..).collect();
        }
        if self.is_breaker_open { self.take_waiting() } else { Vec::new() }
    }

    /// The webhook is not there any more.
    pub(super) fn removed(&mut self) {
        self.intake = Intake::Removed;
    }

    /// Nothing will ever be sent to it again, and nothing is under way.
    pub(super) fn is_done_with(&self) -> bool {
        self.intake == Intake::Removed && self.is_idle()
    }

    /// One mark has been stored, or never will be. True if that frees capacity for it where there was none.
    pub(super) fn marked(&mut self) -> bool {
        let before = (self.capacity() > 0, self.has_place_of_its_own());
        self.unmarked = self.unmarked.saturating_sub(1);
        // From now on the store knows.
        self.is_held &= self.unmarked > 0;
        if self.unmarked == 0 && self.intake == Intake::Paused {
            self.intake = Intake::Open;
            // Only the store knows how it is now.
            self.must_reread = true;
            return true;
        }
        before != (self.capacity() > 0, self.has_place_of_its_own())
    }

    /// A mark is deferred.
    pub(super) fn defer(&mut self) {
        self.deferred += 1;
    }

    /// One that was is stored, or never will be. True if that frees capacity where there was none.
    pub(super) fn undefer(&mut self) -> bool {
        let before = self.capacity() > 0;
        self.deferred = self.deferred.saturating_sub(1);
        before != (self.capacity() > 0)
    }

    /// All that waits, but for a probe.
    pub(super) fn take_waiting(&mut self) -> Vec<DeliveryJob> {
        let (probes, others) = self.waiting.drain(..).partition(|job| job.is_probe);
        self.waiting = probes;
        let others: VecDeque<DeliveryJob> = others;
        others.into()
    }

    /// It was looked at, for its own sake.
    pub(super) fn reread(&mut self, webhook: Arc<Webhook>, asked_at: Timestamp) {
        self.must_reread = false;
        self.update(webhook, asked_at);
    }

    /// As the store had it when, or after, it was asked. What is on its way there counts too: only an idle queue takes its
    /// word for how its receiver stands, unless only probes are sent to it.
    pub(super) fn update(&mut self, webhook: Arc<Webhook>, asked_at: Timestamp) {
        let is_another = webhook.url != self.webhook.url;
        if self.is_idle() || is_another || webhook.is_breaker_open {
            (self.failures, self.is_breaker_open) = (webhook.consecutive_failures, webhook.is_breaker_open);
        }
        self.webhook = webhook;
        self.read_at = asked_at;
    }

    /// The webhook, unless it is time to look at it again.
    pub(super) fn known(&self, now: Timestamp) -> Option<Arc<Webhook>> {
        let is_fresh = !self.must_reread && now.duration_since(self.read_at).abs() < REREAD_EVERY;
        is_fresh.then(|| Arc::clone(&self.webhook))
    }
}
