//! The change stream. Rows are written at the end of each transaction, so numbers are in the order of commits; whoever
//! waits is told by the writer after it.

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    AccountId, EntryId, FeedId,
    changes::{Change, ChangeKind, ChangeLog, ChangeNumber, ChangesPage, is_known, prune_to},
    ports::{ChangeStore, StoreResult},
};
use rusqlite::{Connection, Result, Row};

use crate::sqlite::{
    SqliteStore,
    shared::{
        errors::{unfit, unreadable},
        queue::Priority,
        writer::WriteTx,
    },
};
use crate::values::{count, millis, time, u64_to_i64, usize_to_i64};

const BOUNDS: &str = include_str!("sql/bounds.sql");

const WRITE: &str = include_str!("sql/write.sql");

pub(crate) const AFTER: &str = include_str!("sql/after.sql");

const OLDEST: &str = "SELECT number, at FROM changes ORDER BY number LIMIT ?";

#[async_trait]
impl ChangeStore for SqliteStore {
    async fn last_change(&self) -> StoreResult<ChangeNumber> {
        Ok(self.readers.read(bounds).await?.last)
    }

    async fn changes_after(&self, after: ChangeNumber, limit: u32) -> StoreResult<ChangesPage> {
        self.readers.read(move |connection| read(connection, after, limit.max(1))).await
    }

    async fn changed_since(&self, seen: u64) -> u64 {
        self.writer.changed_since(seen).await
    }

    async fn prune_changes(&self, older_than: Duration, limit: u32) -> StoreResult<u64> {
        self.writer.write(Priority::Usual, move |changes| prune(changes, older_than, limit)).await
    }
}

/// Writes what a transaction has changed; false if that is nothing.
pub(crate) fn write(connection: &Connection, log: &mut ChangeLog, now: i64) -> Result<bool> {
    if log.is_empty() {
        return Ok(false);
    }
    let mut number = bounds(connection)?.last.0;
    let mut statement = connection.prepare_cached(WRITE)?;
    for change in log.take() {
        number += 1;
        let ids: Vec<i64> = change.entries.iter().map(|entry| entry.0).collect();
        let ids = serde_json::to_string(&ids).map_err(unfit)?;
        let (account, feed) = (change.account_id.map(|account| account.0), change.feed_id.map(|feed| feed.0));
        let row = (number, change.kind.name(), feed, u64_to_i64(change.count), ids, now, account);
        statement.execute(row)?;
    }
    Ok(true)
}

/// Where the stream begins and ends.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    pruned_to: ChangeNumber,
    last: ChangeNumber,
}

fn bounds(connection: &Connection) -> Result<Bounds> {
    connection.prepare_cached(BOUNDS)?.query_row([], |row| {
        let (pruned_to, last): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
        Ok(Bounds { pruned_to: ChangeNumber(pruned_to), last: ChangeNumber(last.unwrap_or(0).max(pruned_to)) })
    })
}

fn read(connection: &Connection, after: ChangeNumber, limit: u32) -> Result<ChangesPage> {
    let Bounds { pruned_to, last } = bounds(connection)?;
    if !is_known(after, pruned_to, last) {
        return Ok(ChangesPage::reset(last));
    }
    let mut page = ChangesPage { next: after, ..ChangesPage::default() };
    let mut statement = connection.prepare_cached(AFTER)?;
    let mut rows = statement.query((after.0, limit))?;
    while let Some(row) = rows.next()? {
        page.next = ChangeNumber(row.get(0)?);
        page.changes.extend(change_of(row)?);
    }
    page.has_more = page.next < last;
    Ok(page)
}

/// `None` of a kind that nobody here knows.
fn change_of(row: &Row<'_>) -> Result<Option<Change>> {
    let Some(kind) = ChangeKind::by_name(row.get_ref(1)?.as_str()?) else { return Ok(None) };
    let ids: Vec<i64> = serde_json::from_str(row.get_ref(4)?.as_str()?).map_err(|error| unreadable(4, error))?;
    Ok(Some(Change {
        number: ChangeNumber(row.get(0)?),
        kind,
        account_id: row.get::<_, Option<i64>>(6)?.map(AccountId),
        feed_id: row.get::<_, Option<i64>>(2)?.map(FeedId),
        count: count(row.get(3)?),
        entries: ids.into_iter().map(EntryId).collect(),
        at: time(row.get(5)?),
    }))
}

fn prune(changes: &mut WriteTx<'_>, older_than: Duration, limit: u32) -> Result<u64> {
    let (connection, kept_since) = (changes.connection, changes.now() - millis(older_than));
    let mut oldest = connection.prepare_cached(OLDEST)?;
    let oldest = oldest.query_map([limit], |row| Ok((ChangeNumber(row.get(0)?), time(row.get(1)?))))?;
    let oldest = oldest.collect::<Result<Vec<_>>>()?;
    let Some(to) = prune_to(&oldest, bounds(connection)?.last, time(kept_since)) else { return Ok(0) };
    let removed = connection.prepare_cached("DELETE FROM changes WHERE number <= ?")?.execute([to.0])?;
    connection.prepare_cached("UPDATE change_floor SET number = ?")?.execute([to.0])?;
    Ok(count(usize_to_i64(removed)))
}
