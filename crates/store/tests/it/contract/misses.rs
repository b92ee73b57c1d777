//! W12: push is checked, not trusted.

use std::time::Duration;

use domain::ingest::IncomingEntry;

use super::{
    Harness,
    given::{HOUR, LEASE, entry, entry_at, fetched, unchanged, version},
    given_push::{DAY, HUB, HUB_LEASE, TOPIC, asking, denied, found, push, verified},
};

contract! {
    w12_two_misses_end_trust_until_a_push,
    w12_a_push_between_two_misses_keeps_the_trust,
    w12_what_the_hub_had_no_time_to_push_is_no_miss,
    w12_what_was_published_before_push_was_active_is_no_miss,
    w12_what_is_known_or_changed_is_no_miss,
    w12_undated_entry_counts_by_its_change,
    w12_a_renewal_does_not_bring_the_trust_back,
    w12_a_poll_that_finds_a_miss_and_a_hub_does_both,
}

async fn w12_two_misses_end_trust_until_a_push(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.advance(DAY).await;
    harness.poll(feed, vec![entry_at("1", harness.after(-3600)), entry_at("2", harness.after(-7200))]).await;
    let once = harness.current(feed).await;
    assert_eq!((once.miss_count, once.misses_in_row), (1, 1), "one for a poll, however much it found");
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY);
    harness.advance(DAY).await;
    harness.poll(feed, vec![entry_at("3", harness.after(-3600))]).await;
    let twice = harness.current(feed).await;
    assert_eq!((twice.miss_count, twice.misses_in_row, twice.is_active()), (2, 2, true));
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR, "it is polled as usual");
    // What is found from now on is held against nobody.
    harness.advance(HOUR).await;
    harness.poll(feed, vec![entry_at("4", harness.after(-1900))]).await;
    assert_eq!(harness.current(feed).await, twice);
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR);
    // The hub is back.
    harness.push(push(id, "secret", vec![entry("5")])).await;
    let back = harness.current(feed).await;
    assert_eq!((back.miss_count, back.misses_in_row), (2, 0));
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR, "a push defers nothing");
    harness.advance(HOUR).await;
    harness.finish(unchanged(&harness.claim(feed).await)).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY);
}

async fn w12_a_push_between_two_misses_keeps_the_trust(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    for (round, guid) in ["1", "2", "3"].into_iter().enumerate() {
        harness.advance(DAY).await;
        harness.poll(feed, vec![entry_at(guid, harness.after(-3600))]).await;
        assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY);
        assert_eq!(harness.current(feed).await.miss_count, u64::try_from(round).unwrap() + 1);
        harness.push(push(id, "secret", vec![])).await;
    }
}

async fn w12_what_the_hub_had_no_time_to_push_is_no_miss(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.advance(DAY).await;
    harness.poll(feed, vec![entry_at("1", harness.after(-30 * 60 + 1))]).await;
    assert_eq!(harness.current(feed).await.miss_count, 0);
    // Nor what it did push.
    let pushed = entry_at("2", harness.after(-3600));
    harness.push(push(id, "secret", vec![pushed.clone()])).await;
    harness.poll(feed, vec![pushed]).await;
    assert_eq!(harness.current(feed).await.miss_count, 0);
    // Nor what came before a push, which shows that the hub is not silent.
    harness.poll(feed, vec![entry_at("3", harness.after(-30 * 60))]).await;
    assert_eq!(harness.current(feed).await.miss_count, 0);
    harness.advance(HOUR).await;
    harness.poll(feed, vec![entry_at("4", harness.after(-30 * 60))]).await;
    assert_eq!(harness.current(feed).await.miss_count, 1);
}

async fn w12_what_was_published_before_push_was_active_is_no_miss(harness: &Harness) {
    let (feed, _) = harness.pushed("http://e.org/1", "secret").await;
    let long_ago = harness.after(-3600);
    harness.advance(DAY).await;
    harness.poll(feed, vec![entry_at("1", long_ago)]).await;
    assert_eq!(harness.current(feed).await.miss_count, 0);
    // A feed that is not pushed misses nothing.
    let (other, id) = harness.with_hub("http://e.org/2", "other").await;
    harness.done(id, asking("other")).await;
    harness.advance(DAY).await;
    harness.poll(other, vec![entry_at("1", harness.after(-3600))]).await;
    assert_eq!(harness.current(other).await.miss_count, 0);
}

async fn w12_what_is_known_or_changed_is_no_miss(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    let published = harness.after(60);
    harness.advance(HOUR).await;
    harness.push(push(id, "secret", vec![entry_at("1", published), entry_at("2", published)])).await;
    harness.advance(DAY).await;
    let changed = IncomingEntry { published_at: Some(published), ..version("1", "changed") };
    assert_eq!(harness.poll(feed, vec![changed, entry_at("2", published)]).await.changed, 1);
    assert_eq!(harness.current(feed).await.miss_count, 0);
}

async fn w12_undated_entry_counts_by_its_change(harness: &Harness) {
    let (feed, _) = harness.pushed("http://e.org/1", "secret").await;
    harness.advance(Duration::from_mins(20)).await;
    harness.poll(feed, vec![entry("1")]).await;
    assert_eq!(harness.current(feed).await.miss_count, 0, "push has just begun");
    harness.advance(HOUR).await;
    let updated = |guid: &str, seconds: i64| IncomingEntry { updated_at: Some(harness.after(seconds)), ..entry(guid) };
    harness.poll(feed, vec![updated("2", -60)]).await;
    assert_eq!(harness.current(feed).await.miss_count, 0);
    harness.poll(feed, vec![updated("3", -1900)]).await;
    assert_eq!(harness.current(feed).await.miss_count, 1);
    harness.poll(feed, vec![entry("4")]).await;
    assert_eq!(harness.current(feed).await.miss_count, 2);
}

async fn w12_a_renewal_does_not_bring_the_trust_back(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    for guid in ["1", "2"] {
        harness.advance(DAY).await;
        harness.poll(feed, vec![entry_at(guid, harness.after(-3600))]).await;
    }
    harness.verify(id, "second", HUB_LEASE).await;
    harness.advance(LEASE).await;
    harness.poll(feed, vec![]).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR);
    // Push that begins anew does.
    harness.done(id, denied()).await;
    harness.done(id, asking("third")).await;
    harness.done(id, verified(HUB_LEASE)).await;
    harness.advance(LEASE).await;
    harness.finish(fetched(&harness.claim(feed).await, vec![])).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY);
}

async fn w12_a_poll_that_finds_a_miss_and_a_hub_does_both(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    for guid in ["1", "2"] {
        harness.advance(DAY).await;
        let missed = vec![entry_at(guid, harness.after(-3600))];
        harness.discover(feed, missed, found(&[HUB], Some(TOPIC), "unused")).await;
    }
    let current = harness.current(feed).await;
    assert_eq!((current.id, current.misses_in_row), (id, 2));
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR);
}
