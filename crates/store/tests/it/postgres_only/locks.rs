//! What is seen, and when it happens, after a wait for a lock.

use std::time::Duration;

use domain::{
    FeedId, SubscriptionId,
    account::READER,
    ports::{Batched, Changed, Claim, FeedStore, PollStore, PushStore, SubscriptionChange, Viewer},
    push::{Mode, PushStored, RenewalRules, SubscriptionEvent},
};
use testkit::{FreshPostgres, fresh_postgres};
use tokio_postgres::Client;

use super::{
    fetched,
    given_push::{BASE, HUB, activated, change, claim_poll, discovered, push, subscribed},
    import,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_made_during_the_wait_is_seen() {
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
    assert_eq!(
        database.store.subscriptions(Viewer::Server).await.unwrap(),
        [],
        "the document names no hub: it is not wanted"
    );
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
    let verified = SubscriptionEvent::Verified { mode: Mode::Subscribe, lease_secs: None, only_if_asked: false };
    let changed =
        while_locked(&database, &other, later, async move { change(&store, id, verified).await }).await.unwrap();
    let Changed::Done(transition) = changed else { panic!("it was not changed: {changed:?}") };
    assert_eq!(transition.after.unwrap().verified_at.unwrap().as_millisecond(), now().await);

    let store = database.store.clone();
    let delay = Duration::from_secs(7);
    while_locked(&database, &other, later, async move { store.poll_soon(feed, delay).await }).await.unwrap();
    let due_at = database.store.feed(READER, feed).await.unwrap().unwrap().next_check_at.as_millisecond();
    assert_eq!(due_at, now().await + 7_000);

    let store = database.store.clone();
    let finished =
        while_locked(&database, &other, later, async move { store.finish_polls(vec![fetched(&job, 0)]).await });
    assert_eq!(finished.await.unwrap().remove(0).unwrap().new, 5);
    let stored = database.store.feed(READER, feed).await.unwrap().unwrap();
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
    let Changed::Done(transition) = change(&database.store, id, SubscriptionEvent::Unwanted).await.unwrap() else {
        panic!()
    };
    assert_eq!(transition.after.unwrap().feed_id, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_are_locked_in_the_order_of_their_ids() {
    let database = fresh_postgres().await;
    let feed = subscribed(&database.store, 1).await[0];
    let other = database.client().await;
    // The second has failed after the first: a poll makes the first the feed's own again.
    let fail = format!(
        "
UPDATE subscriptions SET state = 'inactive', is_current = false, retry_at = 0, next_step_at = NULL;
INSERT INTO subscriptions (feed_id, hub_url, topic_url, topic_hash, token, base_url, state, is_current, retry_at, created_at)
VALUES ({feed}, 'https://second.org/', 'topic 0', '', 'second', '{BASE}', 'inactive', true, pirssonite_now_ms() + 1000000, 0)"
    );
    other.batch_execute(&fail).await.unwrap();
    let ids: Vec<i64> =
        database.store.subscriptions(Viewer::Server).await.unwrap().iter().map(|known| known.id.0).collect();
    let job = claim_poll(&database.store, feed).await;
    // As a release of both does.
    let lock = |id: i64| format!("SELECT FROM subscriptions WHERE id = {id} FOR NO KEY UPDATE");
    other.batch_execute(&format!("BEGIN; {}", lock(ids[0]))).await.unwrap();
    let store = database.store.clone();
    let hubs = [HUB, "https://second.org/"];
    let work = async move { store.finish_polls(vec![discovered(&job, 0, &hubs, "unused")]).await };
    let finished = while_waiting(&database, &other, &lock(ids[1]), work).await.unwrap().remove(0);
    assert_eq!(finished.unwrap().new, 5);
    assert_eq!(database.store.subscription_of(feed).await.unwrap().unwrap().id.0, ids[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_skips_locked_feeds_and_a_single_job_waits() {
    let database = fresh_postgres().await;
    let feeds = subscribed(&database.store, 3).await;
    let mut ids = Vec::new();
    for feed in &feeds {
        ids.push(activated(&database.store, *feed).await);
    }
    let other = database.client().await;
    let lock = |table: &str, id: i64| format!("BEGIN; SELECT FROM {table} WHERE id = {id} FOR NO KEY UPDATE");
    for (round, lock) in [lock("feeds", feeds[1].0), lock("subscriptions", ids[1].0)].iter().enumerate() {
        other.batch_execute(lock).await.unwrap();
        let batch = ids.iter().map(|id| push(*id, round)).collect();
        let mut outcomes = database.store.push_all(batch).await.unwrap();
        for place in [0, 2] {
            let stored = &outcomes[place];
            assert!(matches!(stored, Ok(Batched::Done(PushStored::Stored(stored))) if stored.new == 1), "{stored:?}");
        }
        let Ok(Batched::Locked(left)) = outcomes.remove(1) else { panic!("it is locked") };
        // Nor does a batch of one: others come after it.
        let one = database.store.push_all(vec![push(ids[1], round)]).await.unwrap();
        assert!(matches!(one.as_slice(), [Ok(Batched::Locked(_))]), "{one:?}");
        if round == 0 {
            let claimed = database.store.claim_polls("a node", &feeds, crate::postgres_only::LEASE).await.unwrap();
            let claimed: Vec<_> = claimed.iter().map(|job| job.feed_id).collect();
            assert_eq!(claimed, [feeds[0], feeds[2]], "a claim of single feeds passes over what is locked");
        }
        let rules = RenewalRules::default();
        let change =
            |id: SubscriptionId| SubscriptionChange { id, claim: Claim::None, event: SubscriptionEvent::Missed, rules };
        let changed = database.store.change_subscriptions(ids.iter().map(|id| change(*id)).collect()).await.unwrap();
        let is_done: Vec<bool> = changed.iter().map(|changed| matches!(changed, Ok(Batched::Done(_)))).collect();
        assert_eq!(is_done, [true, false, true]);
        let store = database.store.clone();
        let stored = while_waiting(&database, &other, "", async move { store.push(left).await }).await.unwrap();
        assert!(matches!(stored, PushStored::Stored(stored) if stored.new == 1), "{stored:?}");
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
    while_waiting(database, other, statement, work).await
}

/// The same, where the other's transaction has locked something already.
pub(super) async fn while_waiting<T: Send + 'static>(
    database: &FreshPostgres,
    other: &Client,
    statement: &str,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    let work = tokio::spawn(work);
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let watcher = database.client().await;
    while watcher.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    other.batch_execute(statement).await.unwrap();
    other.batch_execute("COMMIT").await.unwrap();
    work.await.unwrap()
}
