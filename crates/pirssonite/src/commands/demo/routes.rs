//! What the demo serves beside the server: the control page, the publisher's feeds and pages, the hub and the receiver. All
//! on one address of loopback, for this machine alone.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use super::{
    documents::HUB_PATH,
    hub::Hub,
    pictures,
    publisher::{Document, Publisher},
    receiver::Receiver,
    sounds,
};
use crate::wiring;

/// Where webhooks are sent.
pub(super) const WEBHOOK_PATH: &str = "/webhook";

/// Bytes of a request.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Characters of the name of a picture or a sound.
const NAME_CHARS_MAX: usize = 40;

/// What the pages may load: from here, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const PAGE: &str = include_str!("page/demo.html");
const STYLE: &str = include_str!("page/demo.css");
const SCRIPT: &str = include_str!("page/demo.js");

/// All that is served.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) address: SocketAddr,
    /// Without a slash at the end.
    pub(super) base_url: String,
    /// The server's, the same.
    pub(super) server_url: String,
    pub(super) every: Duration,
    pub(super) publisher: Publisher,
    pub(super) hub: Arc<Hub>,
    pub(super) receiver: Receiver,
}

impl Stage {
    /// Publishes the next post, and has the hub push it.
    pub(super) fn publish(&self) {
        let published = self.publisher.publish(wiring::now());
        if published.has_hub
            && let Some(document) = self.publisher.document(&published.topic)
        {
            self.hub.distribute(&published.topic, &document);
        }
    }
}

type Shared = State<Arc<Stage>>;

pub(super) fn router(stage: Arc<Stage>) -> Router {
    Router::new()
        .route("/", get(async || page(PAGE)))
        .route("/demo.css", get(async || asset("text/css; charset=utf-8", STYLE)))
        .route("/demo.js", get(async || asset("text/javascript; charset=utf-8", SCRIPT)))
        .route("/state", get(state))
        .route("/control/{action}", post(control))
        .route(HUB_PATH, post(ask_hub))
        .route(WEBHOOK_PATH, post(receive))
        .route("/pictures/{name}", get(picture))
        .route("/sounds/{name}", get(sound))
        .route("/icons/{name}", get(icon))
        .route("/{feed}/", get(site))
        .route("/{feed}/{file}", get(feed))
        .route("/{feed}/posts/{number}", get(post_page))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn_with_state(Arc::clone(&stage), guard))
        .with_state(stage)
}

async fn guard(State(stage): Shared, request: Request, next: Next) -> Response {
    if let Some(refusal) = refusal(stage.address, request.method(), request.headers()) {
        return refusal.into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Lets nobody in but this machine, and no foreign web page change anything: neither under a name of its own that leads
/// here, nor by a form.
fn refusal(address: SocketAddr, method: &Method, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let ours = [address.to_string(), format!("localhost:{}", address.port())];
    if !text(header::HOST).is_some_and(|host| ours.iter().any(|ours| ours == host)) {
        return Some((StatusCode::MISDIRECTED_REQUEST, "this is the demo of piRSSonite"));
    }
    let is_ours = |origin: &str| ours.iter().any(|ours| origin.strip_prefix("http://") == Some(ours));
    let is_foreign = method == Method::POST && text(header::ORIGIN).is_some_and(|origin| !is_ours(origin));
    is_foreign.then_some((StatusCode::FORBIDDEN, "pages of other sites may not change anything here"))
}

fn page(html: &'static str) -> Response {
    Html(html).into_response()
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text).into_response()
}

/// All that the control page shows.
async fn state(State(stage): Shared) -> Json<Value> {
    Json(json!({
        "serverUrl": stage.server_url,
        "everySeconds": stage.every.as_secs_f64(),
        "now": wiring::now(),
        "isHubSilent": stage.hub.is_silent(),
        "isReceiverRefusing": stage.receiver.is_refusing(),
        "isPressBroken": stage.publisher.is_press_broken(),
        "published": stage.publisher.published(),
        "subscriptions": stage.hub.held(),
        "receipts": stage.receiver.receipts(),
    }))
}

/// A button of the control page. It leads back there, for browsers without scripts.
async fn control(State(stage): Shared, Path(action): Path<String>) -> Response {
    match action.as_str() {
        "publish" => stage.publish(),
        "silence-hub" => stage.hub.set_silent(true),
        "wake-hub" => stage.hub.set_silent(false),
        "refuse" => stage.receiver.set_refusing(true),
        "accept" => stage.receiver.set_refusing(false),
        "break-press" => stage.publisher.set_press_broken(true),
        "repair-press" => stage.publisher.set_press_broken(false),
        _ => return not_found(),
    }
    (StatusCode::SEE_OTHER, [(header::LOCATION, "/")]).into_response()
}

async fn ask_hub(State(stage): Shared, body: Bytes) -> Response {
    stage.hub.ask(&body, |topic| stage.publisher.document(topic).is_some()).into_response()
}

async fn receive(State(stage): Shared, headers: HeaderMap, body: Bytes) -> StatusCode {
    stage.receiver.receive(&headers, &body, wiring::now())
}

async fn picture(Path(name): Path<String>) -> Response {
    match name.strip_suffix(".svg").filter(|name| name.len() <= NAME_CHARS_MAX) {
        Some(name) => ([(header::CONTENT_TYPE, "image/svg+xml")], pictures::svg(name)).into_response(),
        None => not_found(),
    }
}

async fn icon(Path(name): Path<String>) -> Response {
    match name.strip_suffix(".ico").filter(|name| name.len() <= NAME_CHARS_MAX) {
        Some(name) => ([(header::CONTENT_TYPE, "image/x-icon")], pictures::ico(name)).into_response(),
        None => not_found(),
    }
}

async fn sound(Path(name): Path<String>) -> Response {
    match name.strip_suffix(".wav").filter(|name| !name.is_empty() && name.len() <= NAME_CHARS_MAX) {
        Some(name) => ([(header::CONTENT_TYPE, "audio/wav")], sounds::wav(name)).into_response(),
        None => not_found(),
    }
}

async fn site(State(stage): Shared, Path(name): Path<String>, headers: HeaderMap) -> Response {
    let url = format!("{}/{name}/", stage.base_url);
    // Where the page is the feed, it names its hub in the headers.
    let links = format!("<{}{HUB_PATH}>; rel=\"hub\", <{url}>; rel=\"self\"", stage.base_url);
    let is_feed = stage.publisher.document(&url).is_some();
    match stage.publisher.site(&name) {
        Some(site) if is_feed => ([(header::LINK, links)], serve(site, &headers)).into_response(),
        Some(site) => serve(site, &headers),
        None => not_found(),
    }
}

async fn feed(State(stage): Shared, Path((name, file)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let url = format!("{}/{name}/{file}", stage.base_url);
    if stage.publisher.is_broken(&url) {
        return (StatusCode::SERVICE_UNAVAILABLE, "the press is being repaired").into_response();
    }
    stage.publisher.document(&url).map_or_else(not_found, |document| serve(document, &headers))
}

async fn post_page(State(stage): Shared, Path((name, number)): Path<(String, u32)>, headers: HeaderMap) -> Response {
    stage.publisher.post(&name, number).map_or_else(not_found, |document| serve(document, &headers))
}

fn serve(document: Document, headers: &HeaderMap) -> Response {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known == Some(document.etag.as_str()) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, document.etag)]).into_response();
    }
    let headers = [(header::CONTENT_TYPE, document.content_type.to_owned()), (header::ETAG, document.etag)];
    (headers, document.body).into_response()
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "there is nothing here").into_response()
}
