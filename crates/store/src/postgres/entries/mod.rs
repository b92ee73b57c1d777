//! Entries as they are read: pages, one by one, and counts. Each kind of page is one walk of an index.

pub(crate) mod account_counts;
pub(crate) mod entry_rows;
pub(crate) mod find;
pub(crate) mod ingest;
pub(crate) mod pages;
pub(crate) mod prune;
pub(crate) mod read_marks;

use async_trait::async_trait;
use deadpool_postgres::{Client, GenericClient};
use domain::{
    AccountId, Cursor, Entry, EntryFilter, EntryId, EntryPage, EntryPatch, FeedId, FolderId,
    entry::{AccountCounts, Counts, EntryIdPage},
    entry_query::{EntryQuery, FeedCounter},
    ports::{EntryStore, MarkRead, StoreResult},
};
use jiff::Timestamp;
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, PostgresStore,
    entries::pages::PageQuery,
    query, query_opt, search,
    shared::{
        errors::store_error,
        values::{count, time},
    },
};

const STARRED: &str = "SELECT starred_count FROM accounts WHERE id = $1";

const UNREAD: &str = "SELECT feed_id, folder_id, unread_count FROM follows WHERE account_id = $1";

const NEWEST_UNREAD: &str = include_str!("sql/newest_unread.sql");

#[async_trait]
impl EntryStore for PostgresStore {
    async fn entries(
        &self,
        account: AccountId,
        filter: &EntryFilter,
        limit: u32,
        after: Option<Cursor>,
    ) -> StoreResult<EntryPage> {
        let _permit = if filter.is_slow() { Some(self.slow_permit().await?) } else { None };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let wanted = PageQuery { account, filter, after, rows: limit.saturating_add(1) };
        let page = async {
            let mut client = self.client().await?;
            page(&mut client, &wanted, limit).await.map_err(store_error)
        };
        if filter.is_slow() { page.await } else { self.in_time(page).await }
    }

    async fn entry_ids(
        &self,
        account: AccountId,
        filter: &EntryFilter,
        limit: u32,
        after: Option<Cursor>,
    ) -> StoreResult<EntryIdPage> {
        if !filter.is_walk() {
            let filter = EntryFilter { without_texts: true, ..filter.clone() };
            return Ok(self.entries(account, &filter, limit, after).await?.into());
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let wanted = PageQuery { account, filter, after, rows: limit.saturating_add(1) };
        let rows = self.read(async |client| pages::walk_ids(client, &wanted).await).await?;
        Ok(id_page(&rows, limit))
    }

    async fn entry(&self, account: AccountId, id: EntryId) -> StoreResult<Option<Entry>> {
        self.read(async |client| one(client, account, id).await).await
    }

    async fn find_entries(
        &self,
        account: AccountId,
        query: &EntryQuery,
        offset: u32,
        limit: u32,
    ) -> StoreResult<Vec<EntryId>> {
        let _permit = if query.is_slow() { Some(self.slow_permit().await?) } else { None };
        let client = self.client().await?;
        find::find(&client, account, query, offset, limit).await.map_err(store_error)
    }

    async fn count_entries(&self, account: AccountId, query: &EntryQuery) -> StoreResult<u64> {
        let _permit = self.slow_permit().await?;
        let client = self.client().await?;
        find::count_found(&client, account, query).await.map_err(store_error)
    }

    async fn changed_at(&self, account: AccountId, ids: &[EntryId]) -> StoreResult<Vec<(EntryId, Timestamp)>> {
        self.read(async |client| find::changed_at(client, account, ids).await).await
    }

    async fn feed_counters(&self, account: AccountId) -> StoreResult<Vec<FeedCounter>> {
        self.read(async |client| find::counters(client, account).await).await
    }

    async fn patch_entry(&self, account: AccountId, id: EntryId, patch: EntryPatch) -> StoreResult<Option<Entry>> {
        let patched = async {
            let mut client = self.client().await?;
            read_marks::patch(self, &mut client, account, &[id.0], patch).await.map_err(store_error)?;
            one(&client, account, id).await.map_err(store_error)
        };
        self.in_time(patched).await
    }

    async fn patch_entries(&self, account: AccountId, ids: &[EntryId], patch: EntryPatch) -> StoreResult<u64> {
        let mut client = self.client().await?;
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        read_marks::patch(self, &mut client, account, &ids, patch).await.map_err(store_error)
    }

    async fn toggle_star(&self, account: AccountId, id: EntryId) -> StoreResult<Option<bool>> {
        let mut client = self.client().await?;
        read_marks::toggle_star(self, &mut client, account, id).await.map_err(store_error)
    }

    async fn mark_read(&self, account: AccountId, which: MarkRead) -> StoreResult<u64> {
        let mut client = self.client_for_long().await?;
        read_marks::mark_read(self, &mut client, account, which).await.map_err(store_error)
    }

    async fn counts(&self, account: AccountId) -> StoreResult<Counts> {
        let whose: Params<'_> = &[&account.0];
        let counted =
            self.read(async |client| tokio::try_join!(query(client, UNREAD, whose), query(client, STARRED, whose)));
        let (unread, starred) = counted.await?;
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

    async fn counts_of(&self, accounts: &[AccountId], feeds: Option<&[FeedId]>) -> StoreResult<Vec<AccountCounts>> {
        self.read(async |client| account_counts::read(client, accounts, feeds).await).await
    }

    async fn newest_unread(&self, account: AccountId) -> StoreResult<Vec<(FeedId, Timestamp)>> {
        let rows = self.read(async |client| query(client, NEWEST_UNREAD, &[&account.0]).await).await?;
        Ok(rows.iter().map(|row| (FeedId(row.get(0)), time(row.get(1)))).collect())
    }
}

async fn page(client: &mut Client, wanted: &PageQuery<'_>, limit: usize) -> Result<EntryPage, Error> {
    let filter = wanted.filter;
    if filter.is_of_changes() && filter.is_selective() {
        let (rows, stopped_at) = pages::walk_selective(client, wanted).await?;
        let page = page_of(&rows, limit);
        return Ok(EntryPage { next_cursor: page.next_cursor.or(stopped_at), ..page });
    }
    let rows = match (&filter.ids, &filter.search) {
        _ if filter.since.is_some() => pages::walk(&*client, wanted).await?,
        (Some(ids), _) => pages::walk_among(&*client, wanted, ids).await?,
        (None, None) => pages::walk(&*client, wanted).await?,
        (None, Some(search)) => {
            let (rows, stopped_at) = search::page(client, wanted, search).await?;
            let page = page_of(&rows, limit);
            return Ok(EntryPage { next_cursor: page.next_cursor.or(stopped_at), ..page });
        }
    };
    Ok(page_of(&rows, limit))
}

fn page_of(rows: &[Row], limit: usize) -> EntryPage {
    let shown = &rows[..rows.len().min(limit)];
    let next_cursor = shown
        .last()
        .filter(|last| last.get(pages::HAS_NEXT_AT))
        .map(|last| Cursor { at: time(last.get(pages::TIME_AT)), id: EntryId(last.get(0)) });
    EntryPage { entries: shown.iter().map(entry_of).collect(), next_cursor }
}

/// The ids of a page, which are in the index that it walks.
fn id_page(rows: &[Row], limit: usize) -> EntryIdPage {
    let shown = &rows[..rows.len().min(limit)];
    let last = shown.last().filter(|_| rows.len() > limit);
    let next_cursor = last.map(|last| Cursor { at: time(last.get(1)), id: EntryId(last.get(0)) });
    EntryIdPage { ids: shown.iter().map(|row| EntryId(row.get(0))).collect(), next_cursor }
}

async fn one(client: &impl GenericClient, account: AccountId, id: EntryId) -> Result<Option<Entry>, Error> {
    let row = query_opt(client, &pages::one_sql(), &[&id.0, &account.0]).await?;
    Ok(row.as_ref().map(entry_of))
}

pub(crate) fn entry_of(row: &Row) -> Entry {
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
        received_at: time(row.get(15)),
    }
}
