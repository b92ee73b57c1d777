//! This server itself. No request goes there: otherwise a feed that names it as its hub, or a redirect, could use its API
//! with the server's own rights.

use std::net::{IpAddr, SocketAddr};

use url::Url;

use super::way;

/// Where this server answers.
#[derive(Debug, Clone, Default)]
pub struct OwnServer {
    pub listen: Option<SocketAddr>,
    /// Where the world reaches it.
    pub base_url: Option<Url>,
}

impl OwnServer {
    /// Whether a URL lies under the base URL, encrypted or not.
    pub(crate) fn has_url(&self, url: &Url) -> bool {
        let Some(base) = &self.base_url else { return false };
        let host = |url: &Url| url.host_str().map(|host| host.trim_end_matches('.').to_owned());
        // What has no port of its own is the same server with either scheme.
        let is_same_port = base.port_or_known_default() == url.port_or_known_default()
            || (base.port().is_none() && url.port().is_none());
        host(base) == host(url) && is_same_port && folders(url.path()).starts_with(&folders(base.path()))
    }

    /// Whether a URL has the port that this server listens at: then the address decides.
    pub(crate) fn has_port_of(&self, url: &Url) -> bool {
        self.listen.is_some_and(|listen| url.port_or_known_default() == Some(listen.port()))
    }

    /// Whether what is sent to this address arrives here, if the port is the same.
    pub(crate) fn has_address(&self, address: IpAddr) -> bool {
        let Some(listen) = self.listen.map(|listen| listen.ip().to_canonical()) else { return false };
        let address = address.to_canonical();
        // Who connects to no address at all connects to this machine.
        address == listen || address.is_unspecified() || (listen.is_unspecified() && is_of_this_machine(address))
    }
}

/// The parts of a path as servers and proxies read it: decoded, and without what leads nowhere.
fn folders(path: &str) -> Vec<Vec<u8>> {
    let decoded: Vec<u8> = percent_encoding::percent_decode_str(path).collect();
    let mut folders: Vec<Vec<u8>> = Vec::new();
    for part in decoded.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(folders.pop()),
            part => folders.push(part.to_vec()),
        }
    }
    folders
}

/// The system would send to an address of its own from that very address.
fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || way::source_to(address).is_ok_and(|source| source == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(listen: &str, base_url: &str) -> OwnServer {
        OwnServer { listen: Some(listen.parse().unwrap()), base_url: Url::parse(base_url).ok() }
    }

    #[test]
    fn u8_w1_base_url_is_own_server() {
        for (base, url, expect) in [
            ("https://we.org/", "https://we.org/api/webhooks", true),
            ("https://we.org/", "https://WE.org./", true),
            ("https://we.org/", "http://we.org/feed", true),
            ("https://we.org/", "https://we.org:8443/", false),
            ("https://we.org/", "https://www.we.org/", false),
            ("http://we.org:3000/", "http://we.org:3000/x", true),
            ("http://we.org:3000/", "http://we.org/x", false),
            ("https://we.org/reader", "https://we.org/reader", true),
            ("https://we.org/reader/", "https://we.org/reader/api", true),
            ("https://we.org/reader", "https://we.org/%72eader/api/webhooks", true),
            ("https://we.org/reader", "https://we.org//reader/api", true),
            ("https://we.org/reader", "https://we.org/x/..%2Freader//api", true),
            ("https://we.org/%72eader/", "https://we.org/reader/api", true),
            ("https://we.org/a/reader", "https://we.org/a%2freader", true),
            ("https://we.org/a/reader", "https://we.org/a", false),
            ("https://we.org/reader", "https://we.org/readers", false),
            ("https://we.org/reader", "https://we.org/blog/feed", false),
        ] {
            assert_eq!(own("127.0.0.1:1", base).has_url(&Url::parse(url).unwrap()), expect, "{base} {url}");
        }
        assert!(!OwnServer::default().has_url(&Url::parse("https://we.org/").unwrap()));
    }

    #[test]
    fn u8_w1_listen_address_is_own_server() {
        for (listen, address, expect) in [
            ("127.0.0.1:3000", "127.0.0.1", true),
            ("127.0.0.1:3000", "::ffff:127.0.0.1", true),
            ("127.0.0.1:3000", "127.0.0.2", false),
            ("127.0.0.1:3000", "0.0.0.0", true),
            ("0.0.0.0:3000", "127.0.0.2", true),
            ("[::]:3000", "127.0.0.1", true),
            ("0.0.0.0:3000", "8.8.8.8", false),
            ("10.1.2.3:3000", "10.1.2.3", true),
            ("10.1.2.3:3000", "10.1.2.4", false),
        ] {
            assert_eq!(own(listen, "").has_address(address.parse().unwrap()), expect, "{listen} {address}");
        }
        let own = own("127.0.0.1:80", "");
        for (url, expect) in [("http://e.org/", true), ("http://e.org:80/", true), ("https://e.org/", false)] {
            assert_eq!(own.has_port_of(&Url::parse(url).unwrap()), expect, "{url}");
        }
    }
}
