//! Pushes, polls, beats, steps of subscriptions and what users do, all at once on two nodes: nobody deadlocks, and
//! what feeds say of their entries and subscriptions stays true.

use std::time::Duration;

use domain::{
    FeedId, FeedPatch,
    account::READER,
    ports::{Claim, EntryStore, FeedStore, MarkRead, PollStore, PushStore, Viewer},
    push::{Mode, RenewalRules, SubscriptionEvent, SubscriptionState as State},
};
use store::PostgresStore;
use testkit::{FreshPostgres, fresh_postgres};

use super::{
    LEASE, counts_agree,
    given_push::{HUB, asking, discovered, offer, push, subscribed},
    unchanged,
};

#[tokio::test(flavor = "multi_thread")]
async fn pushes_polls_beats_and_changes_never_deadlock() {
    const FEEDS: usize = 12;
    const ROUNDS: usize = 12;
    let database = fresh_postgres().await;
    let feeds = subscribed(&database.store, FEEDS).await;
    let mut workers = Vec::new();
    for node in 0..2_usize {
        let store = database.another_store().await;
        let (pusher, poller, changer, user) = (store.clone(), store.clone(), store.clone(), store);
        let requests = feeds.clone();
        workers.push(tokio::spawn(async move { push_all(&pusher, ROUNDS).await }));
        workers.push(tokio::spawn(async move { poll_all(&poller, node, ROUNDS).await }));
        workers.push(tokio::spawn(async move { step_all(&changer, node, ROUNDS).await }));
        workers.push(tokio::spawn(async move { request_all(&user, &requests, node, ROUNDS).await }));
    }
    for worker in workers {
        worker.await.unwrap();
    }
    counts_agree(&database).await;
    trust_agrees(&database).await;
    // And in the end no subscription is wanted.
    database.store.stop_push().await.unwrap();
    let left = database.store.subscriptions(Viewer::Server).await.unwrap();
    assert!(left.iter().all(|subscription| subscription.state == State::Unsubscribing));
    trust_agrees(&database).await;
}

/// Pushes to every subscription, the last first, one by one and all together.
async fn push_all(store: &PostgresStore, rounds: usize) {
    for round in 0..rounds {
        let subscriptions = store.subscriptions(Viewer::Server).await.unwrap();
        for subscription in subscriptions.iter().rev() {
            store.push(push(subscription.id, 2 * round)).await.unwrap();
        }
        let batch = subscriptions.iter().rev().map(|subscription| push(subscription.id, 2 * round + 1));
        for stored in store.push_all(batch.collect()).await.unwrap() {
            stored.unwrap();
        }
    }
}

/// Polls what is due; the hubs of a feed come and go.
async fn poll_all(store: &PostgresStore, node: usize, rounds: usize) {
    for round in 0..rounds {
        let jobs = store.claim_due_polls(&format!("poller {node}"), 8, LEASE).await.unwrap();
        let mut leases: Vec<_> = jobs.iter().map(|job| (job.feed_id, job.lease.clone())).collect();
        leases.reverse();
        let hubs: &[&[&str]] = &[&[HUB], &["https://other.org/", HUB], &["https://other.org/"], &[]];
        let results = jobs.iter().rev().enumerate().map(|(place, job)| match place % 3 {
            0 => unchanged(job),
            _ => discovered(job, round, hubs[(place + round) % 4], &token("poll", node, round, job.feed_id)),
        });
        let (beat, finished) = tokio::join!(store.renew_polls(&leases, LEASE), store.finish_polls(results.collect()));
        beat.unwrap();
        for stored in finished.unwrap() {
            stored.unwrap();
        }
    }
}

/// Takes the next step of subscriptions, with success or without, and releases some claims.
async fn step_all(store: &PostgresStore, node: usize, rounds: usize) {
    for round in 0..rounds {
        let owner = format!("renewer {node}");
        let mut jobs = store.claim_due_subscriptions(&owner, 8, LEASE, &[]).await.unwrap();
        jobs.reverse();
        let (released, stepped) = jobs.split_at(jobs.len() / 2);
        let leases: Vec<_> = released.iter().map(|job| (job.subscription.id, job.lease.clone())).collect();
        let steps = async {
            for (place, job) in stepped.iter().enumerate() {
                let under = Claim::Under(job.lease.clone());
                let id = job.subscription.id;
                store.change_subscription(id, under, asking(), RenewalRules::default()).await.unwrap();
                let event = match (place + round) % 3 {
                    0 => SubscriptionEvent::Failed { error: "no\0".to_owned(), retry_after: None },
                    1 => SubscriptionEvent::Denied { reason: None, only_if_asked: false },
                    _ => SubscriptionEvent::Verified { mode: Mode::Subscribe, lease_secs: None, only_if_asked: false },
                };
                let ends = Claim::Ends(job.lease.clone());
                store.change_subscription(id, ends, event, RenewalRules::default()).await.unwrap();
            }
        };
        let (released, ()) = tokio::join!(store.release_subscriptions(&leases), steps);
        released.unwrap();
    }
}

/// What users do: turning push off and on, looking for what is missing, reading, and removing a feed.
async fn request_all(store: &PostgresStore, feeds: &[FeedId], node: usize, rounds: usize) {
    for round in 0..rounds {
        let requests = feeds.iter().rev().map(|feed| (*feed, offer(&token("request", node, round, *feed))));
        store.subscribe(requests.collect()).await.unwrap();
        for feed in feeds.iter().skip(round % 3).step_by(3) {
            let patch = FeedPatch { push_enabled: Some(round % 2 == 1), ..FeedPatch::default() };
            store.update_feed(READER, *feed, patch).await.unwrap();
            store.poll_soon(*feed, Duration::ZERO).await.unwrap();
        }
        store.mark_read(READER, MarkRead::default()).await.unwrap();
        match round % 6 {
            4 => drop(store.delete_feed(READER, feeds[node * 5 + round / 6]).await.unwrap()),
            5 => drop(store.stop_push().await.unwrap()),
            _ => {}
        }
    }
}

fn token(who: &str, node: usize, round: usize, feed: FeedId) -> String {
    format!("{who} {node} {round} {feed}")
}

/// What feeds say of their subscriptions is what there is.
async fn trust_agrees(database: &FreshPostgres) {
    let pushed = database.client().await.query("SELECT id FROM feeds WHERE is_pushed ORDER BY id", &[]).await.unwrap();
    let pushed: Vec<i64> = pushed.iter().map(|row| row.get(0)).collect();
    let subscriptions = database.store.subscriptions(Viewer::Server).await.unwrap();
    let trusted = subscriptions.iter().filter(|subscription| subscription.is_trusted());
    let trusted: Vec<i64> = trusted.filter_map(|subscription| Some(subscription.feed_id?.0)).collect();
    assert_eq!(pushed, trusted);
}
