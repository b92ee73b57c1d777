//! The rows of one entry: its own, that of its long texts, and that of its words.

use domain::ingest::IncomingEntry;
use jiff::Timestamp;
use rusqlite::{Connection, Result, params};

use crate::sqlite::{entries::ingest::Target, shared::errors::unfit};
use crate::values::{categories, enclosures, optional, text};

const INSERT: &str = "
INSERT INTO entries (
    feed_id, folder_id, identity, fingerprint, guid, url, title, author, published_at, updated_at, sort_at, received_at,
    changed_at, modified_at, categories, enclosures, is_thin, link_trait, title_trait
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?12, ?13, ?14, ?15, ?16, ?17)";

/// Its guid is the first that it had.
const UPDATE: &str = "
UPDATE entries
SET fingerprint = ?2,
    url = ?3,
    title = ?4,
    author = ?5,
    published_at = ?6,
    updated_at = ?7,
    changed_at = ?8,
    modified_at = max(modified_at, ?8),
    categories = ?9,
    enclosures = ?10,
    is_thin = ?11,
    link_trait = ?12,
    title_trait = ?13
WHERE id = ?1";

const BODY: &str = "
INSERT INTO entry_bodies (entry_id, summary, content)
VALUES (?1, ?2, ?3)
ON CONFLICT (entry_id) DO UPDATE SET summary = excluded.summary, content = excluded.content";

const WORDS: &str = "
INSERT INTO entry_words (entry_id, words)
VALUES (?1, ?2)
ON CONFLICT (entry_id) DO UPDATE SET words = excluded.words";

/// Keeps a new entry, whose text to search is its words already; returns its id.
pub(crate) fn insert(connection: &Connection, target: Target, entry: &IncomingEntry) -> Result<i64> {
    let published = entry.published_at.or(entry.updated_at).map_or(target.now, Timestamp::as_millisecond);
    connection.prepare_cached(INSERT)?.execute(params![
        target.feed_id,
        target.folder_id,
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
