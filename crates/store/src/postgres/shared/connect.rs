//! Connections: how they are made, and how long each may wait for what. A broken one is replaced by the pool, so a
//! database that comes back is used again with no one doing anything.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use deadpool_postgres::{
    ClientWrapper, Connect, Hook, HookError, Manager, ManagerConfig, Metrics, Pool, RecyclingMethod, Runtime,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
};
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, Notification, Socket,
    config::{SslMode, TargetSessionAttrs},
};

use crate::OpenError;
use crate::postgres::shared::{
    errors,
    hosts::{self, Hosts, Made},
    lending::{Lending, TimeLimits},
    read_only,
    tls::{self, TlsMode},
};

/// A connection that was handed out so long ago is asked whether it still answers before it is used again: whoever had
/// it may have given up waiting for a statement.
const PROBE_AFTER: Duration = Duration::from_secs(1);
/// How long it may take to answer that.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long one address of the database may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long what was sent may stay unacknowledged before the connection counts as dead.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a connection may be silent before it is asked whether it lives, and how often then.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(2);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);

/// What every connection begins with, as PostgreSQL shows it. A process that is frozen inside a transaction holds its rows no
/// longer than five seconds, half of a delivery's lease unless it is set to less: whoever claims or renews skips them
/// meanwhile. Compiling statements to machine code costs more than it saves here.
///
/// They come with the start of a connection. Nothing is ever set later but inside a transaction: a pooler would hand it on to
/// others.
pub(crate) const SESSION: [(&str, &str); 5] = [
    ("idle_in_transaction_session_timeout", "5s"),
    ("lock_timeout", "15s"),
    ("statement_timeout", "1min"),
    ("default_transaction_isolation", "read committed"),
    ("jit", "off"),
];

/// Where the database is, and how it is reached.
#[derive(Clone)]
pub(crate) struct Address {
    hosts: Arc<Hosts>,
    connect_timeout: Duration,
}

impl Address {
    pub(crate) fn of(url: &str, connect_timeout: Duration) -> Result<Self, OpenError> {
        let mode = TlsMode::of(url)?;
        let config = config(&mode.url)?;
        let is_required = mode.is_required || config.get_ssl_mode() == SslMode::Require;
        let tls = is_required.then(|| tls::connector(mode.roots.as_deref())).transpose()?;
        Ok(Self { hosts: Arc::new(Hosts::new(config, tls, connect_timeout)), connect_timeout })
    }

    pub(crate) fn pool(&self, size: usize) -> Result<Pool, OpenError> {
        let manager_config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_connect(Config::new(), self.clone(), manager_config);
        let silence = Arc::new(Silence::default());
        Pool::builder(manager)
            .max_size(size)
            .wait_timeout(Some(self.connect_timeout))
            .create_timeout(Some(self.connect_timeout))
            .recycle_timeout(Some(self.connect_timeout))
            .runtime(Runtime::Tokio1)
            .pre_recycle(Hook::async_fn(move |client, metrics| {
                let silence = Arc::clone(&silence);
                Box::pin(async move { silence.check(client, metrics).await.map_err(HookError::message) })
            }))
            .build()
            .map_err(|error| OpenError::Unsuitable(error.to_string()))
    }

    /// A connection of its own, and what keeps it alive: every notification that comes is handed over, until the client
    /// is dropped or the connection is lost.
    pub(crate) async fn listen(
        &self,
        heard: impl FnMut(&Notification) + Send + 'static,
    ) -> Result<(Client, JoinHandle<()>), Error> {
        let (client, made, _) = self.hosts.connect().await?;
        Ok((client, tokio::spawn(drive(made, heard))))
    }

    /// A call that had no answer for so long is reason to ask its server; both together take as long as whoever waits for
    /// an answer at once does.
    fn time_limits(&self) -> TimeLimits {
        let call = self.connect_timeout * 3 / 8;
        TimeLimits { call, server: self.connect_timeout.saturating_sub(call) }
    }

    async fn connect_watched(&self) -> Result<(Client, JoinHandle<()>), Error> {
        self.connect_lent(Lending::of_new_connection).await
    }

    /// A connection of its own for work that may take so long, and that ends when the database is silent.
    pub(crate) async fn connect_for(&self, limit: Duration) -> Result<(Client, JoinHandle<()>), Error> {
        self.connect_lent(|| Lending::for_good(limit)).await
    }

    async fn connect_lent(&self, lent: impl FnOnce() -> Arc<Lending>) -> Result<(Client, JoinHandle<()>), Error> {
        let (client, made, address) = self.hosts.connect().await?;
        let (lending, hosts, limits) = (lent(), Arc::clone(&self.hosts), self.time_limits());
        let driven = tokio::spawn(async move {
            tokio::select! {
                () = drive(made, |_| {}) => {}
                reason = lending.given_up(limits, &hosts, &address) => {
                    tracing::warn!(reason, "database connection dropped");
                }
            }
        });
        Ok((client, driven))
    }
}

impl Connect for Address {
    fn connect(
        &self,
        _: &Config,
    ) -> Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), Error>> + Send + '_>> {
        Box::pin(self.connect_watched())
    }
}

/// Which connections of a pool are not used again.
#[derive(Default)]
struct Silence {
    /// When one did not answer: those that were made before may be as dead.
    met_at: Mutex<Option<Instant>>,
}

impl Silence {
    async fn check(&self, client: &ClientWrapper, metrics: &Metrics) -> Result<(), &'static str> {
        // One that may have ended up at a standby is not used again.
        if read_only::was_met_since(metrics.created) {
            return Err("the database was read-only");
        }
        if self.met_at.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|met_at| met_at >= metrics.created) {
            return Err("the database did not answer");
        }
        if metrics.last_used() < PROBE_AFTER {
            return Ok(());
        }
        if let Ok(Ok(())) = tokio::time::timeout(PROBE_TIMEOUT, client.batch_execute("")).await {
            return Ok(());
        }
        *self.met_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(tokio::time::Instant::now().into_std());
        Err("the database did not answer")
    }
}

async fn drive(made: Made, heard: impl FnMut(&Notification)) {
    match made {
        Made::Plain(connection) => messages(connection, heard).await,
        Made::Tls(connection) => messages(connection, heard).await,
    }
}

async fn messages<S>(mut connection: Box<Connection<Socket, S>>, mut heard: impl FnMut(&Notification))
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            Ok(AsyncMessage::Notification(notification)) => heard(&notification),
            Ok(_) => {}
            Err(error) => {
                tracing::info!(error = errors::reason(&error), "database connection lost");
                return;
            }
        }
    }
}

fn config(url: &str) -> Result<Config, OpenError> {
    // The driver's message says what is wrong and does not quote the URL, which may hold a password.
    let mut config: Config = url.parse().map_err(|error| OpenError::BadUrl(errors::reason(&error)))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(OpenError::BadUrl("it names no host".to_owned()));
    }
    if config.get_application_name().is_none() {
        config.application_name("pirssonite");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    // Behind an address that moves there may be a standby for a while: it takes no writes, and is no use to anyone here.
    if !url.contains("target_session_attrs") {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    config.tcp_user_timeout(TCP_USER_TIMEOUT);
    config.keepalives_idle(KEEPALIVE_IDLE);
    config.keepalives_interval(KEEPALIVE_INTERVAL);
    let options = format!("{} {}", config.get_options().unwrap_or_default(), session_options());
    config.options(options.trim_start());
    Ok(config)
}

/// What a database is called, without whoever logs in there. The same name is the same database.
pub(crate) fn database_name(url: &str) -> Result<String, OpenError> {
    let config = config(url)?;
    let hosts: Vec<_> = hosts::of(&config).iter().map(ToString::to_string).collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    Ok(format!("PostgreSQL at {}/{database}", hosts.join(",")))
}

fn session_options() -> String {
    let option = |(name, value): (&str, &str)| format!("-c {name}={}", value.replace(' ', "\\ "));
    SESSION.map(option).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PostgresOptions, postgres::shared::lending::LOOK_EVERY};

    #[test]
    fn u4_silent_database_is_given_up_within_five_seconds() {
        let time = PostgresOptions::default().connect_timeout;
        let TimeLimits { call, server } = Address::of("postgres://u@h/d", time).unwrap().time_limits();
        assert!(call + LOOK_EVERY + server <= Duration::from_millis(4500), "{call:?} {server:?}");
        assert!(PROBE_TIMEOUT < time && CONNECT_TIMEOUT < time, "what is left is for another connection");
    }

    #[test]
    fn a_wrong_url_is_reported_without_its_password() {
        for bad in ["postgres://u:secret@h:port/d", "postgres://u:secret@h/d?nonsense=1", "secret", "postgres://"] {
            let error = config(bad).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert_eq!(config("postgres://u@h/d").unwrap().get_application_name(), Some("pirssonite"));
    }

    #[test]
    fn u4_read_only_databases_are_refused_by_default() {
        for (url, expect) in [
            ("postgres://u@h/d", TargetSessionAttrs::ReadWrite),
            ("postgres://u@h/d?target_session_attrs=any", TargetSessionAttrs::Any),
            ("host=h user=u target_session_attrs=any", TargetSessionAttrs::Any),
            ("host=h user=u", TargetSessionAttrs::ReadWrite),
        ] {
            assert_eq!(config(url).unwrap().get_target_session_attrs(), expect, "{url}");
        }
    }
}
