//! Accounts: what is handed to many at once, and who waits for whom.

use std::time::Duration;

use domain::{
    AccountId, EntryFilter, EntryId, EntryPatch, FeedId, FeedPatch, FolderId,
    account::{AccountName, NewAccount, NewSession, READER, READER_NAME, SecretHash},
    feed_state::FeedAddress,
    follow::NewFollow,
    ingest::{Document, Hash, IncomingEntry, PollJob, PollOutcome, PollResult},
    ports::{
        AccountStore, EntryStore, FeedStore, FolderStore, FollowOutcome, MarkRead, PollStore, PruneLimits, PushStore,
        UpdateOutcome,
    },
};
use store::PostgresStore;
use testkit::{FreshPostgres, fresh_postgres};

use super::{
    LEASE, counts_agree, entries_of, fetched,
    given_push::{activated, push, subscribed},
    import,
    locks::while_waiting,
    plans::{backends, fill, reset_scans},
    unchanged,
};

const READ: EntryPatch = EntryPatch { is_read: Some(true), is_starred: Some(true) };

#[tokio::test(flavor = "multi_thread")]
async fn a6_one_statement_hands_an_entry_to_all_followers() {
    const FOLLOWERS: i64 = 1_000;
    let database = fresh_postgres().await;
    let store = &database.store;
    let feed = subscribed(store, 1).await[0];
    let id = activated(store, feed).await;
    followers(&database, feed, FOLLOWERS).await;
    let admin = database.client().await;
    // A statement that wrote less than all would be seen.
    let watch = "
CREATE TABLE handed (rows bigint);
CREATE FUNCTION note_handed() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO handed SELECT count(*) FROM new_rows; RETURN NULL; END $$;
CREATE TRIGGER handed AFTER INSERT ON entry_states REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_handed()";
    admin.batch_execute(watch).await.unwrap();
    store.push(push(id, 1)).await.unwrap();
    let job = store.claim_polls("here", &[feed], LEASE).await.unwrap().remove(0);
    store.finish_polls(vec![fetched(&job, 0)]).await.unwrap().remove(0).unwrap();
    let handed = admin.query("SELECT rows FROM handed WHERE rows > 0", &[]).await.unwrap();
    let handed: Vec<i64> = handed.iter().map(|row| row.get(0)).collect();
    assert_eq!(handed, [FOLLOWERS + 1, 5 * (FOLLOWERS + 1)]);
    counts_agree(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a6_marks_and_changed_entries_never_deadlock() {
    let database = fresh_postgres().await;
    let (feed, other) = (FeedId(1), database.client().await);
    import(&database.store, 1).await;
    followers(&database, feed, 2).await;
    let job = database.store.claim_polls("here", &[feed], LEASE).await.unwrap().remove(0);
    database.store.finish_polls(vec![fetched(&job, 0)]).await.unwrap().remove(0).unwrap();
    // In both orders. Whoever marks has locked its follow, or an entry too, when the other comes.
    let follow = "SELECT FROM follows WHERE account_id = 2 FOR NO KEY UPDATE";
    let first = "UPDATE entry_states SET is_read = is_read WHERE account_id = 2 AND entry_id = 1";
    for (round, begun) in [follow.to_owned(), format!("{follow}; {first}")].into_iter().enumerate() {
        other.batch_execute(&format!("BEGIN; {begun}")).await.unwrap();
        let job = database.store.claim_polls("here", &[feed], LEASE).await.unwrap().remove(0);
        let store = database.store.clone();
        let finished = async move { store.finish_polls(vec![changed(&job, round)]).await };
        let rest = "UPDATE entry_states SET is_read = is_read WHERE account_id = 2";
        let finished = while_waiting(&database, &other, rest, finished).await.unwrap().remove(0).unwrap();
        assert_eq!((finished.new, finished.changed), (1, 5));
    }

    let changes = "SELECT FROM feeds FOR NO KEY UPDATE; SELECT FROM follows ORDER BY account_id FOR NO KEY UPDATE";
    other.batch_execute(&format!("BEGIN; {changes}")).await.unwrap();
    let store = database.store.clone();
    let ids: Vec<EntryId> = (1..=5).rev().map(EntryId).collect();
    let patched = async move { store.patch_entries(AccountId(2), &ids, READ).await };
    let rest = "UPDATE entry_states SET modified_at = modified_at + 1";
    assert_eq!(while_waiting(&database, &other, rest, patched).await, Ok(5));
    counts_agree(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_a_login_waits_for_a_password_that_is_being_set() {
    let database = fresh_postgres().await;
    let (store, other) = (database.store.clone(), database.client().await);
    let checked = store.credentials(READER_NAME).await.unwrap().unwrap();
    let secret = SecretHash([1; 32]);
    let new = NewSession { secret, is_app: false, address: None, user_agent: None };
    // Sessions have ended already, and nothing is committed yet.
    other.batch_execute("BEGIN; UPDATE accounts SET password_hash = 'new'; DELETE FROM sessions").await.unwrap();
    let work = async move { store.create_session(&checked, new).await };
    assert_eq!(while_waiting(&database, &other, "", work).await, Ok(None));
    assert_eq!(database.store.session(secret, Duration::from_hours(1)).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a1_a_mark_waits_for_nobody_who_holds_a_feed() {
    let database = fresh_postgres().await;
    import(&database.store, 1).await;
    let job = database.store.claim_polls("here", &[FeedId(1)], LEASE).await.unwrap().remove(0);
    database.store.finish_polls(vec![fetched(&job, 0)]).await.unwrap().remove(0).unwrap();
    let other = database.client().await;
    other.batch_execute("BEGIN; SELECT FROM feeds FOR UPDATE").await.unwrap();
    assert_eq!(database.store.patch_entries(READER, &[EntryId(1)], READ).await, Ok(1));
    assert_eq!(database.store.mark_read(READER, MarkRead::default()).await, Ok(4));
    other.batch_execute("COMMIT").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a6_followers_markers_and_ingests_never_deadlock() {
    const ROUNDS: usize = 12;
    let database = fresh_postgres().await;
    let feeds = subscribed(&database.store, 6).await;
    let mut subscriptions = Vec::new();
    for feed in &feeds {
        subscriptions.push(activated(&database.store, *feed).await);
    }
    let mut workers = Vec::new();
    for reader in 0..3_usize {
        let (store, account) = (database.another_store().await, account(&database.store, reader).await);
        workers.push(tokio::spawn(async move { read_all(&store, account, reader, ROUNDS).await }));
    }
    for node in 0..2_usize {
        let (pusher, poller) = (database.another_store().await, database.another_store().await);
        let subscriptions = subscriptions.clone();
        workers.push(tokio::spawn(async move {
            for round in 0..ROUNDS {
                let batch = subscriptions.iter().rev().map(|id| push(*id, 2 * round + node)).collect();
                for stored in pusher.push_all(batch).await.unwrap() {
                    stored.unwrap();
                }
            }
        }));
        workers.push(tokio::spawn(async move {
            for round in 0..ROUNDS {
                let jobs = poller.claim_due_polls(&format!("poller {node}"), 6, LEASE).await.unwrap();
                let results = jobs.iter().rev().map(|job| fetched(job, round)).collect();
                for stored in poller.finish_polls(results).await.unwrap() {
                    stored.unwrap();
                }
                let limits =
                    PruneLimits { read_older_than: Duration::ZERO, unread_older_than: None, per_feed: 3, chunk: 20 };
                poller.prune_entries(limits).await.unwrap();
            }
        }));
    }
    for worker in workers {
        worker.await.unwrap();
    }
    counts_agree(&database).await;
}

/// What one reader does: follows, marks, moves, leaves.
async fn read_all(store: &PostgresStore, account: AccountId, reader: usize, rounds: usize) {
    for round in 0..rounds {
        let mut followed = Vec::new();
        for number in [0, 1, 2, 3, 4, 5] {
            let number = (number + reader) % 6;
            if let FollowOutcome::Followed(feed) = store.follow(account, follow_of(number)).await.unwrap() {
                followed.push(feed.id);
            }
        }
        let page = store.entries(account, &EntryFilter::default(), 20, None).await.unwrap();
        let ids: Vec<EntryId> = page.entries.iter().rev().map(|entry| entry.id).collect();
        store.patch_entries(account, &ids, READ).await.unwrap();
        store.patch_entries(account, &ids, EntryPatch { is_starred: Some(false), ..READ }).await.unwrap();
        store.mark_read(account, MarkRead::default()).await.unwrap();
        let folder = store.create_folder(account, &format!("folder {round}")).await.unwrap().unwrap();
        for feed in followed.iter().rev() {
            let patch = FeedPatch { folder_id: Some(Some(folder.id)), ..FeedPatch::default() };
            let updated = store.update_feed(account, *feed, patch).await.unwrap();
            assert!(matches!(updated, UpdateOutcome::Updated(_)), "{updated:?}");
        }
        assert!(store.delete_folder(account, folder.id).await.unwrap());
        for feed in followed.iter().skip(round % 3) {
            assert!(store.delete_feed(account, *feed).await.unwrap());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a6_pages_of_an_account_read_few_rows() {
    const ENTRIES: i64 = 30_000;
    let database = fresh_postgres().await;
    fill(&database, 3_000, ENTRIES).await;
    let admin = database.client().await;
    // Another who follows some of the feeds, in a folder of its own.
    let another = "
INSERT INTO accounts (name, name_key, is_admin, created_at) VALUES ('b', 'b', false, 1);
INSERT INTO folders (account_id, name, position) VALUES (2, 'own', 0);
INSERT INTO follows (feed_id, account_id, folder_id, created_at)
SELECT id, 2, (SELECT max(id) FROM folders), 0 FROM feeds WHERE id % 10 = 7;
INSERT INTO entry_states (entry_id, account_id, feed_id, folder_id, sort_at, received_at, modified_at, is_read, is_starred)
SELECT entries.id, 2, feed_id, folder_id, sort_at, received_at, received_at, entries.id % 20 <> 6, entries.id % 500 = 6
FROM entries
JOIN follows USING (feed_id)
WHERE account_id = 2;
ANALYZE";
    admin.batch_execute(another).await.unwrap();
    let folder = admin.query_one("SELECT max(id) FROM folders", &[]).await.unwrap().get(0);
    drop(admin);
    let all = EntryFilter::default();
    let filters = [
        all.clone(),
        EntryFilter { folder_id: Some(FolderId(folder)), ..all.clone() },
        EntryFilter { unread: Some(true), ..all.clone() },
        EntryFilter { unread: Some(true), folder_id: Some(FolderId(folder)), ..all.clone() },
        EntryFilter { unread: Some(true), feed_id: Some(FeedId(7)), ..all.clone() },
        EntryFilter { starred: Some(true), ..all.clone() },
        EntryFilter { feed_id: Some(FeedId(7)), ..all },
    ];
    for filter in &filters {
        let backends_before = reset_scans(&database).await;
        let store = database.another_store().await;
        let page = store.entries(AccountId(2), filter, 20, None).await.unwrap();
        assert!(!page.entries.is_empty(), "{filter:?}");
        drop(store);
        let admin = database.client().await;
        while backends(&admin).await > backends_before {}
        let sql = "
SELECT sum(seq_tup_read + idx_tup_fetch)::bigint
FROM pg_stat_user_tables
WHERE relname IN ('entries', 'entry_states', 'entry_bodies')";
        let read: i64 = admin.query_one(sql, &[]).await.unwrap().get(0);
        assert!(read <= 21 * 5, "{filter:?}: {read} rows read");
    }
}

/// Accounts from 2 on that follow a feed, without the way through the store.
async fn followers(database: &FreshPostgres, feed: FeedId, count: i64) {
    let sql = format!(
        "
INSERT INTO accounts (name, name_key, is_admin, created_at)
SELECT 'account ' || n, 'account ' || n, false, 1 FROM generate_series(1, {count}) AS n;
INSERT INTO follows (feed_id, account_id, created_at) SELECT {feed}, id, 1 FROM accounts WHERE id > 1"
    );
    database.client().await.batch_execute(&sql).await.unwrap();
}

async fn account(store: &PostgresStore, number: usize) -> AccountId {
    let name = AccountName::parse(&format!("reader {number}")).unwrap();
    let new = NewAccount { name, password_hash: None, is_admin: false };
    store.create_account(new).await.unwrap().unwrap().id
}

fn follow_of(number: usize) -> NewFollow {
    let address = FeedAddress { url: format!("https://example.org/pushed/{number}"), credentials: None };
    NewFollow { address, folder_id: None, custom_title: None }
}

/// The same entries with other content, and a new one.
fn changed(job: &PollJob, round: usize) -> PollResult {
    let mut entries = entries_of(0).entries;
    for entry in &mut entries {
        entry.fingerprint = Hash::of(format!("changed {round}").as_bytes());
    }
    let new = format!("new {round}");
    entries.push(IncomingEntry { identity: Hash::of(new.as_bytes()), guid: new, ..entries[0].clone() });
    let present = entries.iter().map(IncomingEntry::key).collect();
    let document = Document { entries, present, is_complete: true, ..Document::default() };
    PollResult { outcome: PollOutcome::Fetched(document), ..unchanged(job) }
}
