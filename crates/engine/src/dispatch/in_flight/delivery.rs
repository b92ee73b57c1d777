//! One delivery while this node holds it: its states, and what moves it from one to the next.
//!
//! ```text
//! claim ─> Queued ─> Sending ─> Unmarked ─> Deferred ─> (forgotten: its mark is stored)
//!             └─────────┴─> Releasing ─> (forgotten: its lease is released)
//! ```
//!
//! Beside that goes its lease, which each beat renews until it is lost or has expired. A delivery that is lost is not sent;
//! one that is being sent then goes on, and its mark, which the store guards as well, tells what became of it.

use domain::{Lease, delivery::DeliveryJob};
use jiff::Timestamp;

/// Why a lease is renewed no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The delivery was marked, or released.
    Completed,
    /// The row is not ours any more.
    LeaseLost,
    /// The lease ended with no beat that worked.
    RenewalFailed,
    /// Its mark cannot be stored: the lease is left to its end.
    Unmarkable,
}

impl StopReason {
    /// As the log has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::LeaseLost => "lease_lost",
            Self::RenewalFailed | Self::Unmarkable => "renewal_failed",
        }
    }
}

/// A lease that is renewed no longer, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stopped {
    pub(crate) event_id: String,
    pub(crate) reason: StopReason,
}

/// How far a delivery is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits in its webhook's queue.
    Queued,
    /// It is being sent, or about to be.
    Sending,
    /// It was sent, and its mark is on its way into the store.
    Unmarked,
    /// It was sent, and its mark is stored later, because somebody else has its row locked.
    Deferred,
    /// It was not sent, and its lease is about to be released.
    Releasing,
}

/// What becomes of its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Renewal {
    /// Each beat renews it.
    Renewed,
    /// No beat worked before it ended. Whose the row is, only the store can tell.
    Expired,
    /// The row is another's.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    pub(super) stage: Stage,
    pub(super) renewal: Renewal,
}

/// What happens to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryEvent {
    /// It is its turn.
    Begun,
    /// The attempt has ended, however.
    Ended,
    /// It is not sent after all.
    Unsent,
    /// Its mark has to wait.
    MarkDeferred,
    /// A beat heard from the store that the row is another's.
    Refused,
    /// A beat failed after its lease had run out.
    Expired,
    /// This node has claimed it again, and nothing happened to it in between.
    Reclaimed,
    /// This node has claimed it again, after somebody else had it.
    Superseded,
}

impl State {
    /// As it is when it was claimed.
    pub(super) const CLAIMED: Self = Self { stage: Stage::Queued, renewal: Renewal::Renewed };

    pub(super) fn is_renewed(self) -> bool {
        self.renewal == Renewal::Renewed
    }

    /// What an event makes of it, and why its lease is renewed no longer, if that is new. An event that does not belong to
    /// its state changes nothing.
    pub(super) fn after(self, event: DeliveryEvent) -> (Self, Option<StopReason>) {
        let Self { stage, renewal } = self;
        let moved = |stage| (Self { stage, renewal }, None);
        let stopped = |renewal, reason| (Self { stage, renewal }, Some(reason));
        match (event, stage, renewal) {
            (DeliveryEvent::Begun, Stage::Queued, _) => moved(Stage::Sending),
            (DeliveryEvent::Ended, Stage::Sending, _) => moved(Stage::Unmarked),
            (DeliveryEvent::Unsent, Stage::Queued | Stage::Sending, _) => moved(Stage::Releasing),
            (DeliveryEvent::MarkDeferred, Stage::Unmarked, _) => moved(Stage::Deferred),
            // What was sent may just have been marked, which ends its lease too: its mark will tell.
            (DeliveryEvent::Refused, Stage::Queued | Stage::Sending | Stage::Releasing, Renewal::Renewed)
            | (DeliveryEvent::Superseded, _, Renewal::Renewed) => stopped(Renewal::Lost, StopReason::LeaseLost),
            (DeliveryEvent::Superseded, _, _) => (Self { stage, renewal: Renewal::Lost }, None),
            (DeliveryEvent::Expired, _, Renewal::Renewed) => stopped(Renewal::Expired, StopReason::RenewalFailed),
            (DeliveryEvent::Reclaimed, _, _) => (Self { stage, renewal: Renewal::Renewed }, None),
            _ => (self, None),
        }
    }
}

/// A delivery that is held.
#[derive(Debug, Clone)]
pub(super) struct HeldDelivery {
    pub(super) state: State,
    /// The lease that it has now.
    pub(super) lease: Lease,
    /// Attempts that were made before it was claimed.
    attempts: u32,
    pub(super) event_id: String,
    /// Until when the lease lasts, by our own clock, counted from when it was asked for.
    pub(super) until: Timestamp,
}

impl HeldDelivery {
    pub(super) fn new(job: &DeliveryJob, until: Timestamp) -> Self {
        let (lease, event_id) = (job.lease.clone(), job.event_id.clone());
        Self { state: State::CLAIMED, lease, attempts: job.attempts, event_id, until }
    }

    /// Whether this node has claimed it once more, and nothing has happened to it in between.
    pub(super) fn is_claimed_again_by(&self, job: &DeliveryJob) -> bool {
        job.lease.fence == self.lease.fence + 1 && job.attempts == self.attempts
    }

    pub(super) fn reclaimed(&mut self, lease: Lease, until: Timestamp) {
        (self.lease, self.until) = (lease, until);
        self.apply(DeliveryEvent::Reclaimed);
    }

    pub(super) fn apply(&mut self, event: DeliveryEvent) -> Option<Stopped> {
        let (state, reason) = self.state.after(event);
        self.state = state;
        reason.map(|reason| Stopped { event_id: self.event_id.clone(), reason })
    }

    /// It is held no longer. What is known to be lost was told then; of what has expired, only its end tells what became of
    /// it.
    pub(super) fn stop(self, reason: StopReason) -> Option<Stopped> {
        (self.state.renewal != Renewal::Lost).then_some(Stopped { event_id: self.event_id, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        DeliveryEvent::{Begun, Ended, MarkDeferred, Reclaimed, Refused, Superseded, Unsent},
        Renewal::{Lost, Renewed},
        Stage::{Deferred, Queued, Releasing, Sending, Unmarked},
        StopReason::{Completed, LeaseLost, RenewalFailed},
        *,
    };

    const STAGES: [Stage; 5] = [Queued, Sending, Unmarked, Deferred, Releasing];
    const RENEWALS: [Renewal; 3] = [Renewed, Renewal::Expired, Lost];
    const EVENTS: [DeliveryEvent; 8] =
        [Begun, Ended, Unsent, MarkDeferred, Refused, DeliveryEvent::Expired, Reclaimed, Superseded];

    /// Events that move a delivery on, whatever becomes of its lease.
    const MOVES: &[(DeliveryEvent, &[Stage], Stage)] = &[
        (Begun, &[Queued], Sending),
        (Ended, &[Sending], Unmarked),
        (Unsent, &[Queued, Sending], Releasing),
        (MarkDeferred, &[Unmarked], Deferred),
    ];

    type LeaseCase = (DeliveryEvent, &'static [Stage], &'static [Renewal], Renewal, Option<StopReason>);

    /// Events that change its lease, and the stop reason they lead to.
    const LEASES: &[LeaseCase] = &[
        (Refused, &[Queued, Sending, Releasing], &[Renewed], Lost, Some(LeaseLost)),
        (DeliveryEvent::Expired, &STAGES, &[Renewed], Renewal::Expired, Some(RenewalFailed)),
        (Reclaimed, &STAGES, &RENEWALS, Renewed, None),
        (Superseded, &STAGES, &[Renewed], Lost, Some(LeaseLost)),
        (Superseded, &STAGES, &[Renewal::Expired], Lost, None),
    ];

    fn expected(from: State, event: DeliveryEvent) -> (State, Option<StopReason>) {
        for (moves, stages, stage) in MOVES {
            if *moves == event && stages.contains(&from.stage) {
                return (State { stage: *stage, ..from }, None);
            }
        }
        for (changes, stages, renewals, renewal, stop_reason) in LEASES {
            if *changes == event && stages.contains(&from.stage) && renewals.contains(&from.renewal) {
                return (State { renewal: *renewal, ..from }, *stop_reason);
            }
        }
        (from, None)
    }

    #[test]
    fn d5_d6_states_and_transitions() {
        for stage in STAGES {
            for renewal in RENEWALS {
                for event in EVENTS {
                    let from = State { stage, renewal };
                    assert_eq!(from.after(event), expected(from, event), "{from:?} {event:?}");
                }
            }
        }
    }

    #[test]
    fn fr_005_end_of_lost_delivery_is_reported_once_d6() {
        for (renewal, is_reported) in [(Renewed, true), (Renewal::Expired, true), (Lost, false)] {
            let held = HeldDelivery {
                state: State { stage: Unmarked, renewal },
                lease: Lease { owner: "w".to_owned(), fence: 1 },
                attempts: 0,
                event_id: "evt".to_owned(),
                until: Timestamp::UNIX_EPOCH,
            };
            assert_eq!(held.stop(Completed).is_some(), is_reported, "{renewal:?}");
        }
    }
}
