//! That the outbox is read by its indexes however much waits in it: looked at in what the database counts, not in plans,
//! so that it holds for the statements as they are run.

use std::time::Duration;

use domain::{
    WebhookId,
    account::READER,
    delivery::{BreakerRules, ClaimLimits, DeliveryFilter, DeliveryStatus, OutboxLimits, Overview, Verdict},
    ports::{DeliveryStore, TestOutcome, Viewer},
};
use jiff::Timestamp;
use testkit::{FreshPostgres, fresh_postgres};

use super::{
    LEASE,
    given_outbox::{RETRY, claim, finished, lease_of, new_webhook, queue},
    plans::{self, only_by_index, reset_scans},
};

/// Often enough for the plans that are kept.
const ROUNDS: usize = 12;

/// What waits for the one webhook that gets nothing.
const BACKLOG: i64 = 100_000;

#[tokio::test(flavor = "multi_thread")]
async fn d4_deliveries_are_found_by_indexes() {
    let database = fresh_postgres().await;
    let [_, other, broken] = fill(&database).await;
    let backends = reset_scans(&database).await;
    let store = database.another_store().await;
    for _ in 0..ROUNDS {
        let jobs = claim(&store, "here", 9).await;
        assert_eq!(jobs.len(), 9);
        let leases: Vec<_> = jobs.iter().map(lease_of).collect();
        assert_eq!(store.renew_deliveries(&leases, LEASE).await, Ok(vec![]));
        assert_eq!(store.next_delivery_in(&[]).await, Ok(Some(Duration::ZERO)));
        assert!(store.next_delivery_in(&[WebhookId(1), other]).await.unwrap().is_some());
        store.release_deliveries(&leases[..3]).await.unwrap();
        let marks = jobs[3..6].iter().map(|job| finished(job, Verdict::Delivered)).collect();
        assert!(store.finish_deliveries(marks, &BreakerRules::default()).await.unwrap().skipped.is_empty());
        let marks = jobs[6..].iter().map(|job| finished(job, RETRY)).collect();
        assert!(store.finish_deliveries(marks, &BreakerRules::default()).await.unwrap().skipped.is_empty());
        assert!(store.event_data(jobs[0].event).await.unwrap().is_some());
        queue(&store, other, 1).await;
    }
    let sql = format!("UPDATE webhooks SET failures = 10, probe_at = 0, probe_new_at = 0 WHERE id = {broken}");
    database.client().await.batch_execute(&sql).await.unwrap();
    let only = ClaimLimits { limit: 9, of: vec![(broken, 9)], of_others: 0, ..ClaimLimits::default() };
    let probes = store.claim_deliveries("here", LEASE, &only).await.unwrap().jobs;
    assert_eq!(probes.iter().map(|job| job.is_probe).collect::<Vec<_>>(), [true]);
    drop(store);
    only_by_index(&database, backends, &["deliveries", "events"]).await;
}

/// A claim is planned once by a connection, perhaps while nothing waits yet.
#[tokio::test(flavor = "multi_thread")]
async fn d4_a_plan_made_for_an_empty_outbox_reads_no_backlog() {
    let database = fresh_postgres().await;
    let webhook = database.store.create_webhook(READER, new_webhook()).await.unwrap().id;
    let backends = reset_scans(&database).await;
    let store = database.another_store().await;
    for _ in 0..ROUNDS {
        assert!(claim(&store, "here", 9).await.is_empty());
    }
    // Nobody analyzes it, so no plan is made anew.
    let sql = format!(
        "
ALTER TABLE deliveries SET (autovacuum_enabled = false);
INSERT INTO events (type, created_at, is_backlog, size, data)
SELECT 'webhook.test', n, false, 2, '{{}}' FROM generate_series(1, 100) AS n;
INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at)
SELECT n, {webhook}, n, n FROM generate_series(1, {BACKLOG}) AS n;"
    );
    database.client().await.batch_execute(&sql).await.unwrap();
    assert_eq!(claim(&store, "here", 9).await.len(), 9);
    drop(store);
    let admin = database.client().await;
    while plans::backends(&admin).await > backends {}
    let sql = "
SELECT (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'deliveries')
     + (SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE relname = 'deliveries')";
    let read: i64 = admin.query_one(sql, &[]).await.unwrap().get(0);
    assert!((9..1000).contains(&read), "{read} rows of {BACKLOG} were read");
}

#[tokio::test(flavor = "multi_thread")]
async fn d10_pages_numbers_and_what_users_do_go_by_indexes() {
    let database = fresh_postgres().await;
    let [_, other, _] = fill(&database).await;
    let backends = reset_scans(&database).await;
    let store = database.another_store().await;
    for _ in 0..ROUNDS {
        for status in [None].into_iter().chain(DeliveryStatus::ALL.map(Some)) {
            for webhook_id in [None, Some(WebhookId(1)), Some(other)] {
                let filter = DeliveryFilter { status, webhook_id };
                let page = store.deliveries(READER, filter, 20, None).await.unwrap();
                let next = store.deliveries(READER, filter, 20, page.next_cursor.as_deref()).await.unwrap();
                assert!(page.deliveries.iter().chain(&next.deliveries).is_sorted_by(|a, b| a.id > b.id), "{filter:?}");
            }
        }
        let overview = store.outbox_overview(Viewer::Server).await.unwrap();
        assert!(overview.pending > 100_000 && overview.ready < overview.pending, "{overview:?}");
        let TestOutcome::Queued(queued) = store.test_webhook(READER, other).await.unwrap() else { panic!() };
        assert!(store.delivery(READER, &queued.id).await.unwrap().is_some());
        store.cancel_delivery(READER, &queued.id, "no").await.unwrap();
        let failed = DeliveryFilter { status: Some(DeliveryStatus::Failed), webhook_id: Some(other) };
        let failed = store.deliveries(READER, failed, 1, None).await.unwrap().deliveries.remove(0);
        store.requeue_delivery(READER, &failed.id).await.unwrap();
        store.replay(READER, other, Timestamp::from_millisecond(BACKLOG + 3_990).unwrap(), None).await.unwrap();
    }
    assert!(store.requeue_failed(READER, other).await.unwrap() > Some(900));
    drop(store);
    only_by_index(&database, backends, &["deliveries", "events", "attempts"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d11_what_is_pruned_is_found_by_indexes() {
    let database = fresh_postgres().await;
    let [_, other, _] = fill(&database).await;
    let backends = reset_scans(&database).await;
    let store = database.another_store().await;
    // All but what is pending has been done with for decades, and half of the events are of nobody then.
    let hour = Duration::from_hours(1);
    let limits = OutboxLimits { delivered_older_than: hour, failed_older_than: hour, chunk: 100 };
    for _ in 0..ROUNDS {
        assert!(store.prune_deliveries(limits).await.unwrap() >= 100);
    }
    assert!(store.delete_webhook(READER, other).await.unwrap());
    assert!(store.prune_deliveries(limits).await.unwrap() >= 100);
    drop(store);
    only_by_index(&database, backends, &["deliveries", "events", "attempts"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_claim_reads_no_backlog() {
    const CLAIMED: i64 = 10;
    let database = fresh_postgres().await;
    fill(&database).await;
    let backends = reset_scans(&database).await;
    let store = database.another_store().await;
    for _ in 0..ROUNDS {
        let jobs = claim(&store, "here", 10).await;
        assert_eq!(jobs.len(), 10);
        store.next_delivery_in(&[]).await.unwrap();
        let marks = jobs.iter().map(|job| finished(job, Verdict::Delivered)).collect();
        store.finish_deliveries(marks, &BreakerRules::default()).await.unwrap();
    }
    drop(store);
    only_by_index(&database, backends, &["deliveries"]).await;
    let sql = "SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'deliveries'";
    let read: i64 = database.client().await.query_one(sql, &[]).await.unwrap().get(0);
    let rounds = i64::try_from(ROUNDS).unwrap();
    // Each is met a few times on its way, and of the other webhooks a few besides.
    assert!(read < rounds * CLAIMED * 20, "{read}");
}

#[tokio::test]
async fn d10_the_numbers_are_right_with_much_in_the_outbox() {
    let database = fresh_postgres().await;
    fill(&database).await;
    let overview = database.store.outbox_overview(Viewer::Server).await.unwrap();
    let pending = u64::try_from(BACKLOG).unwrap() + 2_000;
    // Some are due later, and of those to the broken webhook one probe can be claimed.
    let ready = pending - 500 - 999;
    assert_eq!(
        Overview { oldest_pending_age: None, ..overview },
        Overview { pending, ready, in_flight: 0, failed: 1_000, oldest_pending_age: None }
    );
    assert!(overview.oldest_pending_age > Some(0));
}

/// Three webhooks: one with a backlog, one with deliveries of every kind, one that is broken; without the way through the
/// store. Every second event is of nobody that is told any more once the old is pruned.
async fn fill(database: &FreshPostgres) -> [WebhookId; 3] {
    let mut webhooks = Vec::new();
    for _ in 0..3 {
        webhooks.push(database.store.create_webhook(READER, new_webhook()).await.unwrap().id);
    }
    let [backlog, other, broken] = webhooks.try_into().unwrap();
    let sql = format!(
        "
INSERT INTO events (type, created_at, is_backlog, size, data)
SELECT 'webhook.test', n, false, 2, '{{}}' FROM generate_series(1, {BACKLOG} + 4000) AS n;
INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at)
SELECT n, {backlog}, n, n FROM generate_series(1, {BACKLOG}) AS n;
INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at, status, ended_at, logged, is_tried)
SELECT n, {other}, n, n,
       (ARRAY['pending', 'delivered', 'failed', 'cancelled'])[n % 4 + 1], CASE WHEN n % 4 > 0 THEN n END, 1, true
FROM generate_series({BACKLOG} + 1, {BACKLOG} + 4000) AS n;
UPDATE deliveries SET next_attempt_at = 1000000000000000 WHERE id IN (
    SELECT id FROM deliveries WHERE webhook_id = {other} AND status = 'pending' ORDER BY id DESC LIMIT 500
);
INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at)
SELECT n, {broken}, n, n FROM generate_series(1, 1000) AS n;
INSERT INTO attempts (delivery_id, place, number, at, duration_ms) SELECT id, 1, 1, 0, 0 FROM deliveries WHERE logged = 1;
UPDATE webhooks SET failures = 10, failing_since = pirssonite_now_ms(), probe_at = 0, probe_new_at = 0 WHERE id = {broken};
ANALYZE;
"
    );
    database.client().await.batch_execute(&sql).await.unwrap();
    [backlog, other, broken]
}
