//! The rows of entries: written in few statements, whatever their number, from arrays that hold a column each.

use std::borrow::Cow;

use deadpool_postgres::Transaction;
use domain::{ingest::IncomingEntry, words::words_of};
use tokio_postgres::{Error, types::ToSql};

use crate::postgres::{
    entries::ingest::Target,
    execute, query,
    search::words::different_grams,
    shared::values::{Column, as_param, categories, column, enclosures, optional, text},
};

/// Entries in one statement: more would only cost memory.
const ENTRIES_A_STATEMENT: usize = 500;

/// Ids are taken first, so that the long texts need not be joined to the entries they belong to. There can be no
/// conflict: the feed's row is locked, and what is known was read under that lock.
const INSERT: &str = "
WITH incoming AS MATERIALIZED (
    SELECT nextval('entries_id_seq') AS id, given.*, least(coalesce(given.published_at, given.updated_at, $1), $1) AS sort_at
    FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::text[],
                $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::boolean[], $15::text[], $16::text[],
                $17::text[], $18::text[], $19::bigint[], $20::bigint[])
        AS given (feed_id, folder_id, identity, guid, fingerprint, url, title, author, published_at, updated_at,
                  categories, enclosures, is_thin, summary, content, grams, words, link_trait, title_trait)
), new_entries AS (
    INSERT INTO entries (id, feed_id, folder_id, identity, fingerprint, guid, url, title, author, published_at, updated_at,
                         sort_at, received_at, changed_at, modified_at, categories, enclosures, is_thin, link_trait,
                         title_trait)
    OVERRIDING SYSTEM VALUE
    SELECT id, feed_id, folder_id, identity, fingerprint, guid, url, title, author, published_at, updated_at,
           sort_at, $1, $1, $1, categories, enclosures, is_thin, link_trait, title_trait
    FROM incoming
), new_bodies AS (
    INSERT INTO entry_bodies (entry_id, summary, content)
    SELECT id, summary, content
    FROM incoming
)
INSERT INTO entry_words (entry_id, sort_at, grams, words)
SELECT id, sort_at, array_to_tsvector(string_to_array(grams, ' ')), words
FROM incoming
RETURNING entry_id";

/// An entry's guid is the first that it had.
const UPDATE: &str = "
WITH incoming AS MATERIALIZED (
    SELECT *
    FROM unnest($2::bigint[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
                $10::text[], $11::text[], $12::boolean[], $13::text[], $14::text[], $15::text[], $16::text[],
                $17::bigint[], $18::bigint[])
        AS given (id, guid, fingerprint, url, title, author, published_at, updated_at, categories, enclosures,
                  is_thin, summary, content, grams, words, link_trait, title_trait)
), changed_entries AS (
    UPDATE entries
    SET fingerprint = incoming.fingerprint,
        link_trait = incoming.link_trait,
        title_trait = incoming.title_trait,
        url = incoming.url,
        title = incoming.title,
        author = incoming.author,
        published_at = incoming.published_at,
        updated_at = incoming.updated_at,
        categories = incoming.categories,
        enclosures = incoming.enclosures,
        is_thin = incoming.is_thin,
        changed_at = $1,
        modified_at = greatest(entries.modified_at, $1)
    FROM incoming
    WHERE entries.id = incoming.id
), changed_bodies AS (
    UPDATE entry_bodies
    SET summary = incoming.summary,
        content = incoming.content
    FROM incoming
    WHERE entry_bodies.entry_id = incoming.id
)
UPDATE entry_words
SET grams = array_to_tsvector(string_to_array(incoming.grams, ' ')),
    words = incoming.words
FROM incoming
WHERE entry_words.entry_id = incoming.id";

/// Inserts entries that are not there, in the order of their new ids, which it returns.
pub(crate) async fn insert(
    transaction: &Transaction<'_>,
    now: i64,
    entries: &[(Target, &IncomingEntry)],
) -> Result<Vec<i64>, Error> {
    let mut ids = Vec::with_capacity(entries.len());
    for chunk in entries.chunks(ENTRIES_A_STATEMENT) {
        let (targets, entries): (Vec<Target>, Vec<&IncomingEntry>) = chunk.iter().copied().unzip();
        let feeds: Vec<i64> = targets.iter().map(|target| target.feed_id).collect();
        let folders: Vec<Option<i64>> = targets.iter().map(|target| target.folder_id).collect();
        let identities: Vec<&[u8]> = entries.iter().map(|entry| entry.identity.0.as_slice()).collect();
        let columns = columns_of(&entries);
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&now, &feeds, &folders, &identities];
        params.extend(columns.iter().map(as_param));
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
        execute(transaction, UPDATE, &params).await?;
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
