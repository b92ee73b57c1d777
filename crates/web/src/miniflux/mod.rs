//! Miniflux's API (`/v1/...`), as its public reference and its clients have it: JSON in `snake_case`, errors as
//! `{"error_message": ...}`. Folders are its categories; feeds without one are in a category of their own.
//!
//! Who asks says so with each request, by `X-Auth-Token` or by a name and a password or token. Cookies do not count, so
//! pages of any site may ask: they know no more than what their user typed into them. A name and a password a browser would
//! keep and add by itself, for any page, if it were asked for them: so it is not asked, and what a page can send without
//! having asked first is refused.

mod api_keys;
mod categories;
mod entries;
mod entry_query;
mod error;
mod feeds;
mod files;
mod icons;
mod input;
mod users;
mod views;

use std::time::Duration;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{MethodRouter, any, delete, get, post, put},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};

use self::error::Refused;
use crate::{
    auth::{AppClient, AppKey, app_actor, with_two_slashes},
    error::{ApiError, ApiResult},
    middleware,
    origin::{is_foreign_form, names_its_page},
    state::AppState,
};

/// How long a browser may take the answer to a preflight for granted, in seconds.
const PREFLIGHT_SECS: &str = "3600";

/// The routes, and the time that those may take that wait for the store alone, and the others.
pub(crate) fn routes(state: &AppState) -> Router<AppState> {
    let time = |limit: Duration| from_fn_with_state(limit, middleware::time_limit);
    quick()
        .layer(time(state.settings.quick_timeout))
        .merge(long().layer(time(state.settings.long_timeout)))
        .layer(from_fn_with_state(state.clone(), authenticate))
}

fn quick() -> Router<AppState> {
    let unknown = with_two_slashes("/v1/{*path}").into_iter();
    let unknown = unknown.fold(Router::new(), |router, path| router.route(&path, any(none)));
    unknown.merge(routed([
        ("/v1/me", get(users::me)),
        ("/v1/version", get(users::version)),
        ("/v1/users", get(users::list).post(users::refuse)),
        ("/v1/users/{user}", get(users::get).put(users::update).delete(users::refuse)),
        ("/v1/users/{user}/mark-all-as-read", put(users::mark_all_read)),
        ("/v1/integrations/status", get(users::integrations)),
        ("/v1/users/integrations/status", get(users::integrations)),
        ("/v1/api-keys", get(api_keys::list).post(api_keys::create)),
        ("/v1/api-keys/{id}", delete(api_keys::delete)),
        ("/v1/categories", get(categories::list).post(categories::create)),
        ("/v1/categories/{id}", put(categories::update).delete(categories::delete)),
        ("/v1/categories/{id}/mark-all-as-read", put(categories::mark_all_read)),
        ("/v1/categories/{id}/feeds", get(categories::feeds)),
        ("/v1/categories/{id}/refresh", put(categories::refresh)),
        ("/v1/categories/{id}/entries", get(entries::of_category)),
        ("/v1/categories/{id}/entries/{entry}", get(entries::one_of_category)),
        ("/v1/feeds/counters", get(feeds::counters)),
        ("/v1/feeds/refresh", put(feeds::refresh_all)),
        ("/v1/feeds/{id}", get(feeds::get).put(feeds::update).delete(feeds::delete)),
        ("/v1/feeds/{id}/icon", get(icons::of_feed)),
        ("/v1/feeds/{id}/mark-all-as-read", put(feeds::mark_all_read)),
        ("/v1/feeds/{id}/entries", get(entries::of_feed)),
        ("/v1/feeds/{id}/entries/{entry}", get(entries::one_of_feed)),
        ("/v1/icons/{id}", get(icons::get)),
        ("/v1/entries", get(entries::list).put(entries::update_status)),
        ("/v1/entries/{id}", get(entries::get).put(entries::update)),
        ("/v1/entries/{id}/bookmark", put(entries::toggle_star)),
        ("/v1/entries/{id}/star", put(entries::toggle_star)),
        ("/v1/entries/{id}/fetch-content", get(entries::content)),
        ("/v1/entries/{id}/save", post(entries::save)),
        ("/v1/enclosures/{id}", get(entries::enclosure_get).put(entries::update_enclosure)),
        ("/v1/flush-history", put(entries::flush_history).delete(entries::flush_history)),
        ("/v1/export", get(files::export)),
    ]))
}

/// Routes that fetch feeds, or take in many; and what stands at the same path.
fn long() -> Router<AppState> {
    routed([
        ("/v1/feeds", get(feeds::list).post(feeds::create)),
        ("/v1/feeds/{id}/refresh", put(feeds::refresh)),
        ("/v1/discover", post(feeds::discover)),
        ("/v1/import", post(files::import)),
    ])
}

/// Each with an answer of this API's to methods that it has not.
fn routed<const N: usize>(routes: [(&str, MethodRouter<AppState>); N]) -> Router<AppState> {
    let paths = |(path, route): (_, MethodRouter<AppState>)| {
        with_two_slashes(path).map(|path| (path, route.clone().fallback(no_method)))
    };
    routes.into_iter().flat_map(paths).fold(Router::new(), |router, (path, route)| router.route(&path, route))
}

async fn no_method() -> Refused {
    Refused(ApiError::MethodNotAllowed)
}

/// What there is not here is said as everything else is, to web pages too.
async fn none() -> Refused {
    Refused::none()
}

/// Lets in whoever says who they are; tells browsers that they may ask.
async fn authenticate(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let is_browser = is_browser(request.headers());
    let mut answer = if request.method() == Method::OPTIONS {
        preflight()
    } else {
        match admit(&state, request).await {
            Ok(request) => next.run(request).await,
            Err(error) => Refused(error).into_response(),
        }
    };
    answer.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    if is_browser {
        // It would ask for a name and a password, and keep them.
        answer.headers_mut().remove(header::WWW_AUTHENTICATE);
    }
    answer
}

fn is_browser(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    names_its_page(headers) || accept.contains("text/html")
}

/// What a browser asks before it lets a page ask.
fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE, OPTIONS"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "X-Auth-Token, Authorization, Content-Type, Accept"),
        (header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECS),
    ];
    (StatusCode::OK, headers).into_response()
}

async fn admit(state: &AppState, request: Request) -> ApiResult<Request> {
    let (mut parts, body) = request.into_parts();
    let from = <AppClient as axum::extract::FromRequestParts<AppState>>::from_request_parts(&mut parts, state).await?;
    let actor = match Credentials::of(&parts.headers) {
        Some(Credentials::Token(token)) => app_actor(state, &from, AppKey::Token(&token)).await?,
        Some(Credentials::Named { name, secret }) => {
            if is_foreign_form(&parts.method, &parts.uri, &parts.headers, &state.settings) {
                return Err(ApiError::Forbidden(
                    "web pages of other sites may send JSON alone with a name and a password",
                ));
            }
            app_actor(state, &from, AppKey::Named { name: &name, secret: &secret }).await?
        }
        None => return Err(ApiError::Unauthorized),
    };
    if !parts.method.is_safe() {
        actor.check_write()?;
    }
    parts.extensions.insert(actor);
    Ok(Request::from_parts(parts, body))
}

/// What a client says who it is by.
#[derive(Debug, PartialEq, Eq)]
enum Credentials {
    Token(String),
    Named { name: String, secret: String },
}

impl Credentials {
    /// A token counts before a name.
    fn of(headers: &HeaderMap) -> Option<Self> {
        if let Some(token) = headers.get("x-auth-token") {
            return Some(Self::Token(token.to_str().ok()?.trim().to_owned()));
        }
        let (way, encoded) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        if way.eq_ignore_ascii_case("bearer") {
            return Some(Self::Token(encoded.trim().to_owned()));
        }
        let decoded = STANDARD.decode(encoded.trim()).ok().filter(|_| way.eq_ignore_ascii_case("basic"))?;
        // Python's clients write it in Latin-1, whose characters are the first 256.
        let text = String::from_utf8(decoded)
            .unwrap_or_else(|error| error.as_bytes().iter().map(|byte| char::from(*byte)).collect());
        let (name, secret) = text.split_once(':').filter(|(name, secret)| !name.is_empty() && !secret.is_empty())?;
        Some(Self::Named { name: name.to_owned(), secret: secret.to_owned() })
    }
}

fn no_content() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_clients_come_with_a_token_or_a_name() {
        let token = |token: &str| Some(Credentials::Token(token.to_owned()));
        let named =
            |name: &str, secret: &str| Some(Credentials::Named { name: name.to_owned(), secret: secret.to_owned() });
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        for (headers, expect) in [
            (vec![], None),
            (vec![("x-auth-token", "pir_x".to_owned())], token("pir_x")),
            (vec![("x-auth-token", "pir_x".to_owned()), ("authorization", basic("ann:x"))], token("pir_x")),
            (vec![("authorization", "Bearer pir_x".to_owned())], token("pir_x")),
            (vec![("authorization", basic("ann:x"))], named("ann", "x")),
            (vec![("authorization", basic("ann:x:y é"))], named("ann", "x:y é")),
            (vec![("authorization", format!("Basic {}", STANDARD.encode(b"Ren\xe9:\xfc")))], named("René", "ü")),
            (vec![("authorization", basic("ann"))], None),
            (vec![("authorization", basic(":x"))], None),
            (vec![("authorization", basic("ann:"))], None),
            (vec![("authorization", "Basic ???".to_owned())], None),
            (vec![("authorization", "Digest x".to_owned())], None),
            (vec![("cookie", "session=x".to_owned())], None),
        ] {
            let map: HeaderMap = headers
                .iter()
                .map(|(name, value)| (name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap()))
                .collect();
            assert_eq!(Credentials::of(&map), expect, "{headers:?}");
        }
    }
}
