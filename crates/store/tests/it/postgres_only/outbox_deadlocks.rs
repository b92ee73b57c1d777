//! Claims, beats, marks, pushes, polls and what users do with the outbox, all at once on two nodes: nobody deadlocks,
//! and nothing is lost.

use std::time::Duration;

use domain::{
    WebhookId,
    account::READER,
    delivery::{DeliveryFilter, DeliveryStatus, OutboxLimits, Verdict, WebhookPatch},
    ports::{DeliveryStore, PollStore, PushStore, Viewer},
};
use jiff::Timestamp;
use store::PostgresStore;
use testkit::fresh_postgres;

use super::{
    LEASE,
    given_outbox::{RETRY, claim, finished, lease_of, mark_at_last, webhook},
    given_push::{HUB, activated, discovered, push, subscribed},
    unchanged,
};

const ROUNDS: usize = 12;
const HOUR: Duration = Duration::from_hours(1);

#[tokio::test(flavor = "multi_thread")]
async fn d12_marks_beats_events_and_changes_never_deadlock() {
    const FEEDS: usize = 6;
    let database = fresh_postgres().await;
    let webhooks = [webhook(&database.store, 20).await, webhook(&database.store, 20).await];
    // There is something to prune.
    let removed = webhook(&database.store, 100).await;
    assert!(database.store.delete_webhook(READER, removed).await.unwrap());
    let feeds = subscribed(&database.store, FEEDS).await;
    for feed in &feeds {
        activated(&database.store, *feed).await;
    }
    let mut workers = Vec::new();
    for node in 0..2_usize {
        let store = database.another_store().await;
        let (sender, pusher, poller, user) = (store.clone(), store.clone(), store.clone(), store);
        workers.push(tokio::spawn(async move { send_all(&sender, node).await }));
        workers.push(tokio::spawn(async move { push_all(&pusher, node).await }));
        workers.push(tokio::spawn(async move { poll_all(&poller, node).await }));
        workers.push(tokio::spawn(async move { request_all(&user, webhooks).await }));
    }
    for worker in workers {
        worker.await.unwrap();
    }
    // Each entry that is there was told to each, and what was told is of an event that is there.
    let wrong = "
SELECT (SELECT count(*) FROM deliveries LEFT JOIN events ON events.id = event_id WHERE events.id IS NULL),
       (SELECT count(*) FROM entries) * 2 - (
           SELECT count(DISTINCT (deliveries.webhook_id, (data::json)->'entry'->>'id'))
           FROM events JOIN deliveries ON event_id = events.id
           WHERE type = 'entry.created'
       ),
       (SELECT count(*) FROM deliveries WHERE (lease_owner IS NOT NULL OR ended_at IS NULL) AND status <> 'pending'),
       (SELECT count(*) FROM attempts LEFT JOIN deliveries ON deliveries.id = delivery_id WHERE deliveries.id IS NULL)";
    let row = database.client().await.query_one(wrong, &[]).await.unwrap();
    let wrong: [i64; 4] = [row.get(0), row.get(1), row.get(2), row.get(3)];
    assert_eq!(wrong, [0; 4]);
}

/// Claims and beats, and marks with every outcome, the last first; releases some.
async fn send_all(store: &PostgresStore, node: usize) {
    for round in 0..ROUNDS * 2 {
        let mut jobs = claim(store, &format!("sender {node}"), 16).await;
        jobs.reverse();
        let leases: Vec<_> = jobs.iter().map(lease_of).collect();
        let (released, sent) = jobs.split_at(jobs.len() / 4);
        let released: Vec<_> = released.iter().map(lease_of).collect();
        let verdict = |place: usize| match (place + round) % 7 {
            0 => RETRY,
            1 => Verdict::Failed,
            _ => Verdict::Delivered,
        };
        let is_mixed = round % 2 == 0;
        let marks = sent.iter().enumerate();
        let marks = marks.map(|(place, job)| finished(job, if is_mixed { verdict(place) } else { Verdict::Delivered }));
        let (beat, released, marked) = tokio::join!(
            store.renew_deliveries(&leases, LEASE),
            store.release_deliveries(&released),
            mark_at_last(store, marks.collect()),
        );
        beat.unwrap();
        released.unwrap();
        marked.unwrap();
        store.next_delivery_in(&[]).await.unwrap();
    }
}

async fn push_all(store: &PostgresStore, node: usize) {
    for round in 0..ROUNDS {
        for subscription in store.subscriptions(Viewer::Server).await.unwrap().iter().rev() {
            store.push(push(subscription.id, node * 1000 + round)).await.unwrap();
        }
    }
}

async fn poll_all(store: &PostgresStore, node: usize) {
    for round in 0..ROUNDS {
        let jobs = store.claim_due_polls(&format!("poller {node}"), 8, LEASE).await.unwrap();
        let results = jobs.iter().rev().enumerate().map(|(place, job)| match place % 3 {
            0 => unchanged(job),
            _ => discovered(job, round, &[HUB], &format!("{node} {round} {}", job.feed_id)),
        });
        for stored in store.finish_polls(results.collect()).await.unwrap() {
            stored.unwrap();
        }
    }
}

/// What users do with webhooks and deliveries.
async fn request_all(store: &PostgresStore, webhooks: [WebhookId; 2]) {
    for round in 0..ROUNDS {
        let page = store.deliveries(READER, DeliveryFilter::default(), 20, None).await.unwrap();
        for delivery in &page.deliveries {
            match delivery.delivery_status {
                DeliveryStatus::Delivered | DeliveryStatus::Failed => {
                    drop(store.requeue_delivery(READER, &delivery.id).await.unwrap());
                }
                _ if round % 4 == 0 => drop(store.cancel_delivery(READER, &delivery.id, "no").await.unwrap()),
                _ => {}
            }
        }
        let enable = WebhookPatch { enabled: Some(true), ..WebhookPatch::default() };
        store.update_webhook(READER, webhooks[round % 2], enable).await.unwrap();
        store.requeue_failed(READER, webhooks[(round + 1) % 2]).await.unwrap();
        store.replay(READER, webhooks[round % 2], Timestamp::UNIX_EPOCH, None).await.unwrap();
        let limits = OutboxLimits { delivered_older_than: HOUR, failed_older_than: HOUR, chunk: 7 };
        store.prune_deliveries(limits).await.unwrap();
        store.outbox_overview(Viewer::Server).await.unwrap();
    }
}
