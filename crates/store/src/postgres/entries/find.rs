//! Ids of entries by the conditions of other readers' programs. `EntryQuery::walked` says what is walked. Where the order is
//! another one, what was found is sorted apart: the planner would otherwise walk everything in that order to find a few.

use std::fmt::{Arguments, Write};

use deadpool_postgres::GenericClient;
use domain::{
    AccountId, EntryId, FeedId,
    entry::Order,
    entry_query::{EntryQuery, FeedCounter, Place, SortBy, TOTAL_MAX, Walked},
};
use jiff::Timestamp;
use tokio_postgres::{Error, types::ToSql};

use crate::postgres::{
    query, query_opt,
    shared::values::{count, time, u64_to_i64},
};

const CHANGED_AT: &str = include_str!("sql/find_changed_at.sql");

const COUNTERS: &str = include_str!("sql/find_counters.sql");

/// The ids, so many after so many.
pub(crate) async fn find(
    client: &impl GenericClient,
    account: AccountId,
    wanted: &EntryQuery,
    offset: u32,
    limit: u32,
) -> Result<Vec<EntryId>, Error> {
    let part = find_sql(account, wanted, offset, limit);
    let rows = query(client, &part.sql, &part.params(ids_of(wanted).as_ref())).await?;
    Ok(rows.iter().map(|row| EntryId(row.get(0))).collect())
}

/// How many there are, up to the limit.
pub(crate) async fn count_found(
    client: &impl GenericClient,
    account: AccountId,
    wanted: &EntryQuery,
) -> Result<u64, Error> {
    let mut part = Part::default();
    part.found(account, wanted, "1");
    let limit = part.value(u64_to_i64(TOTAL_MAX));
    let sql = format!("SELECT count(*) FROM ({}\nLIMIT {limit}) AS found", part.sql);
    let row = query_opt(client, &sql, &part.params(ids_of(wanted).as_ref())).await?;
    Ok(row.map_or(0, |row| count(row.get(0))))
}

pub(crate) async fn changed_at(
    client: &impl GenericClient,
    account: AccountId,
    ids: &[EntryId],
) -> Result<Vec<(EntryId, Timestamp)>, Error> {
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    let rows = query(client, CHANGED_AT, &[&ids, &account.0]).await?;
    Ok(rows.iter().map(|row| (EntryId(row.get(0)), time(row.get(1)))).collect())
}

pub(crate) async fn counters(client: &impl GenericClient, account: AccountId) -> Result<Vec<FeedCounter>, Error> {
    let rows = query(client, COUNTERS, &[&account.0]).await?;
    let counters = rows.iter().map(|row| FeedCounter {
        feed_id: FeedId(row.get(0)),
        entries: count(row.get(1)),
        unread: count(row.get(2)),
        last_fetched_at: row.get::<_, Option<i64>>(3).map(time),
    });
    Ok(counters.collect())
}

/// The ids that are named, if any are.
fn ids_of(wanted: &EntryQuery) -> Option<Vec<i64>> {
    wanted.among.as_ref().map(|ids| ids.iter().map(|id| id.0).collect())
}

pub(crate) fn find_sql(account: AccountId, wanted: &EntryQuery, offset: u32, limit: u32) -> Part {
    let mut part = Part::default();
    part.found(account, wanted, &columns_of(wanted));
    let direction = match wanted.order {
        Order::Newest => "DESC",
        Order::Oldest => "ASC",
    };
    let order =
        if wanted.by == SortBy::Id { format!("id {direction}") } else { format!("key {direction}, id {direction}") };
    if wanted.is_sorted_after() {
        part.sql = format!("WITH found AS MATERIALIZED ({}\n)\nSELECT id, key\nFROM found", part.sql);
    }
    let page = [part.value(limit.into()), part.value(offset.into())];
    part.add(format_args!("\nORDER BY {order}\nLIMIT {} OFFSET {}", page[0], page[1]));
    part
}

/// A part of a statement, and the values of its parameters. `$1` are the ids that are named, if any are.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) sql: String,
    pub(crate) values: Vec<i64>,
    has_ids: bool,
}

impl Part {
    fn add(&mut self, sql: Arguments<'_>) {
        // Texts take everything.
        let _ = self.sql.write_fmt(sql);
    }

    /// Takes a value along: the parameter that stands for it.
    fn value(&mut self, value: i64) -> String {
        self.values.push(value);
        format!("${}::bigint", self.values.len() + usize::from(self.has_ids))
    }

    fn params<'a>(&'a self, ids: Option<&'a Vec<i64>>) -> Vec<&'a (dyn ToSql + Sync)> {
        let ids = ids.map(|ids| ids as &(dyn ToSql + Sync));
        ids.into_iter().chain(self.values.iter().map(|value| value as &(dyn ToSql + Sync))).collect()
    }

    /// What meets the conditions.
    fn found(&mut self, account: AccountId, wanted: &EntryQuery, columns: &str) {
        self.has_ids = wanted.among.is_some();
        let account = self.value(account.0);
        let states = "SELECT * FROM entry_states WHERE entry_states.account_id = ";
        self.sql = match wanted.walked() {
            Walked::Among => format!(
                "SELECT {columns}\nFROM unnest($1::bigint[]) AS given (id)\nCROSS JOIN LATERAL (\n    {states}{account} \
                 AND entry_states.entry_id = given.id LIMIT 1\n) AS entry_states\nWHERE true"
            ),
            Walked::OfFeed => format!(
                "SELECT {columns}\nFROM entries\nCROSS JOIN LATERAL (\n    {states}{account} \
                 AND entry_states.entry_id = entries.id LIMIT 1\n) AS entry_states\nWHERE true"
            ),
            _ => format!("SELECT {columns}\nFROM entry_states\nWHERE entry_states.account_id = {account}"),
        };
        self.add_kind(wanted);
        self.add_bounds(wanted);
    }

    fn add_kind(&mut self, wanted: &EntryQuery) {
        if let Some(feed) = wanted.feed_id {
            let feed = self.value(feed.0);
            let table = if wanted.walked() == Walked::OfFeed { "entries" } else { "entry_states" };
            self.add(format_args!("\n  AND {table}.feed_id = {feed}"));
        }
        match wanted.place {
            Some(Place::Folder(folder)) => {
                let folder = self.value(folder.0);
                self.add(format_args!("\n  AND entry_states.folder_id = {folder}"));
            }
            Some(Place::Outside) => self.sql.push_str("\n  AND entry_states.folder_id IS NULL"),
            None => {}
        }
        // As they are in the definitions of the indexes, or these would not serve.
        for (state, column) in [(wanted.unread.map(|unread| !unread), "is_read"), (wanted.starred, "is_starred")] {
            match state {
                Some(true) => self.add(format_args!("\n  AND entry_states.{column}")),
                Some(false) => self.add(format_args!("\n  AND NOT entry_states.{column}")),
                None => {}
            }
        }
    }

    fn add_bounds(&mut self, wanted: &EntryQuery) {
        if wanted.changed_since_received {
            self.sql.push_str("\n  AND entry_states.modified_at > entry_states.received_at");
        }
        let millis = |time: Timestamp| time.as_millisecond();
        let published = if wanted.walked() == Walked::OfFeed { "entries.sort_at" } else { "entry_states.sort_at" };
        for (column, after, before) in [
            ("entry_states.entry_id", wanted.after_id.map(|id| id.0), wanted.before_id.map(|id| id.0)),
            (published, wanted.published.after.map(millis), wanted.published.before.map(millis)),
            ("entry_states.modified_at", wanted.changed.after.map(millis), wanted.changed.before.map(millis)),
        ] {
            for (sign, bound) in [(">", after), ("<", before)] {
                if let Some(bound) = bound {
                    let bound = self.value(bound);
                    self.add(format_args!("\n  AND {column} {sign} {bound}"));
                }
            }
        }
    }
}

/// Id and key, as the index that is walked has them.
fn columns_of(wanted: &EntryQuery) -> String {
    let is_of_feed = wanted.walked() == Walked::OfFeed;
    let id = if is_of_feed { "entries.id" } else { "entry_states.entry_id" };
    let key = match wanted.by {
        SortBy::Published if is_of_feed => "entries.sort_at",
        SortBy::Published => "entry_states.sort_at",
        SortBy::Id => id,
        SortBy::Received => "entry_states.received_at",
        SortBy::Changed => "entry_states.modified_at",
    };
    format!("{id} AS id, {key} AS key")
}
