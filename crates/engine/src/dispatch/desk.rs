//! What this node has claimed, webhook by webhook: what waits, what is being sent, and how much may be.
//!
//! A receiver never delays another, however many there are. Each webhook has a place of its own, which nobody else can
//! take. What it sends at once beyond that takes shared places, as many as its [`Window`] allows; slow receivers have
//! half of those at most. What was sent counts until its mark is stored: a crash never sends more again than may be held.

mod lane;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use domain::{
    WebhookId,
    delivery::{AttemptOutcome, BreakerRules, ClaimLimits, Claimed, DeliveryJob, Webhook, Window},
};
use jiff::Timestamp;

use self::lane::{Lane, Sums};

/// Webhooks that are remembered although nothing goes to them.
const LANES_MAX: usize = 4096;

/// So many may be sent whose marks are not stored yet, or four times what is shared if that is more: enough for two of the
/// largest batches of marks, so that one is filled while the other is stored.
const UNMARKED_MIN: u32 = 1000;

/// Webhooks that nothing is known of yet and that one claim can give their first, if there is no room besides.
const NEWCOMERS: u32 = 32;

/// A delivery whose turn it is.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) webhook: Arc<Webhook>,
    pub(crate) job: DeliveryJob,
}

/// What follows from the end of a request.
#[derive(Debug, Default)]
pub(crate) struct AfterEnd {
    /// It is time to claim more.
    pub(crate) wants_more: bool,
    /// What waited for a receiver that is broken now, or wants nothing any more: to be given back.
    pub(crate) given_back: Vec<DeliveryJob>,
}

/// What may still be held.
#[derive(Debug, Clone, Copy)]
struct Left {
    shared: u32,
    for_each_slow: u32,
}

impl Left {
    fn for_lane(self, lane: &Lane) -> u32 {
        let own = u32::from(lane.has_place_of_its_own());
        let shared = if lane.is_slow { self.shared.min(self.for_each_slow) } else { self.shared };
        lane.room().min(own + shared)
    }
}

/// All that is claimed.
#[derive(Debug)]
pub(crate) struct Desk {
    lanes: HashMap<WebhookId, Lane>,
    /// Webhooks with something that waits, in the order of their turns.
    turns: VecDeque<WebhookId>,
    /// Places that are shared.
    places: u32,
    webhook_places: u32,
    breaker: BreakerRules,
    sums: Sums,
    /// The last claim had no room for all that is due.
    is_short: bool,
}

impl Desk {
    /// With so many places to share, and so many for one webhook.
    pub(crate) fn new(places: usize, webhook_places: u32, breaker: BreakerRules) -> Self {
        Self {
            lanes: HashMap::new(),
            turns: VecDeque::new(),
            places: u32::try_from(places).unwrap_or(u32::MAX).max(1),
            webhook_places: webhook_places.max(1),
            breaker,
            sums: Sums::default(),
            is_short: false,
        }
    }

    /// How many are being sent, and how many wait.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.sums.sending, self.sums.waiting)
    }

    /// How many were sent whose marks are not stored yet.
    #[cfg(test)]
    pub(crate) fn unmarked(&self) -> u32 {
        self.sums.unmarked
    }

    /// What a claim may bring.
    pub(crate) fn room(&mut self) -> ClaimLimits {
        if self.lanes.len() > LANES_MAX {
            self.lanes.retain(|_, lane| !lane.is_idle());
        }
        let left = self.left();
        let idle = self.lanes.values().filter(|lane| lane.has_place_of_its_own()).count();
        ClaimLimits {
            limit: left.shared + u32::try_from(idle).unwrap_or(u32::MAX) + NEWCOMERS,
            of: self.lanes.iter().map(|(id, lane)| (*id, left.for_lane(lane))).collect(),
            of_others: if left.shared > 0 { Window::new(self.webhook_places).size() } else { 1 },
            retries_first: self.lanes.iter().filter(|(_, lane)| lane.retries_first).map(|(id, _)| *id).collect(),
        }
    }

    /// What may still be held beyond one for each webhook: twice what can be sent, and of that half by slow receivers.
    fn left(&self) -> Left {
        let slow_lanes = self.lanes.values().filter(|lane| lane.is_slow_at_work()).count();
        let for_slow = self.places.saturating_sub(self.sums.shared_held_slow);
        Left {
            shared: self.shared_left(),
            for_each_slow: for_slow / u32::try_from(slow_lanes).unwrap_or(u32::MAX).max(1),
        }
    }

    fn shared_left(&self) -> u32 {
        let held = (2 * self.places).saturating_sub(self.sums.shared_held);
        held.min((4 * self.places).max(UNMARKED_MIN).saturating_sub(self.sums.unmarked))
    }

    /// Webhooks that have as much as they may: when one is done, it is looked for more.
    pub(crate) fn full(&self) -> Vec<WebhookId> {
        let left = self.left();
        self.lanes.iter().filter(|(_, lane)| left.for_lane(lane) == 0).map(|(id, _)| *id).collect()
    }

    /// Takes in what was claimed with this room, asked for at this time.
    pub(crate) fn take_in(&mut self, room: &ClaimLimits, claimed: Claimed, asked_at: Timestamp) {
        for webhook in claimed.webhooks {
            let (id, places) = (webhook.id, self.webhook_places);
            let webhook = Arc::new(webhook);
            let lane = self.lanes.entry(id).or_insert_with(|| Lane::new(Arc::clone(&webhook), places, asked_at));
            lane.look(webhook, asked_at);
        }
        self.is_short = claimed.jobs.len() >= room.limit as usize;
        let mut brought: HashMap<WebhookId, u32> = HashMap::new();
        for job in claimed.jobs {
            let id = job.webhook_id;
            *brought.entry(id).or_default() += 1;
            let is_first = self.change(id, |lane| {
                lane.retries_first = job.tries == 0;
                lane.waiting.push_back(job);
                lane.waiting.len() == 1
            });
            if is_first == Some(true) {
                self.turns.push_back(id);
            }
        }
        let asked: HashMap<WebhookId, u32> = room.of.iter().copied().collect();
        for (id, lane) in &mut self.lanes {
            let asked = asked.get(id).copied().unwrap_or(room.of_others);
            // What was not asked for may be there.
            lane.may_have_more = asked == 0 || brought.get(id).is_some_and(|brought| *brought >= asked);
        }
    }

    /// Whether another claim may bring more at once.
    pub(crate) fn may_have_more(&self) -> bool {
        let left = self.left();
        self.is_short || self.lanes.values().any(|lane| lane.may_have_more && left.for_lane(lane) > 0)
    }

    /// The next that may be sent, each webhook in its turn.
    pub(crate) fn next(&mut self) -> Option<Turn> {
        for _ in 0..self.turns.len() {
            let id = self.turns.pop_front()?;
            let Some(lane) = self.lanes.get(&id).filter(|lane| !lane.waiting.is_empty()) else { continue };
            if !self.may_send(lane) {
                self.turns.push_back(id);
                continue;
            }
            let turn = self.change(id, |lane| {
                let job = lane.waiting.pop_front()?;
                lane.sending += 1;
                Some((Turn { webhook: Arc::clone(&lane.webhook), job }, !lane.waiting.is_empty()))
            });
            let Some((turn, waits_for_more)) = turn.flatten() else { continue };
            if waits_for_more {
                self.turns.push_back(id);
            }
            return Some(turn);
        }
        None
    }

    fn may_send(&self, lane: &Lane) -> bool {
        let is_free = self.sums.shared < self.places;
        let is_free_for_slow = !lane.is_slow || self.sums.shared_slow < self.places.div_ceil(2);
        lane.may_send() && (lane.sending == 0 || is_free && is_free_for_slow)
    }

    /// A request has taken long: its receiver is slow.
    pub(crate) fn slowed(&mut self, webhook: WebhookId) {
        self.change(webhook, |lane| lane.is_slow = true);
    }

    /// Whether a receiver is slow.
    pub(crate) fn is_slow(&self, webhook: WebhookId) -> bool {
        self.lanes.get(&webhook).is_some_and(|lane| lane.is_slow)
    }

    /// A request has ended so, and took long, or not; or it was never sent (`None`).
    pub(crate) fn ended(&mut self, webhook: WebhookId, outcome: Option<(&AttemptOutcome, bool)>) -> AfterEnd {
        let rules = self.breaker;
        let given_back = self.change(webhook, |lane| {
            lane.sending = lane.sending.saturating_sub(1);
            outcome.map(|(finished, was_long)| lane.ended(finished, was_long, &rules))
        });
        self.forget_removed(webhook);
        // If there is no room for it, a mark will make some.
        let has_room = |lane: &Lane| self.shared_left() > 0 || lane.has_place_of_its_own();
        let wants_more =
            self.is_short || self.lanes.get(&webhook).is_some_and(|lane| lane.wants_more() && has_room(lane));
        AfterEnd { wants_more, given_back: given_back.flatten().unwrap_or_default() }
    }

    /// The marks of requests to these webhooks have been stored, or never will be. True if that makes room where there was
    /// none.
    pub(crate) fn marked(&mut self, webhooks: impl Iterator<Item = WebhookId>) -> bool {
        let mut makes_room = self.shared_left() == 0;
        for webhook in webhooks {
            makes_room |= self.change(webhook, Lane::marked) == Some(true);
            self.forget_removed(webhook);
        }
        makes_room
    }

    /// The marks of requests to these webhooks cannot be stored for now: they are sent nothing more until then.
    pub(crate) fn put_off(&mut self, webhooks: impl Iterator<Item = WebhookId>) {
        for webhook in webhooks {
            self.change(webhook, Lane::put_off);
        }
    }

    /// Those marks have been stored, or never will be.
    pub(crate) fn put_off_no_longer(&mut self, webhooks: impl Iterator<Item = WebhookId>) {
        for webhook in webhooks {
            self.change(webhook, Lane::put_off_no_longer);
        }
    }

    fn forget_removed(&mut self, webhook: WebhookId) {
        if self.lanes.get(&webhook).is_some_and(Lane::is_done_with) {
            self.lanes.remove(&webhook);
        }
    }

    /// A webhook as it was a moment ago; `None` if it is time to look at it again before something is sent to it.
    pub(crate) fn known(&self, webhook: WebhookId, now: Timestamp) -> Option<Arc<Webhook>> {
        self.lanes.get(&webhook)?.known(now)
    }

    /// A webhook was looked at: it was so when that was asked, or not there. Returns what waited for it, if it is to be
    /// sent nothing now.
    pub(crate) fn looked_at(
        &mut self,
        id: WebhookId,
        webhook: Option<&Arc<Webhook>>,
        asked_at: Timestamp,
    ) -> Vec<DeliveryJob> {
        let given_back = self.change(id, |lane| {
            match webhook {
                Some(webhook) => lane.looked_at(Arc::clone(webhook), asked_at),
                None => lane.removed(),
            }
            let may_send =
                webhook.is_some_and(|webhook| webhook.enabled && webhook.held_until.is_none()) && !lane.is_open();
            if may_send { Vec::new() } else { lane.take_waiting() }
        });
        given_back.unwrap_or_default()
    }

    /// Gives back all that waits.
    pub(crate) fn clear(&mut self) -> Vec<DeliveryJob> {
        self.turns.clear();
        let waiting: Vec<DeliveryJob> = self.lanes.values_mut().flat_map(|lane| lane.waiting.drain(..)).collect();
        self.sums = self.lanes.values().map(Lane::sums).fold(Sums::default(), Sums::plus);
        waiting
    }

    /// Changes a lane, and the sums with it.
    fn change<T>(&mut self, webhook: WebhookId, change: impl FnOnce(&mut Lane) -> T) -> Option<T> {
        let lane = self.lanes.get_mut(&webhook)?;
        let before = lane.sums();
        let changed = change(lane);
        self.sums = self.sums.minus(before).plus(lane.sums());
        Some(changed)
    }
}
