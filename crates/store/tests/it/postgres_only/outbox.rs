//! The outbox on many nodes: claims, probes, beats and marks at the same time, and what cannot be read.

use std::time::Duration;

use domain::{
    FeedId,
    account::READER,
    delivery::{DeliveryFilter, FinishReport, Verdict, WebhookPatch},
    ports::{DeliveryStore, PollStore, Store, StoreError, Viewer},
};
use jiff::Timestamp;
use store::PostgresStore;
use testkit::fresh_postgres;

use super::{
    LEASE, fetched,
    given_outbox::{RETRY, claim, failures, finished, lease_of, limits, mark_at_last, webhook},
    given_push::claim_poll,
    import,
    locks::while_waiting,
    race::each_is_claimed_once,
};

#[tokio::test(flavor = "multi_thread")]
async fn d4_two_nodes_never_claim_the_same_delivery() {
    const DELIVERIES: usize = 200;
    let database = fresh_postgres().await;
    for _ in 0..2 {
        webhook(&database.store, DELIVERIES / 2).await;
    }
    let claim = |store: PostgresStore, owner: String, limit| async move {
        claim(&store, &owner, limit).await.into_iter().map(|job| job.id).collect()
    };
    each_is_claimed_once(&database, DELIVERIES, claim).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_claim_takes_the_next_where_others_are_locked() {
    let database = fresh_postgres().await;
    webhook(&database.store, 5).await;
    let other = database.client().await;
    let lock = "BEGIN; SELECT FROM deliveries ORDER BY id LIMIT 2 FOR UPDATE";
    other.batch_execute(lock).await.unwrap();
    let ids: Vec<i64> = claim(&database.store, "here", 2).await.iter().map(|job| job.id.0).collect();
    assert_eq!(ids, [3, 4], "it waits for nobody, and is no smaller for that");
    other.batch_execute("COMMIT").await.unwrap();
    // Another node finds them at once, this one with its next whole scan.
    let ids: Vec<i64> = claim(&database.another_store().await, "there", 9).await.iter().map(|job| job.id.0).collect();
    assert_eq!(ids, [1, 2, 5], "what was not claimed is not held");
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_all_that_waits_may_take_long_to_follow_a_clock_set_back() {
    let database = fresh_postgres().await;
    webhook(&database.store, 1).await;
    let watched = "
CREATE FUNCTION watched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('statement_timeout') <> '10min' THEN RAISE EXCEPTION 'too hasty'; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER watched AFTER UPDATE ON deliveries FOR EACH STATEMENT EXECUTE FUNCTION watched()";
    database.client().await.batch_execute(watched).await.unwrap();
    let (now, back) = (Timestamp::from_second(1_800_000_000).unwrap(), Duration::from_hours(1));
    database.set_now(now).await;
    assert_eq!(database.store.watch_clock().await, Ok(None));
    database.set_now(now - back).await;
    assert_eq!(database.store.watch_clock().await, Ok(Some(back)));
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_of_two_nodes_one_sends_the_probe() {
    let database = fresh_postgres().await;
    let id = webhook(&database.store, 5).await;
    let other = database.client().await;
    // A clock that can be stopped: whoever asks for the time waits until it goes on. What a statement sees was decided
    // before that.
    let clock = "
CREATE OR REPLACE FUNCTION pirssonite_now_ms() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1);
    RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
END $$;
UPDATE webhooks SET failures = 10, failing_since = 0, probe_at = 0, probe_new_at = 0";
    other.batch_execute(clock).await.unwrap();
    other.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(1)").await.unwrap();
    let store = database.store.clone();
    let slow = async move { claim(&store, "slow", 9).await };
    // While it waits another node sends its probe.
    let fast = "
UPDATE deliveries
SET lease_owner = 'fast', lease_until = pirssonite_now_ms() + 60000, lease_ms = 60000, lease_fence = 1
WHERE id = 1";
    assert_eq!(while_waiting(&database, &other, fast, slow).await.len(), 0);
    other.batch_execute("UPDATE deliveries SET lease_owner = NULL, lease_until = 0").await.unwrap();
    let probes = claim(&database.another_store().await, "slow", 9).await;
    assert_eq!(probes.iter().map(|job| (job.webhook_id, job.is_probe)).collect::<Vec<_>>(), [(id, true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d5_a_beat_waits_for_nobody_and_what_is_locked_is_not_lost() {
    let database = fresh_postgres().await;
    webhook(&database.store, 2).await;
    let leases: Vec<_> = claim(&database.store, "here", 2).await.iter().map(lease_of).collect();
    let other = database.client().await;
    let until = "SELECT lease_until FROM deliveries ORDER BY id";
    let before: Vec<i64> = other.query(until, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    // As our own mark of the first does, while it is on its way.
    other.batch_execute("BEGIN; SELECT FROM deliveries WHERE id = 1 FOR NO KEY UPDATE").await.unwrap();
    assert_eq!(database.store.renew_deliveries(&leases, LEASE * 2).await, Ok(vec![]));
    other.batch_execute("COMMIT").await.unwrap();
    let after: Vec<i64> = other.query(until, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(after[0], before[0]);
    assert!(after[1] > before[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_a_mark_that_waits_for_whoever_takes_the_row_is_skipped() {
    let database = fresh_postgres().await;
    webhook(&database.store, 2).await;
    let other = database.client().await;
    let taken = "UPDATE deliveries SET lease_owner = 'other', lease_fence = lease_fence + 1 WHERE id = 1";
    for verdict in [Verdict::Delivered, RETRY] {
        let jobs = claim(&database.another_store().await, "here", 2).await;
        other.batch_execute("BEGIN; SELECT FROM deliveries FOR UPDATE").await.unwrap();
        let (store, marks) = (database.store.clone(), jobs.iter().map(|job| finished(job, verdict)).collect());
        let marks = while_waiting(&database, &other, taken, async move { mark_at_last(&store, marks).await });
        assert_eq!(
            marks.await,
            Ok(FinishReport { skipped: vec![jobs[0].id], ..FinishReport::default() }),
            "{verdict:?}"
        );
        let attempts = "SELECT count(*) FROM attempts WHERE delivery_id = 1";
        assert_eq!(other.query_one(attempts, &[]).await.unwrap().get::<_, i64>(0), 0);
        // Both are there again, and well.
        let again = "
UPDATE deliveries SET status = 'pending', lease_owner = NULL, lease_until = 0, next_attempt_at = 0;
UPDATE webhooks SET failures = 0";
        other.batch_execute(again).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_failures_of_two_nodes_are_all_counted() {
    let database = fresh_postgres().await;
    let id = webhook(&database.store, 2).await;
    let jobs = claim(&database.store, "here", 2).await;
    let other = database.client().await;
    other.batch_execute("BEGIN; SELECT FROM webhooks FOR UPDATE").await.unwrap();
    let store = database.store.clone();
    let marks = jobs.iter().map(|job| finished(job, RETRY)).collect();
    let failed = "UPDATE webhooks SET failures = 4, failing_since = pirssonite_now_ms()";
    let marks = while_waiting(&database, &other, failed, async move { mark_at_last(&store, marks).await });
    assert_eq!(marks.await, Ok(FinishReport::default()));
    assert_eq!(failures(&database.store, id).await, 6);
    // What arrives while another's failure is on its way came before it, or it is the end of all of them.
    let jobs = claim(&database.store, "here", 1).await;
    other.batch_execute("BEGIN; SELECT FROM webhooks FOR UPDATE").await.unwrap();
    let store = database.store.clone();
    let marks = vec![finished(&jobs[0], Verdict::Delivered)];
    let failed = "UPDATE webhooks SET failures = failures + 1";
    let marks = while_waiting(&database, &other, failed, async move { mark_at_last(&store, marks).await });
    assert_eq!(marks.await, Ok(FinishReport::default()));
    assert_eq!(failures(&database.store, id).await, 0);
}

#[tokio::test]
async fn d2_a_webhook_that_cannot_be_read_stops_nothing_but_itself() {
    let database = fresh_postgres().await;
    let bad = webhook(&database.store, 1).await;
    let good = webhook(&database.store, 1).await;
    import(&database.store, 1).await;
    let client = database.client().await;
    for (column, wrong) in
        [("secret", "later"), ("old_secrets", "later"), ("feed_ids", "{"), ("headers", "later"), ("event_types", "7")]
    {
        let set = format!("UPDATE webhooks SET {column} = $1 WHERE id = $2");
        let get = format!("SELECT {column} FROM webhooks WHERE id = $1");
        let right: Option<String> = client.query_one(&get, &[&bad.0]).await.unwrap().get(0);
        client.execute(&set, &[&wrong, &bad.0]).await.unwrap();
        let errors = [
            database.store.webhooks(READER).await.map(drop),
            database.store.webhook(READER, bad).await.map(drop),
            database.store.test_webhook(READER, bad).await.map(drop),
        ];
        for error in errors {
            let is_reported = matches!(&error, Err(StoreError::Failed(reason)) if !reason.contains(wrong));
            assert!(is_reported, "{column}: {error:?}");
        }
        // Entries are stored, and the others told.
        let job = claim_poll(&database.store, FeedId(1)).await;
        let mut stored = database.store.finish_polls(vec![fetched(&job, 0)]).await.unwrap();
        assert!(stored.remove(0).unwrap().applied);
        let ready = database.store.outbox_overview(Viewer::Server).await.unwrap().ready;
        let store = database.another_store().await;
        let claimed = store.claim_deliveries("here", LEASE, &limits(100)).await.unwrap();
        assert_eq!(ready, u64::try_from(claimed.jobs.len()).unwrap(), "D10: {column}");
        assert!(claimed.jobs.iter().all(|job| job.webhook_id == good), "{column}");
        assert_eq!(claimed.webhooks.iter().map(|webhook| webhook.id).collect::<Vec<_>>(), [good], "{column}");
        client.execute(&set, &[&right, &bad.0]).await.unwrap();
        client.batch_execute("UPDATE deliveries SET lease_owner = NULL, lease_until = 0").await.unwrap();
    }
    let filter = DeliveryFilter { webhook_id: Some(good), ..DeliveryFilter::default() };
    assert_eq!(database.store.deliveries(READER, filter, 100, None).await.unwrap().deliveries.len(), 6);
}

#[tokio::test]
async fn d9_enabling_and_what_waits_are_one_transaction() {
    let database = fresh_postgres().await;
    let (store, client) = (&database.store, database.client().await);
    let id = webhook(store, 1).await;
    let enabled = |enabled| WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
    store.update_webhook(READER, id, enabled(false)).await.unwrap();
    let refuse = "
        UPDATE deliveries SET next_attempt_at = 9000000000000000;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON deliveries FOR EACH ROW EXECUTE FUNCTION refuse()";
    client.batch_execute(refuse).await.unwrap();
    assert!(store.update_webhook(READER, id, enabled(true)).await.is_err());
    assert!(!store.webhook(READER, id).await.unwrap().unwrap().enabled, "both or neither");
    client.batch_execute("DROP TRIGGER refuse ON deliveries").await.unwrap();
    assert!(store.update_webhook(READER, id, enabled(true)).await.unwrap().unwrap().enabled);
}
