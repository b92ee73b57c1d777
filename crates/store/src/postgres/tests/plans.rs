//! Every kind of page, stream and search is one walk of an index: nothing is scanned, nothing is sorted. So the database plans
//! the statements as they are, with rows enough that it has a choice. What they read when they are run is looked at in
//! `tests/it/postgres_only/plans.rs`.

use domain::{
    Cursor, EntryFilter, EntryId, FeedId, FolderId,
    account::READER,
    entry::{Order, Since},
    entry_query::{EntryQuery, Place, SortBy},
};
use jiff::Timestamp;
use testkit::FreshPostgres;
use tokio_postgres::Client;

use crate::postgres::entries::{
    find::find_sql,
    pages::{PageQuery, since_sql, walk_ids_sql, walk_rows_sql},
};

/// Twenty thousand entries of a hundred feeds in nine folders and in none, which two accounts have.
const FILL: &str = "
INSERT INTO entries (feed_id, identity, fingerprint, guid, sort_at, received_at, changed_at)
SELECT n % 100 + 1, decode(md5(n::text), 'hex'), '', n::text, n, n, n
FROM generate_series(1, 20000) AS n;
INSERT INTO entry_states (entry_id, account_id, feed_id, folder_id, sort_at, received_at, modified_at, is_read, is_starred)
SELECT id, account, feed_id, nullif(feed_id % 10, 0), sort_at, received_at, received_at, id % 11 <> 0, id % 203 = 0
FROM entries
CROSS JOIN generate_series(1, 2) AS account;
ANALYZE entries, entry_states";

/// In the middle of them.
const MIDDLE: i64 = 10_000;

async fn filled() -> (FreshPostgres, Client) {
    let database = testkit::fresh_postgres().await;
    let client = database.client().await;
    client.batch_execute(FILL).await.unwrap();
    (database, client)
}

/// How the database would run a statement with these values.
async fn plan(client: &Client, sql: &str, values: &[i64]) -> String {
    let mut sql = format!("EXPLAIN {sql}");
    // The last first: `$1` begins `$10` too.
    for (place, value) in values.iter().enumerate().rev() {
        sql = sql.replace(&format!("${}", place + 1), &format!("'{value}'::bigint"));
    }
    let rows = client.query(&sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(plan: &str, index: &str) {
    assert!(plan.contains(&format!(" using {index} on ")), "{index} is not used:\n{plan}");
    for never in ["Seq Scan", "Sort", "Bitmap"] {
        assert!(!plan.contains(never), "{never}:\n{plan}");
    }
}

fn middle() -> Timestamp {
    Timestamp::from_millisecond(MIDDLE).unwrap()
}

/// Of a page its marks, and its ids alone; either way round, from its beginning and from the middle.
async fn check_walks(client: &Client, filter: &EntryFilter, index: &str) {
    for order in [Order::Newest, Order::Oldest] {
        for after in [None, Some(Cursor { at: middle(), id: EntryId(MIDDLE) })] {
            let filter = EntryFilter { order, ..filter.clone() };
            let wanted = PageQuery { account: READER, filter: &filter, after, rows: 51 };
            let (at, id) = wanted.position();
            if filter.is_of_changes() {
                // A walk of all that changed, of which those of its kind are chosen.
                let sql = format!("{}\nLIMIT 51", since_sql(&wanted, 3));
                check(&plan(client, &sql, &[at, id, 0, READER.0]).await, index);
                continue;
            }
            let values = [vec![at, id, wanted.limit()], wanted.ids(), wanted.window_values()].concat();
            for sql in [walk_rows_sql(&wanted), walk_ids_sql(&wanted)] {
                check(&plan(client, &sql, &values).await, index);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f6_every_kind_of_page_walks_an_index() {
    let (_database, client) = filled().await;
    let (feed_id, folder_id) = (Some(FeedId(1)), Some(FolderId(1)));
    let all = EntryFilter::default();
    let unread = EntryFilter { unread: Some(true), ..EntryFilter::default() };
    let starred = EntryFilter { starred: Some(true), ..EntryFilter::default() };
    let changed = EntryFilter { since: Some(Since::Changed(Timestamp::UNIX_EPOCH)), ..EntryFilter::default() };
    for (filter, index) in [
        (all.clone(), "states_newest"),
        (EntryFilter { feed_id, ..all.clone() }, "entries_of_feed"),
        (EntryFilter { folder_id, ..all.clone() }, "states_of_folder"),
        (unread.clone(), "states_unread"),
        (EntryFilter { feed_id, ..unread.clone() }, "states_unread_of_feed"),
        (EntryFilter { folder_id, ..unread.clone() }, "states_unread_of_folder"),
        (EntryFilter { feed_id, folder_id, ..unread }, "states_unread_of_feed"),
        (starred.clone(), "states_starred"),
        (EntryFilter { feed_id, ..starred }, "states_starred"),
        (EntryFilter { unread: Some(false), ..all.clone() }, "states_newest"),
        (EntryFilter { starred: Some(false), feed_id, ..all }, "entries_of_feed"),
        (changed.clone(), "states_modified"),
        (EntryFilter { folder_id, ..changed }, "states_modified"),
    ] {
        check_walks(&client, &filter, index).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_every_kind_of_stream_walks_an_index_in_the_order_of_receipt() {
    let (_database, client) = filled().await;
    let (feed_id, folder_id) = (Some(FeedId(1)), Some(FolderId(1)));
    let all = EntryFilter { since: Some(Since::Received(Timestamp::UNIX_EPOCH)), ..EntryFilter::default() };
    let unread = EntryFilter { unread: Some(true), ..all.clone() };
    let starred = EntryFilter { starred: Some(true), ..all.clone() };
    for (filter, index) in [
        (all.clone(), "states_received"),
        (EntryFilter { feed_id, ..all.clone() }, "entries_received"),
        (EntryFilter { feed_id, unread: Some(false), ..all.clone() }, "entries_received"),
        (EntryFilter { folder_id, ..all }, "states_received_of_folder"),
        (unread.clone(), "states_unread_received"),
        (EntryFilter { feed_id, ..unread.clone() }, "states_unread_received_of_feed"),
        (EntryFilter { folder_id, ..unread }, "states_unread_received_of_folder"),
        (starred.clone(), "states_starred_received"),
        (EntryFilter { feed_id, ..starred }, "states_starred_received"),
    ] {
        for until in [None, Some(Timestamp::MAX)] {
            check_walks(&client, &EntryFilter { until, ..filter.clone() }, index).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_every_search_of_apps_walks_an_index() {
    let (_database, client) = filled().await;
    let any = EntryQuery::default();
    let unread = EntryQuery { unread: Some(true), ..any.clone() };
    let (feed_id, place) = (Some(FeedId(1)), Some(Place::Folder(FolderId(1))));
    let (after_id, before_id) = (Some(EntryId(MIDDLE)), Some(EntryId(MIDDLE)));
    for (query, index) in [
        (any.clone(), "states_newest"),
        (EntryQuery { by: SortBy::Id, ..any.clone() }, "states_by_id"),
        (EntryQuery { by: SortBy::Id, after_id, ..any.clone() }, "states_by_id"),
        (EntryQuery { by: SortBy::Id, before_id, ..any.clone() }, "states_by_id"),
        (EntryQuery { by: SortBy::Received, ..any.clone() }, "states_received"),
        (EntryQuery { by: SortBy::Changed, ..any.clone() }, "states_modified"),
        (EntryQuery { feed_id, ..any.clone() }, "entries_of_feed"),
        (EntryQuery { place, ..any.clone() }, "states_of_folder"),
        (EntryQuery { starred: Some(true), ..any }, "states_starred"),
        (unread.clone(), "states_unread"),
        (EntryQuery { feed_id, ..unread.clone() }, "states_unread_of_feed"),
        (EntryQuery { place, ..unread }, "states_unread_of_folder"),
    ] {
        for order in [Order::Newest, Order::Oldest] {
            let part = find_sql(READER, &EntryQuery { order, ..query.clone() }, 0, 10);
            check(&plan(&client, &part.sql, &part.values).await, index);
        }
    }
}
