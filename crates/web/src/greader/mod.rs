//! The Google Reader API, as FreshRSS, Miniflux and their clients have handed it down: a translation of what apps ask into
//! the use cases of the JSON API. Nothing is decided or stored here.
//!
//! It is served below `/api/greader.php` and `/greader` and at the root, because clients append what they please to the
//! address that they are given, some of them with two slashes. So paths are taken apart here and not by the router. It is
//! none of ours, and not in the description of the API.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `request.rs` | parameters in query and body, and who asks |
//! | `refusal.rs` | errors as these clients know them |
//! | `login.rs` | `ClientLogin`, `token`, `user-info` |
//! | `lists.rs` | subscriptions, tags, unread counts |
//! | `icons.rs` | where the icons of subscriptions are |
//! | `ids.rs`, `stream.rs` | the names of items and streams; which entries a stream means |
//! | `reading.rs`, `contents.rs` | ids and contents of streams, the latter piece by piece |
//! | `item.rs`, `atom.rs` | the shape of an item, in JSON and in Atom |
//! | `marks.rs` | `edit-tag`, `mark-all-as-read` |
//! | `subscriptions.rs`, `tags.rs` | feeds and folders, changed |

mod atom;
mod contents;
mod icons;
mod ids;
mod item;
mod lists;
mod login;
mod marks;
mod reading;
mod refusal;
mod request;
mod stream;
mod subscriptions;
mod tags;

use std::time::Duration;

use axum::{
    extract::{Request, State},
    http::Method,
    response::{IntoResponse, Response},
    routing::any,
};
use utoipa_axum::router::OpenApiRouter;

use self::{
    icons::FeedIcon,
    refusal::{Answer, Refusal},
    request::Call,
};
use crate::{auth::with_two_slashes, error::ApiError, state::AppState};

/// Where it is served.
const PATHS: [&str; 6] = [
    "/api/greader.php",
    "/api/greader.php/{*path}",
    "/greader",
    "/greader/{*path}",
    "/reader/{*path}",
    "/accounts/ClientLogin",
];

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    let paths = PATHS.into_iter().flat_map(with_two_slashes);
    paths.fold(OpenApiRouter::new(), |router, path| router.route(&path, any(serve)))
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Endpoint {
    /// The address itself, which apps try to see whether somebody is there.
    Root,
    Compatibility,
    Login,
    /// What stands below `reader/api/0`.
    Api(String),
    /// The contents of the stream that is named in the path.
    Contents(String),
    Atom(String),
    Icon(FeedIcon),
}

/// Takes a path apart: what it asks for, wherever it is served.
fn endpoint(path: &str) -> Option<Endpoint> {
    // A stream is taken as it stands: the URL in its name may have two slashes.
    for (marker, named) in
        [("stream/contents/", Endpoint::Contents as fn(String) -> Endpoint), ("reader/atom/", Endpoint::Atom)]
    {
        if let Some((before, stream)) = path.split_once(marker)
            && !stream.trim_matches('/').is_empty()
            && matches!(before.split('/').rfind(|part| !part.is_empty()), None | Some("0" | "greader.php" | "greader"))
        {
            return Some(named(request::decoded(stream.trim_start_matches('/'))));
        }
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let parts = match *parts.as_slice() {
        ["api", "greader.php", ref rest @ ..] | ["greader", ref rest @ ..] => rest,
        ref rest => rest,
    };
    match *parts {
        [] => Some(Endpoint::Root),
        ["check", "compatibility"] => Some(Endpoint::Compatibility),
        ["accounts", "ClientLogin"] => Some(Endpoint::Login),
        ["reader", "api", "0", ref call @ ..] if !call.is_empty() => Some(Endpoint::Api(call.join("/"))),
        ["icons", account, feed, signature] => FeedIcon::parse(account, feed, signature).map(Endpoint::Icon),
        _ => None,
    }
}

async fn serve(State(state): State<AppState>, request: Request) -> Response {
    let Some(endpoint) = endpoint(request.uri().path()) else { return Refusal::NotFound.into_response() };
    let answer = tokio::time::timeout(time_limit(&endpoint, &state), answer(&state, &endpoint, request)).await;
    let late = |_| Err(Refusal::from(ApiError::Unavailable("this takes too long; what it began may still complete")));
    answer.unwrap_or_else(late).unwrap_or_else(|refusal| refusal.at(&endpoint))
}

/// As long as the routes of the JSON API that do the same.
fn time_limit(endpoint: &Endpoint, state: &AppState) -> Duration {
    let fetches = ["subscription/edit", "subscription/quickadd", "subscription/import"];
    match endpoint {
        Endpoint::Api(call) if fetches.contains(&call.as_str()) => state.settings.long_timeout,
        _ => state.settings.quick_timeout,
    }
}

async fn answer(state: &AppState, endpoint: &Endpoint, request: Request) -> Answer {
    match endpoint {
        Endpoint::Root => Ok("OK".into_response()),
        Endpoint::Compatibility => Ok("PASS".into_response()),
        Endpoint::Login => login::log_in(state, request).await,
        Endpoint::Api(call) if call == "subscription/import" => subscriptions::import(state, request).await,
        Endpoint::Api(name) => {
            let (method, call) = (request.method().clone(), Call::of(state, request).await?);
            if let Some(read) = read(&call, name).await {
                return read;
            }
            change(&call, name, &method).await
        }
        Endpoint::Contents(stream) => reading::contents(&Call::of(state, request).await?, Some(stream)).await,
        Endpoint::Atom(stream) => atom::feed(&Call::of(state, request).await?, stream).await,
        Endpoint::Icon(icon) => icons::get(state, icon, request).await,
    }
}

/// Answers what only reads; `None` if this is no such call.
async fn read(call: &Call, name: &str) -> Option<Answer> {
    Some(match name {
        "token" => Ok(login::token(call)),
        "user-info" => Ok(login::user_info(call)),
        "subscription/list" => lists::subscriptions(call).await,
        "subscription/export" => subscriptions::export(call).await,
        "tag/list" => lists::tags(call).await,
        "unread-count" => lists::unread_counts(call).await,
        "stream/items/ids" => reading::ids(call).await,
        "stream/items/contents" => reading::items(call).await,
        "stream/contents" => reading::contents(call, None).await,
        // Asked by some, kept by nobody.
        "preference/list" => Ok(axum::Json(serde_json::json!({ "prefs": [] })).into_response()),
        "preference/stream/list" => Ok(axum::Json(serde_json::json!({ "streamprefs": {} })).into_response()),
        _ => return None,
    })
}

/// Changes come as `POST`, from whoever may write, and are answered `OK`, without a line end: some compare it.
async fn change(call: &Call, name: &str, method: &Method) -> Answer {
    let is_known = matches!(
        name,
        "edit-tag" | "mark-all-as-read" | "subscription/edit" | "subscription/quickadd" | "rename-tag" | "disable-tag"
    );
    if !is_known {
        return Err(Refusal::NotFound);
    }
    if method != Method::POST {
        return Err(ApiError::MethodNotAllowed.into());
    }
    call.actor.check_write()?;
    match name {
        "edit-tag" => marks::edit_tag(call).await?,
        "mark-all-as-read" => marks::mark_all_as_read(call).await?,
        "subscription/edit" => subscriptions::edit(call).await?,
        "subscription/quickadd" => return subscriptions::quickadd(call).await,
        "rename-tag" => tags::rename(call).await?,
        _ => tags::disable(call).await?,
    }
    Ok("OK".into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_paths_are_known_wherever_they_are_served() {
        let api = |call: &str| Some(Endpoint::Api(call.to_owned()));
        let contents = |stream: &str| Some(Endpoint::Contents(stream.to_owned()));
        for (path, expect) in [
            ("/accounts/ClientLogin", Some(Endpoint::Login)),
            ("/api/greader.php/accounts/ClientLogin", Some(Endpoint::Login)),
            ("/greader//accounts/ClientLogin", Some(Endpoint::Login)),
            ("/api/greader.php", Some(Endpoint::Root)),
            ("/api/greader.php/", Some(Endpoint::Root)),
            ("/api/greader.php/check/compatibility", Some(Endpoint::Compatibility)),
            ("/reader/api/0/token", api("token")),
            ("//reader/api/0/token", api("token")),
            ("/api/greader.php//reader/api/0/tag/list", api("tag/list")),
            ("//api/greader.php/reader/api/0/tag/list", api("tag/list")),
            ("/api/greader.php/reader/api/0/subscription/edit/", api("subscription/edit")),
            ("/reader/api/0/stream/contents", api("stream/contents")),
            ("/reader/api/0/stream/contents/", api("stream/contents")),
            ("/reader/api/0/stream/contents/feed%2F12", contents("feed/12")),
            ("/greader/reader/api/0/stream/contents/feed/12", contents("feed/12")),
            ("/reader/api/0/stream/contents/user/-/label/a%2Fb%20c", contents("user/-/label/a/b c")),
            ("/reader/api/0/stream/contents/feed/http://e.org//x", contents("feed/http://e.org//x")),
            ("/reader/atom/feed%2F12", Some(Endpoint::Atom("feed/12".to_owned()))),
            ("/api/greader.php/reader/atom/feed/12", Some(Endpoint::Atom("feed/12".to_owned()))),
            ("/api/greader.php/icons/1/2/AB", FeedIcon::parse("1", "2", "AB").map(Endpoint::Icon)),
            ("/api/greader.php/icons/1/x/AB", None),
            ("/reader/api/1/token", None),
            ("/reader/api/0", None),
            ("/greader/x", None),
        ] {
            assert_eq!(endpoint(path), expect, "{path}");
        }
    }
}
