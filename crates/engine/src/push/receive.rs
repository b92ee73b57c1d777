//! A hub brings something: whose it is, whether it is the hub's, and what is in it (WebSub, section 7).
//!
//! It is stored before the hub is answered.

use std::sync::Arc;

use domain::{
    FeedId,
    ingest::{Document, Validators},
    ports::StoreResult,
    push::{Push, PushStored, PushTarget, Signature, Unsigned, link},
};

use super::{Pusher, verify::SAME_TOPIC_MAX};
use crate::{
    ingest::{Known, Parsed},
    measure, poll,
};

/// Up to so many entries are made ready without a look at what is known: that would cost more.
const ENTRIES_UNASKED_MAX: usize = 8;

/// For whom a push is, as far as its address says.
#[derive(Debug, Clone)]
pub enum Recipient {
    /// This subscription, which is active.
    Subscription(Box<PushTarget>),
    /// Whoever has the topic: the address has no token.
    Unknown,
}

impl Recipient {
    /// The feed, if it is known.
    pub fn feed_id(&self) -> Option<FeedId> {
        match self {
            Self::Subscription(target) => target.subscription.feed_id,
            Self::Unknown => None,
        }
    }
}

/// A push as it was received.
#[derive(Debug, Clone, Default)]
pub struct Delivery {
    /// `X-Hub-Signature`.
    pub signature: Option<String>,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// All `Link` headers.
    pub links: Vec<String>,
    /// `hub.topic` of the address, where there is no token.
    pub topic: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// What the hub is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushAnswer {
    /// It is stored.
    Stored,
    /// There is no active subscription for it.
    NotActive,
    /// The feed was removed.
    NoFeed,
    /// It is not the hub's, for this reason.
    Unsigned(Unsigned),
    /// It is no feed, for this reason.
    NotAFeed(String),
}

/// Who is meant by a token, before anything of a push is read; an answer if nobody is.
pub(crate) async fn recipient(pusher: &Pusher, token: Option<&str>) -> StoreResult<Result<Recipient, PushAnswer>> {
    let Some(token) = token else { return Ok(Ok(Recipient::Unknown)) };
    let target = pusher.poller.parts.store.push_target(token).await?;
    Ok(match target {
        None => Err(PushAnswer::NotActive),
        Some(target) if target.subscription.feed_id.is_none() => Err(PushAnswer::NoFeed),
        Some(target) if !target.subscription.is_active() => Err(PushAnswer::NotActive),
        Some(target) => Ok(Recipient::Subscription(Box::new(target))),
    })
}

/// Takes a push.
pub(crate) async fn receive(pusher: &Arc<Pusher>, recipient: Recipient, delivery: Delivery) -> StoreResult<PushAnswer> {
    let delivery = Arc::new(delivery);
    let (target, answer) = match recipient {
        Recipient::Subscription(target) => {
            let answer = take(pusher, &target, &delivery).await?;
            (Some(target), answer)
        }
        Recipient::Unknown => take_by_topic(pusher, &delivery).await?,
    };
    measure::pushed(&answer);
    if let PushAnswer::Unsigned(reason) = &answer {
        let subscription = target.as_ref().map(|target| &target.subscription);
        let feed_id = subscription.and_then(|subscription| subscription.feed_id).map(|id| id.0);
        let topic = subscription.map(|subscription| subscription.topic_url.as_str());
        tracing::warn!(feed_id, topic, %reason, "a push was refused");
    }
    Ok(answer)
}

/// Without a token the topic says who is meant, and the signature who of those.
async fn take_by_topic(
    pusher: &Arc<Pusher>,
    delivery: &Arc<Delivery>,
) -> StoreResult<(Option<Box<PushTarget>>, PushAnswer)> {
    if let Err(reason) = Signature::parse(delivery.signature.as_deref(), &pusher.settings().algorithms) {
        return Ok((None, PushAnswer::Unsigned(reason)));
    }
    let Some(topic) = topic_of(pusher, delivery).await else { return Ok((None, PushAnswer::NotActive)) };
    let targets = pusher.poller.parts.store.push_targets(&topic, SAME_TOPIC_MAX).await?;
    let mut answer = (None, PushAnswer::NotActive);
    for target in targets.into_iter().filter(|target| target.subscription.is_active() && target.feed_url.is_some()) {
        let taken = take(pusher, &target, delivery).await?;
        let is_wrong = taken == PushAnswer::Unsigned(Unsigned::Wrong);
        answer = (Some(Box::new(target)), taken);
        if !is_wrong {
            break;
        }
    }
    Ok(answer)
}

/// Of which topic a push is: its address says so, else its headers, else the document.
async fn topic_of(pusher: &Pusher, delivery: &Arc<Delivery>) -> Option<String> {
    if let Some(topic) = delivery.topic.clone().filter(|topic| !topic.is_empty()) {
        return Some(topic);
    }
    let links = link::parse(delivery.links.iter().map(String::as_str));
    if let Some(link) = links.into_iter().find(|link| link.is("self")) {
        return Some(link.target);
    }
    parse(pusher, delivery, None).await.ok().and_then(|parsed| parsed.feed.head.self_url.clone())
}

async fn take(pusher: &Arc<Pusher>, target: &PushTarget, delivery: &Arc<Delivery>) -> StoreResult<PushAnswer> {
    let Some(feed_id) = target.subscription.feed_id else { return Ok(PushAnswer::NoFeed) };
    let secret = match secret_of(pusher, target, delivery).await {
        Ok(secret) => secret,
        Err(reason) => return Ok(PushAnswer::Unsigned(reason)),
    };
    let mut document = Document::default();
    let is_blank = delivery.body.iter().all(u8::is_ascii_whitespace);
    if !is_blank {
        match parse(pusher, delivery, target.feed_url.clone()).await {
            Ok(parsed) => document = prepare(pusher, feed_id, parsed, delivery.body.len()).await?,
            Err(error) => {
                // The hub has something for us that we cannot read: the feed itself may be better.
                poll_soon(pusher, feed_id).await?;
                return Ok(PushAnswer::NotAFeed(error.to_string()));
            }
        }
    }
    let has_less = is_blank || document.present.is_empty() || document.entries.iter().any(|entry| entry.is_thin);
    let poll_in = has_less.then_some(pusher.settings().poll_after_thin);
    let push = Push { subscription_id: target.subscription.id, secret, document, poll_in };
    match measure::store("push", pusher.poller.parts.store.push(push)).await? {
        PushStored::NotActive => Ok(PushAnswer::NotActive),
        PushStored::NoFeed => Ok(PushAnswer::NoFeed),
        PushStored::Stored(stored) => {
            if poll_in.is_some() {
                pusher.poller.wake.notify_one();
            }
            if stored.new + stored.changed + stored.completed > 0 {
                tracing::info!(
                    feed_id = feed_id.0,
                    new = stored.new,
                    changed = stored.changed,
                    "a push brought entries"
                );
                measure::brought(stored.new, stored.changed);
            }
            Ok(PushAnswer::Stored)
        }
    }
}

/// Makes the feed of a push that could not be taken due soon.
async fn poll_soon(pusher: &Pusher, feed: FeedId) -> StoreResult<()> {
    pusher.poller.parts.store.poll_soon(feed, pusher.settings().poll_after_thin).await?;
    pusher.poller.wake.notify_one();
    Ok(())
}

/// Notes that a push was not read; its feed is polled instead.
pub(crate) async fn refuse(pusher: &Pusher, recipient: &Recipient, why: &'static str) -> StoreResult<()> {
    measure::push_refused(why);
    let Some(feed_id) = recipient.feed_id() else { return Ok(()) };
    tracing::warn!(feed_id = feed_id.0, why, "a push was refused: the feed is polled instead");
    poll_soon(pusher, feed_id).await
}

/// The secret that a push is signed with. Over the raw bytes, before anything else looks at them.
async fn secret_of(pusher: &Pusher, target: &PushTarget, delivery: &Arc<Delivery>) -> Result<String, Unsigned> {
    let signature = Signature::parse(delivery.signature.as_deref(), &pusher.settings().algorithms)?;
    let secrets: Vec<String> = target.subscription.secrets.newest_first().map(str::to_owned).collect();
    let shared = Arc::clone(delivery);
    let find = move || secrets.into_iter().find(|secret| signature.is_of(&shared.body, secret));
    pusher.poller.cpu.run(delivery.body.len(), find).await.ok_or(Unsigned::Wrong)
}

/// Reads the body for what it is, whatever it is called.
async fn parse(pusher: &Pusher, delivery: &Arc<Delivery>, feed_url: Option<String>) -> Result<Parsed, feed::Error> {
    let shared = Arc::clone(delivery);
    let document_bytes_max = pusher.poller.parts.settings.document_bytes_max;
    let work = move || {
        let hints = feed::Hints {
            content_type: shared.content_type.as_deref(),
            url: feed_url.as_deref(),
            base: None,
            document_bytes_max,
        };
        feed::parse(&shared.body, &hints).map(Parsed::new)
    };
    pusher.poller.cpu.run(delivery.body.len(), work).await
}

async fn prepare(pusher: &Pusher, feed: FeedId, parsed: Parsed, bytes: usize) -> StoreResult<Document> {
    let identities = parsed.identities();
    let known = if identities.len() > ENTRIES_UNASKED_MAX {
        pusher.poller.parts.store.known_entries(feed, &identities).await?
    } else {
        Known::new()
    };
    let mut document = poll::prepare(&pusher.poller, parsed, bytes, known, Validators::default()).await;
    for entry in &mut document.entries {
        entry.is_thin = entry.summary.is_none() && entry.content.is_none();
    }
    Ok(document)
}
