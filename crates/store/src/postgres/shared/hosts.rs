//! The database's hosts: each is tried in turn, and none for so long that the next has no time left, however it fails. A
//! host that accepts connections and then says nothing is passed over like one that is gone, and so is one whose name
//! nobody looks up in time.

use std::{
    fmt, io,
    net::IpAddr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{
    net::lookup_host,
    time::{Instant, timeout},
};
use tokio_postgres::{
    Client, Config, Connection, Error, NoTls, Socket,
    config::Host,
    tls::{MakeTlsConnect, NoTlsStream},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::postgres::shared::errors::reason;

/// What poolers say of a parameter that they do not pass on.
const PARAMETER_REFUSED: &str = "unsupported startup parameter";

/// The port of a host that is named without one.
const PORT: u16 = 5432;

/// How names become addresses.
type Resolver = Box<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// All hosts of a database URL.
pub(crate) struct Hosts {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    /// How long all of them may take together, their names included.
    time: Duration,
    members: Vec<HostAddress>,
    /// The place in the list of the one that was last connected to, and its address: both are tried first.
    last_good: Mutex<(usize, Option<IpAddr>)>,
    /// Whether settings can be given with the start of a connection: some poolers refuse them.
    takes_options: AtomicBool,
    resolve: Resolver,
}

/// One host; with its address, unless that is to be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// A connection, what drives it, and how its host is reached again.
type Connected = (Client, Made, HostAddress);

impl Hosts {
    pub(crate) fn new(config: Config, tls: Option<MakeRustlsConnect>, time: Duration) -> Self {
        let (members, last_good) = (of(&config), Mutex::new((0, None)));
        Self { config, tls, time, members, last_good, takes_options: AtomicBool::new(true), resolve: Box::new(look_up) }
    }

    /// Connects to the first that will do; also, how to reach that one again. What one host leaves of its share is the
    /// others'.
    pub(crate) async fn connect(&self) -> Result<Connected, Error> {
        let (end, count) = (Instant::now() + self.time, self.members.len());
        let (first, address) = *self.last_good.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failed = None;
        for step in 0..count {
            let place = (first + step) % count;
            let preferred = address.filter(|_| step == 0);
            match self.connect_to_host(&self.members[place], preferred, share(end, count - step)).await {
                Ok(connected) => {
                    let good = (place, connected.2.address);
                    *self.last_good.lock().unwrap_or_else(PoisonError::into_inner) = good;
                    return Ok(connected);
                }
                Err(error) => failed = more_telling(failed, error),
            }
        }
        Err(failed.unwrap_or_else(Error::__private_api_timeout))
    }

    /// Connects to the first address of a host that will do, within a time that they share. The error is none if that was
    /// too short.
    async fn connect_to_host(
        &self,
        host: &HostAddress,
        preferred: Option<IpAddr>,
        time: Duration,
    ) -> Result<Connected, Option<Error>> {
        let end = Instant::now() + time;
        let addresses = timeout(time, self.addresses(host, preferred)).await.map_err(|_| None)?;
        let (mut failed, count) = (None, addresses.len());
        for (step, address) in addresses.into_iter().enumerate() {
            match timeout(share(end, count - step), self.connect_to(&address)).await {
                Ok(Ok((client, made))) => return Ok((client, made, address)),
                Ok(Err(error)) => failed = more_telling(failed, Some(error)),
                Err(_) => {}
            }
        }
        Err(failed)
    }

    /// Every address of a host. A name that is not known now is left to the driver, which says so.
    async fn addresses(&self, host: &HostAddress, preferred: Option<IpAddr>) -> Vec<HostAddress> {
        let (Some(Host::Tcp(name)), None) = (&host.host, host.address) else { return vec![host.clone()] };
        let mut found = (self.resolve)(name.clone(), host.port).await.unwrap_or_default();
        if found.is_empty() {
            return vec![host.clone()];
        }
        found.sort_by_key(|found| Some(*found) != preferred);
        found.into_iter().map(|address| HostAddress { address: Some(address), ..host.clone() }).collect()
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

/// The hosts that a URL names, in order.
pub(crate) fn of(config: &Config) -> Vec<HostAddress> {
    let (hosts, given, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let host = |place| HostAddress {
        host: hosts.get(place).cloned(),
        address: given.get(place).copied(),
        port: ports.get(place).or(ports.first()).copied().unwrap_or(PORT),
    };
    (0..hosts.len().max(given.len())).map(host).collect()
}

fn look_up(name: String, port: u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
    async move { Ok(lookup_host((name, port)).await?.map(|found| found.ip()).collect()) }.boxed()
}

/// What is left until then, for each of so many.
fn share(end: Instant, count: usize) -> Duration {
    end.saturating_duration_since(Instant::now()) / u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}

impl fmt::Display for HostAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.address) {
            (Some(Host::Tcp(name)), _) if name.contains(':') => write!(formatter, "[{name}]")?,
            (Some(Host::Tcp(name)), _) => formatter.write_str(name)?,
            (Some(Host::Unix(path)), _) => path.display().fmt(formatter)?,
            (None, Some(address)) => address.fmt(formatter)?,
            (None, None) => {}
        }
        if self.port == PORT { Ok(()) } else { write!(formatter, ":{}", self.port) }
    }
}

/// Of two errors, the one that says more: that a server takes no writes is more than that another is gone, and either more
/// than that a third took too long.
fn more_telling(known: Option<Error>, error: Option<Error>) -> Option<Error> {
    match known {
        Some(known) if error.is_none() || known.as_db_error().is_some() || is_read_only(&known) => Some(known),
        _ => error,
    }
}

/// The driver's words for what `target_session_attrs` asks for.
pub(crate) fn is_read_only(error: &Error) -> bool {
    reason(error).contains("does not allow writes")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Hosts whose names are looked up here; one that is not listed takes for ever.
    fn hosts_of(url: &str, time: Duration, known: &[(&str, &[IpAddr])]) -> Hosts {
        let known: HashMap<String, Vec<IpAddr>> =
            known.iter().map(|(name, addresses)| ((*name).to_owned(), addresses.to_vec())).collect();
        let mut hosts = Hosts::new(url.parse().unwrap(), None, time);
        hosts.resolve = Box::new(move |name, _| match known.get(&name) {
            Some(found) => std::future::ready(Ok(found.clone())).boxed(),
            None => std::future::pending().boxed(),
        });
        hosts
    }

    #[tokio::test]
    async fn p3_a_name_that_nobody_looks_up_takes_no_time_of_other_hosts() {
        const TIME: Duration = Duration::from_secs(30);
        let database = testkit::fresh_postgres().await.leave();
        let url: Config = database.url().parse().unwrap();
        let (port, user, name) = (url.get_ports()[0], url.get_user().unwrap(), url.get_dbname().unwrap());
        // One of many, so that little has to be waited for; most refuse at once.
        let refusing = 13;
        let names = format!("slow{},good", ",down".repeat(refusing));
        let ports = format!("{port}{},{port}", ",1".repeat(refusing));
        let known: [(&str, &[IpAddr]); 2] = [("down", &[LOCAL]), ("good", &[LOCAL])];
        let hosts = hosts_of(&format!("host={names} port={ports} user={user} dbname={name}"), TIME, &known);
        let connected = timeout(TIME, hosts.connect()).await.expect("it ends in time");
        let (_, _, good) = connected.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((good.to_string(), good.address), (format!("good:{port}"), Some(LOCAL)));
        assert_eq!(*hosts.last_good.lock().unwrap(), (refusing + 1, Some(LOCAL)));
    }

    #[tokio::test]
    async fn p3_the_address_that_was_good_last_is_the_first() {
        let [one, two, three] = [1, 2, 3].map(|last| IpAddr::from([10, 0, 0, last]));
        let hosts = hosts_of("host=many,10.0.0.9 user=u", Duration::from_secs(4), &[("many", &[one, two, three])]);
        let check = async |place: usize, preferred: Option<IpAddr>, expect: &[IpAddr]| {
            let found = hosts.addresses(&hosts.members[place], preferred).await;
            assert_eq!(found.iter().filter_map(|found| found.address).collect::<Vec<_>>(), expect);
        };
        check(0, None, &[one, two, three]).await;
        check(0, Some(two), &[two, one, three]).await;
        check(0, Some(IpAddr::from([10, 0, 0, 4])), &[one, two, three]).await;
    }
}
