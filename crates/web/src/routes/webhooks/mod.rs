//! Webhooks: made, listed, changed, tried, removed. A secret is shown once, when it is made.

mod headers;
mod input;
mod schemas;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    WebhookId,
    delivery::{Webhook, WebhookSecret},
    ports::TestOutcome,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use self::input::{CreateBody, PatchBody};
use crate::{
    auth::Actor,
    error::{ApiError, ApiResult, ErrorBody},
    extract::{self, Id},
    state::AppState,
    time::time,
    views::{DeliveryView, WebhookView, ids},
    work::run_to_completion,
};

/// Webhooks in all: each event looks at every one of them.
const WEBHOOKS_MAX: usize = 1000;

/// A webhook with the secret that its requests are signed with, which is shown this once.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookWithSecret {
    #[serde(flatten)]
    webhook: WebhookView,
    /// What its requests are signed with: `whsec_` and 32 random bytes in base64.
    secret: String,
}

/// From when on, and until when.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Replay)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplayBody {
    /// What happened at this time or later.
    #[schema(format = DateTime)]
    since: String,
    /// And at this time or before; null for all since then.
    #[schema(format = DateTime)]
    until: Option<String>,
}

/// What was queued.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Queued)]
pub(crate) struct ReplayResult {
    /// So many deliveries.
    queued: u64,
}

/// All webhooks, by id.
#[utoipa::path(
    get, path = "/api/webhooks", tag = "webhooks", operation_id = "listWebhooks",
    responses((status = 200, description = "The webhooks.", body = Vec<WebhookView>))
)]
pub(crate) async fn list(State(state): State<AppState>, actor: Actor) -> ApiResult<Json<Vec<WebhookView>>> {
    let webhooks = state.store().webhooks(actor.account).await?;
    Ok(Json(webhooks.into_iter().map(WebhookView::from).collect()))
}

/// Makes a webhook. Its secret is in this answer and in no other.
#[utoipa::path(
    post, path = "/api/webhooks", tag = "webhooks", operation_id = "createWebhook", request_body = CreateBody,
    responses(
        (status = 201, description = "The webhook, with its secret.", body = WebhookWithSecret),
        (status = 400, description = "A field is wrong, or the URL leads to a private address; the sentence says which.", body = ErrorBody),
        (status = 404, description = "A feed or a folder that is named does not exist.", body = ErrorBody),
        (status = 409, description = "There are as many as there can be.", body = ErrorBody),
    )
)]
pub(crate) async fn create(
    State(state): State<AppState>,
    actor: Actor,
    extract::Json(body): extract::Json<CreateBody>,
) -> ApiResult<Response> {
    let webhook = make(&state, &actor, body).await?;
    let location = format!("/api/webhooks/{}", webhook.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], secret_response(webhook)?).into_response())
}

/// Makes a webhook, whoever asks for it: a program, or a form of the page.
pub(crate) async fn make(state: &AppState, actor: &Actor, body: CreateBody) -> ApiResult<Webhook> {
    let wanted = PatchBody::from(body).checked()?;
    headers::check_masked(&wanted, &[])?;
    input::check_ids_exist(state, actor.account, &wanted, None).await?;
    input::check_url(state, &wanted, None).await?;
    if state.store().webhooks(actor.account).await?.len() >= WEBHOOKS_MAX {
        return Err(ApiError::Conflict(format!("there are {WEBHOOKS_MAX} webhooks, and can be no more"), None));
    }
    Ok(state.engine.create_webhook(actor.account, |secret| input::new_webhook(wanted, secret)).await?)
}

/// One webhook.
#[utoipa::path(
    get, path = "/api/webhooks/{id}", tag = "webhooks", operation_id = "getWebhook", params(("id" = ids::WebhookId, Path)),
    responses(
        (status = 200, description = "The webhook.", body = WebhookView),
        (status = 404, description = "There is no such webhook.", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<WebhookId>,
) -> ApiResult<Json<WebhookView>> {
    Ok(Json(state.store().webhook(actor.account, id).await?.ok_or(ApiError::NotFound("webhook"))?.into()))
}

/// Changes a webhook. One that was disabled and is enabled is well again: its failures, and why it was disabled, are
/// forgotten, and what waits for it is sent. Enabling one that is enabled changes nothing.
#[utoipa::path(
    patch, path = "/api/webhooks/{id}", tag = "webhooks", operation_id = "patchWebhook",
    params(("id" = ids::WebhookId, Path)), request_body = PatchBody,
    responses(
        (status = 200, description = "The webhook as it is now.", body = WebhookView),
        (status = 400, description = "A field is wrong, or the URL leads to a private address; the sentence says which.", body = ErrorBody),
        (status = 404, description = "There is no such webhook, or a feed or a folder that is named does not exist.", body = ErrorBody),
    )
)]
pub(crate) async fn patch(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<WebhookId>,
    extract::Json(mut body): extract::Json<PatchBody>,
) -> ApiResult<Json<WebhookView>> {
    let stored = async || state.store().webhook(actor.account, id).await?.ok_or(ApiError::NotFound("webhook"));
    if body.may_have_stored_url() {
        body = body.without_url_of(&stored().await?);
    }
    let patch = body.checked()?;
    if input::needs_stored(&patch) {
        let before = stored().await?;
        headers::check_masked(&patch, &before.headers)?;
        headers::check_not_for_another(&patch, &before)?;
        input::check_ids_exist(&state, actor.account, &patch, Some(&before)).await?;
        input::check_url(&state, &patch, Some(&before)).await?;
    }
    Ok(Json(state.store().update_webhook(actor.account, id, patch).await?.ok_or(ApiError::NotFound("webhook"))?.into()))
}

/// Removes a webhook, with what was still to be sent to it.
#[utoipa::path(
    delete, path = "/api/webhooks/{id}", tag = "webhooks", operation_id = "deleteWebhook",
    params(("id" = ids::WebhookId, Path)),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is no such webhook.", body = ErrorBody),
    )
)]
pub(crate) async fn delete(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<WebhookId>,
) -> ApiResult<StatusCode> {
    let is_deleted = state.store().delete_webhook(actor.account, id).await?;
    if is_deleted { Ok(StatusCode::NO_CONTENT) } else { Err(ApiError::NotFound("webhook")) }
}

/// Sends a webhook a `webhook.test`, whatever it wants else, and before all that waits for it. What came of it shows in the
/// delivery. While the webhook is held (`heldUntil`), it waits too.
#[utoipa::path(
    post, path = "/api/webhooks/{id}/test", tag = "webhooks", operation_id = "testWebhook",
    params(("id" = ids::WebhookId, Path)),
    responses(
        (status = 202, description = "The delivery, which is sent next.", body = DeliveryView),
        (status = 404, description = "There is no such webhook.", body = ErrorBody),
        (status = 409, description = "It is disabled.", body = ErrorBody),
    )
)]
pub(crate) async fn test(State(state): State<AppState>, actor: Actor, Id(id): Id<WebhookId>) -> ApiResult<Response> {
    match state.store().test_webhook(actor.account, id).await? {
        TestOutcome::Queued(delivery) => {
            let delivery = DeliveryView::new(*delivery, state.engine.attempts_max());
            Ok((StatusCode::ACCEPTED, Json(delivery)).into_response())
        }
        TestOutcome::Disabled => Err(disabled()),
        TestOutcome::NotFound => Err(ApiError::NotFound("webhook")),
    }
}

/// Gives a webhook another secret. For a day requests are signed with the old one too, also if there is yet another
/// meanwhile.
#[utoipa::path(
    post, path = "/api/webhooks/{id}/rotate-secret", tag = "webhooks", operation_id = "rotateSecret",
    params(("id" = ids::WebhookId, Path)),
    responses(
        (status = 200, description = "The webhook, with its new secret.", body = WebhookWithSecret),
        (status = 404, description = "There is no such webhook.", body = ErrorBody),
    )
)]
pub(crate) async fn rotate_secret(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<WebhookId>,
) -> ApiResult<Response> {
    secret_response(state.engine.rotate_secret(actor.account, id).await?.ok_or(ApiError::NotFound("webhook"))?)
}

/// Queues what happened in a time once more for a webhook, as far as it wants it.
#[utoipa::path(
    post, path = "/api/webhooks/{id}/replay", tag = "webhooks", operation_id = "replayWebhook",
    params(("id" = ids::WebhookId, Path)), request_body = ReplayBody,
    responses(
        (status = 202, description = "How many deliveries were queued.", body = ReplayResult),
        (status = 400, description = "Not a time with its zone.", body = ErrorBody),
        (status = 404, description = "There is no such webhook.", body = ErrorBody),
        (status = 409, description = "It is disabled, or the time is yet to come or ends before it begins.", body = ErrorBody),
    )
)]
pub(crate) async fn replay(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<WebhookId>,
    extract::Json(body): extract::Json<ReplayBody>,
) -> ApiResult<Response> {
    let since = time("since", &body.since)?;
    let until = body.until.as_deref().map(|until| time("until", until)).transpose()?;
    let queued = queue_again(&state, &actor, id, since, until).await?;
    Ok((StatusCode::ACCEPTED, Json(ReplayResult { queued })).into_response())
}

/// Queues what happened in a time once more, and says how much that is.
pub(crate) async fn queue_again(
    state: &AppState,
    actor: &Actor,
    id: WebhookId,
    since: Timestamp,
    until: Option<Timestamp>,
) -> ApiResult<u64> {
    // No 400: whether a time has come is for no description to say.
    if since > state.engine.now() {
        return Err(ApiError::Conflict("`since`: this time is yet to come".to_owned(), None));
    }
    if until.is_some_and(|until| until < since) {
        return Err(ApiError::Conflict("`until`: this time is before `since`".to_owned(), None));
    }
    // One that is disabled gets nothing new (requirement D9): an answer of nothing queued would look like success.
    if !state.store().webhook(actor.account, id).await?.ok_or(ApiError::NotFound("webhook"))?.enabled {
        return Err(disabled());
    }
    let (store, account) = (state.store().clone(), actor.account);
    let queued = run_to_completion(async move { store.replay(account, id, since, until).await }).await??;
    queued.ok_or(ApiError::NotFound("webhook"))
}

fn disabled() -> ApiError {
    ApiError::Conflict("this webhook is disabled: enable it first".to_owned(), None)
}

/// A webhook with its newest secret, which nobody may keep on the way.
fn secret_response(webhook: Webhook) -> ApiResult<Response> {
    let secret = newest_secret(&webhook)?;
    let body = Json(WebhookWithSecret { webhook: webhook.into(), secret });
    Ok(([(header::CACHE_CONTROL, "no-store")], body).into_response())
}

/// What a webhook's requests are signed with from now on.
pub(crate) fn newest_secret(webhook: &Webhook) -> ApiResult<String> {
    let secret = webhook.secrets.first().map(WebhookSecret::expose);
    secret.ok_or_else(|| ApiError::Internal("a webhook has no secret".to_owned()))
}
