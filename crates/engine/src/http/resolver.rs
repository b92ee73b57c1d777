//! Names to addresses, less those that requests may not go to. The connection is made to the very addresses that were
//! judged, so a name that answers otherwise a moment later gains nothing.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{address::Guard, own::OwnServer, way};

/// How long the name service may take, unless told otherwise.
const TIMEOUT: Duration = Duration::from_secs(8);

/// Why a name leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    /// There is no such name.
    #[error("no such name")]
    NotFound,
    /// The name service does not answer.
    #[error("no answer from the name service")]
    NoAnswer,
    /// It has addresses, this the first of them, and none that a request may go to.
    #[error("no public address")]
    Forbidden(IpAddr),
    /// It leads to this server, and nowhere else.
    #[error("this server itself")]
    OwnServer,
    /// This machine has no way to any of its addresses.
    #[error("no way there")]
    NoWay,
}

/// The resolver of all requests.
#[derive(Debug, Clone)]
pub(crate) struct GuardedResolver {
    guard: Arc<Guard>,
    /// For requests to the port that this server listens at: its own addresses are dropped, too.
    own: Option<Arc<OwnServer>>,
    /// The host of the operator's proxy, wherever that is.
    proxy_host: Option<String>,
    timeout: Duration,
}

impl GuardedResolver {
    pub(crate) fn new(guard: Arc<Guard>, proxy_host: Option<String>) -> Self {
        Self { guard, own: None, proxy_host, timeout: TIMEOUT }
    }

    /// The same for requests to the port at which this server listens.
    pub(crate) fn at_port_of(&self, own: Arc<OwnServer>) -> Self {
        Self { own: Some(own), ..self.clone() }
    }

    /// With so much time for the name service.
    pub(crate) fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// All addresses of a name.
    async fn look_up(&self, name: &str) -> Result<Vec<SocketAddr>, NameError> {
        match tokio::time::timeout(self.timeout, tokio::net::lookup_host((name, 0))).await {
            Ok(Ok(addresses)) => Ok(addresses.collect()),
            Ok(Err(error)) if is_for_now(&error) => Err(NameError::NoAnswer),
            Ok(Err(_)) => Err(NameError::NotFound),
            Err(_) => Err(NameError::NoAnswer),
        }
    }

    /// The addresses of a name that a request may go to.
    pub(crate) async fn addresses(&self, name: &str) -> Result<Vec<SocketAddr>, NameError> {
        let all = self.look_up(name).await?;
        let first = all.first().ok_or(NameError::NotFound)?.ip();
        let permitted: Vec<_> = all.into_iter().filter(|address| self.guard.permits(address.ip())).collect();
        if permitted.is_empty() {
            return Err(NameError::Forbidden(first));
        }
        let is_own = |address: &SocketAddr| self.own.as_ref().is_some_and(|own| own.has_address(address.ip()));
        let others: Vec<_> = permitted.into_iter().filter(|address| !is_own(address)).collect();
        if others.is_empty() { Err(NameError::OwnServer) } else { way::reachable(others, way::is_there) }
    }
}

/// Whether the name service could not be asked, or has no answer for now (`EAI_AGAIN`). The standard library gives no code
/// for that, only the system's text; an error of the system itself does have a code.
fn is_for_now(error: &io::Error) -> bool {
    // By glibc and the BSDs, and by musl.
    const TEXTS: [&str; 2] = ["temporary failure in name resolution", "try again"];
    let text = error.to_string().to_ascii_lowercase();
    error.raw_os_error().is_some() || TEXTS.iter().any(|known| text.ends_with(known))
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let addresses = if resolver.proxy_host.as_deref() == Some(name.as_str()) {
                resolver.look_up(name.as_str()).await?
            } else {
                resolver.addresses(name.as_str()).await?
            };
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f4_silent_name_service_differs_from_unknown_name() {
        let of_lookup = |text: &str| io::Error::other(format!("failed to lookup address information: {text}"));
        for (error, expect) in [
            (of_lookup("Temporary failure in name resolution"), true),
            (of_lookup("Try again"), true),
            (io::Error::from_raw_os_error(24), true),
            (of_lookup("Name or service not known"), false),
            (of_lookup("No address associated with hostname"), false),
            (of_lookup("Name does not resolve"), false),
        ] {
            assert_eq!(is_for_now(&error), expect, "{error}");
        }
    }

    #[tokio::test]
    async fn u8_private_only_name_is_refused() {
        let resolver = GuardedResolver::new(Arc::new(Guard::default()), None);
        assert!(
            matches!(resolver.addresses("localhost").await, Err(NameError::Forbidden(first)) if first.is_loopback())
        );
        // Where there is no name service, it does not answer.
        let unknown = resolver.addresses("no-such-name.invalid").await;
        assert!(matches!(unknown, Err(NameError::NotFound | NameError::NoAnswer)), "{unknown:?}");
        let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
        assert!(GuardedResolver::new(Arc::new(guard), None).addresses("localhost").await.is_ok());
    }
}
