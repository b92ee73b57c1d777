//! Rows of webhooks that somebody has edited.

use std::time::Duration;

use domain::{
    account::READER,
    delivery::{ClaimLimits, DeliveryFilter, EventType, NewWebhook, WebhookPatch},
    ports::{DeliveryStore, StoreError, Viewer},
};
use rusqlite::types::Value;

use super::{add, open, webhook};

#[tokio::test]
async fn d1_a_webhook_that_nobody_can_read_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let store = open(&file).unwrap();
    let good = store.create_webhook(READER, webhook()).await.unwrap();
    store.test_webhook(READER, good.id).await.unwrap();
    let person = rusqlite::Connection::open(&file).unwrap();
    for (column, bad) in [
        ("event_types", "entry.created"),
        ("feed_ids", "[\"a\"]"),
        ("folder_ids", "1"),
        ("headers", "{}"),
        ("headers", "[[\"A\",\"b\"],\"top-secret\"]"),
        ("secret", "whsec_top-secret!"),
        ("old_secrets", "[\"top-secret\"]"),
        ("old_secrets", "[[\"whsec_top-secret!\",1]]"),
    ] {
        let kept: Option<String> =
            person.query_row(&format!("SELECT {column} FROM webhooks"), [], |row| row.get(0)).unwrap();
        let write = |value: Option<&str>| {
            person.execute(&format!("UPDATE webhooks SET {column} = ?"), [value]).unwrap();
        };
        write(Some(bad));
        let error = store.webhook(READER, good.id).await.unwrap_err();
        assert!(matches!(&error, StoreError::Failed(reason) if !reason.contains("top-secret")), "{column}: {error}");
        assert!(store.webhooks(READER).await.is_err());
        write(kept.as_deref());
        assert_eq!(store.webhook(READER, good.id).await, Ok(Some(good.clone())));
    }
    // A kind of a later version is wanted by nobody, and nobody else is wanted for it.
    person.execute("UPDATE webhooks SET event_types = '[\"of.later\",\"feed.gone\"]'", []).unwrap();
    let read = store.webhook(READER, good.id).await.unwrap().unwrap();
    assert_eq!(read.event_types, Some(vec![EventType::FeedGone]));
}

#[tokio::test]
async fn d2_a_webhook_that_cannot_be_read_stops_nothing_but_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let store = open(&file).unwrap();
    let new = NewWebhook { backlog: true, ..webhook() };
    let (bad, good) = (
        store.create_webhook(READER, new.clone()).await.unwrap().id,
        store.create_webhook(READER, new).await.unwrap().id,
    );
    for id in [bad, good] {
        store.test_webhook(READER, id).await.unwrap();
    }
    let person = rusqlite::Connection::open(&file).unwrap();
    let columns = ["secret", "old_secrets", "feed_ids", "headers", "event_types", "failures"];
    for column in columns {
        let right: Value = person
            .query_row(&format!("SELECT {column} FROM webhooks WHERE id = ?"), [bad.0], |row| row.get(0))
            .unwrap();
        let write = |value: &Value| {
            person.execute(&format!("UPDATE webhooks SET {column} = ?1 WHERE id = ?2"), (value, bad.0)).unwrap();
        };
        write(&Value::Text("later".to_owned()));
        let errors = [
            store.webhooks(READER).await.map(drop),
            store.webhook(READER, bad).await.map(drop),
            store.test_webhook(READER, bad).await.map(drop),
        ];
        for error in errors {
            let is_reported = matches!(&error, Err(StoreError::Failed(reason)) if !reason.contains("later"));
            assert!(is_reported, "{column}: {error:?}");
        }
        // Entries are stored, and the others told.
        add(&store, &format!("http://e.org/{column}")).await;
        let limits = ClaimLimits { limit: 100, of: vec![], of_others: 100, ..ClaimLimits::default() };
        assert_eq!(store.next_delivery_in(&[]).await, Ok(Some(Duration::ZERO)), "{column}");
        let ready = store.outbox_overview(Viewer::Server).await.unwrap().ready;
        let claimed = store.claim_deliveries("here", Duration::from_secs(10), &limits).await.unwrap();
        assert_eq!(ready, u64::try_from(claimed.jobs.len()).unwrap(), "D10: {column}");
        assert!(claimed.jobs.iter().all(|job| job.webhook_id == good), "{column}");
        assert_eq!(claimed.webhooks.iter().map(|webhook| webhook.id).collect::<Vec<_>>(), [good], "{column}");
        write(&right);
        person.execute("UPDATE deliveries SET lease_owner = NULL, lease_until = 0", []).unwrap();
    }
    let filter = DeliveryFilter { webhook_id: Some(good), ..DeliveryFilter::default() };
    assert_eq!(store.deliveries(READER, filter, 100, None).await.unwrap().deliveries.len(), 1 + columns.len());
}

#[tokio::test]
async fn d9_enabling_and_what_waits_are_one_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let store = open(&file).unwrap();
    let id = store.create_webhook(READER, webhook()).await.unwrap().id;
    store.test_webhook(READER, id).await.unwrap();
    let enabled = |enabled| WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
    store.update_webhook(READER, id, enabled(false)).await.unwrap();
    let person = rusqlite::Connection::open(&file).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(ABORT, 'no'); END";
    person.execute("UPDATE deliveries SET next_attempt_at = 9000000000000000", []).unwrap();
    person.execute_batch(refuse).unwrap();
    assert!(store.update_webhook(READER, id, enabled(true)).await.is_err());
    assert!(!store.webhook(READER, id).await.unwrap().unwrap().enabled, "both or neither");
    person.execute_batch("DROP TRIGGER refuse").unwrap();
    assert!(store.update_webhook(READER, id, enabled(true)).await.unwrap().unwrap().enabled);
}
