//! D2: webhooks are told of feeds that fail, recover, or are gone.

use domain::{
    FeedPatch, NewFeed,
    delivery::EventType,
    feed_state::FeedAddress,
    ingest::{Document, PollOutcome},
};
use serde_json::json;

use super::{
    Harness,
    given::{LEASE, document, entry, fetched, new_feed, result},
};

contract! {
    d2_third_failure_and_recovery_are_sent,
    d2_recovery_is_sent_to_later_webhooks,
    d2_failing_survives_another_url,
    d2_gone_is_sent_once_and_not_as_failing,
    d2_gone_feed_polled_again_is_not_failing,
    d2_late_result_sends_nothing,
    d2_payload_shows_feed_as_users_see_it,
}

async fn d2_third_failure_and_recovery_are_sent(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    let webhook = harness.webhook("https://r.org/1").await;
    let about = json!({ "feed": { "id": feed, "url": "http://e.org/1", "title": "Title", "folderId": null } });
    for round in 0..2 {
        for _ in 0..2 {
            harness.fail_poll(feed).await;
            assert_eq!(harness.drain().await.len(), 0);
        }
        harness.fail_poll(feed).await;
        let drained = harness.drain().await;
        assert_eq!(drained.iter().map(|(job, _)| job.kind).collect::<Vec<_>>(), [EventType::FeedFailing]);
        assert_eq!(drained[0].1, about);
        harness.fail_poll(feed).await;
        assert_eq!(harness.drain().await.len(), 0, "once");
        if round == 0 {
            harness.poll_unchanged(feed).await;
        } else {
            harness.poll(feed, vec![]).await;
        }
        let drained = harness.drain().await;
        assert_eq!(drained.iter().map(|(job, _)| job.kind).collect::<Vec<_>>(), [EventType::FeedRecovered]);
        assert_eq!(drained[0].1, about);
        harness.poll_unchanged(feed).await;
        harness.poll(feed, vec![]).await;
        assert_eq!(harness.drain().await.len(), 0);
    }
    // Fewer than three in a row are nothing.
    harness.fail_poll(feed).await;
    harness.fail_poll(feed).await;
    harness.poll_unchanged(feed).await;
    harness.fail_poll(feed).await;
    harness.poll(feed, vec![]).await;
    assert_eq!(harness.deliveries_to(webhook).await.len(), 4);
}

async fn d2_recovery_is_sent_to_later_webhooks(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    for _ in 0..4 {
        harness.fail_poll(feed).await;
    }
    let webhook = harness.webhook("https://r.org/1").await;
    harness.fail_poll(feed).await;
    assert_eq!(harness.deliveries_to(webhook).await, [], "that was before its time");
    harness.poll(feed, vec![entry("1")]).await;
    let mut kinds = harness.kinds_to(webhook).await;
    kinds.sort();
    assert_eq!(kinds, [EventType::EntryCreated, EventType::FeedRecovered]);
}

async fn d2_failing_survives_another_url(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    let webhook = harness.webhook("https://r.org/1").await;
    for _ in 0..3 {
        harness.fail_poll(feed).await;
    }
    let address = FeedAddress { url: "http://e.org/2".to_owned(), credentials: None };
    harness.store.update_feed(feed, FeedPatch { address: Some(address), ..FeedPatch::default() }).await.unwrap();
    for _ in 0..3 {
        harness.fail_poll(feed).await;
    }
    assert_eq!(harness.kinds_to(webhook).await, [EventType::FeedFailing], "it has failed all the time");
    harness.poll_unchanged(feed).await;
    let (_, data) = harness.drain().await.pop().unwrap();
    assert_eq!(harness.kinds_to(webhook).await, [EventType::FeedFailing, EventType::FeedRecovered]);
    assert_eq!(data["feed"]["url"], "http://e.org/2");
}

async fn d2_gone_is_sent_once_and_not_as_failing(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    let webhook = harness.webhook("https://r.org/1").await;
    harness.fail_poll(feed).await;
    harness.fail_poll(feed).await;
    for _ in 0..2 {
        let job = harness.claim(feed).await;
        harness.finish(result(&job, PollOutcome::Gone("410 Gone".to_owned()))).await;
    }
    assert_eq!(harness.kinds_to(webhook).await, [EventType::FeedGone]);
    // Back again, and gone once more: that is an event.
    harness.poll_unchanged(feed).await;
    assert_eq!(harness.kinds_to(webhook).await, [EventType::FeedGone]);
    let job = harness.claim(feed).await;
    harness.finish(result(&job, PollOutcome::Gone("410 Gone".to_owned()))).await;
    assert_eq!(harness.kinds_to(webhook).await, [EventType::FeedGone; 2]);
}

async fn d2_gone_feed_polled_again_is_not_failing(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    let webhook = harness.webhook("https://r.org/1").await;
    for _ in 0..5 {
        let [job] = harness.store.claim_polls("worker", &[feed], LEASE).await.unwrap().try_into().unwrap();
        harness.finish(result(&job, PollOutcome::Gone("gone".to_owned()))).await;
    }
    assert_eq!(harness.kinds_to(webhook).await, [EventType::FeedGone]);
    // Nor has it recovered from failing when it is there again.
    harness.poll(feed, vec![]).await;
    assert_eq!(harness.kinds_to(webhook).await, [EventType::FeedGone]);
}

async fn d2_late_result_sends_nothing(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    let webhook = harness.webhook("https://r.org/1").await;
    harness.fail_poll(feed).await;
    harness.fail_poll(feed).await;
    let late = harness.claim(feed).await;
    harness.advance(LEASE).await;
    let job = harness.claim(feed).await;
    for outcome in [
        PollOutcome::Failed("no".to_owned()),
        PollOutcome::Gone("no".to_owned()),
        PollOutcome::Fetched(document(vec![entry("1")])),
    ] {
        assert!(!harness.finish(result(&late, outcome)).await.applied);
        assert_eq!(harness.deliveries_to(webhook).await, []);
    }
    assert!(harness.finish(fetched(&job, vec![entry("1")])).await.applied);
    assert_eq!(harness.kinds_to(webhook).await, [EventType::EntryCreated]);
}

async fn d2_payload_shows_feed_as_users_see_it(harness: &Harness) {
    harness.webhook("https://r.org/1").await;
    let address = FeedAddress { url: "http://e.org/1".to_owned(), credentials: Some("me:secret-password".to_owned()) };
    let new = NewFeed { address, custom_title: Some("Mine".to_owned()), ..new_feed("", vec![]) };
    let feed = harness.add_feed(new).await.id;
    harness.poll(feed, vec![entry("1")]).await;
    let (job, data) = harness.drain().await.remove(0);
    assert_eq!(data["feed"], json!({ "id": feed, "url": "http://e.org/1", "title": "Mine", "folderId": null }));
    assert!(!job.data.unwrap().contains("secret-password"));
    let patch = FeedPatch { custom_title: Some(None), ..FeedPatch::default() };
    harness.store.update_feed(feed, patch).await.unwrap();
    let job = harness.claim(feed).await;
    let renamed = Document { title: Some("Renamed".to_owned()), ..document(vec![entry("2")]) };
    harness.finish(result(&job, PollOutcome::Fetched(renamed))).await;
    assert_eq!(harness.drain().await[0].1["feed"]["title"], "Renamed", "as the same document has it");
}
