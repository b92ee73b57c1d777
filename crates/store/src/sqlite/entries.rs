//! Entries as they are read: pages, one by one, and counts.

use async_trait::async_trait;
use domain::{
    Cursor, Entry, EntryFilter, EntryId, EntryPage, EntryPatch, FeedId, FolderId,
    entry::Counts,
    ports::{EntryStore, MarkRead, StoreResult},
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use super::{SqliteStore, pages, pages::Wanted, queue::Lane, read_marks, search, writer::Changes};
use crate::values::{count, time};

/// Of `entries` and `entry_bodies`.
pub(super) const COLUMNS: &str = "
       entries.id, feed_id, guid, url, title, author, summary, content, published_at, updated_at, sort_at, is_read,
       is_starred, categories, enclosures";

const STARRED: &str = "
SELECT count(*)
FROM entries INDEXED BY entries_starred
WHERE is_starred = 1";

const UNREAD: &str = "SELECT id, folder_id, unread_count FROM feeds";

const PATCH: &str = "
UPDATE entries
SET is_read = coalesce(?2, is_read),
    is_starred = coalesce(?3, is_starred)
WHERE id = ?1";

const COUNT: &str = "
UPDATE feeds
SET unread_count = unread_count + ?2
WHERE id = ?1";

#[async_trait]
impl EntryStore for SqliteStore {
    async fn entries(&self, filter: &EntryFilter, limit: u32, after: Option<Cursor>) -> StoreResult<EntryPage> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let wanted = Wanted { filter: filter.clone(), after, rows: limit.saturating_add(1) };
        let entries = self.readers.read(move |connection| page(connection, &wanted)).await?;
        Ok(page_of(entries, limit))
    }

    async fn entry(&self, id: EntryId) -> StoreResult<Option<Entry>> {
        self.readers.read(move |connection| one(connection, id.0)).await
    }

    async fn patch_entry(&self, id: EntryId, patch: EntryPatch) -> StoreResult<Option<Entry>> {
        self.writer.write(Lane::Usual, move |changes| patch_one(changes, id.0, patch)).await
    }

    async fn mark_read(&self, which: MarkRead) -> StoreResult<u64> {
        read_marks::mark_read(self, which).await
    }

    async fn counts(&self) -> StoreResult<Counts> {
        self.readers.read(counts).await
    }
}

pub(super) fn one(connection: &Connection, id: i64) -> Result<Option<Entry>> {
    connection.prepare_cached(&pages::one_sql())?.query_row([id], entry_of).optional()
}

/// Changes the count of unread entries of a feed.
pub(super) fn add_unread(connection: &Connection, feed: i64, difference: i64) -> Result<()> {
    connection.prepare_cached(COUNT)?.execute((feed, difference)).map(drop)
}

pub(super) fn entry_of(row: &Row<'_>) -> Result<Entry> {
    Ok(Entry {
        id: EntryId(row.get(0)?),
        feed_id: FeedId(row.get(1)?),
        guid: row.get(2)?,
        url: row.get(3)?,
        title: row.get(4)?,
        author: row.get(5)?,
        summary: row.get(6)?,
        content: row.get(7)?,
        published_at: row.get::<_, Option<i64>>(8)?.map(time),
        updated_at: row.get::<_, Option<i64>>(9)?.map(time),
        sort_at: time(row.get(10)?),
        is_read: row.get(11)?,
        is_starred: row.get(12)?,
        categories: serde_json::from_str(row.get_ref(13)?.as_str()?).unwrap_or_default(),
        enclosures: serde_json::from_str(row.get_ref(14)?.as_str()?).unwrap_or_default(),
    })
}

fn page(connection: &Connection, wanted: &Wanted) -> Result<Vec<Entry>> {
    if wanted.filter.words.is_empty() { pages::page(connection, wanted) } else { search::page(connection, wanted) }
}

fn page_of(mut entries: Vec<Entry>, limit: usize) -> EntryPage {
    let has_more = entries.len() > limit;
    entries.truncate(limit);
    let last = entries.last().filter(|_| has_more);
    let next_cursor = last.map(|last| Cursor { sort_at: last.sort_at, id: last.id });
    EntryPage { entries, next_cursor }
}

fn patch_one(changes: &mut Changes<'_>, id: i64, patch: EntryPatch) -> Result<Option<Entry>> {
    let connection = changes.connection;
    let mut before = connection.prepare_cached("SELECT feed_id, is_read FROM entries WHERE id = ?")?;
    let before: Option<(i64, bool)> = before.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((feed, was_read)) = before else { return Ok(None) };
    connection.prepare_cached(PATCH)?.execute((id, patch.is_read, patch.is_starred))?;
    let is_read = patch.is_read.unwrap_or(was_read);
    if is_read != was_read {
        add_unread(connection, feed, if is_read { -1 } else { 1 })?;
    }
    one(connection, id)
}

fn counts(connection: &Connection) -> Result<Counts> {
    let starred = connection.prepare_cached(STARRED)?.query_row([], |row| row.get(0))?;
    let mut counts = Counts { starred: count(starred), ..Counts::default() };
    let mut unread = connection.prepare_cached(UNREAD)?;
    let mut rows = unread.query([])?;
    while let Some(row) = rows.next()? {
        let unread = count(row.get(2)?);
        counts.total += unread;
        counts.by_feed.insert(FeedId(row.get(0)?), unread);
        if let Some(folder) = row.get::<_, Option<i64>>(1)? {
            *counts.by_folder.entry(FolderId(folder)).or_default() += unread;
        }
    }
    Ok(counts)
}
