//! Names to addresses, less those that requests may not go to. The connection is made to the very addresses that were
//! judged, so a name that answers otherwise a moment later gains nothing.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{address::Guard, own::OwnServer};

/// Why a name leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    /// There is no such name, or the name service does not answer.
    #[error("no such name")]
    NotFound,
    /// It has addresses, this the first of them, and none that a request may go to.
    #[error("no public address")]
    Forbidden(IpAddr),
    /// It leads to this server, and nowhere else.
    #[error("this server itself")]
    OwnServer,
}

/// The resolver of all requests.
#[derive(Debug, Clone)]
pub(crate) struct GuardedResolver {
    guard: Arc<Guard>,
    /// For requests to the port that this server listens at: its own addresses are dropped, too.
    own: Option<Arc<OwnServer>>,
    /// The host of the operator's proxy, wherever that is.
    proxy_host: Option<String>,
}

impl GuardedResolver {
    pub(crate) fn new(guard: Arc<Guard>, proxy_host: Option<String>) -> Self {
        Self { guard, own: None, proxy_host }
    }

    /// The same for requests to the port at which this server listens.
    pub(crate) fn at_port_of(&self, own: Arc<OwnServer>) -> Self {
        Self { own: Some(own), ..self.clone() }
    }

    /// The addresses of a name that a request may go to.
    pub(crate) async fn addresses(&self, name: &str) -> Result<Vec<SocketAddr>, NameError> {
        let all: Vec<SocketAddr> = match tokio::net::lookup_host((name, 0)).await {
            Ok(addresses) => addresses.collect(),
            Err(_) => return Err(NameError::NotFound),
        };
        let first = all.first().ok_or(NameError::NotFound)?.ip();
        let permitted: Vec<_> = all.into_iter().filter(|address| self.guard.permits(address.ip())).collect();
        if permitted.is_empty() {
            return Err(NameError::Forbidden(first));
        }
        let is_own = |address: &SocketAddr| self.own.as_ref().is_some_and(|own| own.has_address(address.ip()));
        let others: Vec<_> = permitted.into_iter().filter(|address| !is_own(address)).collect();
        if others.is_empty() { Err(NameError::OwnServer) } else { Ok(others) }
    }

    async fn resolve_any(name: &str) -> Result<Vec<SocketAddr>, NameError> {
        let addresses = tokio::net::lookup_host((name, 0)).await.map_err(|_| NameError::NotFound)?;
        Ok(addresses.collect())
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let addresses = if resolver.proxy_host.as_deref() == Some(name.as_str()) {
                Self::resolve_any(name.as_str()).await?
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

    #[tokio::test]
    async fn u8_a_name_with_only_private_addresses_is_refused() {
        let resolver = GuardedResolver::new(Arc::new(Guard::default()), None);
        assert!(
            matches!(resolver.addresses("localhost").await, Err(NameError::Forbidden(first)) if first.is_loopback())
        );
        assert_eq!(resolver.addresses("no-such-name.invalid").await, Err(NameError::NotFound));
        let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
        assert!(GuardedResolver::new(Arc::new(guard), None).addresses("localhost").await.is_ok());
    }
}
