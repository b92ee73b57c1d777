//! Two versions on one database, as during an upgrade of one node after the other: what a later program has written, and this
//! one does not know, is left alone, and all else goes on (requirement P2).

use domain::delivery::{DeliveryFilter, DeliveryStatus};

use super::{Harness, given::entry, given_outbox::rows};

contract!(
    p2_unknown_event_types_are_left_alone,
    p2_unknown_delivery_states_are_left_alone,
    p2_unknown_subscription_states_are_left_alone,
    p2_unknown_tables_and_columns_are_left_alone,
);

async fn p2_unknown_event_types_are_left_alone(harness: &Harness) {
    let webhook = harness.webhook("https://e.org/hook").await;
    let queued = harness.queue(webhook, 2).await;
    harness.tamper("UPDATE events SET type = 'entry.reviewed' WHERE id = (SELECT min(id) FROM events)").await;
    let taken = harness.take("worker", 10).await;
    assert_eq!(taken.len(), 1, "the other goes to whoever knows it");
    assert_eq!(harness.outbox(DeliveryFilter::default()).await.len(), 2);
    assert_eq!(harness.status(&queued[0].id).await, DeliveryStatus::Pending);
    let held = "SELECT count(*) FROM deliveries WHERE lease_owner IS NOT NULL";
    assert_eq!(harness.number(held).await, 1);
}

async fn p2_unknown_delivery_states_are_left_alone(harness: &Harness) {
    let webhook = harness.webhook("https://e.org/hook").await;
    let queued = harness.queue(webhook, 3).await;
    harness.tamper("UPDATE deliveries SET status = 'quarantined' WHERE id = (SELECT min(id) FROM deliveries)").await;
    assert_eq!(harness.take("worker", 10).await.len(), 2);
    let shown = harness.outbox(DeliveryFilter::default()).await;
    assert_eq!(rows(&shown), rows(&[queued[2].clone(), queued[1].clone()]), "what it is, only the other knows");
    assert!(harness.store.delivery(&queued[0].id).await.unwrap().is_none());
    harness.store.outbox_overview().await.unwrap();
    assert_eq!(harness.number("SELECT count(*) FROM deliveries WHERE status = 'quarantined'").await, 1);
}

async fn p2_unknown_subscription_states_are_left_alone(harness: &Harness) {
    let (feed, _) = harness.pushed("https://e.org/a", "one").await;
    let (_, other) = harness.pushed("https://e.org/b", "two").await;
    harness.tamper("UPDATE subscriptions SET state = 'paused', next_step_at = 0 WHERE token = 'one'").await;
    assert_eq!(harness.subscriptions().await.iter().map(|known| known.id).collect::<Vec<_>>(), [other]);
    assert!(harness.by_token("one").await.is_none());
    assert!(harness.claim_due("worker", 10).await.is_empty());
    // Its feed is polled as ever.
    harness.poll(feed, vec![entry("new")]).await;
    assert_eq!(harness.number("SELECT count(*) FROM subscriptions WHERE state = 'paused'").await, 1);
}

async fn p2_unknown_tables_and_columns_are_left_alone(harness: &Harness) {
    harness
        .tamper(
            "CREATE TABLE later (id bigint);
             ALTER TABLE entries ADD COLUMN later text;
             ALTER TABLE feeds ADD COLUMN later bigint NOT NULL DEFAULT 7;
             ALTER TABLE events ADD COLUMN later text;
             ALTER TABLE deliveries ADD COLUMN later bigint NOT NULL DEFAULT 0;",
        )
        .await;
    let webhook = harness.webhook("https://e.org/hook").await;
    let feed = harness.add("https://e.org/feed", vec![]).await;
    harness.poll(feed, vec![entry("new")]).await;
    assert_eq!(harness.all().await.len(), 1);
    assert_eq!(harness.deliveries_to(webhook).await.len(), 1);
    assert_eq!(harness.take("worker", 10).await.len(), 1);
}
