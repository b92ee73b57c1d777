//! One step of a subscription that is due: the hub is asked, or time has passed, or a hub is chosen again.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use domain::{
    SubscriptionId,
    ports::{Changed, Claim, StoreResult},
    push::{self, Mode, Step, Subscription, SubscriptionEvent, SubscriptionJob, SubscriptionState},
};
use futures_util::FutureExt;
use jiff::SignedDuration;

use super::{Pusher, TimeLeft, ask};
use crate::measure;

/// How long the look at the feed may take that comes before a renewal: a renewal does not wait for a slow publisher.
const REDISCOVER_MAX: Duration = Duration::from_secs(20);

/// How long a subscription waits for its hub's turn before it is released.
const HUB_WAIT_MAX: Duration = Duration::from_secs(20);

/// The same, when a person waits: twenty at a hub that hangs, four at a time, take fifty seconds.
pub(super) const MANUAL_WAIT_MAX: Duration = Duration::from_mins(1);

/// A renewal does without a look at the feed if it was fetched within this time: a step that was released, or a lease of
/// minutes, does not cost its publisher a request each time.
const FETCHED_WITHIN: SignedDuration = SignedDuration::from_mins(10);

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepEnd {
    /// The hub was asked, and the subscription is so now.
    Asked(Box<Subscription>),
    /// Something else was done, or it was released.
    Other,
}

/// Takes the step that is due. Whatever happens, the claim ends with it.
pub(super) async fn take(pusher: &Arc<Pusher>, job: SubscriptionJob) -> StoreResult<StepEnd> {
    let step = push::step(&job.subscription, job.claimed_at);
    take_this(pusher, job, step, HUB_WAIT_MAX).await
}

/// Renews, whatever is due, and waits for the hub's turn as long as a person does.
pub(super) async fn renew(pusher: &Arc<Pusher>, job: SubscriptionJob) -> StoreResult<StepEnd> {
    take_this(pusher, job, Step::Ask(Mode::Subscribe), MANUAL_WAIT_MAX).await
}

async fn take_this(pusher: &Arc<Pusher>, job: SubscriptionJob, step: Step, hub_wait: Duration) -> StoreResult<StepEnd> {
    let work = async {
        match step {
            Step::Ask(mode) => ask_in_turn(pusher, &job, mode, hub_wait).await,
            Step::LetPass => pass(pusher, &job).await,
            Step::StartOver => start_over(pusher, &job).await,
        }
    };
    if let Ok(end) = AssertUnwindSafe(work).catch_unwind().await {
        return end;
    }
    // It stays claimed until the claim runs out: so it is not taken again at once, and for ever.
    tracing::error!(subscription_id = job.subscription.id.0, "subscription step panicked");
    Ok(StepEnd::Other)
}

async fn pass(pusher: &Arc<Pusher>, job: &SubscriptionJob) -> StoreResult<StepEnd> {
    pusher.change(job.subscription.id, Claim::Ends(job.lease.clone()), SubscriptionEvent::TimePassed).await?;
    Ok(StepEnd::Other)
}

/// After a day, or when a lease ran out: the best of the feed's hubs, or the same again.
async fn start_over(pusher: &Arc<Pusher>, job: &SubscriptionJob) -> StoreResult<StepEnd> {
    if let (Some(feed), Some(offer)) = (job.subscription.feed_id, pusher.context.offer()) {
        pusher.subscribe(feed, offer).await?;
    }
    let id = job.subscription.id;
    let still_current = reread(pusher, id).await?.is_some_and(|now| now.is_current);
    if !still_current {
        release(pusher, job).await?;
        return Ok(StepEnd::Other);
    }
    let event =
        if pusher.settings().base_url.is_some() { SubscriptionEvent::Retry } else { SubscriptionEvent::Unwanted };
    pusher.change(id, Claim::Ends(job.lease.clone()), event).await?;
    pusher.context.wake.push.notify_one();
    Ok(StepEnd::Other)
}

async fn release(pusher: &Pusher, job: &SubscriptionJob) -> StoreResult<()> {
    pusher.context.deps.store.release_subscriptions(&[(job.subscription.id, job.lease.clone())]).await
}

async fn reread(pusher: &Pusher, id: SubscriptionId) -> StoreResult<Option<Subscription>> {
    pusher.context.deps.store.subscription(id).await
}

async fn ask_in_turn(
    pusher: &Arc<Pusher>,
    job: &SubscriptionJob,
    mode: Mode,
    hub_wait: Duration,
) -> StoreResult<StepEnd> {
    if !rediscovered(pusher, job, mode).await? {
        release(pusher, job).await?;
        return Ok(StepEnd::Other);
    }
    let turn = pusher.hubs.apply_urgently(&job.subscription.hub_url);
    let turn = tokio::select! {
        biased;
        () = pusher.stopping.cancelled() => None,
        turn = tokio::time::timeout(hub_wait, turn.wait()) => turn.ok(),
    };
    if let Some(_turn) = turn {
        return ask(pusher, job, mode).await;
    }
    release(pusher, job).await?;
    Ok(StepEnd::Other)
}

/// A renewal looks at the feed first: its hub or its topic may have changed. With what it has it goes on if that fails.
/// False if the subscription is not wanted any more.
async fn rediscovered(pusher: &Arc<Pusher>, job: &SubscriptionJob, mode: Mode) -> StoreResult<bool> {
    let subscription = &job.subscription;
    let is_renewal = mode == Mode::Subscribe && subscription.state == SubscriptionState::Active;
    let Some(feed) = subscription.feed_id.filter(|_| is_renewal) else { return Ok(true) };
    if was_fetched_lately(job) {
        return Ok(true);
    }
    if tokio::time::timeout(REDISCOVER_MAX, pusher.poll_feed.poll_feed(feed)).await.is_err() {
        tracing::info!(feed_id = feed.0, "poll before renewal timed out");
    }
    // Its token is looked up together with those of others.
    let mut time = TimeLeft::new(pusher.settings().answer_timeout);
    let now = pusher.target(&subscription.token, &mut time).await?.map(|target| target.subscription);
    Ok(now.is_some_and(|now| now.id == subscription.id && now.is_current && now.is_active()))
}

/// Whether a feed was fetched so lately that its publisher is spared. Both times are the store's.
fn was_fetched_lately(job: &SubscriptionJob) -> bool {
    job.feed_fetched_at.is_some_and(|fetched_at| job.claimed_at.duration_since(fetched_at) < FETCHED_WITHIN)
}

/// Stored before it is sent, because a hub may verify before it answers.
async fn ask(pusher: &Arc<Pusher>, job: &SubscriptionJob, mode: Mode) -> StoreResult<StepEnd> {
    let (id, deps, settings) = (job.subscription.id, &pusher.context.deps, pusher.settings());
    let secret = (mode == Mode::Subscribe).then(|| push::new_secret(&*deps.ids));
    let base_url = settings.base_url.clone().unwrap_or_else(|| job.subscription.base_url.clone());
    let asking = SubscriptionEvent::Asking { mode, secret: secret.clone(), base_url };
    let Changed::Done(asked) = pusher.change(id, Claim::Under(job.lease.clone()), asking).await? else {
        release(pusher, job).await?;
        return Ok(StepEnd::Other);
    };
    let Some(subscription) = asked.after else { return Ok(StepEnd::Other) };
    let request = ask::request(&subscription, mode, secret.as_deref(), settings.lease_secs, settings.hub_timeout);
    let event = ask::event(ask::send(&*deps.http, request).await, deps.clock.now());
    if let SubscriptionEvent::Failed { error, .. } = &event {
        tracing::warn!(
            feed_id = subscription.feed_id.map(|id| id.0),
            hub = subscription.hub_url,
            mode = mode.name(),
            error,
            "hub request failed"
        );
    }
    measure::hub_asked(mode, matches!(event, SubscriptionEvent::Accepted));
    match pusher.change(id, Claim::Ends(job.lease.clone()), event).await? {
        Changed::Done(transition) => {
            Ok(transition.after.map_or(StepEnd::Other, |after| StepEnd::Asked(Box::new(after))))
        }
        Changed::Refused | Changed::NotFound => Ok(StepEnd::Other),
    }
}
