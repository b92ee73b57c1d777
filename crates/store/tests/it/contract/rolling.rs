//! Two versions on one database, as during an upgrade of one node after the other: what a later program has written, and this
//! one does not know, is left alone, and all else goes on (requirement P2).

use domain::{
    FeedId,
    delivery::{DeliveryFilter, DeliveryStatus},
    ports::Changed,
    push::{PushStored, SubscriptionState},
};

use super::{
    Harness,
    given::{LEASE, entry},
    given_outbox::rows,
    given_push::{BASE, DAY, HUB, OTHER_HUB, TOPIC, asking, found, offer, push},
};

contract!(
    p2_unknown_event_types_are_left_alone,
    p2_unknown_delivery_states_are_left_alone,
    p2_unknown_subscription_states_are_left_alone,
    p2_feeds_with_unknown_subscription_states_are_polled,
    p2_push_is_ended_but_for_unknown_subscription_states,
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
    // Its feed can be read; what becomes of its push is left to whoever knows that state.
    assert!(harness.feed(feed).await.subscription.is_none());
    assert_eq!(harness.number("SELECT count(*) FROM subscriptions WHERE state = 'paused'").await, 1);
}

/// All columns of the subscription that a later version sees to, in one text.
const PAUSED: &str = "SELECT count(*) FROM subscriptions WHERE state = 'paused' AND is_current AND lease_owner IS NULL \
                      AND push_count = 0 AND miss_count = 0";

async fn p2_feeds_with_unknown_subscription_states_are_polled(harness: &Harness) {
    let (feed, paused) = harness.pushed("https://e.org/a", "one").await;
    let (other, active) = harness.pushed("https://e.org/b", "two").await;
    harness
        .tamper("UPDATE subscriptions SET state = 'paused', next_step_at = 0, expires_at = 0 WHERE token = 'one'")
        .await;
    harness.advance(DAY).await;
    // Neither the same hub nor another, nor none: what it wants of push is not ours to decide.
    for (title, hubs) in [("same", &[HUB][..]), ("other", &[OTHER_HUB]), ("none", &[])] {
        assert_eq!(harness.discover(feed, vec![entry(title)], found(hubs, Some(TOPIC), "unused")).await.new, 1);
        harness.advance(DAY).await;
    }
    harness.discover(feed, vec![entry("again")], found(&[HUB], Some(TOPIC), "unused")).await;
    assert_eq!(harness.all().await.len(), 4);
    assert_eq!(harness.store.subscribe(vec![(feed, offer("new")), (other, offer("new"))]).await.unwrap(), 0);
    assert_eq!(harness.store.feeds_to_subscribe(BASE, FeedId(0), 10).await.unwrap(), []);

    // It is not claimed, and no step of it is waited for.
    assert!(harness.claim_due("worker", 10).await.iter().all(|job| job.subscription.id == active));
    let elsewhere = [OTHER_HUB.to_owned()];
    let claimed = harness.store.claim_due_subscriptions("worker", 10, LEASE, &elsewhere).await.unwrap();
    assert!(claimed.iter().all(|job| job.subscription.id == active));
    assert!(harness.store.next_step_in().await.unwrap().is_none_or(|wait| !wait.is_zero()));
    assert_eq!(harness.store.subscription(paused).await.unwrap(), None);
    assert_eq!(harness.store.subscription_of(feed).await.unwrap(), None);
    assert_eq!(harness.change(paused, asking("secret")).await, Changed::NotFound);
    assert_eq!(harness.store.push(push(paused, "one", vec![entry("pushed")])).await.unwrap(), PushStored::NotActive);
    let pushes = vec![push(paused, "one", vec![entry("a")]), push(active, "two", vec![entry("b")])];
    let stored = harness.store.push_all(pushes).await.unwrap();
    assert!(stored.iter().all(Result::is_ok), "{stored:?}");
    assert_eq!(harness.number(PAUSED).await, 1);
    assert_eq!(harness.current(other).await.state, SubscriptionState::Active);
}

async fn p2_push_is_ended_but_for_unknown_subscription_states(harness: &Harness) {
    let (feed, _) = harness.pushed("https://e.org/a", "one").await;
    let (_, active) = harness.pushed("https://e.org/b", "two").await;
    harness.tamper("UPDATE subscriptions SET state = 'paused' WHERE token = 'one'").await;
    assert_eq!(harness.store.stop_push().await.unwrap(), 1);
    let state = harness.store.subscription(active).await.unwrap().unwrap().state;
    assert_eq!(state, SubscriptionState::Unsubscribing);
    assert_eq!(harness.number(PAUSED).await, 1);
    // Without its feed it is there still, for whoever knows what that means.
    harness.store.delete_feed(feed).await.unwrap();
    assert_eq!(
        harness.number("SELECT count(*) FROM subscriptions WHERE state = 'paused' AND feed_id IS NULL").await,
        1
    );
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
