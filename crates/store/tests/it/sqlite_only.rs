//! What only SQLite has: a folder that belongs to one process, a file that is opened again, a backup.

#![expect(clippy::unwrap_used, reason = "a test fails where something is not as it should be")]

mod webhooks;

use std::{path::Path, sync::Arc, time::Duration};

use domain::{
    Feed, NewFeed, SubscriptionId,
    account::READER,
    delivery::{ClaimLimits, NewWebhook, WebhookSecret},
    feed_state::FeedAddress,
    ingest::{Document, IncomingEntry, PushDiscovery},
    ports::{
        DeliveryStore, FeedStore, FolderStore, NewFeedOutcome, PollStore, PushStore, Store, StoreError, TestOutcome,
        Viewer,
    },
    push::{Discovery, Offer, Push},
};
use store::{OpenError, SqliteOptions, SqliteStore, Synchronous};
use testkit::{SimulatedClock, fresh_sqlite};

fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path, SqliteOptions::default(), Arc::new(SimulatedClock::default()))
}

async fn add(store: &SqliteStore, url: &str) -> Feed {
    let entry = IncomingEntry { guid: "1".to_owned(), search_text: "word".to_owned(), ..IncomingEntry::default() };
    let new = NewFeed {
        address: FeedAddress { url: url.to_owned(), credentials: Some("me:secret".to_owned()) },
        folder_id: None,
        custom_title: None,
        document: Document { present: vec![entry.key()], entries: vec![entry], ..Document::default() },
        next_check_in: Duration::from_mins(1),
    };
    match store.add_feed(READER, new).await.unwrap() {
        NewFeedOutcome::Added(feed) => *feed,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn u4_a_folder_belongs_to_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("made/on/demand");
    let store = open(&data).unwrap();
    let error = open(&data).unwrap_err();
    assert!(matches!(error, OpenError::InUse(_)), "{error}");
    assert!(error.to_string().contains("made/on/demand"), "{error}");
    assert_eq!(open(&data.join("pirssonite.db")).unwrap_err(), error, "also by the name of the file");
    // A clone is the same store: the folder is free when the last one goes.
    let clone = store.clone();
    drop(store);
    assert!(open(&data).is_err());
    assert_eq!(clone.ping().await, Ok(()));
    drop(clone);
    assert!(open(&data).is_ok());
}

#[tokio::test]
async fn u4_what_was_stored_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    assert_eq!(store.kind(), "SQLite");
    let feed = add(&store, "http://e.org/1").await;
    let made = store.create_folder(READER, "News").await.unwrap().unwrap();
    drop(store);
    for _ in 0..2 {
        let store = open(folder.path()).unwrap();
        assert_eq!(store.feeds(READER).await.unwrap(), std::slice::from_ref(&feed));
        assert_eq!(store.folders(READER).await.unwrap(), std::slice::from_ref(&made));
    }
    assert!(!folder.path().join("pirssonite.db-wal").exists(), "a closed store is one file");
}

#[tokio::test]
async fn p2_u4_a_file_of_a_later_version_or_of_another_kind_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    drop(open(&file).unwrap());
    let connection = rusqlite::Connection::open(&file).unwrap();
    let later = "INSERT INTO schema_migrations (version, name, applied_at, checksum) VALUES (9999, 'later', 0, '')";
    connection.execute_batch(later).unwrap();
    drop(connection);
    let error = open(&file).unwrap_err();
    assert!(matches!(error, OpenError::TooNew { found: 9999, known: 1.. }), "{error}");

    std::fs::write(&file, "this is a text and no database, however long it is. ".repeat(100)).unwrap();
    let error = open(&file).unwrap_err();
    assert!(matches!(error, OpenError::Unsuitable(_)), "{error}");
    // A folder whose parent is a file.
    let error = open(&file.join("data")).unwrap_err();
    assert!(matches!(error, OpenError::Unavailable(_)), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn f1_files_with_passwords_are_their_owners() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let store = open(&data).unwrap();
    add(&store, "http://e.org/1").await;
    SqliteStore::copy(&data, &folder.path().join("copy.db")).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for file in std::fs::read_dir(&data).unwrap().map(|file| file.unwrap().path()) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert_eq!(mode(&folder.path().join("copy.db")), 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn f6_a_backup_is_a_whole_store_of_one_moment() {
    let database = fresh_sqlite().await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("copy.db");
    let before = add(&database.store, "http://e.org/0").await;
    // While others write.
    let store = database.store.clone();
    let writes = tokio::spawn(async move {
        for number in 1..100 {
            add(&store, &format!("http://e.org/{number}")).await;
        }
    });
    let source = database.folder().to_owned();
    let copied = file.clone();
    tokio::task::spawn_blocking(move || SqliteStore::copy(&source, &copied)).await.unwrap().unwrap();
    writes.await.unwrap();
    let error = SqliteStore::copy(database.folder(), &file).unwrap_err();
    assert!(matches!(&error, StoreError::Failed(reason) if reason.contains("already exists")), "{error}");
    let nowhere = SqliteStore::copy(database.folder(), &place.path().join("no/such/folder.db"));
    assert!(nowhere.is_err());
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "one file, with nothing beside it");

    let copy = open(&file).unwrap();
    let feeds = copy.feeds(READER).await.unwrap();
    assert!(feeds.contains(&before));
    let counts = domain::ports::EntryStore::counts(&copy, READER).await.unwrap();
    assert_eq!(counts.total, u64::try_from(feeds.len()).unwrap());
    drop(copy);
    let check: String = rusqlite::Connection::open(&file)
        .and_then(|connection| connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
        .unwrap();
    assert_eq!(check, "ok");
}

#[tokio::test]
async fn synchronous_and_asynchronous_stores_hold_the_same() {
    for synchronous in [Synchronous::Full, Synchronous::Off] {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions { synchronous, readers: 0, slow_readers: 0 };
        let store = SqliteStore::open(folder.path(), options, Arc::new(SimulatedClock::default())).unwrap();
        let feed = add(&store, "http://e.org/1").await;
        assert_eq!(store.feeds(READER).await.unwrap(), [feed]);
        assert_eq!(store.commits(), 1);
    }
}

/// A feed with a subscription that is due.
async fn subscribe(store: &SqliteStore) -> SubscriptionId {
    let discovery = Discovery { hubs: vec!["http://h.org/".to_owned()], topic: None };
    let offer = Offer { token: "token".to_owned(), base_url: "http://we.org".to_owned() };
    let new = NewFeed {
        address: FeedAddress { url: "http://e.org/hub".to_owned(), credentials: None },
        folder_id: None,
        custom_title: None,
        document: Document {
            found: Some(PushDiscovery { discovery, offer: Some(offer), push_may_take: domain::push::PUSH_MAY_TAKE }),
            ..Document::default()
        },
        next_check_in: Duration::from_mins(1),
    };
    assert!(matches!(store.add_feed(READER, new).await.unwrap(), NewFeedOutcome::Added(_)));
    store.subscriptions(Viewer::Server).await.unwrap()[0].id
}

#[tokio::test]
async fn w8_leases_of_the_dead_are_cleared_at_the_start() {
    const LEASE: Duration = Duration::from_hours(1);
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    let id = subscribe(&store).await;
    let feed = store.subscription(id).await.unwrap().unwrap().feed_id.unwrap();
    for fence in 1..3 {
        let claimed = store.claim_due_subscriptions("dead", 10, LEASE, &[]).await.unwrap();
        assert_eq!(claimed.iter().map(|job| (job.subscription.id, job.lease.fence)).collect::<Vec<_>>(), [(id, fence)]);
        let polled = store.claim_polls("dead", &[feed], LEASE).await.unwrap();
        assert_eq!(polled.iter().map(|job| job.lease.fence).collect::<Vec<_>>(), [fence]);
        drop(store);
        store = open(folder.path()).unwrap();
    }
}

fn webhook() -> NewWebhook {
    NewWebhook::to("https://r.org/", WebhookSecret::parse("whsec_b2xk").unwrap())
}

#[tokio::test]
async fn fr_004_ac1_restart_frees_deliveries_and_keeps_ids_d7() {
    const LEASE: Duration = Duration::from_hours(1);
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    let webhook = store.create_webhook(READER, webhook()).await.unwrap().id;
    let TestOutcome::Queued(queued) = store.test_webhook(READER, webhook).await.unwrap() else {
        panic!("nothing was queued")
    };
    let limits = ClaimLimits { limit: 9, of: vec![], of_others: 9, ..ClaimLimits::default() };
    for fence in 1..3 {
        let claimed = store.claim_deliveries("dead", LEASE, &limits).await.unwrap().jobs;
        assert_eq!(claimed.iter().map(|job| job.lease.fence).collect::<Vec<_>>(), [fence]);
        assert_eq!(claimed[0].event_id, queued.event_id, "the same in every attempt, whoever makes it");
        drop(store);
        store = open(folder.path()).unwrap();
        let (shown, attempts) = store.delivery(READER, &queued.id).await.unwrap().unwrap();
        assert_eq!((shown, attempts), ((*queued).clone(), vec![]), "as it was before anybody had it");
    }
    // Another installation's ids are others.
    let other = fresh_sqlite().await.store;
    let id = other.create_webhook(READER, self::webhook()).await.unwrap().id;
    let TestOutcome::Queued(others) = other.test_webhook(READER, id).await.unwrap() else {
        panic!("nothing was queued")
    };
    assert_ne!((&others.id, &others.event_id), (&queued.id, &queued.event_id));
    assert_eq!(store.delivery(READER, &others.id).await.unwrap(), None);
}

#[tokio::test]
async fn w13_a_row_that_nobody_can_read_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let store = open(&file).unwrap();
    let id = subscribe(&store).await;
    let good = store.subscription(id).await.unwrap().unwrap();
    let feed = good.feed_id.unwrap();
    let person = rusqlite::Connection::open(&file).unwrap();
    for (column, bad) in [("asked", "nicely"), ("secrets", "[1]"), ("secrets", "{")] {
        let kept: Option<String> =
            person.query_row(&format!("SELECT {column} FROM subscriptions"), [], |row| row.get(0)).unwrap();
        let write = |value: Option<&str>| {
            person.execute(&format!("UPDATE subscriptions SET {column} = ?"), [value]).unwrap();
        };
        write(Some(bad));
        assert!(matches!(store.subscription(id).await, Err(StoreError::Failed(_))), "{column}: {bad}");
        assert!(store.subscriptions(Viewer::Server).await.is_err());
        assert!(store.feeds(READER).await.is_ok(), "only what is shown is read");
        let push =
            Push { subscription_id: id, secret: "secret".to_owned(), document: Document::default(), poll_in: None };
        assert!(matches!(store.push(push).await, Err(StoreError::Failed(_))));
        write(kept.as_deref());
        assert_eq!(store.subscription_of(feed).await, Ok(Some(good.clone())));
    }
    person.execute("UPDATE feeds SET hubs = 'none'", []).unwrap();
    let offer = Offer { token: "other".to_owned(), base_url: "http://we.org".to_owned() };
    assert!(matches!(store.subscribe(vec![(feed, offer)]).await, Err(StoreError::Failed(_))));
}
