//! Claims while an old snapshot is open, so that the database removes no dead index entries: they are not walked by every
//! claim, and nothing is missed by that.

use std::time::Duration;

use domain::{
    FeedId,
    ingest::PollResult,
    ports::{DeliveryStore, PollStore, PushStore},
};
use jiff::{SignedDuration, Timestamp};
use store::PostgresStore;
use testkit::{FreshPostgres, fresh_postgres};
use tokio_postgres::Client;

use super::{
    LEASE,
    given_outbox::{claim, webhook},
    given_push::subscribed,
    import,
    plans::{backends, reset_scans},
    unchanged,
};

/// Longer than whole scans are ever apart.
const WHOLE_SCAN: SignedDuration = SignedDuration::from_mins(2);

/// Claims that are measured, of so many rows each.
const CLAIMS: usize = 50;
const LIMIT: u32 = 10;

#[tokio::test(flavor = "multi_thread")]
async fn f5_claims_of_feeds_walk_no_dead_entries_of_an_old_snapshot() {
    const FEEDS: usize = 1_000;
    const ROUNDS: usize = 5;
    let database = fresh_postgres().await;
    let store = database.another_store().await;
    import(&store, FEEDS).await;
    let _snapshot = old_snapshot(&database).await;
    for _ in 0..ROUNDS {
        let jobs = store.claim_due_polls("here", 1_000, LEASE).await.unwrap();
        assert_eq!(jobs.len(), FEEDS);
        store.finish_polls(jobs.iter().map(unchanged).collect()).await.unwrap();
    }
    drop(store);
    spread(&database, "feeds", "next_check_at").await;
    let read = entries_read(&database, "feeds_due", async |store| {
        for _ in 0..CLAIMS {
            let jobs = store.claim_due_polls("here", LIMIT, LEASE).await.unwrap();
            assert_eq!(jobs.len(), LIMIT as usize);
            assert_eq!(store.next_poll_in().await, Ok(Some(Duration::ZERO)));
            let later = |job| PollResult { next_check_in: Duration::from_hours(1), ..unchanged(job) };
            store.finish_polls(jobs.iter().map(later).collect()).await.unwrap();
        }
        // All but what is held is done with: the last claim has less than it might.
        assert_eq!(store.claim_due_polls("here", 1_000, LEASE).await.unwrap().len(), FEEDS - CLAIMS * LIMIT as usize);
    });
    let (read, dead) = (read.await, ROUNDS * FEEDS);
    // One claim and one look are whole; a bounded one meets each row a few times.
    assert!(read > dead, "the dead entries are there: {read} were read");
    assert!(read < 10 * dead, "{read} entries were read, {dead} are dead");
}

#[tokio::test(flavor = "multi_thread")]
async fn w8_subscription_claims_skip_dead_index_entries() {
    const SUBSCRIPTIONS: usize = 600;
    const ROUNDS: usize = 8;
    let database = fresh_postgres().await;
    let store = database.another_store().await;
    subscribed(&store, SUBSCRIPTIONS).await;
    drop(store);
    let _snapshot = old_snapshot(&database).await;
    let client = database.client().await;
    for _ in 0..ROUNDS {
        client.batch_execute("UPDATE subscriptions SET next_step_at = next_step_at + 1").await.unwrap();
    }
    drop(client);
    spread(&database, "subscriptions", "next_step_at").await;
    let read = entries_read(&database, "subscriptions_due", async |store| {
        for place in 0..CLAIMS {
            // Some pass over hubs.
            let busy = vec!["https://busy.org/".to_owned(); place % 2];
            let jobs = store.claim_due_subscriptions("here", LIMIT, LEASE, &busy).await.unwrap();
            assert_eq!(jobs.len(), LIMIT as usize);
            assert_eq!(store.next_step_in().await, Ok(Some(Duration::ZERO)));
        }
    });
    let (read, dead) = (read.await, ROUNDS * SUBSCRIPTIONS);
    assert!(read > dead, "the dead entries are there: {read} were read");
    assert!(read < 10 * dead, "{read} entries were read, {dead} are dead");
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_delivery_claims_skip_dead_index_entries() {
    const DELIVERIES: usize = 600;
    const ROUNDS: usize = 8;
    let database = fresh_postgres().await;
    let store = database.another_store().await;
    webhook(&store, DELIVERIES).await;
    drop(store);
    let _snapshot = old_snapshot(&database).await;
    let client = database.client().await;
    for _ in 0..ROUNDS {
        client.batch_execute("UPDATE deliveries SET next_attempt_at = next_attempt_at + 1").await.unwrap();
    }
    drop(client);
    spread(&database, "deliveries", "next_attempt_at").await;
    let read = entries_read(&database, "deliveries_due", async |store| {
        for _ in 0..CLAIMS {
            assert_eq!(claim(store, "here", LIMIT).await.len(), LIMIT as usize);
            assert_eq!(store.next_delivery_in(&[]).await, Ok(Some(Duration::ZERO)));
        }
    });
    let (read, dead) = (read.await, ROUNDS * DELIVERIES);
    assert!(read > dead, "the dead entries are there: {read} were read");
    assert!(read < 10 * dead, "{read} entries were read, {dead} are dead");
}

#[tokio::test(flavor = "multi_thread")]
async fn f5_rows_behind_the_bound_are_claimed_by_a_whole_scan() {
    let database = fresh_postgres().await;
    import(&database.store, 20).await;
    let now = spread(&database, "feeds", "next_check_at").await;
    let dead = database.another_store().await.claim_due_polls("dead", 1, LEASE).await.unwrap();
    let claim = async |limit| {
        let jobs = database.store.claim_due_polls("here", limit, LEASE * 100).await.unwrap();
        jobs.iter().map(|job| job.feed_id.0).collect::<Vec<_>>()
    };
    assert_eq!(dead[0].feed_id, FeedId(1));
    assert_eq!(claim(10).await, (2..=11).collect::<Vec<_>>());
    // A transaction that took long has just committed.
    let late = format!("UPDATE feeds SET next_check_at = {} WHERE id = 20", now.as_millisecond() - 86_400_000);
    database.client().await.batch_execute(&late).await.unwrap();
    assert_eq!(claim(4).await, [12, 13, 14, 15], "a bounded scan");
    // The lease of the dead has run out as well.
    database.set_now(now + WHOLE_SCAN).await;
    assert_eq!(claim(3).await, [20, 1, 16]);
    assert_eq!(claim(1).await, [17]);
    // Another whole scan finds nothing behind, and the next goes on where it should.
    database.set_now(now + WHOLE_SCAN * 2).await;
    assert_eq!(claim(10).await, [18, 19]);
}

#[tokio::test(flavor = "multi_thread")]
async fn f5_a_clock_that_is_set_back_hides_nothing() {
    let database = fresh_postgres().await;
    import(&database.store, 20).await;
    let now = spread(&database, "feeds", "next_check_at").await;
    assert_eq!(database.store.claim_due_polls("here", 10, LEASE).await.unwrap().len(), 10);
    let back = now - SignedDuration::from_hours(1);
    database.set_now(back).await;
    let early = format!("UPDATE feeds SET next_check_at = {} WHERE id = 20", back.as_millisecond());
    database.client().await.batch_execute(&early).await.unwrap();
    // Those that were claimed before it was set back among them: their leases count no more.
    let jobs = database.store.claim_due_polls("here", 20, LEASE).await.unwrap();
    assert!(jobs.iter().any(|job| job.feed_id == FeedId(20)), "{jobs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_claims_of_another_node_hide_no_backlog() {
    let database = fresh_postgres().await;
    webhook(&database.store, 30).await;
    spread(&database, "deliveries", "next_attempt_at").await;
    let other = database.client().await;
    let some_were_tried = "UPDATE deliveries SET is_tried = true, logged = 1 WHERE id > 27";
    other.batch_execute(some_were_tried).await.unwrap();
    other.batch_execute("BEGIN; SELECT FROM deliveries WHERE is_tried FOR NO KEY UPDATE").await.unwrap();
    let claim = async || claim(&database.store, "here", 10).await.iter().map(|job| job.id.0).collect::<Vec<_>>();
    assert_eq!(claim().await, (1..=7).collect::<Vec<_>>(), "three places are for those that were tried");
    // The clock stands still, so these scans are not whole.
    assert_eq!(claim().await, (8..=14).collect::<Vec<_>>());
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(claim().await, [15, 28, 16, 29, 17, 30, 18, 19, 20, 21]);
    assert_eq!(claim().await, (22..=27).collect::<Vec<_>>());
}

/// A transaction that keeps what it saw.
async fn old_snapshot(database: &FreshPostgres) -> Client {
    let client = database.client().await;
    // It is counted among the connections that stay.
    client.batch_execute("SET application_name = 'pirssonite'").await.unwrap();
    client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM feeds").await.unwrap();
    client
}

/// All rows are due, a second apart, and the clock stands still.
async fn spread(database: &FreshPostgres, table: &str, column: &str) -> Timestamp {
    let client = database.client().await;
    let now: i64 = client.query_one("SELECT pirssonite_now_ms()", &[]).await.unwrap().get(0);
    let sql = format!("UPDATE {table} SET {column} = {now} + 10000 + id * 1000, lease_until = 0; ANALYZE {table}");
    client.batch_execute(&sql).await.unwrap();
    let now = Timestamp::from_millisecond(now).unwrap() + SignedDuration::from_hours(24);
    database.set_now(now).await;
    now
}

/// How many entries of an index a new store reads by this, dead ones too. What a connection did is told when it ends.
async fn entries_read(database: &FreshPostgres, index: &str, work: impl AsyncFnOnce(&PostgresStore)) -> usize {
    let backends_before = reset_scans(database).await;
    let store = database.another_store().await;
    work(&store).await;
    drop(store);
    let admin = database.client().await;
    while backends(&admin).await > backends_before {}
    let sql = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = $1";
    usize::try_from(admin.query_one(sql, &[&index]).await.unwrap().get::<_, i64>(0)).unwrap()
}
