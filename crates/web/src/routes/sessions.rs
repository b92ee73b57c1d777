//! Sessions: made by a login, listed, ended.

use axum::{
    Json,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{SessionId, account::SESSION_LIFETIME};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    auth::{Actor, LOGIN_BYTES_MAX, Origin, end_session, log_in},
    error::{ApiError, ApiResult, ErrorBody},
    extract::{self, Id},
    state::AppState,
    views::{AccountView, SessionView, ids},
};

/// Who logs in.
#[derive(Deserialize, ToSchema)]
#[schema(as = Login)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginBody {
    /// The account's name, in any case of its letters.
    name: String,
    /// Its password.
    #[schema(format = Password)]
    password: String,
}

/// Logs in. The answer sets the cookie of the new session.
#[utoipa::path(
    post, path = "/api/session", tag = "accounts", operation_id = "logIn", request_body = LoginBody,
    responses(
        (status = 200, description = "The account, and the cookie.", body = AccountView),
        (status = 401, description = "The name or the password is wrong.", body = ErrorBody),
        (status = 429, description = "Too many attempts: `Retry-After` says when the next may be.", body = ErrorBody),
    )
)]
pub(crate) async fn create(State(state): State<AppState>, origin: Origin, request: Request) -> ApiResult<Response> {
    let LoginBody { name, password } = extract::json_within(request, &state, LOGIN_BYTES_MAX).await?;
    let (account, cookie) = log_in(&state, &origin, &name, password).await?;
    Ok(([(header::SET_COOKIE, cookie)], Json(AccountView::from(account))).into_response())
}

/// Logs out: ends the session that asks.
#[utoipa::path(
    delete, path = "/api/session", tag = "accounts", operation_id = "logOut",
    responses((status = 204, description = "It has ended."))
)]
pub(crate) async fn delete_own(State(state): State<AppState>, _: Actor, origin: Origin) -> ApiResult<Response> {
    end_session(&state, &origin).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, origin.no_cookie())]).into_response())
}

/// The account's sessions, the last used first.
#[utoipa::path(
    get, path = "/api/sessions", tag = "accounts", operation_id = "listSessions",
    responses((status = 200, description = "The sessions.", body = Vec<SessionView>))
)]
pub(crate) async fn list(State(state): State<AppState>, actor: Actor) -> ApiResult<Json<Vec<SessionView>>> {
    let sessions = state.store().sessions(actor.account, SESSION_LIFETIME).await?;
    Ok(Json(sessions.into_iter().map(|session| SessionView::new(session, actor.session)).collect()))
}

/// Ends a session.
#[utoipa::path(
    delete, path = "/api/sessions/{id}", tag = "accounts", operation_id = "deleteSession",
    params(("id" = ids::SessionId, Path)),
    responses(
        (status = 204, description = "It has ended."),
        (status = 404, description = "There is no such session.", body = ErrorBody),
    )
)]
pub(crate) async fn delete(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<SessionId>,
) -> ApiResult<StatusCode> {
    actor.check_person()?;
    let is_there = state.store().delete_session(actor.account, id).await?;
    state.auth.forget();
    if is_there { Ok(StatusCode::NO_CONTENT) } else { Err(ApiError::NotFound("session")) }
}
