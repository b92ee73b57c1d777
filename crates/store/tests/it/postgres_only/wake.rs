//! Waking those who deliver on other nodes.

use std::time::Duration;

use domain::ports::DeliveryStore;
use testkit::fresh_postgres;
use tokio_postgres::Client;

use super::{
    given_outbox::{queue, webhook},
    plans::backends,
};

const LISTENERS: &str = "
SELECT pid
FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'pirssonite' AND query ~ '^(LISTEN|NOTIFY) '
ORDER BY pid";

#[tokio::test(flavor = "multi_thread")]
async fn d4_another_node_is_woken_when_something_is_queued() {
    let database = fresh_postgres().await;
    let (one, two) = (database.another_store().await, database.another_store().await);
    let id = webhook(&one, 0).await;
    let (mut here, mut there) = (0, 0);
    for _ in 0..3 {
        queue(&one, id, 1).await;
        (here, there) = (one.deliveries_queued(here).await, two.deliveries_queued(there).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_what_is_told_is_not_heard_by_whoever_told_it() {
    const ROUNDS: u64 = 10;
    let database = fresh_postgres().await;
    let (one, two) = (database.another_store().await, database.another_store().await);
    let id = webhook(&one, 0).await;
    let (mut here, mut there) = (0, 0);
    // Each answers the other, so that nothing is told twice in one word.
    for round in 1..=ROUNDS {
        queue(&one, id, 1).await;
        while there < 2 * round - 1 {
            there = two.deliveries_queued(there).await;
        }
        queue(&two, id, 1).await;
        while here < 2 * round {
            here = one.deliveries_queued(here).await;
        }
    }
    assert_eq!(one.deliveries_queued(0).await, 2 * ROUNDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_listener_that_was_lost_is_there_again() {
    let database = fresh_postgres().await;
    let (one, two) = (database.another_store().await, database.another_store().await);
    let id = webhook(&one, 0).await;
    let admin = database.client().await;
    let lost = listeners(&admin).await;
    assert_eq!(lost.len(), 3, "of both, and of the store that is the database's own");
    admin.execute("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", &[&lost]).await.unwrap();
    // What happens meanwhile is not heard: whoever listens again looks.
    let seen = two.deliveries_queued(0).await;
    one.deliveries_queued(0).await;
    queue(&one, id, 1).await;
    two.deliveries_queued(seen).await;
    database.store.deliveries_queued(0).await;
    let back = listeners(&admin).await;
    assert_eq!(back.len(), 3);
    assert!(back.iter().all(|pid| !lost.contains(pid)), "{back:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_nothing_is_left_of_a_store_that_is_dropped() {
    let database = fresh_postgres().await;
    let admin = database.client().await;
    let before = backends(&admin).await;
    let store = database.another_store().await;
    let clone = store.clone();
    drop(store);
    webhook(&clone, 1).await;
    assert_eq!(clone.deliveries_queued(0).await, 1);
    assert!(backends(&admin).await > before);
    drop(clone);
    until(&admin, before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_store_that_is_dropped_while_its_listener_is_lost_leaves_nothing() {
    let database = fresh_postgres().await;
    let admin = database.client().await;
    let before = backends(&admin).await;
    let store = database.another_store().await;
    let kill = "
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'pirssonite'";
    admin.batch_execute(kill).await.unwrap();
    drop(store);
    // The database's own comes back.
    database.store.deliveries_queued(0).await;
    until(&admin, before).await;
}

async fn listeners(admin: &Client) -> Vec<i32> {
    admin.query(LISTENERS, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

async fn until(admin: &Client, count: i64) {
    while backends(admin).await > count {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
