//! A hub brings something: whose it is, whether it is the hub's, and what is in it (WebSub, section 7).
//!
//! It is stored before the hub is answered.

use std::sync::Arc;

use domain::{
    FeedId,
    ingest::{Document, KnownEntries, Validators},
    ports::StoreResult,
    push::{Push, PushStored, PushTarget, Signature, Unsigned, link},
    trace::{SpanKind, TraceContext},
};
use jiff::Timestamp;

use super::{Pusher, TimeLeft, verify::SAME_TOPIC_MAX};
use crate::{documents, ingest::Parsed, measure, trace::OpenSpan};

/// Up to so many entries are made ready without a look at what is known: that would cost more.
const ENTRIES_UNASKED_MAX: usize = 8;

/// Of a document that must say itself what it is of, so many bytes are looked at: that is in its head.
const HEAD_BYTES_MAX: usize = 256 * 1024;

/// For whom a push is, as far as its address and its headers say.
#[derive(Debug, Clone)]
pub enum Recipient {
    /// This subscription, which is active.
    Subscription(Box<PushTarget>),
    /// One of these, which are active: there is no token, and they have the topic.
    Topic(Vec<PushTarget>),
    /// Whoever has the topic that the document names: there is no token, and nothing else says what it is of.
    Unknown,
}

impl Recipient {
    /// The feed, if the token says which. What comes without one, from whomever, makes no feed be polled.
    pub fn feed_id(&self) -> Option<FeedId> {
        match self {
            Self::Subscription(target) => target.subscription.feed_id,
            Self::Topic(_) | Self::Unknown => None,
        }
    }
}

/// A push as it was received.
#[derive(Debug, Clone, Default)]
pub struct PushRequest {
    /// `X-Hub-Signature`.
    pub signature: Option<String>,
    pub content_type: Option<String>,
    pub links: Vec<String>,
    /// `hub.topic` of the address, where there is no token.
    pub topic: Option<String>,
    /// `traceparent`: the trace that the hub's request belongs to, if it says so.
    pub trace: Option<TraceContext>,
    pub body: Vec<u8>,
}

/// What the hub is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushAnswer {
    Stored,
    /// There is no active subscription for it.
    NotActive,
    /// The feed was removed.
    NoFeed,
    /// It is not the hub's, for this reason.
    Unsigned(Unsigned),
    /// It is no feed, for this reason.
    NotAFeed(String),
    /// Others without a token take all the time that its hub waits.
    TooMany,
}

/// Who is meant by a token, before anything of a push is read; an answer if nobody is.
pub(crate) async fn recipient(
    pusher: &Pusher,
    token: &str,
    time: &mut TimeLeft,
) -> StoreResult<Result<Recipient, PushAnswer>> {
    let target = pusher.target(token, time).await?;
    Ok(match target {
        None => Err(PushAnswer::NotActive),
        Some(target) if target.subscription.feed_id.is_none() => Err(PushAnswer::NoFeed),
        Some(target) if !target.subscription.is_active() => Err(PushAnswer::NotActive),
        Some(target) => Ok(Recipient::Subscription(Box::new(target))),
    })
}

/// Who is meant without a token, before anything of a push is read; an answer if nobody is, or if it is not signed.
pub(crate) async fn recipient_by_topic(
    pusher: &Pusher,
    head: &PushRequest,
    time: &mut TimeLeft,
) -> StoreResult<Result<Recipient, PushAnswer>> {
    if let Err(reason) = Signature::parse(head.signature.as_deref(), &pusher.settings().algorithms) {
        let answer = PushAnswer::Unsigned(reason);
        note(None, &answer);
        return Ok(Err(answer));
    }
    let Some(topic) = named_topic(head) else { return Ok(Ok(Recipient::Unknown)) };
    let targets = active_with(pusher, &topic, time).await?;
    Ok(if targets.is_empty() { Err(PushAnswer::NotActive) } else { Ok(Recipient::Topic(targets)) })
}

/// The answer to a push whose headers show that it is not signed as it must be, before anything of it is read.
pub(crate) async fn refuse_unsigned(
    pusher: &Arc<Pusher>,
    recipient: &Recipient,
    head: &PushRequest,
    time: &mut TimeLeft,
) -> StoreResult<Option<PushAnswer>> {
    let Recipient::Subscription(target) = recipient else { return Ok(None) };
    let Err(reason) = Signature::parse(head.signature.as_deref(), &pusher.settings().algorithms) else {
        return Ok(None);
    };
    unsigned(pusher, target, reason, time).await.map(Some)
}

/// Notes that a push is not the hub's.
async fn unsigned(
    pusher: &Pusher,
    target: &PushTarget,
    reason: Unsigned,
    time: &mut TimeLeft,
) -> StoreResult<PushAnswer> {
    if matches!(reason, Unsigned::Missing | Unsigned::Wrong) {
        poll_for_certainty(pusher, target, time).await?;
    }
    let answer = PushAnswer::Unsigned(reason);
    note(Some(target), &answer);
    Ok(answer)
}

pub(crate) async fn receive(
    pusher: &Arc<Pusher>,
    recipient: Recipient,
    request: PushRequest,
    mut time: TimeLeft,
) -> StoreResult<PushAnswer> {
    let request = Arc::new(request);
    let answer = match recipient {
        Recipient::Subscription(target) => {
            let answer = take(pusher, &target, &request, &mut time).await?;
            if let PushAnswer::Unsigned(reason) = answer {
                return unsigned(pusher, &target, reason, &mut time).await;
            }
            answer
        }
        // Rare, and not to make room for in what every push is copied with.
        Recipient::Topic(targets) => Box::pin(take_by_topic(pusher, Some(targets), &request, &mut time)).await?,
        Recipient::Unknown => Box::pin(take_by_topic(pusher, None, &request, &mut time)).await?,
    };
    note(None, &answer);
    Ok(answer)
}

/// Counts a push, and logs one that came with the token of `target` and is not the hub's. Without a token anybody can send
/// as many as the rate allows.
fn note(target: Option<&PushTarget>, answer: &PushAnswer) {
    measure::pushed(answer);
    let PushAnswer::Unsigned(reason) = answer else { return };
    let Some(PushTarget { subscription, .. }) = target else {
        tracing::debug!(%reason, "push without a token refused");
        return;
    };
    let feed_id = subscription.feed_id.map(|id| id.0);
    tracing::warn!(feed_id, topic = subscription.topic_url, %reason, "push refused");
}

/// Without a token the topic says who is meant, and the signature who of those. Anybody can send such a push, and make
/// us work for nothing: so only one at a time, and cores are left for pushes with a token.
async fn take_by_topic(
    pusher: &Arc<Pusher>,
    targets: Option<Vec<PushTarget>>,
    request: &Arc<PushRequest>,
    time: &mut TimeLeft,
) -> StoreResult<PushAnswer> {
    let Some(turn) = time.wait(pusher.tokenless.acquire()).await else { return Ok(PushAnswer::TooMany) };
    let _turn = turn.expect("the semaphore is never closed");
    let targets = match targets {
        Some(targets) => targets,
        None => match topic_in(pusher, request).await {
            Some(topic) => active_with(pusher, &topic, time).await?,
            None => Vec::new(),
        },
    };
    let mut answer = PushAnswer::NotActive;
    for target in targets {
        answer = take(pusher, &target, request, time).await?;
        if answer != PushAnswer::Unsigned(Unsigned::Wrong) {
            break;
        }
    }
    Ok(answer)
}

async fn active_with(pusher: &Pusher, topic: &str, time: &mut TimeLeft) -> StoreResult<Vec<PushTarget>> {
    let mut targets = time.ask(pusher.context.deps.store.push_targets(topic, SAME_TOPIC_MAX)).await?;
    targets.retain(|target| target.subscription.is_active() && target.feed_url.is_some());
    Ok(targets)
}

/// Of which topic a push is, as its address says, or else its headers.
fn named_topic(head: &PushRequest) -> Option<String> {
    if let Some(topic) = head.topic.clone().filter(|topic| !topic.is_empty()) {
        return Some(topic);
    }
    let links = link::parse(head.links.iter().map(String::as_str));
    links.into_iter().find(|link| link.is("self")).map(|link| link.target)
}

/// The same as the document says.
async fn topic_in(pusher: &Pusher, request: &PushRequest) -> Option<String> {
    let length = request.body.len().min(HEAD_BYTES_MAX);
    let head = PushRequest {
        content_type: request.content_type.clone(),
        body: request.body.get(..length).unwrap_or_default().to_vec(),
        ..PushRequest::default()
    };
    let parsed = parse(pusher, &Arc::new(head), None).await.ok()?;
    parsed.feed.head.self_url.clone()
}

async fn take(
    pusher: &Arc<Pusher>,
    target: &PushTarget,
    request: &Arc<PushRequest>,
    time: &mut TimeLeft,
) -> StoreResult<PushAnswer> {
    let Some(feed_id) = target.subscription.feed_id else { return Ok(PushAnswer::NoFeed) };
    let secret = match secret_of(pusher, target, request).await {
        Ok(secret) => secret,
        Err(reason) => return Ok(PushAnswer::Unsigned(reason)),
    };
    let mut document = Document::default();
    let is_blank = request.body.iter().all(u8::is_ascii_whitespace);
    if !is_blank {
        match parse(pusher, request, target.feed_url.clone()).await {
            Ok(parsed) => document = prepare(pusher, feed_id, parsed, request.body.len(), time).await?,
            Err(error) => {
                // The hub has something for us that we cannot read: the feed itself may be better.
                poll_soon(pusher, feed_id, time).await?;
                return Ok(PushAnswer::NotAFeed(error.to_string()));
            }
        }
    }
    let has_less = is_blank || document.present.is_empty() || document.entries.iter().any(|entry| entry.is_thin);
    let poll_in = has_less.then_some(pusher.settings().poll_after_thin);
    let span = pusher.context.begin_span(("push", SpanKind::Server), request.trace);
    document.trace = span.as_ref().map(OpenSpan::context);
    tracing::debug!(feed_id = feed_id.0, entries = document.entries.len(), "push read");
    let push = Push { subscription_id: target.subscription.id, secret, document, poll_in };
    let call = time.ask(pusher.pushes.call(push, request.body.len()));
    let stored = measure::store("push", call).await;
    if let Some(span) = span {
        end_span(span, feed_id, &stored, pusher.context.now());
    }
    match stored? {
        PushStored::NotActive => Ok(PushAnswer::NotActive),
        PushStored::NoFeed => Ok(PushAnswer::NoFeed),
        PushStored::Stored(stored) => {
            if poll_in.is_some() {
                pusher.context.wake.polls.notify_one();
            }
            if stored.new + stored.changed + stored.completed > 0 {
                tracing::info!(feed_id = feed_id.0, new = stored.new, changed = stored.changed, "entries pushed");
                measure::brought(stored.new, stored.changed);
            }
            Ok(PushAnswer::Stored)
        }
    }
}

fn end_span(mut span: OpenSpan, feed: FeedId, stored: &StoreResult<PushStored>, now: Timestamp) {
    span.number("pirssonite.feed.id", feed.0);
    if let Ok(PushStored::Stored(stored)) = stored {
        span.number("pirssonite.entries.new", stored.new.into());
        span.number("pirssonite.entries.changed", stored.changed.into());
    }
    span.end(now, stored.as_ref().err().map(ToString::to_string));
}

/// Makes the feed of a push that could not be taken due soon.
async fn poll_soon(pusher: &Pusher, feed: FeedId, time: &mut TimeLeft) -> StoreResult<()> {
    time.ask(pusher.context.poll_soon(feed, pusher.settings().poll_after_thin)).await
}

/// Only the hub knows the token: it may have lost the secret, and what it would bring is fetched instead. Now and then,
/// because it is not certain that it is the hub.
async fn poll_for_certainty(pusher: &Pusher, target: &PushTarget, time: &mut TimeLeft) -> StoreResult<()> {
    let Some(feed) = target.subscription.feed_id else { return Ok(()) };
    let allows = pusher.unsigned_polls.allows(feed, pusher.context.now());
    if allows { poll_soon(pusher, feed, time).await } else { Ok(()) }
}

/// Notes that a push was not read; its feed is polled instead. Those that come before that poll begins cost the
/// store nothing, and the log no warning.
pub(crate) async fn refuse(
    pusher: &Pusher,
    recipient: &Recipient,
    why: &'static str,
    time: &mut TimeLeft,
) -> StoreResult<()> {
    measure::push_refused(why);
    let Some(feed_id) = recipient.feed_id() else { return Ok(()) };
    if !pusher.unread_polls.allows(feed_id, pusher.context.now()) {
        tracing::debug!(feed_id = feed_id.0, reason = why, "push refused");
        return Ok(());
    }
    tracing::warn!(feed_id = feed_id.0, reason = why, "push refused");
    let asked = poll_soon(pusher, feed_id, time).await;
    if asked.is_err() {
        pusher.unread_polls.forget(feed_id);
    }
    asked
}

/// The secret that a push is signed with. Over the raw bytes, before anything else looks at them.
async fn secret_of(pusher: &Pusher, target: &PushTarget, request: &Arc<PushRequest>) -> Result<String, Unsigned> {
    let signature = Signature::parse(request.signature.as_deref(), &pusher.settings().algorithms)?;
    let secrets: Vec<String> = target.subscription.secrets.newest_first().map(str::to_owned).collect();
    let shared = Arc::clone(request);
    let find = move || secrets.into_iter().find(|secret| signature.is_of(&shared.body, secret));
    pusher.context.cpu.run(request.body.len(), find).await.ok_or(Unsigned::Wrong)
}

/// Reads the body for what it is, whatever it is called.
async fn parse(pusher: &Pusher, request: &Arc<PushRequest>, feed_url: Option<String>) -> Result<Parsed, feed::Error> {
    let shared = Arc::clone(request);
    let document_bytes_max = pusher.context.deps.settings.document_bytes_max;
    let work = move || {
        let hints = feed::Hints {
            content_type: shared.content_type.as_deref(),
            url: feed_url.as_deref(),
            base: None,
            document_bytes_max,
        };
        feed::parse(&shared.body, &hints).map(Parsed::new)
    };
    pusher.context.cpu.run(request.body.len(), work).await
}

async fn prepare(
    pusher: &Pusher,
    feed: FeedId,
    parsed: Parsed,
    bytes: usize,
    time: &mut TimeLeft,
) -> StoreResult<Document> {
    let identities = parsed.identities();
    let known = if identities.len() > ENTRIES_UNASKED_MAX {
        time.ask(pusher.context.deps.store.known_entries(feed, &identities)).await?
    } else {
        KnownEntries::new()
    };
    let mut document = documents::prepare(&pusher.context, parsed, bytes, known, Validators::default()).await;
    for entry in &mut document.entries {
        entry.is_thin = entry.summary.is_none() && entry.content.is_none();
    }
    Ok(document)
}
