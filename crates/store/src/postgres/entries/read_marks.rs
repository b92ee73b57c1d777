//! Marking what an account has of entries, by their ids or many as read in chunks: each time a short transaction that keeps
//! the account's counts exact. The follows that are counted in are locked first, then the states, each in order.

use deadpool_postgres::{Client, Transaction};
use domain::{AccountId, EntryId, EntryPatch, FeedId, changes::ChangeLog, ports::MarkRead};
use tokio_postgres::{Error, Row, types::ToSql};

use crate::postgres::{
    PostgresStore, execute, now_ms, query, query_opt,
    shared::{errors::is_deadlock, values::count},
};

/// Entries in one transaction.
const CHUNK: i64 = 2_000;

/// Times that chunks are tried again after a deadlock.
const DEADLOCKS_MAX: u32 = 3;

const LOCK_FOLLOWS: &str = include_str!("sql/read_marks_lock_follows.sql");

const MARK: &str = include_str!("sql/read_marks_mark.sql");

const LOCK_FOLLOWS_OF: &str = include_str!("sql/read_marks_lock_follows_of.sql");

const IS_STARRED: &str =
    "SELECT is_starred FROM entry_states WHERE account_id = $1 AND entry_id = $2 FOR NO KEY UPDATE";

const PATCH: &str = include_str!("sql/read_marks_patch.sql");

/// Marks these; returns how many that changed.
pub(crate) async fn patch(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    ids: &[i64],
    patch: EntryPatch,
) -> Result<u64, Error> {
    let mut deadlocks = 0;
    loop {
        match patch_once(store, client, account, ids, patch).await {
            Err(error) if is_deadlock(&error) && deadlocks < DEADLOCKS_MAX => deadlocks += 1,
            result => return result,
        }
    }
}

async fn patch_once(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    ids: &[i64],
    patch: EntryPatch,
) -> Result<u64, Error> {
    let transaction = client.transaction().await?;
    if execute(&transaction, LOCK_FOLLOWS_OF, &[&account.0, &ids]).await? == 0 {
        return Ok(0);
    }
    patch_locked(store, transaction, account, ids, patch).await
}

/// Marks these, whose follows are locked.
async fn patch_locked(
    store: &PostgresStore,
    transaction: Transaction<'_>,
    account: AccountId,
    ids: &[i64],
    patch: EntryPatch,
) -> Result<u64, Error> {
    let patched = query(&transaction, PATCH, &[&account.0, &ids, &patch.is_read, &patch.is_starred]).await?;
    let (patched, log) = marked(account, &patched);
    store.commit(transaction, log).await?;
    Ok(patched)
}

/// Turns the star of an entry into its opposite: whether it has one now.
pub(crate) async fn toggle_star(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    id: EntryId,
) -> Result<Option<bool>, Error> {
    let mut deadlocks = 0;
    loop {
        match toggle_once(store, client, account, id.0).await {
            Err(error) if is_deadlock(&error) && deadlocks < DEADLOCKS_MAX => deadlocks += 1,
            result => return result,
        }
    }
}

/// Every change of a mark locks the follow first, so what is read after that stands until the end.
async fn toggle_once(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    id: i64,
) -> Result<Option<bool>, Error> {
    let transaction = client.transaction().await?;
    execute(&transaction, LOCK_FOLLOWS_OF, &[&account.0, &[id].as_slice()]).await?;
    let Some(row) = query_opt(&transaction, IS_STARRED, &[&account.0, &id]).await? else { return Ok(None) };
    let is_starred = !row.get::<_, bool>(0);
    let patch = EntryPatch { is_read: None, is_starred: Some(is_starred) };
    patch_locked(store, transaction, account, &[id], patch).await?;
    Ok(Some(is_starred))
}

/// How many were marked, and that as a change: one, whatever feeds they are of.
fn marked(account: AccountId, rows: &[Row]) -> (u64, ChangeLog) {
    let mut log = ChangeLog::default();
    let Some(row) = rows.first() else { return (0, log) };
    let (marked, feed) = (count(row.get(0)), row.get::<_, Option<i64>>(1).map(FeedId));
    let entries = row.get::<_, Option<Vec<i64>>>(2).unwrap_or_default().into_iter().map(EntryId).collect();
    log.marks(account, feed, marked, entries);
    (marked, log)
}

/// Marks what is there now: entries that come in meanwhile stay unread.
pub(crate) async fn mark_read(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    which: MarkRead,
) -> Result<u64, Error> {
    let now = now_ms(&*client).await?;
    let until = which.before.map_or(now, |before| before.as_millisecond().min(now));
    let sql = unread_sql(which);
    let ids: Vec<i64> =
        which.feed_id.map(|feed| feed.0).into_iter().chain(which.folder_id.map(|folder| folder.0)).collect();
    let mut position = (i64::MAX, i64::MAX);
    let (mut marked, mut deadlocks) = (0, 0);
    loop {
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&position.0, &position.1, &until, &CHUNK, &account.0];
        params.extend(ids.iter().map(|id| id as &(dyn ToSql + Sync)));
        match mark_chunk(store, client, account, &sql, &params).await {
            Ok(None) => return Ok(marked),
            Ok(Some((last, count))) => (position, marked) = (last, marked + count),
            // A chunk locks many follows: should it ever deadlock, it is the one to give way.
            Err(error) if is_deadlock(&error) && deadlocks < DEADLOCKS_MAX => deadlocks += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Marks the next chunk: where it ends, and how many were unread. `None` if there are no more.
async fn mark_chunk(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    sql: &str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Option<((i64, i64), u64)>, Error> {
    let transaction = client.transaction().await?;
    let rows = query(&transaction, sql, params).await?;
    let Some(last) = rows.last() else { return Ok(None) };
    let entries: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let feeds: Vec<i64> = rows.iter().map(|row| row.get(1)).collect();
    execute(&transaction, LOCK_FOLLOWS, &[&account.0, &feeds]).await?;
    let chunk = query(&transaction, MARK, &[&account.0, &entries]).await?;
    let (marked, log) = marked(account, &chunk);
    store.commit(transaction, log).await?;
    Ok(Some(((last.get(2), last.get(0)), marked)))
}

/// The next chunk, by the walk of a page of unread entries: no chunk looks again at what one before it has passed over.
fn unread_sql(which: MarkRead) -> String {
    let of = match (which.feed_id, which.folder_id) {
        (None, None) => "",
        (Some(_), None) => "\n  AND feed_id = $6",
        (None, Some(_)) => "\n  AND folder_id = $6",
        (Some(_), Some(_)) => "\n  AND feed_id = $6\n  AND folder_id = $7",
    };
    format!(
        "
SELECT entry_id, feed_id, sort_at
FROM entry_states
WHERE account_id = $5
  AND NOT is_read
  AND received_at <= $3
  AND (sort_at, entry_id) < ($1, $2){of}
ORDER BY sort_at DESC, entry_id DESC
LIMIT $4"
    )
}
