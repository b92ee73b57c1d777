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

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use domain::raster::RasterKind;
    use serde_json::Value;

    use super::*;

    #[tokio::test]
    async fn s3_icons_are_data_urls_without_their_beginning() {
        let icon = Icon { id: IconId(7), kind: RasterKind::Ico, bytes: b"x".to_vec() };
        let shown = to_bytes(shown(Some(icon)).unwrap().into_body(), 1_000).await.unwrap();
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        assert_eq!(shown, json!({ "id": 7, "mime_type": "image/x-icon", "data": "image/x-icon;base64,eA==" }));
        assert!(super::shown(None).is_err());
    }
}
