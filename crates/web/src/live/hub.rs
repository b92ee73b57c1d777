//! The task that hears changes for all streams of the process, and tells each audience what concerns it.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use domain::{AccountId, FeedId, changes::ChangeNumber, entry::AccountCounts, ports::StoreResult};
use engine::Heard;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::{Audience, Channel, Hub, Live, Told, event::Group, follows::Follows, logins, pending::Feeds};
use crate::state::AppState;

/// How often it is looked whether logins still hold: a stream ends with its login.
const LOGINS_EVERY: Duration = Duration::from_secs(1);
/// How soon it is tried again when the store does not answer.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Tells everybody until nobody listens.
pub(super) async fn run(state: AppState, start: ChangeNumber) {
    let mut running = Running { live: Arc::clone(&state.live), has_ended: false };
    let mut listener = state.engine.listen(Some(start));
    let mut logins = interval(LOGINS_EVERY);
    logins.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next = None;
    loop {
        let due = async {
            match next {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            heard = listener.next() => {
                let position = listener.position().unwrap_or(start);
                state.live.lock().note(heard, position);
            }
            () = state.live.joined.notified() => {}
            _ = logins.tick() => logins::end_lost(&state).await,
            () = due => {}
        }
        next = send_due(&state).await;
        if state.live.lock().stop_if_unused() {
            // Another may run already.
            running.has_ended = true;
            return;
        }
    }
}

/// If the task ends in any other way, its streams end, and their pages come again.
struct Running {
    live: Arc<Live>,
    has_ended: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut hub = self.live.lock();
            hub.streams.values().for_each(|open| open.end.cancel());
            hub.streams.clear();
            hub.stop_if_unused();
        }
    }
}

/// What has to be read for those who are due.
#[derive(Debug, Default)]
struct Due {
    audiences: Vec<Audience>,
    /// Accounts of which all is read.
    whole: BTreeSet<AccountId>,
    /// Accounts of which these feeds are.
    some: BTreeSet<AccountId>,
    feeds: BTreeSet<FeedId>,
}

/// Sends their events to all audiences that are due; returns when the next one is.
async fn send_due(state: &AppState) -> Option<Instant> {
    let (due, next) = state.live.lock().due(Instant::now());
    if due.audiences.is_empty() {
        return next;
    }
    match read(state, &due).await {
        Ok((whole, some)) => state.live.lock().send_counted(&due, &whole, &some, Instant::now()),
        Err(error) => {
            tracing::warn!(%error, "counts not read");
            return Some(Instant::now() + RETRY_AFTER);
        }
    }
    next
}

type ByAccount = HashMap<AccountId, AccountCounts>;

async fn read(state: &AppState, due: &Due) -> StoreResult<(ByAccount, ByAccount)> {
    let store = state.store();
    let by_account =
        |counts: Vec<AccountCounts>| counts.into_iter().map(|counts| (counts.account_id, counts)).collect();
    let (mut whole, mut some) = (ByAccount::new(), ByAccount::new());
    if !due.whole.is_empty() {
        let accounts: Vec<AccountId> = due.whole.iter().copied().collect();
        whole = by_account(store.counts_of(&accounts, None).await?);
    }
    if !due.some.is_empty() {
        let accounts: Vec<AccountId> = due.some.iter().copied().collect();
        let feeds: Vec<FeedId> = due.feeds.iter().copied().collect();
        some = by_account(store.counts_of(&accounts, Some(&feeds)).await?);
    }
    Ok((whole, some))
}

impl Hub {
    fn note(&mut self, heard: Heard, position: ChangeNumber) {
        match heard {
            Heard::Changes(changes) => {
                for (audience, channel) in &mut self.channels {
                    for change in changes.iter().filter(|change| change.number > channel.told) {
                        channel.pending.note(change, *audience, channel.follows.as_ref());
                    }
                }
            }
            Heard::Reset(_) => {
                for channel in self.channels.values_mut() {
                    channel.reset(position);
                }
            }
        }
        self.position = position;
        self.settle();
    }

    /// Whoever has nothing to be told has been told everything.
    fn settle(&mut self) {
        let position = self.position;
        for channel in self.channels.values_mut().filter(|channel| channel.pending.is_empty()) {
            channel.settle(position);
        }
    }

    fn due(&self, now: Instant) -> (Due, Option<Instant>) {
        let (mut due, mut next) = (Due::default(), None);
        for (audience, channel) in &self.channels {
            let pending = &channel.pending;
            if pending.is_empty() && channel.follows.is_some() {
                continue;
            }
            let wait = channel.pace.wait(now, pending.events());
            if !wait.is_zero() {
                let at = now + wait;
                next = Some(next.map_or(at, |known: Instant| known.min(at)));
                continue;
            }
            due.audiences.push(*audience);
            match &pending.counted {
                _ if pending.is_stale || channel.follows.is_none() => drop(due.whole.insert(audience.account)),
                Feeds::Several => drop(due.whole.insert(audience.account)),
                Feeds::These(feeds) => {
                    due.some.insert(audience.account);
                    due.feeds.extend(feeds);
                }
                Feeds::None => {}
            }
        }
        (due, next)
    }

    fn send_counted(&mut self, due: &Due, whole: &ByAccount, some: &ByAccount, now: Instant) {
        let position = self.position;
        for audience in &due.audiences {
            let Some(channel) = self.channels.get_mut(audience) else { continue };
            let unnamed = channel.update(whole.get(&audience.account), some.get(&audience.account));
            channel.send_pending(*audience, unnamed, position, now);
        }
    }

    fn stop_if_unused(&mut self) -> bool {
        if self.streams.is_empty() {
            self.channels.clear();
            self.is_running = false;
        }
        !self.is_running
    }
}

impl Channel {
    /// Takes what was read; returns how many more entries are unread.
    fn update(&mut self, whole: Option<&AccountCounts>, some: Option<&AccountCounts>) -> u64 {
        let mut risen = 0;
        if let Some(counts) = whole {
            let read = Follows::new(counts);
            risen = self.follows.as_ref().map_or(0, |known| read.risen_since(known));
            self.follows = Some(read);
        }
        if let (Some(counts), Some(follows)) = (some, &mut self.follows) {
            follows.update(counts);
        }
        risen
    }

    fn send_pending(&mut self, audience: Audience, unnamed: u64, position: ChangeNumber, now: Instant) {
        let mut pending = std::mem::take(&mut self.pending);
        // An account that is gone: its streams end with the next look at their logins.
        let Some(follows) = &self.follows else { return self.follows = Some(Follows::default()) };
        pending.keep_followed(audience, follows);
        let group = Group::of(&pending, follows, unnamed);
        if group.len() > 0 {
            self.pace.spend(now, group.len());
            self.send(&group, position);
        }
        self.settle(position);
    }

    fn reset(&mut self, position: ChangeNumber) {
        (self.pending, self.follows) = (super::Pending::default(), None);
        self.send(&Group::reset(), position);
        self.settle(position);
    }

    fn send(&mut self, group: &Group, position: ChangeNumber) {
        let bytes = group.write(self.told, position);
        // If nobody is there, nobody needs it.
        let _ = self.sender.send(Told { number: position, bytes });
    }

    fn settle(&mut self, position: ChangeNumber) {
        self.told = position;
        // After what was sent: whoever reads this finds that in its channel.
        self.settled.store(position.0, Ordering::Release);
    }
}
