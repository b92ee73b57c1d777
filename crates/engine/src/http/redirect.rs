//! Following redirects: where the next request goes, what it may carry, and what has moved for good. Pure.

use domain::ports::{HttpError, Method};
use url::Url;

/// A request on its way through redirects.
#[derive(Clone)]
pub(crate) struct Chain {
    /// Where the next request goes.
    pub(crate) url: Url,
    /// Whether the secrets of the first request may go along: never again after another host was asked.
    pub(crate) keeps_secrets: bool,
    /// Where the permanent redirects at the start of the chain lead.
    pub(crate) moved_to: Option<Url>,
    only_permanent: bool,
    method: Method,
    hops: usize,
    hops_max: usize,
}

impl Chain {
    /// A request that was not sent yet.
    pub(crate) fn new(method: Method, url: Url, hops_max: usize) -> Self {
        Self { url, keeps_secrets: true, moved_to: None, only_permanent: true, method, hops: 0, hops_max }
    }

    /// Takes the next hop, if the answer names one that is to be followed. Otherwise the answer is the end.
    pub(crate) fn follow(&mut self, status: u16, location: Option<&str>) -> Result<bool, HttpError> {
        let Some(location) = location.filter(|_| self.follows(status)) else { return Ok(false) };
        if self.hops == self.hops_max {
            return Err(HttpError::Redirects(host_of(&self.url)));
        }
        let next = self.next_url(location)?;
        self.hops += 1;
        self.keeps_secrets &= may_share_secrets(&self.url, &next);
        self.only_permanent &= matches!(status, 301 | 308);
        if self.only_permanent {
            self.moved_to = Some(next.clone());
        }
        self.url = next;
        Ok(true)
    }

    /// A POST goes on only where it stays a POST (307, 308); with no redirects wanted, each is an answer like another.
    fn follows(&self, status: u16) -> bool {
        let follows = match self.method {
            Method::Get => matches!(status, 301 | 302 | 303 | 307 | 308),
            Method::Post => matches!(status, 307 | 308),
        };
        follows && self.hops_max > 0
    }

    fn next_url(&self, location: &str) -> Result<Url, HttpError> {
        let next = self.url.join(location.trim());
        let mut next = next.map_err(|_| HttpError::Redirects(host_of(&self.url)))?;
        if !matches!(next.scheme(), "http" | "https") {
            return Err(HttpError::RedirectScheme(host_of(&self.url)));
        }
        // Nobody but the user names a user and a password.
        strip_secrets(&mut next);
        next.set_fragment(None);
        Ok(next)
    }
}

/// Removes user and password.
pub(crate) fn strip_secrets(url: &mut Url) {
    // Both can only fail for URLs without a host, which http and https always have.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

/// The host of a URL for people, with its port where that is not the usual one.
pub(crate) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Whether what was meant for one URL may be sent to another: the same host, and never less secure than before.
pub(crate) fn may_share_secrets(from: &Url, to: &Url) -> bool {
    let same_place = from.scheme() == to.scheme() && from.port() == to.port();
    let more_secure = from.scheme() == "http" && to.scheme() == "https" && from.port().is_none() && to.port().is_none();
    from.host() == to.host() && (same_place || more_secure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(method: Method, from: &str, hops_max: usize) -> Chain {
        Chain::new(method, Url::parse(from).unwrap(), hops_max)
    }

    #[test]
    fn f4_only_leading_permanent_redirects_move_feed() {
        for (hops, moved_to) in [
            (&[(301, "/b")][..], Some("http://e.org/b")),
            (&[(301, "/b"), (308, "//f.org/c")], Some("http://f.org/c")),
            (&[(301, "/b"), (302, "/c"), (301, "/d")], Some("http://e.org/b")),
            (&[(302, "/b"), (301, "/c")], None),
            (&[(307, "/b")], None),
            (&[(303, "/b")], None),
        ] {
            let mut chain = chain(Method::Get, "http://e.org/a", 5);
            for (status, location) in hops {
                assert!(chain.follow(*status, Some(location)).unwrap());
            }
            assert_eq!(chain.moved_to.as_ref().map(Url::as_str), moved_to, "{hops:?}");
        }
    }

    #[test]
    fn f1_a_password_stays_with_its_host() {
        for (from, to, keeps) in [
            ("http://e.org/a", "/b", true),
            ("http://e.org/a", "https://e.org/a", true),
            ("https://e.org/a", "http://e.org/a", false),
            ("http://e.org/a", "http://www.e.org/a", false),
            ("http://e.org/a", "http://e.org:8080/a", false),
            ("http://e.org:8080/a", "https://e.org/a", false),
            ("http://e.org:8080/a", "http://e.org:8080/b", true),
        ] {
            let mut chain = chain(Method::Get, from, 5);
            chain.follow(302, Some(to)).unwrap();
            assert_eq!(chain.keeps_secrets, keeps, "{from} {to}");
        }
        let mut there_and_back = chain(Method::Get, "http://e.org/", 5);
        there_and_back.follow(302, Some("http://f.org/")).unwrap();
        there_and_back.follow(302, Some("http://e.org/")).unwrap();
        assert!(!there_and_back.keeps_secrets);
    }

    #[test]
    fn u8_redirects_are_bounded_and_http_only() {
        let mut chain = chain(Method::Get, "http://e.org/a", 2);
        assert!(chain.follow(302, Some("http://u:p@e.org/b#c")).unwrap());
        assert_eq!(chain.url.as_str(), "http://e.org/b");
        for elsewhere in ["ftp://e.org/", "javascript:alert(1)", "file:///etc/passwd"] {
            let refused = chain.follow(302, Some(elsewhere));
            assert_eq!(refused, Err(HttpError::RedirectScheme("e.org".into())), "{elsewhere}");
        }
        assert_eq!(chain.follow(302, Some("http://")), Err(HttpError::Redirects("e.org".into())));
        assert!(chain.follow(302, Some("/c")).unwrap());
        assert_eq!(chain.follow(302, Some("/d")), Err(HttpError::Redirects("e.org".into())));
    }

    #[test]
    fn what_is_no_redirect_is_an_answer() {
        for (method, hops_max, status, location) in [
            (Method::Get, 5, 200, Some("/b")),
            (Method::Get, 5, 304, Some("/b")),
            (Method::Get, 5, 302, None),
            (Method::Get, 0, 302, Some("/b")),
            (Method::Post, 5, 302, Some("/b")),
        ] {
            assert_eq!(
                chain(method, "http://e.org/", hops_max).follow(status, location),
                Ok(false),
                "{method:?} {status}"
            );
        }
        assert_eq!(chain(Method::Post, "http://e.org/", 5).follow(307, Some("/b")), Ok(true));
    }
}
