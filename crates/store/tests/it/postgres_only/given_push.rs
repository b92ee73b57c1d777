//! What cases of push are made of: feeds with subscriptions, polls that know of hubs, pushes.

use std::time::Duration;

use domain::{
    FeedId, NewFeed, SubscriptionId,
    account::READER,
    feed_state::FeedAddress,
    ingest::{Document, Hash, PollJob, PollOutcome, PollResult, PushDiscovery},
    ports::{Changed, Claim, FeedStore, NewFeedOutcome, PollStore, PushStore, StoreResult},
    push::{Discovery, Mode, Offer, Push, RenewalRules, SubscriptionEvent},
};
use store::PostgresStore;

use super::{LEASE, entries_of, fetched};

pub(super) const HUB: &str = "https://hub.org/";
pub(super) const BASE: &str = "https://we.org";
const SECRET: &str = "secret";

/// Feeds that name a hub, each with a subscription that is due.
pub(super) async fn subscribed(store: &PostgresStore, feeds: usize) -> Vec<FeedId> {
    let mut ids = Vec::new();
    for number in 0..feeds {
        let discovery = Discovery { hubs: vec![HUB.to_owned()], topic: Some(format!("topic {number}")) };
        let found = Some(PushDiscovery {
            discovery,
            offer: Some(offer(&format!("token {number}"))),
            push_may_take: domain::push::PUSH_MAY_TAKE,
        });
        let address = FeedAddress { url: format!("https://example.org/pushed/{number}"), credentials: None };
        let document = Document { found, ..Document::default() };
        let new = NewFeed { address, folder_id: None, custom_title: None, document, next_check_in: Duration::ZERO };
        let outcome = store.add_feed(READER, new).await.unwrap();
        let NewFeedOutcome::Added(feed) = outcome else { panic!("the feed was not added: {outcome:?}") };
        ids.push(feed.id);
    }
    ids
}

/// The hub of a feed's subscription pushes.
pub(super) async fn activated(store: &PostgresStore, feed: FeedId) -> SubscriptionId {
    let id = store.subscription_of(feed).await.unwrap().unwrap().id;
    for event in
        [asking(), SubscriptionEvent::Verified { mode: Mode::Subscribe, lease_secs: None, only_if_asked: false }]
    {
        assert!(matches!(change(store, id, event).await, Ok(Changed::Done(_))));
    }
    id
}

pub(super) fn offer(token: &str) -> Offer {
    Offer { token: token.to_owned(), base_url: BASE.to_owned() }
}

pub(super) fn asking() -> SubscriptionEvent {
    SubscriptionEvent::Asking { mode: Mode::Subscribe, secret: Some(SECRET.to_owned()), base_url: BASE.to_owned() }
}

/// A push of one entry.
pub(super) fn push(id: SubscriptionId, number: usize) -> Push {
    let mut document = entries_of(0);
    document.entries.truncate(1);
    document.entries[0].identity = Hash::of(format!("pushed {number}").as_bytes());
    let poll_in = number.is_multiple_of(3).then_some(LEASE);
    Push { subscription_id: id, secret: SECRET.to_owned(), document, poll_in }
}

/// A poll that brings entries, and these hubs.
pub(super) fn discovered(job: &PollJob, round: usize, hubs: &[&str], token: &str) -> PollResult {
    let mut result = fetched(job, round);
    if let PollOutcome::Fetched(document) = &mut result.outcome {
        let hubs = hubs.iter().map(|hub| (*hub).to_owned()).collect();
        let number = job.address.url.rsplit('/').next().unwrap();
        let discovery = Discovery { hubs, topic: Some(format!("topic {number}")) };
        document.found =
            Some(PushDiscovery { discovery, offer: Some(offer(token)), push_may_take: domain::push::PUSH_MAY_TAKE });
    }
    result
}

pub(super) async fn change(
    store: &PostgresStore,
    id: SubscriptionId,
    event: SubscriptionEvent,
) -> StoreResult<Changed> {
    store.change_subscription(id, Claim::None, event, RenewalRules::default()).await
}

pub(super) async fn claim_poll(store: &PostgresStore, feed: FeedId) -> PollJob {
    store.claim_polls("here", &[feed], LEASE).await.unwrap().remove(0)
}
