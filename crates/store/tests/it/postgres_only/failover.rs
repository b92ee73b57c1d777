//! A database that hangs, moves to another host, or has no connection left: no call waits for ever, the next host is tried,
//! and nothing that is set for one transaction is left to another (requirement P3).

use std::{sync::Arc, time::Duration};

use domain::{
    FeedId,
    account::READER,
    ports::{
        ChangeStore, DeliveryStore, EntryStore, FeedStore, FolderStore, MarkRead, PollStore, PruneLimits, Store,
        StoreError, StoreResult,
    },
};
use jiff::Timestamp;
use store::{
    PostgresOptions, PostgresStore,
    transfer::{Place, Purpose, Transfer},
};
use testkit::{FreshPostgres, Line, LineState, SimulatedClock, fresh_postgres};

use super::{
    LEASE,
    given_outbox::{claim, lease_of, limits, webhook},
    import, with_connections,
};

/// Far longer than any call may take, on a machine that is busy: it only ends a test that hangs.
const HANGS_AFTER: Duration = Duration::from_mins(2);

const ALL: MarkRead = MarkRead { feed_id: None, folder_id: None, before: None };

const PRUNE: PruneLimits =
    PruneLimits { read_older_than: Duration::ZERO, unread_older_than: None, per_feed: 10, chunk: 10 };

/// Both lines as hosts of one URL.
fn url_by(lines: [&Line; 2]) -> String {
    let [first, second] = lines.map(Line::url);
    let (_, second) = second.split_once('@').unwrap();
    let (second, _) = second.split_once('/').unwrap();
    let (head, database) = first.rsplit_once('/').unwrap();
    format!("{head},{second}/{database}")
}

async fn is_unavailable<T: std::fmt::Debug>(name: &str, call: impl Future<Output = StoreResult<T>>) {
    let answer = tokio::time::timeout(HANGS_AFTER, call).await;
    let answer = answer.unwrap_or_else(|_| panic!("{name} hangs"));
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{name}: {answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_no_call_waits_for_a_database_that_hangs() {
    let database = fresh_postgres().await;
    import(&database.store, 1).await;
    let id = webhook(&database.store, 1).await;
    let line = Line::to(database.url()).await;
    let options = PostgresOptions { pool_size: 12, ..PostgresOptions::default() };
    let store = PostgresStore::connect(line.url(), options).await.unwrap();
    let jobs = store.claim_due_polls("here", 1, LEASE).await.unwrap();
    let results: Vec<_> = jobs.iter().map(super::unchanged).collect();
    // Each has a connection that has just answered.
    let warm = || async { store.feeds(READER).await.unwrap().len() };
    assert_eq!(tokio::join!(warm(), warm(), warm(), warm()), (1, 1, 1, 1));
    line.set(LineState::Silent);
    let (now, one) = (Timestamp::UNIX_EPOCH, limits(1));
    tokio::join!(
        is_unavailable("a folder", store.create_folder(READER, "a")),
        is_unavailable("marks", store.mark_read(READER, ALL)),
        is_unavailable("feeds", store.delete_feed(READER, FeedId(1))),
        is_unavailable("claims of polls", store.claim_due_polls("here", 1, LEASE)),
        is_unavailable("results", store.finish_polls(results)),
        is_unavailable("claims", store.claim_deliveries("here", LEASE, &one)),
        is_unavailable("looks", store.next_delivery_in(&[])),
        is_unavailable("replays", store.replay(READER, id, now, None)),
        is_unavailable("pruning", store.prune_entries(PRUNE)),
        is_unavailable("changes", store.last_change()),
        is_unavailable("the clock", store.watch_clock()),
    );
    line.set(LineState::Up);
    while store.create_folder(READER, "b").await.is_err() {}
    assert_eq!(claim(&store, "here", 9).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_the_next_host_is_tried_when_one_hangs() {
    let database = fresh_postgres().await;
    let (first, second) = (Line::to(database.url()).await, Line::to(database.url()).await);
    first.set(LineState::Silent);
    let url = url_by([&first, &second]);
    let store = tokio::time::timeout(HANGS_AFTER, PostgresStore::connect(&url, PostgresOptions::default())).await;
    let store = store.expect("a host that hangs is passed over").unwrap();
    assert_eq!(store.ping().await, Ok(()));
    // And back.
    first.set(LineState::Up);
    second.set(LineState::Silent);
    let found_again = async { while store.create_folder(READER, "found again").await.is_err() {} };
    tokio::time::timeout(HANGS_AFTER, found_again).await.expect("the other is found by itself");
    assert_eq!(store.folders(READER).await.unwrap().len(), 1);
}

/// What the sessions of the store had set while they did something: by a trigger, and whenever they asked for the time.
async fn log_durability(database: &FreshPostgres) {
    let sql = "
CREATE TABLE durability (place bigint GENERATED ALWAYS AS IDENTITY, who text, setting text);
CREATE FUNCTION log_durability() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO durability (who, setting) VALUES (TG_ARGV[0], current_setting('synchronous_commit'));
    RETURN NEW;
END $$;
CREATE TRIGGER log_beats AFTER UPDATE OF lease_until ON deliveries
    FOR EACH ROW WHEN (NEW.lease_fence = OLD.lease_fence) EXECUTE FUNCTION log_durability('beat');
CREATE TRIGGER log_beats AFTER UPDATE OF lease_until ON feeds
    FOR EACH ROW WHEN (NEW.lease_fence = OLD.lease_fence) EXECUTE FUNCTION log_durability('beat');
CREATE OR REPLACE FUNCTION pirssonite_now_ms() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_query() LIKE '%transaction_read_only%' THEN
        INSERT INTO durability (who, setting) VALUES ('ping', current_setting('synchronous_commit'));
    END IF;
    RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
END $$";
    database.client().await.batch_execute(sql).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_what_is_set_for_beats_does_not_outlive_them() {
    let database = fresh_postgres().await;
    // Whatever the test's server does by itself.
    let durable =
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = on', current_database()); END $$";
    database.client().await.batch_execute(durable).await.unwrap();
    let store = database.another_store().await;
    import(&store, 1).await;
    webhook(&store, 1).await;
    let polls = store.claim_due_polls("here", 1, LEASE).await.unwrap();
    let polls: Vec<_> = polls.into_iter().map(|job| (job.feed_id, job.lease)).collect();
    let deliveries: Vec<_> = claim(&store, "here", 1).await.iter().map(lease_of).collect();
    log_durability(&database).await;
    // Pings have the connections of beats.
    for _ in 0..3 {
        assert_eq!(store.renew_deliveries(&deliveries, LEASE).await, Ok(vec![]));
        assert_eq!(store.renew_polls(&polls, LEASE).await, Ok(vec![]));
        assert_eq!(store.ping().await, Ok(()));
    }
    let rows = database.client().await.query("SELECT who, setting FROM durability ORDER BY place", &[]).await.unwrap();
    let seen: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let expect = |who: &str, setting: &str| (who.to_owned(), setting.to_owned());
    let round = [expect("beat", "off"), expect("beat", "off"), expect("ping", "on")];
    assert_eq!(seen, [round.clone(), round.clone(), round].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_a_request_waits_for_a_connection_where_the_server_has_none_left() {
    /// Those that a store has from the start, and two more.
    const CONNECTIONS: usize = 6;
    let database = fresh_postgres().await;
    let admin = database.client().await;
    let role = format!("pirssonite_few_{}", std::process::id());
    let drop_role = format!("DROP ROLE IF EXISTS {role}");
    admin.batch_execute(&drop_role).await.unwrap();
    let owner: String = admin.query_one("SELECT current_user", &[]).await.unwrap().get(0);
    let create = format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT {CONNECTIONS} IN ROLE \"{owner}\"");
    admin.batch_execute(&create).await.unwrap();
    let (scheme, rest) = database.url().split_once("://").unwrap();
    let (_, host) = rest.split_once('@').unwrap();
    let store = PostgresStore::connect(&format!("{scheme}://{role}@{host}"), with_connections(20)).await.unwrap();
    let made: Vec<_> = (0..20)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.create_folder(READER, &format!("folder {number}")).await })
        })
        .collect();
    for made in made {
        assert!(made.await.unwrap().unwrap().is_ok());
    }
    drop(store);
    while admin.batch_execute(&drop_role).await.is_err() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_claims_do_not_look_at_webhooks_without_deliveries() {
    const WEBHOOKS: usize = 300;
    let database = fresh_postgres().await;
    let crowd = database.another_store().await;
    for _ in 0..WEBHOOKS {
        webhook(&crowd, 0).await;
    }
    let id = webhook(&crowd, 3).await;
    drop(crowd);
    let backends_before = super::plans::reset_scans(&database).await;
    let store = database.another_store().await;
    for _ in 0..3 {
        let jobs = claim(&store, "here", 1).await;
        assert_eq!(jobs.iter().map(|job| job.webhook_id).collect::<Vec<_>>(), [id]);
        store.next_delivery_in(&[]).await.unwrap();
    }
    drop(store);
    let admin = database.client().await;
    while super::plans::backends(&admin).await > backends_before {}
    let sql = "SELECT sum(idx_scan)::bigint FROM pg_stat_user_indexes WHERE relname = 'deliveries'";
    let scans: i64 = admin.query_one(sql, &[]).await.unwrap().get(0);
    assert!(scans < 150, "{scans} scans for {WEBHOOKS} webhooks");
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_p4_a_backup_ends_when_the_database_falls_silent() {
    let database = fresh_postgres().await;
    import(&database.store, 1).await;
    let (line, folder) = (Line::to(database.url()).await, tempfile::tempdir().unwrap());
    let transfer = Transfer {
        from: Place::Postgres(line.url().to_owned()),
        to: Place::Sqlite(folder.path().join("backup.db")),
        purpose: Purpose::Backup,
        replace: false,
        clock: Arc::new(SimulatedClock::default()),
    };
    // Other tables follow the first.
    let silence = |_| {
        line.set(LineState::Silent);
    };
    let ended = tokio::time::timeout(HANGS_AFTER, transfer.run(&silence)).await;
    assert!(matches!(ended, Ok(Err(_))), "{ended:?}");
}
