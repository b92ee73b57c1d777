//! Push on many nodes: claims, locks, and what is seen after a wait for one.

use std::{collections::HashSet, time::Duration};

use domain::{
    FeedId, NewFeed, SubscriptionId,
    feed_state::FeedAddress,
    ingest::{Document, Found, PollJob, PollOutcome, PollResult},
    ports::{Changed, Claim, FeedStore, NewFeedOutcome, PollStore, PushStore, StoreError, StoreResult},
    push::{Discovery, Event, Mode, Offer, Push, PushStored, Rules},
};
use store::PostgresStore;
use testkit::{FreshPostgres, fresh_postgres};
use tokio_postgres::Client;

use super::{LEASE, fetched, import};

pub(super) const HUB: &str = "https://hub.org/";
pub(super) const BASE: &str = "https://we.org";
const SECRET: &str = "secret";

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_never_claim_the_same_subscription() {
    const FEEDS: usize = 200;
    let database = fresh_postgres().await;
    subscribed(&database.store, FEEDS).await;
    for is_due in [true, false] {
        let mut workers = Vec::new();
        for node in 0..2 {
            let store = database.another_store().await;
            for worker in 0..4 {
                let (store, owner) = (store.clone(), format!("node {node} worker {worker}"));
                workers.push(tokio::spawn(async move {
                    let mut claimed = Vec::new();
                    loop {
                        let jobs = claim(&store, &owner, 7, is_due).await;
                        if jobs.is_empty() {
                            return claimed;
                        }
                        claimed.extend(jobs);
                    }
                }));
            }
        }
        let mut claimed = Vec::new();
        for worker in workers {
            claimed.extend(worker.await.unwrap());
        }
        // A worker may end early because the others hold what is left: what remains is claimed now.
        claimed.extend(claim(&database.store, "late", 200, is_due).await);
        assert_eq!(claimed.len(), FEEDS);
        assert_eq!(claimed.into_iter().collect::<HashSet<_>>().len(), FEEDS);
        // For the other kind of claim.
        let sql = "UPDATE subscriptions SET state = 'active', expires_at = 0, lease_owner = NULL, lease_until = 0";
        database.client().await.batch_execute(sql).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_another_node_made_during_the_wait_is_seen() {
    let database = fresh_postgres().await;
    let feed = FeedId(1);
    import(&database.store, 1).await;
    let job = claim_poll(&database.store, feed).await;
    let other = database.client().await;
    let makes_one = "
UPDATE feeds SET hubs = '[\"https://hub.org/\"]';
INSERT INTO subscriptions (feed_id, hub_url, topic_url, topic_hash, token, base_url, state, is_current, next_step_at, created_at)
VALUES (1, 'https://hub.org/', 't', '', 'token', 'https://we.org', 'pending', true, 0, 0)";
    let store = database.store.clone();
    let finished = while_locked(&database, &other, makes_one, async move {
        store.finish_polls(vec![discovered(&job, 1, &[], "other")]).await
    });
    assert!(finished.await.unwrap().remove(0).unwrap().applied);
    assert_eq!(database.store.subscriptions().await.unwrap(), [], "the document names no hub: it is not wanted");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_happens_after_the_wait() {
    let database = fresh_postgres().await;
    let feed = subscribed(&database.store, 1).await[0];
    let id = activated(&database.store, feed).await;
    let other = database.client().await;
    // A clock that can be set inside a transaction.
    let clock = "
CREATE TABLE test_clock AS SELECT pirssonite_now_ms() AS ms;
CREATE OR REPLACE FUNCTION pirssonite_now_ms() RETURNS bigint LANGUAGE plpgsql VOLATILE
    AS $$ BEGIN RETURN (SELECT ms FROM test_clock); END $$";
    other.batch_execute(clock).await.unwrap();
    let later = "UPDATE test_clock SET ms = ms + 1000";
    let now = || async { other.query_one("SELECT ms FROM test_clock", &[]).await.unwrap().get::<_, i64>(0) };
    let job = claim_poll(&database.store, feed).await;

    let store = database.store.clone();
    let pushed = while_locked(&database, &other, later, async move { store.push(push(id, 1)).await }).await.unwrap();
    assert!(matches!(pushed, PushStored::Stored(stored) if stored.new == 1), "{pushed:?}");
    let subscription = database.store.subscription(id).await.unwrap().unwrap();
    assert_eq!(subscription.last_push_at.unwrap().as_millisecond(), now().await);

    let store = database.store.clone();
    let verified = Event::Verified { mode: Mode::Subscribe, lease_secs: None, only_if_asked: false };
    let changed =
        while_locked(&database, &other, later, async move { change(&store, id, verified).await }).await.unwrap();
    let Changed::Done(transition) = changed else { panic!("it was not changed: {changed:?}") };
    assert_eq!(transition.after.unwrap().verified_at.unwrap().as_millisecond(), now().await);

    let store = database.store.clone();
    let delay = Duration::from_secs(7);
    while_locked(&database, &other, later, async move { store.poll_soon(feed, delay).await }).await.unwrap();
    let due_at = database.store.feed(feed).await.unwrap().unwrap().next_check_at.as_millisecond();
    assert_eq!(due_at, now().await + 7_000);

    let store = database.store.clone();
    let finished =
        while_locked(&database, &other, later, async move { store.finish_polls(vec![fetched(&job, 0)]).await });
    assert_eq!(finished.await.unwrap().remove(0).unwrap().new, 5);
    let stored = database.store.feed(feed).await.unwrap().unwrap();
    assert_eq!(stored.last_fetched_at.unwrap().as_millisecond(), now().await);
    assert_eq!(stored.next_check_at.as_millisecond(), due_at, "it was wanted while it was being polled");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_feed_that_goes_finds_none() {
    let database = fresh_postgres().await;
    let feed = subscribed(&database.store, 1).await[0];
    let id = activated(&database.store, feed).await;
    let other = database.client().await;
    let goes = "DELETE FROM feeds";
    let store = database.store.clone();
    let pushed = while_locked(&database, &other, goes, async move { store.push(push(id, 1)).await }).await;
    assert_eq!(pushed.unwrap(), PushStored::NoFeed);
    let Changed::Done(transition) = change(&database.store, id, Event::Unwanted).await.unwrap() else { panic!() };
    assert_eq!(transition.after.unwrap().feed_id, None);
}

#[tokio::test]
async fn a_subscription_that_nothing_changes_is_not_written() {
    let database = fresh_postgres().await;
    let feed = subscribed(&database.store, 1).await[0];
    let id = activated(&database.store, feed).await;
    let version = || async {
        let sql = "SELECT xmin::text || ' ' || ctid::text FROM subscriptions";
        database.client().await.query_one(sql, &[]).await.unwrap().get::<_, String>(0)
    };
    let before = version().await;
    let job = claim_poll(&database.store, feed).await;
    let stored = database.store.finish_polls(vec![discovered(&job, 0, &[HUB], "other")]).await.unwrap().remove(0);
    assert_eq!(stored.unwrap().new, 5);
    for event in [Event::Accepted, Event::TimePassed] {
        assert!(matches!(change(&database.store, id, event).await, Ok(Changed::Done(_))));
    }
    assert_eq!(database.store.subscribe(vec![(feed, offer("other"))]).await, Ok(0));
    assert_eq!(version().await, before);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_told_and_stops_no_other() {
    let database = fresh_postgres().await;
    let feeds = subscribed(&database.store, 2).await;
    let ids: Vec<SubscriptionId> = database.store.subscriptions().await.unwrap().iter().map(|one| one.id).collect();
    let client = database.client().await;
    for (column, wrong, right) in [("state", "Pending", "pending"), ("asked", "all", ""), ("secrets", "[{}]", "[]")] {
        let set = format!("UPDATE subscriptions SET {column} = nullif($1, ''), lease_until = 0 WHERE id = $2");
        client.execute(&set, &[&wrong, &ids[0].0]).await.unwrap();
        let errors = [
            database.store.subscription(ids[0]).await.map(drop),
            database.store.subscriptions().await.map(drop),
            database.store.push_target("token 0").await.map(drop),
            database.store.push(push(ids[0], 1)).await.map(drop),
            change(&database.store, ids[0], Event::Retry).await.map(drop),
            database.store.subscribe(vec![(feeds[0], offer("other"))]).await.map(drop),
            database.store.stop_push().await.map(drop),
        ];
        for error in errors {
            assert!(
                matches!(&error, Err(StoreError::Failed(reason)) if !reason.contains(wrong)),
                "{column}: {error:?}"
            );
        }
        let jobs = database.store.claim_due_subscriptions("here", 10, LEASE, &[]).await.unwrap();
        assert_eq!(jobs.iter().map(|job| job.subscription.id).collect::<Vec<_>>(), [ids[1]], "{column}");
        client.execute(&set, &[&right, &ids[0].0]).await.unwrap();
        client.batch_execute("UPDATE subscriptions SET lease_owner = NULL, lease_until = 0").await.unwrap();
    }
    client.batch_execute("UPDATE feeds SET hubs = '{'").await.unwrap();
    let error = database.store.subscribe(vec![(feeds[1], offer("other"))]).await;
    assert!(matches!(error, Err(StoreError::Failed(_))), "{error:?}");
    assert_eq!(database.store.subscriptions().await.unwrap().len(), 2);
}

/// Feeds that name a hub, each with a subscription that is due.
pub(super) async fn subscribed(store: &PostgresStore, feeds: usize) -> Vec<FeedId> {
    let mut ids = Vec::new();
    for number in 0..feeds {
        let discovery = Discovery { hubs: vec![HUB.to_owned()], topic: Some(format!("topic {number}")) };
        let found = Some(Found { discovery, offer: Some(offer(&format!("token {number}"))) });
        let address = FeedAddress { url: format!("https://example.org/pushed/{number}"), credentials: None };
        let document = Document { found, ..Document::default() };
        let new = NewFeed { address, folder_id: None, custom_title: None, document, next_check_in: Duration::ZERO };
        let outcome = store.add_feed(new).await.unwrap();
        let NewFeedOutcome::Added(feed) = outcome else { panic!("the feed was not added: {outcome:?}") };
        ids.push(feed.id);
    }
    ids
}

/// The hub of a feed's subscription pushes.
pub(super) async fn activated(store: &PostgresStore, feed: FeedId) -> SubscriptionId {
    let id = store.subscription_of(feed).await.unwrap().unwrap().id;
    for event in [asking(), Event::Verified { mode: Mode::Subscribe, lease_secs: None, only_if_asked: false }] {
        assert!(matches!(change(store, id, event).await, Ok(Changed::Done(_))));
    }
    id
}

pub(super) fn offer(token: &str) -> Offer {
    Offer { token: token.to_owned(), base_url: BASE.to_owned() }
}

pub(super) fn asking() -> Event {
    Event::Asking { mode: Mode::Subscribe, secret: Some(SECRET.to_owned()), base_url: BASE.to_owned() }
}

/// A push of one entry.
pub(super) fn push(id: SubscriptionId, number: usize) -> Push {
    let mut document = fetched(&nobodys_job(), 0);
    let PollOutcome::Fetched(document) = &mut document.outcome else { unreachable!() };
    document.entries.truncate(1);
    document.entries[0].identity = domain::ingest::Hash::of(format!("pushed {number}").as_bytes());
    let document = std::mem::take(document);
    Push {
        subscription_id: id,
        secret: SECRET.to_owned(),
        document,
        poll_in: number.is_multiple_of(3).then_some(LEASE),
    }
}

/// A poll that brings entries, and these hubs.
pub(super) fn discovered(job: &PollJob, round: usize, hubs: &[&str], token: &str) -> PollResult {
    let mut result = fetched(job, round);
    if let PollOutcome::Fetched(document) = &mut result.outcome {
        let hubs = hubs.iter().map(|hub| (*hub).to_owned()).collect();
        let number = job.address.url.rsplit('/').next().unwrap();
        let discovery = Discovery { hubs, topic: Some(format!("topic {number}")) };
        document.found = Some(Found { discovery, offer: Some(offer(token)) });
    }
    result
}

pub(super) async fn change(store: &PostgresStore, id: SubscriptionId, event: Event) -> StoreResult<Changed> {
    store.change_subscription(id, Claim::None, event, Rules::default()).await
}

async fn claim(store: &PostgresStore, owner: &str, limit: u32, is_due: bool) -> Vec<SubscriptionId> {
    let jobs = if is_due {
        store.claim_due_subscriptions(owner, limit, LEASE, &[]).await
    } else {
        store.claim_expiring_subscriptions(owner, limit, LEASE, LEASE).await
    };
    jobs.unwrap().into_iter().map(|job| job.subscription.id).collect()
}

async fn claim_poll(store: &PostgresStore, feed: FeedId) -> PollJob {
    store.claim_polls("here", &[feed], LEASE).await.unwrap().remove(0)
}

fn nobodys_job() -> PollJob {
    PollJob {
        feed_id: FeedId(0),
        address: FeedAddress { url: String::new(), credentials: None },
        validators: domain::ingest::Validators::default(),
        lease: domain::Lease { owner: String::new(), fence: 0 },
        claimed_at: jiff::Timestamp::UNIX_EPOCH,
        failure_count: 0,
        adaptive_secs: 0,
        poll_interval: None,
        asks: domain::ingest::Asks::default(),
        is_first_fetch: false,
    }
}

/// Runs work that has to wait for the rows of all feeds, and this statement while it waits.
async fn while_locked<T: Send + 'static>(
    database: &FreshPostgres,
    other: &Client,
    statement: &str,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    other.batch_execute("BEGIN; SELECT FROM feeds FOR UPDATE").await.unwrap();
    let work = tokio::spawn(work);
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let watcher = database.client().await;
    while watcher.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    other.batch_execute(statement).await.unwrap();
    other.batch_execute("COMMIT").await.unwrap();
    work.await.unwrap()
}
