//! What polling, push and dispatch share. They know this and not each other.
//!
//! ```text
//!              ┌─ Poller ──────┐
//! Engine ──────┼─ Pusher ──────┼─> Context: Deps (store, http, clock, ids, settings), wake-ups, limits
//!              └─ Dispatcher ──┘
//! ```
//!
//! Push needs one thing of polling, a poll of a single feed; that is the port [`PollFeed`].

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    FeedId,
    ports::StoreResult,
    push::{self, Offer},
    trace::{SpanKind, TraceContext},
};
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::{
    cpu::Cpu,
    document_memory::DocumentMemory,
    hosts::Hosts,
    settings::{Deps, EngineSettings},
    trace::OpenSpan,
};

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) deps: Deps,
    pub(crate) cpu: Cpu,
    /// Requests at once to a publisher's host.
    pub(crate) hosts: Arc<Hosts>,
    /// Documents that are parsed and sanitised at once.
    pub(crate) documents: DocumentMemory,
    pub(crate) wake: WakeUps,
}

/// Hints that something may be due now. Each loop sleeps for seconds at most, so that a lost one costs no more.
#[derive(Debug, Default)]
pub(crate) struct WakeUps {
    pub(crate) polls: Notify,
    pub(crate) push: Notify,
    /// A feed that has no icon yet.
    pub(crate) icons: Notify,
    /// What a removed account had is to go.
    pub(crate) prune: Notify,
}

/// Polls a single feed now, or joins the poll that is under way, and waits for its end.
#[async_trait]
pub(crate) trait PollFeed: std::fmt::Debug + Send + Sync {
    async fn poll_feed(&self, feed: FeedId) -> StoreResult<()>;
}

impl Context {
    pub(crate) fn new(deps: Deps) -> Arc<Self> {
        Arc::new(Self {
            cpu: Cpu::new(),
            hosts: Hosts::new(deps.settings.host_concurrency),
            documents: DocumentMemory::default(),
            wake: WakeUps::default(),
            deps,
        })
    }

    pub(crate) fn settings(&self) -> &EngineSettings {
        &self.deps.settings
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.deps.clock.now()
    }

    /// What a new subscription is made with; nothing if push is off.
    pub(crate) fn offer(&self) -> Option<Offer> {
        let base_url = self.deps.settings.push.base_url.clone()?;
        Some(Offer { token: push::new_token(&*self.deps.ids), base_url })
    }

    /// Begins a span of a trace, if traces are recorded.
    pub(crate) fn begin_span(&self, what: (&'static str, SpanKind), parent: Option<TraceContext>) -> Option<OpenSpan> {
        OpenSpan::begin(self.deps.settings.tracer.as_ref(), what, parent, &*self.deps.ids, self.now())
    }

    /// Makes a feed due after this time at the latest. Its poll is not waited for.
    pub(crate) async fn poll_soon(&self, feed: FeedId, after: Duration) -> StoreResult<()> {
        self.deps.store.poll_soon(feed, after).await?;
        self.wake.polls.notify_one();
        Ok(())
    }
}
