//! What is open without a login, and that nothing else is.

use axum::{
    extract::Request,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use url::form_urlencoded;

use super::{
    apps::is_app_path,
    cookie,
    identify::{Way, client_of, identify, is_https},
    login,
};
use crate::{
    error::{ApiError, ApiResult},
    origin::{CALLBACK_PREFIX, names_its_page},
    state::AppState,
};

/// Paths that need no login. Callbacks are known by their tokens, and apps are let in where they ask ([`apps`](super::apps)).
const OPEN: [&str; 7] =
    ["/healthz", "/readyz", "/login", "/logout", "/robots.txt", "/favicon.ico", "/api/openapi.json"];
/// And whatever begins so: what pages are made of.
pub(crate) const ASSETS_PREFIX: &str = "/assets/";
/// For programs of whoever runs it: open to this machine, else with a token.
const METRICS: &str = "/metrics";

/// Lets through what is open, and whoever is known and may do what is asked.
pub(crate) async fn require(state: &AppState, mut request: Request, next: Next) -> Response {
    if is_open(request.method(), request.uri().path()) {
        return next.run(request).await;
    }
    let is_seen = is_page(&request);
    match admit(&mut request, state).await {
        Ok(None) => next.run(request).await,
        Ok(Some(secret)) => {
            let is_https = is_https(client_of(request.extensions(), request.headers(), state).as_ref(), state);
            let mut response = next.run(request).await;
            // A session ends when it was not used for so long: so does its cookie.
            if is_seen {
                response.headers_mut().append(header::SET_COOKIE, cookie::given(&secret, is_https));
            }
            response
        }
        Err(ApiError::Unauthorized) if is_page(&request) => to_login(request.uri()),
        Err(error) => error.into_response(),
    }
}

fn is_open(method: &Method, path: &str) -> bool {
    if path == login::SESSION_PATH {
        return method == Method::POST;
    }
    OPEN.contains(&path) || path.starts_with(ASSETS_PREFIX) || is_callback(path) || is_app_path(path)
}

fn is_callback(path: &str) -> bool {
    path.strip_prefix(CALLBACK_PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the secret of the session that a browser came by, if it did.
async fn admit(request: &mut Request, state: &AppState) -> ApiResult<Option<String>> {
    let (headers, extensions) = (request.headers(), request.extensions());
    if request.uri().path() == METRICS && client_of(extensions, headers, state).is_none_or(|client| client.is_local) {
        return Ok(None);
    }
    let identified = tokio::time::timeout(state.settings.quick_timeout, identify(extensions, headers, state)).await;
    let late = |_| ApiError::StoreUnavailable("nobody could be identified in time".to_owned());
    let (actor, way) = identified.map_err(late)??;
    if !request.method().is_safe() {
        actor.check_write()?;
        check_origin(&way, headers)?;
    }
    let secret = actor
        .session
        .and_then(|_| cookie::read(headers, is_https(client_of(extensions, headers, state).as_ref(), state)));
    let secret = secret.map(ToOwned::to_owned);
    request.extensions_mut().insert(actor);
    Ok(secret)
}

/// A browser sends its cookie also for a foreign page. Whatever comes with one and changes something has to say which page
/// it comes from; that it is ours, [`origin`](crate::origin) has checked.
fn check_origin(way: &Way, headers: &HeaderMap) -> ApiResult<()> {
    if *way != Way::Browser || names_its_page(headers) {
        return Ok(());
    }
    Err(ApiError::Forbidden("a request with a cookie that changes something must say its `Origin`"))
}

/// Whether a person is to see the answer.
fn is_page(request: &Request) -> bool {
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    request.method().is_safe() && !request.uri().path().starts_with("/api/") && accept.contains("text/html")
}

/// To the login, and back from there.
fn to_login(uri: &Uri) -> Response {
    let asked = uri.path_and_query().map_or("/", |asked| asked.as_str());
    let next: String = form_urlencoded::byte_serialize(asked.as_bytes()).collect();
    (StatusCode::SEE_OTHER, [(header::LOCATION, format!("/login?next={next}"))]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a3_open_paths_are_these_and_no_others() {
        for (method, path, expect) in [
            ("GET", "/healthz", true),
            ("GET", "/readyz", true),
            ("GET", "/login", true),
            ("POST", "/login", true),
            ("POST", "/logout", true),
            ("GET", "/assets/login.css", true),
            ("GET", "/robots.txt", true),
            ("GET", "/api/openapi.json", true),
            ("POST", "/api/websub/callback", true),
            ("POST", "/api/websub/callback/abc", true),
            ("POST", "/api/session", true),
            ("POST", "/api/greader.php/accounts/ClientLogin", true),
            ("POST", "/fever/", true),
            ("GET", "/v1/me", true),
            ("DELETE", "/api/session", false),
            ("GET", "/api/sessions", false),
            ("POST", "/api/websub/callbacks", false),
            ("GET", "/metrics", false),
            ("GET", "/", false),
            ("GET", "/healthz/", false),
            ("GET", "/assets", false),
            ("GET", "//assets/", false),
            ("GET", "/api/feeds", false),
        ] {
            assert_eq!(is_open(&method.parse().unwrap(), path), expect, "{method} {path}");
        }
    }

    #[test]
    fn a4_only_pages_are_sent_to_the_login() {
        for (method, path, accept, expect) in [
            ("GET", "/", "text/html,*/*;q=0.8", true),
            ("HEAD", "/x?y", "text/html", true),
            ("GET", "/", "*/*", false),
            ("GET", "/api/feeds", "text/html", false),
            ("POST", "/x", "text/html", false),
        ] {
            let request = Request::builder().method(method).uri(path).header("accept", accept);
            assert_eq!(is_page(&request.body(axum::body::Body::empty()).unwrap()), expect, "{method} {path} {accept}");
        }
        let location = to_login(&"/entries?feed=1&x=a%20b".parse().unwrap());
        assert_eq!(location.headers()["location"], "/login?next=%2Fentries%3Ffeed%3D1%26x%3Da%2520b");
    }

    #[test]
    fn a4_changing_requests_with_a_cookie_name_their_page() {
        for (way, header, expect) in [
            (Way::Browser, None, false),
            (Way::Browser, Some("origin"), true),
            (Way::Browser, Some("sec-fetch-site"), true),
            (Way::Token, None, true),
            (Way::Open, None, true),
        ] {
            let headers: HeaderMap = header
                .into_iter()
                .map(|name: &str| (name.parse::<header::HeaderName>().unwrap(), "same-origin".parse().unwrap()))
                .collect();
            assert_eq!(check_origin(&way, &headers).is_ok(), expect, "{way:?} {header:?}");
        }
    }
}
