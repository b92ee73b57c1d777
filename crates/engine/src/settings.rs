//! What the engine is made of and how it is set.

use std::{sync::Arc, time::Duration};

use domain::{
    ports::{Clock, Http, Ids, PruneLimits, Store},
    schedule::Bounds,
};

/// All that the engine needs of the world.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// How strangers are asked.
    pub http: Arc<dyn Http>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub ids: Arc<dyn Ids>,
    /// How it is set.
    pub settings: EngineSettings,
}

/// How the engine is set.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// The shortest and the longest interval between polls of a feed.
    pub bounds: Bounds,
    /// Requests at once to one host.
    pub host_concurrency: usize,
    /// Polls at once in all.
    pub poll_concurrency: usize,
    /// How long a feed stays claimed without a beat; there is one every third of it.
    pub poll_lease: Duration,
    /// How long one fetch may take in all, redirects included.
    pub fetch_timeout: Duration,
    /// After a stop: how long polls that have begun may take to end before they are broken off. At most 6 s count.
    pub stop_wait: Duration,
    /// Bytes from which a document is refused, counted after decompression.
    pub document_bytes_max: usize,
    /// How much is kept.
    pub prune: PruneLimits,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            bounds: Bounds::default(),
            host_concurrency: 2,
            poll_concurrency: 64,
            poll_lease: Duration::from_secs(10),
            fetch_timeout: Duration::from_secs(30),
            stop_wait: Duration::from_secs(6),
            document_bytes_max: feed::limits::DOCUMENT_BYTES_MAX,
            prune: PruneLimits { read_older_than: Duration::from_hours(180 * 24), per_feed: 1000, chunk: 500 },
        }
    }
}
