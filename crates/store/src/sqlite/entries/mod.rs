//! Entries as they are read: pages, one by one, and counts.

pub(crate) mod account_counts;
pub(crate) mod entry_rows;
pub(crate) mod entry_states;
pub(crate) mod find;
pub(crate) mod ingest;
pub(crate) mod pages;
pub(crate) mod prune;
pub(crate) mod read_marks;

use async_trait::async_trait;
use domain::{
    AccountId, Cursor, Entry, EntryFilter, EntryId, EntryPage, EntryPatch, FeedId, FolderId,
    entry::{AccountCounts, Counts, EntryIdPage, PAGE_TEXT_BYTES_MAX},
    entry_query::{EntryQuery, FeedCounter},
    ports::{EntryStore, MarkRead, StoreResult},
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{
    SqliteStore,
    entries::pages::{PageQuery, Walk},
    search,
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{count, time};

pub(crate) const ONE: &str = include_str!("sql/one.sql");

const ONE_UNMARKED: &str = include_str!("sql/one_unmarked.sql");

pub(crate) const ONE_WITHOUT_TEXTS: &str = include_str!("sql/one_without_texts.sql");

const BYTES: &str = include_str!("sql/bytes.sql");

const BODY_BYTES: &str = include_str!("sql/body_bytes.sql");

const STARRED: &str = "SELECT starred_count FROM accounts WHERE id = ?";

pub(crate) const UNREAD: &str =
    "SELECT feed_id, folder_id, unread_count FROM follows INDEXED BY follows_of_account WHERE account_id = ?";

pub(crate) const NEWEST_UNREAD: &str = include_str!("sql/newest_unread.sql");

const BEFORE: &str = "SELECT feed_id, is_read, is_starred FROM entry_states WHERE entry_id = ? AND account_id = ?";

pub(crate) const PATCH: &str = include_str!("sql/patch.sql");

#[async_trait]
impl EntryStore for SqliteStore {
    async fn entries(
        &self,
        account: AccountId,
        filter: &EntryFilter,
        limit: u32,
        after: Option<Cursor>,
    ) -> StoreResult<EntryPage> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let wanted = PageQuery { account, filter: filter.clone(), after, rows: limit.saturating_add(1) };
        let readers = if filter.is_slow() { &self.slow_readers } else { &self.readers };
        readers.read(move |connection| page(connection, &wanted, limit)).await
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
        let wanted = PageQuery { account, filter: filter.clone(), after, rows: limit.saturating_add(1) };
        self.readers.read(move |connection| id_page(connection, &wanted, limit)).await
    }

    async fn entry(&self, account: AccountId, id: EntryId) -> StoreResult<Option<Entry>> {
        self.readers.read(move |connection| one(connection, account, id.0)).await
    }

    async fn find_entries(
        &self,
        account: AccountId,
        query: &EntryQuery,
        offset: u32,
        limit: u32,
    ) -> StoreResult<Vec<EntryId>> {
        let readers = if query.is_slow() { &self.slow_readers } else { &self.readers };
        let query = query.clone();
        readers.read(move |connection| find::find(connection, account, &query, offset, limit)).await
    }

    async fn count_entries(&self, account: AccountId, query: &EntryQuery) -> StoreResult<u64> {
        let query = query.clone();
        self.slow_readers.read(move |connection| find::count_found(connection, account, &query)).await
    }

    async fn changed_at(&self, account: AccountId, ids: &[EntryId]) -> StoreResult<Vec<(EntryId, Timestamp)>> {
        let ids = ids.to_vec();
        self.readers.read(move |connection| find::changed_at(connection, account, &ids)).await
    }

    async fn feed_counters(&self, account: AccountId) -> StoreResult<Vec<FeedCounter>> {
        self.readers.read(move |connection| find::counters(connection, account)).await
    }

    async fn patch_entry(&self, account: AccountId, id: EntryId, patch: EntryPatch) -> StoreResult<Option<Entry>> {
        self.writer.write(Priority::Usual, move |changes| patch_one(changes, account, id.0, patch)).await
    }

    async fn patch_entries(&self, account: AccountId, ids: &[EntryId], patch: EntryPatch) -> StoreResult<u64> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        self.writer.write(Priority::Usual, move |changes| patch_many(changes, account, &ids, patch)).await
    }

    async fn toggle_star(&self, account: AccountId, id: EntryId) -> StoreResult<Option<bool>> {
        self.writer.write(Priority::Usual, move |changes| toggle_star(changes, account, id.0)).await
    }

    async fn mark_read(&self, account: AccountId, which: MarkRead) -> StoreResult<u64> {
        read_marks::mark_read(self, account, which).await
    }

    async fn counts(&self, account: AccountId) -> StoreResult<Counts> {
        self.readers.read(move |connection| counts(connection, account)).await
    }

    async fn counts_of(&self, accounts: &[AccountId], feeds: Option<&[FeedId]>) -> StoreResult<Vec<AccountCounts>> {
        let wanted = account_counts::Wanted::new(accounts, feeds);
        self.readers.read(move |connection| account_counts::read(connection, &wanted)).await
    }

    async fn newest_unread(&self, account: AccountId) -> StoreResult<Vec<(FeedId, Timestamp)>> {
        self.readers.read(move |connection| newest_unread(connection, account)).await
    }
}

fn page(connection: &Connection, wanted: &PageQuery, limit: usize) -> Result<EntryPage> {
    let filter = &wanted.filter;
    let walked = match &filter.ids {
        _ if filter.since.is_some() => pages::walk(connection, wanted)?,
        Some(ids) => {
            let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
            Walk { places: pages::walk_among(connection, wanted, &ids)?, stopped_at: None }
        }
        None => match &filter.search {
            None => pages::walk(connection, wanted)?,
            Some(search) => search::places(connection, wanted, search)?,
        },
    };
    fill(connection, wanted.account, walked, limit, !filter.without_texts)
}

/// The ids of a page, which are in the index that it walks.
fn id_page(connection: &Connection, wanted: &PageQuery, limit: usize) -> Result<EntryIdPage> {
    let mut places = pages::walk(connection, wanted)?.places;
    let has_next = places.len() > limit;
    places.truncate(limit);
    let next_cursor = places.last().filter(|_| has_next).map(|last| Cursor::from(*last));
    Ok(EntryIdPage { ids: places.into_iter().map(|place| EntryId(place.id)).collect(), next_cursor })
}

/// Reads the entries of a page, one by one, until it is full.
fn fill(
    connection: &Connection,
    account: AccountId,
    walked: Walk,
    limit: usize,
    with_texts: bool,
) -> Result<EntryPage> {
    let mut one = connection.prepare_cached(if with_texts { ONE } else { ONE_WITHOUT_TEXTS })?;
    let (mut entries, mut bytes, mut last) = (Vec::new(), 0, None);
    for (number, place) in walked.places.into_iter().enumerate() {
        bytes += bytes_of(connection, place.id, with_texts)?;
        let is_full = number == limit || bytes > PAGE_TEXT_BYTES_MAX;
        if let Some(last) = last.filter(|_| is_full) {
            return Ok(EntryPage { entries, next_cursor: Some(last) });
        }
        entries.extend(one.query_row((place.id, account.0), entry_of).optional()?);
        last = Some(Cursor::from(place));
    }
    Ok(EntryPage { entries, next_cursor: walked.stopped_at.map(Cursor::from) })
}

/// Bytes of the texts that will be read of an entry.
fn bytes_of(connection: &Connection, id: i64, with_texts: bool) -> Result<usize> {
    let mut bytes = 0;
    for sql in [Some(BYTES), with_texts.then_some(BODY_BYTES)].into_iter().flatten() {
        let some: Option<i64> = connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
        bytes += usize::try_from(some.unwrap_or(0)).unwrap_or(0);
    }
    Ok(bytes)
}

/// An entry with the account's marks; none if the account has it not.
fn one(connection: &Connection, account: AccountId, id: i64) -> Result<Option<Entry>> {
    connection.prepare_cached(ONE)?.query_row((id, account.0), entry_of).optional()
}

/// An entry as nobody has marked it.
pub(crate) fn one_unmarked(connection: &Connection, id: i64) -> Result<Option<Entry>> {
    connection.prepare_cached(ONE_UNMARKED)?.query_row([id], entry_of).optional()
}

fn entry_of(row: &Row<'_>) -> Result<Entry> {
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
        received_at: time(row.get(15)?),
    })
}

fn patch_one(changes: &mut WriteTx<'_>, account: AccountId, id: i64, patch: EntryPatch) -> Result<Option<Entry>> {
    patch_many(changes, account, &[id], patch)?;
    one(changes.connection, account, id)
}

fn patch_many(changes: &mut WriteTx<'_>, account: AccountId, ids: &[i64], patch: EntryPatch) -> Result<u64> {
    let mut patched = Vec::new();
    for id in ids {
        patched.extend(patch_row(changes, account, *id, patch)?);
    }
    Ok(read_marks::note(changes, account, patched))
}

/// In the transaction that writes: nobody else writes meanwhile.
fn toggle_star(changes: &mut WriteTx<'_>, account: AccountId, id: i64) -> Result<Option<bool>> {
    let was_starred =
        changes.connection.prepare_cached(BEFORE)?.query_row((id, account.0), |row| row.get::<_, bool>(2));
    let Some(was_starred) = was_starred.optional()? else { return Ok(None) };
    patch_many(changes, account, &[id], EntryPatch { is_read: None, is_starred: Some(!was_starred) })?;
    Ok(Some(!was_starred))
}

/// Marks an entry and counts it: its feed and it, or none if that changes nothing.
fn patch_row(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    id: i64,
    patch: EntryPatch,
) -> Result<Option<(FeedId, EntryId)>> {
    let connection = changes.connection;
    let before = connection
        .prepare_cached(BEFORE)?
        .query_row((id, account.0), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?, row.get::<_, bool>(2)?)));
    let Some((feed, was_read, was_starred)) = before.optional()? else { return Ok(None) };
    let row = (id, account.0, patch.is_read, patch.is_starred, changes.now());
    let patched = connection.prepare_cached(PATCH)?.execute(row)?;
    let (is_read, is_starred) = (patch.is_read.unwrap_or(was_read), patch.is_starred.unwrap_or(was_starred));
    if is_read != was_read {
        entry_states::add_unread(connection, feed, account.0, if is_read { -1 } else { 1 })?;
    }
    if is_starred != was_starred {
        entry_states::add_starred(connection, account.0, if is_starred { 1 } else { -1 })?;
    }
    Ok((patched > 0).then_some((FeedId(feed), EntryId(id))))
}

fn newest_unread(connection: &Connection, account: AccountId) -> Result<Vec<(FeedId, Timestamp)>> {
    let mut statement = connection.prepare_cached(NEWEST_UNREAD)?;
    let newest = |row: &Row<'_>| Ok((FeedId(row.get(0)?), row.get::<_, Option<i64>>(1)?.map(time)));
    let rows: Result<Vec<_>> = statement.query_map([account.0], newest)?.collect();
    Ok(rows?.into_iter().filter_map(|(feed, at)| Some((feed, at?))).collect())
}

fn counts(connection: &Connection, account: AccountId) -> Result<Counts> {
    let starred: Option<i64> =
        connection.prepare_cached(STARRED)?.query_row([account.0], |row| row.get(0)).optional()?;
    let mut counts = Counts { starred: count(starred.unwrap_or(0)), ..Counts::default() };
    let mut unread = connection.prepare_cached(UNREAD)?;
    let mut rows = unread.query([account.0])?;
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
