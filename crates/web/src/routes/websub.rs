//! WebSub: what hubs call, and what a user asks about subscriptions.
//!
//! A push is taken only as far as it has to be: first its address, then how often it came, then whether it is signed at
//! all, then how large it is, then its bytes, and only then what is in them. One without a token may be anybody's: it is
//! not read unless it is signed and, as far as its address and headers say, wanted, and it has memory and a rate of its
//! own.

use axum::{
    Extension, Json,
    body::Body,
    extract::{FromRequestParts, Path, RawQuery, Request, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use domain::{
    FeedId,
    push::{TOKEN_CHARS, Unsigned},
    trace::TraceContext,
};
use engine::{PushAnswer, PushRequest, Recipient, TimeLeft, Verification, VerifyAnswer};
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::{IntoParams, ToSchema};

use crate::{
    auth::{Actor, Admin},
    body::{self, MemoryBudget},
    error::{ApiError, ApiResult, ErrorBody},
    extract::Id,
    middleware::wait_for_turn,
    query::Parameters,
    rate::RateKey,
    state::AppState,
    views::{SubscriptionView, ids},
    work::run_to_completion,
};

/// The header that says that a push is the hub's.
const SIGNATURE: &str = "x-hub-signature";

/// The answer to a push whose turn has not come in time.
const TOO_MUCH: ApiError = ApiError::Unavailable("too much is being sent at once; try again later");

/// What a manual renewal did.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RenewSummary {
    /// Verified by their hubs.
    pub(crate) renewed: u32,
    /// Failed.
    pub(crate) failed: u32,
    /// Accepted by their hubs, and not verified yet.
    pub(crate) pending: u32,
    /// Each of them.
    results: Vec<RenewResult>,
}

/// One renewal.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RenewResult {
    /// The feed.
    #[schema(value_type = Option<ids::FeedId>)]
    feed_id: Option<FeedId>,
    /// `renewed`, `failed` or `pending`.
    status: &'static str,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Failures since the last success.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_count: Option<u32>,
    /// When the new lease ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    new_expires_at: Option<Timestamp>,
}

/// What a hub asks.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what is read parameter by parameter")]
pub(crate) struct VerificationQuery {
    /// What it is about.
    #[param(rename = "hub.mode", inline)]
    mode: HubMode,
    /// The topic, as it was given to the hub.
    #[param(rename = "hub.topic", min_length = 1)]
    topic: String,
    /// What is to be sent back. (A request that denies is taken without one.)
    #[param(rename = "hub.challenge", min_length = 1, max_length = 1024)]
    challenge: String,
    /// Seconds for which the hub will push.
    #[param(rename = "hub.lease_seconds")]
    lease_seconds: Option<String>,
    /// Why the hub denies.
    #[param(rename = "hub.reason")]
    reason: Option<String>,
}

/// What a hub can ask.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes what is read as a text")]
pub(crate) enum HubMode {
    /// Whether the subscription is wanted.
    Subscribe,
    /// Whether its end is wanted.
    Unsubscribe,
    /// Nothing: the hub says no.
    Denied,
}

/// All subscriptions.
#[utoipa::path(
    get, path = "/api/websub/subscriptions", tag = "websub", operation_id = "listSubscriptions",
    responses((status = 200, description = "The subscriptions, by feed.", body = Vec<SubscriptionView>))
)]
pub(crate) async fn subscriptions(State(state): State<AppState>, actor: Actor) -> ApiResult<Response> {
    let views = async {
        let subscriptions = state.store().subscriptions(actor.viewer()).await?;
        Ok(subscriptions.iter().map(SubscriptionView::from).collect::<Vec<_>>())
    };
    state.answers.json(views).await
}

/// Renews the subscriptions that end soon, at most 20 of them.
#[utoipa::path(
    post, path = "/api/websub/renew", tag = "websub", operation_id = "renewSubscriptions",
    responses((status = 200, description = "How the renewals ended.", body = RenewSummary))
)]
pub(crate) async fn renew(State(state): State<AppState>, _: Admin) -> ApiResult<Json<RenewSummary>> {
    let engine = state.engine.clone();
    let summary = run_to_completion(async move { engine.renew_expiring().await }).await??;
    Ok(Json(summary.into()))
}

/// Subscribes a feed at its hub now. The hub is not waited for.
#[utoipa::path(
    post, path = "/api/feeds/{id}/subscribe", tag = "websub", operation_id = "subscribeFeed",
    params(("id" = ids::FeedId, Path)),
    responses(
        (status = 202, description = "The subscription; its hub is being asked.", body = SubscriptionView),
        (status = 404, description = "There is no such feed.", body = ErrorBody),
        (status = 409, description = "Push is off, because there is no base URL.", body = ErrorBody),
        (status = 422, description = "The feed names no hub.", body = ErrorBody),
    )
)]
pub(crate) async fn subscribe(State(state): State<AppState>, actor: Actor, Id(id): Id<FeedId>) -> ApiResult<Response> {
    let engine = state.engine.clone();
    let subscription = run_to_completion(async move { engine.subscribe_feed(actor.account, id).await }).await??;
    Ok((StatusCode::ACCEPTED, Json(SubscriptionView::from(&subscription))).into_response())
}

/// Turns push off for a feed, and unsubscribes it at its hub. The hub is not waited for.
#[utoipa::path(
    post, path = "/api/feeds/{id}/unsubscribe", tag = "websub", operation_id = "unsubscribeFeed",
    params(("id" = ids::FeedId, Path)),
    responses(
        (status = 204, description = "Push is off for this feed: it is polled."),
        (status = 404, description = "There is no such feed.", body = ErrorBody),
    )
)]
pub(crate) async fn unsubscribe(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<FeedId>,
) -> ApiResult<StatusCode> {
    if state.engine.unsubscribe_feed(actor.account, id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(ApiError::NotFound("feed"))
    }
}

/// A hub asks whether a subscription is wanted, or denies it.
#[utoipa::path(
    get, path = "/api/websub/callback/{token}", tag = "websub", operation_id = "verifySubscription",
    params(("token" = String, Path), VerificationQuery),
    responses(
        (status = 200, description = "It is: the challenge.", body = String, content_type = "text/plain"),
        (status = 400, description = "A parameter is missing.", body = ErrorBody),
        (status = 404, description = "It is not.", body = ErrorBody),
        (status = 429, description = "It is asked too often.", body = ErrorBody),
    )
)]
pub(crate) async fn verify(
    State(state): State<AppState>,
    Extension(time): Extension<TimeLeft>,
    Token(token): Token,
    RawQuery(query): RawQuery,
) -> ApiResult<Response> {
    answer_verification(&state, Some(&token), query.as_deref(), time).await
}

/// The same, where only the topic says what is meant: nothing is confirmed or denied but what was just asked for, and
/// the feed is polled as usual until a push has come.
#[utoipa::path(
    get, path = "/api/websub/callback", tag = "websub", operation_id = "verifyByTopic",
    params(VerificationQuery),
    responses(
        (status = 200, description = "It is: the challenge.", body = String, content_type = "text/plain"),
        (status = 400, description = "A parameter is missing.", body = ErrorBody),
        (status = 404, description = "It is not.", body = ErrorBody),
        (status = 429, description = "There are too many.", body = ErrorBody),
    )
)]
pub(crate) async fn verify_by_topic(
    State(state): State<AppState>,
    Extension(time): Extension<TimeLeft>,
    RawQuery(query): RawQuery,
) -> ApiResult<Response> {
    answer_verification(&state, None, query.as_deref(), time).await
}

async fn answer_verification(
    state: &AppState,
    token: Option<&str>,
    query: Option<&str>,
    mut time: TimeLeft,
) -> ApiResult<Response> {
    // What else a hub adds is nobody's business.
    let mut parameters = Parameters::of(query);
    let asked = Verification {
        mode: parameters.text("hub.mode")?,
        topic: parameters.text("hub.topic")?,
        challenge: parameters.text("hub.challenge")?,
        lease_secs: parameters.text("hub.lease_seconds")?,
        reason: parameters.text("hub.reason")?,
    };
    let stranger = if token.is_some() { RateKey::UnknownToken } else { RateKey::NoToken };
    let admits = |id: Option<_>| state.verifications.admits(id.map_or(stranger, RateKey::Subscription));
    match state.engine.verify(token, asked, &admits, &mut time).await? {
        VerifyAnswer::Confirmed(challenge) => {
            Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], challenge).into_response())
        }
        VerifyAnswer::Noted => Ok(StatusCode::OK.into_response()),
        VerifyAnswer::TooMany => Err(ApiError::TooManyRequests),
        VerifyAnswer::NotWanted => Err(ApiError::NotFound("subscription")),
        VerifyAnswer::Bad(reason) => Err(ApiError::BadRequest(reason.to_owned())),
    }
}

/// A hub pushes.
#[utoipa::path(
    post, path = "/api/websub/callback/{token}", tag = "websub", operation_id = "receivePush",
    params(("token" = String, Path)), request_body(content = String, content_type = "*/*"),
    responses(
        (status = 204, description = "It is stored."),
        (status = 400, description = "It is no feed, or signed in a way that is not allowed.", body = ErrorBody),
        (status = 403, description = "The signature is missing or wrong.", body = ErrorBody),
        (status = 404, description = "There is no active subscription.", body = ErrorBody),
        (status = 410, description = "The feed was removed.", body = ErrorBody),
        (status = 413, description = "It is too large; the feed is polled instead.", body = ErrorBody),
        (status = 429, description = "There are too many; the feed is polled instead.", body = ErrorBody),
    )
)]
pub(crate) async fn receive(
    State(state): State<AppState>,
    Extension(mut time): Extension<TimeLeft>,
    Token(token): Token,
    request: Request,
) -> ApiResult<StatusCode> {
    let (recipient, id) = match state.engine.recipient(&token, &mut time).await? {
        Ok(Recipient::Subscription(target)) => {
            let id = target.subscription.id;
            (Recipient::Subscription(target), id)
        }
        other => {
            check_rate(&state, RateKey::UnknownToken)?;
            return push_response(other.err().unwrap_or(PushAnswer::NotActive));
        }
    };
    if let Err(error) = check_rate(&state, RateKey::Subscription(id)) {
        state.engine.refuse_push(&recipient, "too_many", &mut time).await?;
        return Err(error);
    }
    let (parts, body) = request.into_parts();
    let head = push_head(&parts);
    if let Some(answer) = state.engine.refuse_unsigned(&recipient, &head, &mut time).await? {
        return push_response(answer);
    }
    let Some(turn) = wait_for_turn(&mut time, state.reading.turn(id)).await else {
        state.engine.refuse_push(&recipient, "too_many", &mut time).await?;
        return Err(TOO_MUCH);
    };
    let memory = state.push_memory.clone();
    take_push(state, memory, turn, recipient, (head, body), time).await
}

/// The same, where the topic says what is meant: in the address, in a `Link` header or in the document.
#[utoipa::path(
    post, path = "/api/websub/callback", tag = "websub", operation_id = "receivePushByTopic",
    request_body(content = String, content_type = "*/*"),
    responses(
        (status = 204, description = "It is stored."),
        (status = 400, description = "It is no feed, or signed in a way that is not allowed.", body = ErrorBody),
        (status = 403, description = "The signature is missing or wrong.", body = ErrorBody),
        (status = 404, description = "There is no active subscription.", body = ErrorBody),
        (status = 413, description = "It is too large.", body = ErrorBody),
        (status = 429, description = "There are too many.", body = ErrorBody),
    )
)]
pub(crate) async fn receive_by_topic(
    State(state): State<AppState>,
    Extension(mut time): Extension<TimeLeft>,
    request: Request,
) -> ApiResult<StatusCode> {
    check_rate(&state, RateKey::NoToken)?;
    let (parts, body) = request.into_parts();
    let topic = Parameters::of(parts.uri.query()).text("hub.topic")?;
    let head = PushRequest { topic, ..push_head(&parts) };
    let recipient = match state.engine.recipient_by_topic(&head, &mut time).await? {
        Ok(recipient) => recipient,
        Err(answer) => return push_response(answer),
    };
    let memory = state.tokenless_memory.clone();
    take_push(state, memory, None, recipient, (head, body), time).await
}

fn check_rate(state: &AppState, key: RateKey) -> ApiResult<()> {
    if state.pushes.admits(key) { Ok(()) } else { Err(ApiError::TooManyRequests) }
}

/// What the headers of a push say.
fn push_head(parts: &Parts) -> PushRequest {
    let links = parts.headers.get_all(header::LINK).iter();
    PushRequest {
        signature: text(&parts.headers, SIGNATURE),
        content_type: text(&parts.headers, header::CONTENT_TYPE.as_str()),
        links: links.filter_map(|link| Some(link.to_str().ok()?.to_owned())).collect(),
        trace: text(&parts.headers, "traceparent").and_then(|trace| TraceContext::parse(&trace)),
        ..PushRequest::default()
    }
}

/// Reads a push within this memory, when it is its turn, and stores it. Its hub may send slowly: that takes none of the
/// time for which it waits for us.
async fn take_push(
    state: AppState,
    memory: MemoryBudget,
    turn: Option<OwnedSemaphorePermit>,
    recipient: Recipient,
    (head, body): (PushRequest, Body),
    mut time: TimeLeft,
) -> ApiResult<StatusCode> {
    let (bytes_max, time_max) = (state.settings.push_bytes_max, state.settings.json_timeout);
    let (body, permit) = match body::read_within_budget(&memory, body, bytes_max, time_max).await {
        Ok(read) => read,
        Err(error) => {
            let why = if matches!(error, ApiError::TooLarge(_)) { "too_large" } else { "not_read" };
            state.engine.refuse_push(&recipient, why, &mut time).await?;
            return Err(error);
        }
    };
    drop(turn);
    let delivery = PushRequest { body: body.into(), ..head };
    let engine = state.engine.clone();
    let stored = run_to_completion(async move {
        let _permit = permit;
        engine.receive(recipient, delivery, time).await
    });
    push_response(stored.await??)
}

/// The token in the path. What is longer than any, or no text, is none of ours.
pub(crate) struct Token(String);

impl<S: Send + Sync> FromRequestParts<S> for Token {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(token)) if token.len() <= TOKEN_CHARS => Ok(Self(token)),
            _ => Err(ApiError::NotFound("subscription")),
        }
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn push_response(answer: PushAnswer) -> ApiResult<StatusCode> {
    match answer {
        PushAnswer::Stored => Ok(StatusCode::NO_CONTENT),
        PushAnswer::NotActive => Err(ApiError::NotFound("active subscription")),
        PushAnswer::NoFeed => Err(ApiError::Gone("the feed was removed")),
        PushAnswer::Unsigned(reason @ Unsigned::Algorithm) => Err(ApiError::BadRequest(reason.to_string())),
        PushAnswer::Unsigned(Unsigned::Missing) => Err(ApiError::Forbidden("the signature is missing")),
        PushAnswer::Unsigned(Unsigned::Wrong) => Err(ApiError::Forbidden("the signature is wrong")),
        PushAnswer::NotAFeed(reason) => Err(ApiError::BadRequest(format!("not a feed: {reason}"))),
        PushAnswer::TooMany => Err(TOO_MUCH),
    }
}

impl From<engine::RenewSummary> for RenewSummary {
    fn from(summary: engine::RenewSummary) -> Self {
        let engine::RenewSummary { renewed, failed, pending, results } = summary;
        Self { renewed, failed, pending, results: results.into_iter().map(RenewResult::from).collect() }
    }
}

impl From<engine::RenewResult> for RenewResult {
    fn from(result: engine::RenewResult) -> Self {
        let engine::RenewResult { feed_id, status, error, error_count, new_expires_at } = result;
        Self { feed_id, status: status.name(), error, error_count, new_expires_at }
    }
}
