//! The engine's handle: what the web API, the command line and the background ask of it.

use std::{sync::Arc, time::Duration};

use domain::{
    Feed, FeedId,
    ports::{Store, StoreResult},
};
use tokio_util::sync::CancellationToken;

use crate::{
    add,
    api::{AddFeed, AddFeedError, ImportReport, RefreshSummary},
    opml::{self, Listed, OpmlError},
    poll::{self, Poller},
    prune,
    settings::Parts,
};

/// The engine. What it does goes on even if whoever asked for it stops waiting.
#[derive(Debug)]
pub struct Engine {
    poller: Arc<Poller>,
}

impl Engine {
    /// Puts the parts together. Nothing happens by itself before [`run`](Self::run).
    pub fn new(parts: Parts) -> Arc<Self> {
        Arc::new(Self { poller: Poller::new(parts) })
    }

    /// Where everything is kept.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.poller.parts.store
    }

    /// Adds a feed, or the first that the page behind the address offers.
    pub async fn add_feed(&self, new: AddFeed) -> Result<Feed, AddFeedError> {
        add::add_feed(&self.poller, new).await
    }

    /// Polls a feed now, or joins the poll that is under way; `None` if there is no such feed.
    pub async fn refresh_feed(&self, id: FeedId) -> StoreResult<Option<RefreshSummary>> {
        poll::refresh_feed(&self.poller, id).await
    }

    /// Polls what is due, until nothing is.
    pub async fn refresh_due(&self) -> StoreResult<RefreshSummary> {
        self.refresh_due_with(&|_| {}).await
    }

    /// The same, telling how far it is after each poll.
    pub async fn refresh_due_with(&self, progress: &(dyn Fn(&RefreshSummary) + Sync)) -> StoreResult<RefreshSummary> {
        poll::refresh_due(&self.poller, progress).await
    }

    /// Takes in the feeds of an OPML file; they are polled at the next opportunity.
    pub async fn import_opml(&self, bytes: &[u8]) -> Result<ImportReport, OpmlError> {
        let report = opml::import(self.store().as_ref(), bytes).await?;
        self.wake();
        Ok(report)
    }

    /// All feeds as an OPML file. Passwords are not in it.
    pub async fn export_opml(&self) -> StoreResult<String> {
        let listed = Listed { folders: self.store().folders().await?, feeds: self.store().feeds().await? };
        Ok(opml::write(&listed))
    }

    /// Removes all that is too old or too much; returns how many entries went.
    pub async fn prune(&self) -> StoreResult<u64> {
        prune::prune(&self.poller.parts).await
    }

    /// Says that something may be due now.
    pub fn wake(&self) {
        self.poller.wake.notify_one();
    }

    /// One step of the background: claims and begins what is due, without waiting for it; returns how long there is
    /// nothing else to do, or nothing if there is more than there is room for.
    pub async fn poll_step(&self) -> StoreResult<Option<Duration>> {
        poll::step(&self.poller).await
    }

    /// Polls and prunes by itself. After a stop it returns when polls that had begun have ended, or, after some
    /// seconds, have been given back with the rest.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        tokio::join!(poll::run(&self.poller, &stop), prune::run(&self.poller.parts, &stop));
    }
}
