//! Imports: many feeds that were not fetched yet, and the folders that they name.

use domain::{FeedId, FeedSeed, ports::ImportOutcome};
use rusqlite::Result;

use crate::sqlite::{
    feeds::{feed_changes::adaptive_first, folders, id_of},
    shared::writer::WriteTx,
};
use crate::values::{optional, text, url_hash};

const INSERT: &str = include_str!("sql/import_insert.sql");

pub(crate) fn import(changes: &mut WriteTx<'_>, seeds: &[FeedSeed]) -> Result<Vec<ImportOutcome>> {
    let now = changes.now();
    seeds.iter().map(|seed| import_one(changes, seed, now)).collect()
}

fn import_one(changes: &mut WriteTx<'_>, seed: &FeedSeed, now: i64) -> Result<ImportOutcome> {
    let connection = changes.connection;
    let folder = seed.folder.as_deref().map(|name| folders::find_or_create(changes, &text(name))).transpose()?;
    // Of a URL that is in the file twice the second is there already.
    if let Some(id) = id_of(connection, &seed.address)? {
        return Ok(ImportOutcome::AlreadyThere(id));
    }
    let row = (
        text(&seed.address.url),
        url_hash(&seed.address),
        optional(seed.address.credentials.as_ref()),
        folder.map(|folder| folder.0),
        optional(seed.title.as_ref()),
        optional(seed.site_url.as_ref()),
        now,
        adaptive_first(),
        optional(seed.custom_title.as_ref()),
        seed.poll_interval,
        seed.push_enabled,
    );
    let id = connection.prepare_cached(INSERT)?.query_row(row, |row| row.get(0))?;
    // Of however many, one change.
    changes.log.feeds(None, 1);
    Ok(ImportOutcome::Imported(FeedId(id)))
}
