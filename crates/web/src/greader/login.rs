//! Logging in, and what a client asks about itself.

use axum::{
    Json,
    extract::Request,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{
    refusal::Answer,
    request::{Call, LoginForm},
};
use crate::{auth::app_session, error::ApiError, state::AppState};

/// `ClientLogin`: name and secret for what all other calls carry. It has no `=` in it, where some split, and nothing that
/// needs escaping, because some do not.
pub(super) async fn log_in(state: &AppState, request: Request) -> Answer {
    let LoginForm { client, name, secret, wants_json } = LoginForm::of(state, request).await?;
    let (Some(name), Some(secret)) = (name, secret) else { return Err(ApiError::Unauthorized.into()) };
    let (_, session) = app_session(state, &client, &name, &secret).await?;
    if wants_json {
        return Ok(Json(json!({ "SID": session, "LSID": "null", "Auth": session })).into_response());
    }
    Ok(format!("SID={session}\nLSID=null\nAuth={session}\n").into_response())
}

/// What changes are to carry: the same, because some carry nothing else.
pub(super) fn token(call: &Call) -> Response {
    call.session.clone().into_response()
}

pub(super) fn user_info(call: &Call) -> Response {
    let (id, name) = (call.actor.account.to_string(), &call.actor.name);
    Json(json!({ "userId": id, "userName": name, "userProfileId": id, "userEmail": "" })).into_response()
}
