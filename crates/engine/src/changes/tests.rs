//! Whoever follows the stream, on a store that may be away.

use domain::account::READER;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use domain::{
    EntryId, FeedId, NewFeed,
    changes::KEPT_FOR,
    delivery::{NewWebhook, WebhookSecret},
    entry::EntryPatch,
    feed_state::FeedAddress,
    ingest::{Document, Hash, IncomingEntry},
    ports::{NewFeedOutcome, Store, StoreError},
};
use jiff::{SignedDuration, Timestamp};
use testkit::{FreshPostgres, FreshSqlite, fresh_postgres, fresh_sqlite};

use super::*;

/// A store of each kind, and how its time is set.
struct Database {
    store: Arc<dyn Store>,
    kind: Kind,
}

enum Kind {
    Sqlite(FreshSqlite),
    Postgres(FreshPostgres),
}

async fn each() -> [Database; 2] {
    let (sqlite, postgres) = (fresh_sqlite().await, fresh_postgres().await);
    [
        Database { store: Arc::new(sqlite.store.clone()), kind: Kind::Sqlite(sqlite) },
        Database { store: Arc::new(postgres.store.clone()), kind: Kind::Postgres(postgres) },
    ]
}

impl Database {
    async fn set_now(&self, now: Timestamp) {
        match &self.kind {
            Kind::Sqlite(sqlite) => sqlite.set_now(now).await,
            Kind::Postgres(postgres) => postgres.set_now(now).await,
        }
    }
}

/// A store that can be away, and counts how often it is read.
struct Shaky {
    inner: Arc<dyn Store>,
    is_away: AtomicBool,
    reads: AtomicU64,
}

impl Shaky {
    fn new(database: &Database) -> Arc<Self> {
        let inner = Arc::clone(&database.store);
        Arc::new(Self { inner, is_away: AtomicBool::new(false), reads: AtomicU64::new(0) })
    }

    fn is_there(&self) -> StoreResult<()> {
        let is_away = self.is_away.load(Ordering::SeqCst);
        if is_away { Err(StoreError::Unavailable("as wanted".to_owned())) } else { Ok(()) }
    }
}

impl std::fmt::Debug for Shaky {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shaky").field("reads", &self.reads).finish_non_exhaustive()
    }
}

#[async_trait]
impl ChangeStore for Shaky {
    async fn last_change(&self) -> StoreResult<ChangeNumber> {
        self.is_there()?;
        self.inner.last_change().await
    }

    async fn changes_after(&self, after: ChangeNumber, limit: u32) -> StoreResult<ChangesPage> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.is_there()?;
        self.inner.changes_after(after, limit).await
    }

    async fn changed_since(&self, seen: u64) -> u64 {
        self.inner.changed_since(seen).await
    }

    async fn prune_changes(&self, older_than: Duration, limit: u32) -> StoreResult<u64> {
        self.inner.prune_changes(older_than, limit).await
    }
}

/// A feed with one entry; marking that is a change, each time.
async fn one_entry(store: &dyn Store) -> (FeedId, EntryId) {
    let entry = IncomingEntry { guid: "1".to_owned(), identity: Hash::of(b"1"), ..IncomingEntry::default() };
    let document = Document { entries: vec![entry], is_complete: true, ..Document::default() };
    let address = FeedAddress { url: "http://e.org/".to_owned(), credentials: None };
    let next_check_in = Duration::from_hours(1);
    let new = NewFeed { address, folder_id: None, custom_title: None, document, next_check_in };
    let NewFeedOutcome::Added(feed) = store.add_feed(READER, new).await.unwrap() else { panic!("it was not added") };
    let entries = store.entries(READER, &domain::EntryFilter::default(), 1, None).await.unwrap().entries;
    (feed.id, entries[0].id)
}

/// Marks an entry so many times, each time otherwise.
async fn mark(store: &dyn Store, entry: EntryId, times: usize) {
    let mut is_read = store.entry(READER, entry).await.unwrap().unwrap().is_read;
    for _ in 0..times {
        is_read = !is_read;
        let patch = EntryPatch { is_read: Some(is_read), is_starred: None };
        assert_eq!(store.patch_entries(READER, &[entry], patch).await.unwrap(), 1);
    }
}

fn numbers(heard: &Heard) -> Vec<ChangeNumber> {
    match heard {
        Heard::Changes(changes) => changes.iter().map(|change| change.number).collect(),
        Heard::Reset(number) => panic!("a reset to {number}"),
    }
}

/// Listens until so many changes were heard.
async fn hear(listener: &mut ChangeListener, count: usize) -> Vec<ChangeNumber> {
    let mut heard = Vec::new();
    while heard.len() < count {
        heard.extend(numbers(&listener.next().await));
    }
    heard
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_listener_is_reset_first_then_hears_changes() {
    for database in each().await {
        let (feed, entry) = one_entry(&*database.store).await;
        let stream = ChangeStream::new(Shaky::new(&database));
        let mut listener = stream.listen(None);
        let last = database.store.last_change().await.unwrap();
        assert_eq!(listener.next().await, Heard::Reset(last));
        mark(&*database.store, entry, 1).await;
        let Heard::Changes(heard) = listener.next().await else { panic!("a reset") };
        assert_eq!(heard.len(), 1);
        let one = &heard[0];
        assert_eq!((one.kind, one.feed_id, one.count, &one.entries), (ChangeKind::Marks, Some(feed), 1, &vec![entry]));
        assert_eq!(listener.position(), Some(one.number));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_many_listeners_share_one_read() {
    const LISTENERS: usize = 50;
    for database in each().await {
        let (_, entry) = one_entry(&*database.store).await;
        let store = Shaky::new(&database);
        let stream = ChangeStream::new(Arc::<Shaky>::clone(&store));
        let mut listeners: Vec<ChangeListener> = (0..LISTENERS).map(|_| stream.listen(None)).collect();
        for listener in &mut listeners {
            listener.next().await;
        }
        mark(&*database.store, entry, 3).await;
        for listener in &mut listeners {
            assert_eq!(hear(listener, 3).await.len(), 3);
        }
        // Some more where the second has passed meanwhile.
        assert!(store.reads.load(Ordering::SeqCst) < 20, "{store:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_resumed_listener_hears_each_change_once() {
    for database in each().await {
        let (_, entry) = one_entry(&*database.store).await;
        let begin = database.store.last_change().await.unwrap();
        mark(&*database.store, entry, 5).await;
        // A process that begins now has read nothing of that.
        let stream = ChangeStream::new(Shaky::new(&database));
        let first = hear(&mut stream.listen(Some(begin)), 5).await;
        let mut listener = stream.listen(Some(first[1]));
        mark(&*database.store, entry, 2).await;
        let second = hear(&mut listener, 5).await;
        assert_eq!(second[..3], first[2..]);
        assert!(second.is_sorted(), "{second:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_listener_that_lags_too_far_is_reset() {
    for database in each().await {
        let (_, entry) = one_entry(&*database.store).await;
        let stream = ChangeStream::new(Shaky::new(&database));
        let (mut quick, mut slow) = (stream.listen(None), stream.listen(None));
        quick.next().await;
        slow.next().await;
        mark(&*database.store, entry, RECENT_MAX + 1).await;
        assert_eq!(hear(&mut quick, RECENT_MAX + 1).await.len(), RECENT_MAX + 1, "it misses nothing");
        assert_eq!(slow.next().await, Heard::Reset(database.store.last_change().await.unwrap()));
        assert!(stream.recent.lock().await.as_ref().unwrap().changes.len() <= RECENT_MAX);
        mark(&*database.store, entry, 1).await;
        assert_eq!(hear(&mut slow, 1).await, hear(&mut quick, 1).await, "both go on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_pruned_or_foreign_places_are_reset() {
    for database in each().await {
        let start = Timestamp::from_second(1_767_268_800).unwrap();
        database.set_now(start).await;
        let (_, entry) = one_entry(&*database.store).await;
        let begin = database.store.last_change().await.unwrap();
        mark(&*database.store, entry, 2).await;
        database.set_now(start + SignedDuration::try_from(KEPT_FOR).unwrap() + SignedDuration::from_secs(1)).await;
        assert!(prune::prune(&*database.store).await.unwrap() > 0);
        let last = database.store.last_change().await.unwrap();
        let stream = ChangeStream::new(Shaky::new(&database));
        for place in [begin, ChangeNumber(last.0 + 1)] {
            assert_eq!(stream.listen(Some(place)).next().await, Heard::Reset(last), "{place}");
        }
        let mut listener = stream.listen(Some(last));
        mark(&*database.store, entry, 1).await;
        assert_eq!(hear(&mut listener, 1).await, [ChangeNumber(last.0 + 1)], "it has missed nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_stream_goes_on_after_a_lost_store() {
    for database in each().await {
        let (_, entry) = one_entry(&*database.store).await;
        let store = Shaky::new(&database);
        let stream = ChangeStream::new(Arc::<Shaky>::clone(&store));
        let mut listener = stream.listen(None);
        listener.next().await;
        store.is_away.store(true, Ordering::SeqCst);
        let reads = store.reads.load(Ordering::SeqCst);
        let waiting = tokio::spawn(async move { (hear(&mut listener, 3).await, listener) });
        mark(&*database.store, entry, 3).await;
        while store.reads.load(Ordering::SeqCst) == reads {
            tokio::task::yield_now().await;
        }
        assert!(!waiting.is_finished());
        store.is_away.store(false, Ordering::SeqCst);
        assert_eq!(waiting.await.unwrap().0.len(), 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_only_deliveries_wake_whoever_delivers() {
    for database in each().await {
        let (_, entry) = one_entry(&*database.store).await;
        let stream = ChangeStream::new(Shaky::new(&database));
        let mut listener = stream.listen(None);
        listener.next_of(ChangeKind::Deliveries).await;
        let store = Arc::clone(&database.store);
        let waiting = tokio::spawn(async move {
            listener.next_of(ChangeKind::Deliveries).await;
            listener.position()
        });
        mark(&*store, entry, 2).await;
        store.create_folder(READER, "one").await.unwrap().unwrap();
        let secret = WebhookSecret::parse("whsec_AAAAAAAA").unwrap();
        let webhook = store.create_webhook(READER, NewWebhook::to("https://r.org/", secret));
        let webhook = webhook.await.unwrap().id;
        let before = store.last_change().await.unwrap();
        store.test_webhook(READER, webhook).await.unwrap();
        assert!(waiting.await.unwrap() > Some(before));
    }
}

/// A store whose stream stands still, as when somebody with a smaller number does not commit.
#[derive(Debug)]
struct Still {
    last: ChangeNumber,
    has_more: bool,
    reads: AtomicU64,
}

impl Still {
    fn new(last: i64, has_more: bool) -> Arc<Self> {
        Arc::new(Self { last: ChangeNumber(last), has_more, reads: AtomicU64::new(0) })
    }
}

#[async_trait]
impl ChangeStore for Still {
    async fn last_change(&self) -> StoreResult<ChangeNumber> {
        Ok(self.last)
    }

    async fn changes_after(&self, after: ChangeNumber, _: u32) -> StoreResult<ChangesPage> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        Ok(ChangesPage { next: after, has_more: self.has_more, ..ChangesPage::default() })
    }

    async fn changed_since(&self, _: u64) -> u64 {
        std::future::pending().await
    }

    async fn prune_changes(&self, _: Duration, _: u32) -> StoreResult<u64> {
        Ok(0)
    }
}

#[tokio::test]
async fn u2_unsettled_writer_is_looked_for_once_for_all() {
    const LOOKS: usize = 50;
    let store = Still::new(5, true);
    let stream = ChangeStream::new(Arc::<Still>::clone(&store));
    stream.look(None, 0).await.unwrap();
    // A hint: what it tells is not settled.
    stream.look(Some(ChangeNumber(5)), 1).await.unwrap();
    let begun = Instant::now();
    for _ in 0..LOOKS {
        let found = stream.look(Some(ChangeNumber(5)), 1).await.unwrap();
        assert!(found.heard.is_none() && found.pause <= HELD_UP, "{found:?}");
    }
    let due = begun.elapsed().as_millis() / HELD_UP.as_millis() + 2;
    let reads = store.reads.load(Ordering::SeqCst);
    assert!(u128::from(reads) <= due, "{reads} reads where {due} were due");
}

#[tokio::test]
async fn u2_listener_ahead_of_what_was_read_waits_for_a_hint() {
    for (has_more, pause) in [(false, LOOK_EVERY), (true, HELD_UP)] {
        let stream = ChangeStream::new(Still::new(5, has_more));
        stream.look(None, 0).await.unwrap();
        let found = stream.look(Some(ChangeNumber(10)), 0).await.unwrap();
        assert_eq!((found.heard, found.next, found.pause), (None, ChangeNumber(10), pause), "{has_more}");
    }
}

#[test]
fn u2_full_pages_are_read_on_at_once() {
    let change = |number| Change {
        number: ChangeNumber(number),
        kind: ChangeKind::Feeds,
        account_id: None,
        feed_id: None,
        count: 0,
        entries: Vec::new(),
        at: Timestamp::UNIX_EPOCH,
    };
    let full = i64::from(READ_MAX);
    for (count, has_more, due_after) in [
        (full, true, Duration::ZERO),
        (full, false, LOOK_EVERY),
        (1, true, HELD_UP),
        (0, true, HELD_UP),
        (0, false, LOOK_EVERY),
    ] {
        let changes: Vec<Change> = (1..=count).map(change).collect();
        let mut recent = Recent::new(ChangeNumber(0), 0);
        recent.take(ChangesPage { changes, next: ChangeNumber(count), has_more, is_reset: false });
        assert_eq!(recent.due_after, due_after, "{count} {has_more}");
    }
}
