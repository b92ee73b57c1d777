//! Marking many entries as read, in chunks: found by a reader, marked by the writer in a short job that keeps the
//! feeds' counts exact.

use std::collections::BTreeMap;

use domain::{
    AccountId, EntryId, FeedId,
    ports::{MarkRead, StoreResult},
};
use rusqlite::{Connection, OptionalExtension, Result, params_from_iter};

use crate::sqlite::{
    SqliteStore,
    entries::entry_states::add_unread,
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{count, usize_to_i64};

/// Entries in one transaction.
const CHUNK: i64 = 1_000;

pub(crate) const MARK: &str = include_str!("sql/read_marks_mark.sql");

/// Marks what is there now: entries that come in meanwhile stay unread.
pub(crate) async fn mark_read(store: &SqliteStore, account: AccountId, which: MarkRead) -> StoreResult<u64> {
    let now = store.now();
    let until = which.before.map_or(now, |before| before.as_millisecond().min(now));
    let mut position = (i64::MAX, i64::MAX);
    let mut marked = 0;
    loop {
        let found = store.readers.read(move |connection| find(connection, account, which, until, position)).await?;
        let Some(last) = found.last() else { return Ok(marked) };
        position = *last;
        let ids: Vec<i64> = found.into_iter().map(|(_, id)| id).collect();
        marked += store.writer.write(Priority::Usual, move |changes| mark(changes, account, &ids)).await?;
    }
}

/// The next chunk, by the walk of a page of unread entries: no chunk looks again at what one before it has passed over.
fn find(
    connection: &Connection,
    account: AccountId,
    which: MarkRead,
    until: i64,
    position: (i64, i64),
) -> Result<Vec<(i64, i64)>> {
    let ids = which.feed_id.map(|feed| feed.0).into_iter().chain(which.folder_id.map(|folder| folder.0));
    let values = [account.0, until, position.0, position.1].into_iter().chain(ids);
    let mut statement = connection.prepare_cached(&find_sql(which))?;
    statement.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

pub(crate) fn find_sql(which: MarkRead) -> String {
    let (index, of) = match (which.feed_id, which.folder_id) {
        (None, None) => ("states_unread", ""),
        (Some(_), None) => ("states_unread_of_feed", "\n  AND feed_id = ?"),
        (None, Some(_)) => ("states_unread_of_folder", "\n  AND folder_id = ?"),
        (Some(_), Some(_)) => ("states_unread_of_feed", "\n  AND feed_id = ?\n  AND folder_id = ?"),
    };
    format!(
        "
SELECT sort_at, entry_id
FROM entry_states INDEXED BY {index}
WHERE account_id = ?
  AND is_read = 0
  AND received_at <= ?
  AND (sort_at, entry_id) < (?, ?){of}
ORDER BY sort_at DESC, entry_id DESC
LIMIT {CHUNK}"
    )
}

fn mark(changes: &mut WriteTx<'_>, account: AccountId, ids: &[i64]) -> Result<u64> {
    let mut statement = changes.connection.prepare_cached(MARK)?;
    let mut by_feed: BTreeMap<i64, i64> = BTreeMap::new();
    let (mut marked, now) = (Vec::new(), changes.now());
    for id in ids {
        if let Some(feed) = statement.query_row((id, account.0, now), |row| row.get(0)).optional()? {
            *by_feed.entry(feed).or_default() += 1;
            marked.push((FeedId(feed), EntryId(*id)));
        }
    }
    for (feed, count) in by_feed {
        add_unread(changes.connection, feed, account.0, -count)?;
    }
    Ok(note(changes, account, marked))
}

/// One change, whatever feeds they are of. Returns how many they are.
pub(crate) fn note(changes: &mut WriteTx<'_>, account: AccountId, marked: Vec<(FeedId, EntryId)>) -> u64 {
    let count = count(usize_to_i64(marked.len()));
    let feed = marked.first().map(|(feed, _)| *feed).filter(|feed| marked.iter().all(|(other, _)| other == feed));
    changes.log.marks(account, feed, count, marked.into_iter().map(|(_, entry)| entry).collect());
    count
}
