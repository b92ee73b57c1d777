//! What cases of push are made of: hubs that are found, subscriptions in each state, pushes.

use std::time::Duration;

use domain::{
    FeedId, SubscriptionId,
    ingest::{Document, IncomingEntry, PollJob, PollOutcome, PollResult, PushDiscovery, Stored},
    ports::{Changed, Claim},
    push::{
        Discovery, Mode, Offer, Push, PushStored, RenewalRules, Subscription, SubscriptionEvent, SubscriptionJob,
        Transition,
    },
};

use super::{
    Harness,
    given::{LEASE, document, new_feed, result},
};

pub(super) const HUB: &str = "https://hub.org/";
pub(super) const OTHER_HUB: &str = "https://other.org/hub";
pub(super) const TOPIC: &str = "https://e.org/topic";
pub(super) const BASE: &str = "https://we.org";
pub(super) const DAY: Duration = Duration::from_hours(24);
/// What hubs give here: long enough to be no matter.
pub(super) const HUB_LEASE: Duration = Duration::from_hours(10 * 24);

pub(super) fn offer(token: &str) -> Offer {
    Offer { token: token.to_owned(), base_url: BASE.to_owned() }
}

/// These hubs and this topic, and an offer with this token.
pub(super) fn found(hubs: &[&str], topic: Option<&str>, token: &str) -> PushDiscovery {
    PushDiscovery { offer: Some(offer(token)), ..found_without_push(hubs, topic) }
}

/// The same while push is off.
pub(super) fn found_without_push(hubs: &[&str], topic: Option<&str>) -> PushDiscovery {
    let hubs = hubs.iter().map(|hub| (*hub).to_owned()).collect();
    PushDiscovery {
        discovery: Discovery { hubs, topic: topic.map(str::to_owned) },
        offer: None,
        push_may_take: domain::push::PUSH_MAY_TAKE,
    }
}

/// A poll that brings these entries, and this about push.
pub(super) fn discovered(job: &PollJob, entries: Vec<IncomingEntry>, found: PushDiscovery) -> PollResult {
    result(job, PollOutcome::Fetched(Document { found: Some(found), ..document(entries) }))
}

pub(super) fn asking(secret: &str) -> SubscriptionEvent {
    SubscriptionEvent::Asking { mode: Mode::Subscribe, secret: Some(secret.to_owned()), base_url: BASE.to_owned() }
}

pub(super) fn verified(lease: Duration) -> SubscriptionEvent {
    SubscriptionEvent::Verified { mode: Mode::Subscribe, lease_secs: Some(lease.as_secs()), only_if_asked: false }
}

pub(super) fn unsubscribed() -> SubscriptionEvent {
    SubscriptionEvent::Verified { mode: Mode::Unsubscribe, lease_secs: None, only_if_asked: false }
}

pub(super) fn failed() -> SubscriptionEvent {
    SubscriptionEvent::Failed { error: "Hub unreachable: ECONNREFUSED".to_owned(), retry_after: None }
}

pub(super) fn denied() -> SubscriptionEvent {
    SubscriptionEvent::Denied { reason: Some("no".to_owned()), only_if_asked: false }
}

/// The same at the callback without a token, where anybody can say so.
pub(super) fn by_anybody(event: SubscriptionEvent) -> SubscriptionEvent {
    match event {
        SubscriptionEvent::Verified { mode, lease_secs, .. } => {
            SubscriptionEvent::Verified { mode, lease_secs, only_if_asked: true }
        }
        SubscriptionEvent::Denied { reason, .. } => SubscriptionEvent::Denied { reason, only_if_asked: true },
        other => other,
    }
}

/// A push of these entries, signed with this secret.
pub(super) fn push(id: SubscriptionId, secret: &str, entries: Vec<IncomingEntry>) -> Push {
    Push { subscription_id: id, secret: secret.to_owned(), document: document(entries), poll_in: None }
}

/// An entry that was pushed with nothing but a title.
pub(super) fn thin(entry: IncomingEntry) -> IncomingEntry {
    IncomingEntry { summary: None, content: None, is_thin: true, ..entry }
}

pub(super) fn ids(jobs: &[SubscriptionJob]) -> Vec<SubscriptionId> {
    jobs.iter().map(|job| job.subscription.id).collect()
}

impl Harness {
    /// Keeps a feed that names [`HUB`] and [`TOPIC`]: its subscription is due, and no hub knows of it yet.
    pub(super) async fn with_hub(&self, url: &str, token: &str) -> (FeedId, SubscriptionId) {
        let mut new = new_feed(url, vec![]);
        new.document.found = Some(found(&[HUB], Some(TOPIC), token));
        let feed = self.add_feed(new).await.id;
        (feed, self.current(feed).await.id)
    }

    /// The same; the hub has verified, and the feed was polled for what was published in between: it is due again
    /// after a day. The secret is the token.
    pub(super) async fn pushed(&self, url: &str, token: &str) -> (FeedId, SubscriptionId) {
        let (feed, id) = self.with_hub(url, token).await;
        self.verify(id, token, HUB_LEASE).await;
        self.advance(Duration::from_secs(1)).await;
        self.poll(feed, vec![]).await;
        assert_eq!(self.feed(feed).await.next_check_at, self.now() + DAY);
        (feed, id)
    }

    /// A hub is asked and verifies.
    pub(super) async fn verify(&self, id: SubscriptionId, secret: &str, lease: Duration) -> Subscription {
        self.done(id, asking(secret)).await;
        self.done(id, verified(lease)).await.after.expect("it is kept")
    }

    pub(super) async fn change(&self, id: SubscriptionId, event: SubscriptionEvent) -> Changed {
        self.change_under(id, Claim::None, event).await
    }

    pub(super) async fn change_under(&self, id: SubscriptionId, claim: Claim, event: SubscriptionEvent) -> Changed {
        self.store.change_subscription(id, claim, event, RenewalRules::default()).await.unwrap()
    }

    /// A change that is made.
    pub(super) async fn done(&self, id: SubscriptionId, event: SubscriptionEvent) -> Transition {
        match self.change(id, event).await {
            Changed::Done(transition) => *transition,
            other => panic!("it was not changed: {other:?}"),
        }
    }

    /// The current subscription of a feed, as it is told in every way.
    pub(super) async fn current(&self, feed: FeedId) -> Subscription {
        let current = self.store.subscription_of(feed).await.unwrap().expect("the feed has a subscription");
        assert_eq!(self.store.subscription(current.id).await.unwrap().as_ref(), Some(&current));
        assert_eq!(self.feed(feed).await.subscription, Some((&current).into()));
        assert!(current.is_current);
        current
    }

    pub(super) async fn subscriptions(&self) -> Vec<Subscription> {
        self.store.subscriptions().await.unwrap()
    }

    /// The subscription with this token; `None` if there is none.
    pub(super) async fn by_token(&self, token: &str) -> Option<Subscription> {
        self.store.push_target(token).await.unwrap().map(|target| target.subscription)
    }

    pub(super) async fn claim_due(&self, owner: &str, limit: u32) -> Vec<SubscriptionJob> {
        self.store.claim_due_subscriptions(owner, limit, LEASE, &[]).await.unwrap()
    }

    pub(super) async fn claim_expiring(&self, owner: &str, limit: u32, within: Duration) -> Vec<SubscriptionJob> {
        self.store.claim_expiring_subscriptions(owner, limit, LEASE, within).await.unwrap()
    }

    /// A push that is stored.
    pub(super) async fn push(&self, push: Push) -> Stored {
        match self.store.push(push).await.unwrap() {
            PushStored::Stored(stored) => stored,
            other => panic!("the push was not stored: {other:?}"),
        }
    }

    /// A whole poll that brings these entries, and this about push.
    pub(super) async fn discover(&self, feed: FeedId, entries: Vec<IncomingEntry>, found: PushDiscovery) -> Stored {
        let job = self.claim(feed).await;
        self.finish(discovered(&job, entries, found)).await
    }
}
