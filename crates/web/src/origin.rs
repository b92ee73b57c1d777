//! Where a request may come from. The browser of whoever is logged in, or sits at this machine, is the way in for any page
//! on the web; two checks close it.
//!
//! - The host: only an address, `localhost` and the host of the base URL. A web page can have its own name resolve to
//!   this machine, and then talk to us as if it were ours (DNS rebinding); it cannot make its name one of these.
//! - The origin: a request that changes something and comes from a web page must come from one of ours. Programs that
//!   are no browsers send neither `Origin` nor `Sec-Fetch-Site`, and pass, unless they come with a cookie
//!   ([`auth`](crate::auth)). The interfaces of other readers, some of whose apps are web pages, know no cookie; what a
//!   browser may add by itself all the same, a name and a password, one of them looks at
//!   ([`miniflux`](crate::miniflux)).
//!
//! Hubs call back under any name and without either header. Probes are asked under any name too: balancers and
//! orchestrators use that of a node, and what they are told is no secret.
//!
//! What polls, asks hubs or delivers, here or on another node, is refused by its name: the address that it was given may
//! be ours in a way that it cannot see, such as a port that is mapped.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use url::Url;

use crate::{
    auth::is_app_path,
    error::{ApiError, ApiResult},
    extract::content_type,
    state::WebSettings,
};

/// What people and programs ask begins so.
const API_PREFIX: &str = "/api/";

/// Paths that begin so are called by hubs.
pub(crate) const CALLBACK_PREFIX: &str = "/api/websub/callback";

/// What balancers and orchestrators ask, by whatever name they have for a node.
pub(crate) const PROBES: [&str; 2] = ["/healthz", "/readyz"];

/// Whether people and programs ask here, also those of other readers' interfaces; the rest are pages and probes.
fn is_api(path: &str) -> bool {
    path.starts_with(API_PREFIX) || is_app_path(path)
}

/// Refuses what is not addressed to us, and what a foreign web page asks for.
pub(crate) fn check(method: &Method, uri: &Uri, headers: &HeaderMap, settings: &WebSettings) -> ApiResult<()> {
    if uri.path().starts_with(CALLBACK_PREFIX) || (method.is_safe() && PROBES.contains(&uri.path())) {
        return Ok(());
    }
    // Pages hold nothing for it, but their forms change something, and some of them whatever is sent.
    if (is_api(uri.path()) || !method.is_safe()) && is_our_client(headers) {
        return Err(ApiError::Forbidden("this server does not serve its own requests for feeds, hubs and webhooks"));
    }
    let host = addressed_host(uri, headers)?;
    if let Some(host) = &host
        && !is_our_host(host, settings.base_url.as_ref())
    {
        return Err(ApiError::Misdirected(host.clone()));
    }
    // Apps come with a key of their own at each request.
    if method.is_safe()
        || is_app_path(uri.path())
        || is_our_origin(host.as_deref(), headers, settings.base_url.as_ref())
    {
        return Ok(());
    }
    Err(ApiError::Forbidden("web pages of other sites may not change anything here"))
}

/// Whether a page of another site sends this without having asked whether it may: as a form, or as a script can send what
/// a form could. A browser adds the name and the password that it knows for this server.
pub(crate) fn is_foreign_form(method: &Method, uri: &Uri, headers: &HeaderMap, settings: &WebSettings) -> bool {
    const OF_FORMS: [&str; 3] = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
    let host = addressed_host(uri, headers).ok().flatten();
    *method == Method::POST
        && content_type(headers).is_none_or(|kind| OF_FORMS.contains(&kind.as_str()))
        && !is_our_origin(host.as_deref(), headers, settings.base_url.as_ref())
}

/// Whether a request is one that a server of ours sends to strangers.
fn is_our_client(headers: &HeaderMap) -> bool {
    let user_agent = headers.get(header::USER_AGENT).map(HeaderValue::as_bytes);
    user_agent.is_some_and(|user_agent| user_agent.starts_with(engine::http::PRODUCT.as_bytes()))
}

/// The host and port that a request is addressed to, in lower case. HTTP/1.0 may have none, and browsers do not speak
/// that.
fn addressed_host(uri: &Uri, headers: &HeaderMap) -> ApiResult<Option<String>> {
    if let Some(authority) = uri.authority() {
        return Ok(Some(authority.as_str().to_ascii_lowercase()));
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(ApiError::field("Host", "given more than once"));
    }
    match host.map(|host| host.to_str()) {
        None => Ok(None),
        Some(Ok(host)) => Ok(Some(host.trim().to_ascii_lowercase())),
        Some(Err(_)) => Err(ApiError::field("Host", "not a host")),
    }
}

fn is_our_host(host: &str, base_url: Option<&Url>) -> bool {
    let name = without_port(host);
    is_address(name)
        || name == "localhost"
        || name.ends_with(".localhost")
        || base_url.and_then(Url::host_str) == Some(name)
}

fn without_port(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        // The last colon of `[::1]` is none before a port.
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    };
    name.strip_suffix('.').unwrap_or(name)
}

fn is_address(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.parse::<IpAddr>().is_ok()
}

fn is_our_origin(host: Option<&str>, headers: &HeaderMap, base_url: Option<&Url>) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return !matches!(fetch_site(headers), Some("cross-site" | "same-site"));
    };
    let Ok(origin) = origin.to_str() else { return false };
    let origin = origin.to_ascii_lowercase();
    if base_url.is_some_and(|base| base.origin().ascii_serialization() == origin) {
        return true;
    }
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some() && authority == host && fetch_site(headers) != Some("cross-site")
}

/// Where this server is reached: as it was told, or as whoever asks has reached it.
pub(crate) fn own_address(settings: &WebSettings, headers: &HeaderMap, is_https: bool) -> String {
    if let Some(base) = &settings.base_url {
        return base.as_str().trim_end_matches('/').to_owned();
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("{}://{host}", if is_https { "https" } else { "http" })
}

/// Whether a browser says which page a request comes from. Those that do not know how are too old to be trusted with a
/// cookie.
pub(crate) fn names_its_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || fetch_site(headers).is_some()
}

fn fetch_site(headers: &HeaderMap) -> Option<&str> {
    headers.get("sec-fetch-site").and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue, StatusCode};
    use axum::response::IntoResponse;

    use super::*;

    fn status(method: &Method, path: &str, headers: &[(&str, &str)], settings: &WebSettings) -> u16 {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap()))
            .collect();
        match check(method, &path.parse().unwrap(), &headers, settings) {
            Ok(()) => StatusCode::OK.as_u16(),
            Err(error) => error.into_response().status().as_u16(),
        }
    }

    #[test]
    fn u7_only_own_host_names_are_answered() {
        let known =
            WebSettings { base_url: Some("https://reader.example/x".parse().unwrap()), ..WebSettings::default() };
        for (host, expected) in [
            ("127.0.0.1:3000", 200),
            ("192.168.1.7", 200),
            ("[::1]:3000", 200),
            ("[::1]", 200),
            ("LOCALHOST:3000", 200),
            ("localhost.", 200),
            ("app.localhost:1", 200),
            ("reader.example", 200),
            ("Reader.example.:3000", 200),
            ("nas:3000", 421),
            ("evil.example:3000", 421),
            ("reader.example.evil.example", 421),
            ("notlocalhost", 421),
            ("127.0.0.1.evil.example", 421),
            ("", 421),
        ] {
            assert_eq!(status(&Method::GET, "/api/feeds", &[("host", host)], &known), expected, "{host}");
        }
        assert_eq!(status(&Method::GET, "/", &[], &known), 200);
        assert_eq!(status(&Method::GET, "/", &[("host", "localhost"), ("host", "localhost")], &known), 400);
        assert_eq!(status(&Method::GET, "http://evil.example/", &[("host", "localhost")], &known), 421);
        assert_eq!(status(&Method::POST, "/api/websub/callback/x", &[("host", "evil.example")], &known), 200);
        for (path, expected) in [("/healthz", 200), ("/readyz", 200), ("/metrics", 421), ("/healthz/x", 421)] {
            assert_eq!(status(&Method::GET, path, &[("host", "node-1:3000")], &known), expected, "{path}");
        }
    }

    #[test]
    fn u7_foreign_origins_change_nothing() {
        let settings =
            WebSettings { base_url: Some("https://reader.example/".parse().unwrap()), ..WebSettings::default() };
        let own: (&str, &str) = ("host", "localhost:3000");
        for (headers, expected) in [
            (vec![own], 200),
            (vec![own, ("origin", "http://localhost:3000")], 200),
            (vec![own, ("origin", "http://localhost:3000"), ("sec-fetch-site", "same-origin")], 200),
            (vec![own, ("sec-fetch-site", "none")], 200),
            (vec![own, ("origin", "https://reader.example"), ("sec-fetch-site", "cross-site")], 200),
            (vec![own, ("origin", "http://localhost:8080")], 403),
            (vec![own, ("origin", "http://localhost:3000"), ("sec-fetch-site", "cross-site")], 403),
            (vec![own, ("origin", "https://evil.example")], 403),
            (vec![own, ("origin", "http://reader.example")], 403),
            (vec![own, ("origin", "null")], 403),
            (vec![own, ("sec-fetch-site", "cross-site")], 403),
            (vec![own, ("sec-fetch-site", "same-site")], 403),
            (vec![("origin", "null")], 403),
        ] {
            assert_eq!(status(&Method::POST, "/api/refresh", &headers, &settings), expected, "{headers:?}");
            assert_eq!(status(&Method::POST, "/v1/feeds", &headers, &settings), 200, "{headers:?}");
            assert_eq!(status(&Method::GET, "/api/feeds", &headers, &settings), 200, "{headers:?}");
        }
    }

    #[test]
    fn a4_foreign_forms_are_told_from_what_a_page_has_to_ask_for() {
        let own = ("origin", "http://localhost:3000");
        let foreign = ("origin", "https://evil.example");
        for (method, headers, expect) in [
            ("POST", vec![foreign], true),
            ("POST", vec![foreign, ("content-type", "text/plain;charset=UTF-8")], true),
            ("POST", vec![foreign, ("content-type", "Multipart/Form-Data; boundary=x")], true),
            ("POST", vec![("sec-fetch-site", "cross-site")], true),
            ("POST", vec![("origin", "null")], true),
            ("POST", vec![foreign, ("content-type", "application/json")], false),
            ("PUT", vec![foreign], false),
            ("DELETE", vec![foreign], false),
            ("POST", vec![own], false),
            ("POST", vec![], false),
        ] {
            let named = |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
            let headers: HeaderMap = headers.iter().chain([&("host", "localhost:3000")]).map(named).collect();
            let (method, uri) = (method.parse().unwrap(), "/v1/feeds".parse().unwrap());
            let is_one = is_foreign_form(&method, &uri, &headers, &WebSettings::default());
            assert_eq!(is_one, expect, "{method} {headers:?}");
        }
    }
}
