//! Imports: many feeds that were not fetched yet, and the folders that they name.

use domain::{AccountId, FeedId, FeedSeed, follow::FollowSettings, ports::ImportOutcome};
use rusqlite::Result;

use crate::sqlite::{
    feeds::{feed_changes, folders, follows, id_of},
    shared::writer::WriteTx,
};
use crate::values::text;

pub(crate) fn import(changes: &mut WriteTx<'_>, account: AccountId, seeds: &[FeedSeed]) -> Result<Vec<ImportOutcome>> {
    let mut outcomes: Vec<ImportOutcome> = Vec::with_capacity(seeds.len());
    for (seed, repeat) in seeds.iter().zip(FeedSeed::repeats(seeds)) {
        let first = repeat.map(|place| outcomes[place].feed_id());
        outcomes.push(import_one(changes, account, seed, first)?);
    }
    Ok(outcomes)
}

/// `first` is the feed of an earlier seed with the same URL.
fn import_one(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    seed: &FeedSeed,
    first: Option<FeedId>,
) -> Result<ImportOutcome> {
    let connection = changes.connection;
    let folder = seed.folder.as_deref();
    let folder = folder.map(|name| folders::find_or_create(changes, account, &text(name))).transpose()?;
    if let Some(id) = first {
        return Ok(ImportOutcome::AlreadyThere(id));
    }
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
