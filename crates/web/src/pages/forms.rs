//! What can be done without scripts: marks, by plain forms. With scripts the page asks the API for the same.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{EntryId, EntryPatch, ports::MarkRead};

use super::{
    local,
    problem::PageResult,
    view::{Place, Show, View},
};
use crate::{
    auth::Actor,
    body,
    error::{ApiError, ApiResult},
    extract::{Id, check_not_encoded, content_type},
    form,
    state::AppState,
    time::time,
    work::{mark_starred_read, run_to_completion},
};

/// Bytes of a form: a webhook may name ten thousand feeds.
const FORM_BYTES_MAX: usize = 256 * 1024;

/// Marks an entry, and shows it again.
pub(super) async fn mark(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<EntryId>,
    request: Request,
) -> PageResult {
    let mut patch = EntryPatch::default();
    let mut back = format!("/entry/{id}");
    for (name, value) in read(request, &state).await? {
        match name.as_str() {
            "isRead" => patch.is_read = value.parse().ok(),
            "isStarred" => patch.is_starred = value.parse().ok(),
            "back" => local(&value).clone_into(&mut back),
            _ => {}
        }
    }
    if state.store().patch_entries(actor.account, &[id], patch).await? == 0
        && state.store().entry(actor.account, id).await?.is_none()
    {
        return Err(ApiError::NotFound("entry").into());
    }
    Ok(see_other(&back))
}

/// Marks as read what a list held when it was shown.
pub(super) async fn mark_all_read(State(state): State<AppState>, actor: Actor, request: Request) -> PageResult {
    let (mut which, mut back) = (MarkRead::default(), "/unread".to_owned());
    for (name, value) in read(request, &state).await? {
        match name.as_str() {
            "before" => which.before = Some(time("before", &value)?),
            "list" => local(&value).clone_into(&mut back),
            _ => {}
        }
    }
    let not_marked = || ApiError::field("list", "not one that can be marked");
    let view = View::of(&back).ok_or_else(not_marked)?;
    match view.place {
        Place::Everywhere => {}
        Place::Feed(id) => which.feed_id = Some(id),
        Place::Folder(id) => which.folder_id = Some(id),
        Place::Search(_) => return Err(not_marked().into()),
    }
    let store = state.store().clone();
    if view.show == Show::Starred {
        mark_starred_read(store, actor.account, which).await?;
        return Ok(see_other(&back));
    }
    run_to_completion(async move { store.mark_read(actor.account, which).await }).await??;
    Ok(see_other(&back))
}

/// The fields of a form.
pub(super) async fn read(request: Request, state: &AppState) -> ApiResult<Vec<(String, String)>> {
    check_not_encoded(request.headers())?;
    if content_type(request.headers()).as_deref() != Some("application/x-www-form-urlencoded") {
        return Err(ApiError::UnsupportedMediaType("send a form, as `application/x-www-form-urlencoded`"));
    }
    let bytes = body::read(request.into_body(), FORM_BYTES_MAX, state.settings.json_timeout).await?;
    form::urlencoded(&bytes)
}

pub(super) fn see_other(path: &str) -> Response {
    let place = HeaderValue::try_from(path).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}
