//! The cookie of a session.

use axum::http::{HeaderMap, HeaderValue, header};
use domain::account::SESSION_LIFETIME;

const NAME: &str = "pirssonite-session";
/// Under this name browsers take and send it by https alone, and no other host can set it.
const NAME_HTTPS: &str = "__Host-pirssonite-session";

fn name(is_https: bool) -> &'static str {
    if is_https { NAME_HTTPS } else { NAME }
}

/// The secret in the cookie, if there is one.
pub(super) fn read(headers: &HeaderMap, is_https: bool) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(given, _)| *given == name(is_https)).map(|(_, secret)| secret)
}

/// The header that gives a browser its session.
pub(crate) fn given(secret: &str, is_https: bool) -> HeaderValue {
    header_value(secret, SESSION_LIFETIME.as_secs(), is_https)
}

/// The header that takes it away.
pub(crate) fn taken(is_https: bool) -> HeaderValue {
    header_value("", 0, is_https)
}

fn header_value(secret: &str, max_age: u64, is_https: bool) -> HeaderValue {
    let secure = if is_https { "; Secure" } else { "" };
    let name = name(is_https);
    let text = format!("{name}={secret}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a4_cookie_is_http_only_and_bound_to_https() {
        assert_eq!(given("abc", false), "pirssonite-session=abc; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax");
        assert_eq!(
            given("abc", true),
            "__Host-pirssonite-session=abc; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure"
        );
        assert!(taken(true).to_str().unwrap().contains("=; Path=/; Max-Age=0;"));
    }

    #[test]
    fn a4_cookie_is_read_by_its_name() {
        for (cookies, is_https, expect) in [
            (&["pirssonite-session=abc"][..], false, Some("abc")),
            (&["a=b; pirssonite-session=abc; c=d"], false, Some("abc")),
            (&["a=b", "pirssonite-session=abc"], false, Some("abc")),
            (&["pirssonite-session=abc"], true, None),
            (&["__Host-pirssonite-session=abc"], true, Some("abc")),
            (&["__Host-pirssonite-session=abc"], false, None),
            (&["xpirssonite-session=abc; pirssonite-session"], false, None),
            (&[], false, None),
        ] {
            let headers: HeaderMap = cookies.iter().map(|value| (header::COOKIE, value.parse().unwrap())).collect();
            assert_eq!(read(&headers, is_https), expect, "{cookies:?}");
        }
    }
}
