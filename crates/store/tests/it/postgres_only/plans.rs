//! That pages, searches and due feeds are found by indexes: looked at in what the database counts, not in plans, so that
//! it holds for the statements as they are run.

use std::{cmp::Reverse, collections::HashSet};

use domain::{
    EntryFilter, EntryId, EntryPatch, FeedId, FolderId, SubscriptionId,
    account::READER,
    entry::{Order, Since},
    entry_query::{EntryQuery, SortBy},
    ingest::Hash,
    ports::{Changed, Claim, EntryStore, FeedStore, PollStore, PruneLimits, PushStore, SubscriptionChange},
    push::{PushStored, RenewalRules, SubscriptionEvent},
};
use jiff::Timestamp;
use store::PostgresStore;
use testkit::{FreshPostgres, fresh_postgres};
use tokio_postgres::Client;

use super::{
    LEASE,
    given_push::{BASE, HUB, change, discovered, offer, push},
    import, unchanged,
};

#[tokio::test(flavor = "multi_thread")]
async fn pages_searches_and_due_feeds_are_found_by_indexes() {
    let database = fresh_postgres().await;
    fill(&database, 3_000, 30_000).await;
    let backends = reset_scans(&database).await;
    let store = database.another_store().await;
    for filter in &filters() {
        let mut seen = HashSet::new();
        let mut after = None;
        for _ in 0..3 {
            let page = store.entries(READER, filter, 50, after).await.unwrap();
            assert!(page.entries.iter().all(|entry| seen.insert(entry.id)), "{filter:?} repeats");
            let is_sorted = match filter.order {
                _ if filter.since.is_some() => true,
                Order::Newest => page.entries.is_sorted_by_key(|entry| Reverse((entry.sort_at, entry.id))),
                Order::Oldest => page.entries.is_sorted_by_key(|entry| (entry.sort_at, entry.id)),
            };
            assert!(is_sorted, "{filter:?}");
            if filter.is_walk() {
                let ids = store.entry_ids(READER, filter, 50, after).await.unwrap();
                assert_eq!(ids, page.clone().into(), "{filter:?}");
            }
            after = page.next_cursor;
            if after.is_none() {
                break;
            }
        }
    }
    for (word, expect) in [
        ("some", 30_000),
        ("common", 15_000),
        ("rare", 300),
        ("old", 60),
        ("n77", 1),
        ("none", 0),
        ("com*", 15_000),
        ("n77*", 111),
        ("\"common rare\"", 300),
        ("\"some rare\"", 0),
        ("rare -common", 0),
        ("some -common", 15_000),
        ("-rare", 29_700),
        ("-some", 0),
    ] {
        let filter = EntryFilter { search: domain::Search::parse(word).unwrap(), ..EntryFilter::default() };
        assert_eq!(all_of(&store, &filter).await, expect, "{word}");
    }
    assert_eq!(store.newest_unread(READER).await.unwrap().len(), 300);
    for by in [SortBy::Published, SortBy::Id, SortBy::Received, SortBy::Changed] {
        for query in app_queries(by) {
            store.find_entries(READER, &query, 0, 50).await.unwrap();
            store.count_entries(READER, &query).await.unwrap();
        }
    }
    store.changed_at(READER, &[EntryId(1), EntryId(2)]).await.unwrap();
    let ids: Vec<EntryId> = (1..=20).map(EntryId).collect();
    let read = EntryPatch { is_read: Some(true), is_starred: None };
    assert_eq!(store.patch_entries(READER, &ids, read).await, Ok(2));
    let limits = PruneLimits { read_older_than: LEASE, unread_older_than: Some(LEASE), per_feed: 1000, chunk: 10 };
    assert_eq!(store.prune_entries(limits).await, Ok(10));
    let jobs = store.claim_due_polls("here", 20, LEASE).await.unwrap();
    assert_eq!(jobs.len(), 20);
    let leases: Vec<_> = jobs.iter().map(|job| (job.feed_id, job.lease.clone())).collect();
    assert_eq!(store.renew_polls(&leases, LEASE).await, Ok(vec![]));
    let others = store.claim_due_polls("here", 20, LEASE).await.unwrap();
    let others: Vec<_> = others.into_iter().map(|job| (job.feed_id, job.lease)).collect();
    store.postpone_polls(&others[..10], LEASE).await.unwrap();
    store.release_polls(&others[10..]).await.unwrap();
    store.next_poll_in().await.unwrap();
    let identity = Hash::of(b"1");
    store.known_entries(FeedId(1), &[identity]).await.unwrap();
    for stored in store.finish_polls(jobs.iter().map(unchanged).collect()).await.unwrap() {
        assert!(stored.unwrap().applied);
    }
    drop(store);
    only_by_index(&database, backends, &["feeds", "entries", "entry_states"]).await;
}

/// What apps ask for, where an index leads to it.
fn app_queries(by: SortBy) -> [EntryQuery; 4] {
    let any = EntryQuery { by, ..EntryQuery::default() };
    [
        EntryQuery { after_id: Some(EntryId(29_000)), ..any.clone() },
        EntryQuery { unread: Some(true), ..any.clone() },
        EntryQuery { starred: Some(true), ..any.clone() },
        EntryQuery { feed_id: Some(FeedId(1)), ..any },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_are_found_by_indexes() {
    let database = fresh_postgres().await;
    fill(&database, 3_000, 30_000).await;
    subscribe_all(&database).await;
    let backends = reset_scans(&database).await;
    let store = database.another_store().await;
    let jobs = store.claim_due_subscriptions("here", 20, LEASE, &["https://busy.org/".to_owned()]).await.unwrap();
    assert_eq!(jobs.len(), 20);
    let leases: Vec<_> = jobs.iter().map(|job| (job.subscription.id, job.lease.clone())).collect();
    store.release_subscriptions(&leases).await.unwrap();
    assert_eq!(store.claim_expiring_subscriptions("here", 20, LEASE, LEASE).await.unwrap().len(), 20);
    store.next_step_in().await.unwrap();
    // Often enough for the plans that are kept.
    for number in 1..=20 {
        let (feed, id) = (FeedId(number), SubscriptionId(number));
        assert_eq!(store.feed(READER, feed).await.unwrap().unwrap().subscription.unwrap().hub_url, HUB);
        assert_eq!(store.subscription_of(feed).await.unwrap().unwrap().id, id);
        assert_eq!(store.subscription(id).await.unwrap().unwrap().feed_id, Some(feed));
        assert_eq!(store.push_target(&format!("token {number}")).await.unwrap().unwrap().subscription.id, id);
        assert_eq!(store.push_targets(&format!("topic {number}"), 10).await.unwrap().len(), 1);
        let stored = store.push(push(id, 3)).await.unwrap();
        assert!(matches!(stored, PushStored::Stored(stored) if stored.new == 1), "{stored:?}");
        let others = [1_000 + number, 2_000 + number].map(SubscriptionId);
        let tokens = others.map(|id| format!("token {}", id.0)).to_vec();
        assert_eq!(store.targets_by_token(tokens).await.unwrap().len(), 2);
        assert_eq!(store.push_all(others.map(|id| push(id, 3)).to_vec()).await.unwrap().len(), 2);
        let missed = |id| SubscriptionChange {
            id,
            claim: Claim::None,
            event: SubscriptionEvent::Missed,
            rules: RenewalRules::default(),
        };
        assert_eq!(store.change_subscriptions(others.map(missed).to_vec()).await.unwrap().len(), 2);
        store.poll_soon(feed, LEASE).await.unwrap();
        assert!(matches!(change(&store, id, SubscriptionEvent::Missed).await, Ok(Changed::Done(_))));
        let job = store.claim_polls("here", &[feed], LEASE).await.unwrap().remove(0);
        let finished = store.finish_polls(vec![discovered(&job, 0, &["https://new.org/"], &format!("new {number}"))]);
        assert_eq!(finished.await.unwrap().remove(0).unwrap().new, 5);
        assert_eq!(store.subscribe(vec![(FeedId(100 + number), offer("unused"))]).await, Ok(0));
        assert_eq!(store.feeds_to_subscribe(BASE, FeedId(2_900 + number), 5).await.unwrap().len(), 0);
        assert_eq!(store.feeds_to_subscribe("https://other.org", FeedId(1_000 + number), 5).await.unwrap().len(), 5);
        assert!(store.delete_feed(READER, FeedId(200 + number)).await.unwrap());
    }
    drop(store);
    only_by_index(&database, backends, &["feeds", "entries", "entry_states", "follows", "subscriptions"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u6_feed_overview_is_counted_by_indexes() {
    let database = fresh_postgres().await;
    import_and_end(&database, 3_000).await;
    subscribe_all(&database).await;
    // Few are due, pushed, failing or gone; and indexes alone are enough where rows are known to be there for everybody.
    let admin = database.client().await;
    let few = "UPDATE feeds SET is_pushed = id % 20 = 0, next_check_at = CASE WHEN id % 20 = 1 THEN 0 ELSE 9e14 END";
    // As long as those of hubs in trouble are: of short ones the table is as small as its index.
    let long = "UPDATE subscriptions SET last_error = repeat('x', 500)";
    for sql in [few, long, "VACUUM (FULL, ANALYZE) feeds, subscriptions", "VACUUM (ANALYZE) feeds, subscriptions"] {
        admin.batch_execute(sql).await.unwrap();
    }
    drop(admin);
    let backends = reset_scans(&database).await;
    let store = database.another_store().await;
    let overview = store.feed_overview().await.unwrap();
    assert_eq!((overview.all, overview.pushed, overview.due), (3_000, 150, 150));
    drop(store);
    // By these, and not only by some index: what others did is told late, and is not to be mistaken for this.
    let admin = database.client().await;
    while self::backends(&admin).await > backends {}
    for index in ["feeds_due", "feeds_failing", "feeds_pushed", "feeds_gone", "subscriptions_by_state"] {
        let sql = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = $1";
        let scans: i64 = admin.query_one(sql, &[&index]).await.unwrap().get(0);
        assert!(scans > 0, "{index}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn w8_claims_past_a_busy_hub_read_few_rows() {
    const CLAIMS: i64 = 20;
    let database = fresh_postgres().await;
    import_and_end(&database, 3_000).await;
    subscribe_all(&database).await;
    let backends_before = reset_scans(&database).await;
    let store = database.another_store().await;
    for _ in 0..CLAIMS {
        let jobs = store.claim_due_subscriptions("here", 20, LEASE, &[HUB.to_owned()]).await.unwrap();
        assert_eq!(jobs.len(), 0);
    }
    drop(store);
    let admin = database.client().await;
    while backends(&admin).await > backends_before {}
    let sql = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'subscriptions'";
    let read: i64 = admin.query_one(sql, &[]).await.unwrap().get(0);
    assert!(read < CLAIMS * 10, "{read} rows read");
}

/// Every feed has a subscription that is due, expires, and is trusted.
async fn subscribe_all(database: &FreshPostgres) {
    let sql = format!(
        "
UPDATE feeds SET hubs = '[\"{HUB}\"]', topic_url = 'topic ' || id, is_pushed = true;
INSERT INTO subscriptions (feed_id, hub_url, topic_url, topic_hash, token, base_url, state, is_current, expires_at,
                           activated_at, secrets, next_step_at, created_at)
SELECT id, '{HUB}', 'topic ' || id, substr(sha256(('topic ' || id)::bytea), 1, 16), 'token ' || id, '{BASE}', 'active', true,
       id, 0, '[{{\"value\":\"secret\",\"is_proven\":true}}]', id, 0
FROM feeds
ORDER BY id;
ANALYZE;
"
    );
    database.client().await.batch_execute(&sql).await.unwrap();
}

/// Feeds and entries by the thousand, without the way through the store: every second with the word `common`, one in a
/// hundred with `rare`, the oldest with `old`.
pub(super) async fn fill(database: &FreshPostgres, feeds: i64, entries: i64) {
    import_and_end(database, usize::try_from(feeds).unwrap()).await;
    let sql = format!(
        "
INSERT INTO folders (account_id, name, position) SELECT 1, 'folder ' || n, n FROM generate_series(1, 10) AS n;
UPDATE follows SET folder_id = feed_id % 10 + 1;
INSERT INTO entries (feed_id, identity, fingerprint, guid, sort_at, received_at, changed_at)
SELECT n % {feeds} + 1, decode(md5(n::text), 'hex'), '', n::text, n, n, n
FROM generate_series(1, {entries}) AS n;
INSERT INTO entry_states (entry_id, account_id, feed_id, folder_id, sort_at, received_at, modified_at, is_read, is_starred)
SELECT id, account_id, feed_id, folder_id, sort_at, received_at, received_at, id % 10 <> 0, id % 1000 = 0
FROM entries
JOIN follows USING (feed_id);
UPDATE accounts SET starred_count = (SELECT count(*) FROM entry_states WHERE account_id = accounts.id AND is_starred);
INSERT INTO entry_bodies (entry_id, content) SELECT id, repeat('text ', 100) FROM entries;
INSERT INTO entry_words (entry_id, sort_at, grams, words)
SELECT id, sort_at, array_to_tsvector(words), ' ' || array_to_string(words, ' ') || ' '
FROM entries
CROSS JOIN LATERAL (
    SELECT array_remove(ARRAY[
        'some', 'n' || id, CASE WHEN id % 2 = 0 THEN 'common' END, CASE WHEN id % 100 = 0 THEN 'rare' END,
        CASE WHEN id <= 60 THEN 'old' END], NULL) AS words
) AS made;
UPDATE feeds SET entry_count = (SELECT count(*) FROM entries WHERE feed_id = feeds.id);
UPDATE follows SET unread_count = (
    SELECT count(*)
    FROM entry_states
    WHERE feed_id = follows.feed_id AND account_id = follows.account_id AND NOT is_read
);
ANALYZE;
"
    );
    database.client().await.batch_execute(&sql).await.unwrap();
}

/// Imports through connections that have ended when this returns. Those that the test's store keeps would tell what they
/// did only when they have been idle for ten seconds, which may be after the tables' scans are forgotten.
async fn import_and_end(database: &FreshPostgres, feeds: usize) {
    let admin = database.client().await;
    let backends_before = backends(&admin).await;
    let store = database.another_store().await;
    import(&store, feeds).await;
    drop(store);
    while backends(&admin).await > backends_before {}
}

/// Filters of every kind.
fn filters() -> Vec<EntryFilter> {
    let mut filters = Vec::new();
    for feed_id in [None, Some(FeedId(7))] {
        for folder_id in [None, Some(FolderId(8))] {
            for unread in [None, Some(true), Some(false)] {
                for starred in [None, Some(true), Some(false)] {
                    for query in ["", "common", "some rare", "\"common rare\"", "rar*", "some -rare", "-common"] {
                        for order in [Order::Newest, Order::Oldest] {
                            let search = domain::Search::parse(query).unwrap();
                            let rest = EntryFilter::default();
                            filters.push(EntryFilter { feed_id, folder_id, unread, starred, search, order, ..rest });
                        }
                    }
                }
            }
        }
    }
    let since = |milliseconds| Timestamp::from_millisecond(milliseconds).unwrap();
    for since in [Since::Received(since(29_000)), Since::Received(Timestamp::MIN), Since::Changed(since(0))] {
        for order in [Order::Newest, Order::Oldest] {
            let all = EntryFilter { since: Some(since), order, without_texts: true, ..EntryFilter::default() };
            filters.push(EntryFilter { feed_id: Some(FeedId(7)), unread: Some(true), ..all.clone() });
            filters.push(EntryFilter { feed_id: Some(FeedId(7)), ..all.clone() });
            filters.push(EntryFilter { folder_id: Some(FolderId(8)), ..all.clone() });
            filters.push(EntryFilter { folder_id: Some(FolderId(8)), unread: Some(true), ..all.clone() });
            filters.push(EntryFilter { starred: Some(true), until: Some(Timestamp::MAX), ..all.clone() });
            filters.push(all);
        }
    }
    let ids = (0..1_000).map(|number| EntryId(number * 30)).collect();
    filters.push(EntryFilter { ids: Some(ids), ..EntryFilter::default() });
    filters
}

async fn all_of(store: &PostgresStore, filter: &EntryFilter) -> usize {
    let (mut count, mut after) = (0, None);
    loop {
        let page = store.entries(READER, filter, 500, after).await.unwrap();
        count += page.entries.len();
        after = page.next_cursor;
        if after.is_none() {
            return count;
        }
    }
}

/// Forgets how tables were read so far; returns the number of connections. What a connection did is told when it ends:
/// those that filled the tables must have.
pub(super) async fn reset_scans(database: &FreshPostgres) -> i64 {
    let admin = database.client().await;
    let others = "
SELECT count(*)
FROM pg_stat_activity
WHERE datname = current_database() AND application_name <> 'pirssonite' AND pid <> pg_backend_pid()
  AND backend_type = 'client backend'";
    while admin.query_one(others, &[]).await.unwrap().get::<_, i64>(0) > 0 {}
    admin.batch_execute("SELECT pg_stat_reset()").await.unwrap();
    backends(&admin).await
}

/// These tables were read by their indexes, and never from end to end. What a connection did is told when it ends.
pub(super) async fn only_by_index(database: &FreshPostgres, backends_before: i64, tables: &[&str]) {
    let admin = database.client().await;
    while backends(&admin).await > backends_before {}
    let sql = "SELECT relname::text, seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname = ANY($1)";
    let rows = admin.query(sql, &[&tables]).await.unwrap();
    assert_eq!(rows.len(), tables.len());
    for row in rows {
        let (table, sequential, by_index): (String, i64, i64) = (row.get(0), row.get(1), row.get(2));
        assert!(sequential == 0 && by_index > 0, "{table}: {sequential} from end to end, {by_index} by an index");
    }
}

pub(super) async fn backends(admin: &Client) -> i64 {
    let sql =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pirssonite'";
    admin.query_one(sql, &[]).await.unwrap().get(0)
}
