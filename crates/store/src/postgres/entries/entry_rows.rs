//! The rows of entries, and what each follower has of them: written in few statements, whatever their number, from arrays
//! that hold a column each.

use std::{borrow::Cow, collections::BTreeMap};

use deadpool_postgres::Transaction;
use domain::{ingest::IncomingEntry, words::words_of};
use tokio_postgres::{Error, types::ToSql};

use crate::postgres::{
    Params, execute, query, query_then,
    search::words::different_grams,
    shared::values::{Column, as_param, categories, column, enclosures, optional, text, time},
};
use crate::target::Target;

/// Entries in one statement: more would only cost memory.
const ENTRIES_A_STATEMENT: usize = 500;

const INSERT: &str = include_str!("sql/entry_rows_insert.sql");

const UPDATE: &str = include_str!("sql/entry_rows_update.sql");

const COUNT: &str = include_str!("sql/entry_rows_count.sql");

const TOUCH: &str = include_str!("sql/entry_rows_touch.sql");

/// Counts new entries for all who follow their feeds, whose rows are locked from now on; then does what follows, in the same
/// round trip. What accounts have of entries is locked after what they have of feeds.
pub(crate) async fn count_then<T>(
    transaction: &Transaction<'_>,
    entries: &[(Target, &IncomingEntry)],
    then: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
    for (target, _) in entries {
        *counts.entry(target.feed_id).or_default() += 1;
    }
    if counts.is_empty() {
        return then.await;
    }
    let (feeds, counts): (Vec<i64>, Vec<i64>) = counts.into_iter().unzip();
    let params: Params<'_> = &[&feeds, &counts];
    query_then(transaction, COUNT, params, then).await.map(|(_, then)| then)
}

/// Inserts entries that are not there, in the order of their new ids, which it returns, and hands them to all who follow their
/// feeds.
pub(crate) async fn insert(
    transaction: &Transaction<'_>,
    now: i64,
    entries: &[(Target, &IncomingEntry)],
) -> Result<Vec<i64>, Error> {
    let mut ids = Vec::with_capacity(entries.len());
    for chunk in entries.chunks(ENTRIES_A_STATEMENT) {
        let (targets, entries): (Vec<Target>, Vec<&IncomingEntry>) = chunk.iter().copied().unzip();
        let feeds: Vec<i64> = targets.iter().map(|target| target.feed_id).collect();
        let identities: Vec<&[u8]> = entries.iter().map(|entry| entry.identity.0.as_slice()).collect();
        let places: Vec<i64> = entries.iter().map(|entry| entry.sort_at(time(now)).as_millisecond()).collect();
        let columns = columns_of(&entries);
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&now, &feeds, &identities];
        params.extend(columns.iter().map(as_param));
        params.push(&places);
        ids.extend(query(transaction, INSERT, &params).await?.iter().map(|row| row.get::<_, i64>(0)));
    }
    ids.sort_unstable();
    Ok(ids)
}

/// Gives entries, by their ids, other content. Whether they are read or starred, and their place, stay.
pub(crate) async fn update(
    transaction: &Transaction<'_>,
    now: i64,
    changed: &[(i64, &IncomingEntry)],
) -> Result<(), Error> {
    for changed in changed.chunks(ENTRIES_A_STATEMENT) {
        let (ids, entries): (Vec<i64>, Vec<&IncomingEntry>) = changed.iter().copied().unzip();
        let columns = columns_of(&entries);
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&now, &ids];
        params.extend(columns.iter().map(as_param));
        let touched: Params<'_> = &[&now, &ids];
        let touch = execute(transaction, TOUCH, touched);
        query_then(transaction, UPDATE, &params, touch).await?;
    }
    Ok(())
}

/// What both statements write, in their order.
fn columns_of<'a>(entries: &[&'a IncomingEntry]) -> [Column<'a>; 16] {
    let words: Vec<String> = entries.iter().map(|entry| words_of(&entry.search_text)).collect();
    [
        column(entries, |entry| text(&entry.guid)),
        column(entries, |entry| entry.fingerprint.0.as_slice()),
        column(entries, |entry| optional(entry.url.as_ref())),
        column(entries, |entry| optional(entry.title.as_ref())),
        column(entries, |entry| optional(entry.author.as_ref())),
        column(entries, |entry| entry.published_at.map(jiff::Timestamp::as_millisecond)),
        column(entries, |entry| entry.updated_at.map(jiff::Timestamp::as_millisecond)),
        column(entries, |entry| list(categories(&entry.categories))),
        column(entries, |entry| list(enclosures(&entry.enclosures))),
        column(entries, |entry| entry.is_thin),
        column(entries, |entry| optional(entry.summary.as_ref())),
        column(entries, |entry| optional(entry.content.as_ref())),
        Box::new(words.iter().map(|words| different_grams(words)).collect::<Vec<_>>()),
        Box::new(words),
        column(entries, |entry| entry.traits.link),
        column(entries, |entry| entry.traits.title),
    ]
}

/// Lists of texts and numbers can always be written down.
fn list(list: serde_json::Result<Cow<'static, str>>) -> Cow<'static, str> {
    list.unwrap_or(Cow::Borrowed("[]"))
}
