//! The address of a feed or page as people type it: `example.org` is one, without a scheme.

use crate::feed_state::{BadAddress, FeedAddress};

/// What is asked when no scheme was typed, in this order.
const SCHEMES: [&str; 2] = ["https", "http"];

/// The addresses that a person may mean, the first to try first. Whoever typed a scheme means one.
pub fn typed_address(text: &str) -> Result<Vec<FeedAddress>, BadAddress> {
    let text = text.trim();
    let Some(rest) = without_scheme(text) else {
        return FeedAddress::parse(text).map(|address| vec![address]).map_err(|error| expected(error, text));
    };
    SCHEMES.iter().map(|scheme| FeedAddress::parse(&format!("{scheme}://{rest}"))).collect()
}

/// Whoever typed no scheme need not type one: they are told what is taken.
fn expected(error: BadAddress, text: &str) -> BadAddress {
    match error {
        BadAddress::NotAUrl(_) if !text.contains(':') => {
            BadAddress::NotAUrl("expected an address such as example.org or https://example.org/feed".to_owned())
        }
        error => error,
    }
}

/// What follows `https://` if the text is an address whose scheme was left out: a host that could be a public one, an IP
/// address or `localhost`, perhaps a port, perhaps a path. A user and password need their scheme: they are not sent to
/// whatever answers.
fn without_scheme(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("//").unwrap_or(text);
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let host = match authority.rsplit_once(':') {
        // `mailto:x`, `javascript:x` and the like are other schemes; in `[::1]` the colon belongs to the host.
        Some((host, port)) if !port.ends_with(']') => port.bytes().all(|byte| byte.is_ascii_digit()).then_some(host)?,
        _ => authority,
    };
    let is_name = host.split('.').count() > 1 && host.split('.').next().is_some_and(|label| !label.is_empty());
    let is_host = is_name || host.eq_ignore_ascii_case("localhost") || host.starts_with('[') && host.ends_with(']');
    (is_host && !authority.contains(['@', ' ', '\\'])).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_an_address_without_a_scheme_is_https_and_then_http() {
        for (typed, expect) in [
            ("example.org", "example.org/"),
            (" Example.org/blog?a=b#c ", "example.org/blog?a=b"),
            ("//example.org/feed", "example.org/feed"),
            ("example.org:8080/feed", "example.org:8080/feed"),
            ("münchen.example/a:b@c", "xn--mnchen-3ya.example/a:b@c"),
            ("localhost:3000", "localhost:3000/"),
            ("127.0.0.1:8000/rss", "127.0.0.1:8000/rss"),
            ("[::1]:8000/rss", "[::1]:8000/rss"),
            ("[::1]", "[::1]/"),
            ("example.org.", "example.org./"),
        ] {
            let urls: Vec<String> = typed_address(typed).unwrap().into_iter().map(|address| address.url).collect();
            assert_eq!(urls, [format!("https://{expect}"), format!("http://{expect}")], "{typed}");
        }
    }

    #[test]
    fn f1_a_scheme_that_was_typed_is_meant() {
        for (typed, expect) in [
            ("http://example.org", "http://example.org/"),
            ("HTTPS://example.org/", "https://example.org/"),
            ("feed:example.org/f", ""),
            ("feed://example.org/f", "http://example.org/f"),
            ("https://u:p@example.org/", "https://example.org/"),
        ] {
            let urls = typed_address(typed).map(|all| all.into_iter().map(|address| address.url).collect::<Vec<_>>());
            let expect = if expect.is_empty() { None } else { Some(vec![expect.to_owned()]) };
            assert_eq!(urls.ok(), expect, "{typed}");
        }
    }

    #[test]
    fn f1_what_is_no_address_stays_none() {
        for bad in [
            "",
            "news",
            "mailto:me@example.org",
            "me@example.org",
            "u:p@example.org",
            "javascript:alert(1)",
            "tel:123",
            "data:text/html,x.y",
            "ftp://example.org/",
            "./feed.xml",
            "../feed.xml",
            "/etc/feed.xml",
            "a b.org",
            "example.org:99999",
            "http://",
        ] {
            assert!(typed_address(bad).is_err(), "{bad}");
        }
        let told = |typed| typed_address(typed).unwrap_err().to_string();
        assert_eq!(told("news"), "not a URL: expected an address such as example.org or https://example.org/feed");
        assert_eq!(told("ftp://example.org/"), "only http and https feeds can be read, not ftp");
        assert_eq!(told("http://"), "not a URL: it names no host");
    }
}
