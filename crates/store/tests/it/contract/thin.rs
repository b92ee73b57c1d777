//! W5: an entry that was pushed with nothing in it never replaces one that is known, and what it gets later completes
//! it.

use domain::{
    EntryFilter, EntryPatch,
    ingest::{IncomingEntry, Stored},
};

use super::{
    Harness,
    given::{HOUR, entry, version},
    given_push::{push, thin},
};

contract! {
    w5_poll_completes_a_thin_entry,
    w5_push_completes_a_thin_entry,
    w5_poll_completes_a_thin_entry_of_a_later_time,
    w5_thin_entry_never_replaces_a_known_one,
    w5_thin_entry_may_change_a_thin_one,
    w5_what_is_complete_is_changed_by_what_comes_later,
}

fn stored(new: u32, changed: u32, completed: u32) -> Stored {
    Stored { applied: true, new, changed, completed }
}

/// Pushed with its title only.
fn title_only(guid: &str, title: &str) -> IncomingEntry {
    thin(version(guid, title))
}

async fn w5_poll_completes_a_thin_entry(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    assert_eq!(harness.push(push(id, "secret", vec![title_only("1", "title")])).await, stored(1, 0, 0));
    let before = harness.entry("1").await;
    assert_eq!((before.title.as_deref(), before.content.as_deref()), (Some("title"), None));
    harness.store.patch_entry(before.id, EntryPatch { is_read: Some(true), is_starred: Some(true) }).await.unwrap();
    harness.advance(HOUR).await;
    assert_eq!(harness.poll(feed, vec![version("1", "whole"), entry("2")]).await, stored(1, 0, 1));
    let after = harness.entry("1").await;
    assert_eq!(after.content.as_deref(), Some("<p>whole</p>"));
    assert_eq!((after.id, after.sort_at, after.is_read, after.is_starred), (before.id, before.sort_at, true, true));
    let words = EntryFilter { search: domain::Search::parse("whole").unwrap(), ..EntryFilter::default() };
    assert_eq!(harness.entries(words).await.len(), 1);
    assert_eq!(harness.unread_of(feed).await, 1);
}

async fn w5_push_completes_a_thin_entry(harness: &Harness) {
    let (_, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.push(push(id, "secret", vec![title_only("1", "title")])).await;
    assert_eq!(harness.push(push(id, "secret", vec![version("1", "whole")])).await, stored(0, 0, 1));
    assert_eq!(harness.entry("1").await.title.as_deref(), Some("whole"));
}

async fn w5_poll_completes_a_thin_entry_of_a_later_time(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    let of = |entry: IncomingEntry, seconds: i64| IncomingEntry { updated_at: Some(harness.after(seconds)), ..entry };
    let (whole, older) = (of(version("1", "whole"), -100), of(version("1", "older"), -50));
    harness.push(push(id, "secret", vec![of(title_only("1", "title"), -10)])).await;
    harness.advance(HOUR).await;
    assert_eq!(harness.poll(feed, vec![whole]).await, stored(0, 0, 1));
    assert_eq!(harness.entry("1").await.content.as_deref(), Some("<p>whole</p>"));
    // The later time stays.
    assert_eq!(harness.poll(feed, vec![older]).await, stored(0, 0, 0));
    assert_eq!(harness.entry("1").await.title.as_deref(), Some("whole"));
}

async fn w5_thin_entry_never_replaces_a_known_one(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.poll(feed, vec![version("1", "whole")]).await;
    let before = harness.all().await;
    harness.advance(HOUR).await;
    assert_eq!(harness.push(push(id, "secret", vec![title_only("1", "title")])).await, stored(0, 0, 0));
    assert_eq!(harness.all().await, before);
    // Also after it was completed.
    harness.push(push(id, "secret", vec![title_only("2", "title")])).await;
    harness.advance(HOUR).await;
    harness.poll(feed, vec![version("1", "whole"), version("2", "whole")]).await;
    assert_eq!(harness.push(push(id, "secret", vec![title_only("2", "title")])).await, stored(0, 0, 0));
    assert_eq!(harness.entry("2").await.title.as_deref(), Some("whole"));
}

async fn w5_thin_entry_may_change_a_thin_one(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.push(push(id, "secret", vec![title_only("1", "first")])).await;
    assert_eq!(harness.push(push(id, "secret", vec![title_only("1", "first")])).await, stored(0, 0, 0));
    assert_eq!(harness.push(push(id, "secret", vec![title_only("1", "second")])).await, stored(0, 1, 0));
    assert_eq!(harness.entry("1").await.title.as_deref(), Some("second"));
    harness.advance(HOUR).await;
    assert_eq!(harness.poll(feed, vec![version("1", "whole")]).await, stored(0, 0, 1), "it still had nothing in it");
}

async fn w5_what_is_complete_is_changed_by_what_comes_later(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.push(push(id, "secret", vec![title_only("1", "title")])).await;
    harness.advance(HOUR).await;
    assert_eq!(harness.poll(feed, vec![version("1", "whole")]).await, stored(0, 0, 1));
    assert_eq!(harness.poll(feed, vec![version("1", "other")]).await, stored(0, 1, 0));
    assert_eq!(harness.push(push(id, "secret", vec![version("1", "third")])).await, stored(0, 1, 0));
}
