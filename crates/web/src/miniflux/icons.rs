//! The icons of feeds, as a data URL without its beginning: that is how Miniflux has them.

use axum::{Json, extract::State, response::IntoResponse};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{FeedId, IconId, icon::Icon};
use serde_json::json;

use super::{
    error::{Answer, Refused},
    input::PathId,
};
use crate::{auth::Actor, state::AppState};

pub(super) async fn of_feed(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    shown(state.store().feed_icon(actor.account, FeedId(id)).await?)
}

pub(super) async fn get(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    shown(state.store().icon(actor.account, IconId(id)).await?)
}

fn shown(icon: Option<Icon>) -> Answer {
    let icon = icon.ok_or_else(Refused::none)?;
    let (kind, data) = (icon.kind.mime(), STANDARD.encode(&icon.bytes));
    Ok(Json(json!({ "id": icon.id, "mime_type": kind, "data": format!("{kind};base64,{data}") })).into_response())
}
