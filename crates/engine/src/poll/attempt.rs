//! One poll of one feed: asked, read, compared, and turned into a result. It stores nothing.

use std::{sync::Arc, time::Duration};

use domain::{
    feed_state::FeedAddress,
    ingest::{Document, KnownEntries, PollJob, PollOutcome, PollResult, Validators},
    outage::Observation,
    ports::{HttpError, StoreError, StoreResult},
    trace::SpanKind,
};

use super::{
    Poller,
    decide::{self, ScheduleHints, ScheduleInputs},
    outage::Meaning,
    slot::Slot,
};
use crate::{
    context::Context,
    document_memory::DocumentPermit,
    documents,
    fetch::{self, Answer},
    ingest::Parsed,
    measure,
};

/// The pause before a store that was away is asked again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// What a feed waits whose document there was no memory for.
const MEMORY_PAUSE: Duration = Duration::from_secs(15);

/// How an attempt ended.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few are under way at once, and it is taken apart at once")]
pub(crate) enum PollAttempt {
    /// With a result, and the memory that it takes until it is stored.
    Ended(PollResult, DocumentPermit),
    /// With nothing that says anything about the feed, which is to be asked again after this.
    RetryIn(Duration),
}

/// Polls a feed. It fails only when the store does.
pub(crate) async fn poll(
    poller: &Arc<Poller>,
    job: &PollJob,
    is_by_hand: bool,
    slot: &mut Slot<'_>,
) -> StoreResult<PollAttempt> {
    let settings = &poller.context.deps.settings;
    let mut request = fetch::request(&job.address, &job.validators, settings);
    let arrived = request.arrived.clone();
    if !poller.context.hosts.has_queue(&job.address.url) {
        // Nobody else asks this host now, and the next poll is many minutes away: an idle connection would only take
        // memory, here and there.
        request.headers.0.push(("connection".to_owned(), "close".to_owned()));
    }
    let span = poller.context.begin_span(("poll", SpanKind::Client), None);
    let under_way = poller.network.begins(&job.address.url);
    let answer = slot.wait_for(&arrived, poller.context.deps.http.send(request)).await;
    let observation = answer.as_ref().map_or_else(Observation::of, |_| Observation::Reached);
    if let Meaning::RetryIn(wait) = poller.observe(under_way, job.feed_id, observation, is_by_hand) {
        poller.probe().await;
        return Ok(PollAttempt::RetryIn(wait));
    }
    if matches!(answer, Err(HttpError::NoMemory)) {
        tracing::warn!(feed_id = job.feed_id.0, "no memory left for a document");
        return Ok(PollAttempt::RetryIn(MEMORY_PAUSE));
    }
    let mut permit = DocumentPermit::default();
    let (mut outcome, hints) = match answer {
        Err(error) => (PollOutcome::Failed(error.to_string()), ScheduleHints::default()),
        Ok(response) => {
            let hints = ScheduleHints {
                headers: response.headers.clone(),
                moved_to: response.moved_to.clone(),
                ..ScheduleHints::default()
            };
            read(poller, job, fetch::read(response, &job.validators), hints, &mut permit).await?
        }
    };
    // Those that bring nothing are too many, and lead to nothing.
    if let (Some(mut span), PollOutcome::Fetched(document)) = (span, &mut outcome) {
        document.trace = Some(span.context());
        span.number("pirssonite.feed.id", job.feed_id.0);
        span.end(poller.context.now(), None);
    }
    Ok(PollAttempt::Ended(
        decide::result(job, outcome, &hints, ScheduleInputs { is_by_hand, ..schedule_inputs(&poller.context) }),
        permit,
    ))
}

/// Now, and a bit of chance.
pub(crate) fn schedule_inputs(context: &Context) -> ScheduleInputs<'_> {
    let chance = context.deps.ids.fraction();
    ScheduleInputs { now: context.now(), chance, is_by_hand: false, settings: context.settings() }
}

/// The result of a poll that failed for a reason of ours.
pub(crate) fn failed(poller: &Poller, job: &PollJob, is_by_hand: bool, reason: &str) -> PollResult {
    decide::result(
        job,
        PollOutcome::Failed(reason.to_owned()),
        &ScheduleHints::default(),
        ScheduleInputs { is_by_hand, ..schedule_inputs(&poller.context) },
    )
}

async fn read(
    poller: &Arc<Poller>,
    job: &PollJob,
    answer: Answer,
    hints: ScheduleHints,
    permit: &mut DocumentPermit,
) -> StoreResult<(PollOutcome, ScheduleHints)> {
    let document = match answer {
        Answer::NotModified(validators) => return Ok((PollOutcome::Unchanged(validators), hints)),
        Answer::Gone => return Ok((PollOutcome::Gone(format!("{}: it is gone for good", fetch::refusal(410))), hints)),
        Answer::Refused(status) => return Ok((PollOutcome::Failed(fetch::refusal(status)), hints)),
        Answer::Document(document) => document,
    };
    if document.validators.body_hash == job.validators.body_hash {
        return Ok((PollOutcome::Unchanged(document.validators), hints));
    }
    *permit = poller.context.documents.reserve(document.body.len()).await;
    let document = Arc::new(document);
    match documents::parse(&poller.context, Arc::clone(&document)).await {
        Err(error) => Ok((PollOutcome::Failed(in_words(&error)), hints)),
        Ok((parsed, bytes)) => {
            let hints = hints.by_feed(&parsed.feed.head);
            let known = known(poller, job, &parsed).await?;
            let found = documents::found(&poller.context, &document, &parsed);
            let validators = document.validators.clone();
            // What is parsed holds all that is needed.
            drop(document);
            let prepared = documents::prepare(&poller.context, parsed, bytes, known, validators).await;
            Ok((PollOutcome::Fetched(Document { found: Some(found), ..prepared }), hints))
        }
    }
}

/// What the store knows of a document's entries. While it is away the answer is waited for, as long as the lease lasts.
async fn known(poller: &Poller, job: &PollJob, parsed: &Parsed) -> StoreResult<KnownEntries> {
    if job.is_first_fetch || parsed.feed.entries.is_empty() {
        return Ok(KnownEntries::new());
    }
    let identities = parsed.identities();
    let tries = poller.context.deps.settings.poll_lease.length().as_millis() / RETRY_PAUSE.as_millis();
    for _ in 0..tries {
        match measure::store("known_entries", poller.context.deps.store.known_entries(job.feed_id, &identities)).await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(RETRY_PAUSE).await,
            answer => return answer,
        }
    }
    poller.context.deps.store.known_entries(job.feed_id, &identities).await
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
pub(crate) async fn fetch_new(context: &Context, address: &FeedAddress) -> Result<(Answer, ScheduleHints), HttpError> {
    let _permit = context.hosts.apply_urgently(&address.url).wait().await;
    let request = fetch::request(address, &Validators::default(), context.settings());
    let response = context.deps.http.send(request).await?;
    let hints = ScheduleHints {
        headers: response.headers.clone(),
        moved_to: response.moved_to.clone(),
        ..ScheduleHints::default()
    };
    Ok((fetch::read(response, &Validators::default()), hints))
}
