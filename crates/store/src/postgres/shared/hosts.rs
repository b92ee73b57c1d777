//! The database's hosts: each is tried in turn, and none for so long that the next has no time left, however it fails. A
//! host that accepts connections and then says nothing is passed over like one that is gone.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use tokio::{net::lookup_host, time::timeout};
use tokio_postgres::{
    Client, Config, Connection, Error, NoTls, Socket,
    config::Host,
    tls::{MakeTlsConnect, NoTlsStream},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::postgres::shared::errors::reason;

/// What poolers say of a parameter that they do not pass on.
const PARAMETER_REFUSED: &str = "unsupported startup parameter";

/// All hosts of a database URL.
pub(crate) struct Hosts {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    /// How long all of them may take together.
    time: Duration,
    /// The place in the list of the one that was last connected to: it is tried first.
    last_good: AtomicUsize,
    /// Whether settings can be given with the start of a connection: some poolers refuse them.
    takes_options: AtomicBool,
}

/// One address of one host.
#[derive(Debug, Clone)]
pub(crate) struct HostAddress {
    host: Option<Host>,
    address: Option<IpAddr>,
    port: u16,
}

/// What has to be driven for a connection.
pub(crate) enum Made {
    Plain(Box<Connection<Socket, NoTlsStream>>),
    Tls(Box<Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>>),
}

impl Hosts {
    pub(crate) fn new(config: Config, tls: Option<MakeRustlsConnect>, time: Duration) -> Self {
        Self { config, tls, time, last_good: AtomicUsize::new(0), takes_options: AtomicBool::new(true) }
    }

    /// Connects to the first that will do; also, how to reach that one again.
    pub(crate) async fn connect(&self) -> Result<(Client, Made, HostAddress), Error> {
        let addresses = self.addresses().await;
        let (first, count) = (self.last_good.load(Ordering::Relaxed), addresses.len());
        let time = self.time / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        let mut failed = None;
        for place in (0..count).map(|step| (first + step) % count) {
            match timeout(time, self.connect_to(&addresses[place])).await {
                Ok(Ok((client, made))) => {
                    self.last_good.store(place, Ordering::Relaxed);
                    return Ok((client, made, addresses[place].clone()));
                }
                Ok(Err(error)) => failed = Some(more_telling(failed, error)),
                Err(_) => failed = Some(failed.unwrap_or_else(Error::__private_api_timeout)),
            }
        }
        Err(failed.unwrap_or_else(Error::__private_api_timeout))
    }

    /// Whether the server at an address answers, be it with an error.
    pub(crate) async fn answers(&self, address: &HostAddress, time: Duration) -> bool {
        match timeout(time, self.connect_to(address)).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => error.as_db_error().is_some() || is_read_only(&error),
            Err(_) => false,
        }
    }

    async fn connect_to(&self, address: &HostAddress) -> Result<(Client, Made), Error> {
        match self.connect_once(&self.config_of(address)).await {
            Err(error) if reason(&error).contains(PARAMETER_REFUSED) => {
                self.takes_options.store(false, Ordering::Relaxed);
                self.connect_once(&self.config_of(address)).await
            }
            connected => connected,
        }
    }

    async fn connect_once(&self, address: &Config) -> Result<(Client, Made), Error> {
        Ok(if let Some(tls) = self.tls.clone() {
            let (client, connection) = address.connect(tls).await?;
            (client, Made::Tls(Box::new(connection)))
        } else {
            let (client, connection) = address.connect(NoTls).await?;
            (client, Made::Plain(Box::new(connection)))
        })
    }

    /// Every address of every host, in order. A name that is not known now is left to the driver, which says so.
    async fn addresses(&self) -> Vec<HostAddress> {
        let (hosts, given) = (self.config.get_hosts(), self.config.get_hostaddrs());
        let mut addresses = Vec::new();
        for place in 0..hosts.len().max(given.len()) {
            let port = self.port(place);
            let one = HostAddress { host: hosts.get(place).cloned(), address: given.get(place).copied(), port };
            if let (Some(Host::Tcp(name)), None) = (&one.host, one.address)
                && let Ok(Ok(found)) = timeout(self.time, lookup_host((name.as_str(), port))).await
            {
                addresses.extend(found.map(|found| HostAddress { address: Some(found.ip()), ..one.clone() }));
            } else {
                addresses.push(one);
            }
        }
        addresses
    }

    fn port(&self, place: usize) -> u16 {
        let ports = self.config.get_ports();
        ports.get(place).or(ports.first()).copied().unwrap_or(5432)
    }

    /// What the URL says, with one host alone: the driver has no other way to say that.
    fn config_of(&self, HostAddress { host, address, port }: &HostAddress) -> Config {
        let (all, mut one) = (&self.config, Config::new());
        /// Copies what is set.
        macro_rules! copy {
            ($($set:ident: $get:ident),+ $(,)?) => {
                $(if let Some(value) = all.$get() {
                    one.$set(value);
                })+
            };
        }
        match host {
            Some(Host::Tcp(name)) => one.host(name),
            Some(Host::Unix(path)) => one.host_path(path),
            None => &mut one,
        };
        if let Some(address) = address {
            one.hostaddr(*address);
        }
        one.port(*port);
        if self.takes_options.load(Ordering::Relaxed) {
            copy!(options: get_options);
        }
        copy!(user: get_user, password: get_password, dbname: get_dbname);
        copy!(application_name: get_application_name, keepalives_interval: get_keepalives_interval);
        copy!(keepalives_retries: get_keepalives_retries);
        if let Some(time) = all.get_connect_timeout() {
            one.connect_timeout(*time);
        }
        if let Some(time) = all.get_tcp_user_timeout() {
            one.tcp_user_timeout(*time);
        }
        one.keepalives(all.get_keepalives())
            .keepalives_idle(all.get_keepalives_idle())
            .ssl_mode(all.get_ssl_mode())
            .ssl_negotiation(all.get_ssl_negotiation())
            .target_session_attrs(all.get_target_session_attrs())
            .channel_binding(all.get_channel_binding());
        one
    }
}

/// Of two errors, the one that says more: that a server takes no writes is more than that another is gone.
fn more_telling(known: Option<Error>, error: Error) -> Error {
    match known {
        Some(known) if known.as_db_error().is_some() || is_read_only(&known) => known,
        _ => error,
    }
}

/// The driver's words for what `target_session_attrs` asks for.
pub(crate) fn is_read_only(error: &Error) -> bool {
    reason(error).contains("does not allow writes")
}
