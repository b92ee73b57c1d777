//! U2: what was changed can be followed, and whoever delivers is woken by it.

use std::{collections::BTreeSet, time::Duration};

use domain::{
    EntryId, EntryPatch, FeedId, FeedPatch, FeedSeed, NewFeed, SubscriptionId,
    changes::{Change, ChangeKind, ChangeNumber, ENTRIES_LISTED_MAX, KEPT_FOR},
    delivery::{Verdict, WebhookPatch},
    ingest::{PollOutcome, Validators},
    ports::{MarkRead, PruneLimits, Store},
};
use jiff::Timestamp;
use tokio::time::timeout;

use super::{
    Harness,
    given::{HOUR, address, entry, new_feed, result, seed, version},
    given_outbox::{lease_of, secret},
    given_push::{HUB, HUB_LEASE, TOPIC, asking, found, push, verified},
};

contract! {
    u2_feeds_and_folders_write_changes,
    u2_polls_write_what_they_bring,
    u2_marks_and_pruning_write_changes,
    u2_push_writes_changes,
    u2_webhooks_and_deliveries_write_changes,
    u2_changes_are_all_or_nothing_with_their_rows,
    u2_pages_miss_and_repeat_nothing,
    u2_pruned_changes_are_a_reset,
    u2_unknown_kinds_are_passed_over,
    d4_whoever_waits_is_woken_by_changes,
    d4_whatever_can_be_claimed_is_a_change,
}

use ChangeKind::{Deliveries, Entries, Feed, Feeds, Marks, Subscription, Webhooks};

/// Longer than any machine stands still.
const SOON: Duration = Duration::from_mins(3);

/// Somebody who follows the stream.
struct Follower<'h> {
    harness: &'h Harness,
    after: ChangeNumber,
}

impl<'h> Follower<'h> {
    async fn new(harness: &'h Harness) -> Self {
        Self { harness, after: harness.store.last_change().await.unwrap() }
    }

    /// All that is new.
    async fn next(&mut self) -> Vec<Change> {
        let changes = all_after(&*self.harness.store, self.after).await;
        self.after = changes.last().map_or(self.after, |change| change.number);
        changes
    }

    /// What is new is just this, in whatever order.
    async fn expect(&mut self, by: &str, expect: &[(ChangeKind, Option<FeedId>)]) -> Vec<Change> {
        let changes = self.next().await;
        let mut kinds: Vec<_> = changes.iter().map(|change| (change.kind, change.feed_id)).collect();
        let mut expect = expect.to_vec();
        kinds.sort();
        expect.sort();
        assert_eq!(kinds, expect, "{by}");
        changes
    }
}

async fn all_after(store: &dyn Store, mut after: ChangeNumber) -> Vec<Change> {
    let mut changes = Vec::new();
    loop {
        let page = store.changes_after(after, 100).await.unwrap();
        assert!(!page.is_reset);
        after = page.next;
        changes.extend(page.changes);
        if !page.has_more {
            return changes;
        }
    }
}

async fn u2_feeds_and_folders_write_changes(harness: &Harness) {
    let store = &harness.store;
    let mut follower = Follower::new(harness).await;
    let one = store.create_folder("one").await.unwrap().unwrap().id;
    follower.expect("a folder", &[(Feeds, None)]).await;
    store.create_folder("one").await.unwrap().unwrap_err();
    store.rename_folder(one, "one").await.unwrap();
    store.reorder_folders(&[one]).await.unwrap();
    follower.expect("what is so already", &[]).await;
    store.rename_folder(one, "other").await.unwrap();
    follower.expect("a name", &[(Feeds, None)]).await;
    let two = store.create_folder("two").await.unwrap().unwrap().id;
    follower.next().await;
    store.reorder_folders(&[two, one]).await.unwrap();
    follower.expect("an order", &[(Feeds, None)]).await;
    let seeds = || -> Vec<FeedSeed> {
        let in_folder = |url: String| FeedSeed { folder: Some("three".to_owned()), ..seed(&url) };
        (0..300).map(|number| in_folder(format!("http://i.org/{number}"))).collect()
    };
    store.import_feeds(seeds()).await.unwrap();
    let changes = follower.expect("an import", &[(Feeds, None)]).await;
    assert_eq!(changes[0].count, 300);
    store.import_feeds(seeds()).await.unwrap();
    follower.expect("an import of what is there", &[]).await;
    let feed = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    let changes = follower.expect("a feed", &[(Feeds, Some(feed)), (Entries, Some(feed))]).await;
    let entries = changes.iter().find(|change| change.kind == Entries).unwrap();
    let ids: BTreeSet<EntryId> = harness.all().await.iter().map(|entry| entry.id).collect();
    assert_eq!(entries.entries.iter().copied().collect::<BTreeSet<_>>(), ids);
    assert_eq!((entries.count, entries.at), (2, harness.now()));
    store.add_feed(new_feed("http://e.org/1", vec![entry("1")])).await.unwrap();
    store
        .add_feed(NewFeed { folder_id: Some(domain::FolderId(999)), ..new_feed("http://e.org/2", vec![]) })
        .await
        .unwrap();
    follower.expect("feeds that cannot be", &[]).await;
    let title = || FeedPatch { custom_title: Some(Some("mine".to_owned())), ..FeedPatch::default() };
    store.update_feed(feed, title()).await.unwrap();
    follower.expect("a title", &[(Feed, Some(feed))]).await;
    store.update_feed(feed, title()).await.unwrap();
    store.update_feed(FeedId(999), title()).await.unwrap();
    follower.expect("a title that it has", &[]).await;
    store.update_feed(feed, FeedPatch { folder_id: Some(Some(one)), ..FeedPatch::default() }).await.unwrap();
    follower.expect("a move", &[(Feed, Some(feed))]).await;
    assert!(store.delete_folder(one).await.unwrap());
    follower.expect("a folder that goes", &[(Feeds, None)]).await;
    assert!(store.delete_feed(feed).await.unwrap());
    follower.expect("a feed that goes", &[(Feeds, Some(feed))]).await;
    assert!(!store.delete_feed(feed).await.unwrap());
    assert!(!store.delete_folder(one).await.unwrap());
    follower.expect("what is gone", &[]).await;
}

async fn u2_polls_write_what_they_bring(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![entry("1")]).await;
    let mut follower = Follower::new(harness).await;
    harness.poll_unchanged(feed).await;
    harness.poll(feed, vec![entry("1")]).await;
    follower.expect("polls that bring nothing", &[]).await;
    harness.poll(feed, vec![entry("1"), entry("2")]).await;
    let changes = follower.expect("an entry", &[(Entries, Some(feed))]).await;
    assert_eq!(changes[0].entries, [harness.entry("2").await.id]);
    harness.advance(HOUR).await;
    harness.poll(feed, vec![version("1", "changed")]).await;
    let changes = follower.expect("an entry that changed", &[(Entries, Some(feed))]).await;
    assert_eq!(changes[0].entries, [harness.entry("1").await.id]);
    harness.fail_poll(feed).await;
    harness.fail_poll(feed).await;
    follower.expect("failures", &[]).await;
    harness.fail_poll(feed).await;
    follower.expect("a feed that fails", &[(Feed, Some(feed))]).await;
    harness.poll_unchanged(feed).await;
    follower.expect("a feed that is well again", &[(Feed, Some(feed))]).await;
    let job = harness.claim(feed).await;
    harness.finish(result(&job, PollOutcome::Gone("410".to_owned()))).await;
    follower.expect("a feed that is gone", &[(Feed, Some(feed))]).await;
    let job = harness.claim(feed).await;
    let moved = domain::ingest::PollResult {
        moved_to: Some(address("http://e.org/new")),
        ..result(&job, PollOutcome::Unchanged(Validators::default()))
    };
    harness.finish(moved).await;
    follower.expect("a feed that moved", &[(Feed, Some(feed))]).await;
    let late = result(&job, PollOutcome::Fetched(super::given::document(vec![entry("3")])));
    assert!(!harness.finish(late).await.applied);
    follower.expect("a lease that is lost", &[]).await;
    let imported = harness.import(&["http://i.org/"]).await[0];
    follower.next().await;
    harness.poll(imported, vec![entry("1")]).await;
    follower.expect("a title, and entries", &[(Entries, Some(imported)), (Feed, Some(imported))]).await;
}

async fn u2_marks_and_pruning_write_changes(harness: &Harness) {
    let many: Vec<_> = (0..150).map(|number| entry(&format!("m{number}"))).collect();
    let (one, two) = (harness.add("http://e.org/1", many).await, harness.add("http://e.org/2", vec![entry("2")]).await);
    let mut follower = Follower::new(harness).await;
    let (first, second) = (harness.entry("m1").await.id, harness.entry("2").await.id);
    let patch = |is_read| EntryPatch { is_read: Some(is_read), is_starred: None };
    harness.store.patch_entry(first, patch(true)).await.unwrap();
    let changes = follower.expect("an entry", &[(Marks, Some(one))]).await;
    assert_eq!((changes[0].count, &changes[0].entries), (1, &vec![first]));
    harness.store.patch_entry(first, patch(true)).await.unwrap();
    harness.store.patch_entries(&[first, EntryId(99_999)], patch(true)).await.unwrap();
    follower.expect("what is so already", &[]).await;
    harness.store.patch_entries(&[first, second], patch(true)).await.unwrap();
    let changes = follower.expect("one of two", &[(Marks, Some(two))]).await;
    assert_eq!(changes[0].entries, [second]);
    harness.store.patch_entries(&[first, second], patch(false)).await.unwrap();
    let changes = follower.expect("of two feeds", &[(Marks, None)]).await;
    assert_eq!(changes[0].entries.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from([first, second]));
    assert_eq!(harness.store.mark_read(MarkRead::default()).await.unwrap(), 151);
    let changes = follower.expect("all of them", &[(Marks, None)]).await;
    assert!(changes[0].count > ENTRIES_LISTED_MAX as u64 && changes[0].entries.is_empty(), "{changes:?}");
    assert_eq!(harness.store.mark_read(MarkRead::default()).await.unwrap(), 0);
    follower.expect("none of them", &[]).await;
    harness.advance(HOUR * 48).await;
    let limits = PruneLimits { read_older_than: HOUR, unread_older_than: None, per_feed: 1000, chunk: 1000 };
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 151);
    let changes = follower.expect("those that go", &[(Entries, None)]).await;
    assert_eq!(changes[0].count, 151);
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 0);
    follower.expect("none that go", &[]).await;
}

async fn u2_push_writes_changes(harness: &Harness) {
    let mut follower = Follower::new(harness).await;
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    follower.expect("a feed with a hub", &[(Feeds, Some(feed)), (Subscription, Some(feed))]).await;
    harness.done(id, asking("token")).await;
    follower.next().await;
    harness.done(id, verified(HUB_LEASE)).await;
    follower.expect("a hub that verifies", &[(Subscription, Some(feed))]).await;
    harness.push(push(id, "token", vec![entry("1")])).await;
    follower.expect("a push", &[(Entries, Some(feed))]).await;
    harness.push(push(id, "token", vec![entry("1")])).await;
    follower.expect("a push of what is there", &[]).await;
    let claimed = harness.claim_due("worker", 9).await;
    let leases: Vec<_> = claimed.iter().map(|job| (job.subscription.id, job.lease.clone())).collect();
    harness.store.release_subscriptions(&leases).await.unwrap();
    harness.store.poll_soon(feed, Duration::ZERO).await.unwrap();
    follower.expect("claims", &[]).await;
    harness.discover(feed, vec![], found(&[HUB], Some(TOPIC), "other")).await;
    follower.expect("a hub that is known", &[]).await;
    harness.store.stop_push().await.unwrap();
    follower.expect("push that ends", &[(Subscription, Some(feed))]).await;
    let feeds: Vec<(FeedId, SubscriptionId)> = {
        let mut feeds = Vec::new();
        for number in 0..3 {
            feeds.push(harness.pushed(&format!("http://p.org/{number}"), &format!("t{number}")).await);
        }
        feeds
    };
    follower.next().await;
    let pushes = (0..3).map(|number: usize| push(feeds[number].1, &format!("t{number}"), vec![entry("1"), entry("2")]));
    for stored in harness.store.push_all(pushes.collect()).await.unwrap() {
        stored.unwrap();
    }
    let changes =
        follower.expect("a batch", &feeds.iter().map(|(feed, _)| (Entries, Some(*feed))).collect::<Vec<_>>()).await;
    assert!(changes.iter().all(|change| change.count == 2 && change.entries.len() == 2), "{changes:?}");
    harness.store.delete_feed(feeds[0].0).await.unwrap();
    let gone = Some(feeds[0].0);
    follower.expect("a feed that goes", &[(Feeds, gone), (Subscription, gone)]).await;
}

async fn u2_webhooks_and_deliveries_write_changes(harness: &Harness) {
    let store = &harness.store;
    let feed = harness.add("http://e.org/1", vec![]).await;
    let mut follower = Follower::new(harness).await;
    let webhook = harness.webhook("https://r.org/1").await;
    follower.expect("a webhook", &[(Webhooks, None)]).await;
    let described = || WebhookPatch { description: Some(Some("mine".to_owned())), ..WebhookPatch::default() };
    store.update_webhook(webhook, described()).await.unwrap();
    follower.expect("a description", &[(Webhooks, None)]).await;
    store.update_webhook(webhook, described()).await.unwrap();
    follower.expect("one that it has", &[]).await;
    store.rotate_secret(webhook, secret("second"), HOUR).await.unwrap();
    follower.expect("a secret", &[(Webhooks, None)]).await;
    let queued = harness.queue_tests(webhook, 1).await.remove(0);
    follower.expect("a test", &[(Deliveries, None)]).await;
    let job = harness.take_one("worker").await;
    store.renew_deliveries(&[lease_of(&job)], HOUR).await.unwrap();
    harness.end(&job, Verdict::Delivered).await;
    follower.expect("a delivery that arrives", &[]).await;
    store.requeue_delivery(&queued.id).await.unwrap();
    follower.expect("once more", &[(Deliveries, None)]).await;
    store.cancel_delivery(&queued.id, "no").await.unwrap();
    follower.expect("called off", &[(Deliveries, None)]).await;
    store.cancel_delivery(&queued.id, "no").await.unwrap();
    store.requeue_delivery("dlv_none").await.unwrap();
    follower.expect("what cannot be", &[]).await;
    harness.poll(feed, (0..20).map(|number| entry(&number.to_string())).collect()).await;
    follower.expect("new entries", &[(Entries, Some(feed)), (Deliveries, None)]).await;
    let jobs = harness.take("worker", 2).await;
    harness.end(&jobs[0], Verdict::Retry(HOUR)).await;
    follower.expect("a delivery that is tried again", &[]).await;
    harness.end(&jobs[1], Verdict::Failed).await;
    follower.expect("one that is given up", &[(Deliveries, None)]).await;
    store.update_webhook(webhook, WebhookPatch { enabled: Some(false), ..WebhookPatch::default() }).await.unwrap();
    follower.expect("a webhook that is disabled", &[(Webhooks, None)]).await;
    assert!(store.delete_webhook(webhook).await.unwrap());
    follower.expect("a webhook that goes", &[(Webhooks, None)]).await;
    assert!(!store.delete_webhook(webhook).await.unwrap());
    follower.expect("one that is gone", &[]).await;
}

async fn u2_changes_are_all_or_nothing_with_their_rows(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![entry("1")]).await;
    let mut follower = Follower::new(harness).await;
    let id = harness.entry("1").await.id;
    let read = EntryPatch { is_read: Some(true), is_starred: None };
    harness.tamper("ALTER TABLE changes RENAME TO changes_away").await;
    harness.store.patch_entries(&[id], read).await.unwrap_err();
    harness.store.create_folder("one").await.unwrap_err();
    harness.tamper("ALTER TABLE changes_away RENAME TO changes").await;
    follower.expect("what failed", &[]).await;
    assert!(!harness.entry("1").await.is_read);
    assert_eq!(harness.store.folders().await.unwrap(), []);
    harness.store.patch_entries(&[id], read).await.unwrap();
    follower.expect("what did not", &[(Marks, Some(feed))]).await;
}

/// Readers that page along while many write, each in pages of another size, all hear the same.
async fn u2_pages_miss_and_repeat_nothing(harness: &Harness) {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 60;
    let mut entries = Vec::new();
    for writer in 0..WRITERS {
        let guid = format!("w{writer}");
        harness.add(&format!("http://e.org/{writer}"), vec![entry(&guid)]).await;
        entries.push(harness.entry(&guid).await.id);
    }
    let begin = harness.store.last_change().await.unwrap();
    let writers: Vec<_> = entries
        .into_iter()
        .map(|entry| {
            let store = harness.store.clone();
            tokio::spawn(async move {
                for round in 0..ROUNDS {
                    let patch = EntryPatch { is_read: Some(round % 2 == 0), is_starred: None };
                    assert_eq!(store.patch_entries(&[entry], patch).await.unwrap(), 1);
                }
            })
        })
        .collect();
    let (done, is_done) = tokio::sync::watch::channel(None);
    let readers: Vec<_> = [1, 2, 7, 100]
        .into_iter()
        .map(|limit| {
            let (store, is_done) = (harness.store.clone(), is_done.clone());
            tokio::spawn(async move {
                let (mut after, mut heard) = (begin, Vec::new());
                loop {
                    let last = *is_done.borrow();
                    let page = store.changes_after(after, limit).await.unwrap();
                    assert!(!page.is_reset);
                    assert!(page.changes.len() <= limit as usize);
                    heard.extend(page.changes);
                    after = page.next;
                    if last.is_some_and(|last| after >= last) {
                        return heard;
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    done.send_replace(Some(harness.store.last_change().await.unwrap()));
    let expect = all_after(&*harness.store, begin).await;
    assert!(expect.is_sorted_by(|one, other| one.number < other.number));
    for reader in readers {
        assert_eq!(reader.await.unwrap(), expect);
    }
}

async fn u2_pruned_changes_are_a_reset(harness: &Harness) {
    let store = &harness.store;
    let begin = store.last_change().await.unwrap();
    for name in ["1", "2"] {
        store.create_folder(name).await.unwrap().unwrap();
    }
    let old = store.last_change().await.unwrap();
    harness.advance(KEPT_FOR).await;
    assert_eq!(store.prune_changes(KEPT_FOR, 10).await.unwrap(), 0);
    store.create_folder("3").await.unwrap().unwrap();
    harness.advance(Duration::from_secs(1)).await;
    assert_eq!(store.prune_changes(KEPT_FOR, 1).await.unwrap(), 1);
    assert_eq!(store.prune_changes(KEPT_FOR, 10).await.unwrap(), 1);
    let last = store.last_change().await.unwrap();
    let page = store.changes_after(begin, 10).await.unwrap();
    assert_eq!((page.is_reset, page.next, page.changes.len()), (true, last, 0));
    let page = store.changes_after(old, 10).await.unwrap();
    assert_eq!((page.is_reset, page.next, page.changes.len()), (false, last, 1), "nothing after it is gone");
    let page = store.changes_after(ChangeNumber(last.0 + 1), 10).await.unwrap();
    assert_eq!((page.is_reset, page.next), (true, last), "of a database that was");
    // Also when nothing is left, a number is never given twice.
    harness.advance(KEPT_FOR * 2).await;
    assert_eq!(store.prune_changes(KEPT_FOR, 10).await.unwrap(), 1);
    assert_eq!(store.last_change().await.unwrap(), last);
    let page = store.changes_after(last, 10).await.unwrap();
    assert_eq!((page.is_reset, page.has_more, page.next), (false, false, last));
    store.create_folder("4").await.unwrap().unwrap();
    assert!(all_after(&**store, last).await[0].number > last);
}

async fn u2_unknown_kinds_are_passed_over(harness: &Harness) {
    let mut follower = Follower::new(harness).await;
    for name in ["1", "2"] {
        harness.store.create_folder(name).await.unwrap().unwrap();
    }
    harness.tamper(&format!("UPDATE changes SET kind = 'later' WHERE number <= {}", follower.after.0 + 1)).await;
    follower.expect("one that is known", &[(Feeds, None)]).await;
}

async fn d4_whoever_waits_is_woken_by_changes(harness: &Harness) {
    let store = harness.store.clone();
    let begin = store.last_change().await.unwrap();
    let waiting = tokio::spawn(async move {
        let mut seen = 0;
        while store.changes_after(begin, 1).await.unwrap().changes.is_empty() {
            seen = store.changed_since(seen).await;
        }
        seen
    });
    harness.store.create_folder("1").await.unwrap().unwrap();
    let seen = timeout(SOON, waiting).await.expect("it is woken").unwrap();
    // Whoever asks late knows at once.
    harness.store.create_folder("2").await.unwrap().unwrap();
    timeout(SOON, harness.store.changed_since(seen)).await.expect("at once");
}

async fn d4_whatever_can_be_claimed_is_a_change(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let feed = harness.add("http://e.org/1", vec![]).await;
    let mut follower = Follower::new(harness).await;
    let mut woken = async |by: &str| {
        let changes = follower.next().await;
        assert!(changes.iter().any(|change| change.kind == Deliveries), "not by {by}");
    };
    let queued = harness.queue(webhook, 1).await.remove(0);
    woken("a test").await;
    let job = harness.take_one("worker").await;
    harness.store.release_deliveries(&[lease_of(&job)]).await.unwrap();
    woken("what was released").await;
    let job = harness.take_one("worker").await;
    harness.end(&job, Verdict::Failed).await;
    woken("what was given up").await;
    harness.store.requeue_delivery(&queued.id).await.unwrap();
    woken("what was queued again").await;
    let job = harness.take_one("worker").await;
    harness.end(&job, Verdict::Failed).await;
    woken("what was given up again").await;
    harness.store.requeue_failed(webhook).await.unwrap();
    woken("all that failed, queued again").await;
    harness.drain().await;
    woken("a webhook that is well again").await;
    harness.poll(feed, vec![entry("1")]).await;
    woken("new entries").await;
    harness.drain().await;
    harness.store.replay(webhook, Timestamp::UNIX_EPOCH, None).await.unwrap();
    woken("a replay").await;
    for enabled in [false, true] {
        let patch = WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
        harness.store.update_webhook(webhook, patch).await.unwrap();
    }
    woken("a webhook that is enabled").await;
    harness.store.watch_clock().await.unwrap();
    harness.set(harness.after(-3600)).await;
    harness.store.watch_clock().await.unwrap().expect("it was set back");
    woken("a clock that was set back").await;
}
