//! Marks whose rows somebody else has locked, for longer than anybody should wait.

use domain::{
    DeliveryId,
    delivery::{ATTEMPTS_KEPT_MAX, AttemptOutcome, BreakerRules, DeliveryJob, FinishReport, Verdict},
    ports::{DeliveryStore, Store},
};
use store::PostgresStore;
use testkit::fresh_postgres;
use tokio_postgres::Client;

use super::{
    given_outbox::{RETRY, claim, failures, finished, webhook},
    with_connections,
};

#[tokio::test(flavor = "multi_thread")]
async fn d9_a_locked_webhook_holds_up_its_own_marks_alone() {
    for (verdict, failures_then) in [(Verdict::Delivered, 0), (RETRY, 5)] {
        let database = fresh_postgres().await;
        let store = &database.store;
        let (locked, free) = (webhook(store, 2).await, webhook(store, 2).await);
        let jobs = claim(store, "here", 4).await;
        let other = database.client().await;
        other.batch_execute("UPDATE webhooks SET failures = 3, failing_since = pirssonite_now_ms()").await.unwrap();
        // As a node does that is frozen while it stores marks.
        let lock = format!("BEGIN; SELECT FROM webhooks WHERE id = {locked} FOR NO KEY UPDATE");
        other.batch_execute(&lock).await.unwrap();
        let stored = store.finish_deliveries(all(&jobs, verdict), &BreakerRules::default()).await.unwrap();
        let (held_up, others): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.webhook_id == locked);
        assert_eq!(stored, FinishReport { locked: ids(&held_up), ..FinishReport::default() }, "{verdict:?}");
        assert_eq!((failures(store, locked).await, failures(store, free).await), (3, failures_then));
        assert_eq!(attempted(&other).await, ids(&others), "{verdict:?}");
        other.batch_execute("COMMIT").await.unwrap();
        assert_eq!(
            store.finish_deliveries(all(&held_up, verdict), &BreakerRules::default()).await,
            Ok(FinishReport::default())
        );
        assert_eq!(failures(store, locked).await, failures_then);
        assert_eq!(attempted(&other).await.len(), 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_a_locked_delivery_delays_only_its_own_mark() {
    for verdict in [Verdict::Delivered, RETRY] {
        let database = fresh_postgres().await;
        let store = &database.store;
        webhook(store, 4).await;
        let jobs = claim(store, "here", 4).await;
        let [held_up, _, _, lost] = ids(&jobs)[..] else { panic!("not all were claimed") };
        let other = database.client().await;
        let take = format!("UPDATE deliveries SET lease_fence = lease_fence + 1 WHERE id = {}", lost.0);
        other.batch_execute(&take).await.unwrap();
        let lock = format!("BEGIN; SELECT FROM deliveries WHERE id = {} FOR NO KEY UPDATE", held_up.0);
        other.batch_execute(&lock).await.unwrap();
        let stored = store.finish_deliveries(all(&jobs, verdict), &BreakerRules::default()).await.unwrap();
        let expected = FinishReport { skipped: vec![lost], locked: vec![held_up], disabled: vec![] };
        assert_eq!(stored, expected, "{verdict:?}");
        // Nothing else is to be stored: nobody waits, and nothing is skipped that may be stored later.
        let twice = all(&[jobs[0].clone(), jobs[0].clone()], verdict);
        let stored = store.finish_deliveries(twice.clone(), &BreakerRules::default()).await.unwrap();
        assert_eq!(stored, FinishReport { locked: vec![held_up, held_up], ..FinishReport::default() }, "{verdict:?}");
        assert_eq!(attempted(&other).await, ids(&jobs[1..3]), "{verdict:?}");
        other.batch_execute("COMMIT").await.unwrap();
        let stored = store.finish_deliveries(twice, &BreakerRules::default()).await.unwrap();
        assert_eq!(stored, FinishReport { skipped: vec![held_up], ..FinishReport::default() }, "{verdict:?}");
        assert_eq!(attempted(&other).await, ids(&jobs[..3]), "{verdict:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_a_removed_webhooks_mark_is_stored_beside_a_locked_one() {
    let database = fresh_postgres().await;
    let store = &database.store;
    let (gone, locked) = (webhook(store, 1).await, webhook(store, 1).await);
    let jobs = claim(store, "here", 2).await;
    let other = database.client().await;
    other.execute("DELETE FROM webhooks WHERE id = $1", &[&gone.0]).await.unwrap();
    other.batch_execute("BEGIN; SELECT FROM webhooks FOR NO KEY UPDATE").await.unwrap();
    let stored = store.finish_deliveries(all(&jobs, RETRY), &BreakerRules::default()).await.unwrap();
    let held_up: Vec<_> = jobs.iter().filter(|job| job.webhook_id == locked).map(|job| job.id).collect();
    assert_eq!(stored, FinishReport { locked: held_up, ..FinishReport::default() }, "what is not there is not locked");
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_marks_leave_the_lock_timeout_as_it_was() {
    let database = fresh_postgres().await;
    webhook(&database.store, 4).await;
    let store = PostgresStore::connect(database.url(), with_connections(1)).await.unwrap();
    let jobs = claim(&store, "here", 4).await;
    let other = database.client().await;
    // Another time than that of a new connection is an error.
    let watched = "
CREATE FUNCTION watched_now_ms() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('lock_timeout') <> '15s' THEN RAISE EXCEPTION 'too hasty'; END IF;
    RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
END $$;
ALTER FUNCTION pirssonite_now_ms() RENAME TO usual_now_ms;
ALTER FUNCTION watched_now_ms() RENAME TO pirssonite_now_ms";
    let usual = "
ALTER FUNCTION pirssonite_now_ms() RENAME TO watched_now_ms;
ALTER FUNCTION usual_now_ms() RENAME TO pirssonite_now_ms;
DROP FUNCTION watched_now_ms()";
    for (job, verdict, lock) in [
        (&jobs[0], Verdict::Delivered, ""),
        (&jobs[1], RETRY, ""),
        (&jobs[2], Verdict::Delivered, "SELECT FROM deliveries FOR NO KEY UPDATE"),
        (&jobs[3], RETRY, "SELECT FROM deliveries FOR NO KEY UPDATE"),
    ] {
        other.batch_execute(&format!("BEGIN; {lock}")).await.unwrap();
        let stored = store.finish_deliveries(vec![finished(job, verdict)], &BreakerRules::default()).await.unwrap();
        assert_eq!(stored.locked.is_empty(), lock.is_empty());
        other.batch_execute(&format!("COMMIT; {watched}")).await.unwrap();
        assert_eq!(store.ping().await, Ok(()), "{verdict:?} {lock}");
        other.batch_execute(usual).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d12_marks_count_although_old_attempts_cannot_be_removed() {
    let database = fresh_postgres().await;
    webhook(&database.store, 1).await;
    let jobs = claim(&database.store, "here", 1).await;
    let other = database.client().await;
    let stuck = format!(
        "
UPDATE deliveries SET logged = {ATTEMPTS_KEPT_MAX};
INSERT INTO attempts (delivery_id, place, number, at, duration_ms) VALUES ({}, 1, 1, 0, 0);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
CREATE TRIGGER refuse BEFORE DELETE ON attempts FOR EACH ROW EXECUTE FUNCTION refuse()",
        jobs[0].id.0
    );
    other.batch_execute(&stuck).await.unwrap();
    let stored = database.store.finish_deliveries(all(&jobs, Verdict::Delivered), &BreakerRules::default()).await;
    assert_eq!(stored, Ok(FinishReport::default()), "it is stored, and not told as if it were not");
    let delivered = "SELECT count(*) FROM deliveries WHERE status = 'delivered'";
    assert_eq!(other.query_one(delivered, &[]).await.unwrap().get::<_, i64>(0), 1);
}

fn all(jobs: &[DeliveryJob], verdict: Verdict) -> Vec<AttemptOutcome> {
    jobs.iter().map(|job| finished(job, verdict)).collect()
}

fn ids(jobs: &[DeliveryJob]) -> Vec<DeliveryId> {
    jobs.iter().map(|job| job.id).collect()
}

/// The deliveries with a logged attempt.
async fn attempted(client: &Client) -> Vec<DeliveryId> {
    let rows = client.query("SELECT delivery_id FROM attempts ORDER BY delivery_id", &[]).await.unwrap();
    rows.iter().map(|row| DeliveryId(row.get(0))).collect()
}
