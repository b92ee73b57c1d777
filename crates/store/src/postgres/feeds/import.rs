//! Imports: many feeds that were not fetched yet, and the folders that they name.

use std::collections::HashMap;

use deadpool_postgres::{Client, Transaction};
use domain::{FeedId, FeedSeed, changes::ChangeLog, ports::ImportOutcome};
use tokio_postgres::Error;

use crate::postgres::{
    PostgresStore,
    feeds::{feed_changes::adaptive_first, folders},
    query,
    shared::values::{optional, text, url_hash},
};

const INSERT: &str = include_str!("sql/import_insert.sql");

pub(crate) async fn import(
    store: &PostgresStore,
    client: &mut Client,
    seeds: &[FeedSeed],
) -> Result<Vec<ImportOutcome>, Error> {
    let transaction = client.transaction().await?;
    folders::lock(&transaction).await?;
    let mut names: Vec<&str> = Vec::new();
    for name in seeds.iter().filter_map(|seed| seed.folder.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut log = ChangeLog::default();
    let folders = folders::create_missing(&transaction, &names, &mut log).await?;
    let folders: HashMap<&str, i64> = folders.iter().map(|folder| (folder.name.as_str(), folder.id.0)).collect();
    let mut imported = insert_seeds(&transaction, seeds, &folders).await?;
    let hashes: Vec<Vec<u8>> = seeds.iter().map(|seed| url_hash(&seed.address)).collect();
    let rows = query(&transaction, "SELECT url_hash, id FROM feeds WHERE url_hash = ANY($1)", &[&hashes]).await?;
    let known: HashMap<Vec<u8>, FeedId> = rows.iter().map(|row| (row.get(0), FeedId(row.get(1)))).collect();
    if !imported.is_empty() {
        // Of however many, one change.
        log.feeds(None, imported.len() as u64);
    }
    store.commit(transaction, log).await?;
    // Of a URL that is in the file twice the second was there already.
    Ok(hashes
        .iter()
        .map(|hash| match imported.remove(hash) {
            Some(id) => ImportOutcome::Imported(id),
            None => ImportOutcome::AlreadyThere(known.get(hash).copied().unwrap_or(FeedId(0))),
        })
        .collect())
}

async fn insert_seeds(
    transaction: &Transaction<'_>,
    seeds: &[FeedSeed],
    folders: &HashMap<&str, i64>,
) -> Result<HashMap<Vec<u8>, FeedId>, Error> {
    let urls: Vec<_> = seeds.iter().map(|seed| text(&seed.address.url)).collect();
    let hashes: Vec<_> = seeds.iter().map(|seed| url_hash(&seed.address)).collect();
    let credentials: Vec<_> = seeds.iter().map(|seed| optional(seed.address.credentials.as_ref())).collect();
    let folder_of = |seed: &FeedSeed| seed.folder.as_deref().and_then(|name| folders.get(&*text(name)).copied());
    let folder_ids: Vec<Option<i64>> = seeds.iter().map(folder_of).collect();
    let titles: Vec<_> = seeds.iter().map(|seed| optional(seed.title.as_ref())).collect();
    let sites: Vec<_> = seeds.iter().map(|seed| optional(seed.site_url.as_ref())).collect();
    let custom_titles: Vec<_> = seeds.iter().map(|seed| optional(seed.custom_title.as_ref())).collect();
    let intervals: Vec<_> = seeds.iter().map(|seed| seed.poll_interval.map(i64::from)).collect();
    let pushes: Vec<_> = seeds.iter().map(|seed| seed.push_enabled).collect();
    let rows = query(
        transaction,
        INSERT,
        &[
            &urls,
            &hashes,
            &credentials,
            &folder_ids,
            &titles,
            &sites,
            &adaptive_first(),
            &custom_titles,
            &intervals,
            &pushes,
        ],
    )
    .await?;
    Ok(rows.iter().map(|row| (row.get(1), FeedId(row.get(0)))).collect())
}
