//! How one wants pages to look and behave: of the account, and so in all its browsers.

use axum::{Json, extract::State};

use crate::{
    auth::Actor,
    error::{ApiError, ApiResult, ErrorBody},
    extract,
    state::AppState,
    views::{PageSettingsBody, PageSettingsView},
};

/// How one wants pages to look and behave.
#[utoipa::path(
    get, path = "/api/account/settings", tag = "accounts", operation_id = "getPageSettings",
    responses((status = 200, description = "The settings.", body = PageSettingsView))
)]
pub(crate) async fn get(State(state): State<AppState>, actor: Actor) -> ApiResult<Json<PageSettingsView>> {
    let settings = state.store().page_settings(actor.account).await?;
    Ok(Json(settings.ok_or(ApiError::Unauthorized)?.into()))
}

/// Changes how one wants pages to look and behave.
#[utoipa::path(
    patch, path = "/api/account/settings", tag = "accounts", operation_id = "updatePageSettings",
    request_body = PageSettingsBody,
    responses(
        (status = 200, description = "The settings as they are now.", body = PageSettingsView),
        (status = 400, description = "A field is wrong; the sentence names it.", body = ErrorBody),
    )
)]
pub(crate) async fn patch(
    State(state): State<AppState>,
    actor: Actor,
    extract::Json(body): extract::Json<PageSettingsBody>,
) -> ApiResult<Json<PageSettingsView>> {
    let settings = state.store().patch_page_settings(actor.account, body.into()).await?;
    Ok(Json(settings.ok_or(ApiError::Unauthorized)?.into()))
}
