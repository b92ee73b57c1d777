//! What every request passes on its way to its route and back.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use engine::TimeLeft;
use futures_util::FutureExt;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use crate::{
    auth::{self, ASSETS_PREFIX},
    error::{ApiError, ApiResult, FailureReason},
    metrics,
    origin::{self, CALLBACK_PREFIX, PROBES},
    pages,
    query::Parameters,
    state::AppState,
};

/// The header that carries a request's id, in and out.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Bytes of an id that a client gives; a longer one is replaced.
const REQUEST_ID_BYTES_MAX: usize = 128;
/// How long a call of a hub waits for its place, and for its turn to be read, at most.
const TURN_WAIT_MAX: Duration = Duration::from_secs(4);
/// So much of its time is left for the store when it has waited for these.
const STORE_TIME_MIN: Duration = Duration::from_millis(500);
/// What stands for the path of requests to none of ours.
const NO_ROUTE: &str = "unmatched";
/// In the log, the status of a request whose client went away before the answer.
const CLIENT_GONE: u16 = 499;

/// Headers that every answer has, unless its route says otherwise.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // With `no-referrer` browsers would not say either that a form is from a page of ours: its origin would be `null`.
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// Gives a request its id, and its answer the headers that every one has; logs and counts it when it ends. Between the two
/// it is let in or refused, and a panic of its route becomes an answer.
///
/// Every layer copies all layers below it for each request, so what can be one layer is one.
pub(crate) async fn observe(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let id = request_id(&request, &state);
    let mut log = RequestLog::begin(&request, &id);
    let mut response = answer(&state, request, next).instrument(log.span.clone()).await;
    log.status = response.status().as_u16();
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// Inside the request's span, so that what is logged of a failure says which it was.
async fn answer(state: &AppState, request: Request, next: Next) -> Response {
    let response = match AssertUnwindSafe(admit(state, request, next)).catch_unwind().await {
        Ok(response) => response.unwrap_or_else(ApiError::into_response),
        Err(panic) => panicked(panic),
    };
    if let Some(FailureReason(reason)) = response.extensions().get() {
        log_failure(state, response.status(), reason);
    }
    response
}

fn log_failure(state: &AppState, status: StatusCode, reason: &str) {
    if status != StatusCode::SERVICE_UNAVAILABLE {
        tracing::error!(reason, "request failed");
        return;
    }
    // Whoever is refused asks again, and so do a thousand others.
    if let Some(not_logged) = state.store_unavailable_log.pass() {
        tracing::warn!(reason, not_logged, "store unavailable");
    }
}

/// The client's id for the request if it is fit for a log, else one of ours.
fn request_id(request: &Request, state: &AppState) -> HeaderValue {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let is_fit = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        !bytes.is_empty() && bytes.len() <= REQUEST_ID_BYTES_MAX && bytes.iter().all(u8::is_ascii_graphic)
    };
    if let Some(given) = request.headers().get(REQUEST_ID).filter(is_fit) {
        return given.clone();
    }
    let id = format!("{}-{}", state.request_prefix, COUNT.fetch_add(1, Ordering::Relaxed));
    HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("none"))
}

/// A request under way. It is logged and counted when this is dropped, so also when its client goes away.
struct RequestLog {
    method: &'static str,
    path: String,
    begun: Instant,
    status: u16,
    span: Span,
}

impl RequestLog {
    fn begin(request: &Request, id: &HeaderValue) -> Self {
        let method = metrics::method_label(request.method());
        let path = request.extensions().get::<MatchedPath>().map_or(NO_ROUTE, MatchedPath::as_str).to_owned();
        let id = id.to_str().unwrap_or_default();
        let span = tracing::info_span!("request", id, method, path);
        Self { method, path, begun: Instant::now(), status: CLIENT_GONE, span }
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        let duration = self.begun.elapsed();
        metrics::count(self.method, &self.path, self.status, duration);
        let _entered = self.span.enter();
        let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        // A page asks ten times for what a person does once, and probes ask every few seconds: what is worth a line by
        // itself is logged where it happens.
        tracing::debug!(status = self.status, milliseconds, "request answered");
    }
}

/// The answer to a request whose route panicked.
#[expect(clippy::needless_pass_by_value, reason = "a panic is handed over")]
fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text =
        panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
    ApiError::Internal(format!("panicked: {}", text.unwrap_or_default())).into_response()
}

/// Refuses what is not addressed to us, and what a foreign web page asks for; answers so many of the other requests at once
/// and no more, pages too: there are more connections than all of them take, so that hubs and probes always get one. Hubs
/// have places of their own, which neither users nor strangers take, and wait for one: a hub that was asked to renew
/// thousands of subscriptions verifies them faster than they can be stored, and few ask twice. What they have waited is not
/// left for the store.
async fn admit(state: &AppState, mut request: Request, next: Next) -> ApiResult<Response> {
    origin::check(request.method(), request.uri(), request.headers(), &state.settings)?;
    let (path, mut time) = (request.uri().path(), state.engine.time_for_hub());
    let callback = path.strip_prefix(CALLBACK_PREFIX);
    let is_callback = callback.is_some();
    let permit = match callback {
        Some("" | "/") => state.tokenless.try_acquire().ok(),
        Some(_) => wait_for_turn(&mut time, state.callbacks.acquire()).await.and_then(Result::ok),
        None => state.requests.try_acquire().ok(),
    };
    if permit.is_none() && !is_always_answered(path) {
        return Ok(pages::refuse(&request, ApiError::Unavailable("too many requests at once; try again later")));
    }
    if is_callback {
        request.extensions_mut().insert(time);
    }
    Ok(auth::require(state, request, next).await)
}

/// What needs no place: probes, because a busy server is not a dead one and they are answered within two seconds, and what
/// pages are made of, which is in memory.
fn is_always_answered(path: &str) -> bool {
    PROBES.contains(&path) || path.starts_with(ASSETS_PREFIX) || matches!(path, "/favicon.ico" | "/robots.txt")
}

/// Waits until others make room for the call of a hub.
pub(crate) async fn wait_for_turn<T>(time: &mut TimeLeft, turn: impl Future<Output = T>) -> Option<T> {
    time.wait_leaving(STORE_TIME_MIN, tokio::time::timeout(TURN_WAIT_MAX, turn)).await?.ok()
}

/// Gives the call of a hub so much time and no more. Refuses `HEAD`, which would be answered as `GET` is: what a hub asks
/// with it would be confirmed without a challenge.
pub(crate) async fn callback(State(limit): State<Duration>, request: Request, next: Next) -> ApiResult<Response> {
    if request.method() == Method::HEAD {
        return Ok(([(header::ALLOW, "GET,POST")], ApiError::MethodNotAllowed).into_response());
    }
    time_limit(State(limit), request, next).await
}

/// Refuses parameters of requests that change something: none takes any, and what a mistaken `?feedId=1` is meant to
/// narrow would be done to all.
pub(crate) async fn no_parameters(request: Request, next: Next) -> ApiResult<Response> {
    if !request.method().is_safe() {
        Parameters::of(request.uri().query()).finish("none")?;
    }
    Ok(next.run(request).await)
}

/// Gives a request so much time and no more.
pub(crate) async fn time_limit(State(limit): State<Duration>, request: Request, next: Next) -> ApiResult<Response> {
    tokio::time::timeout(limit, next.run(request))
        .await
        .map_err(|_| ApiError::Unavailable("this takes too long; what it began may still complete"))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use engine::PushSettings;
    use tokio::{sync::Semaphore, time::sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn w7_callbacks_wait_for_a_place() {
        let (places, mut time) = (Semaphore::new(1), TimeLeft::new(PushSettings::default().answer_timeout));
        let taken = places.try_acquire().unwrap();
        {
            let mut waiting = pin!(wait_for_turn(&mut time, places.acquire()));
            assert!(futures_util::poll!(&mut waiting).is_pending(), "it is not refused");
            drop(taken);
            assert!(waiting.await.is_some());
        }
        let _taken = places.try_acquire().unwrap();
        let begun = Instant::now();
        assert!(wait_for_turn(&mut time, places.acquire()).await.is_none());
        assert_eq!(begun.elapsed().as_secs(), 4);
        // The next wait has no more than what the first has left.
        assert!(wait_for_turn(&mut time, places.acquire()).await.is_none());
        assert_eq!(begun.elapsed().as_secs(), 4);
        assert_eq!(time.wait(sleep(STORE_TIME_MIN / 2)).await, Some(()), "the store has its time");
    }
}
