//! Polling because somebody asks for it, and waiting for the end.

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{Feed, FeedId, ports::StoreResult};
use futures_util::{StreamExt, stream::FuturesUnordered};

use super::{CLAIMS_IN_A_ROW_MAX, PollEnd, Poller, held::Ending};
use crate::api::RefreshSummary;

/// How often it is looked whether another node has finished with a feed.
const RECHECK_PAUSE: Duration = Duration::from_millis(200);

/// How often it is looked whether there is capacity for more, though no poll has ended.
const CAPACITY_CHECK_EVERY: Duration = Duration::from_secs(1);

/// Polls in one refresh of what is due. Feeds with intervals of seconds are due again before it ends.
const REFRESH_POLLS_MAX: usize = 1_000_000;

/// Due feeds that are looked at for one that another node polls.
const DUE_LOOKED_AT_MAX: u32 = 10_000;

/// Polls one feed now, or joins the poll that is under way; `None` if there is no such feed.
pub(crate) async fn refresh_feed(poller: &Arc<Poller>, id: FeedId) -> StoreResult<Option<RefreshSummary>> {
    let mut before: Option<Feed> = None;
    for _ in 0..rechecks(poller) {
        if let Some(ending) = poller.begin_one(id).await? {
            return Ok(Some(summary_of(end_of(ending).await)));
        }
        let Some(feed) = poller.context.deps.store.polled_feed(id).await? else { return Ok(None) };
        if before.as_ref().is_some_and(|before| was_polled(before, &feed)) {
            return Ok(Some(as_it_says(&feed)));
        }
        before.get_or_insert(feed);
        tokio::time::sleep(RECHECK_PAUSE).await;
    }
    Ok(before.as_ref().map(as_it_says))
}

fn was_polled(before: &Feed, after: &Feed) -> bool {
    let marks = |feed: &Feed| (feed.last_fetched_at, feed.next_check_at, feed.failure_count);
    marks(before) != marks(after)
}

/// What a feed says of its last poll, which was not ours.
fn as_it_says(feed: &Feed) -> RefreshSummary {
    summary_of(if feed.last_error.is_some() { PollEnd::Failed } else { PollEnd::Unchanged })
}

fn summary_of(end: PollEnd) -> RefreshSummary {
    let mut summary = RefreshSummary::default();
    add(&mut summary, end);
    summary
}

/// Waits for a poll to end. One whose task is gone ended without a result.
async fn end_of(mut ending: Ending) -> PollEnd {
    match ending.wait_for(Option::is_some).await {
        Ok(end) => end.unwrap_or(PollEnd::Released),
        Err(_) => PollEnd::Released,
    }
}

fn add(summary: &mut RefreshSummary, end: PollEnd) {
    summary.polled += u32::from(end != PollEnd::Released);
    match end {
        PollEnd::Fetched { new, changed } => {
            summary.fetched += 1;
            summary.new_entries += new;
            summary.changed_entries += changed;
        }
        PollEnd::Unchanged => summary.unchanged += 1,
        PollEnd::Failed | PollEnd::Outage => summary.failed += 1,
        PollEnd::Released => {}
    }
}

/// Polls what is due until nothing is, and waits for the polls of this node that were under way already. Feeds that this
/// node has deferred for want of a place at their hosts were due as well, and are polled as places are free.
pub(crate) async fn refresh_due(
    poller: &Arc<Poller>,
    is_counted: &(dyn Fn(FeedId) -> bool + Sync),
    progress: &(dyn Fn(&RefreshSummary) + Sync),
) -> StoreResult<RefreshSummary> {
    let mut summary = RefreshSummary::default();
    let mut seen = HashSet::new();
    let mut under_way = FuturesUnordered::new();
    let mut rechecks_left = rechecks(poller);
    loop {
        for (feed, ending) in collect(poller, &mut seen).await? {
            under_way.push(async move { (feed, end_of(ending).await) });
        }
        // Polls that wait long for their servers give up their slots: there may be capacity though none has ended.
        let Ok(next) = tokio::time::timeout(CAPACITY_CHECK_EVERY, under_way.next()).await else { continue };
        let Some(end) = next else {
            if rechecks_left == 0 || !is_any_left(poller, &seen).await? {
                return Ok(summary);
            }
            rechecks_left -= 1;
            tokio::time::sleep(RECHECK_PAUSE).await;
            continue;
        };
        // And those that have ended meanwhile, before it is looked for more.
        let mut ended = Some(end);
        while let Some((feed, end)) = ended {
            if is_counted(feed) {
                add(&mut summary, end);
                progress(&summary);
            }
            ended = futures_util::FutureExt::now_or_never(under_way.next()).flatten();
        }
    }
}

/// Joins what is under way and begins what is due, each feed once.
async fn collect(poller: &Arc<Poller>, seen: &mut HashSet<FeedId>) -> StoreResult<Vec<(FeedId, Ending)>> {
    let take = |polls: Vec<(FeedId, Ending)>, seen: &mut HashSet<FeedId>| -> Vec<(FeedId, Ending)> {
        polls.into_iter().filter(|(feed, _)| seen.insert(*feed)).collect()
    };
    let mut endings = take(poller.held.endings(), seen);
    if poller.has_outage() {
        // A few, to see whether it is over; the rest would fail as well, each after its time-out.
        if seen.is_empty() {
            endings.extend(take(poller.begin_due(|_| true).await?.polls, seen));
        }
        return Ok(endings);
    }
    for _ in 0..CLAIMS_IN_A_ROW_MAX {
        // A claim costs the store something: with little capacity, rather wait for more of it.
        if poller.capacity() < claim_min(poller) || seen.len() >= REFRESH_POLLS_MAX {
            break;
        }
        let begun = poller.begin_due(|feed| !seen.contains(&feed)).await?;
        let is_over = begun.is_all || (begun.polls.is_empty() && begun.deferred == 0);
        endings.extend(take(begun.polls, seen));
        if is_over {
            break;
        }
    }
    for _ in 0..CLAIMS_IN_A_ROW_MAX {
        let polls = poller.begin_deferred(&|feed| !seen.contains(&feed)).await?;
        if polls.is_empty() {
            break;
        }
        endings.extend(take(polls, seen));
    }
    // What the background claimed between the two looks.
    endings.extend(take(poller.held.endings(), seen));
    Ok(endings)
}

/// Whether a feed is left that was due and that this refresh has not polled.
async fn is_any_left(poller: &Poller, seen: &HashSet<FeedId>) -> StoreResult<bool> {
    if poller.stopping.is_cancelled() || poller.has_outage() {
        return Ok(false);
    }
    let now = poller.context.now();
    Ok(poller.deferred.any(now, |feed| !seen.contains(&feed)) || others_are_at_it(poller, seen).await?)
}

/// Whether another node holds a feed that is due: it polls it just now, or died in the attempt, and then the feed is
/// ours when its lease has run out.
async fn others_are_at_it(poller: &Poller, seen: &HashSet<FeedId>) -> StoreResult<bool> {
    let store = &poller.context.deps.store;
    let soon = store.next_poll_in().await?.is_some_and(|next| next <= poller.context.deps.settings.poll_lease.length());
    if !soon {
        return Ok(false);
    }
    // Those that this refresh has polled and that are due again at once are few.
    let looked_at = u32::try_from(seen.len()).unwrap_or(u32::MAX).saturating_add(1).min(DUE_LOOKED_AT_MAX);
    Ok(store.due_polls(looked_at).await?.iter().any(|feed| !seen.contains(feed)))
}

/// How often to look for the end of another node's poll: until it ends, or its lease does.
fn rechecks(poller: &Poller) -> u128 {
    poller.context.deps.settings.poll_lease.length().as_millis() / RECHECK_PAUSE.as_millis() + 2
}

/// The capacity from which a claim is worth while.
pub(super) fn claim_min(poller: &Poller) -> usize {
    const PARTS_OF_CONCURRENCY: usize = 4;
    (poller.context.deps.settings.poll_concurrency / PARTS_OF_CONCURRENCY).max(1)
}
