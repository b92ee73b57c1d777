//! F6: mark-read by the time of receipt.

use std::time::Duration;

use domain::{EntryFilter, FeedPatch, ports::MarkRead};

use super::{
    Harness,
    given::{entry, entry_at},
};

contract! {
    f6_mark_read_goes_by_the_time_of_receipt,
    f6_mark_read_of_a_feed_or_a_folder,
    f6_mark_read_of_many,
}

async fn f6_mark_read_goes_by_the_time_of_receipt(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("seen")]).await;
    let read_at = harness.now();
    harness.advance(Duration::from_secs(1)).await;
    // Received later, though published before.
    let late = entry_at("late", harness.after(-1000));
    harness.poll(id, vec![entry("seen"), late]).await;
    let before = MarkRead { before: Some(read_at), ..MarkRead::default() };
    assert_eq!(harness.store.mark_read(before).await.unwrap(), 1);
    assert!(harness.entry("seen").await.is_read);
    assert!(!harness.entry("late").await.is_read);
    assert_eq!(harness.unread_of(id).await, 1);
    assert_eq!(harness.store.mark_read(before).await.unwrap(), 0);
    assert_eq!(harness.store.mark_read(MarkRead::default()).await.unwrap(), 1);
    assert_eq!(harness.unread_of(id).await, 0);
}

async fn f6_mark_read_of_a_feed_or_a_folder(harness: &Harness) {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let one = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    let two = harness.add("http://e.org/2", vec![entry("1"), entry("2"), entry("3")]).await;
    let three = harness.add("http://e.org/3", vec![entry("1")]).await;
    for id in [two, three] {
        let into = FeedPatch { folder_id: Some(Some(folder)), ..FeedPatch::default() };
        harness.store.update_feed(id, into).await.unwrap();
    }
    let unread = async || [harness.unread_of(one).await, harness.unread_of(two).await, harness.unread_of(three).await];
    let both = MarkRead { feed_id: Some(one), folder_id: Some(folder), before: None };
    assert_eq!(harness.store.mark_read(both).await.unwrap(), 0);
    let of_feed = MarkRead { feed_id: Some(three), ..MarkRead::default() };
    assert_eq!(harness.store.mark_read(of_feed).await.unwrap(), 1);
    assert_eq!(unread().await, [2, 3, 0]);
    let of_folder = MarkRead { folder_id: Some(folder), ..MarkRead::default() };
    assert_eq!(harness.store.mark_read(of_folder).await.unwrap(), 3);
    assert_eq!(unread().await, [2, 0, 0]);
}

async fn f6_mark_read_of_many(harness: &Harness) {
    let entries = |count: i64| (0..count).map(|number| entry_at(&number.to_string(), harness.after(-number))).collect();
    let one = harness.add("http://e.org/1", entries(3500)).await;
    let two = harness.add("http://e.org/2", entries(700)).await;
    assert_eq!(harness.store.mark_read(MarkRead::default()).await.unwrap(), 4200);
    assert_eq!([harness.unread_of(one).await, harness.unread_of(two).await], [0, 0]);
    assert_eq!(harness.store.counts().await.unwrap().total, 0);
    let unread = EntryFilter { unread: Some(true), ..EntryFilter::default() };
    assert_eq!(harness.entries(unread).await, []);
}
