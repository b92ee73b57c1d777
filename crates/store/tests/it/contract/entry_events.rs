//! D2, and D1 on what is no event: entries that are new or have changed are sent as they are kept.

use std::time::Duration;

use domain::{
    FeedId,
    delivery::{EventType, NewWebhook, PayloadEntry},
    ingest::IncomingEntry,
};
use serde_json::{Value, json};

use super::{
    Harness,
    given::{HOUR, entry, version},
    given_outbox::new_webhook,
    given_push::{DAY, push, thin},
};

contract! {
    d2_new_entry_is_sent_as_stored,
    d2_pushed_entry_is_sent,
    d1_backlog_is_sent_only_where_wanted,
    d1_first_fetch_of_imported_feed_is_backlog,
    d2_changed_entry_is_sent_once_a_day,
    d2_completed_entry_is_no_change,
    d2_unwanted_update_is_sent_once_wanted,
    d12_an_event_outlives_what_it_is_about,
}

const CREATED: EventType = EventType::EntryCreated;
const UPDATED: EventType = EventType::EntryUpdated;

async fn as_json(harness: &Harness, guid: &str) -> Value {
    let id = harness.entry(guid).await.id;
    let entry = harness.store.entry(id).await.unwrap().unwrap();
    serde_json::to_value(PayloadEntry::from(&entry)).unwrap()
}

async fn d2_new_entry_is_sent_as_stored(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let feed = harness.add("http://e.org/1", vec![]).await;
    let odd = IncomingEntry {
        url: Some("http://e.org/1/odd".to_owned()),
        author: Some("A\0nn".to_owned()),
        summary: Some("short".to_owned()),
        published_at: Some(harness.after(-60)),
        updated_at: Some(harness.after(-30)),
        categories: vec!["a \"b\"".to_owned()],
        enclosures: vec![domain::File {
            url: "http://e.org/1.mp3".to_owned(),
            mime: None,
            length: Some(7),
            duration_secs: Some(62),
        }],
        ..version("odd", "ein \u{1F600} \0 \u{2028} \\ Text")
    };
    harness.advance(HOUR).await;
    harness.poll(feed, vec![odd, entry("plain")]).await;
    let drained = harness.drain().await;
    assert_eq!(drained.iter().map(|(job, _)| (job.webhook_id, job.kind)).collect::<Vec<_>>(), [(webhook, CREATED); 2]);
    assert!(drained.iter().all(|(job, _)| job.happened_at == harness.now()));
    // As ids rise: the last in the document first.
    assert_eq!(drained[0].1["entry"], as_json(harness, "plain").await);
    assert_eq!(drained[1].1["entry"], as_json(harness, "odd").await);
    let about = json!({ "id": feed, "url": "http://e.org/1", "title": "Title", "folderId": null });
    assert_eq!(drained[1].1["feed"], about);
    assert_eq!(drained[1].1.as_object().unwrap().len(), 2);
    harness.poll(feed, vec![entry("plain")]).await;
    harness.poll_unchanged(feed).await;
    assert_eq!(harness.drain().await.len(), 0, "what is known is no event");
}

async fn d2_pushed_entry_is_sent(harness: &Harness) {
    let (_, id) = harness.pushed("http://e.org/1", "token").await;
    let webhook = harness.webhook("https://r.org/1").await;
    harness.push(push(id, "token", vec![entry("1")])).await;
    let drained = harness.drain().await;
    assert_eq!(drained.iter().map(|(job, _)| job.kind).collect::<Vec<_>>(), [CREATED]);
    assert_eq!(drained[0].1["entry"], as_json(harness, "1").await);
    harness.push(push(id, "token", vec![entry("1"), entry("1")])).await;
    assert_eq!(harness.kinds_to(webhook).await, [CREATED], "what is there twice counts once, and it is known");
    harness.push(push(id, "token", vec![version("1", "changed")])).await;
    assert_eq!(harness.kinds_to(webhook).await, [CREATED, UPDATED]);
}

async fn d1_backlog_is_sent_only_where_wanted(harness: &Harness) {
    let plain = harness.webhook("https://r.org/1").await;
    let backlog = harness.webhook_like(NewWebhook { backlog: true, ..new_webhook("https://r.org/2") }).await.id;
    let feed = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    assert_eq!(harness.deliveries_to(plain).await, []);
    assert_eq!(harness.kinds_to(backlog).await, [CREATED; 2]);
    let drained = harness.drain().await;
    assert_eq!(drained[0].1["feed"]["title"], "Title", "as its first document has it");
    assert_eq!(drained[1].1["entry"], as_json(harness, "1").await);
    harness.poll(feed, vec![entry("3")]).await;
    assert_eq!(harness.kinds_to(plain).await, [CREATED]);
    assert_eq!(harness.kinds_to(backlog).await, [CREATED; 3]);
}

async fn d1_first_fetch_of_imported_feed_is_backlog(harness: &Harness) {
    let plain = harness.webhook("https://r.org/1").await;
    let backlog = harness.webhook_like(NewWebhook { backlog: true, ..new_webhook("https://r.org/2") }).await.id;
    let feed = harness.import(&["http://e.org/1"]).await[0];
    // A failure is no fetch.
    harness.fail_poll(feed).await;
    harness.poll(feed, vec![entry("1")]).await;
    assert_eq!((harness.kinds_to(plain).await, harness.kinds_to(backlog).await), (vec![], vec![CREATED]));
    harness.poll(feed, vec![entry("1"), entry("2")]).await;
    assert_eq!((harness.kinds_to(plain).await, harness.kinds_to(backlog).await), (vec![CREATED], vec![CREATED; 2]));
}

async fn d2_changed_entry_is_sent_once_a_day(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    let webhook = harness.webhook("https://r.org/1").await;
    let change = |text: &'static str| harness.poll(feed, vec![version("1", text)]);
    assert_eq!(change("first").await.changed, 1);
    assert_eq!(harness.kinds_to(webhook).await, [UPDATED]);
    let (_, data) = harness.drain().await.remove(0);
    assert_eq!(data["entry"], as_json(harness, "1").await);
    let in_a_day = harness.now() + DAY;
    harness.set(in_a_day - Duration::from_millis(1)).await;
    assert_eq!(change("second").await.changed, 1);
    assert_eq!(harness.kinds_to(webhook).await, [UPDATED], "within a day of the last");
    harness.poll(feed, vec![version("2", "other")]).await;
    assert_eq!(harness.kinds_to(webhook).await, [UPDATED; 2], "each entry by itself");
    harness.set(in_a_day).await;
    assert_eq!(change("third").await.changed, 1);
    assert_eq!(harness.kinds_to(webhook).await, [UPDATED; 3]);
}

async fn d2_completed_entry_is_no_change(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    let webhook = harness.webhook("https://r.org/1").await;
    harness.push(push(id, "token", vec![thin(entry("1"))])).await;
    harness.advance(HOUR).await;
    assert_eq!(harness.poll(feed, vec![version("1", "whole")]).await.completed, 1);
    assert_eq!(harness.kinds_to(webhook).await, [CREATED]);
    harness.advance(HOUR).await;
    assert_eq!(harness.poll(feed, vec![version("1", "changed")]).await.changed, 1);
    assert_eq!(harness.kinds_to(webhook).await, [CREATED, UPDATED]);
}

async fn d2_unwanted_update_is_sent_once_wanted(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![entry("1")]).await;
    let deaf = NewWebhook { event_types: Some(vec![CREATED]), ..new_webhook("https://r.org/1") };
    let deaf = harness.webhook_like(deaf).await.id;
    harness.poll(feed, vec![version("1", "first")]).await;
    assert_eq!(harness.deliveries_to(deaf).await, []);
    let webhook = harness.webhook("https://r.org/2").await;
    harness.poll(feed, vec![version("1", "second")]).await;
    assert_eq!(harness.kinds_to(webhook).await, [UPDATED], "nobody was told of the first");
}

async fn d12_an_event_outlives_what_it_is_about(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let feed: FeedId = harness.add("http://e.org/1", vec![]).await;
    harness.poll(feed, vec![entry("1")]).await;
    let expected = as_json(harness, "1").await;
    harness.store.delete_feed(feed).await.unwrap();
    let drained = harness.drain().await;
    assert_eq!((drained.len(), drained[0].0.webhook_id), (1, webhook));
    assert_eq!(drained[0].1["entry"], expected, "as it was");
}
