//! OPML in and out.

use axum::{
    Json,
    extract::{Request, State},
    http::{StatusCode, header},
    response::IntoResponse,
};
use serde_json::json;

use super::error::Answer;
use crate::{auth::Actor, routes::opml, state::AppState};

pub(super) async fn export(State(state): State<AppState>, actor: Actor) -> Answer {
    let kind = [(header::CONTENT_TYPE, "text/xml; charset=utf-8")];
    let file = async { Ok((kind, state.engine.export_opml(actor.account).await?).into_response()) };
    Ok(state.answers.answer(file).await?)
}

pub(super) async fn import(State(state): State<AppState>, actor: Actor, request: Request) -> Answer {
    opml::take_in(&state, actor.account, request).await?;
    Ok((StatusCode::CREATED, Json(json!({ "message": "Feeds imported successfully" }))).into_response())
}
