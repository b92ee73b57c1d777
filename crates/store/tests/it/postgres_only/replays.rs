//! What becomes of a replay, and of what it queues, when its webhook changes meanwhile.

use std::time::Duration;

use domain::{account::READER, delivery::OutboxLimits, ports::DeliveryStore};
use jiff::Timestamp;
use testkit::fresh_postgres;

use super::{given_outbox::webhook, locks::while_waiting};

#[tokio::test(flavor = "multi_thread")]
async fn d1_a_replay_ends_when_its_webhook_is_disabled_or_removed() {
    for (meanwhile, answer) in [
        ("SELECT 1", Some(600)),
        ("UPDATE webhooks SET enabled = false", Some(500)),
        ("UPDATE webhooks SET enabled = false, deleted_at = pirssonite_now_ms()", None),
    ] {
        let database = fresh_postgres().await;
        let id = webhook(&database.store, 0).await;
        let other = database.client().await;
        // The first chunk waits for the one delivery that is there.
        let events = format!(
            "
INSERT INTO events (type, created_at, is_backlog, size, data)
SELECT 'feed.gone', 1, false, 2, '{{}}' FROM generate_series(1, 600);
INSERT INTO deliveries (event_id, webhook_id, status, next_attempt_at, created_at)
SELECT min(id), {id}, 'delivered', 1, 1 FROM events"
        );
        other.batch_execute(&events).await.unwrap();
        other.batch_execute("BEGIN; SELECT FROM deliveries FOR UPDATE").await.unwrap();
        let store = database.store.clone();
        let replay = async move { store.replay(READER, id, Timestamp::UNIX_EPOCH, None).await };
        let replayed = while_waiting(&database, &other, meanwhile, replay).await;
        assert_eq!(replayed, Ok(answer), "{meanwhile}");
        let queued: i64 = other.query_one("SELECT count(*) FROM deliveries", &[]).await.unwrap().get(0);
        assert_eq!(queued, if answer == Some(600) { 600 } else { 500 }, "the chunk that was under way");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_a_removed_webhook_stays_while_somebody_may_queue_for_it() {
    let database = fresh_postgres().await;
    webhook(&database.store, 0).await;
    let other = database.client().await;
    other.batch_execute("UPDATE webhooks SET enabled = false, deleted_at = 0").await.unwrap();
    other.batch_execute("BEGIN; SELECT FROM webhooks FOR KEY SHARE").await.unwrap();
    let limits = OutboxLimits { delivered_older_than: Duration::ZERO, failed_older_than: Duration::ZERO, chunk: 9 };
    for rest in [1, 0] {
        // Nobody waits for whoever holds it.
        assert_eq!(database.store.prune_deliveries(limits).await, Ok(0));
        let left: i64 = other.query_one("SELECT count(*) FROM webhooks", &[]).await.unwrap().get(0);
        assert_eq!(left, rest);
        other.batch_execute("COMMIT").await.unwrap();
    }
}
