//! One poll of one feed: asked, read, compared, and turned into a result. It stores nothing.

use std::{sync::Arc, time::Duration};

use domain::{
    feed_state::FeedAddress,
    ingest::{Document, KnownEntries, PollJob, PollOutcome, PollResult, PushDiscovery, Validators},
    outage::Observation,
    ports::{HttpError, StoreError, StoreResult},
};

use super::{
    Poller,
    decide::{self, Asked, Moment},
    outage::Meaning,
    slot::Slot,
    work::WorkRoom,
};
use crate::{
    fetch::{self, Answer},
    ingest::{self, Parsed},
    measure,
};

/// The pause before a store that was away is asked again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// How an attempt ended.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few are under way at once, and it is taken apart at once")]
pub(crate) enum Attempt {
    /// With a result, and the room that it takes until it is stored.
    Ended(PollResult, WorkRoom),
    /// With nothing that says anything about the feed, which is to be asked again after this.
    AskAgainIn(Duration),
}

/// Polls a feed. It fails only when the store does.
pub(crate) async fn poll(
    poller: &Arc<Poller>,
    job: &PollJob,
    is_by_hand: bool,
    slot: &mut Slot<'_>,
) -> StoreResult<Attempt> {
    let settings = &poller.parts.settings;
    let mut request = fetch::request(&job.address, &job.validators, settings);
    if !poller.hosts.has_queue(&job.address.url) {
        // Nobody else asks this host now, and the next poll is many minutes away: an idle connection would only take
        // memory, here and there.
        request.headers.0.push(("connection".to_owned(), "close".to_owned()));
    }
    let under_way = poller.network.begins(&job.address.url);
    let answer = slot.wait_for(poller.parts.http.send(request)).await;
    let sight = answer.as_ref().map_or_else(Observation::of, |_| Observation::Reached);
    if let Meaning::AskAgainIn(wait) = poller.saw(under_way, job.feed_id, sight, is_by_hand) {
        return Ok(Attempt::AskAgainIn(wait));
    }
    let mut room = WorkRoom::default();
    let (outcome, asked) = match answer {
        Err(error) => (PollOutcome::Failed(error.to_string()), Asked::default()),
        Ok(response) => {
            let asked =
                Asked { headers: response.headers.clone(), moved_to: response.moved_to.clone(), ..Asked::default() };
            read(poller, job, fetch::read(response, &job.validators), asked, &mut room).await?
        }
    };
    Ok(Attempt::Ended(decide::result(job, outcome, &asked, Moment { is_by_hand, ..moment(poller) }), room))
}

/// Now, and a bit of chance.
pub(crate) fn moment(poller: &Poller) -> Moment<'_> {
    let parts = &poller.parts;
    Moment { now: parts.clock.now(), chance: parts.ids.fraction(), is_by_hand: false, settings: &parts.settings }
}

/// The result of a poll that failed for a reason of ours.
pub(crate) fn failed(poller: &Poller, job: &PollJob, is_by_hand: bool, reason: &str) -> PollResult {
    decide::result(
        job,
        PollOutcome::Failed(reason.to_owned()),
        &Asked::default(),
        Moment { is_by_hand, ..moment(poller) },
    )
}

async fn read(
    poller: &Arc<Poller>,
    job: &PollJob,
    answer: Answer,
    asked: Asked,
    room: &mut WorkRoom,
) -> StoreResult<(PollOutcome, Asked)> {
    let document = match answer {
        Answer::NotModified(validators) => return Ok((PollOutcome::Unchanged(validators), asked)),
        Answer::Gone => return Ok((PollOutcome::Gone(format!("{}: it is gone for good", fetch::refusal(410))), asked)),
        Answer::Refused(status) => return Ok((PollOutcome::Failed(fetch::refusal(status)), asked)),
        Answer::Document(document) => document,
    };
    if document.validators.body_hash == job.validators.body_hash {
        return Ok((PollOutcome::Unchanged(document.validators), asked));
    }
    *room = poller.work.take(document.body.len()).await;
    let document = Arc::new(document);
    match parse(poller, Arc::clone(&document)).await {
        Err(error) => Ok((PollOutcome::Failed(in_words(&error)), asked)),
        Ok((parsed, bytes)) => {
            let asked = asked.by_feed(&parsed.feed.head);
            let known = known(poller, job, &parsed).await?;
            let found = found(poller, &document, &parsed);
            let validators = document.validators.clone();
            // What is parsed holds all that is needed.
            drop(document);
            let prepared = prepare(poller, parsed, bytes, known, validators).await;
            Ok((PollOutcome::Fetched(Document { found: Some(found), ..prepared }), asked))
        }
    }
}

/// What a document says about push, and what a subscription is made with, should that lead to one.
pub(crate) fn found(poller: &Poller, document: &fetch::Document, parsed: &Parsed) -> PushDiscovery {
    let settings = &poller.parts.settings.push;
    PushDiscovery { discovery: document.discovery(&parsed.feed.head, &settings.known_hubs), offer: poller.offer() }
}

/// Parses a document; returns its size as well, which says where to go on working on it.
pub(crate) async fn parse(poller: &Poller, document: Arc<fetch::Document>) -> Result<(Parsed, usize), feed::Error> {
    let bytes = document.body.len();
    let bytes_max = poller.parts.settings.document_bytes_max;
    let work = move || feed::parse(&document.body, &document.hints(bytes_max)).map(Parsed::new);
    Ok((poller.cpu.run(bytes, work).await?, bytes))
}

/// Sanitises what is new or changed.
pub(crate) async fn prepare(
    poller: &Poller,
    parsed: Parsed,
    bytes: usize,
    known: KnownEntries,
    validators: Validators,
) -> Document {
    poller.cpu.run(bytes, move || ingest::document(parsed, &known, validators)).await
}

/// What the store knows of a document's entries. While it is away the answer is waited for, as long as the lease lasts.
async fn known(poller: &Poller, job: &PollJob, parsed: &Parsed) -> StoreResult<KnownEntries> {
    if job.is_first_fetch || parsed.feed.entries.is_empty() {
        return Ok(KnownEntries::new());
    }
    let identities = parsed.identities();
    let tries = poller.parts.settings.poll_lease.length().as_millis() / RETRY_PAUSE.as_millis();
    for _ in 0..tries {
        match measure::store("known_entries", poller.parts.store.known_entries(job.feed_id, &identities)).await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(RETRY_PAUSE).await,
            answer => return answer,
        }
    }
    poller.parts.store.known_entries(job.feed_id, &identities).await
}

/// Why a document is no feed, for a user whose feed it was.
fn in_words(error: &feed::Error) -> String {
    match error {
        feed::Error::WebPage => "the server answered with a web page instead of the feed".to_owned(),
        feed::Error::Empty => "the server answered with nothing".to_owned(),
        feed::Error::NotAFeed => "the server answered with something that is no feed".to_owned(),
        // What the JSON library says of it helps nobody but the publisher, who has better tools.
        feed::Error::Json(_) => "the server answered with JSON that is no feed".to_owned(),
        other => other.to_string(),
    }
}

/// Asks for a document without knowing anything of it yet, within the limits of its host.
pub(crate) async fn fetch_new(poller: &Arc<Poller>, address: &FeedAddress) -> Result<(Answer, Asked), HttpError> {
    let _permit = poller.hosts.apply_urgently(&address.url).wait().await;
    let request = fetch::request(address, &Validators::default(), &poller.parts.settings);
    let response = poller.parts.http.send(request).await?;
    let asked = Asked { headers: response.headers.clone(), moved_to: response.moved_to.clone(), ..Asked::default() };
    Ok((fetch::read(response, &Validators::default()), asked))
}
