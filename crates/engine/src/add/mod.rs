//! Adding a feed: what is behind the address is fetched, read and stored; a page is searched for the feeds it offers, and
//! where it offers none, so are the places where feeds usually are. Nothing is stored on an error.

mod discover;
mod offers;
mod usual_places;

use std::{sync::Arc, time::Duration};

use domain::{
    AccountId, Feed, NewFeed,
    feed_state::FeedAddress,
    follow::NewFollow,
    ports::{FollowOutcome, HttpError, NewFeedOutcome},
    typed_address,
};
use tokio::sync::Semaphore;

pub(crate) use self::discover::discover;
use self::{
    offers::{FeedOffer, Offers},
    usual_places::usual_places,
};
use crate::{
    api::{AddFeed, AddFeedError, AddedFeed},
    context::Context,
    documents,
    fetch::{self, Answer},
    ingest::Parsed,
    poll,
};

/// Feeds that are added at once; others wait for their turn, in order.
pub(crate) const ADDS_MAX: usize = 16;

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
    hints: poll::ScheduleHints,
}

/// What is behind an address.
enum Behind {
    /// A feed; if it is a page as well, the feeds that the page offers.
    Feed(Box<Read>, Offers),
    /// A page at this address, after redirects, that offers these feeds and is none itself.
    Page(FeedAddress, Offers),
}

/// What an account is to follow.
enum Found {
    Read(Box<Read>),
    /// The server had it: the account follows it already.
    Followed(Box<Feed>),
}

pub(crate) async fn add(context: &Context, slots: &Semaphore, new: AddFeed) -> Result<AddedFeed, AddFeedError> {
    let typed = typed_address(&new.url)?;
    for address in &typed {
        if let Some(feed) = follow_known(context, &new, address).await? {
            return Ok(AddedFeed { feed, offered: Vec::new() });
        }
    }
    let _slot = slots.acquire().await.expect("the slots are never closed");
    let (address, answered) = first_answer(context, &typed).await.map_err(|error| unreachable(&error))?;
    let (found, offers) = match read(context, new.account, address, answered).await? {
        // A page that is a feed is a poor one if it offers a better.
        Behind::Feed(found, offers) => {
            (first_that_parses(context, &new, &offers.main).await?.unwrap_or(Found::Read(found)), offers)
        }
        Behind::Page(page, offers) => (search(context, &new, &page, &offers).await?, offers),
    };
    let feed = match found {
        Found::Read(found) => keep(context, *found, new).await?,
        Found::Followed(feed) => *feed,
    };
    Ok(AddedFeed { feed, offered: offers.named() })
}

/// Follows a feed that the server has, without a request.
async fn follow_known(context: &Context, new: &AddFeed, address: &FeedAddress) -> Result<Option<Feed>, AddFeedError> {
    let follow =
        NewFollow { address: address.clone(), folder_id: new.folder_id, custom_title: title_of(new.title.as_deref()) };
    match context.deps.store.follow(new.account, follow).await? {
        FollowOutcome::Followed(feed) => {
            tracing::info!(feed_id = feed.id.0, account_id = new.account.0, "feed followed");
            Ok(Some(*feed))
        }
        FollowOutcome::NotKnown => Ok(None),
        FollowOutcome::AlreadyThere(id) => Err(AddFeedError::AlreadyThere(id)),
        FollowOutcome::NoSuchFolder => Err(AddFeedError::NoSuchFolder),
    }
}

fn title_of(typed: Option<&str>) -> Option<String> {
    typed.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty())
}

/// Asks the addresses that may be meant until a server answers. Only where there is no connection, the next is asked:
/// a server that refuses over https would not be asked for the same in the clear.
async fn first_answer<'a>(
    context: &Context,
    typed: &'a [FeedAddress],
) -> Result<(&'a FeedAddress, Answered), HttpError> {
    let mut first = None;
    for address in typed {
        match poll::fetch_new(context, address).await {
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
type Answered = (Answer, poll::ScheduleHints);

fn is_no_connection(error: &HttpError) -> bool {
    use HttpError as Error;
    matches!(error, Error::Connect { .. } | Error::Tls { .. } | Error::TimedOut(_) | Error::BrokenOff(_))
}

/// The feed of a page that is none: the best that it offers, else one at the usual places, else one of its comments.
async fn search(context: &Context, new: &AddFeed, page: &FeedAddress, offers: &Offers) -> Result<Found, AddFeedError> {
    if let Some(found) = first_that_parses(context, new, &offers.main).await? {
        return Ok(found);
    }
    if let Some(found) = first_at_usual_places(context, new.account, page).await? {
        return Ok(Found::Read(Box::new(found)));
    }
    first_that_parses(context, new, &offers.comments).await?.ok_or_else(|| no_feed(offers.len()))
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

async fn check_new(context: &Context, account: AccountId, url: &str) -> Result<(), AddFeedError> {
    match context.deps.store.feed_by_url(account, url).await? {
        Some(id) => Err(AddFeedError::AlreadyThere(id)),
        None => Ok(()),
    }
}

/// The first of the feeds that a page offers which is one.
async fn first_that_parses(
    context: &Context,
    new: &AddFeed,
    offers: &[FeedOffer],
) -> Result<Option<Found>, AddFeedError> {
    let tried = async {
        for offer in offers.iter().take(DISCOVERED_TRIES_MAX) {
            if let Some(feed) = follow_known(context, new, &offer.address).await? {
                return Ok(Some(Found::Followed(Box::new(feed))));
            }
            if let Probe::Feed(found) = probe(context, new.account, &offer.address).await? {
                return Ok(Some(Found::Read(found)));
            }
        }
        Ok(None)
    };
    tokio::time::timeout(DISCOVERED_TIME_MAX, tried).await.unwrap_or(Ok(None))
}

/// The first feed where feeds usually are. A page in h-entry is none of those: it stands at every address of some sites.
async fn first_at_usual_places(
    context: &Context,
    account: AccountId,
    page: &FeedAddress,
) -> Result<Option<Read>, AddFeedError> {
    let tried = async {
        for place in usual_places(page) {
            match probe(context, account, &place).await? {
                Probe::Feed(found) if found.parsed.feed.version != HFEED => return Ok(Some(*found)),
                Probe::Feed(_) | Probe::Nothing => {}
                // Whoever does not answer, or has had enough of us, is left alone.
                Probe::BackOff => return Ok(None),
            }
        }
        Ok(None)
    };
    tokio::time::timeout(USUAL_PLACES_TIME_MAX, tried).await.unwrap_or(Ok(None))
}

/// What a look at an address that nobody typed shows.
enum Probe {
    Feed(Box<Read>),
    Nothing,
    /// No answer, or one that says to ask no more.
    BackOff,
}

async fn probe(context: &Context, account: AccountId, address: &FeedAddress) -> Result<Probe, AddFeedError> {
    let answered = match poll::fetch_new(context, address).await {
        Ok((Answer::Refused(429 | 503), _)) => return Ok(Probe::BackOff),
        Ok(answered) => answered,
        Err(HttpError::TooLarge(_)) => return Ok(Probe::Nothing),
        Err(_) => return Ok(Probe::BackOff),
    };
    match read(context, account, address, answered).await {
        Ok(Behind::Feed(found, _)) => Ok(Probe::Feed(found)),
        Ok(Behind::Page(..)) | Err(AddFeedError::NotAFeed(_) | AddFeedError::Unreachable(_)) => Ok(Probe::Nothing),
        Err(error) => Err(error),
    }
}

/// Reads what is behind an address.
async fn read(
    context: &Context,
    account: AccountId,
    address: &FeedAddress,
    answered: Answered,
) -> Result<Behind, AddFeedError> {
    let (answer, hints) = answered;
    let document = match answer {
        Answer::Document(document) => document,
        Answer::Gone => return Err(AddFeedError::Unreachable(fetch::refusal(410))),
        Answer::Refused(status) => return Err(AddFeedError::Unreachable(fetch::refusal(status))),
        Answer::NotModified(_) => return Err(AddFeedError::Unreachable(fetch::refusal(304))),
    };
    check_new(context, account, &document.url).await?;
    let address =
        hints.moved_to.as_deref().and_then(|url| poll::moved(address, url)).unwrap_or_else(|| address.clone());
    check_new(context, account, &address.url).await?;
    parse(context, document, address, hints).await
}

async fn parse(
    context: &Context,
    document: fetch::Document,
    address: FeedAddress,
    hints: poll::ScheduleHints,
) -> Result<Behind, AddFeedError> {
    let validators = document.validators.clone();
    let document = Arc::new(document);
    match documents::parse(context, Arc::clone(&document)).await {
        Ok((parsed, bytes)) => {
            let is_page = parsed.feed.version == HFEED;
            let offers = if is_page { offers(context, &document, &address).await } else { Offers::default() };
            let hints = hints.by_feed(&parsed.feed.head);
            let push = documents::found(context, &document, &parsed);
            Ok(Behind::Feed(Box::new(Read { address, parsed, push, bytes, validators, hints }), offers))
        }
        Err(feed::Error::WebPage) => {
            Ok(Behind::Page(after_redirects(&document, &address), offers(context, &document, &address).await))
        }
        // Other documents can have `Link` headers as well, and what looks like none may be a page.
        Err(error) => match offers(context, &document, &address).await {
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
async fn offers(context: &Context, document: &Arc<fetch::Document>, page: &FeedAddress) -> Offers {
    let bytes_max = context.deps.settings.document_bytes_max;
    let shared = Arc::clone(document);
    let in_page =
        context.cpu.run(document.body.len(), move || feed::discover(&shared.body, &shared.hints(bytes_max))).await;
    Offers::of(&document.links, in_page, &document.url).without(&page.url).with_credentials(page)
}

async fn keep(context: &Context, found: Read, new: AddFeed) -> Result<Feed, AddFeedError> {
    let Read { address, parsed, push, bytes, validators, hints } = found;
    let next_check_in = poll::first_check(&hints, poll::schedule_inputs(context));
    let prepared = documents::prepare(context, parsed, bytes, domain::ingest::KnownEntries::new(), validators).await;
    let document = domain::ingest::Document { found: Some(push), ..prepared };
    let (account, custom_title) = (new.account, title_of(new.title.as_deref()));
    let new = NewFeed { address, folder_id: new.folder_id, custom_title, document, next_check_in };
    match context.deps.store.add_feed(account, new).await? {
        NewFeedOutcome::Added(feed) => {
            tracing::info!(feed_id = feed.id.0, "feed added");
            context.wake.push.notify_one();
            Ok(*feed)
        }
        NewFeedOutcome::AlreadyThere(id) => Err(AddFeedError::AlreadyThere(id)),
        NewFeedOutcome::NoSuchFolder => Err(AddFeedError::NoSuchFolder),
    }
}
