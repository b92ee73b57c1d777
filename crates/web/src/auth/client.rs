//! Where a request comes from: the address of its client, also behind proxies that are trusted, and nobody else's word.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// What proxies add, each in its own way; besides, whatever begins like the first.
const FORWARDING: [&str; 3] = ["x-real-ip", "forwarded", "via"];
const FORWARDING_PREFIX: &str = "x-forwarded-";
/// Addresses of `X-Forwarded-For` that are looked at.
const HOPS_MAX: usize = 32;

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) address: IpAddr,
    /// From this machine, and by no proxy's hand.
    pub(crate) is_local: bool,
    /// Whether it was a proxy of ours that sent it: only then it may say who is logged in.
    pub(crate) is_proxied: bool,
    /// Whether the client speaks to that proxy by https.
    pub(crate) is_https: bool,
}

impl Client {
    pub(crate) fn of(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Self {
        let peer = peer.to_canonical();
        let is_proxied = is_trusted(peer, trusted);
        let address = if is_proxied { forwarded_for(peer, headers, trusted) } else { peer };
        let proto = headers.get_all(FORWARDED_PROTO).iter().next_back().and_then(|value| value.to_str().ok());
        let proto = proto.and_then(|list| list.rsplit(',').next()).unwrap_or_default();
        Self {
            address,
            is_local: peer.is_loopback() && address.is_loopback() && !headers.keys().any(is_forwarding),
            is_proxied,
            is_https: is_proxied && proto.trim().eq_ignore_ascii_case("https"),
        }
    }
}

/// Whether a proxy has sent it.
fn is_forwarding(name: &HeaderName) -> bool {
    name.as_str().starts_with(FORWARDING_PREFIX) || FORWARDING.contains(&name.as_str())
}

/// From the right, the first address that is none of our proxies. Whatever stands left of it is its own claim.
fn forwarded_for(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let values: Vec<&str> = headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or("?")).collect();
    let mut nearest = peer;
    for hop in values.iter().rev().flat_map(|value| value.rsplit(',')).take(HOPS_MAX) {
        let Some(address) = address_of(hop.trim()) else { return nearest };
        nearest = address;
        if !is_trusted(address, trusted) {
            return nearest;
        }
    }
    nearest
}

/// An address, with or without a port.
fn address_of(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    bare.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|network| network.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a4_only_trusted_proxies_are_believed() {
        let trusted: Vec<IpNet> = ["10.0.0.0/8", "127.0.0.1/32", "fd00::/8"].map(|net| net.parse().unwrap()).into();
        for (peer, forwarded, expect) in [
            ("203.0.113.9", &["198.51.100.1"][..], "203.0.113.9"),
            ("203.0.113.9", &[], "203.0.113.9"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            ("::ffff:10.0.0.1", &["198.51.100.1:4711"], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6, 198.51.100.1, 10.0.0.2"], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6", "198.51.100.1", " 10.0.0.2 "], "198.51.100.1"),
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", &["6.6.6.6, unknown, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &["6.6.6.6, "], "10.0.0.1"),
            ("10.0.0.1", &["[2001:db8::1]:80"], "2001:db8::1"),
            ("10.0.0.1", &["[2001:db8::1]"], "2001:db8::1"),
            ("fd00::1", &["2001:db8::1"], "2001:db8::1"),
            ("127.0.0.1", &["127.0.0.1"], "127.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append(FORWARDED_FOR, value.parse().unwrap());
            }
            let client = Client::of(peer.parse().unwrap(), &headers, &trusted);
            assert_eq!(client.address, expect.parse::<IpAddr>().unwrap(), "{peer} {forwarded:?}");
            assert!(!client.is_local || forwarded.is_empty());
        }
    }

    #[test]
    fn a3_local_is_loopback_without_a_proxy() {
        for (peer, header, trusted, expect) in [
            ("127.0.0.1", None, false, (true, false, false)),
            ("::1", None, false, (true, false, false)),
            ("::ffff:127.0.0.1", None, false, (true, false, false)),
            ("192.168.1.2", None, false, (false, false, false)),
            ("127.0.0.1", Some(("x-forwarded-for", "127.0.0.1")), false, (false, false, false)),
            ("127.0.0.1", Some(("forwarded", "for=_x")), false, (false, false, false)),
            ("127.0.0.1", Some(("x-forwarded-host", "reader.example")), false, (false, false, false)),
            ("127.0.0.1", Some(("x-forwarded-port", "443")), true, (false, true, false)),
            ("127.0.0.1", Some(("via", "1.1 proxy")), false, (false, false, false)),
            ("127.0.0.1", Some(("accept", "*/*")), true, (true, true, false)),
            ("127.0.0.1", Some(("x-forwarded-proto", "https")), false, (false, false, false)),
            ("127.0.0.1", Some(("x-forwarded-proto", "https")), true, (false, true, true)),
            ("127.0.0.1", Some(("x-forwarded-proto", "https, http")), true, (false, true, false)),
        ] {
            let headers: HeaderMap = header
                .into_iter()
                .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
                .collect();
            let trusted: Vec<IpNet> = if trusted { vec!["127.0.0.0/8".parse().unwrap()] } else { vec![] };
            let client = Client::of(peer.parse().unwrap(), &headers, &trusted);
            assert_eq!((client.is_local, client.is_proxied, client.is_https), expect, "{peer} {header:?}");
        }
    }
}
