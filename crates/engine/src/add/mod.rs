//! Adding a feed: what is behind the address is fetched, read and stored; a page is searched for the feeds it offers, and
//! where it offers none, so are the places where feeds usually are. Nothing is stored on an error.

mod offers;
mod usual_places;

use std::{sync::Arc, time::Duration};

use domain::{
    Feed, NewFeed,
    feed_state::FeedAddress,
    ports::{HttpError, NewFeedOutcome},
    typed_address,
};

use self::{
    offers::{Offer, Offers},
    usual_places::usual_places,
};
use crate::{
    api::{AddFeed, AddFeedError, AddedFeed},
    fetch::{self, Answer},
    ingest::Parsed,
    poll::{self, Poller},
};

/// Feeds that a page offers which are tried, one after the other.
const DISCOVERED_TRIES_MAX: usize = 5;

/// How long they may take together, and how long all the usual places may.
const DISCOVERED_TIME_MAX: Duration = Duration::from_mins(1);
const USUAL_PLACES_TIME_MAX: Duration = Duration::from_secs(30);

/// What the parser calls a page that is a feed itself.
const HFEED: &str = "hfeed";

/// A document that was fetched and read.
struct Read {
    /// Where it is to be polled.
    address: FeedAddress,
    parsed: Parsed,
    push: domain::ingest::PushDiscovery,
    bytes: usize,
    validators: domain::ingest::Validators,
    asked: poll::Asked,
}

/// What is behind an address.
enum Behind {
    /// A feed; if it is a page as well, the feeds that the page offers.
    Feed(Box<Read>, Offers),
    /// A page at this address, after redirects, that offers these feeds and is none itself.
    Page(FeedAddress, Offers),
}

/// Adds a feed.
pub(crate) async fn add(poller: &Arc<Poller>, new: AddFeed) -> Result<AddedFeed, AddFeedError> {
    let typed = typed_address(&new.url)?;
    for address in &typed {
        check_new(poller, &address.url).await?;
    }
    let _slot = poller.add_slots.acquire().await.expect("the slots are never closed");
    let (address, answered) = first_answer(poller, &typed).await.map_err(|error| unreachable(&error))?;
    let (found, offers) = match read(poller, address, answered).await? {
        // A page that is a feed is a poor one if it offers a better.
        Behind::Feed(found, offers) => (first_that_parses(poller, &offers.main).await?.unwrap_or(*found), offers),
        Behind::Page(page, offers) => (search(poller, &page, &offers).await?, offers),
    };
    Ok(AddedFeed { feed: keep(poller, found, new).await?, offered: offers.named() })
}

/// Asks the addresses that may be meant until a server answers. Only where there is no connection, the next is asked:
/// a server that refuses over https would not be asked for the same in the clear.
async fn first_answer<'a>(
    poller: &Arc<Poller>,
    typed: &'a [FeedAddress],
) -> Result<(&'a FeedAddress, Answered), HttpError> {
    let mut first = None;
    for address in typed {
        match poll::fetch_new(poller, address).await {
            Ok(answered) => return Ok((address, answered)),
            Err(error) if is_no_connection(&error) => {
                first.get_or_insert(error);
            }
            Err(error) => return Err(first.unwrap_or(error)),
        }
    }
    Err(first.unwrap_or_else(|| HttpError::BadUrl("there is none".to_owned())))
}

/// An answer, and what its server asks of pollers.
type Answered = (Answer, poll::Asked);

fn is_no_connection(error: &HttpError) -> bool {
    use HttpError as Error;
    matches!(error, Error::Connect { .. } | Error::Tls { .. } | Error::TimedOut(_) | Error::BrokenOff(_))
}

/// The feed of a page that is none: the best that it offers, else one at the usual places, else one of its comments.
async fn search(poller: &Arc<Poller>, page: &FeedAddress, offers: &Offers) -> Result<Read, AddFeedError> {
    if let Some(found) = first_that_parses(poller, &offers.main).await? {
        return Ok(found);
    }
    if let Some(found) = first_at_usual_places(poller, page).await? {
        return Ok(found);
    }
    first_that_parses(poller, &offers.comments).await?.ok_or_else(|| no_feed(offers.len()))
}

fn no_feed(offered: usize) -> AddFeedError {
    let what = match offered {
        0 => "it is a web page that offers no feed".to_owned(),
        1 => "it is a web page, and the feed that it offers cannot be read".to_owned(),
        several => format!("it is a web page, and none of the {several} feeds that it offers can be read"),
    };
    AddFeedError::NotAFeed(format!("{what}, and there is none where feeds usually are"))
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
async fn first_that_parses(poller: &Arc<Poller>, offers: &[Offer]) -> Result<Option<Read>, AddFeedError> {
    let tried = async {
        for offer in offers.iter().take(DISCOVERED_TRIES_MAX) {
            check_new(poller, &offer.address.url).await?;
            if let Look::Feed(found) = look(poller, &offer.address).await? {
                return Ok(Some(*found));
            }
        }
        Ok(None)
    };
    tokio::time::timeout(DISCOVERED_TIME_MAX, tried).await.unwrap_or(Ok(None))
}

/// The first feed where feeds usually are. A page in h-entry is none of those: it stands at every address of some sites.
async fn first_at_usual_places(poller: &Arc<Poller>, page: &FeedAddress) -> Result<Option<Read>, AddFeedError> {
    let tried = async {
        for place in usual_places(page) {
            match look(poller, &place).await? {
                Look::Feed(found) if found.parsed.feed.version != HFEED => return Ok(Some(*found)),
                Look::Feed(_) | Look::Nothing => {}
                // Whoever does not answer, or has had enough of us, is left alone.
                Look::Unwelcome => return Ok(None),
            }
        }
        Ok(None)
    };
    tokio::time::timeout(USUAL_PLACES_TIME_MAX, tried).await.unwrap_or(Ok(None))
}

/// What a look at an address that nobody typed shows.
enum Look {
    Feed(Box<Read>),
    Nothing,
    /// No answer, or one that says to ask no more.
    Unwelcome,
}

async fn look(poller: &Arc<Poller>, address: &FeedAddress) -> Result<Look, AddFeedError> {
    let answered = match poll::fetch_new(poller, address).await {
        Ok((Answer::Refused(429 | 503), _)) => return Ok(Look::Unwelcome),
        Ok(answered) => answered,
        Err(HttpError::TooLarge(_)) => return Ok(Look::Nothing),
        Err(_) => return Ok(Look::Unwelcome),
    };
    match read(poller, address, answered).await {
        Ok(Behind::Feed(found, _)) => Ok(Look::Feed(found)),
        Ok(Behind::Page(..)) | Err(AddFeedError::NotAFeed(_) | AddFeedError::Unreachable(_)) => Ok(Look::Nothing),
        Err(error) => Err(error),
    }
}

/// Reads what is behind an address.
async fn read(poller: &Arc<Poller>, address: &FeedAddress, answered: Answered) -> Result<Behind, AddFeedError> {
    let (answer, asked) = answered;
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
    parse(poller, document, address, asked).await
}

async fn parse(
    poller: &Arc<Poller>,
    document: fetch::Document,
    address: FeedAddress,
    asked: poll::Asked,
) -> Result<Behind, AddFeedError> {
    let validators = document.validators.clone();
    let document = Arc::new(document);
    match poll::parse(poller, Arc::clone(&document)).await {
        Ok((parsed, bytes)) => {
            let is_page = parsed.feed.version == HFEED;
            let offers = if is_page { offers(poller, &document, &address).await } else { Offers::default() };
            let asked = asked.by_feed(&parsed.feed.head);
            let push = poll::found(poller, &document, &parsed);
            Ok(Behind::Feed(Box::new(Read { address, parsed, push, bytes, validators, asked }), offers))
        }
        Err(feed::Error::WebPage) => {
            Ok(Behind::Page(after_redirects(&document, &address), offers(poller, &document, &address).await))
        }
        // Other documents can have `Link` headers as well, and what looks like none may be a page.
        Err(error) => match offers(poller, &document, &address).await {
            offers if offers.is_empty() => Err(AddFeedError::NotAFeed(in_words(&error))),
            offers => Ok(Behind::Page(after_redirects(&document, &address), offers)),
        },
    }
}

/// Where a page is in the end. Another site is not sent the password.
fn after_redirects(document: &fetch::Document, address: &FeedAddress) -> FeedAddress {
    let url = document.url.clone();
    let credentials = address.credentials.clone().filter(|_| poll::same_host(&address.url, &url));
    FeedAddress { url, credentials }
}

fn in_words(error: &feed::Error) -> String {
    match error {
        // What the JSON library says of it helps nobody but the publisher, who has better tools.
        feed::Error::Json(_) => "the document is JSON but no feed".to_owned(),
        error => error.to_string(),
    }
}

/// The feeds that a page offers, but for itself. The password goes along where it may be sent.
async fn offers(poller: &Poller, document: &Arc<fetch::Document>, page: &FeedAddress) -> Offers {
    let bytes_max = poller.parts.settings.document_bytes_max;
    let shared = Arc::clone(document);
    let in_page =
        poller.cpu.run(document.body.len(), move || feed::discover(&shared.body, &shared.hints(bytes_max))).await;
    Offers::of(&document.links, in_page, &document.url).without(&page.url).with_credentials(page)
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
