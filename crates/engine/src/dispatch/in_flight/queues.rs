//! What this node has claimed, webhook by webhook: what waits, what is being sent, and how much may be.
//!
//! A receiver never delays another, however many there are. Each webhook has a place of its own, which nobody else can
//! take. What it sends at once beyond that takes shared places, as many as its [`Window`] allows; slow receivers have
//! half of those at most. What was sent counts until its mark is stored: a crash never sends more again than may be held.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use domain::{
    WebhookId,
    delivery::{AttemptOutcome, BreakerRules, ClaimLimits, Claimed, DeliveryJob, Webhook, Window},
};
use jiff::Timestamp;

use super::webhook_queue::{InFlightCounts, WebhookQueue};

/// Webhooks that are remembered although nothing goes to them.
const IDLE_QUEUES_MAX: usize = 4096;

/// So many may be sent whose marks are not stored yet, or four times what is shared if that is more: enough for two of the
/// largest batches of marks, so that one is filled while the other is stored.
const UNMARKED_MIN: u32 = 1000;

/// Webhooks that nothing is known of yet and that one claim can give their first, if there is no capacity besides.
const NEWCOMERS: u32 = 32;

/// A delivery whose turn it is.
#[derive(Debug)]
pub(crate) struct ReadyDelivery {
    pub(crate) webhook: Arc<Webhook>,
    pub(crate) job: DeliveryJob,
}

/// What follows from the end of a request.
#[derive(Debug, Default)]
pub(crate) struct EndEffects {
    /// It is time to claim more.
    pub(crate) wants_more: bool,
    /// What waited for a receiver that is broken now, or wants nothing any more: to be released.
    pub(crate) released: Vec<DeliveryJob>,
}

/// What may still be held.
#[derive(Debug, Clone, Copy)]
struct Capacity {
    shared: u32,
    for_each_slow: u32,
}

impl Capacity {
    fn for_queue(self, queue: &WebhookQueue) -> u32 {
        let own = u32::from(queue.has_place_of_its_own());
        let shared = if queue.is_slow { self.shared.min(self.for_each_slow) } else { self.shared };
        queue.capacity().min(own + shared)
    }
}

/// All that is claimed.
#[derive(Debug)]
pub(crate) struct Queues {
    by_webhook: HashMap<WebhookId, WebhookQueue>,
    /// Webhooks with something that waits, in the order of their turns.
    order: VecDeque<WebhookId>,
    /// Places that are shared.
    places: u32,
    webhook_places: u32,
    breaker: BreakerRules,
    totals: InFlightCounts,
    /// The last claim had no capacity for all that is due.
    is_short: bool,
}

impl Queues {
    /// With so many places to share, and so many for one webhook.
    pub(crate) fn new(places: usize, webhook_places: u32, breaker: BreakerRules) -> Self {
        Self {
            by_webhook: HashMap::new(),
            order: VecDeque::new(),
            places: u32::try_from(places).unwrap_or(u32::MAX).max(1),
            webhook_places: webhook_places.max(1),
            breaker,
            totals: InFlightCounts::default(),
            is_short: false,
        }
    }

    /// How many are being sent, and how many wait.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.totals.sending, self.totals.waiting)
    }

    /// How many were sent whose marks are not stored yet.
    #[cfg(test)]
    pub(crate) fn unmarked(&self) -> u32 {
        self.totals.unmarked
    }

    /// What a claim may bring.
    pub(crate) fn claim_limits(&mut self) -> ClaimLimits {
        if self.by_webhook.len() > IDLE_QUEUES_MAX {
            self.by_webhook.retain(|_, queue| !queue.is_idle());
        }
        let capacity = self.capacity();
        let idle = self.by_webhook.values().filter(|queue| queue.has_place_of_its_own()).count();
        ClaimLimits {
            limit: capacity.shared + u32::try_from(idle).unwrap_or(u32::MAX) + NEWCOMERS,
            of: self.by_webhook.iter().map(|(id, queue)| (*id, capacity.for_queue(queue))).collect(),
            of_others: if capacity.shared > 0 { Window::new(self.webhook_places).size() } else { 1 },
            retries_first: self.by_webhook.iter().filter(|(_, queue)| queue.retries_first).map(|(id, _)| *id).collect(),
        }
    }

    /// What may still be held beyond one for each webhook: twice what can be sent, and of that half by slow receivers.
    fn capacity(&self) -> Capacity {
        let slow_queues = self.by_webhook.values().filter(|queue| queue.is_slow_at_work()).count();
        let for_slow = self.places.saturating_sub(self.totals.shared_held_slow);
        Capacity {
            shared: self.shared_left(),
            for_each_slow: for_slow / u32::try_from(slow_queues).unwrap_or(u32::MAX).max(1),
        }
    }

    fn shared_left(&self) -> u32 {
        let held = (2 * self.places).saturating_sub(self.totals.shared_held);
        held.min((4 * self.places).max(UNMARKED_MIN).saturating_sub(self.totals.unmarked))
    }

    /// Webhooks that have as much as they may: when one is done, it is looked for more.
    pub(crate) fn full(&self) -> Vec<WebhookId> {
        let capacity = self.capacity();
        self.by_webhook.iter().filter(|(_, queue)| capacity.for_queue(queue) == 0).map(|(id, _)| *id).collect()
    }

    /// Takes in what was claimed within these limits, asked for at this time.
    pub(crate) fn take_in(&mut self, limits: &ClaimLimits, claimed: Claimed, asked_at: Timestamp) {
        for webhook in claimed.webhooks {
            let (id, places) = (webhook.id, self.webhook_places);
            let webhook = Arc::new(webhook);
            let queue =
                self.by_webhook.entry(id).or_insert_with(|| WebhookQueue::new(Arc::clone(&webhook), places, asked_at));
            queue.update(webhook, asked_at);
        }
        self.is_short = claimed.jobs.len() >= limits.limit as usize;
        let mut brought: HashMap<WebhookId, u32> = HashMap::new();
        for job in claimed.jobs {
            let id = job.webhook_id;
            *brought.entry(id).or_default() += 1;
            let is_first = self.change(id, |queue| {
                queue.retries_first = job.tries == 0;
                queue.waiting.push_back(job);
                queue.waiting.len() == 1
            });
            if is_first == Some(true) {
                self.order.push_back(id);
            }
        }
        let asked: HashMap<WebhookId, u32> = limits.of.iter().copied().collect();
        for (id, queue) in &mut self.by_webhook {
            let asked = asked.get(id).copied().unwrap_or(limits.of_others);
            // What was not asked for may be there.
            queue.may_have_more = asked == 0 || brought.get(id).is_some_and(|brought| *brought >= asked);
        }
    }

    /// Whether another claim may bring more at once.
    pub(crate) fn may_have_more(&self) -> bool {
        let capacity = self.capacity();
        self.is_short || self.by_webhook.values().any(|queue| queue.may_have_more && capacity.for_queue(queue) > 0)
    }

    /// The next that may be sent, each webhook in its turn.
    pub(crate) fn next(&mut self) -> Option<ReadyDelivery> {
        for _ in 0..self.order.len() {
            let id = self.order.pop_front()?;
            let Some(queue) = self.by_webhook.get(&id).filter(|queue| !queue.waiting.is_empty()) else { continue };
            if !self.may_send(queue) {
                self.order.push_back(id);
                continue;
            }
            let ready = self.change(id, |queue| {
                let job = queue.waiting.pop_front()?;
                queue.sending += 1;
                Some((ReadyDelivery { webhook: Arc::clone(&queue.webhook), job }, !queue.waiting.is_empty()))
            });
            let Some((ready, waits_for_more)) = ready.flatten() else { continue };
            if waits_for_more {
                self.order.push_back(id);
            }
            return Some(ready);
        }
        None
    }

    fn may_send(&self, queue: &WebhookQueue) -> bool {
        let is_free = self.totals.shared < self.places;
        let is_free_for_slow = !queue.is_slow || self.totals.shared_slow < self.places.div_ceil(2);
        queue.may_send() && (queue.sending == 0 || is_free && is_free_for_slow)
    }

    /// A request has taken long: its receiver is slow.
    pub(crate) fn slowed(&mut self, webhook: WebhookId) {
        self.change(webhook, |queue| queue.is_slow = true);
    }

    /// Whether a receiver is slow.
    pub(crate) fn is_slow(&self, webhook: WebhookId) -> bool {
        self.by_webhook.get(&webhook).is_some_and(|queue| queue.is_slow)
    }

    /// A request has ended so, and took long, or not; or it was never sent (`None`).
    pub(crate) fn ended(&mut self, webhook: WebhookId, outcome: Option<(&AttemptOutcome, bool)>) -> EndEffects {
        let rules = self.breaker;
        let released = self.change(webhook, |queue| {
            queue.sending = queue.sending.saturating_sub(1);
            outcome.map(|(outcome, was_long)| queue.ended(outcome, was_long, &rules))
        });
        self.forget_removed(webhook);
        // If there is no capacity for it, a mark will make some.
        let has_free_place = |queue: &WebhookQueue| self.shared_left() > 0 || queue.has_place_of_its_own();
        let wants_more = self.is_short
            || self.by_webhook.get(&webhook).is_some_and(|queue| queue.wants_more() && has_free_place(queue));
        EndEffects { wants_more, released: released.flatten().unwrap_or_default() }
    }

    /// The marks of requests to these webhooks have been stored, or never will be. True if that frees capacity where there was
    /// none.
    pub(crate) fn marked(&mut self, webhooks: impl Iterator<Item = WebhookId>) -> bool {
        let mut frees_capacity = self.shared_left() == 0;
        for webhook in webhooks {
            frees_capacity |= self.change(webhook, WebhookQueue::marked) == Some(true);
            self.forget_removed(webhook);
        }
        frees_capacity
    }

    /// A mark for this webhook cannot be stored for now: it is sent nothing more until then.
    pub(crate) fn defer(&mut self, webhook: WebhookId) {
        self.change(webhook, WebhookQueue::defer);
    }

    /// Such a mark has been stored, or never will be. True if that frees capacity where there was none.
    pub(crate) fn undefer(&mut self, webhook: WebhookId) -> bool {
        self.change(webhook, WebhookQueue::undefer) == Some(true)
    }

    fn forget_removed(&mut self, webhook: WebhookId) {
        if self.by_webhook.get(&webhook).is_some_and(WebhookQueue::is_done_with) {
            self.by_webhook.remove(&webhook);
        }
    }

    /// A webhook as it was a moment ago; `None` if it is time to look at it again before something is sent to it.
    pub(crate) fn known(&self, webhook: WebhookId, now: Timestamp) -> Option<Arc<Webhook>> {
        self.by_webhook.get(&webhook)?.known(now)
    }

    /// A webhook was looked at: it was so when that was asked, or not there. Returns what waited for it, if it is to be
    /// sent nothing now.
    pub(crate) fn reread(
        &mut self,
        id: WebhookId,
        webhook: Option<&Arc<Webhook>>,
        asked_at: Timestamp,
    ) -> Vec<DeliveryJob> {
        let released = self.change(id, |queue| {
            match webhook {
                Some(webhook) => queue.reread(Arc::clone(webhook), asked_at),
                None => queue.removed(),
            }
            let may_send = webhook.is_some_and(|webhook| webhook.enabled && webhook.held_until.is_none())
                && !queue.is_breaker_open();
            if may_send { Vec::new() } else { queue.take_waiting() }
        });
        released.unwrap_or_default()
    }

    /// Releases all that waits.
    pub(crate) fn clear(&mut self) -> Vec<DeliveryJob> {
        self.order.clear();
        let waiting: Vec<DeliveryJob> =
            self.by_webhook.values_mut().flat_map(|queue| queue.waiting.drain(..)).collect();
        self.totals =
            self.by_webhook.values().map(WebhookQueue::totals).fold(InFlightCounts::default(), InFlightCounts::plus);
        waiting
    }

    /// Changes a queue, and the totals with it.
    fn change<T>(&mut self, webhook: WebhookId, change: impl FnOnce(&mut WebhookQueue) -> T) -> Option<T> {
        let queue = self.by_webhook.get_mut(&webhook)?;
        let before = queue.totals();
        let changed = change(queue);
        self.totals = self.totals.minus(before).plus(queue.totals());
        Some(changed)
    }
}
