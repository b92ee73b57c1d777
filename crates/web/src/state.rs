//! What every route can reach, and the settings of the server.

use std::{num::NonZeroU32, ops::Deref, sync::Arc, time::Duration};

use axum::http::HeaderName;
use domain::ports::{Ids, Store};
use engine::{Engine, Pictures};
use ipnet::IpNet;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Semaphore;
use url::Url;

use crate::{
    answer::AnswerBudget,
    auth::{Auth, WAIT_FIRST},
    body::MemoryBudget,
    live::{HEARTBEAT_EVERY, Live},
    log_throttle::LogThrottle,
    rate::CallRateLimit,
    read_turns::ReadTurns,
};

/// Bytes of a JSON body.
const JSON_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of an OPML file: a thousand feeds take about 300 KB.
const OPML_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of all OPML files that are being sent or imported together.
const OPML_MEMORY_BYTES: usize = 64 * 1024 * 1024;
/// How long a JSON body may take to come: less than the request as a whole, so that a slow client is told that it is
/// slow.
const JSON_TIMEOUT: Duration = Duration::from_secs(20);
/// How long an OPML file may take to come: the largest, at a megabit a second.
const OPML_TIMEOUT: Duration = Duration::from_mins(2);
/// How long a request may take that waits for the store alone.
const QUICK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a request may take that fetches feeds or imports many.
const LONG_TIMEOUT: Duration = Duration::from_mins(15);
/// Requests that are answered at once; more are told to come again.
const REQUESTS_MAX: usize = 512;
/// Calls of hubs that are answered at once, besides.
const CALLBACKS_MAX: usize = 128;
/// Calls without a token that are answered at once, besides: anybody can make them.
const TOKENLESS_MAX: usize = 32;
/// Event streams at once. Each is a connection, and a page has one: so many pages may be open. They are no requests, and
/// take none of those connections.
const STREAMS_MAX: usize = 2_500;
/// Imports at once: each holds all that its file says in memory.
const IMPORTS_MAX: usize = 2;

/// Bytes of a push.
const PUSH_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bytes of all pushes that are being sent or stored together.
const PUSH_MEMORY_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of all pushes without a token that are being sent or stored together.
const TOKENLESS_MEMORY_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of all bodies together in which alone it stands who sends them, until that is known. Logins are not among them:
/// all that there can be at once take half of that.
const STRANGER_MEMORY_BYTES: usize = 16 * 1024 * 1024;
/// Questions with tokens that are none of ours in a minute, and as many without a token.
const STRANGERS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("it is not zero");
/// Bytes of all answers that may be large, from before they are made until they are sent.
const ANSWER_MEMORY_BYTES: usize = 96 * 1024 * 1024;
/// The same for those that may take long to find: they wait for each other, and nobody else for them.
const SLOW_ANSWER_MEMORY_BYTES: usize = 32 * 1024 * 1024;
/// Questions of hubs about one subscription in a minute.
const VERIFICATIONS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(20).expect("it is not zero");
/// Pushes for one subscription in a minute.
const PUSHES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("it is not zero");

/// The settings of the server.
#[derive(Debug, Clone)]
pub struct WebSettings {
    /// Bytes of a JSON body.
    pub json_bytes_max: usize,
    /// Bytes of an OPML file.
    pub opml_bytes_max: usize,
    /// Bytes of all OPML files that are being sent or imported together; more are told to come again.
    pub opml_memory_bytes: usize,
    /// Bytes of a push.
    pub push_bytes_max: usize,
    /// Bytes of all pushes that are being sent or stored together; more are told to come again.
    pub push_memory_bytes: usize,
    /// Bytes of all pushes without a token that are being sent or stored together. They take no memory of the others.
    pub tokenless_memory_bytes: usize,
    /// Bytes of all bodies together in which alone it stands who sends them, as some apps do, until that is known; more are
    /// told to come again.
    pub stranger_memory_bytes: usize,
    /// Bytes of all answers that may be large, from before they are made until they are sent; more wait.
    pub answer_memory_bytes: usize,
    /// The same for searches and other answers that may take long to find. They take none of the others' memory.
    pub slow_answer_memory_bytes: usize,
    /// Pushes for one subscription in a minute, and of all without a token together.
    pub pushes_per_minute: NonZeroU32,
    /// How long a JSON body, or a push, may take to come.
    pub json_timeout: Duration,
    /// How long an OPML file may take to come.
    pub opml_timeout: Duration,
    /// How long a request may take that waits for the store alone.
    pub quick_timeout: Duration,
    /// How long a request may take that fetches feeds or imports many. What it began goes on after that.
    pub long_timeout: Duration,
    /// Requests that are answered at once.
    pub requests_max: usize,
    /// Event streams at once; an account has half of them at most.
    pub streams_max: usize,
    /// Where the server is reached from outside: its host and its origin are ours.
    pub base_url: Option<Url>,
    /// Whoever reaches it is let in, as long as no account has a password.
    pub no_auth: bool,
    /// Whose `X-Forwarded-For`, `X-Forwarded-Proto` and [`auth_proxy_header`](Self::auth_proxy_header) count.
    pub trusted_proxies: Vec<IpNet>,
    /// The header in which a trusted proxy names the account that it has logged in.
    pub auth_proxy_header: Option<HeaderName>,
    /// Fetches pictures of entries in the place of browsers.
    pub pictures: Option<Arc<Pictures>>,
    /// How long the first guess too many makes the next wait; each further one twice as long.
    pub guess_wait: Duration,
    /// How long an event stream is quiet before it sends a heartbeat.
    pub heartbeat_every: Duration,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            json_bytes_max: JSON_BYTES_MAX,
            opml_bytes_max: OPML_BYTES_MAX,
            opml_memory_bytes: OPML_MEMORY_BYTES,
            push_bytes_max: PUSH_BYTES_MAX,
            push_memory_bytes: PUSH_MEMORY_BYTES,
            tokenless_memory_bytes: TOKENLESS_MEMORY_BYTES,
            stranger_memory_bytes: STRANGER_MEMORY_BYTES,
            answer_memory_bytes: ANSWER_MEMORY_BYTES,
            slow_answer_memory_bytes: SLOW_ANSWER_MEMORY_BYTES,
            pushes_per_minute: PUSHES_PER_MINUTE,
            json_timeout: JSON_TIMEOUT,
            opml_timeout: OPML_TIMEOUT,
            quick_timeout: QUICK_TIMEOUT,
            long_timeout: LONG_TIMEOUT,
            requests_max: REQUESTS_MAX,
            streams_max: STREAMS_MAX,
            base_url: None,
            no_auth: false,
            trusted_proxies: Vec::new(),
            auth_proxy_header: None,
            pictures: None,
            guess_wait: WAIT_FIRST,
            heartbeat_every: HEARTBEAT_EVERY,
        }
    }
}

/// What every route can reach. Every request copies it several times over, so it is one pointer.
#[derive(Debug, Clone)]
pub struct AppState(Arc<SharedState>);

impl Deref for AppState {
    type Target = SharedState;

    fn deref(&self) -> &SharedState {
        &self.0
    }
}

/// What is behind that pointer.
#[derive(Debug)]
pub struct SharedState {
    /// What happens, and the store behind it.
    pub(crate) engine: Arc<Engine>,
    pub(crate) metrics: PrometheusHandle,
    pub(crate) settings: WebSettings,
    pub(crate) version: &'static str,
    /// What the ids of requests begin with, unique to a process's life.
    pub(crate) request_prefix: String,
    pub(crate) requests: Semaphore,
    pub(crate) callbacks: Semaphore,
    pub(crate) tokenless: Semaphore,
    pub(crate) imports: Arc<Semaphore>,
    /// Refreshes of all that is due which an app has asked for: one at a time.
    pub(crate) app_refreshes: Arc<Semaphore>,
    pub(crate) pushes: CallRateLimit,
    pub(crate) verifications: CallRateLimit,
    pub(crate) push_memory: MemoryBudget,
    pub(crate) tokenless_memory: MemoryBudget,
    pub(crate) stranger_memory: MemoryBudget,
    pub(crate) opml_memory: MemoryBudget,
    pub(crate) answers: AnswerBudget,
    pub(crate) auth: Auth,
    pub(crate) slow_answers: AnswerBudget,
    pub(crate) reading: ReadTurns,
    pub(crate) live: Arc<Live>,
    /// Requests that the store could not serve, as they are logged.
    pub(crate) store_unavailable_log: LogThrottle,
}

impl AppState {
    /// Of these parts; the version is shown by `/healthz`.
    pub fn new(
        engine: Arc<Engine>,
        metrics: PrometheusHandle,
        settings: WebSettings,
        ids: &'static dyn Ids,
        version: &'static str,
    ) -> Self {
        Self(Arc::new(SharedState {
            engine,
            metrics,
            version,
            request_prefix: ids.owner(),
            requests: Semaphore::new(settings.requests_max),
            callbacks: Semaphore::new(CALLBACKS_MAX),
            tokenless: Semaphore::new(TOKENLESS_MAX),
            imports: Arc::new(Semaphore::new(IMPORTS_MAX)),
            app_refreshes: Arc::new(Semaphore::new(1)),
            pushes: CallRateLimit::new(settings.pushes_per_minute, settings.pushes_per_minute),
            verifications: CallRateLimit::new(VERIFICATIONS_PER_MINUTE, STRANGERS_PER_MINUTE),
            push_memory: MemoryBudget::new(settings.push_memory_bytes),
            tokenless_memory: MemoryBudget::new(settings.tokenless_memory_bytes),
            stranger_memory: MemoryBudget::new(settings.stranger_memory_bytes),
            opml_memory: MemoryBudget::new(settings.opml_memory_bytes),
            answers: AnswerBudget::new(settings.answer_memory_bytes),
            auth: Auth::new(ids, settings.guess_wait),
            slow_answers: AnswerBudget::new(settings.slow_answer_memory_bytes),
            reading: ReadTurns::default(),
            live: Arc::new(Live::new(settings.streams_max)),
            store_unavailable_log: LogThrottle::new(),
            settings,
        }))
    }

    /// What tells this process from every other, as `/healthz` shows it.
    pub fn instance(&self) -> &str {
        &self.request_prefix
    }

    /// The token that the commands on this machine come in with: for administration, as long as this process lives.
    pub fn server_token(&self) -> &str {
        self.auth.server_token()
    }

    /// The store behind the engine.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.engine.store()
    }
}
