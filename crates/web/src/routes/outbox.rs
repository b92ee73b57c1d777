//! The outbox: what is to be delivered, what was, and what was given up.

use axum::{
    Json,
    extract::{FromRequestParts, Path, State},
    http::request::Parts,
    routing::{self, MethodRouter},
};
use domain::{
    WebhookId,
    delivery::{DeliveryFilter, DeliveryStatus, Moved, number_of},
    entry::PAGE_ENTRIES_DEFAULT,
    folder::one_line,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    auth::Actor,
    error::{ApiError, ApiResult, ErrorBody},
    extract,
    query::{CURSOR, Parameters},
    state::AppState,
    views::{AttemptView, DeliveryView, OverviewView, StatusView, ids},
    work::run_to_completion,
};

/// Characters of the reason why a delivery is cancelled.
const REASON_CHARS_MAX: usize = 500;

/// What deliveries were called in paths before, with what they are called now: the old paths are answered in the same
/// way, and described as deprecated.
pub(crate) const OLD_PATHS: [(&str, &str); 4] = [
    ("/api/outbox/events", "/api/outbox/deliveries"),
    ("/api/outbox/events/{id}", "/api/outbox/deliveries/{id}"),
    ("/api/outbox/events/{id}/requeue", "/api/outbox/deliveries/{id}/requeue"),
    ("/api/outbox/events/{id}/cancel", "/api/outbox/deliveries/{id}/cancel"),
];

/// What stands for a reason that was not given.
const NO_REASON: &str = "no reason given";

/// A delivery with its attempts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeliveryWithAttempts)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliveryDetailView {
    #[serde(flatten)]
    delivery: DeliveryView,
    /// The attempts, the first first; of very many the last ones.
    attempt_log: Vec<AttemptView>,
}

/// A page of deliveries, the newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeliveryPage)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageView {
    /// The deliveries.
    events: Vec<DeliveryView>,
    /// Where the next page begins; null on the last.
    next_cursor: Option<String>,
}

/// Which deliveries are wanted.
#[derive(Debug, IntoParams)]
#[into_params(rename_all = "camelCase", parameter_in = Query)]
pub(crate) struct DeliveriesQuery {
    /// Those that stand so.
    #[param(value_type = Option<StatusView>)]
    status: Option<DeliveryStatus>,
    /// Those to this webhook.
    #[param(value_type = Option<ids::WebhookId>)]
    webhook_id: Option<WebhookId>,
    /// Deliveries on the page.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
    /// Where the page before ended: its `nextCursor`. It holds this installation's key, and is opaque otherwise.
    #[param(pattern = "^dlv_INSTALLATION[0-9a-f]{12}([0-9a-f]{12})?$")]
    cursor: Option<String>,
}

/// Why a delivery is cancelled.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = Cancellation)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelBody {
    /// The reason, which is kept with it.
    #[schema(max_length = 500)]
    pub(crate) reason: Option<String>,
}

/// Whose failed deliveries are queued again.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RequeueFailed)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RequeueBody {
    /// Those of this webhook.
    #[schema(value_type = ids::WebhookId)]
    pub(crate) webhook_id: WebhookId,
}

/// What was queued again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Requeued)]
pub(crate) struct RequeueResult {
    /// So many deliveries.
    pub(crate) requeued: u64,
}

/// The routes of [`OLD_PATHS`], in their order.
pub(crate) fn old_routes() -> [(&'static str, MethodRouter<AppState>); 4] {
    let [all, one, requeued, cancelled] = OLD_PATHS.map(|(old, _)| old);
    [
        (all, routing::get(list)),
        (one, routing::get(get)),
        (requeued, routing::post(requeue)),
        (cancelled, routing::post(cancel)),
    ]
}

/// The outbox in numbers.
#[utoipa::path(
    get, path = "/api/outbox/overview", tag = "outbox", operation_id = "getOutboxOverview",
    responses((status = 200, description = "The numbers.", body = OverviewView))
)]
pub(crate) async fn overview(State(state): State<AppState>, actor: Actor) -> ApiResult<Json<OverviewView>> {
    Ok(Json(state.store().outbox_overview(actor.viewer()).await?.into()))
}

/// A page of deliveries, the newest first.
#[utoipa::path(
    get, path = "/api/outbox/deliveries", tag = "outbox", operation_id = "listDeliveries", params(DeliveriesQuery),
    responses(
        (status = 200, description = "The page; `nextCursor` is null on the last.", body = PageView),
        (status = 400, description = "A parameter is wrong or not known; the sentence names it.", body = ErrorBody),
    )
)]
pub(crate) async fn list(
    State(state): State<AppState>,
    actor: Actor,
    query: DeliveriesQuery,
) -> ApiResult<Json<PageView>> {
    let filter = DeliveryFilter { status: query.status, webhook_id: query.webhook_id };
    let limit = query.limit.unwrap_or(PAGE_ENTRIES_DEFAULT);
    let page = state.store().deliveries(actor.account, filter, limit, query.cursor.as_deref()).await?;
    let events =
        page.deliveries.into_iter().map(|delivery| DeliveryView::new(delivery, state.engine.attempts_max())).collect();
    Ok(Json(PageView { events, next_cursor: page.next_cursor }))
}

/// One delivery with its attempts.
#[utoipa::path(
    get, path = "/api/outbox/deliveries/{id}", tag = "outbox", operation_id = "getDelivery", params(("id" = String, Path)),
    responses(
        (status = 200, description = "The delivery.", body = DeliveryDetailView),
        (status = 404, description = "There is no such delivery.", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    State(state): State<AppState>,
    actor: Actor,
    DeliveryRef(id): DeliveryRef,
) -> ApiResult<Json<DeliveryDetailView>> {
    let (delivery, attempt_log) =
        state.store().delivery(actor.account, &id).await?.ok_or(ApiError::NotFound(DELIVERY))?;
    let attempt_log = attempt_log.into_iter().map(AttemptView::from).collect();
    Ok(Json(DeliveryDetailView { delivery: DeliveryView::new(delivery, state.engine.attempts_max()), attempt_log }))
}

/// Queues a delivery again that has failed or was delivered. It has all its attempts again, and the event the same id.
#[utoipa::path(
    post, path = "/api/outbox/deliveries/{id}/requeue", tag = "outbox", operation_id = "requeueDelivery",
    params(("id" = String, Path)),
    responses(
        (status = 200, description = "The delivery as it is now.", body = DeliveryView),
        (status = 404, description = "There is no such delivery.", body = ErrorBody),
        (status = 409, description = "It is pending, or was cancelled.", body = ErrorBody),
    )
)]
pub(crate) async fn requeue(
    State(state): State<AppState>,
    actor: Actor,
    DeliveryRef(id): DeliveryRef,
) -> ApiResult<Json<DeliveryView>> {
    let moved = state.store().requeue_delivery(actor.account, &id).await?;
    moved_response(moved, &state, "only one that has failed or was delivered can be queued again")
}

/// Calls off a delivery that is pending or has failed. If it is being sent, the mark of that attempt is skipped.
#[utoipa::path(
    post, path = "/api/outbox/deliveries/{id}/cancel", tag = "outbox", operation_id = "cancelDelivery",
    params(("id" = String, Path)), request_body = Option<CancelBody>,
    responses(
        (status = 200, description = "The delivery as it is now.", body = DeliveryView),
        (status = 400, description = "The reason is too long.", body = ErrorBody),
        (status = 404, description = "There is no such delivery.", body = ErrorBody),
        (status = 409, description = "It was delivered, or is cancelled already.", body = ErrorBody),
    )
)]
pub(crate) async fn cancel(
    State(state): State<AppState>,
    actor: Actor,
    DeliveryRef(id): DeliveryRef,
    extract::JsonOrNothing(body): extract::JsonOrNothing<CancelBody>,
) -> ApiResult<Json<DeliveryView>> {
    let reason = body.reason.unwrap_or_default();
    extract::check_length("reason", &reason, REASON_CHARS_MAX)?;
    let reason = one_line(&reason);
    let reason = if reason.is_empty() { NO_REASON } else { &reason };
    let moved = state.store().cancel_delivery(actor.account, &id, reason).await?;
    moved_response(moved, &state, "only one that is pending or has failed can be cancelled")
}

/// Queues all failed deliveries of a webhook again.
#[utoipa::path(
    post, path = "/api/outbox/requeue", tag = "outbox", operation_id = "requeueFailed", request_body = RequeueBody,
    responses(
        (status = 200, description = "How many there were.", body = RequeueResult),
        (status = 400, description = "A field is wrong; the sentence names it.", body = ErrorBody),
        (status = 404, description = "There is no such webhook.", body = ErrorBody),
    )
)]
pub(crate) async fn requeue_failed(
    State(state): State<AppState>,
    actor: Actor,
    extract::Json(body): extract::Json<RequeueBody>,
) -> ApiResult<Json<RequeueResult>> {
    let store = state.store().clone();
    let requeued =
        run_to_completion(async move { store.requeue_failed(actor.account, body.webhook_id).await }).await??;
    Ok(Json(RequeueResult { requeued: requeued.ok_or(ApiError::NotFound("webhook"))? }))
}

const DELIVERY: &str = "delivery";

/// A delivery after a change of state; `only` says which ones can be changed so.
fn moved_response(moved: Moved, state: &AppState, only: &str) -> ApiResult<Json<DeliveryView>> {
    match moved {
        Moved::Done(delivery) => Ok(Json(DeliveryView::new(*delivery, state.engine.attempts_max()))),
        Moved::WrongState(status) => {
            Err(ApiError::Conflict(format!("this delivery {}: {only}", status_words(status)), None))
        }
        Moved::NotFound => Err(ApiError::NotFound(DELIVERY)),
    }
}

fn status_words(status: DeliveryStatus) -> &'static str {
    match status {
        DeliveryStatus::Pending => "is pending",
        DeliveryStatus::Delivered => "was delivered",
        DeliveryStatus::Failed => "has failed",
        DeliveryStatus::Cancelled => "was cancelled",
    }
}

/// The delivery in the path. A text that is no id of ours is one of none.
pub(crate) struct DeliveryRef(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for DeliveryRef {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        match path {
            Ok(Path(id)) if is_id(&id) => Ok(Self(id)),
            _ => Err(ApiError::NotFound(DELIVERY)),
        }
    }
}

impl FromRequestParts<AppState> for DeliveriesQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> ApiResult<Self> {
        let installation = state.store().installation();
        let mut given = Parameters::of(parts.uri.query());
        let statuses = "`pending`, `delivered`, `failed` or `cancelled`";
        let query = Self {
            status: given.read("status", statuses, DeliveryStatus::by_name)?,
            webhook_id: given.id("webhookId")?.map(WebhookId),
            limit: given.page_limit()?,
            cursor: given
                .read("cursor", CURSOR, |text| number_of("dlv", installation, text).map(|_| text.to_owned()))?,
        };
        given.finish("`status`, `webhookId`, `limit` and `cursor`")?;
        Ok(query)
    }
}

/// Whether a text could be the id of a delivery, here or elsewhere.
fn is_id(text: &str) -> bool {
    let is_hex = |rest: &str| rest.len() <= 64 && !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.strip_prefix("dlv_").is_some_and(is_hex)
}
