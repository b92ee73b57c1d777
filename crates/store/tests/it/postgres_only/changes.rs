//! The change stream of several nodes: heard on each, in the same order, whoever dies and whatever else runs.

use std::time::Duration;

use domain::{
    account::READER,
    changes::{Change, ChangeNumber},
    ports::{ChangeStore, FolderStore},
};
use store::PostgresStore;
use testkit::{drop_database, empty_database, fresh_postgres, url_of};
use tokio_postgres::Client;

use super::{
    given_outbox::{queue, webhook},
    plans::backends,
};

const LISTENERS: &str = "
SELECT pid
FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'pirssonite' AND query ~ '^(LISTEN|NOTIFY) '
ORDER BY pid";

#[tokio::test(flavor = "multi_thread")]
async fn d4_another_node_is_woken_by_changes() {
    let database = fresh_postgres().await;
    let (one, two) = (database.another_store().await, database.another_store().await);
    let id = webhook(&one, 0).await;
    let (mut here, mut there) = (0, 0);
    for _ in 0..3 {
        queue(&one, id, 1).await;
        (here, there) = (one.changed_since(here).await, two.changed_since(there).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_node_does_not_hear_its_own_notification() {
    const ROUNDS: u64 = 10;
    let database = fresh_postgres().await;
    let (one, two) = (database.another_store().await, database.another_store().await);
    let id = webhook(&one, 0).await;
    let (mut here, mut there) = (one.changed_since(0).await, two.changed_since(0).await);
    // Each answers the other, so that nothing is told twice in one word.
    for round in 1..=ROUNDS {
        queue(&one, id, 1).await;
        while there < 2 * round {
            there = two.changed_since(there).await;
        }
        queue(&two, id, 1).await;
        while here < 2 * round + 1 {
            here = one.changed_since(here).await;
        }
    }
    assert_eq!(one.changed_since(0).await, 2 * ROUNDS + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_listener_that_was_lost_is_there_again() {
    let database = fresh_postgres().await;
    let (one, two) = (database.another_store().await, database.another_store().await);
    let id = webhook(&one, 0).await;
    let admin = database.client().await;
    let lost = listeners(&admin).await;
    assert_eq!(lost.len(), 3, "of both, and of the store that is the database's own");
    admin.execute("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", &[&lost]).await.unwrap();
    // What happens meanwhile is not heard: whoever listens again looks.
    let after = two.last_change().await.unwrap();
    queue(&one, id, 1).await;
    for store in [&one, &two, &database.store] {
        hear(store, after, 1).await;
    }
    let mut back = listeners(&admin).await;
    while back.len() < 3 || back.iter().any(|pid| lost.contains(pid)) {
        tokio::time::sleep(Duration::from_millis(5)).await;
        back = listeners(&admin).await;
    }
    // And they hear as before.
    let (after, seen) = (two.last_change().await.unwrap(), two.changed_since(0).await);
    queue(&one, id, 1).await;
    two.changed_since(seen).await;
    assert_eq!(hear(&two, after, 1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_nothing_is_left_of_a_store_that_is_dropped() {
    let database = fresh_postgres().await;
    let admin = database.client().await;
    let before = backends(&admin).await;
    let store = database.another_store().await;
    let clone = store.clone();
    drop(store);
    webhook(&clone, 1).await;
    assert_eq!(clone.changed_since(0).await, 2);
    assert!(backends(&admin).await > before);
    drop(clone);
    until(&admin, before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_dropped_store_leaves_no_listener() {
    let database = fresh_postgres().await;
    let admin = database.client().await;
    let before = backends(&admin).await;
    let store = database.another_store().await;
    let kill = "
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'pirssonite'";
    admin.batch_execute(kill).await.unwrap();
    drop(store);
    // The database's own comes back.
    database.store.changed_since(0).await;
    until(&admin, before).await;
}

async fn listeners(admin: &Client) -> Vec<i32> {
    admin.query(LISTENERS, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

async fn until(admin: &Client, count: i64) {
    while backends(admin).await > count {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Follows the stream by hints alone until so many changes were heard.
async fn hear(store: &PostgresStore, mut after: ChangeNumber, count: usize) -> Vec<Change> {
    let (mut seen, mut heard) = (0, Vec::new());
    while heard.len() < count {
        let page = store.changes_after(after, 3).await.unwrap();
        assert!(!page.is_reset);
        after = page.next;
        heard.extend(page.changes);
        if heard.len() < count && !page.has_more {
            seen = store.changed_since(seen).await;
        }
    }
    heard
}

/// Begins to write a change as a node does, and does not commit it.
async fn begin_change(client: &Client) {
    let begin = "
BEGIN;
SELECT pg_advisory_xact_lock_shared(x'6368000000000000'::bigint + last_value) FROM changes_number_seq;
INSERT INTO changes (kind, feed_id, count, entry_ids, at) VALUES ('feed', 7, 0, '{}', 0)";
    client.batch_execute(begin).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_a_smaller_number_is_waited_for() {
    let database = fresh_postgres().await;
    let (store, other) = (&database.store, database.client().await);
    let begin = store.last_change().await.unwrap();
    begin_change(&other).await;
    store.create_folder(READER, "1").await.unwrap().unwrap();
    let page = store.changes_after(begin, 10).await.unwrap();
    assert_eq!((page.changes.len(), page.next, page.has_more), (0, begin, true));
    assert_eq!(store.last_change().await.unwrap(), begin);
    other.batch_execute("COMMIT").await.unwrap();
    let page = store.changes_after(begin, 10).await.unwrap();
    let kinds: Vec<&str> = page.changes.iter().map(|change| change.kind.name()).collect();
    assert_eq!((kinds, page.has_more), (vec!["feed", "feeds"], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_pruning_a_smaller_number_does_not_lower_the_floor() {
    let database = fresh_postgres().await;
    let (store, other) = (&database.store, database.client().await);
    let begin = store.last_change().await.unwrap();
    begin_change(&other).await;
    store.create_folder(READER, "1").await.unwrap().unwrap();
    database.set_now(jiff::Timestamp::from_second(4_000_000_000).unwrap()).await;
    assert_eq!(store.prune_changes(Duration::from_hours(1), 10).await.unwrap(), 1, "the larger one");
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(store.prune_changes(Duration::from_hours(1), 10).await.unwrap(), 1, "the smaller one");
    for behind in [begin.0, begin.0 + 1] {
        let page = store.changes_after(ChangeNumber(behind), 10).await.unwrap();
        assert!(page.is_reset, "{behind}: {page:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_a_node_that_dies_in_a_transaction_holds_nothing_up() {
    let database = fresh_postgres().await;
    let (store, other, admin) = (&database.store, database.client().await, database.client().await);
    let begin = store.last_change().await.unwrap();
    begin_change(&other).await;
    store.create_folder(READER, "1").await.unwrap().unwrap();
    assert!(store.changes_after(begin, 10).await.unwrap().changes.is_empty());
    let pid: i32 = other.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    admin.execute("SELECT pg_terminate_backend($1)", &[&pid]).await.unwrap();
    loop {
        let page = store.changes_after(begin, 10).await.unwrap();
        if !page.has_more {
            assert_eq!(page.changes.len(), 1, "what was not committed is not told");
            break;
        }
        tokio::task::yield_now().await;
    }
}

/// They would, if it were read up to the oldest transaction that is running.
#[tokio::test(flavor = "multi_thread")]
async fn u2_long_transactions_of_others_hold_nothing_up() {
    let database = fresh_postgres().await;
    let (writing, reading) = (database.client().await, database.client().await);
    let name = empty_database().await;
    let (foreign, connection) = tokio_postgres::connect(&url_of(&name), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    writing.batch_execute("BEGIN; CREATE TABLE other (id int)").await.unwrap();
    foreign.batch_execute("BEGIN; CREATE TABLE other (id int)").await.unwrap();
    reading.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM changes").await.unwrap();
    let (one, two) = (database.another_store().await, database.another_store().await);
    let begin = two.last_change().await.unwrap();
    one.create_folder(READER, "1").await.unwrap().unwrap();
    assert_eq!(hear(&two, begin, 1).await.len(), 1);
    let sql = "
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint <= pg_current_xact_id()::text::bigint - 3";
    let is_held_up: bool = database.client().await.query_one(sql, &[]).await.unwrap().get(0);
    assert!(is_held_up, "else this shows nothing");
    drop(foreign);
    drop_database(&name).await;
}

/// Many write on two nodes, some fail, some die; readers on each hear the same.
#[tokio::test(flavor = "multi_thread")]
async fn u2_nodes_hear_the_same_whoever_dies() {
    const WRITERS: usize = 6;
    const ROUNDS: usize = 40;
    let database = fresh_postgres().await;
    let nodes = [database.another_store().await, database.another_store().await];
    let begin = nodes[0].last_change().await.unwrap();
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let (store, client) = (nodes[writer % 2].clone(), database.client().await);
        writers.push(tokio::spawn(async move {
            for round in 0..ROUNDS {
                store.create_folder(READER, &format!("{writer} {round}")).await.unwrap().unwrap();
                begin_change(&client).await;
                tokio::task::yield_now().await;
                client.batch_execute(if round % 3 == 0 { "ROLLBACK" } else { "COMMIT" }).await.unwrap();
            }
            // It dies.
            begin_change(&client).await;
        }));
    }
    let committed = WRITERS * (ROUNDS + ROUNDS - ROUNDS.div_ceil(3));
    // The database's own changes make no hints: these look as whoever fears to have missed one.
    let readers = [0, 1, 0, 1].map(|node: usize| {
        let store = nodes[node].clone();
        tokio::spawn(async move {
            let (mut after, mut heard) = (begin, Vec::new());
            while heard.len() < committed {
                let page = store.changes_after(after, 5).await.unwrap();
                after = page.next;
                heard.extend(page.changes);
            }
            heard
        })
    });
    for writer in writers {
        writer.await.unwrap();
    }
    let [first, others @ ..] = readers;
    let first = first.await.unwrap();
    assert_eq!(first.len(), committed);
    assert!(first.is_sorted_by(|one, other| one.number < other.number));
    for other in others {
        assert_eq!(other.await.unwrap(), first);
    }
}

/// Pages of a long stream are walks of its index.
#[tokio::test(flavor = "multi_thread")]
async fn u2_changes_are_read_along_their_index() {
    let database = fresh_postgres().await;
    let admin = database.client().await;
    let fill = "
INSERT INTO changes (kind, count, entry_ids, at) SELECT 'marks', 0, '{}', 0 FROM generate_series(1, 20000);
ANALYZE changes";
    admin.batch_execute(fill).await.unwrap();
    let plan = "
EXPLAIN SELECT number, kind, feed_id, count, entry_ids, at FROM changes WHERE number > 500 ORDER BY number LIMIT 100";
    let plan: String = admin.query(plan, &[]).await.unwrap().iter().map(|row| row.get::<_, String>(0)).collect();
    assert!(plan.contains("Index Scan using changes_pkey"), "{plan}");
    let last = database.store.last_change().await.unwrap();
    let page = database.store.changes_after(ChangeNumber(last.0 - 2), 100).await.unwrap();
    assert_eq!(page.changes.len(), 2);
}
