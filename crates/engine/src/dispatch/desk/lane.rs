//! What goes to one webhook.

use std::{collections::VecDeque, sync::Arc};

use domain::delivery::{Circuit, DeliveryJob, Webhook, Window, circuit};
use jiff::{SignedDuration, Timestamp};

/// After so long a webhook is looked at again before something is sent to it: it may have been changed, disabled or
/// removed, here or elsewhere.
const LOOK_EVERY: SignedDuration = SignedDuration::from_millis(100);

/// How much there is of what, of one lane or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) sending: u32,
    pub(super) waiting: u32,
    /// Sent beyond the places that webhooks have of their own.
    pub(super) shared: u32,
    /// Of that, to slow receivers.
    pub(super) shared_slow: u32,
    /// Held, beyond one for each webhook.
    pub(super) shared_held: u32,
    /// Of that, for slow receivers.
    pub(super) shared_held_slow: u32,
}

impl Sums {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            sending: self.sending + other.sending,
            waiting: self.waiting + other.waiting,
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
            shared: self.shared.saturating_sub(other.shared),
            shared_slow: self.shared_slow.saturating_sub(other.shared_slow),
            shared_held: self.shared_held.saturating_sub(other.shared_held),
            shared_held_slow: self.shared_held_slow.saturating_sub(other.shared_held_slow),
        }
    }
}

/// What goes to one webhook.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) webhook: Arc<Webhook>,
    pub(super) window: Window,
    pub(super) waiting: VecDeque<DeliveryJob>,
    pub(super) sending: u32,
    /// The last claim brought as much as there was room for: there may be more.
    pub(super) may_have_more: bool,
    /// The last request was slow.
    pub(super) is_slow: bool,
    /// Failures in a row as far as this node knows, which is before the store does.
    failures: u32,
    /// The webhook was as it is here at this time, or later.
    looked_at: Timestamp,
}

impl Lane {
    pub(super) fn new(webhook: Arc<Webhook>, places: u32, asked_at: Timestamp) -> Self {
        Self {
            failures: webhook.consecutive_failures,
            webhook,
            window: Window::new(places),
            waiting: VecDeque::new(),
            sending: 0,
            may_have_more: false,
            is_slow: false,
            looked_at: asked_at,
        }
    }

    pub(super) fn sums(&self) -> Sums {
        let (shared, shared_held) = (self.sending.saturating_sub(1), self.held().saturating_sub(1));
        Sums {
            sending: self.sending,
            waiting: self.waits(),
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

    /// As many again may wait as are sent, so that one can follow another without a claim in between. Of a slow receiver
    /// one is enough: what waits is renewed as long as it waits.
    fn waiting_max(&self) -> u32 {
        if self.is_slow { 1 } else { self.window.size() }
    }

    pub(super) fn room(&self) -> u32 {
        (self.window.size() + self.waiting_max()).saturating_sub(self.held())
    }

    pub(super) fn wants_more(&self) -> bool {
        self.may_have_more && self.waits() * 2 <= self.waiting_max()
    }

    /// It is sent only what was claimed as a probe.
    pub(super) fn is_broken(&self) -> bool {
        circuit(self.failures) == Circuit::Broken
    }

    pub(super) fn succeeded(&mut self, was_long: bool) {
        self.window.succeeded();
        self.is_slow = was_long;
        self.failures = 0;
    }

    pub(super) fn failed(&mut self) {
        self.window.failed();
        self.failures = self.failures.saturating_add(1);
    }

    /// All that waits, but for a probe.
    pub(super) fn take_waiting(&mut self) -> Vec<DeliveryJob> {
        let (probes, others) = self.waiting.drain(..).partition(|job| job.is_probe);
        self.waiting = probes;
        let others: VecDeque<DeliveryJob> = others;
        others.into()
    }

    /// As the store had it when, or after, it was asked. What is on its way there counts too: only a lane that holds nothing takes its word for
    /// how its receiver stands, unless that is broken.
    pub(super) fn look(&mut self, webhook: Arc<Webhook>, asked_at: Timestamp) {
        let is_another = webhook.url != self.webhook.url;
        if self.held() == 0 || is_another || circuit(webhook.consecutive_failures) == Circuit::Broken {
            self.failures = webhook.consecutive_failures;
        }
        self.webhook = webhook;
        self.looked_at = asked_at;
    }

    /// The webhook, unless it is time to look at it again.
    pub(super) fn known(&self, now: Timestamp) -> Option<Arc<Webhook>> {
        let is_fresh = now.duration_since(self.looked_at).abs() < LOOK_EVERY;
        is_fresh.then(|| Arc::clone(&self.webhook))
    }
}
