//! Ids of entries by the conditions of other readers' programs. `EntryQuery::walked` says what is walked; the index stands in
//! the statement. Where the order is another one, the database sorts what was found.

use domain::{
    AccountId, EntryId, FeedId,
    entry::Order,
    entry_query::{EntryQuery, FeedCounter, Place, SortBy, TOTAL_MAX, Walked},
};
use jiff::Timestamp;
use rusqlite::{Connection, Result, params_from_iter, types::Value};

use crate::sqlite::entries::pages::{Part, of_state};
use crate::values::{count, time, u64_to_i64};

const CHANGED_AT: &str = include_str!("sql/find_changed_at.sql");

pub(crate) const COUNTERS: &str = include_str!("sql/find_counters.sql");

/// The ids, so many after so many.
pub(crate) fn find(
    connection: &Connection,
    account: AccountId,
    query: &EntryQuery,
    offset: u32,
    limit: u32,
) -> Result<Vec<EntryId>> {
    let part = find_sql(account, query, offset, limit);
    let mut statement = connection.prepare_cached(&part.sql)?;
    statement.query_map(params_from_iter(values(query, part.values)), |row| row.get(0).map(EntryId))?.collect()
}

/// How many there are, up to the limit.
pub(crate) fn count_found(connection: &Connection, account: AccountId, query: &EntryQuery) -> Result<u64> {
    let mut part = Part::default();
    part.add("SELECT count(*) FROM (SELECT 1", &[]);
    add_conditions(&mut part, account, query);
    part.add("\nLIMIT ?)", &[u64_to_i64(TOTAL_MAX)]);
    let mut statement = connection.prepare_cached(&part.sql)?;
    statement.query_row(params_from_iter(values(query, part.values)), |row| row.get(0).map(count))
}

pub(crate) fn changed_at(
    connection: &Connection,
    account: AccountId,
    ids: &[EntryId],
) -> Result<Vec<(EntryId, Timestamp)>> {
    let changed = |row: &rusqlite::Row<'_>| Ok((EntryId(row.get(0)?), time(row.get(1)?)));
    connection.prepare_cached(CHANGED_AT)?.query_map((json(ids), account.0), changed)?.collect()
}

pub(crate) fn counters(connection: &Connection, account: AccountId) -> Result<Vec<FeedCounter>> {
    let counter = |row: &rusqlite::Row<'_>| {
        Ok(FeedCounter {
            feed_id: FeedId(row.get(0)?),
            entries: count(row.get(1)?),
            unread: count(row.get(2)?),
            last_fetched_at: row.get::<_, Option<i64>>(3)?.map(time),
        })
    };
    connection.prepare_cached(COUNTERS)?.query_map([account.0], counter)?.collect()
}

fn json(ids: &[EntryId]) -> String {
    ids.iter().map(|id| id.0).collect::<serde_json::Value>().to_string()
}

/// The values of a statement: the ids that are named come first, as a JSON array.
fn values(query: &EntryQuery, values: Vec<i64>) -> Vec<Value> {
    let among = query.among.as_deref().map(|ids| Value::from(json(ids)));
    among.into_iter().chain(values.into_iter().map(Value::from)).collect()
}

pub(crate) fn find_sql(account: AccountId, query: &EntryQuery, offset: u32, limit: u32) -> Part {
    let key = key_of(query);
    let mut part = Part::default();
    part.add("SELECT entry_states.entry_id", &[]);
    add_conditions(&mut part, account, query);
    let direction = match query.order {
        Order::Newest => " DESC",
        Order::Oldest => "",
    };
    part.add(&format!("\nORDER BY {key}{direction}"), &[]);
    if query.by != SortBy::Id {
        let id = if query.walked() == Walked::OfFeed { "entries.id" } else { "entry_states.entry_id" };
        part.add(&format!(", {id}{direction}"), &[]);
    }
    part.add("\nLIMIT ? OFFSET ?", &[limit.into(), offset.into()]);
    part
}

fn key_of(query: &EntryQuery) -> &'static str {
    match query.by {
        SortBy::Published if query.walked() == Walked::OfFeed => "entries.sort_at",
        SortBy::Published => "entry_states.sort_at",
        SortBy::Id => "entry_states.entry_id",
        SortBy::Received => "entry_states.received_at",
        SortBy::Changed => "entry_states.modified_at",
    }
}

fn add_conditions(part: &mut Part, account: AccountId, query: &EntryQuery) {
    let walked = query.walked();
    part.add("\nFROM ", &[]);
    part.add(from(walked), &[]);
    part.add("\nWHERE entry_states.account_id = ?", &[account.0]);
    if let Some(feed) = query.feed_id {
        let column = if walked == Walked::OfFeed { "entries.feed_id" } else { "entry_states.feed_id" };
        part.add(&format!("\n  AND {column} = ?"), &[feed.0]);
    }
    match query.place {
        Some(Place::Folder(folder)) => part.add("\n  AND entry_states.folder_id = ?", &[folder.0]),
        Some(Place::Outside) => part.add("\n  AND entry_states.folder_id IS NULL", &[]),
        None => {}
    }
    // As they are in the definitions of the indexes, or these would not serve.
    part.add(of_state(query.unread, ["\n  AND is_read = 0", "\n  AND is_read = 1"]), &[]);
    part.add(of_state(query.starred, ["\n  AND is_starred = 1", "\n  AND is_starred = 0"]), &[]);
    if query.changed_since_received {
        part.add("\n  AND entry_states.modified_at > entry_states.received_at", &[]);
    }
    let published = if walked == Walked::OfFeed { "entries.sort_at" } else { "entry_states.sort_at" };
    let millis = |time: Timestamp| time.as_millisecond();
    for (column, after, before) in [
        ("entry_states.entry_id", query.after_id.map(|id| id.0), query.before_id.map(|id| id.0)),
        (published, query.published.after.map(millis), query.published.before.map(millis)),
        ("entry_states.modified_at", query.changed.after.map(millis), query.changed.before.map(millis)),
    ] {
        if let Some(after) = after {
            part.add(&format!("\n  AND {column} > ?"), &[after]);
        }
        if let Some(before) = before {
            part.add(&format!("\n  AND {column} < ?"), &[before]);
        }
    }
}

fn from(walked: Walked) -> &'static str {
    match walked {
        Walked::Among => "json_each(?) AS given\nCROSS JOIN entry_states ON entry_states.entry_id = given.value",
        Walked::Starred => "entry_states INDEXED BY states_starred",
        Walked::Unread => "entry_states INDEXED BY states_unread",
        Walked::UnreadOfFeed => "entry_states INDEXED BY states_unread_of_feed",
        Walked::UnreadOfFolder => "entry_states INDEXED BY states_unread_of_folder",
        Walked::OfFeed => {
            "entries INDEXED BY entries_of_feed\nCROSS JOIN entry_states ON entry_states.entry_id = entries.id"
        }
        Walked::OfFolder => "entry_states INDEXED BY states_of_folder",
        Walked::Newest => "entry_states INDEXED BY states_newest",
        Walked::ById => "entry_states INDEXED BY states_by_id",
        Walked::Received => "entry_states INDEXED BY states_received",
        Walked::Changed => "entry_states INDEXED BY states_modified",
    }
}
