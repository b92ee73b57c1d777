//! Taking in what a file lists.

use std::collections::HashSet;

use domain::{
    AccountId, FeedSeed,
    feed_state::{FEED_TITLE_CHARS_MAX, FeedAddress, POLL_INTERVAL_SECS},
    ports::{ImportOutcome, Store, StoreResult},
};
use url::Url;

use super::{
    OpmlError,
    read::{Opml, Outline, read},
};
use crate::api::{ImportError, ImportReport};

/// Takes in the feeds of a file. They are due at once, and their folders are made as needed.
pub(crate) async fn import(store: &dyn Store, account: AccountId, bytes: &[u8]) -> Result<ImportReport, OpmlError> {
    let Opml { feeds, folders, errors } = read(bytes)?;
    let mut report = ImportReport { errors, ..ImportReport::default() };
    let (seeds, mended) = seeds(feeds, &mut report);
    make_folders(store, account, &folders).await?;
    for (outcome, mended) in store.import_feeds(account, seeds).await?.into_iter().zip(mended) {
        match outcome {
            ImportOutcome::AlreadyThere(_) => report.skipped += 1,
            ImportOutcome::Imported(_) => {
                report.imported += 1;
                report.errors.extend(mended);
            }
        }
    }
    for error in &mut report.errors {
        error.url = without_password(&error.url);
    }
    tracing::info!(
        imported = report.imported,
        skipped = report.skipped,
        errors = report.errors.len(),
        "feeds imported"
    );
    Ok(report)
}

/// The outlines that are feeds, each address once, and what was mended of each; the others are reported.
fn seeds(outlines: Vec<Outline>, report: &mut ImportReport) -> (Vec<FeedSeed>, Vec<Vec<ImportError>>) {
    let mut seen = HashSet::new();
    let mut seeds = Vec::new();
    for outline in outlines {
        match FeedAddress::parse(&outline.url) {
            Err(error) => report.errors.push(ImportError { url: outline.url, error: error.to_string() }),
            Ok(address) if seen.insert(address.url.clone()) => seeds.push(seed(outline, address)),
            Ok(_) => report.skipped += 1,
        }
    }
    seeds.into_iter().unzip()
}

/// A feed as the store takes it, and what of the outline it does not: a value that the API would refuse costs that
/// value, not the feed.
fn seed(outline: Outline, address: FeedAddress) -> (FeedSeed, Vec<ImportError>) {
    let Outline { title, custom_title, site_url, folder, poll_interval, push_enabled, .. } = outline;
    let mut mended = Vec::new();
    let mut mend = |error: String| mended.push(ImportError { url: address.url.clone(), error });
    let interval = poll_interval.as_deref().and_then(|secs| secs.parse().ok());
    let interval = interval.filter(|secs| POLL_INTERVAL_SECS.contains(secs));
    if let (Some(secs), None) = (poll_interval, interval) {
        let (least, most) = (POLL_INTERVAL_SECS.start(), POLL_INTERVAL_SECS.end());
        mend(format!("imported without its poll interval: {secs} is not from {least} to {most} seconds"));
    }
    let is_long = |title: &Option<String>| title.as_deref().is_some_and(|title| short(title) != title);
    if is_long(&title) || is_long(&custom_title) {
        mend(format!("imported with its title cut to {FEED_TITLE_CHARS_MAX} characters"));
    }
    let seed = FeedSeed {
        folder,
        title: title.as_deref().map(short).map(str::to_owned),
        custom_title: custom_title.as_deref().map(short).map(str::to_owned),
        // A page that cannot be linked to is none.
        site_url: site_url.filter(|url| url.starts_with("http://") || url.starts_with("https://")),
        poll_interval: interval,
        push_enabled,
        address,
    };
    (seed, mended)
}

/// As much of a title as is kept.
fn short(title: &str) -> &str {
    let end = title.char_indices().nth(FEED_TITLE_CHARS_MAX).map_or(title.len(), |(end, _)| end);
    title[..end].trim_end()
}

/// An address that is reported may hold a password, also if it could not be read.
fn without_password(url: &str) -> String {
    if let Ok(mut parsed) = Url::parse(url)
        && parsed.has_host()
    {
        if parsed.username().is_empty() && parsed.password().is_none() {
            return url.to_owned();
        }
        // Both can only fail for addresses without a host.
        let _ = parsed.set_username("");
        let _ = parsed.set_password(None);
        return parsed.into();
    }
    match url.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://{host}")
        }
        None => url.to_owned(),
    }
}

/// Folders are made in the order of the file, also those without a feed. One that is there already is the same.
async fn make_folders(store: &dyn Store, account: AccountId, names: &[String]) -> StoreResult<()> {
    let known: HashSet<String> = store.folders(account).await?.into_iter().map(|folder| folder.name).collect();
    for name in names.iter().filter(|name| !known.contains(*name)) {
        let _there_already = store.create_folder(account, name).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_a_password_is_not_reported() {
        for (url, shown) in [
            ("ftp://u:p@e.org/", "ftp://e.org/"),
            ("https://u:p@e.org/@me.rss", "https://e.org/@me.rss"),
            ("https://e.org/@me.rss", "https://e.org/@me.rss"),
            ("http://u:p@e.org:bad/", "http://e.org:bad/"),
            ("u:p@e.org", "://e.org"),
            ("ftp://e.org/", "ftp://e.org/"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
