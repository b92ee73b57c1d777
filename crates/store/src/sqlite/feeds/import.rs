//! Imports: many feeds that were not fetched yet, and the folders that they name.

use domain::{AccountId, FeedSeed, follow::FollowSettings, ports::ImportOutcome};
use rusqlite::Result;

use crate::sqlite::{
    feeds::{feed_changes, folders, follows, id_of},
    shared::writer::WriteTx,
};
use crate::values::text;

pub(crate) fn import(changes: &mut WriteTx<'_>, account: AccountId, seeds: &[FeedSeed]) -> Result<Vec<ImportOutcome>> {
    seeds.iter().map(|seed| import_one(changes, account, seed)).collect()
}

fn import_one(changes: &mut WriteTx<'_>, account: AccountId, seed: &FeedSeed) -> Result<ImportOutcome> {
    let connection = changes.connection;
    let folder = seed.folder.as_deref();
    let folder = folder.map(|name| folders::find_or_create(changes, account, &text(name))).transpose()?;
    // Of a URL that is in the file twice the second is there already.
    if let Some(id) = follows::followed(connection, account, &seed.address.url)?.first() {
        return Ok(ImportOutcome::AlreadyThere(*id));
    }
    let settings = FollowSettings::of_seed(seed, folder);
    let feed = match id_of(connection, &seed.address, account)? {
        Some(known) => {
            follows::begin(changes, account, known, &settings)?;
            known
        }
        None => feed_changes::insert_followed(changes, account, seed, &settings)?,
    };
    // Of however many, one change.
    changes.log.feeds(account, None, 1);
    Ok(ImportOutcome::Imported(feed))
}
