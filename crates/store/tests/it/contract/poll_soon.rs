//! W4, W5 and W9: a feed that is wanted to be polled soon is, also if it is being polled just then.

use std::time::Duration;

use domain::{
    FeedId,
    ingest::{PollOutcome, Validators},
    push::{Push, SubscriptionEvent},
};

use super::{
    Harness,
    given::{HOUR, LEASE, document, entry, result, unchanged},
    given_push::{DAY, HUB, HUB_LEASE, TOPIC, asking, denied, discovered, found, push, verified},
};

const MINUTE: Duration = Duration::from_mins(1);

contract! {
    w5_partial_push_makes_feed_due_within_a_minute,
    w5_a_feed_is_due_soon_unless_it_is_due_sooner,
    w5_a_feed_that_is_being_polled_is_polled_once_more,
    w4_poll_under_way_when_push_begins_defers_nothing,
    w9_poll_under_way_when_push_ends_defers_nothing,
    w4_claim_after_the_request_answers_it,
    w5_poll_request_survives_a_dead_worker,
}

/// Every way a poll can end without the feed being gone.
fn outcomes() -> [PollOutcome; 3] {
    let unchanged = PollOutcome::Unchanged(Validators::default());
    [PollOutcome::Fetched(document(vec![entry("1")])), unchanged, PollOutcome::Failed("no".to_owned())]
}

async fn w5_partial_push_makes_feed_due_within_a_minute(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.advance(HOUR).await;
    let before = harness.feed(feed).await.next_check_at;
    harness.push(push(id, "secret", vec![entry("1")])).await;
    assert_eq!(harness.feed(feed).await.next_check_at, before, "no push postpones that");
    let poll_in = Some(MINUTE);
    harness.push(Push { poll_in, ..push(id, "secret", vec![]) }).await;
    let due_at = harness.now() + MINUTE;
    assert_eq!(harness.feed(feed).await.next_check_at, due_at);
    harness.advance(MINUTE / 2).await;
    harness.push(Push { poll_in, ..push(id, "secret", vec![entry("2")]) }).await;
    assert_eq!(harness.feed(feed).await.next_check_at, due_at);
    harness.advance(MINUTE).await;
    let jobs = harness.store.claim_due_polls("worker", 10, LEASE).await.unwrap();
    harness.finish(unchanged(&jobs[0])).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY);
}

async fn w5_a_feed_is_due_soon_unless_it_is_due_sooner(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    for (delay, due_in) in [(HOUR * 2, HOUR), (MINUTE, MINUTE), (HOUR, MINUTE), (Duration::ZERO, Duration::ZERO)] {
        harness.store.poll_soon(feed, delay).await.unwrap();
        assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + due_in, "{delay:?}");
    }
    harness.store.poll_soon(FeedId(999), MINUTE).await.unwrap();
}

async fn w5_a_feed_that_is_being_polled_is_polled_once_more(harness: &Harness) {
    let feed = harness.import(&["http://e.org/1"]).await[0];
    for outcome in outcomes() {
        let job = harness.claim(feed).await;
        harness.advance(Duration::from_secs(1)).await;
        harness.store.poll_soon(feed, MINUTE).await.unwrap();
        let due_at = harness.now() + MINUTE;
        harness.advance(Duration::from_secs(1)).await;
        harness.finish(result(&job, outcome)).await;
        assert_eq!(harness.feed(feed).await.next_check_at, due_at);
        harness.advance(MINUTE).await;
        // That poll has what was wanted.
        let jobs = harness.store.claim_due_polls("worker", 10, LEASE).await.unwrap();
        harness.finish(unchanged(&jobs[0])).await;
        assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR);
    }
}

async fn w4_poll_under_way_when_push_begins_defers_nothing(harness: &Harness) {
    for (number, outcome) in outcomes().into_iter().enumerate() {
        let token = format!("token {number}");
        let (feed, id) = harness.with_hub(&format!("http://e.org/{number}"), &token).await;
        harness.advance(HOUR / 2).await;
        let job = harness.claim(feed).await;
        harness.done(id, asking(&token)).await;
        harness.done(id, verified(HUB_LEASE)).await;
        harness.finish(result(&job, outcome)).await;
        assert_eq!(harness.feed(feed).await.next_check_at, harness.now(), "also within the same millisecond");
        harness.advance(LEASE).await;
        harness.finish(unchanged(&harness.claim(feed).await)).await;
        assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY);
    }
}

async fn w9_poll_under_way_when_push_ends_defers_nothing(harness: &Harness) {
    for (number, outcome) in outcomes().into_iter().enumerate() {
        let (feed, id) = harness.pushed(&format!("http://e.org/{number}"), &format!("token {number}")).await;
        harness.advance(HOUR).await;
        let job = harness.claim(feed).await;
        harness.advance(Duration::from_secs(1)).await;
        harness.done(id, denied()).await;
        let ended_at = harness.now();
        harness.advance(Duration::from_secs(1)).await;
        harness.finish(result(&job, outcome)).await;
        assert_eq!(harness.feed(feed).await.next_check_at, ended_at);
    }
    // Also if the poll knows of a hub.
    let (feed, id) = harness.pushed("http://e.org/hub", "token").await;
    let job = harness.claim(feed).await;
    harness.advance(Duration::from_secs(1)).await;
    harness.done(id, denied()).await;
    harness.finish(discovered(&job, vec![], found(&[HUB], Some(TOPIC), "unused"))).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now());
}

async fn w4_claim_after_the_request_answers_it(harness: &Harness) {
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    harness.verify(id, "token", HUB_LEASE).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now());
    // All within one millisecond.
    let jobs = harness.store.claim_due_polls("worker", 10, LEASE).await.unwrap();
    harness.finish(unchanged(&jobs[0])).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY);
    assert_eq!(harness.store.claim_due_polls("worker", 10, LEASE).await.unwrap().len(), 0);
}

async fn w5_poll_request_survives_a_dead_worker(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    let job = harness.claim(feed).await;
    harness.advance(Duration::from_secs(1)).await;
    harness.done(id, SubscriptionEvent::Unwanted).await;
    harness.advance(LEASE).await;
    let jobs = harness.store.claim_due_polls("other", 10, LEASE).await.unwrap();
    assert_eq!(jobs.len(), 1);
    assert!(!harness.finish(unchanged(&job)).await.applied);
    harness.store.release_polls(&[(feed, jobs[0].lease.clone())]).await.unwrap();
    assert_eq!(harness.store.claim_due_polls("third", 10, LEASE).await.unwrap().len(), 1);
}
