//! Adding a feed: what is behind the address is fetched, read and stored; a page is searched for the feeds it offers.
//! Nothing is stored on an error.

use std::sync::Arc;

use domain::{
    Feed, NewFeed,
    feed_state::FeedAddress,
    ports::{HttpError, NewFeedOutcome},
};

use crate::{
    api::{AddFeed, AddFeedError},
    fetch::{self, Answer},
    ingest::Parsed,
    poll::{self, Poller},
};

/// Feeds that a page offers which are tried, one after the other.
const DISCOVERED_TRIES_MAX: usize = 5;

/// What the parser calls a page that is a feed itself.
const HFEED: &str = "hfeed";

/// A document that was fetched and read.
struct Read {
    /// Where it is to be polled.
    address: FeedAddress,
    parsed: Parsed,
    push: domain::ingest::Found,
    bytes: usize,
    validators: domain::ingest::Validators,
    asked: poll::Asked,
}

/// What is behind an address.
enum Behind {
    /// A feed; if it is a page as well, the feeds that the page offers.
    Feed(Box<Read>, Vec<FeedAddress>),
    /// A page that offers these feeds, and is none itself.
    Page(Vec<FeedAddress>),
}

/// Adds a feed.
pub(crate) async fn add_feed(poller: &Arc<Poller>, new: AddFeed) -> Result<Feed, AddFeedError> {
    let address = FeedAddress::parse(&new.url)?;
    check_new(poller, &address.url).await?;
    let _slot = poller.add_slots.acquire().await.expect("the slots are never closed");
    let found = match look(poller, &address).await? {
        Behind::Feed(found, offered) if offered.is_empty() => *found,
        // A page that is a feed is a poor one if it offers a better.
        Behind::Feed(found, offered) => first_that_parses(poller, &offered).await?.unwrap_or(*found),
        Behind::Page(offered) => first_that_parses(poller, &offered).await?.ok_or_else(|| no_feed(offered.len()))?,
    };
    keep(poller, found, new).await
}

fn no_feed(offered: usize) -> AddFeedError {
    AddFeedError::NotAFeed(match offered {
        0 => "it is a web page that offers no feed".to_owned(),
        1 => "it is a web page, and the feed that it offers cannot be read".to_owned(),
        several => format!("it is a web page, and none of the {several} feeds that it offers can be read"),
    })
}

/// An answer without end is an answer, and no feed.
fn unreachable(error: &HttpError) -> AddFeedError {
    match error {
        HttpError::TooLarge(_) => AddFeedError::NotAFeed(error.to_string()),
        _ => AddFeedError::Unreachable(error.to_string()),
    }
}

async fn check_new(poller: &Poller, url: &str) -> Result<(), AddFeedError> {
    match poller.parts.store.feed_by_url(url).await? {
        Some(id) => Err(AddFeedError::AlreadyThere(id)),
        None => Ok(()),
    }
}

/// The first of the feeds that a page offers which is one.
async fn first_that_parses(poller: &Arc<Poller>, offered: &[FeedAddress]) -> Result<Option<Read>, AddFeedError> {
    for address in offered.iter().take(DISCOVERED_TRIES_MAX) {
        check_new(poller, &address.url).await?;
        match look(poller, address).await {
            Ok(Behind::Feed(found, _)) => return Ok(Some(*found)),
            Ok(Behind::Page(_)) | Err(AddFeedError::NotAFeed(_) | AddFeedError::Unreachable(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Fetches and reads what is behind an address.
async fn look(poller: &Arc<Poller>, address: &FeedAddress) -> Result<Behind, AddFeedError> {
    let (answer, asked) = poll::fetch_new(poller, address).await.map_err(|error| unreachable(&error))?;
    let document = match answer {
        Answer::Document(document) => document,
        Answer::Gone => return Err(AddFeedError::Unreachable(fetch::refusal(410))),
        Answer::Refused(status) => return Err(AddFeedError::Unreachable(fetch::refusal(status))),
        Answer::NotModified(_) => return Err(AddFeedError::Unreachable(fetch::refusal(304))),
    };
    check_new(poller, &document.url).await?;
    let address =
        asked.moved_to.as_deref().and_then(|url| poll::moved(address, url)).unwrap_or_else(|| address.clone());
    check_new(poller, &address.url).await?;
    read(poller, document, address, asked).await
}

async fn read(
    poller: &Arc<Poller>,
    document: fetch::Document,
    address: FeedAddress,
    asked: poll::Asked,
) -> Result<Behind, AddFeedError> {
    let validators = document.validators.clone();
    let document = Arc::new(document);
    match poll::parse(poller, Arc::clone(&document)).await {
        Ok((parsed, bytes)) => {
            let offered =
                if parsed.feed.version == HFEED { offered(poller, &document, &address).await } else { Vec::new() };
            let asked = asked.by_feed(&parsed.feed.head);
            let push = poll::found(poller, &document, &parsed);
            Ok(Behind::Feed(Box::new(Read { address, parsed, push, bytes, validators, asked }), offered))
        }
        Err(error @ (feed::Error::WebPage | feed::Error::NotAFeed)) => {
            let offered = offered(poller, &document, &address).await;
            match error {
                feed::Error::NotAFeed if offered.is_empty() => Err(AddFeedError::NotAFeed(error.to_string())),
                _ => Ok(Behind::Page(offered)),
            }
        }
        // What the JSON library says of it helps nobody but the publisher, who has better tools.
        Err(feed::Error::Json(_)) => Err(AddFeedError::NotAFeed("the document is JSON but no feed".to_owned())),
        Err(error) => Err(AddFeedError::NotAFeed(error.to_string())),
    }
}

/// The feeds that a page offers, but for itself. The password goes along where it may be sent.
async fn offered(poller: &Poller, document: &Arc<fetch::Document>, page: &FeedAddress) -> Vec<FeedAddress> {
    let bytes_max = poller.parts.settings.document_bytes_max;
    let shared = Arc::clone(document);
    let found =
        poller.cpu.run(document.body.len(), move || feed::discover(&shared.body, &shared.hints(bytes_max))).await;
    found
        .iter()
        .filter_map(|offer| FeedAddress::parse(&offer.url).ok())
        .filter(|address| address.url != page.url && address.url != document.url)
        .map(|address| FeedAddress {
            // Only the user names a password: what a page writes into its links is not for us.
            credentials: page.credentials.clone().filter(|_| poll::same_host(&page.url, &address.url)),
            url: address.url,
        })
        .collect()
}

async fn keep(poller: &Arc<Poller>, found: Read, new: AddFeed) -> Result<Feed, AddFeedError> {
    let Read { address, parsed, push, bytes, validators, asked } = found;
    let next_check_in = poll::first_check(&asked, poll::moment(poller));
    let prepared = poll::prepare(poller, parsed, bytes, domain::ingest::KnownEntries::new(), validators).await;
    let document = domain::ingest::Document { found: Some(push), ..prepared };
    let custom_title = new.title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
    let new = NewFeed { address, folder_id: new.folder_id, custom_title, document, next_check_in };
    match poller.parts.store.add_feed(new).await? {
        NewFeedOutcome::Added(feed) => {
            tracing::info!(feed_id = feed.id.0, "a feed was added");
            poller.wake_push.notify_one();
            Ok(*feed)
        }
        NewFeedOutcome::AlreadyThere(id) => Err(AddFeedError::AlreadyThere(id)),
        NewFeedOutcome::NoSuchFolder => Err(AddFeedError::NoSuchFolder),
    }
}
