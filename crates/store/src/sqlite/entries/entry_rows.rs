//! The rows of one entry: its own, that of its long texts, and that of its words.

use domain::ingest::IncomingEntry;
use jiff::Timestamp;
use rusqlite::{Connection, Result, params};

use crate::sqlite::shared::errors::unfit;
use crate::target::Target;
use crate::values::{categories, enclosures, optional, text};

const INSERT: &str = include_str!("sql/entry_rows_insert.sql");

const UPDATE: &str = include_str!("sql/entry_rows_update.sql");

const BODY: &str = include_str!("sql/entry_rows_body.sql");

const WORDS: &str = include_str!("sql/entry_rows_words.sql");

/// Keeps a new entry, whose text to search is its words already; returns its id.
pub(crate) fn insert(connection: &Connection, target: Target, entry: &IncomingEntry) -> Result<i64> {
    let published = entry.published_at.or(entry.updated_at).map_or(target.now, Timestamp::as_millisecond);
    connection.prepare_cached(INSERT)?.execute(params![
        target.feed_id,
        entry.identity.0,
        entry.fingerprint.0,
        text(&entry.guid),
        optional(entry.url.as_ref()),
        optional(entry.title.as_ref()),
        optional(entry.author.as_ref()),
        entry.published_at.map(Timestamp::as_millisecond),
        entry.updated_at.map(Timestamp::as_millisecond),
        published.min(target.now),
        target.now,
        categories(&entry.categories).map_err(unfit)?,
        enclosures(&entry.enclosures).map_err(unfit)?,
        entry.is_thin,
        entry.traits.link,
        entry.traits.title,
    ])?;
    let id = connection.last_insert_rowid();
    write_texts(connection, id, entry)?;
    Ok(id)
}

/// Gives an entry other content. Whether it was read or starred, and its place in the order, stay.
pub(crate) fn update(connection: &Connection, id: i64, now: i64, entry: &IncomingEntry) -> Result<()> {
    connection.prepare_cached(UPDATE)?.execute(params![
        id,
        entry.fingerprint.0,
        optional(entry.url.as_ref()),
        optional(entry.title.as_ref()),
        optional(entry.author.as_ref()),
        entry.published_at.map(Timestamp::as_millisecond),
        entry.updated_at.map(Timestamp::as_millisecond),
        now,
        categories(&entry.categories).map_err(unfit)?,
        enclosures(&entry.enclosures).map_err(unfit)?,
        entry.is_thin,
        entry.traits.link,
        entry.traits.title,
    ])?;
    write_texts(connection, id, entry)
}

fn write_texts(connection: &Connection, id: i64, entry: &IncomingEntry) -> Result<()> {
    let row = (id, optional(entry.summary.as_ref()), optional(entry.content.as_ref()));
    connection.prepare_cached(BODY)?.execute(row)?;
    connection.prepare_cached(WORDS)?.execute((id, &entry.search_text)).map(drop)
}
