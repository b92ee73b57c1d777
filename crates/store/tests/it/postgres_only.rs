//! What only PostgreSQL can get wrong: many nodes, lost connections, plans, locks.

#![expect(clippy::unwrap_used, reason = "a test fails where something is not as it should be")]

mod accounts;
mod beats;
mod changes;
mod deadlocks;
mod failover;
mod figures;
mod given_outbox;
mod given_push;
mod locks;
mod mark_locks;
mod outbox;
mod outbox_deadlocks;
mod outbox_plans;
mod plans;
mod pooler;
mod push;
mod race;
mod replays;
mod restore;
mod snapshots;

use std::time::Duration;

use domain::{
    EntryFilter, FeedId, FeedPatch, FeedSeed,
    account::READER,
    feed_state::FeedAddress,
    ingest::{Document, Hash, IncomingEntry, PollJob, PollOutcome, PollResult, Validators},
    ports::{
        DeliveryStore, EntryStore, FeedStore, FolderStore, ImportOutcome, MarkRead, PollStore, PruneLimits, Store,
        StoreError, Viewer,
    },
};
use store::{OpenError, PostgresOptions, PostgresStore};
use testkit::{FreshPostgres, drop_database, empty_database, fresh_postgres, url_of};
use tokio_postgres::{Client, Transaction};

/// Longer than any machine stands still: none of these tests waits for its end.
const LEASE: Duration = Duration::from_mins(2);

#[tokio::test(flavor = "multi_thread")]
async fn many_nodes_migrate_at_once() {
    let name = empty_database().await;
    let url = url_of(&name);
    let nodes: Vec<_> = (0..8)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { PostgresStore::connect(&url, with_connections(1)).await })
        })
        .collect();
    for node in nodes {
        let store = node.await.unwrap().unwrap();
        assert_eq!(store.ping().await, Ok(()));
    }
    drop_database(&name).await;
}

#[tokio::test]
async fn p2_a_database_of_a_later_version_is_refused() {
    let database = fresh_postgres().await;
    let later = "INSERT INTO schema_migrations (version, name, applied_at, checksum) VALUES (9999, 'later', 0, '')";
    database.client().await.batch_execute(later).await.unwrap();
    let error = PostgresStore::connect(database.url(), with_connections(1)).await.unwrap_err();
    assert!(matches!(error, OpenError::TooNew { found: 9999, .. }), "{error}");
}

#[tokio::test]
async fn p3_a_missing_database_is_reported_with_its_cause() {
    let url = "postgres://nobody@127.0.0.1:1/nothing";
    let error = PostgresStore::connect(url, PostgresOptions::default()).await.unwrap_err();
    assert!(matches!(error, OpenError::Unavailable(_)), "{error}");
    assert!(error.to_string().contains("Connection refused"), "{error}");
    let url = url_of("no_such_database");
    let error = PostgresStore::connect(&url, with_connections(1)).await.unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_never_claim_the_same_feed() {
    const FEEDS: usize = 200;
    let database = fresh_postgres().await;
    import(&database.store, FEEDS).await;
    let claim = |store: PostgresStore, owner: String, limit| async move {
        let jobs = store.claim_due_polls(&owner, limit, LEASE).await.unwrap();
        jobs.into_iter().map(|job| job.feed_id).collect()
    };
    race::each_is_claimed_once(&database, FEEDS, claim).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_database_is_unavailable_and_then_there_again() {
    let database = fresh_postgres().await;
    import(&database.store, 3).await;
    let admin = database.client().await;

    // A statement that waits for a lock when its connection dies.
    admin.batch_execute("BEGIN; LOCK TABLE feeds IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let store = database.store.clone();
    let waiting = tokio::spawn(async move { store.feeds(READER).await });
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while admin.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    end_connections(&admin).await;
    admin.batch_execute("COMMIT").await.unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");

    // All connections are gone; the store notices at the latest when it uses one.
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.push(database.store.feeds(READER).await.map(|feeds| feeds.len()));
    }
    assert_eq!(answers.last(), Some(&Ok(3)), "{answers:?}");
    assert!(answers.iter().all(|answer| matches!(answer, Ok(3) | Err(StoreError::Unavailable(_)))), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u6_a_database_that_takes_no_writes_is_not_ready() {
    let database = fresh_postgres().await;
    let admin = database.client().await;
    assert_eq!(database.store.ping().await, Ok(()));
    // As after a failover to a standby.
    let read_only = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$";
    admin.batch_execute(read_only).await.unwrap();
    end_connections(&admin).await;
    // The store notices at the latest when it has used all connections that are gone.
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.push(database.store.ping().await);
    }
    let last = answers.pop().unwrap().unwrap_err();
    assert!(matches!(&last, StoreError::Unavailable(reason) if reason.contains("read-only")), "{last}");
    let error = database.store.create_folder(READER, "a").await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u6_a_connection_that_ended_up_at_a_standby_is_not_kept() {
    let database = fresh_postgres().await;
    let admin = database.client().await;
    let writable = |is_so: bool| {
        let value = if is_so { "off" } else { "on" };
        format!(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = {value}', current_database()); END $$"
        )
    };
    // Whoever insists gets connections that take no writes.
    let url = format!("{}?target_session_attrs=any", database.url());
    let stores = [
        PostgresStore::connect(&url, with_connections(1)).await.unwrap(),
        PostgresStore::connect(database.url(), with_connections(1)).await.unwrap(),
    ];
    admin.batch_execute(&writable(false)).await.unwrap();
    end_connections(&admin).await;
    for store in &stores {
        while !matches!(store.create_folder(READER, "a").await, Err(StoreError::Unavailable(why)) if why.contains("read-only"))
        {
        }
    }
    // The primary is back behind the address.
    admin.batch_execute(&writable(true)).await.unwrap();
    for (place, store) in stores.iter().enumerate() {
        assert!(store.create_folder(READER, &format!("folder {place}")).await.unwrap().is_ok(), "{place}");
        assert_eq!(store.ping().await, Ok(()));
    }
}

/// How many wait for a lock on a table.
async fn waiting_for(lock: &Transaction<'_>, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '{table}'::regclass");
    lock.query_one(&sql, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn u8_searches_leave_connections_for_pages() {
    let database = fresh_postgres().await;
    import(&database.store, 1).await;
    let options = with_connections(2);
    let store = PostgresStore::connect(database.url(), options).await.unwrap();
    let mut admin = database.client().await;
    let lock = admin.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE entry_words IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let search = || {
        let store = store.clone();
        let words = EntryFilter { search: domain::Search::parse("some").unwrap(), ..EntryFilter::default() };
        tokio::spawn(async move { store.entries(READER, &words, 10, None).await })
    };
    let searches = [search(), search()];
    while waiting_for(&lock, "entry_words").await == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..10 {
        assert_eq!(store.entries(READER, &EntryFilter::default(), 10, None).await.unwrap().entries, []);
        assert_eq!(store.feeds(READER).await.unwrap().len(), 1);
    }
    assert_eq!(waiting_for(&lock, "entry_words").await, 1);
    lock.rollback().await.unwrap();
    for search in searches {
        assert_eq!(search.await.unwrap().unwrap().entries, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u8_overviews_leave_connections_for_pages() {
    let database = fresh_postgres().await;
    import(&database.store, 1).await;
    let options = with_connections(2);
    let store = PostgresStore::connect(database.url(), options).await.unwrap();
    let mut admin = database.client().await;
    for (table, is_outbox) in [("subscriptions", false), ("deliveries", true)] {
        let lock = admin.transaction().await.unwrap();
        lock.batch_execute(&format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).await.unwrap();
        let overview = || {
            let store = store.clone();
            tokio::spawn(async move {
                if is_outbox {
                    store.outbox_overview(Viewer::Server).await.map(drop)
                } else {
                    store.feed_overview().await.map(drop)
                }
            })
        };
        let overviews = [overview(), overview()];
        while waiting_for(&lock, table).await == 0 {
            tokio::task::yield_now().await;
        }
        for _ in 0..10 {
            assert_eq!(store.entries(READER, &EntryFilter::default(), 10, None).await.unwrap().entries, [], "{table}");
        }
        assert_eq!(waiting_for(&lock, table).await, 1, "{table}");
        lock.rollback().await.unwrap();
        for overview in overviews {
            overview.await.unwrap().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u6_busy_connections_do_not_make_the_database_look_away() {
    let database = fresh_postgres().await;
    let options = with_connections(2);
    let store = PostgresStore::connect(database.url(), options).await.unwrap();
    let mut admin = database.client().await;
    let lock = admin.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE folders IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let busy = ["a", "b"].map(|name| {
        let store = store.clone();
        tokio::spawn(async move { store.create_folder(READER, name).await })
    });
    // One waits for the table, the other for the one.
    let waiting = "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
                   WHERE NOT granted AND datname = current_database()";
    while lock.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.ping().await, Ok(()));
    assert_eq!(lock.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0), 2);
    lock.rollback().await.unwrap();
    for busy in busy {
        assert!(busy.await.unwrap().unwrap().is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn finishes_beats_and_readers_never_deadlock() {
    const FEEDS: usize = 60;
    let database = fresh_postgres().await;
    import(&database.store, FEEDS).await;
    let folder = database.store.create_folder(READER, "folder").await.unwrap().unwrap();
    let mut workers = Vec::new();
    for worker in 0..4_usize {
        let store = database.another_store().await;
        workers.push(tokio::spawn(async move {
            for round in 0..15_usize {
                let jobs = store.claim_due_polls(&format!("worker {worker}"), 20, LEASE).await.unwrap();
                let mut leases: Vec<_> = jobs.iter().map(|job| (job.feed_id, job.lease.clone())).collect();
                leases.reverse();
                let beating = store.renew_polls(&leases, LEASE);
                let results = jobs.iter().rev().enumerate();
                let results =
                    results.map(|(place, job)| if place % 3 == 0 { fetched(job, round) } else { unchanged(job) });
                let (beat, finished) = tokio::join!(beating, store.finish_polls(results.collect()));
                beat.unwrap();
                finished.unwrap().into_iter().for_each(|stored| assert!(stored.unwrap().applied));
            }
        }));
    }
    let store = database.another_store().await;
    let reader = tokio::spawn(async move {
        for round in 0..15_i64 {
            store.mark_read(READER, MarkRead::default()).await.unwrap();
            let folder_id = Some((round % 2 == 0).then_some(folder.id));
            for feed in 1..10 {
                let patch = FeedPatch { folder_id, ..FeedPatch::default() };
                store.update_feed(READER, FeedId(feed), patch).await.unwrap();
            }
            let limits = PruneLimits {
                read_older_than: Duration::ZERO,
                unread_older_than: (round % 3 == 0).then_some(Duration::ZERO),
                per_feed: 1,
                chunk: 50,
            };
            store.prune_entries(limits).await.unwrap();
        }
    });
    for worker in workers {
        worker.await.unwrap();
    }
    reader.await.unwrap();
    counts_agree(&database).await;
}

#[tokio::test]
async fn texts_that_only_postgresql_refuses_are_stored() {
    let database = fresh_postgres().await;
    import(&database.store, 1).await;
    let jobs = database.store.claim_due_polls("here", 1, LEASE).await.unwrap();
    let words: Vec<String> = (0..40_000).map(|number| format!("{number:x}")).collect();
    let long = IncomingEntry {
        guid: "long\0".repeat(2_000),
        identity: Hash::of(b"long"),
        title: Some("with\0nul".to_owned()),
        content: Some("\0".to_owned()),
        search_text: format!("{} {}", words.join(" "), "x".repeat(60_000)),
        ..IncomingEntry::default()
    };
    let document = Document { entries: vec![long], title: Some("\0".to_owned()), ..Document::default() };
    let result = PollResult { outcome: PollOutcome::Fetched(document), ..unchanged(&jobs[0]) };
    let stored = database.store.finish_polls(vec![result]).await.unwrap().remove(0).unwrap();
    assert_eq!(stored.new, 1);
    let filter = EntryFilter { search: domain::Search::parse("9c3f").unwrap(), ..EntryFilter::default() };
    let page = database.store.entries(READER, &filter, 1, None).await.unwrap();
    assert_eq!(page.entries[0].title.as_deref(), Some("withnul"));
}

/// Ends all other connections to the database, and waits until they have ended: a process is told, and ends a moment later.
async fn end_connections(admin: &Client) {
    let others = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let ended: Vec<i32> = admin.query(others, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    admin.execute("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", &[&ended]).await.unwrap();
    let left = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1)";
    while admin.query_one(left, &[&ended]).await.unwrap().get::<_, i64>(0) > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        // Inside a transaction it shows what it showed first.
        admin.batch_execute("SELECT pg_stat_clear_snapshot()").await.unwrap();
    }
}

/// So few connections, for which a machine that is busy may wait long.
fn with_connections(pool_size: usize) -> PostgresOptions {
    PostgresOptions { pool_size, connect_timeout: Duration::from_mins(1) }
}

async fn import(store: &PostgresStore, feeds: usize) {
    let seeds = (0..feeds)
        .map(|number| FeedSeed::new(FeedAddress { url: format!("https://example.org/{number}"), credentials: None }));
    let outcomes = store.import_feeds(READER, seeds.collect()).await.unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, ImportOutcome::Imported(_))));
}

fn unchanged(job: &PollJob) -> PollResult {
    PollResult {
        feed_id: job.feed_id,
        lease: job.lease.clone(),
        claimed_at: job.claimed_at,
        next_check_in: Duration::ZERO,
        next_audit_in: std::time::Duration::from_hours(24),
        due_by: None,
        adaptive_secs: 3600,
        moved_to: None,
        outcome: PollOutcome::Unchanged(Validators::default()),
    }
}

fn fetched(job: &PollJob, round: usize) -> PollResult {
    PollResult { outcome: PollOutcome::Fetched(entries_of(round)), ..unchanged(job) }
}

/// A complete document of a few entries.
fn entries_of(round: usize) -> Document {
    let entries: Vec<IncomingEntry> = (0..5)
        .map(|number| IncomingEntry {
            guid: format!("{number}"),
            identity: Hash::of(format!("{} {}", number, round / 2).as_bytes()),
            fingerprint: Hash::of(format!("{round}").as_bytes()),
            search_text: "some words".to_owned(),
            ..IncomingEntry::default()
        })
        .collect();
    let present = entries.iter().map(IncomingEntry::key).collect();
    Document { entries, present, is_complete: true, ..Document::default() }
}

/// What feeds, follows and accounts say of their entries is what there is, and nobody has what it should not.
async fn counts_agree(database: &FreshPostgres) {
    let sql = "
SELECT feeds.id
FROM feeds
WHERE entry_count <> (SELECT count(*) FROM entries WHERE feed_id = feeds.id AND NOT is_kept)
   OR NOT EXISTS (SELECT FROM follows WHERE feed_id = feeds.id)
   OR EXISTS (
       SELECT FROM follows
       WHERE feed_id = feeds.id
         AND unread_count <> (
             SELECT count(*)
             FROM entry_states
             WHERE entry_states.feed_id = feeds.id AND entry_states.account_id = follows.account_id AND NOT is_read
         )
   )
   OR EXISTS (
       SELECT FROM entry_states
       LEFT JOIN follows ON follows.feed_id = entry_states.feed_id AND follows.account_id = entry_states.account_id
       WHERE entry_states.feed_id = feeds.id
         AND (follows.feed_id IS NULL OR entry_states.folder_id IS DISTINCT FROM follows.folder_id)
   )
   OR EXISTS (
       SELECT FROM entries
       WHERE feed_id = feeds.id AND is_kept = EXISTS (SELECT FROM entry_states WHERE entry_id = entries.id)
   )
   OR EXISTS (
       SELECT FROM accounts
       WHERE starred_count <> (SELECT count(*) FROM entry_states WHERE account_id = accounts.id AND is_starred)
   )
   OR EXISTS (
       SELECT FROM entries
       LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
       LEFT JOIN entry_words ON entry_words.entry_id = entries.id
       WHERE feed_id = feeds.id AND (entry_bodies.entry_id IS NULL OR entry_words.entry_id IS NULL)
   )";
    let wrong = database.client().await.query(sql, &[]).await.unwrap();
    assert!(wrong.is_empty(), "{} feeds are wrong about their entries", wrong.len());
}
