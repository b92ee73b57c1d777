//! Beats while a connection hangs: they are given up in time, and the next goes over another.

use std::time::Duration;

use domain::ports::{DeliveryStore, PollStore, StoreError};
use testkit::{FreshPostgres, fresh_postgres};
use tokio_postgres::Client;

use super::{
    LEASE,
    given_outbox::{claim, lease_of, webhook},
    import,
};

/// So short that it is given up long before the database would.
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread")]
async fn d5_a_hung_connection_does_not_stop_beats() {
    let database = fresh_postgres().await;
    webhook(&database.store, 2).await;
    let leases: Vec<_> = claim(&database.store, "here", 2).await.iter().map(lease_of).collect();
    assert_eq!(database.store.renew_deliveries(&leases, LEASE).await, Ok(vec![]));
    let _other = hang(&database, "deliveries").await;
    let given_up = database.store.renew_deliveries(&leases, SHORT).await;
    assert!(matches!(given_up, Err(StoreError::Unavailable(_))), "{given_up:?}");
    for _ in 0..3 {
        assert_eq!(database.store.renew_deliveries(&leases, LEASE).await, Ok(vec![]));
    }
    assert_eq!(hanging(&database).await, 1, "what was given up hangs still");
}

#[tokio::test(flavor = "multi_thread")]
async fn d5_a_connection_that_hangs_does_not_stop_the_beats_of_polls() {
    let database = fresh_postgres().await;
    import(&database.store, 2).await;
    let jobs = database.store.claim_due_polls("here", 2, LEASE).await.unwrap();
    let leases: Vec<_> = jobs.into_iter().map(|job| (job.feed_id, job.lease)).collect();
    assert_eq!(database.store.renew_polls(&leases, LEASE).await, Ok(vec![]));
    let _other = hang(&database, "feeds").await;
    let given_up = database.store.renew_polls(&leases, SHORT).await;
    assert!(matches!(given_up, Err(StoreError::Unavailable(_))), "{given_up:?}");
    for _ in 0..3 {
        assert_eq!(database.store.renew_polls(&leases, LEASE).await, Ok(vec![]));
    }
    assert_eq!(hanging(&database).await, 1, "what was given up hangs still");
}

#[tokio::test(flavor = "multi_thread")]
async fn d5_beats_of_deliveries_do_not_wait_for_those_of_polls() {
    let database = fresh_postgres().await;
    import(&database.store, 1).await;
    let jobs = database.store.claim_due_polls("here", 1, LEASE).await.unwrap();
    let polls: Vec<_> = jobs.into_iter().map(|job| (job.feed_id, job.lease)).collect();
    webhook(&database.store, 1).await;
    let deliveries: Vec<_> = claim(&database.store, "here", 1).await.iter().map(lease_of).collect();
    database.store.renew_polls(&polls, LEASE).await.unwrap();
    let other = hang(&database, "feeds").await;
    let store = database.store.clone();
    let hung = tokio::spawn(async move { store.renew_polls(&polls, LEASE * 10).await });
    while hanging(&database).await == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(database.store.renew_deliveries(&deliveries, LEASE).await, Ok(vec![]));
    assert_eq!(hanging(&database).await, 1);
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(hung.await.unwrap(), Ok(vec![]));
}

/// From now on the connection that renewed leases in this table gets no answer, and no other is hindered, until the
/// transaction of the client that is returned ends.
async fn hang(database: &FreshPostgres, table: &str) -> Client {
    let other = database.client().await;
    let beats = "
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%UPDATE ' || $1::text || '%SET lease_until = %'
  AND query NOT LIKE '%lease_owner = NULL%' AND query NOT LIKE '%lease_fence + 1%'";
    let beats = other.query(beats, &[&table]).await.unwrap();
    let pids: Vec<i32> = beats.iter().map(|row| row.get(0)).collect();
    let [pid] = pids.as_slice() else { panic!("one connection is for beats: {pids:?}") };
    let clock = format!(
        "
CREATE OR REPLACE FUNCTION pirssonite_now_ms() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF pg_backend_pid() = {pid} THEN
        PERFORM pg_advisory_xact_lock_shared(1);
    END IF;
    RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
END $$"
    );
    other.batch_execute(&clock).await.unwrap();
    other.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(1)").await.unwrap();
    other
}

async fn hanging(database: &FreshPostgres) -> i64 {
    let sql = "
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    database.client().await.query_one(sql, &[]).await.unwrap().get(0)
}
