//! What is kept twice agrees, whatever happened: counts, folders, texts, words.

use std::time::Duration;

use domain::{
    AccountId, FeedId, FeedPatch, NewFeed,
    account::{AccountName, NewAccount, READER},
    feed_state::FeedAddress,
    follow::NewFollow,
    ingest::{Document, Hash, IncomingEntry, PollOutcome, PollResult, PushDiscovery},
    ports::{
        AccountStore, Changed, Claim, EntryStore, FeedStore, FolderStore, MarkRead, NewFeedOutcome, PollStore,
        PruneLimits, PushStore,
    },
    push::{Discovery, Mode, Offer, Push, PushStored, RenewalRules, SubscriptionEvent},
};

use super::fresh;
use crate::sqlite::SqliteStore;

/// Each counts rows that should not be there.
const VIOLATIONS: [(&str, &str); 12] = [
    (
        "counts",
        "
SELECT count(*)
FROM follows
WHERE unread_count <> (
    SELECT count(*)
    FROM entry_states
    WHERE feed_id = follows.feed_id
      AND account_id = follows.account_id
      AND is_read = 0
)",
    ),
    (
        "stars",
        "
SELECT count(*)
FROM accounts
WHERE starred_count <> (SELECT count(*) FROM entry_states WHERE account_id = accounts.id AND is_starred = 1)
  AND deleted_at IS NULL",
    ),
    (
        "sizes",
        "
SELECT count(*)
FROM feeds
WHERE entry_count <> (SELECT count(*) FROM entries WHERE feed_id = feeds.id AND is_kept = 0)",
    ),
    (
        "folders",
        "
SELECT count(*)
FROM entry_states
JOIN follows USING (feed_id, account_id)
WHERE entry_states.folder_id IS NOT follows.folder_id",
    ),
    (
        "states",
        "
SELECT count(*)
FROM entry_states
JOIN entries ON entries.id = entry_id
LEFT JOIN follows ON follows.feed_id = entries.feed_id AND follows.account_id = entry_states.account_id
WHERE entry_states.feed_id <> entries.feed_id
   OR entry_states.sort_at <> entries.sort_at
   OR follows.feed_id IS NULL",
    ),
    (
        "entries that nobody has and that are not kept, or the other way round",
        "SELECT count(*) FROM entries WHERE is_kept = EXISTS (SELECT 1 FROM entry_states WHERE entry_id = entries.id)",
    ),
    (
        "feeds that nobody follows",
        "SELECT count(*) FROM feeds WHERE NOT EXISTS (SELECT 1 FROM follows WHERE feed_id = feeds.id)",
    ),
    (
        "settings of follows",
        "
SELECT count(*)
FROM feeds
WHERE poll_interval_secs IS NOT (SELECT min(poll_interval_secs) FROM follows WHERE feed_id = feeds.id)
   OR push_enabled IS NOT (SELECT max(push_enabled) FROM follows WHERE feed_id = feeds.id)",
    ),
    (
        "texts",
        "
SELECT count(*)
FROM entries
FULL JOIN entry_bodies ON entry_id = id
WHERE entry_id IS NULL
   OR id IS NULL",
    ),
    (
        "words",
        "
SELECT count(*)
FROM entries
FULL JOIN entry_words ON entry_id = entries.id
FULL JOIN entry_grams_docsize AS grams ON grams.id = entries.id
WHERE entry_id IS NULL
   OR entries.id IS NULL
   OR (grams.id IS NULL AND entries.id <= (SELECT coalesce(max(id), 0) FROM entry_grams_docsize))",
    ),
    ("pruned", "SELECT count(*) FROM pruned_entries JOIN entries USING (feed_id, identity)"),
    (
        "trust",
        "
SELECT count(*)
FROM feeds
WHERE is_pushed <> EXISTS (
    SELECT 1
    FROM subscriptions
    WHERE feed_id = feeds.id
      AND is_current = 1
      AND state = 'active'
      AND misses_in_row < 2
)",
    ),
];

pub(super) async fn agree(store: &SqliteStore, after: &str) {
    for (what, sql) in VIOLATIONS {
        let count = store.readers.read(move |connection| connection.query_row(sql, [], |row| row.get::<_, i64>(0)));
        assert_eq!(count.await.unwrap(), 0, "{what} after {after}");
    }
    let check = "INSERT INTO entry_grams (entry_grams) VALUES ('integrity-check')";
    let checked = store
        .writer
        .write(crate::sqlite::shared::queue::Priority::Usual, move |changes| changes.connection.execute(check, []));
    checked.await.unwrap();
}

pub(super) fn document(numbers: std::ops::Range<u8>, version: &str) -> Document {
    let entry = |number: u8| IncomingEntry {
        guid: number.to_string(),
        identity: Hash::of(&[number]),
        fingerprint: Hash::of(version.as_bytes()),
        search_text: format!("entry {number} {version}"),
        ..IncomingEntry::default()
    };
    let entries: Vec<_> = numbers.map(entry).collect();
    Document {
        present: entries.iter().map(IncomingEntry::key).collect(),
        entries,
        is_complete: true,
        ..Document::default()
    }
}

pub(super) async fn add(store: &SqliteStore, url: &str) -> FeedId {
    let new = NewFeed {
        address: FeedAddress { url: url.to_owned(), credentials: None },
        folder_id: None,
        custom_title: None,
        document: document(0..40, "first"),
        next_check_in: Duration::ZERO,
    };
    match store.add_feed(READER, new).await.unwrap() {
        NewFeedOutcome::Added(feed) => feed.id,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn poll(store: &SqliteStore, id: FeedId, document: Document) {
    let job = store.claim_polls("worker", &[id], Duration::from_secs(1)).await.unwrap().remove(0);
    let result = PollResult {
        feed_id: id,
        lease: job.lease,
        claimed_at: job.claimed_at,
        next_check_in: Duration::ZERO,
        next_audit_in: Duration::from_hours(24),
        due_by: None,
        adaptive_secs: 1,
        moved_to: None,
        outcome: PollOutcome::Fetched(document),
    };
    assert!(store.finish_polls(vec![result]).await.unwrap()[0].as_ref().unwrap().applied);
}

#[tokio::test]
async fn what_is_kept_twice_agrees() {
    let (store, _folder) = fresh();
    let (one, two) = (add(&store, "http://e.org/1").await, add(&store, "http://e.org/2").await);
    agree(&store, "adding").await;
    let name = AccountName::parse("ann").unwrap();
    let ann = NewAccount { name, password_hash: None, is_admin: false };
    let ann = store.create_account(ann).await.unwrap().unwrap().id;
    for url in ["http://e.org/1", "http://e.org/2"] {
        let address = FeedAddress { url: url.to_owned(), credentials: None };
        store.follow(ann, NewFollow { address, folder_id: None, custom_title: None }).await.unwrap();
    }
    agree(&store, "following").await;
    let folder = store.create_folder(READER, "News").await.unwrap().unwrap().id;
    store.update_feed(READER, one, FeedPatch { folder_id: Some(Some(folder)), ..FeedPatch::default() }).await.unwrap();
    agree(&store, "moving").await;
    poll(&store, one, document(20..60, "second")).await;
    agree(&store, "polling").await;
    store.mark_read(READER, MarkRead { feed_id: Some(one), ..MarkRead::default() }).await.unwrap();
    agree(&store, "marking").await;
    let hour = Duration::from_hours(1);
    let limits = PruneLimits { read_older_than: hour, unread_older_than: Some(hour), per_feed: 25, chunk: 10 };
    while store.prune_entries(limits).await.unwrap() > 0 {}
    agree(&store, "pruning").await;
    poll(&store, one, document(0..70, "third")).await;
    agree(&store, "polling what was pruned").await;
    push(&store, ann, one).await;
    store.delete_folder(READER, folder).await.unwrap();
    agree(&store, "deleting a folder").await;
    store.delete_feed(READER, two).await.unwrap();
    agree(&store, "leaving a feed").await;
    store.delete_feed(ann, two).await.unwrap();
    agree(&store, "deleting a feed").await;
    store.delete_feed(READER, one).await.unwrap();
    agree(&store, "leaving all").await;
    store.delete_account(ann).await.unwrap();
    while store.prune_accounts(Duration::from_hours(1), 10).await.unwrap() > 0 {}
    agree(&store, "deleting all").await;
}

/// All that becomes of a subscription, from its first request to its end.
async fn push(store: &SqliteStore, ann: AccountId, feed: FeedId) {
    let discovery = Discovery { hubs: vec!["http://h.org/".to_owned()], topic: None };
    let offer = |token: &str| Offer { token: token.to_owned(), base_url: "http://we.org".to_owned() };
    let found =
        Some(PushDiscovery { discovery, offer: Some(offer("first")), push_may_take: domain::push::PUSH_MAY_TAKE });
    poll(store, feed, Document { found, ..document(0..70, "third") }).await;
    agree(store, "finding a hub").await;
    let id = store.subscription_of(feed).await.unwrap().unwrap().id;
    let change = |event: SubscriptionEvent| store.change_subscription(id, Claim::None, event, RenewalRules::default());
    let ask = SubscriptionEvent::Asking {
        mode: Mode::Subscribe,
        secret: Some("s".to_owned()),
        base_url: "http://we.org".to_owned(),
    };
    let verify = SubscriptionEvent::Verified { mode: Mode::Subscribe, lease_secs: None, only_if_asked: false };
    let deny = SubscriptionEvent::Denied { reason: None, only_if_asked: false };
    for event in [ask.clone(), verify.clone(), SubscriptionEvent::Missed, SubscriptionEvent::Missed, deny, ask, verify]
    {
        let name = format!("{event:?}");
        assert!(matches!(change(event).await.unwrap(), Changed::Done(_)), "{name}");
        agree(store, &name).await;
    }
    let pushed = |version| Push {
        subscription_id: id,
        secret: "s".to_owned(),
        document: document(60..90, version),
        poll_in: Some(Duration::from_secs(1)),
    };
    for version in ["third", "fourth"] {
        assert!(matches!(store.push(pushed(version)).await.unwrap(), PushStored::Stored(_)));
        agree(store, "a push").await;
    }
    let patch = FeedPatch { push_enabled: Some(false), ..FeedPatch::default() };
    store.update_feed(READER, feed, patch).await.unwrap();
    agree(store, "turning push off").await;
    // Until nobody wants it.
    assert!(matches!(store.push(pushed("fifth")).await.unwrap(), PushStored::Stored(_)));
    store.update_feed(ann, feed, FeedPatch { push_enabled: Some(false), ..FeedPatch::default() }).await.unwrap();
    agree(store, "turning push off for all").await;
    assert_eq!(store.push(pushed("sixth")).await.unwrap(), PushStored::NotActive);
}
