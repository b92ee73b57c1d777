//! What the engine is made of and how it is set.

use std::{sync::Arc, time::Duration};

use domain::{
    LeaseTime,
    delivery::{BreakerRules, OutboxLimits, RetryRules},
    ports::{Clock, Http, Ids, PruneLimits, Store},
    push::{Algorithm, KnownHub, PUSH_MAY_TAKE, RenewalRules},
    schedule::Bounds,
    trace::Tracer,
};

/// All that the engine needs of the world.
#[derive(Debug, Clone)]
pub struct Deps {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// How strangers are asked.
    pub http: Arc<dyn Http>,
    pub clock: Arc<dyn Clock>,
    /// Chance: tokens, secrets, jitter.
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
    /// A poll that waits longer than this for its server gives its slot up to others.
    pub slow_after: Duration,
    /// So many polls may wait without a slot: an answer takes a connection and, once it comes, memory of its own.
    pub slow_polls_max: usize,
    /// How long a feed stays claimed without a beat.
    pub poll_lease: LeaseTime,
    /// How long one fetch may take in all, redirects included.
    pub fetch_timeout: Duration,
    /// After a stop: how long polls that have begun may take to end before they are broken off. At most 6 s count.
    pub stop_wait: Duration,
    /// Bytes from which a document is refused, counted after decompression.
    pub document_bytes_max: usize,
    /// How long the first result of a batch waits for others.
    pub batch_wait: Duration,
    /// How much is kept.
    pub prune: PruneLimits,
    /// Whether icons of feeds are looked for.
    pub icons: bool,
    /// How push is set.
    pub push: PushSettings,
    /// How deliveries are set.
    pub delivery: DeliverySettings,
    /// Who records traces; nobody by default.
    pub tracer: Option<Arc<dyn Tracer>>,
}

/// How deliveries are set.
#[derive(Debug, Clone)]
pub struct DeliverySettings {
    /// How long a delivery stays claimed without a beat, and how often there is one.
    pub lease: LeaseTime,
    /// How long a receiver may take to answer.
    pub timeout: Duration,
    /// Deliveries that are sent at once.
    pub concurrency: usize,
    /// Of those, to one webhook.
    pub webhook_concurrency: u32,
    /// When they are tried again.
    pub retry: RetryRules,
    /// When only probes are sent, and when a webhook is disabled.
    pub breaker: BreakerRules,
    /// How long the first result of a batch waits for others.
    pub batch_wait: Duration,
    /// After a stop: how long deliveries that are being sent may take to end.
    pub stop_wait: Duration,
    /// How long an old secret signs along with a new one.
    pub old_secret: Duration,
    /// How much is kept of what is done with.
    pub limits: OutboxLimits,
    /// Who records traces: the same as the engine's.
    pub tracer: Option<Arc<dyn Tracer>>,
}

impl Default for DeliverySettings {
    fn default() -> Self {
        Self {
            lease: LeaseTime::default(),
            timeout: Duration::from_secs(15),
            concurrency: 256,
            webhook_concurrency: 16,
            retry: RetryRules::default(),
            breaker: BreakerRules::default(),
            batch_wait: Duration::from_millis(2),
            stop_wait: Duration::from_secs(25),
            old_secret: Duration::from_hours(24),
            limits: OutboxLimits {
                delivered_older_than: Duration::from_hours(7 * 24),
                failed_older_than: Duration::from_hours(30 * 24),
                chunk: 500,
            },
            tracer: None,
        }
    }
}

/// How push is set.
#[derive(Debug, Clone)]
pub struct PushSettings {
    /// Where hubs reach us; without it push is off.
    pub base_url: Option<String>,
    /// When leases are renewed.
    pub rules: RenewalRules,
    /// The lease that hubs are asked for, in seconds; without it they choose.
    pub lease_secs: Option<u32>,
    /// How often a pushed feed is polled all the same; never, if it is zero.
    pub audit: Duration,
    /// How long after its publication an entry may be pushed before it counts as missed.
    pub push_may_take: Duration,
    /// How pushes may be signed.
    pub algorithms: Vec<Algorithm>,
    /// Hubs of feeds that do not name theirs.
    pub known_hubs: Vec<KnownHub>,
    /// Requests at once to one hub.
    pub hub_concurrency: usize,
    /// How long a subscription stays claimed: longer than a step can take.
    pub step_lease: Duration,
    /// How long a hub may take to answer.
    pub hub_timeout: Duration,
    /// How long a manual renewal waits for the hub to verify.
    pub verify_wait: Duration,
    /// A feed whose push had less than the feed is polled after this.
    pub poll_after_thin: Duration,
    /// How long a hub that calls us waits, for its turn and the store together, before it is told to come again.
    pub answer_timeout: Duration,
}

impl Default for PushSettings {
    fn default() -> Self {
        Self {
            base_url: None,
            rules: RenewalRules::default(),
            lease_secs: None,
            audit: Duration::from_hours(24),
            push_may_take: PUSH_MAY_TAKE,
            algorithms: Algorithm::ALL.to_vec(),
            known_hubs: vec![KnownHub {
                prefix: "https://www.youtube.com/feeds/videos.xml".to_owned(),
                hub: "https://pubsubhubbub.appspot.com/".to_owned(),
            }],
            hub_concurrency: 4,
            step_lease: Duration::from_mins(1),
            hub_timeout: Duration::from_secs(10),
            verify_wait: Duration::from_secs(10),
            poll_after_thin: Duration::from_secs(10),
            // It is told so within five seconds.
            answer_timeout: Duration::from_millis(4500),
        }
    }
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            bounds: Bounds::default(),
            host_concurrency: 2,
            poll_concurrency: 64,
            slow_after: Duration::from_secs(2),
            slow_polls_max: 512,
            poll_lease: LeaseTime::default(),
            fetch_timeout: Duration::from_secs(30),
            stop_wait: Duration::from_secs(6),
            document_bytes_max: feed::limits::DOCUMENT_BYTES_MAX,
            batch_wait: Duration::from_millis(4),
            prune: PruneLimits {
                read_older_than: Duration::from_hours(180 * 24),
                unread_older_than: Some(Duration::from_hours(365 * 24)),
                per_feed: 1000,
                chunk: 500,
            },
            icons: true,
            push: PushSettings::default(),
            delivery: DeliverySettings::default(),
            tracer: None,
        }
    }
}
