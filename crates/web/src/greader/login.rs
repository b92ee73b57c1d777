//! Logging in, and what a client asks about itself.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{
    refusal::Answer,
    request::{Asked, Call},
};
use crate::{auth::app_session, error::ApiError, state::AppState};

/// `ClientLogin`: name and secret for what all other calls carry. It has no `=` in it, where some split, and nothing that
/// needs escaping, because some do not.
pub(super) async fn log_in(state: &AppState, asked: &Asked) -> Answer {
    let (name, secret) = (asked.params.first("Email"), asked.params.first("Passwd"));
    let (Some(name), Some(secret)) = (name, secret) else { return Err(ApiError::Unauthorized.into()) };
    let (_, session) = app_session(state, &asked.client, name, secret).await?;
    if asked.params.first("output") == Some("json") {
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
