//! Every kind of page is one walk of an index: nothing is scanned, nothing is sorted.

use domain::{
    Cursor, EntryFilter, EntryId, FeedId, FolderId,
    account::READER,
    entry::{Order, Since},
    entry_query::{EntryQuery, Place, SortBy},
};
use jiff::Timestamp;
use rusqlite::Connection;

use super::fresh;
use crate::sqlite::{
    accounts::{account_prune, account_rows, sessions, tokens},
    changes,
    entries::{
        self, entry_states, find, ingest,
        pages::{PageQuery, walk_sql},
        prune, read_marks,
    },
    feeds::{self, feed_changes, feed_rows, finish, folders, follows, overview, polls},
    figures,
    outbox::{
        delivery_claims, delivery_leases, delivery_mark_rows, delivery_moves, delivery_pages, delivery_rows, events,
        outbox_prune, replay, webhooks,
    },
    push::{discovery, subscription_claims, subscriptions},
};

fn plan(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let count = statement.parameter_count();
    // The plan does not depend on the values; numbers do for all.
    let values = rusqlite::params_from_iter(std::iter::repeat_n(1, count));
    let rows = statement.query_map(values, |row| row.get::<_, String>(3)).unwrap();
    rows.map(Result::unwrap).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(plan: &str, index: &str) {
    assert!(plan.contains(index), "{index} is not used:\n{plan}");
    assert!(!plan.contains("TEMP B-TREE"), "something is sorted:\n{plan}");
    // A list that is given is read from end to end; a table is not.
    let is_no_table = |line: &str| line.contains("SCAN json_each") || line.contains("SCAN CONSTANT ROW");
    for line in plan.lines().filter(|line| line.contains("SCAN") && !is_no_table(line)) {
        assert!(line.contains("USING"), "a table is scanned:\n{plan}");
    }
}

#[tokio::test]
async fn f6_every_kind_of_page_walks_an_index() {
    let (store, _folder) = fresh();
    let (feed_id, folder_id) = (Some(FeedId(1)), Some(FolderId(1)));
    let all = EntryFilter::default();
    let unread = EntryFilter { unread: Some(true), ..EntryFilter::default() };
    let starred = EntryFilter { starred: Some(true), ..EntryFilter::default() };
    let cases = [
        (all.clone(), "states_newest"),
        (EntryFilter { feed_id, ..all.clone() }, "entries_of_feed"),
        (EntryFilter { folder_id, ..all.clone() }, "states_of_folder"),
        (unread.clone(), "states_unread"),
        (EntryFilter { feed_id, ..unread.clone() }, "states_unread_of_feed"),
        (EntryFilter { folder_id, ..unread.clone() }, "states_unread_of_folder"),
        (EntryFilter { feed_id, folder_id, ..unread.clone() }, "states_unread_of_feed"),
        (starred.clone(), "states_starred"),
        (EntryFilter { feed_id, ..starred.clone() }, "states_starred"),
        (EntryFilter { unread: Some(true), folder_id, ..starred }, "states_starred"),
        (EntryFilter { unread: Some(false), ..all.clone() }, "states_newest"),
        (EntryFilter { starred: Some(false), feed_id, ..all.clone() }, "entries_of_feed"),
        (EntryFilter { since: Some(Since::Changed(Timestamp::UNIX_EPOCH)), ..all.clone() }, "states_modified"),
        (EntryFilter { since: Some(Since::Changed(Timestamp::UNIX_EPOCH)), folder_id, ..all }, "states_modified"),
    ];
    let checked = store.readers.read(move |connection| {
        for (filter, index) in cases {
            for order in [Order::Newest, Order::Oldest] {
                for after in [None, Some(Cursor { at: Timestamp::UNIX_EPOCH, id: EntryId(1) })] {
                    let has_start = after.is_some() || filter.since.is_some();
                    let wanted =
                        PageQuery { account: READER, filter: EntryFilter { order, ..filter.clone() }, after, rows: 51 };
                    let plan = plan(connection, &walk_sql(&wanted).sql);
                    check(&plan, &format!("INDEX {index} ("));
                    let key = if filter.since.is_some() { "modified_at" } else { "sort_at" };
                    let start = [format!("({key},"), format!("{key}<?"), format!("{key}>?")];
                    let is_searched = start.iter().any(|start| plan.contains(start));
                    assert!(!has_start || is_searched, "a page starts at its cursor:\n{plan}");
                    // Of each entry of a feed what the account has of it is looked up by its key.
                    let lookups = plan.matches("USING PRIMARY KEY (entry_id=? AND account_id=?)").count();
                    assert_eq!(
                        (plan.lines().count(), lookups),
                        if index == "entries_of_feed" { (2, 1) } else { (1, 0) }
                    );
                }
            }
        }
        for by_id in [entries::ONE, entries::ONE_WITHOUT_TEXTS] {
            check(&plan(connection, by_id), "SEARCH entries USING INTEGER PRIMARY KEY (rowid=?)");
        }
        // Its marks stand among the account's own, not among those of all who have it (A6).
        for by_account in [entries::ONE, entries::ONE_WITHOUT_TEXTS] {
            let marks = "SEARCH entry_states USING COVERING INDEX states_by_id (account_id=? AND entry_id=?)";
            check(&plan(connection, by_account), marks);
        }
        for by_key in [entries::PATCH, read_marks::MARK] {
            check(&plan(connection, by_key), "SEARCH entry_states USING PRIMARY KEY (entry_id=? AND account_id=?)");
        }
        check(&plan(connection, entries::UNREAD), "INDEX follows_of_account (account_id=?)");
        assert!(!plan(connection, entries::ONE_WITHOUT_TEXTS).contains("entry_bodies"));
        Ok(())
    });
    checked.await.unwrap();
}

/// And nothing but the index is read for the ids of a page.
#[tokio::test]
async fn s1_every_kind_of_stream_walks_an_index_in_the_order_of_receipt() {
    let (store, _folder) = fresh();
    let (feed_id, folder_id) = (Some(FeedId(1)), Some(FolderId(1)));
    let since = Some(Since::Received(Timestamp::UNIX_EPOCH));
    let all = EntryFilter { since, ..EntryFilter::default() };
    let unread = EntryFilter { unread: Some(true), ..all.clone() };
    let starred = EntryFilter { starred: Some(true), ..all.clone() };
    let cases = [
        (all.clone(), "states_received"),
        (EntryFilter { feed_id, ..all.clone() }, "entries_received"),
        (EntryFilter { feed_id, unread: Some(false), ..all.clone() }, "entries_received"),
        (EntryFilter { folder_id, ..all }, "states_received_of_folder"),
        (unread.clone(), "states_unread_received"),
        (EntryFilter { feed_id, ..unread.clone() }, "states_unread_received_of_feed"),
        (EntryFilter { folder_id, ..unread }, "states_unread_received_of_folder"),
        (starred.clone(), "states_starred_received"),
        (EntryFilter { feed_id, ..starred }, "states_starred_received"),
    ];
    let checked = store.readers.read(move |connection| {
        for (filter, index) in cases {
            for order in [Order::Newest, Order::Oldest] {
                for (after, until) in [
                    (None, None),
                    (None, Some(Timestamp::MAX)),
                    (Some(Cursor { at: Timestamp::UNIX_EPOCH, id: EntryId(1) }), Some(Timestamp::MAX)),
                ] {
                    let filter = EntryFilter { order, until, ..filter.clone() };
                    let plan = plan(connection, &walk_sql(&PageQuery { account: READER, filter, after, rows: 51 }).sql);
                    check(&plan, &format!("INDEX {index} ("));
                    let is_of_feed = index == "entries_received";
                    let is_begun = if is_of_feed {
                        after.is_none() || plan.contains(" AND id<?") || plan.contains(" AND id>?")
                    } else {
                        plan.contains("received_at")
                    };
                    assert!(is_begun, "a page starts at its cursor:\n{plan}");
                    assert_eq!(plan.lines().count(), if is_of_feed { 2 } else { 1 }, "{plan}");
                }
            }
        }
        let newest = plan(connection, entries::NEWEST_UNREAD);
        check(&newest, "INDEX follows_of_account (account_id=?)");
        check(&newest, "COVERING INDEX states_unread_received_of_feed (account_id=? AND feed_id=?)");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn f5_finding_due_feeds_does_not_scan() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        check(&plan(connection, polls::CLAIM_DUE), "INDEX feeds_due (next_check_at<?)");
        check(&plan(connection, polls::BY_DUE), "INDEX feeds_due");
        let by_ids = [polls::CLAIM, polls::RENEW, polls::RELEASE, polls::POSTPONE, finish::HELD, feed_rows::POLL_SOON];
        for by_id in by_ids {
            check(&plan(connection, by_id), "INTEGER PRIMARY KEY");
        }
        check(&plan(connection, finish::HELD), "COVERING INDEX subscriptions_of_feed (feed_id=?)");
        check(&plan(connection, ingest::KNOWN), "(feed_id=? AND identity=?)");
        check(&plan(connection, polls::DUE), "INDEX feeds_due (next_check_at<?)");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn f7_what_is_to_be_pruned_or_marked_is_found_by_an_index() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        check(&plan(connection, prune::TOO_OLD), "INDEX states_prunable (is_read=? AND received_at<?)");
        check(&plan(connection, prune::FIRST_BEYOND), "INDEX entries_of_feed (feed_id=?)");
        check(&plan(connection, prune::BEYOND), "INDEX states_prunable_of_feed (feed_id=?");
        for (feed_id, folder_id, index) in [
            (None, None, "INDEX states_unread (account_id=? AND (sort_at,entry_id)<(?,?))"),
            (Some(FeedId(1)), None, "INDEX states_unread_of_feed (account_id=? AND feed_id=?"),
            (None, Some(FolderId(1)), "INDEX states_unread_of_folder (account_id=? AND folder_id=?"),
        ] {
            let which = domain::ports::MarkRead { feed_id, folder_id, before: None };
            check(&plan(connection, &read_marks::find_sql(which)), index);
        }
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn a2_followers_and_their_states_are_found_by_keys() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        let fan_out = plan(connection, entry_states::FAN_OUT);
        check(&fan_out, "SEARCH entries USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
        check(&fan_out, "SEARCH follows USING PRIMARY KEY (feed_id=?)");
        check(&plan(connection, entry_states::TOUCH), "SEARCH entry_states USING PRIMARY KEY (entry_id=?)");
        check(&plan(connection, entry_states::ADD_UNREAD), "PRIMARY KEY (feed_id=? AND account_id=?)");
        check(&plan(connection, follows::HAND_OVER), "SEARCH entries USING COVERING INDEX entries_of_feed (feed_id=?)");
        check(&plan(connection, follows::HELD), "INDEX entries_of_feed (feed_id=?)");
        check(&plan(connection, follows::SETTLE), "SEARCH follows USING PRIMARY KEY (feed_id=?)");
        check(&plan(connection, follows::UNSTAR), "INDEX states_starred (account_id=?)");
        for by_feed in [follows::FORGET, feed_changes::MOVE] {
            check(&plan(connection, by_feed), "INDEX states_by_id (account_id=? AND entry_id=?)");
        }
        check(&plan(connection, follows::ORPHANS), "SEARCH entry_states USING PRIMARY KEY (entry_id=?)");
        check(&plan(connection, prune::REMOVE_ENTRY), "SEARCH entry_states USING PRIMARY KEY (entry_id=?)");
        check(&plan(connection, prune::KEEP), "SEARCH entries USING INTEGER PRIMARY KEY (rowid=?)");
        check(&plan(connection, prune::END_KEEPING), "INDEX entries_kept (feed_id=?)");
        check(&plan(connection, ingest::KEPT), "INDEX entries_kept (feed_id=?)");
        check(&plan(connection, feed_changes::UPDATE), "PRIMARY KEY (feed_id=? AND account_id=?)");
        check(&plan(connection, folders::EMPTY), "INDEX states_of_folder (account_id=? AND folder_id=?)");
        let by_url = plan(connection, follows::BY_URL);
        assert!(by_url.contains("(url_hash=?)") && by_url.contains("(feed_id=? AND account_id=?)"), "{by_url}");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn a1_accounts_sessions_and_tokens_are_found_by_indexes() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        check(&plan(connection, account_rows::BY_ID), "INTEGER PRIMARY KEY (rowid=?)");
        check(&plan(connection, account_rows::BY_NAME), "INDEX accounts_by_name (name_key=?)");
        for (by_secret, key) in [
            (sessions::BY_SECRET, "(secret_hash=?)"),
            (tokens::BY_SECRET, "(secret_hash=?)"),
            (tokens::BY_FEVER_KEY, "(fever_hash=?)"),
        ] {
            check(&plan(connection, by_secret), key);
        }
        check(&plan(connection, sessions::OF_ACCOUNT), "INDEX sessions_of_account (account_id=?)");
        check(&plan(connection, tokens::OF_ACCOUNT), "INDEX tokens_of_account (account_id=?)");
        check(&plan(connection, account_prune::SESSIONS), "INDEX sessions_by_use (last_used_at<?)");
        check(&plan(connection, account_prune::TOKENS), "INDEX tokens_by_end (expires_at<?)");
        check(&plan(connection, account_prune::REMOVED), "INDEX accounts_removed");
        check(&plan(connection, account_prune::FOLLOWS), "INDEX follows_of_account (account_id=?)");
        check(&plan(connection, account_prune::STATES), "INDEX states_newest (account_id=?)");
        check(&plan(connection, delivery_pages::WEBHOOKS_OF), "INDEX webhooks_of_account (account_id=?)");
        check(&plan(connection, webhooks::ALL), "INDEX webhooks_of_account (account_id=?)");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn w8_finding_due_subscriptions_does_not_scan() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        let due = plan(connection, subscription_claims::CLAIM_DUE);
        check(&due, "INDEX subscriptions_due (next_step_at<?)");
        let expiring = plan(connection, subscription_claims::CLAIM_EXPIRING);
        check(&expiring, "INDEX subscriptions_expiring (expires_at<?)");
        let elsewhere = plan(connection, subscription_claims::CLAIM_DUE_ELSEWHERE);
        for step in [
            "COVERING INDEX subscriptions_due_by_hub (hub_url>?)",
            "INDEX subscriptions_due_by_hub (hub_url=? AND next_step_at<?)",
            "SEARCH candidate USING INTEGER PRIMARY KEY (rowid=?)",
        ] {
            assert!(elsewhere.contains(step), "{step} in\n{elsewhere}");
        }
        assert!(!elsewhere.contains("SCAN subscriptions") && !elsewhere.contains("SCAN candidate"), "{elsewhere}");
        for claim in [due, expiring] {
            check(&claim, "SEARCH subscriptions USING INTEGER PRIMARY KEY (rowid=?)");
        }
        check(&plan(connection, subscription_claims::BY_DUE), "INDEX subscriptions_due");
        check(&plan(connection, subscription_claims::RELEASE), "INTEGER PRIMARY KEY (rowid=?)");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn u2_changes_are_read_along_their_numbers() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        check(&plan(connection, changes::AFTER), "SEARCH changes USING INTEGER PRIMARY KEY (rowid>?)");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn u3_figures_are_found_by_an_index() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        // They are few: that they are put together by time costs nothing.
        let read = plan(connection, figures::READ);
        for table in ["minute", "hour"] {
            let key = format!("PRIMARY KEY (account_id=? AND series=? AND {table}>? AND {table}<?)");
            assert!(read.contains(&key), "{read}");
        }
        check(&plan(connection, figures::OLD), "INDEX figures_by_minute_by_age (minute<?)");
        check(&plan(connection, figures::REMOVE_HOURS), "INDEX figures_by_hour_by_age (hour<?)");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn w5_a_subscription_is_found_by_an_index() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        for by_id in [subscriptions::BY_ID, subscriptions::HELD] {
            check(&plan(connection, by_id), "SEARCH subscriptions USING INTEGER PRIMARY KEY (rowid=?)");
        }
        for of_feed in [subscriptions::BY_TOKEN, subscriptions::BY_TOPIC] {
            check(&plan(connection, of_feed), "SEARCH feeds USING INTEGER PRIMARY KEY (rowid=?)");
        }
        check(&plan(connection, subscriptions::BY_TOKEN), "(token=?)");
        check(&plan(connection, subscriptions::BY_TOPIC), "INDEX subscriptions_by_topic (topic_hash=?)");
        check(&plan(connection, subscriptions::OF_FEED), "INDEX subscriptions_of_feed (feed_id=?)");
        check(&plan(connection, subscriptions::CURRENT_OF), "INDEX subscriptions_current (feed_id=?)");
        check(&plan(connection, subscriptions::LIVING), "INTEGER PRIMARY KEY (rowid>?)");
        check(&plan(connection, discovery::WANTS), "INTEGER PRIMARY KEY (rowid=?)");
        let to_subscribe = plan(connection, discovery::TO_SUBSCRIBE);
        check(&to_subscribe, "SEARCH feeds USING INTEGER PRIMARY KEY (rowid>?)");
        check(&to_subscribe, "INDEX subscriptions_current (feed_id=?)");
        let of_account = plan(connection, subscriptions::ALL_OF);
        assert!(of_account.contains("INDEX subscriptions_of_feed (feed_id=?)"), "{of_account}");
        // Of each feed one subscription is looked up.
        for feeds in [feeds::ALL, feeds::ONE, feeds::POLLED] {
            check(&plan(connection, feeds), "INDEX subscriptions_current (feed_id=?) LEFT-JOIN");
        }
        check(&plan(connection, feeds::ALL), "INDEX follows_of_account (account_id=?)");
        check(&plan(connection, feeds::ONE), "SEARCH follows USING PRIMARY KEY (feed_id=? AND account_id=?)");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn d4_finding_due_deliveries_does_not_scan() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        // Of each webhook for which something waits the first of either queue. The others are stepped over.
        let waiting = plan(connection, delivery_claims::WAITING);
        let step = "SEARCH deliveries USING COVERING INDEX deliveries_due (webhook_id>?)";
        assert!(waiting.contains(step), "{waiting}");
        assert!(waiting.contains("SEARCH webhooks USING INTEGER PRIMARY KEY (rowid=?)"), "{waiting}");
        let first = "SEARCH deliveries USING COVERING INDEX deliveries_due (webhook_id=? AND is_tried=?)";
        assert_eq!(waiting.matches(first).count(), 2, "of each queue one: {waiting}");
        assert!(!waiting.contains("TEMP B-TREE"), "{waiting}");
        let line = "INDEX deliveries_due (webhook_id=? AND is_tried=? AND";
        let due = plan(connection, delivery_claims::DUE);
        check(&due, &format!("{line} next_attempt_at>? AND next_attempt_at<?)"));
        check(&due, "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)");
        check(&plan(connection, delivery_claims::DUE_LAST), &format!("{line} next_attempt_at<?)"));
        check(&plan(connection, delivery_leases::BY_DUE), "INDEX deliveries_due (webhook_id=? AND is_tried=?)");
        check(&plan(connection, delivery_moves::SEND_AT_ONCE), &format!("{line} next_attempt_at>?)"));
        check(&plan(connection, delivery_leases::LEASED_UNTIL), "INDEX deliveries_held (webhook_id=?)");
        let by_ids = [
            delivery_claims::CLAIM,
            delivery_leases::RENEW,
            delivery_leases::RELEASE,
            delivery_mark_rows::MARK,
            webhooks::BY_ID,
        ];
        for by_id in by_ids {
            check(&plan(connection, by_id), "INTEGER PRIMARY KEY (rowid=?)");
        }
        let event = plan(connection, delivery_claims::EVENT);
        for step in [
            "events USING INTEGER PRIMARY KEY (rowid=?)",
            "webhooks USING INTEGER PRIMARY KEY (rowid=?)",
            "follows USING PRIMARY KEY (feed_id=? AND account_id=?)",
            "entry_states USING PRIMARY KEY (entry_id=? AND account_id=?)",
        ] {
            check(&event, step);
        }
        let follows = plan(connection, events::FOLLOWS);
        check(&follows, "SEARCH follows USING PRIMARY KEY (feed_id=?)");
        check(&follows, "SEARCH webhooks EXISTS USING INDEX webhooks_of_account (account_id=?)");
        check(&plan(connection, webhooks::ENABLED), "SEARCH webhooks USING INDEX webhooks_of_account (account_id=?)");
        check(&plan(connection, delivery_mark_rows::FORGET), "PRIMARY KEY (delivery_id=? AND place<?)");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn d10_the_outbox_is_shown_and_counted_by_indexes() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        let by_status = "COVERING INDEX deliveries_by_status (webhook_id=? AND status=?";
        check(&plan(connection, delivery_pages::NEWEST), &format!("{by_status} AND id>? AND id<?)"));
        check(&plan(connection, delivery_pages::FAILED), by_status);
        check(&plan(connection, delivery_moves::FAILED), &format!("{by_status} AND id>?)"));
        check(&plan(connection, delivery_pages::OLDEST), "INDEX deliveries_by_status (webhook_id=? AND status=?)");
        check(&plan(connection, delivery_pages::PENDING), "COVERING INDEX deliveries_due (webhook_id=?)");
        let due = "COVERING INDEX deliveries_due (webhook_id=? AND is_tried=? AND next_attempt_at<?)";
        check(&plan(connection, delivery_pages::DUE), due);
        check(&plan(connection, delivery_pages::HELD), "INDEX deliveries_held (webhook_id=?)");
        check(&plan(connection, delivery_rows::BY_ID), "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)");
        check(&plan(connection, delivery_rows::ATTEMPTS), "PRIMARY KEY (delivery_id=?)");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn d11_what_is_to_be_pruned_or_repeated_is_found_by_an_index() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        check(&plan(connection, outbox_prune::OF_KIND), "INDEX deliveries_by_status (webhook_id=? AND status=?)");
        check(&plan(connection, outbox_prune::OF_REMOVED), "INDEX deliveries_by_status (webhook_id=?)");
        let without_deliveries = plan(connection, outbox_prune::EVENTS);
        check(&without_deliveries, "INDEX events_by_time (created_at<?)");
        check(&without_deliveries, "INDEX deliveries_of_event (event_id=?)");
        check(&plan(connection, replay::EVENTS), "INDEX events_by_time (created_at");
        check(&plan(connection, replay::FOLLOW), "SEARCH follows USING PRIMARY KEY (feed_id=? AND account_id=?)");
        check(&plan(connection, replay::DELIVERY), "INDEX deliveries_of_event (event_id=? AND webhook_id=?)");
        for removal in [outbox_prune::REMOVE, outbox_prune::REMOVE_EVENTS, outbox_prune::REMOVE_WEBHOOKS] {
            check(&plan(connection, removal), "INTEGER PRIMARY KEY (rowid=?)");
        }
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn u6_counting_feeds_and_subscriptions_walks_no_table() {
    let (store, _folder) = fresh();
    let checked = store.readers.read(|connection| {
        let feeds = plan(connection, overview::FEEDS);
        for index in ["feeds_due (next_check_at<?)", "feeds_failing", "feeds_pushed", "feeds_gone"] {
            check(&feeds, &format!("COVERING INDEX {index}"));
        }
        check(&plan(connection, overview::SUBSCRIPTIONS), "COVERING INDEX subscriptions_by_state");
        check(&plan(connection, overview::LEASE), "COVERING INDEX subscriptions_expiring");
        Ok(())
    });
    checked.await.unwrap();
}

#[tokio::test]
async fn s4_every_search_of_apps_walks_an_index() {
    let (store, _folder) = fresh();
    let any = EntryQuery::default();
    let unread = EntryQuery { unread: Some(true), ..any.clone() };
    let (feed_id, place) = (Some(FeedId(1)), Some(Place::Folder(FolderId(1))));
    let cases = [
        (any.clone(), "states_newest"),
        (EntryQuery { by: SortBy::Id, ..any.clone() }, "states_by_id"),
        (
            EntryQuery { by: SortBy::Id, after_id: Some(EntryId(1)), ..any.clone() },
            "states_by_id (account_id=? AND entry_id>?)",
        ),
        (
            EntryQuery { by: SortBy::Id, before_id: Some(EntryId(1)), ..any.clone() },
            "states_by_id (account_id=? AND entry_id<?)",
        ),
        (EntryQuery { by: SortBy::Received, ..any.clone() }, "states_received"),
        (EntryQuery { by: SortBy::Changed, ..any.clone() }, "states_modified"),
        (EntryQuery { feed_id, ..any.clone() }, "entries_of_feed"),
        (EntryQuery { place, ..any.clone() }, "states_of_folder"),
        (EntryQuery { starred: Some(true), ..any }, "states_starred"),
        (unread.clone(), "states_unread"),
        (EntryQuery { feed_id, ..unread.clone() }, "states_unread_of_feed"),
        (EntryQuery { place, ..unread }, "states_unread_of_folder"),
    ];
    store
        .readers
        .read(move |connection| {
            for (query, index) in cases {
                for order in [Order::Newest, Order::Oldest] {
                    let query = EntryQuery { order, ..query.clone() };
                    check(&plan(connection, &find::find_sql(READER, &query, 0, 10).sql), index);
                }
            }
            check(&plan(connection, find::COUNTERS), "follows_of_account");
            Ok(())
        })
        .await
        .unwrap();
}
