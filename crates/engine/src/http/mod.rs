//! The guarded client: every request to a stranger (a feed's server, a hub, a webhook) goes through it.
//!
//! The guard has five parts, and each is needed: a [resolver] that drops addresses which are not public, a check of
//! hosts that are addresses themselves (which no resolver ever sees), no proxy from the environment (which would
//! resolve names for us), [redirects](redirect) taken hop by hop, each checked like the first request, and the addresses
//! of [this server](own), which are never asked.
//! Time, size and redirects are bounded, and no error and no log holds more of a URL than its host.

mod address;
mod body_memory;
mod check;
mod exchange;
mod failure;
mod gate;
mod own;
mod redirect;
mod resolver;
mod way;

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use domain::ports::{Http, HttpError, HttpRequest, HttpResponse, Method};
use ipnet::IpNet;
use url::{Host, Url};

pub use self::own::OwnServer;
pub(crate) use self::redirect::{host_of, may_share_secrets};
use self::{address::Guard, body_memory::BodyMemory, check::is_localhost, gate::Gate, resolver::GuardedResolver};

/// Idle connections kept for each host, and for how long. Each costs about 60 KB.
#[derive(Debug, Clone, Copy)]
struct Idle {
    per_host_max: usize,
    time_max: Duration,
}

/// After a poll: another feed of that host may be polled in the same round, most are polled again in an hour.
const IDLE_AFTER_GET: Idle = Idle { per_host_max: 2, time_max: Duration::from_secs(1) };

/// After a delivery: the next may come soon, and as many as go to one webhook at once.
const IDLE_AFTER_POST: Idle = Idle { per_host_max: 64, time_max: Duration::from_secs(15) };

/// The part of the time for a connection that the name service has: it must be known which of the two was silent.
const RESOLVING_PART: f64 = 0.8;

/// What our own requests name themselves first: no server of ours serves them its API (`web::origin`).
pub const PRODUCT: &str = "piRSSonite/";

/// Who we say we are: a name, a version, and where a publisher finds out who asks, if the operator names a place.
pub fn user_agent(contact_url: Option<&Url>) -> String {
    let contact = contact_url.map(|url| format!("; +{url}")).unwrap_or_default();
    format!("{PRODUCT}{} (feed reader{contact})", env!("CARGO_PKG_VERSION"))
}

/// How the client is set.
#[derive(Clone)]
pub struct ClientSettings {
    /// Who we say we are, with an address to find out more.
    pub user_agent: String,
    /// Networks that may be asked although they are not public.
    pub allow_networks: Vec<IpNet>,
    /// This server, which is never asked.
    pub own: OwnServer,
    /// Requests at once to one host, redirects from elsewhere included; `None` for any number.
    pub host_concurrency: Option<usize>,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a server may say nothing.
    pub read_timeout: Duration,
    /// What all requests go through. It resolves the names then; those that are private by our own resolver are
    /// refused all the same.
    pub proxy: Option<Url>,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            user_agent: user_agent(None),
            allow_networks: Vec::new(),
            own: OwnServer::default(),
            host_concurrency: None,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(20),
            proxy: None,
        }
    }
}

impl fmt::Debug for ClientSettings {
    /// Without the proxy's URL, which may hold a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClientSettings")
            .field("user_agent", &self.user_agent)
            .field("allow_networks", &self.allow_networks)
            .field("own", &self.own)
            .field("host_concurrency", &self.host_concurrency)
            .field("connect_timeout", &self.connect_timeout)
            .field("read_timeout", &self.read_timeout)
            .field("proxy", &self.proxy.as_ref().map(host_of))
            .finish()
    }
}

/// Why there is no client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the HTTP client cannot be made: {0}")]
pub struct ClientError(String);

/// The client. Clones share their connections.
#[derive(Clone)]
pub struct GuardedClient {
    elsewhere: Route,
    /// For the port that this server listens at: a resolver is not told the port.
    at_own_port: Option<Route>,
    guard: Arc<Guard>,
    own: Arc<OwnServer>,
    gate: Arc<Gate>,
    memory: Arc<BodyMemory>,
    is_proxied: bool,
}

/// Connections, and how names lead to them.
#[derive(Clone)]
struct Route {
    to_get: reqwest::Client,
    to_post: reqwest::Client,
    resolver: GuardedResolver,
}

impl Route {
    fn new(settings: &ClientSettings, resolver: GuardedResolver) -> Result<Self, ClientError> {
        let client = |idle| match builder(settings, &resolver, idle)?.build() {
            Ok(client) => Ok(client),
            Err(_) => without_certificates(settings, &resolver, idle),
        };
        Ok(Self { to_get: client(IDLE_AFTER_GET)?, to_post: client(IDLE_AFTER_POST)?, resolver })
    }

    fn client(&self, method: Method) -> &reqwest::Client {
        match method {
            Method::Get => &self.to_get,
            Method::Post => &self.to_post,
        }
    }
}

impl fmt::Debug for GuardedClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GuardedClient").field("guard", &self.guard).finish_non_exhaustive()
    }
}

impl GuardedClient {
    pub fn new(mut settings: ClientSettings) -> Result<Self, ClientError> {
        // Another part of the process may have chosen a provider before us: theirs serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let guard = Arc::new(Guard::new(std::mem::take(&mut settings.allow_networks)));
        let proxy_host = settings.proxy.as_ref().and_then(|proxy| proxy.host_str().map(str::to_owned));
        let resolver = GuardedResolver::new(Arc::clone(&guard), proxy_host)
            .with_timeout(settings.connect_timeout.mul_f64(RESOLVING_PART));
        let own = Arc::new(settings.own.clone());
        let at_own_port = match own.listen {
            Some(_) => Some(Route::new(&settings, resolver.at_port_of(Arc::clone(&own)))?),
            None => None,
        };
        let elsewhere = Route::new(&settings, resolver)?;
        let gate = Arc::new(Gate::new(settings.host_concurrency));
        let memory = Arc::default();
        Ok(Self { elsewhere, at_own_port, guard, own, gate, memory, is_proxied: settings.proxy.is_some() })
    }

    fn route(&self, url: &Url) -> &Route {
        self.at_own_port.as_ref().filter(|_| self.own.has_port_of(url)).unwrap_or(&self.elsewhere)
    }

    /// Refuses URLs of this server, as far as they say so themselves.
    fn check_own(&self, url: &Url) -> Result<(), HttpError> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(name)) if is_localhost(name) => Some(Ipv4Addr::LOCALHOST.into()),
            Some(Host::Domain(_)) | None => None,
        };
        let is_own_address = address.is_some_and(|address| self.own.has_port_of(url) && self.own.has_address(address));
        if is_own_address || self.own.has_url(url) { Err(HttpError::OwnServer(host_of(url))) } else { Ok(()) }
    }
}

fn builder(
    settings: &ClientSettings,
    resolver: &GuardedResolver,
    idle: Idle,
) -> Result<reqwest::ClientBuilder, ClientError> {
    let builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .dns_resolver(Arc::new(resolver.clone()))
        .user_agent(&settings.user_agent)
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.read_timeout)
        .pool_max_idle_per_host(idle.per_host_max)
        .pool_idle_timeout(idle.time_max)
        // What old servers send and browsers take.
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true);
    // Whoever is slow to read what it is sent may be so for as long as it may say nothing: the system would give it up
    // after half a minute, whatever the settings are.
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    let builder = builder.tcp_user_timeout(settings.read_timeout.max(settings.connect_timeout));
    match &settings.proxy {
        None => Ok(builder),
        Some(url) => {
            let proxy =
                reqwest::Proxy::all(url.clone()).map_err(|_| ClientError("the proxy's URL is not usable".into()))?;
            Ok(builder.proxy(proxy))
        }
    }
}

/// On a machine with no certificates at all, plain http still works, and https says why it does not.
fn without_certificates(
    settings: &ClientSettings,
    resolver: &GuardedResolver,
    idle: Idle,
) -> Result<reqwest::Client, ClientError> {
    let client = builder(settings, resolver, idle)?
        .tls_certs_only([])
        .build()
        .map_err(|error| ClientError(error.without_url().to_string()))?;
    tracing::warn!(advice = "install ca-certificates: without them no https address can be read", "no CA certificates");
    Ok(client)
}

#[async_trait]
impl Http for GuardedClient {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let url = Url::parse(&request.url).map_err(|_| HttpError::BadUrl("it is no URL".to_owned()))?;
        let host = host_of(&url);
        match tokio::time::timeout(request.timeout, exchange::run(self, request, url)).await {
            Ok(answer) => answer,
            Err(_) => Err(HttpError::TimedOut(host)),
        }
    }

    async fn check(&self, url: &str) -> Result<(), HttpError> {
        let url = Url::parse(url).map_err(|_| HttpError::BadUrl("it is no URL".to_owned()))?;
        check::check(&self.guard, &self.route(&url).resolver, &url).await?;
        self.check_own(&url)
    }
}
