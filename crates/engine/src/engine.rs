//! The engine's handle: what the web API, the command line and the background ask of it.
//!
//! One rule says whether a route asks the engine or the store:
//!
//! - **The engine** for whatever has consequences beyond its transaction: a request to somebody else, a wake-up, a secret
//!   made by chance, work in several transactions. And for what only this process knows or makes: its time, its outage,
//!   its settings, an OPML file.
//! - **The store** ([`Engine::store`]) for whatever only reads or changes rows. Deliveries that this queues need no
//!   wake-up from here: the store itself says after a commit that there are some.

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{
    AccountId, Feed, FeedId, FeedPatch, SubscriptionId, WebhookId,
    changes::ChangeNumber,
    delivery::{NewWebhook, Webhook, WebhookSecret},
    ports::{AccountOutcome, ChangeStore, HttpError, Store, StoreResult, UpdateOutcome},
    push::Subscription,
};
use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    add,
    api::{AddFeed, AddFeedError, AddedFeed, ImportReport, OfferedFeed, RefreshSummary, SubscribeError},
    changes::{self, ChangeListener, ChangeStream, Heard},
    clock_watch,
    context::Context,
    dispatch::{self, Dispatcher},
    icons,
    opml::{self, Listed, OpmlError},
    overview,
    pictures::{PictureSettings, Pictures},
    poll::{self, Outage, Poller},
    prune,
    push::{self, PushAnswer, PushRequest, Pusher, Recipient, RenewSummary, TimeLeft, Verification, VerifyAnswer},
    settings::Deps,
};

/// The engine. What it does goes on even if whoever asked for it stops waiting.
#[derive(Debug)]
pub struct Engine {
    context: Arc<Context>,
    poller: Arc<Poller>,
    pusher: Arc<Pusher>,
    dispatcher: Arc<Dispatcher>,
    /// Apart from those of polls: an add takes its slot before its place at a host, a poll after it, and with the same
    /// slots each could wait for the other.
    add_slots: Semaphore,
    changes: Arc<ChangeStream>,
}

impl Engine {
    /// Nothing happens by itself before [`run`](Self::run).
    pub fn new(deps: Deps) -> Arc<Self> {
        let store: Arc<dyn ChangeStore> = Arc::<dyn Store>::clone(&deps.store);
        let changes = ChangeStream::new(store);
        let context = Context::new(deps);
        let poller = Poller::new(Arc::clone(&context));
        let pusher = Pusher::new(Arc::clone(&context), Arc::new(Arc::clone(&poller)));
        let dispatcher = Dispatcher::new(&context, None);
        let add_slots = Semaphore::new(add::ADDS_MAX);
        Arc::new(Self { context, poller, pusher, dispatcher, add_slots, changes })
    }

    /// The time, by this node's clock.
    pub fn now(&self) -> Timestamp {
        self.context.now()
    }

    /// The outage that keeps this node from polling: no network, no name service, no files or memory left.
    pub fn outage(&self) -> Option<Outage> {
        self.poller.outage()
    }

    /// Where everything is kept.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.context.deps.store
    }

    /// Follows what is changed, by whichever node, from after this place; without one the first that is heard is a reset.
    pub fn listen(&self, after: Option<ChangeNumber>) -> ChangeListener {
        self.changes.listen(after)
    }

    /// What was changed after this place, without waiting for more, and where to go on; without one, a reset.
    pub async fn changes_since(&self, after: Option<ChangeNumber>) -> StoreResult<(Heard, ChangeNumber)> {
        self.changes.since(after).await
    }

    /// Adds a feed, or the best that the page behind the address offers, and says what else it offers.
    pub async fn add(&self, new: AddFeed) -> Result<AddedFeed, AddFeedError> {
        let added = add::add(&self.context, &self.add_slots, new).await;
        self.context.wake.icons.notify_one();
        added
    }

    /// The same, for callers to whom only the feed matters.
    pub async fn add_feed(&self, new: AddFeed) -> Result<Feed, AddFeedError> {
        self.add(new).await.map(|added| added.feed)
    }

    /// The feeds at an address, none of which is followed: the one that is there, or those that a page offers.
    pub async fn discover(&self, account: AccountId, url: &str) -> Result<Vec<OfferedFeed>, AddFeedError> {
        add::discover(&self.context, &self.add_slots, account, url).await
    }

    /// Polls a feed now, or joins the poll that is under way; `None` if the account follows no such feed.
    pub async fn refresh_feed(&self, account: AccountId, id: FeedId) -> StoreResult<Option<RefreshSummary>> {
        if self.store().feed(account, id).await?.is_none() {
            return Ok(None);
        }
        poll::refresh_feed(&self.poller, id).await
    }

    /// Polls what is due, until nothing is.
    pub async fn refresh_due(&self) -> StoreResult<RefreshSummary> {
        self.refresh_due_with(&|_| {}).await
    }

    /// The same, telling how far it is after each poll.
    pub async fn refresh_due_with(&self, progress: &(dyn Fn(&RefreshSummary) + Sync)) -> StoreResult<RefreshSummary> {
        poll::refresh_due(&self.poller, &|_| true, progress).await
    }

    /// The same for an account, which is told of the feeds that it follows.
    pub async fn refresh_due_for(&self, account: AccountId) -> StoreResult<RefreshSummary> {
        let followed: HashSet<FeedId> = self.store().feeds(account).await?.into_iter().map(|feed| feed.id).collect();
        poll::refresh_due(&self.poller, &|feed| followed.contains(&feed), &|_| {}).await
    }

    /// Has an account follow the feeds of an OPML file; those that are new are polled at the next opportunity.
    pub async fn import_opml(&self, account: AccountId, bytes: &[u8]) -> Result<ImportReport, OpmlError> {
        let report = opml::import(self.store().as_ref(), account, bytes).await?;
        self.wake();
        Ok(report)
    }

    /// All feeds that an account follows as an OPML file. Passwords are not in it.
    pub async fn export_opml(&self, account: AccountId) -> StoreResult<String> {
        let (folders, feeds) = (self.store().folders(account).await?, self.store().feeds(account).await?);
        let listed = Listed { folders, feeds };
        Ok(opml::write(&listed))
    }

    /// Removes all that is too old or too much; returns how many entries went.
    pub async fn prune(&self) -> StoreResult<u64> {
        prune::prune(&self.context.deps).await
    }

    /// Removes what has been done with in the outbox for long enough; returns how many deliveries and events went.
    pub async fn prune_outbox(&self) -> StoreResult<u64> {
        prune::prune_outbox(&self.context.deps).await
    }

    /// Removes an account. It is gone at once for everybody; what it had goes in pieces, soon.
    pub async fn delete_account(&self, id: AccountId) -> StoreResult<AccountOutcome> {
        let outcome = self.store().delete_account(id).await?;
        self.context.wake.prune.notify_one();
        Ok(outcome)
    }

    /// The same, until all of it is gone; returns how many rows went.
    pub async fn prune_accounts(&self) -> StoreResult<u64> {
        prune::prune_accounts(&self.context.deps).await
    }

    /// Looks for the icons of some feeds that are due, and waits for that; returns how many those were.
    pub async fn settle_icons(&self) -> StoreResult<usize> {
        icons::settle(&self.context).await
    }

    /// Fetches pictures in the place of browsers, and keeps them as these settings say.
    pub fn open_pictures(&self, settings: &PictureSettings) -> std::io::Result<Arc<Pictures>> {
        Pictures::open(Arc::clone(&self.context.deps.http), self.store().picture_key(), settings)
    }

    /// Says that something may be due now.
    pub fn wake(&self) {
        self.context.wake.polls.notify_one();
    }

    /// One step of the background: claims and begins what is due, without waiting for it; returns how long there is
    /// nothing else to do, or nothing if there is more than there is capacity for.
    pub async fn poll_step(&self) -> StoreResult<Option<Duration>> {
        poll::step(&self.poller).await
    }

    /// Changes a feed. Push that is turned on begins at once, if the feed has a hub.
    pub async fn update_feed(
        &self,
        account: AccountId,
        id: FeedId,
        patch: FeedPatch,
    ) -> StoreResult<UpdateOutcome<Feed>> {
        let turns_push_on = patch.push_enabled == Some(true);
        let mut outcome = self.store().update_feed(account, id, patch).await?;
        if turns_push_on
            && let (UpdateOutcome::Updated(feed), Some(offer)) = (&mut outcome, self.context.offer())
            && self.store().subscribe(vec![(feed.id, offer)]).await? > 0
            && let Some(now) = self.store().feed(account, feed.id).await?
        {
            **feed = now;
        }
        // It may be due at once, and its hub to be told.
        self.wake();
        self.context.wake.push.notify_one();
        Ok(outcome)
    }

    /// Stops following a feed. With its last follower it goes; its hub is told afterwards, whatever it says. False if the
    /// account does not follow it.
    pub async fn delete_feed(&self, account: AccountId, id: FeedId) -> StoreResult<bool> {
        let is_deleted = self.store().delete_feed(account, id).await?;
        self.context.wake.push.notify_one();
        Ok(is_deleted)
    }

    /// Subscribes a feed at its hub now, whatever happened before. It is not waited for the hub.
    pub async fn subscribe_feed(&self, account: AccountId, id: FeedId) -> Result<Subscription, SubscribeError> {
        push::subscribe_now(&self.pusher, account, id).await
    }

    /// An account no longer wants a feed pushed; if no other does, it is unsubscribed at its hub. False if the account does
    /// not follow it.
    pub async fn unsubscribe_feed(&self, account: AccountId, id: FeedId) -> StoreResult<bool> {
        let patch = FeedPatch { push_enabled: Some(false), ..FeedPatch::default() };
        Ok(matches!(self.update_feed(account, id, patch).await?, UpdateOutcome::Updated(_)))
    }

    /// Renews the subscriptions that end soon, at most 20, and waits for their hubs.
    pub async fn renew_expiring(&self) -> StoreResult<RenewSummary> {
        push::renew_expiring(&self.pusher).await
    }

    /// How long a call of a hub may wait that has just come in. One call takes the same through all its steps below.
    pub fn time_for_hub(&self) -> TimeLeft {
        TimeLeft::new(self.context.settings().push.answer_timeout)
    }

    /// Answers a hub that asks whether something is wanted. `admits` is asked whether one more question may come for
    /// this subscription, or for none where the token names none.
    pub async fn verify(
        &self,
        token: Option<&str>,
        asked: Verification,
        admits: &(dyn Fn(Option<SubscriptionId>) -> bool + Sync),
        time: &mut TimeLeft,
    ) -> StoreResult<VerifyAnswer> {
        push::verify(&self.pusher, token, asked, admits, time).await
    }

    /// For whom a push with this token is, before anything of it is read; an answer if for nobody.
    pub async fn recipient(&self, token: &str, time: &mut TimeLeft) -> StoreResult<Result<Recipient, PushAnswer>> {
        push::recipient(&self.pusher, token, time).await
    }

    /// For whom a push without a token is, as far as its address and its headers say; an answer if for nobody. Of this
    /// the body is not looked at, and should be empty.
    pub async fn recipient_by_topic(
        &self,
        head: &PushRequest,
        time: &mut TimeLeft,
    ) -> StoreResult<Result<Recipient, PushAnswer>> {
        push::recipient_by_topic(&self.pusher, head, time).await
    }

    /// The answer to a push with a token whose headers show already that it is not signed as it must be. Of this the body
    /// is not looked at, and should be empty.
    pub async fn refuse_unsigned(
        &self,
        recipient: &Recipient,
        head: &PushRequest,
        time: &mut TimeLeft,
    ) -> StoreResult<Option<PushAnswer>> {
        push::refuse_unsigned(&self.pusher, recipient, head, time).await
    }

    /// Takes a push: it is stored when this returns.
    pub async fn receive(&self, recipient: Recipient, request: PushRequest, time: TimeLeft) -> StoreResult<PushAnswer> {
        push::receive(&self.pusher, recipient, request, time).await
    }

    /// A push could not be read, because it is too large or there are too many: its feed is polled soon.
    pub async fn refuse_push(&self, recipient: &Recipient, why: &'static str, time: &mut TimeLeft) -> StoreResult<()> {
        push::refuse(&self.pusher, recipient, why, time).await
    }

    /// Where hubs reach us; without it push is off.
    pub fn base_url(&self) -> Option<&str> {
        self.context.deps.settings.push.base_url.as_deref()
    }

    /// How often a feed that a hub is trusted to push is polled all the same; never, if it is zero.
    pub fn push_audit(&self) -> std::time::Duration {
        self.context.deps.settings.push.audit
    }

    /// Makes what is stored agree with the base URL: done once at the start of [`run`](Self::run).
    pub async fn start_push(&self) -> StoreResult<()> {
        push::start(&self.pusher).await
    }

    /// Takes every step of a subscription that is due, and waits for their ends; returns how many there were.
    pub async fn settle_push(&self) -> StoreResult<u32> {
        push::settle(&self.pusher).await
    }

    /// Refuses a URL that nothing may be sent to, as far as can be told now.
    pub async fn check_url(&self, url: &str) -> Result<(), HttpError> {
        self.context.deps.http.check(url).await
    }

    /// Makes a webhook; its secret is the first of its secrets.
    pub async fn create_webhook(
        &self,
        account: AccountId,
        make: impl FnOnce(WebhookSecret) -> NewWebhook,
    ) -> StoreResult<Webhook> {
        let secret = WebhookSecret::new(&*self.context.deps.ids);
        self.store().create_webhook(account, make(secret)).await
    }

    /// Gives a webhook another secret, which is the first of its secrets from then on; the one that it had signs along for
    /// a day. `None` if there is no such webhook.
    pub async fn rotate_secret(&self, account: AccountId, id: WebhookId) -> StoreResult<Option<Webhook>> {
        let deps = &self.context.deps;
        let secret = WebhookSecret::new(&*deps.ids);
        deps.store.rotate_secret(account, id, secret, deps.settings.delivery.old_secret).await
    }

    /// How many attempts a delivery has.
    pub fn attempts_max(&self) -> u32 {
        self.context.deps.settings.delivery.retry.attempts_max()
    }

    /// Delivers what is due to one webhook until told to stop, and does nothing else: for a program that runs for a moment
    /// only.
    pub async fn deliver_to(&self, webhook: WebhookId, stop: &CancellationToken) {
        dispatch::run(&Dispatcher::new(&self.context, Some(webhook)), self.listen(None), stop).await;
    }

    /// Polls, keeps push alive, delivers and prunes by itself. After a stop it returns when what had begun has ended, or
    /// was released with the rest: polls after some seconds, deliveries after half a minute.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        tokio::join!(
            poll::run(&self.poller, &stop),
            push::run(&self.pusher, &stop),
            dispatch::run(&self.dispatcher, self.listen(None), &stop),
            icons::run(&self.context, &stop),
            prune::run(&self.context, &stop),
            changes::run_prune(self.store().as_ref(), &stop),
            clock_watch::run(&self.context.deps, &stop),
            overview::run(self.store().as_ref(), &stop)
        );
    }
}
