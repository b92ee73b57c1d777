//! Push: a WebSub subscriber that never goes quiet.
//!
//! ```text
//! poll, add ─> hubs found ─> subscription, due at once ─┐
//! lease runs out, hub was down, a day has passed ───────┴─> claim ─> step: ask the hub, or let time pass
//!                                                                     │
//! hub ─> verify ─> active: the feed is polled once, then once a day   └─> accepted, or failed: tried again later
//! hub ─> receive: signature, parse, compare ─> Store::push ─> 204
//! ```
//!
//! What becomes of a subscription is decided in `domain::push` and stored in one transaction each. A node that dies
//! leaves claims that run out; nothing that a hub was told is forgotten, because it is stored before the hub is told.

mod ask;
mod batches;
mod poll_throttle;
mod receive;
mod renew;
mod runner;
mod skipped_hubs;
mod step;
mod time_left;
mod verify;

use std::{collections::HashMap, sync::Arc};

use domain::{
    AccountId, FeedId, FeedPatch, SubscriptionId,
    ports::{Changed, Claim, StoreResult, SubscriptionChange, UpdateOutcome},
    push::{self, Offer, PushTarget, Subscription, SubscriptionEvent, SubscriptionState, Transition},
};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    batches::{Changes, Pushes, Targets},
    poll_throttle::PollThrottle,
    skipped_hubs::SkippedHubs,
};
pub use self::{
    receive::{PushAnswer, PushRequest, Recipient},
    renew::{RenewResult, RenewStatus, RenewSummary},
    time_left::TimeLeft,
    verify::{Verification, VerifyAnswer},
};
pub(crate) use self::{
    receive::{receive, recipient, recipient_by_topic, refuse, refuse_unsigned},
    renew::renew_expiring,
    runner::{run, settle, start},
    verify::verify,
};
use crate::{
    api::SubscribeError,
    coalesce::Coalescer,
    context::{Context, PollFeed},
    hosts::Hosts,
    measure,
    settings::PushSettings,
};

/// All that push shares.
#[derive(Debug)]
pub(crate) struct Pusher {
    context: Arc<Context>,
    poll_feed: Arc<dyn PollFeed>,
    owner: String,
    /// So many requests at once to a hub.
    hubs: Arc<Hosts>,
    /// How many subscriptions of each hub are held.
    held: std::sync::Mutex<HashMap<String, usize>>,
    /// Pushes without a token, which may be anybody's, are worked on one at a time.
    tokenless: Semaphore,
    unsigned_polls: PollThrottle,
    unread_polls: PollThrottle,
    skipped_hubs: SkippedHubs,
    /// Looks at tokens, pushes and changes of subscriptions: those that come together go to the store together.
    targets: Arc<Coalescer<Targets>>,
    pushes: Arc<Coalescer<Pushes>>,
    changes: Arc<Coalescer<Changes>>,
    /// Counts what has changed, for those who wait for it.
    changed: watch::Sender<u64>,
    /// A step has ended.
    ended: Notify,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

impl Pusher {
    pub(crate) fn new(context: Arc<Context>, poll_feed: Arc<dyn PollFeed>) -> Arc<Self> {
        let store = || Arc::clone(&context.deps.store);
        Arc::new(Self {
            owner: context.deps.ids.owner(),
            hubs: Hosts::new(context.settings().push.hub_concurrency),
            held: std::sync::Mutex::default(),
            tokenless: Semaphore::new(1),
            unsigned_polls: PollThrottle::unsigned(),
            unread_polls: PollThrottle::unread(context.settings().push.poll_after_thin),
            skipped_hubs: SkippedHubs::default(),
            targets: Coalescer::new(Targets(store())),
            pushes: Coalescer::new(Pushes(store())),
            changes: Coalescer::new(Changes(store())),
            changed: watch::Sender::new(0),
            ended: Notify::new(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            context,
            poll_feed,
        })
    }

    fn settings(&self) -> &PushSettings {
        &self.context.deps.settings.push
    }

    /// Stores what happens to a subscription, and does what follows from it.
    async fn change(&self, id: SubscriptionId, claim: Claim, event: SubscriptionEvent) -> StoreResult<Changed> {
        let kind = format!("{event:?}");
        let change = SubscriptionChange { id, claim, event, rules: self.settings().rules };
        let changed = measure::store("change_subscription", self.changes.call(change, 0)).await?;
        if let Changed::Done(transition) = &changed {
            self.follow_up(&kind, transition).await;
        }
        Ok(changed)
    }

    /// The subscription with this token.
    async fn target(&self, token: &str, time: &mut TimeLeft) -> StoreResult<Option<PushTarget>> {
        time.ask(self.targets.call(token.to_owned(), token.len())).await
    }

    async fn follow_up(&self, kind: &str, transition: &Transition) {
        let (before, after) = (&transition.before, transition.after.as_ref());
        let (was, is) = (before.state, after.map(|after| after.state));
        self.changed.send_modify(|count| *count += 1);
        if is == Some(was) {
            self.try_another_hub(after).await;
            return;
        }
        let (feed_id, state) = (before.feed_id.map(|id| id.0), is.map_or("gone", SubscriptionState::name));
        let error = after.and_then(|after| after.last_error.as_deref());
        tracing::info!(
            feed_id,
            hub = before.hub_url,
            was = was.name(),
            state,
            event = kind,
            error,
            "subscription changed"
        );
        measure::subscription_became(state);
        if was == SubscriptionState::Active || is == Some(SubscriptionState::Active) {
            // Its feed is due: what was published in between is fetched, or push has ended.
            self.context.wake.polls.notify_one();
        }
        self.try_another_hub(after).await;
        self.context.wake.push.notify_one();
    }

    /// A feed's next hub, if this one has failed and the feed has another. If this is lost in a crash, the next failure or
    /// the daily try makes up for it.
    async fn try_another_hub(&self, after: Option<&Subscription>) {
        let feed = after.filter(|after| push::needs_another_hub(after)).and_then(|after| after.feed_id);
        let (Some(feed), Some(offer)) = (feed, self.context.offer()) else { return };
        match self.subscribe(feed, offer).await {
            Ok(()) => self.context.wake.push.notify_one(),
            Err(error) => {
                tracing::warn!(feed_id = feed.0, %error, "choosing another hub failed");
            }
        }
    }

    pub(super) async fn subscribe(&self, feed: FeedId, offer: Offer) -> StoreResult<()> {
        self.context.deps.store.subscribe(vec![(feed, offer)]).await.map(drop)
    }
}

/// Subscribes a feed at its hub now. One that was not known to have a hub is asked once more.
pub(crate) async fn subscribe_now(
    pusher: &Pusher,
    account: AccountId,
    id: FeedId,
) -> Result<Subscription, SubscribeError> {
    let (context, store) = (&pusher.context, &pusher.context.deps.store);
    if store.feed(account, id).await?.is_none() {
        return Err(SubscribeError::NoFeed);
    }
    let offer = context.offer().ok_or(SubscribeError::Off)?;
    let patch = FeedPatch { push_enabled: Some(true), ..FeedPatch::default() };
    if !matches!(store.update_feed(account, id, patch).await?, UpdateOutcome::Updated(_)) {
        return Err(SubscribeError::NoFeed);
    }
    pusher.subscribe(id, offer).await?;
    if store.subscription_of(id).await?.is_none() {
        pusher.poll_feed.poll_feed(id).await?;
    }
    let subscription = store.subscription_of(id).await?.ok_or(SubscribeError::NoHub)?;
    let changed = pusher.change(subscription.id, Claim::None, SubscriptionEvent::Retry).await?;
    context.wake.push.notify_one();
    match changed {
        Changed::Done(transition) => transition.after.ok_or(SubscribeError::NoHub),
        Changed::Refused | Changed::NotFound => Ok(subscription),
    }
}
