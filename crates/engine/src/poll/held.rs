//! The feeds that this node holds, and the beat that keeps them its own: one renewal for all of them, every third of
//! the lease, for as long as there are any.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use domain::{FeedId, Lease, ports::StoreResult};
use futures_util::FutureExt;
use tokio::sync::{Notify, watch};

use super::{PollEnd, Poller};
use crate::measure;

/// How a poll ends, for those who wait for it: `None` while it goes on.
pub(crate) type Ending = watch::Receiver<Option<PollEnd>>;

/// The feeds that are held.
#[derive(Debug, Default)]
pub(crate) struct HeldLeases {
    state: Mutex<State>,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct State {
    polls: HashMap<FeedId, HeldPoll>,
    is_beating: bool,
}

#[derive(Debug)]
struct HeldPoll {
    lease: Lease,
    ending: Ending,
    /// The store says that it is another's now.
    is_lost: bool,
    /// Its result is on its way into the store, and the lease ends with that.
    is_ending: bool,
}

impl HeldLeases {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.lock().polls.len()
    }

    /// The poll of a feed that is under way, to wait for.
    pub(crate) fn ending(&self, feed: FeedId) -> Option<Ending> {
        self.lock().polls.get(&feed).filter(|poll| !poll.is_lost).map(|poll| poll.ending.clone())
    }

    /// All polls that are under way.
    pub(crate) fn endings(&self) -> Vec<(FeedId, Ending)> {
        self.lock().polls.iter().map(|(feed, poll)| (*feed, poll.ending.clone())).collect()
    }

    /// All leases that are still ours as far as we know.
    pub(crate) fn leases(&self) -> Vec<(FeedId, Lease)> {
        self.lock()
            .polls
            .iter()
            .filter(|(_, poll)| !poll.is_lost)
            .map(|(feed, poll)| (*feed, poll.lease.clone()))
            .collect()
    }

    /// Whether there is nothing left to beat for. Whoever holds the next starts another beat.
    fn ends_beat(&self) -> bool {
        let mut state = self.lock();
        state.is_beating = !state.polls.is_empty();
        !state.is_beating
    }

    /// Marks claims as lost, but no later ones of the same feeds; returns those that were not about to end anyway.
    fn lose(&self, leases: &[(FeedId, Lease)]) -> Vec<FeedId> {
        let mut state = self.lock();
        let mut lost = Vec::new();
        for (feed, lease) in leases {
            if let Some(poll) =
                state.polls.get_mut(feed).filter(|poll| poll.lease.fence == lease.fence && !poll.is_ending)
            {
                poll.is_lost = true;
                lost.push(*feed);
            }
        }
        lost
    }

    /// The result of a claim is about to be stored.
    pub(crate) fn ends(&self, feed: FeedId, fence: i64) {
        if let Some(poll) = self.lock().polls.get_mut(&feed).filter(|poll| poll.lease.fence == fence) {
            poll.is_ending = true;
        }
    }

    /// Forgets a claim, but not a later one of the same feed.
    fn forget(&self, feed: FeedId, fence: i64) {
        let mut state = self.lock();
        if state.polls.get(&feed).is_some_and(|poll| poll.lease.fence == fence) {
            state.polls.remove(&feed);
        }
        if state.polls.is_empty() {
            self.emptied.notify_one();
        }
    }
}

/// A claim that is kept alive until this is dropped, whatever becomes of the poll.
#[derive(Debug)]
pub(crate) struct LeaseGuard {
    poller: Arc<Poller>,
    feed: FeedId,
    fence: i64,
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        self.poller.held.forget(self.feed, self.fence);
        let poller = &self.poller;
        measure::holds(poller.held.count(), poller.context.hosts.waiting(), poller.slow_count());
        self.poller.ended.notify_one();
    }
}

/// Holds a claim from now on, and sees to it that there is a beat.
pub(crate) fn hold(poller: &Arc<Poller>, feed: FeedId, lease: Lease, ending: Ending) -> LeaseGuard {
    let fence = lease.fence;
    let mut state = poller.held.lock();
    state.polls.insert(feed, HeldPoll { lease, ending, is_lost: false, is_ending: false });
    if !std::mem::replace(&mut state.is_beating, true) {
        tokio::spawn(beat(Arc::clone(poller)));
    }
    LeaseGuard { poller: Arc::clone(poller), feed, fence }
}

/// Beats until nothing is held any more.
async fn beat(poller: Arc<Poller>) {
    let pause = poller.context.deps.settings.poll_lease.beat_every();
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = poller.held.emptied.notified() => {}
        }
        if poller.held.ends_beat() {
            return;
        }
        // A beat that panicked must not be the last: all leases would be lost, and nobody would start another.
        match AssertUnwindSafe(renew(&poller)).catch_unwind().await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "lease renewal failed"),
            Err(_) => tracing::error!("lease renewal panicked"),
        }
    }
}

/// One beat: all leases in one call.
async fn renew(poller: &Poller) -> StoreResult<()> {
    let mut leases = poller.held.leases();
    if leases.is_empty() {
        return Ok(());
    }
    let renewed = poller.context.deps.store.renew_polls(&leases, poller.context.deps.settings.poll_lease.length());
    let not_ours = measure::store("renew_polls", renewed).await?;
    leases.retain(|(feed, _)| not_ours.contains(feed));
    for feed in poller.held.lose(&leases) {
        tracing::warn!(feed_id = feed.0, "lease lost");
    }
    Ok(())
}
