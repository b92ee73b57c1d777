//! Push on many nodes: claims, what is written, and what cannot be.

use domain::{
    FeedId, SubscriptionId,
    ports::{Changed, PollStore, PushStore, StoreError, Viewer},
    push::SubscriptionEvent,
};
use store::PostgresStore;
use testkit::fresh_postgres;

use super::{
    LEASE,
    given_push::{HUB, activated, change, claim_poll, discovered, offer, push, subscribed},
    import,
    race::each_is_claimed_once,
};

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_never_claim_the_same_subscription() {
    const FEEDS: usize = 200;
    let database = fresh_postgres().await;
    subscribed(&database.store, FEEDS).await;
    for is_due in [true, false] {
        let claim =
            move |store: PostgresStore, owner: String, limit| async move { claim(&store, &owner, limit, is_due).await };
        each_is_claimed_once(&database, FEEDS, claim).await;
        // For the other kind of claim.
        let sql = "UPDATE subscriptions SET state = 'active', expires_at = 0, lease_owner = NULL, lease_until = 0";
        database.client().await.batch_execute(sql).await.unwrap();
    }
}

#[tokio::test]
async fn of_pipelined_statements_the_first_failure_is_reported() {
    let database = fresh_postgres().await;
    let feed = subscribed(&database.store, 1).await[0];
    import(&database.store, 1).await;
    let taken = "token 0";
    let other = FeedId(feed.0 + 1);
    let job = claim_poll(&database.store, other).await;
    let stored = database.store.finish_polls(vec![discovered(&job, 0, &[HUB], taken)]).await.unwrap().remove(0);
    let is_reported = |error: &StoreError| matches!(error, StoreError::Failed(reason) if reason.contains("(23505)"));
    assert!(matches!(&stored, Err(error) if is_reported(error)), "{stored:?}");
    let sql = "UPDATE feeds SET hubs = '[\"https://hub.org/\"]'";
    database.client().await.batch_execute(sql).await.unwrap();
    let subscribed = database.store.subscribe(vec![(other, offer(taken))]).await;
    assert!(matches!(&subscribed, Err(error) if is_reported(error)), "{subscribed:?}");
    assert_eq!(database.store.subscribe(vec![(other, offer("free"))]).await, Ok(1));
    // The entries first, and then the subscription, which only fails because of them.
    let id = activated(&database.store, feed).await;
    let sql = "ALTER TABLE entries ADD CHECK (false) NOT VALID";
    database.client().await.batch_execute(sql).await.unwrap();
    let pushed = database.store.push(push(id, 1)).await;
    assert!(matches!(&pushed, Err(StoreError::Failed(reason)) if reason.contains("(23514)")), "{pushed:?}");
    assert_eq!(database.store.subscription(id).await.unwrap().unwrap().push_count, 0);
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
    for event in [SubscriptionEvent::Accepted, SubscriptionEvent::TimePassed] {
        assert!(matches!(change(&database.store, id, event).await, Ok(Changed::Done(_))));
    }
    assert_eq!(database.store.subscribe(vec![(feed, offer("other"))]).await, Ok(0));
    assert_eq!(version().await, before);
}

#[tokio::test]
async fn an_unreadable_row_is_reported_and_stops_no_other() {
    let database = fresh_postgres().await;
    let feeds = subscribed(&database.store, 2).await;
    let ids: Vec<SubscriptionId> =
        database.store.subscriptions(Viewer::Server).await.unwrap().iter().map(|one| one.id).collect();
    let client = database.client().await;
    for (column, wrong, right) in [("asked", "all", ""), ("secrets", "[{}]", "[]")] {
        let set = format!("UPDATE subscriptions SET {column} = nullif($1, ''), lease_until = 0 WHERE id = $2");
        client.execute(&set, &[&wrong, &ids[0].0]).await.unwrap();
        let errors = [
            database.store.subscription(ids[0]).await.map(drop),
            database.store.subscriptions(Viewer::Server).await.map(drop),
            database.store.push_target("token 0").await.map(drop),
            database.store.push(push(ids[0], 1)).await.map(drop),
            change(&database.store, ids[0], SubscriptionEvent::Retry).await.map(drop),
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
    assert_eq!(database.store.subscriptions(Viewer::Server).await.unwrap().len(), 2);
}

async fn claim(store: &PostgresStore, owner: &str, limit: u32, is_due: bool) -> Vec<SubscriptionId> {
    let jobs = if is_due {
        store.claim_due_subscriptions(owner, limit, LEASE, &[]).await
    } else {
        store.claim_expiring_subscriptions(owner, limit, LEASE, LEASE).await
    };
    jobs.unwrap().into_iter().map(|job| job.subscription.id).collect()
}
