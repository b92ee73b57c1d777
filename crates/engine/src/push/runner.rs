//! Push by itself, in the background: what is due is claimed, and each step goes on by itself.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use domain::{FeedId, ports::StoreResult, push::SubscriptionJob};
use futures_util::future;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::{Pusher, step};
use crate::measure;

const STEPS_MAX: usize = 64;

/// Subscriptions of one hub that are held at once; what else it has that is due does not keep others waiting.
const HELD_OF_HUB_MAX: usize = 16;

/// Feeds that are looked at in one go when the base URL is new.
const FEEDS_CHUNK: u32 = 500;

/// How often it is made sure that every feed that can be pushed is: another node may have ended push and gone.
const SYNC_EVERY: SignedDuration = SignedDuration::from_mins(10);

/// The longest sleep: another node may have found a hub.
const SLEEP_MAX: Duration = Duration::from_secs(5);

/// The sleep when something is due that another node holds, or the store is away.
const SLEEP_BUSY: Duration = Duration::from_secs(1);

const SLEEP_MIN: Duration = Duration::from_millis(10);

/// After a stop: how long steps that have begun may take to end.
const STOP_MAX: Duration = Duration::from_secs(6);

/// Makes what is stored agree with the base URL: feeds whose hubs do not know it are subscribed again, and without one
/// nothing is pushed.
pub(crate) async fn start(pusher: &Pusher) -> StoreResult<()> {
    let store = &pusher.context.deps.store;
    let Some(base_url) = pusher.settings().base_url.clone() else {
        let stopped = store.stop_push().await?;
        tracing::info!(stopped, reason = "no base_url", "push off");
        pusher.context.wake.polls.notify_one();
        return Ok(());
    };
    let mut after = FeedId(0);
    loop {
        let feeds = store.feeds_to_subscribe(&base_url, after, FEEDS_CHUNK).await?;
        let Some(last) = feeds.last() else { return Ok(()) };
        after = *last;
        let requests = feeds.into_iter().filter_map(|feed| Some((feed, pusher.context.offer()?))).collect();
        let subscribed = store.subscribe(requests).await?;
        tracing::info!(subscribed, "feeds subscribed");
        pusher.context.wake.polls.notify_one();
    }
}

/// Takes every step that is due, until none is, and waits for their ends. Returns how many there were.
pub(crate) async fn settle(pusher: &Arc<Pusher>) -> StoreResult<u32> {
    let mut steps = 0;
    loop {
        let jobs = claim(pusher).await?;
        if jobs.is_empty() {
            return Ok(steps);
        }
        steps += u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        for ended in future::join_all(jobs.into_iter().map(|job| one(pusher, job))).await {
            ended?;
        }
    }
}

/// Takes steps as they are due, until it is told to stop.
pub(crate) async fn run(pusher: &Arc<Pusher>, stop: &CancellationToken) {
    let (mut synced_at, mut was_away) = (None, false);
    while !stop.is_cancelled() {
        let begun = async {
            let now = pusher.context.now();
            // Without a base URL once is enough: nobody here makes a subscription after that.
            let is_due = |at: Timestamp| pusher.settings().base_url.is_some() && now.duration_since(at) >= SYNC_EVERY;
            if synced_at.is_none_or(is_due) {
                start(pusher).await?;
                synced_at = Some(now);
            }
            begin_due(pusher).await
        };
        let pause = match begun.await {
            Ok(pause) => {
                was_away = false;
                pause
            }
            Err(error) => {
                if !std::mem::replace(&mut was_away, true) {
                    tracing::error!(%error, "push waiting for store");
                }
                SLEEP_BUSY
            }
        };
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(pause) => {}
            () = pusher.context.wake.push.notified() => pusher.skipped_hubs.forget(),
            () = pusher.ended.notified() => {}
        }
    }
    pusher.stopping.cancel();
    pusher.tasks.close();
    if tokio::time::timeout(STOP_MAX, pusher.tasks.wait()).await.is_err() {
        tracing::warn!("hub requests unfinished");
    }
}

/// Claims and begins what is due; returns for how long there is nothing else to do.
async fn begin_due(pusher: &Arc<Pusher>) -> StoreResult<Duration> {
    loop {
        let jobs = claim(pusher).await?;
        if jobs.is_empty() {
            break;
        }
        for job in jobs {
            let pusher = Arc::clone(pusher);
            let tasks = pusher.tasks.clone();
            tasks.spawn(async move {
                let id = job.subscription.id.0;
                if let Err(error) = one(&pusher, job).await {
                    tracing::warn!(subscription_id = id, %error, "subscription step failed");
                }
                pusher.ended.notify_one();
            });
        }
    }
    let next = pusher.context.deps.store.next_step_in().await?;
    Ok(match next {
        None => SLEEP_MAX,
        Some(Duration::ZERO) => SLEEP_BUSY,
        Some(next) => next.clamp(SLEEP_MIN, SLEEP_MAX),
    })
}

/// Claims what is due, up to the capacity there is, but not of hubs that have enough to do.
async fn claim(pusher: &Arc<Pusher>) -> StoreResult<Vec<SubscriptionJob>> {
    let (capacity, busy) = {
        let held = pusher.held.lock().unwrap_or_else(PoisonError::into_inner);
        let at_work = held.values().map(|count| (*count).min(HELD_OF_HUB_MAX)).sum::<usize>();
        let busy: Vec<String> =
            held.iter().filter(|(_, count)| **count >= HELD_OF_HUB_MAX).map(|(hub, _)| hub.clone()).collect();
        (STEPS_MAX.saturating_sub(at_work), busy)
    };
    let now = pusher.context.now();
    if capacity == 0 || !busy.is_empty() && pusher.skipped_hubs.covers(&busy, now) {
        return Ok(Vec::new());
    }
    let limit = u32::try_from(capacity).unwrap_or(u32::MAX);
    let lease = pusher.settings().step_lease;
    let claimed = pusher.context.deps.store.claim_due_subscriptions(&pusher.owner, limit, lease, &busy);
    let jobs = measure::store("claim_subscriptions", claimed).await?;
    if !busy.is_empty() && jobs.len() < capacity {
        pusher.skipped_hubs.skipped(busy, now);
    }
    let mut held = pusher.held.lock().unwrap_or_else(PoisonError::into_inner);
    for job in &jobs {
        *held.entry(job.subscription.hub_url.clone()).or_default() += 1;
    }
    Ok(jobs)
}

/// Takes a step of a subscription that is held, and holds it no longer.
async fn one(pusher: &Arc<Pusher>, job: SubscriptionJob) -> StoreResult<()> {
    let hub = job.subscription.hub_url.clone();
    let ended = step::take(pusher, job).await;
    let mut held = pusher.held.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(count) = held.get_mut(&hub) {
        *count -= 1;
        if *count == 0 {
            held.remove(&hub);
        }
    }
    ended.map(drop)
}
