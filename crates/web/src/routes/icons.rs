//! The icons of feeds, as this server keeps them: no browser asks a publisher for one.

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{FeedId, icon::Icon};

use crate::{
    auth::Actor,
    error::{ApiError, ApiResult, ErrorBody},
    extract::Id,
    state::AppState,
    views::ids,
};

/// How long a browser takes an icon for what it is, before it asks whether it is another: they are looked for weekly.
const CACHE: &str = "private, max-age=86400";

/// The icon of a feed: a small raster picture (PNG, GIF, JPEG, WebP, AVIF or ICO), never SVG.
#[utoipa::path(
    get, path = "/api/feeds/{id}/icon", tag = "feeds", operation_id = "getFeedIcon", params(("id" = ids::FeedId, Path)),
    responses(
        (status = 200, description = "The icon, with its own media type.", body = Vec<u8>, content_type = "image/*"),
        (status = 304, description = "It is the one that `If-None-Match` names."),
        (status = 404, description = "There is no such feed, or it has no icon.", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<FeedId>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let icon = state.store().feed_icon(actor.account, id).await?.ok_or(ApiError::NotFound("icon"))?;
    Ok(shown(icon, &headers))
}

/// An icon as it is sent, unless the client has it.
pub(crate) fn shown(icon: Icon, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", icon.id);
    let fixed: [(HeaderName, &str); 2] = [(header::ETAG, &tag), (header::CACHE_CONTROL, CACHE)];
    if is_known(headers, &tag) {
        return (StatusCode::NOT_MODIFIED, fixed).into_response();
    }
    (fixed, [(header::CONTENT_TYPE, icon.kind.mime())], icon.bytes).into_response()
}

/// Whether the client has what this tag stands for.
pub(crate) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known
        .flat_map(|value| value.split(','))
        .map(|known| known.trim().trim_start_matches("W/"))
        .any(|known| known == tag || known == "*")
}
