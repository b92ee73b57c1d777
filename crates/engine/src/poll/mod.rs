//! Polling: due feeds are claimed, asked, and what they bring is stored.
//!
//! ```text
//! claim ─> host's queue ─> slot ─> attempt (ask, parse, compare) ─> finish (in batches) ─> lease released
//!            held leases: one beat for all, from the claim to the finish
//! ```
//!
//! A poll never holds up another: those of a busy host wait in its own queue without a slot, those that find no place
//! in it are deferred, one that waits for its server for long gives up its slot and is cut off by its time-out, and
//! nothing but the result of a whole poll reaches the store. A node that dies leaves leases that run out; a node that stops releases what it has not begun.

mod attempt;
mod decide;
mod deferred;
mod finish;
mod held;
mod outage;
mod refresh;
mod runner;
mod single_claims;
mod slot;

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    FeedId, Lease,
    ingest::{PollJob, PollOutcome, PollResult},
    outage::Observation,
    ports::{StoreError, StoreResult},
};
use futures_util::FutureExt;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::outage::Outage;
use self::{
    attempt::PollAttempt,
    deferred::{DEFER_FOR, DeferredFeeds},
    finish::Finisher,
    held::{Ending, HeldLeases},
    outage::{Meaning, NetworkWatch, OutageChange, PROBES_MAX, Request},
    single_claims::SingleFeedClaims,
    slot::Slot,
};
pub(crate) use self::{
    attempt::{fetch_new, schedule_inputs},
    decide::{ScheduleHints, first_check, moved, same_host},
    refresh::{refresh_due, refresh_feed},
    runner::{run, step},
};
use crate::{
    coalesce::Coalescer,
    context::{Context, PollFeed},
    document_memory::DocumentPermit,
    hosts::Admission,
    measure,
};

/// Claims in a row before whoever claims looks around: whether to stop, or what has ended.
const CLAIMS_IN_A_ROW_MAX: usize = 64;

/// Polls at once that a person waits for, besides those of the background.
const URGENT_MAX: usize = 16;

/// How a poll ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PollEnd {
    /// With so many entries that are new, and so many that have changed.
    Fetched {
        new: u32,
        changed: u32,
    },
    Unchanged,
    /// With an error, which the feed tells.
    Failed,
    /// With nothing that says anything about the feed: there is an outage of ours.
    Outage,
    /// Not at all: it was released, or another worker has it.
    Released,
}

/// All that polls share.
#[derive(Debug)]
pub(crate) struct Poller {
    context: Arc<Context>,
    owner: String,
    deferred: DeferredFeeds,
    slots: Semaphore,
    /// For polls that wait long for their servers, and have given up their slots.
    slow_permits: Semaphore,
    network: NetworkWatch,
    urgent_slots: Semaphore,
    held: HeldLeases,
    /// Whoever claims is alone until what was claimed is held: nobody takes our own claims for another node's.
    claiming: tokio::sync::Mutex<()>,
    /// Claims of single feeds: those that are asked for together are one.
    single_claims: Arc<Coalescer<SingleFeedClaims>>,
    finisher: Finisher,
    /// Claims that were never begun, to be released together.
    unbegun: Mutex<Vec<(FeedId, Lease)>>,
    /// A poll has ended.
    ended: Notify,
    tasks: TaskTracker,
    /// Nothing new is begun.
    stopping: CancellationToken,
    /// What was begun is broken off.
    aborting: CancellationToken,
}

impl Poller {
    pub(crate) fn new(context: Arc<Context>) -> Arc<Self> {
        Arc::new_cyclic(|poller| Self {
            owner: context.deps.ids.owner(),
            single_claims: Coalescer::new(SingleFeedClaims(Weak::clone(poller))),
            deferred: DeferredFeeds::default(),
            slots: Semaphore::new(context.settings().poll_concurrency.max(1)),
            slow_permits: Semaphore::new(context.settings().slow_polls_max),
            network: NetworkWatch::default(),
            urgent_slots: Semaphore::new(URGENT_MAX),
            held: HeldLeases::default(),
            claiming: tokio::sync::Mutex::default(),
            finisher: Finisher::default(),
            unbegun: Mutex::default(),
            ended: Notify::new(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            aborting: CancellationToken::new(),
            context,
        })
    }

    /// How many more feeds may be claimed: those that wait for their hosts take up no slot. During an outage few are, to
    /// see whether it is over.
    fn capacity(&self) -> usize {
        let busy = self.held.count().saturating_sub(self.context.hosts.waiting()).saturating_sub(self.slow_count());
        let most = self.context.deps.settings.poll_concurrency.max(1);
        let most = if self.has_outage() { most.min(PROBES_MAX) } else { most };
        most.saturating_sub(busy)
    }

    /// Polls that wait for their servers without a slot.
    fn slow_count(&self) -> usize {
        self.context.deps.settings.slow_polls_max.saturating_sub(self.slow_permits.available_permits())
    }

    /// The outage of ours that there is.
    pub(crate) fn outage(&self) -> Option<Outage> {
        self.network.outage()
    }

    fn has_outage(&self) -> bool {
        self.network.outage().is_some()
    }

    /// Takes note of how a request ended.
    fn observe(&self, request: Request, feed: FeedId, observation: Observation, is_by_hand: bool) -> Meaning {
        let (meaning, turn) = self.network.ends(request, feed, observation, is_by_hand, self.context.now());
        match turn {
            Some(OutageChange::Began(outage)) => {
                measure::outage(true);
                tracing::error!(reason = outage.reason, "outage began");
            }
            Some(OutageChange::Ended(outage)) => {
                measure::outage(false);
                tracing::info!(reason = outage.reason, since = %outage.since, "outage ended");
                self.context.wake.polls.notify_one();
            }
            None => {}
        }
        meaning
    }

    /// Has a feed polled whose host was well, where it is open whether it is we who fail: if only dead hosts are due,
    /// nothing else would show that.
    async fn probe(&self) {
        let Some(feed) = self.network.probe() else { return };
        if let Err(error) = self.context.poll_soon(feed, Duration::ZERO).await {
            tracing::debug!(feed_id = feed.0, %error, "probe of the network not stored");
        }
    }

    /// Claims what is due, up to the capacity there is, and begins what is `wanted`; the rest is released. What finds no
    /// place in its host's queue is deferred: the next claim then goes on to the feeds of others.
    async fn begin_due(self: &Arc<Self>, wanted: impl Fn(FeedId) -> bool) -> StoreResult<Begun> {
        let _claiming = self.claiming.lock().await;
        let limit = self.capacity();
        if limit == 0 || self.stopping.is_cancelled() {
            return Ok(Begun { polls: Vec::new(), deferred: 0, is_all: self.stopping.is_cancelled() });
        }
        let count = u32::try_from(limit).unwrap_or(u32::MAX);
        let claimed =
            self.context.deps.store.claim_due_polls(&self.owner, count, self.context.deps.settings.poll_lease.length());
        let jobs = measure::store("claim_polls", claimed).await?;
        let is_all = jobs.len() < limit;
        let (wanted, others): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| wanted(job.feed_id));
        let (polls, without_slot) = self.begin_in_queues(wanted);
        let deferred = without_slot.len();
        self.defer(without_slot).await;
        self.release(others.into_iter().map(|job| (job.feed_id, job.lease)).collect()).await;
        Ok(Begun { polls, deferred, is_all })
    }

    /// Claims feeds that were deferred and for which there is capacity now, and begins those that are `wanted`.
    async fn begin_deferred(
        self: &Arc<Self>,
        wanted: &(dyn Fn(FeedId) -> bool + Sync),
    ) -> StoreResult<Vec<(FeedId, Ending)>> {
        if self.deferred.is_empty() {
            return Ok(Vec::new());
        }
        let _claiming = self.claiming.lock().await;
        if self.capacity() == 0 || self.has_outage() || self.stopping.is_cancelled() {
            return Ok(Vec::new());
        }
        let picked = self.deferred.pick(&self.context.hosts, self.context.now(), wanted);
        if picked.is_empty() {
            return Ok(Vec::new());
        }
        let feeds: Vec<FeedId> = picked.iter().map(|(_, feed)| *feed).collect();
        let jobs = self
            .context
            .deps
            .store
            .claim_polls(&self.owner, &feeds, self.context.deps.settings.poll_lease.length())
            .await?;
        let (polls, without_slot) = self.begin_in_queues(jobs);
        // Also those that were not claimed: they are deleted, or another node has them.
        self.deferred.forget_all(&picked);
        self.defer(without_slot).await;
        Ok(polls)
    }

    /// Begins polls that nobody waits for, as far as there are places in their hosts' queues; returns the others too.
    fn begin_in_queues(self: &Arc<Self>, jobs: Vec<PollJob>) -> (Vec<(FeedId, Ending)>, Vec<PollJob>) {
        let mut polls = Vec::with_capacity(jobs.len());
        let mut without_slot = Vec::new();
        for job in jobs {
            match self.context.hosts.apply(&job.address.url) {
                Some(admission) => polls.push((job.feed_id, self.begin(job, admission, false))),
                None => without_slot.push(job),
            }
        }
        measure::holds(self.held.count(), self.context.hosts.waiting(), self.slow_count());
        (polls, without_slot)
    }

    /// Releases claims until there are places at their hosts.
    async fn defer(&self, jobs: Vec<PollJob>) {
        if jobs.is_empty() {
            return;
        }
        let noted = jobs.iter().map(|job| (job.feed_id, job.address.url.as_str()));
        self.deferred.note(noted, self.context.now());
        let leases: Vec<_> = jobs.into_iter().map(|job| (job.feed_id, job.lease)).collect();
        if let Err(error) = self.context.deps.store.postpone_polls(&leases, DEFER_FOR).await {
            tracing::warn!(%error, feeds = leases.len(), "claims not deferred");
        }
    }

    /// Claims a feed, due or not, and begins to poll it, or finds the poll that is under way; `None` if another node
    /// holds the feed, or there is none.
    async fn begin_one(self: &Arc<Self>, feed: FeedId) -> StoreResult<Option<Ending>> {
        self.single_claims.call(feed, 0).await
    }

    /// Begins a poll. It goes on whether or not anybody waits for its end.
    fn begin(self: &Arc<Self>, job: PollJob, admission: Admission, urgent: bool) -> Ending {
        let (sender, ending) = watch::channel(None);
        let guard = held::hold(self, job.feed_id, job.lease.clone(), ending.clone());
        self.deferred.forget(job.feed_id, &job.address.url);
        let poller = Arc::clone(self);
        self.tasks.spawn(async move {
            let end = poller.carry_out(job, admission, urgent).await;
            drop(guard);
            sender.send_replace(Some(end));
        });
        ending
    }

    /// Waits for the host and a slot, polls, and stores the result.
    async fn carry_out(self: &Arc<Self>, job: PollJob, admission: Admission, urgent: bool) -> PollEnd {
        let slots = if urgent { &self.urgent_slots } else { &self.slots };
        let begin = async {
            let host = admission.wait().await;
            (host, Slot::take(self, slots).await)
        };
        let (host, mut slot) = tokio::select! {
            biased;
            () = self.stopping.cancelled() => return self.release_later(&job),
            admitted = begin => admitted,
        };
        let began_at = self.context.now();
        measure::waited(began_at.duration_since(job.claimed_at));
        let result = tokio::select! {
            biased;
            () = self.aborting.cancelled() => return self.release_later(&job),
            // In a box of its own: those that only wait stay small.
            result = Box::pin(self.attempt(&job, urgent, &mut slot)) => result,
        };
        drop((host, slot));
        measure::took(self.context.now().duration_since(began_at));
        match result {
            Ok(PollAttempt::Ended(result, _memory_permit)) => self.conclude(result).await,
            Ok(PollAttempt::RetryIn(wait)) => self.retry_later(&job, wait, urgent).await,
            Err(error) => {
                tracing::warn!(feed_id = job.feed_id.0, %error, "poll abandoned");
                self.release_later(&job)
            }
        }
    }

    /// Polls. A mistake of ours is a failure of this feed, and of nothing else.
    async fn attempt(
        self: &Arc<Self>,
        job: &PollJob,
        is_by_hand: bool,
        slot: &mut Slot<'_>,
    ) -> StoreResult<PollAttempt> {
        let failed = |reason: &str| {
            PollAttempt::Ended(attempt::failed(self, job, is_by_hand, reason), DocumentPermit::default())
        };
        match AssertUnwindSafe(attempt::poll(self, job, is_by_hand, slot)).catch_unwind().await {
            Ok(Err(StoreError::Failed(error))) => {
                tracing::error!(feed_id = job.feed_id.0, %error, "known entries not read");
                Ok(failed("it could not be compared with what is stored; the log says why"))
            }
            Ok(result) => result,
            Err(_) => {
                tracing::error!(feed_id = job.feed_id.0, "poll panicked");
                Ok(failed("it could not be read: a mistake in piRSSonite; the log says where"))
            }
        }
    }

    /// Releases the claim of a feed that says nothing, because of us: it is as it was, and asked again shortly.
    async fn retry_later(&self, job: &PollJob, wait: Duration, is_by_hand: bool) -> PollEnd {
        let leases = [(job.feed_id, job.lease.clone())];
        self.held.ends(job.feed_id, job.lease.fence);
        let released = if is_by_hand {
            self.context.deps.store.release_polls(&leases).await
        } else {
            self.context.deps.store.postpone_polls(&leases, wait).await
        };
        if let Err(error) = released {
            tracing::warn!(feed_id = job.feed_id.0, %error, "claim not released");
        }
        measure::ended(PollEnd::Outage);
        PollEnd::Outage
    }

    /// Compares the subscription of a feed that has moved with what it wants now.
    async fn follow_move(&self, feed: FeedId) {
        let Some(offer) = self.context.offer() else { return };
        match self.context.deps.store.subscribe(vec![(feed, offer)]).await {
            Ok(0) => {}
            Ok(_) => self.context.wake.push.notify_one(),
            Err(error) => {
                tracing::warn!(feed_id = feed.0, %error, "resubscribing moved feed failed");
            }
        }
    }

    async fn conclude(self: &Arc<Self>, result: PollResult) -> PollEnd {
        let feed_id = result.feed_id.0;
        let failure = match &result.outcome {
            PollOutcome::Failed(reason) => Some(("failed", reason.clone())),
            PollOutcome::Gone(reason) => Some(("gone", reason.clone())),
            PollOutcome::Fetched(_) | PollOutcome::Unchanged(_) => None,
        };
        // Its hubs may be new, and a subscription due at once.
        let has_hubs = matches!(&result.outcome, PollOutcome::Fetched(document)
            if document.found.as_ref().is_some_and(|found| found.offer.is_some() && !found.discovery.hubs.is_empty()));
        // A feed that names no topic has its URL for one: with another URL it is another topic, also if nothing is new.
        let has_moved = result.moved_to.is_some() && matches!(result.outcome, PollOutcome::Unchanged(_));
        self.held.ends(result.feed_id, result.lease.fence);
        let stored = finish::finish(self, result).await;
        if has_moved {
            self.follow_move(FeedId(feed_id)).await;
        }
        if has_hubs {
            self.context.wake.push.notify_one();
        }
        let end = match (stored, failure) {
            (None, _) => PollEnd::Failed,
            (Some(stored), _) if !stored.applied => {
                tracing::info!(feed_id, "poll result too late");
                PollEnd::Released
            }
            (Some(_), Some((outcome, reason))) => {
                tracing::info!(feed_id, outcome, reason, "poll failed");
                PollEnd::Failed
            }
            (Some(stored), None) if stored.new + stored.changed > 0 => {
                tracing::info!(feed_id, new = stored.new, changed = stored.changed, "entries fetched");
                PollEnd::Fetched { new: stored.new, changed: stored.changed }
            }
            (Some(_), None) => PollEnd::Unchanged,
        };
        measure::ended(end);
        end
    }

    /// Notes a claim that will be released with the others.
    fn release_later(&self, job: &PollJob) -> PollEnd {
        self.unbegun.lock().unwrap_or_else(PoisonError::into_inner).push((job.feed_id, job.lease.clone()));
        PollEnd::Released
    }

    /// Releases claims, these and all that were noted.
    async fn release(&self, mut leases: Vec<(FeedId, Lease)>) {
        leases.append(&mut self.unbegun.lock().unwrap_or_else(PoisonError::into_inner));
        if leases.is_empty() {
            return;
        }
        if let Err(error) = self.context.deps.store.release_polls(&leases).await {
            tracing::warn!(%error, feeds = leases.len(), "claims not released");
        }
    }
}

#[async_trait]
impl PollFeed for Arc<Poller> {
    async fn poll_feed(&self, feed: FeedId) -> StoreResult<()> {
        refresh_feed(self, feed).await.map(drop)
    }
}

#[derive(Debug)]
struct Begun {
    polls: Vec<(FeedId, Ending)>,
    /// So many others found no place in their hosts' queues.
    deferred: usize,
    /// Nothing else is due.
    is_all: bool,
}
