//! Entries as they are read: pages, one by one, and counts. Each kind of page is one walk of an index.

use async_trait::async_trait;
use deadpool_postgres::{Client, GenericClient};
use domain::{
    Cursor, Entry, EntryFilter, EntryId, EntryPage, EntryPatch, FeedId, FolderId,
    entry::Counts,
    ports::{EntryStore, MarkRead, StoreResult},
};
use tokio_postgres::{Error, Row, types::ToSql};

use super::{
    PostgresStore,
    errors::store_error,
    execute, query, query_opt, read_marks, search,
    values::{count, time, total},
};

/// Of `entries` as `page` and of `entry_bodies` as `body`.
const COLUMNS: &str = "
page.id, page.feed_id, page.guid, page.url, page.title, page.author, body.summary, body.content, page.published_at,
page.updated_at, page.sort_at, page.is_read, page.is_starred, page.categories, page.enclosures";

const STARRED: &str = "SELECT count(*) FROM entries WHERE is_starred";

const UNREAD: &str = "SELECT id, folder_id, unread_count FROM feeds";

const LOCK_FEED_OF: &str = "
SELECT id
FROM feeds
WHERE id = (SELECT feed_id FROM entries WHERE id = $1)
FOR NO KEY UPDATE";

const PATCH: &str = "
WITH before AS MATERIALIZED (
    SELECT id, feed_id, is_read
    FROM entries
    WHERE id = $1
    FOR UPDATE
), patched AS (
    UPDATE entries
    SET is_read = coalesce($2, entries.is_read),
        is_starred = coalesce($3, entries.is_starred)
    FROM before
    WHERE entries.id = before.id
    RETURNING entries.is_read
)
UPDATE feeds
SET unread_count = unread_count + before.is_read::int - patched.is_read::int
FROM before, patched
WHERE feeds.id = before.feed_id
  AND before.is_read <> patched.is_read";

#[async_trait]
impl EntryStore for PostgresStore {
    async fn entries(&self, filter: &EntryFilter, limit: u32, after: Option<Cursor>) -> StoreResult<EntryPage> {
        let client = self.client().await?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let wanted = Wanted { filter, after, rows: limit.saturating_add(1) };
        let rows =
            if filter.words.is_empty() { page(&client, &wanted).await } else { search::page(&client, &wanted).await };
        Ok(page_of(&rows.map_err(store_error)?, limit))
    }

    async fn entry(&self, id: EntryId) -> StoreResult<Option<Entry>> {
        let client = self.client().await?;
        one(&client, id).await.map_err(store_error)
    }

    async fn patch_entry(&self, id: EntryId, patch: EntryPatch) -> StoreResult<Option<Entry>> {
        let mut client = self.client().await?;
        patch_one(&mut client, id, patch).await.map_err(store_error)
    }

    async fn mark_read(&self, which: MarkRead) -> StoreResult<u64> {
        let mut client = self.client().await?;
        read_marks::mark_read(&mut client, which).await.map_err(store_error)
    }

    async fn counts(&self) -> StoreResult<Counts> {
        let client = self.client().await?;
        let counted = async { tokio::try_join!(query(&client, UNREAD, &[]), query(&client, STARRED, &[])) };
        let (unread, starred) = counted.await.map_err(store_error)?;
        let mut counts = Counts { starred: starred.first().map_or(0, |row| count(row.get(0))), ..Counts::default() };
        for row in unread {
            let unread = count(row.get(2));
            counts.total += unread;
            counts.by_feed.insert(FeedId(row.get(0)), unread);
            if let Some(folder) = row.get::<_, Option<i64>>(1) {
                *counts.by_folder.entry(FolderId(folder)).or_default() += unread;
            }
        }
        Ok(counts)
    }
}

/// Which rows a page wants: one more than it shows, to know whether there is a next page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) filter: &'a EntryFilter,
    pub(super) after: Option<Cursor>,
    pub(super) rows: usize,
}

impl Wanted<'_> {
    /// What comes after: without a cursor, everything.
    pub(super) fn position(&self) -> (i64, i64) {
        self.after.map_or((i64::MAX, i64::MAX), |cursor| (cursor.sort_at.as_millisecond(), cursor.id.0))
    }

    pub(super) fn limit(&self) -> i64 {
        total(self.rows)
    }

    /// The conditions of the filter but for its words, on `entries`, with `$1` and `$2` for the position. What each index
    /// is for stands as it is, because one over a part of the rows serves no condition that is only known later.
    pub(super) fn conditions(&self) -> String {
        let mut conditions = String::from("(entries.sort_at, entries.id) < ($1, $2)");
        if self.filter.feed_id.is_some() {
            conditions.push_str("\n      AND entries.feed_id = $4");
        }
        if self.filter.folder_id.is_some() {
            let place = if self.filter.feed_id.is_some() { "$5" } else { "$4" };
            conditions.push_str("\n      AND entries.folder_id = ");
            conditions.push_str(place);
        }
        conditions.push_str(match self.filter.unread {
            Some(true) => "\n      AND NOT entries.is_read",
            Some(false) => "\n      AND entries.is_read",
            None => "",
        });
        conditions.push_str(match self.filter.starred {
            Some(true) => "\n      AND entries.is_starred",
            Some(false) => "\n      AND NOT entries.is_starred",
            None => "",
        });
        conditions
    }

    /// The values of `$4` and `$5` in the conditions.
    pub(super) fn ids(&self) -> Vec<i64> {
        let feed = self.filter.feed_id.map(|feed| feed.0);
        let folder = self.filter.folder_id.map(|folder| folder.0);
        feed.into_iter().chain(folder).collect()
    }
}

/// The rows of a page whose ids and times a subquery gives, with their long texts. Each is looked up by itself, whatever
/// the planner thinks of how many there will be.
pub(super) fn rows_of(page: &str) -> String {
    format!(
        "
SELECT {COLUMNS}
FROM ({page}
) AS chosen
CROSS JOIN LATERAL (
    SELECT *
    FROM entries
    WHERE entries.id = chosen.id
    LIMIT 1
) AS page
LEFT JOIN LATERAL (
    SELECT *
    FROM entry_bodies
    WHERE entry_bodies.entry_id = chosen.id
    LIMIT 1
) AS body ON true
ORDER BY chosen.sort_at DESC, chosen.id DESC"
    )
}

async fn page(client: &impl GenericClient, wanted: &Wanted<'_>) -> Result<Vec<Row>, Error> {
    let sql = rows_of(&format!(
        "
    SELECT id, sort_at
    FROM entries
    WHERE {}
    ORDER BY entries.sort_at DESC, entries.id DESC
    LIMIT $3",
        wanted.conditions()
    ));
    let ((sort_at, id), limit, ids) = (wanted.position(), wanted.limit(), wanted.ids());
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&sort_at, &id, &limit];
    params.extend(ids.iter().map(|id| id as &(dyn ToSql + Sync)));
    query(client, &sql, &params).await
}

fn page_of(rows: &[Row], limit: usize) -> EntryPage {
    let entries: Vec<Entry> = rows.iter().take(limit).map(entry_of).collect();
    let next_cursor = match entries.last() {
        Some(last) if rows.len() > limit => Some(Cursor { sort_at: last.sort_at, id: last.id }),
        _ => None,
    };
    EntryPage { entries, next_cursor }
}

async fn one(client: &impl GenericClient, id: EntryId) -> Result<Option<Entry>, Error> {
    let row = query_opt(client, &rows_of("\n    SELECT $1::bigint AS id, 0 AS sort_at"), &[&id.0]).await?;
    Ok(row.as_ref().map(entry_of))
}

async fn patch_one(client: &mut Client, id: EntryId, patch: EntryPatch) -> Result<Option<Entry>, Error> {
    let transaction = client.transaction().await?;
    if query_opt(&transaction, LOCK_FEED_OF, &[&id.0]).await?.is_none() {
        return Ok(None);
    }
    execute(&transaction, PATCH, &[&id.0, &patch.is_read, &patch.is_starred]).await?;
    let entry = one(&transaction, id).await?;
    transaction.commit().await?;
    Ok(entry)
}

fn entry_of(row: &Row) -> Entry {
    Entry {
        id: EntryId(row.get(0)),
        feed_id: FeedId(row.get(1)),
        guid: row.get(2),
        url: row.get(3),
        title: row.get(4),
        author: row.get(5),
        summary: row.get(6),
        content: row.get(7),
        published_at: row.get::<_, Option<i64>>(8).map(time),
        updated_at: row.get::<_, Option<i64>>(9).map(time),
        sort_at: time(row.get(10)),
        is_read: row.get(11),
        is_starred: row.get(12),
        categories: serde_json::from_str(row.get(13)).unwrap_or_default(),
        enclosures: serde_json::from_str(row.get(14)).unwrap_or_default(),
    }
}
