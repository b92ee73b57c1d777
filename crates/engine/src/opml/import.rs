//! Taking in what a file lists.

use std::collections::HashSet;

use domain::{
    FeedId, FeedPatch, FeedSeed,
    feed_state::FeedAddress,
    ports::{ImportOutcome, Store, StoreResult, UpdateOutcome},
};

use super::{
    OpmlError,
    read::{Opml, Outline, read},
};
use crate::api::{ImportError, ImportReport};

/// Takes in the feeds of a file. They are due at once, and their folders are made as needed.
pub(crate) async fn import(store: &dyn Store, bytes: &[u8]) -> Result<ImportReport, OpmlError> {
    let Opml { feeds, folders, errors } = read(bytes)?;
    let mut report = ImportReport { errors, ..ImportReport::default() };
    let seeds = seeds(feeds, &mut report);
    make_folders(store, &folders).await?;
    let (seeds, patches): (Vec<_>, Vec<_>) = seeds.into_iter().unzip();
    let outcomes = store.import_feeds(seeds).await?;
    for (outcome, patch) in outcomes.into_iter().zip(patches) {
        match outcome {
            ImportOutcome::AlreadyThere(_) => report.skipped += 1,
            ImportOutcome::Imported(id) => {
                report.imported += 1;
                apply(store, id, patch).await?;
            }
        }
    }
    tracing::info!(
        imported = report.imported,
        skipped = report.skipped,
        errors = report.errors.len(),
        "feeds were imported"
    );
    Ok(report)
}

/// The outlines that are feeds, each address once; the others are reported.
fn seeds(outlines: Vec<Outline>, report: &mut ImportReport) -> Vec<(FeedSeed, FeedPatch)> {
    let mut seen = HashSet::new();
    let mut seeds = Vec::new();
    for outline in outlines {
        match FeedAddress::parse(&outline.url) {
            Err(error) => {
                report.errors.push(ImportError { url: without_password(outline.url), error: error.to_string() });
            }
            Ok(address) if seen.insert(address.url.clone()) => seeds.push(seed(outline, address)),
            Ok(_) => report.skipped += 1,
        }
    }
    seeds
}

fn seed(outline: Outline, address: FeedAddress) -> (FeedSeed, FeedPatch) {
    let Outline { title, custom_title, site_url, folder, poll_interval, push_enabled, .. } = outline;
    let patch = FeedPatch {
        custom_title: custom_title.map(Some),
        poll_interval: poll_interval.map(Some),
        push_enabled: (!push_enabled).then_some(false),
        ..FeedPatch::default()
    };
    // A page that cannot be linked to is none.
    let site_url = site_url.filter(|url| url.starts_with("http://") || url.starts_with("https://"));
    (FeedSeed { address, folder, title, site_url }, patch)
}

/// An address that could not be read may hold a password all the same.
fn without_password(url: String) -> String {
    match url.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://{host}")
        }
        None => url,
    }
}

/// Folders are made in the order of the file, also those without a feed. One that is there already is the same.
async fn make_folders(store: &dyn Store, names: &[String]) -> StoreResult<()> {
    let known: HashSet<String> = store.folders().await?.into_iter().map(|folder| folder.name).collect();
    for name in names.iter().filter(|name| !known.contains(*name)) {
        let _there_already = store.create_folder(name).await?;
    }
    Ok(())
}

/// What only our own files say of a feed.
async fn apply(store: &dyn Store, id: FeedId, patch: FeedPatch) -> StoreResult<()> {
    if patch != FeedPatch::default() {
        let outcome = store.update_feed(id, patch).await?;
        if !matches!(outcome, UpdateOutcome::Updated(_)) {
            tracing::warn!(feed_id = id.0, "an imported feed was gone before its settings were");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_a_password_is_not_reported() {
        for (url, shown) in
            [("ftp://u:p@e.org/", "ftp://e.org/"), ("u:p@e.org", "://e.org"), ("ftp://e.org/", "ftp://e.org/")]
        {
            assert_eq!(without_password(url.to_owned()), shown);
        }
    }
}
