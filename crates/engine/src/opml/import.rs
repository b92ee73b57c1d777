//! Taking in what a file lists.

use std::collections::HashSet;

use domain::{
    FeedSeed,
    feed_state::{FEED_TITLE_CHARS_MAX, FeedAddress, POLL_INTERVAL_SECS},
    ports::{ImportOutcome, Store, StoreResult},
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
    for outcome in store.import_feeds(seeds).await? {
        match outcome {
            ImportOutcome::AlreadyThere(_) => report.skipped += 1,
            ImportOutcome::Imported(_) => report.imported += 1,
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
fn seeds(outlines: Vec<Outline>, report: &mut ImportReport) -> Vec<FeedSeed> {
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

fn seed(outline: Outline, address: FeedAddress) -> FeedSeed {
    let Outline { title, custom_title, site_url, folder, poll_interval, push_enabled, .. } = outline;
    // A page that cannot be linked to is none.
    let site_url = site_url.filter(|url| url.starts_with("http://") || url.starts_with("https://"));
    let short = |title: String| title.chars().take(FEED_TITLE_CHARS_MAX).collect();
    FeedSeed {
        address,
        folder,
        title: title.map(short),
        custom_title: custom_title.map(short),
        site_url,
        poll_interval: poll_interval.filter(|secs| POLL_INTERVAL_SECS.contains(secs)),
        push_enabled,
    }
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
