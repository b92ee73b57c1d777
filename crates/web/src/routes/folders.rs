//! Folders: made, named, ordered, removed with their feeds kept.

use std::collections::HashSet;

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use domain::{
    Folder, FolderId,
    folder::{FOLDER_NAME_CHARS_MAX, one_line},
    ports::Conflict,
};
use serde::Deserialize;
use utoipa::{
    ToSchema,
    openapi::{ArrayBuilder, Ref, Schema},
};

use crate::{
    auth::Actor,
    error::{ApiError, ApiResult, ErrorBody, updated},
    extract::{self, Id},
    state::AppState,
    views::{FolderView, ids},
};

/// A folder's name.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = FolderName)]
#[serde(deny_unknown_fields)]
pub(crate) struct NameBody {
    /// The name, which no other folder has: more than blanks and control characters.
    #[schema(min_length = 1, max_length = 200, pattern = r"[^\s\u0000-\u001f\u007f-\u009f\ufffe\uffff]")]
    name: String,
}

/// An order of folders.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = FolderOrder)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OrderBody {
    /// The folders, first to last, each once; those not named follow in the order they had.
    #[schema(schema_with = ordered_folders)]
    folder_ids: Vec<FolderId>,
}

/// All folders in their order.
#[utoipa::path(
    get, path = "/api/folders", tag = "folders", operation_id = "listFolders",
    responses((status = 200, description = "The folders.", body = Vec<FolderView>))
)]
pub(crate) async fn list(State(state): State<AppState>, actor: Actor) -> ApiResult<Json<Vec<FolderView>>> {
    Ok(Json(views(state.store().folders(actor.account).await?)))
}

/// Makes a folder, last in the order.
#[utoipa::path(
    post, path = "/api/folders", tag = "folders", operation_id = "createFolder", request_body = NameBody,
    responses(
        (status = 201, description = "The folder.", body = FolderView),
        (status = 400, description = "The name is empty or too long.", body = ErrorBody),
        (status = 409, description = "Another folder has this name.", body = ErrorBody),
    )
)]
pub(crate) async fn create(
    State(state): State<AppState>,
    actor: Actor,
    extract::Json(body): extract::Json<NameBody>,
) -> ApiResult<Response> {
    match state.store().create_folder(actor.account, &name(&body.name)?).await? {
        Ok(folder) => Ok((StatusCode::CREATED, Json(FolderView::from(folder))).into_response()),
        Err(Conflict) => Err(ApiError::Conflict("another folder has this name already".to_owned(), None)),
    }
}

/// Gives a folder another name.
#[utoipa::path(
    patch, path = "/api/folders/{id}", tag = "folders", operation_id = "renameFolder", params(("id" = ids::FolderId, Path)),
    request_body = NameBody,
    responses(
        (status = 200, description = "The folder as it is now.", body = FolderView),
        (status = 400, description = "The name is empty or too long.", body = ErrorBody),
        (status = 404, description = "There is no such folder.", body = ErrorBody),
        (status = 409, description = "Another folder has this name.", body = ErrorBody),
    )
)]
pub(crate) async fn rename(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<FolderId>,
    extract::Json(body): extract::Json<NameBody>,
) -> ApiResult<Json<FolderView>> {
    let renamed = state.store().rename_folder(actor.account, id, &name(&body.name)?).await?;
    Ok(Json(updated(renamed, "folder", "name")?.into()))
}

/// Removes a folder; its feeds stay, in none.
#[utoipa::path(
    delete, path = "/api/folders/{id}", tag = "folders", operation_id = "deleteFolder", params(("id" = ids::FolderId, Path)),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is no such folder.", body = ErrorBody),
    )
)]
pub(crate) async fn delete(State(state): State<AppState>, actor: Actor, Id(id): Id<FolderId>) -> ApiResult<StatusCode> {
    if state.store().delete_folder(actor.account, id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(ApiError::NotFound("folder"))
    }
}

/// Puts folders in another order.
#[utoipa::path(
    patch, path = "/api/folders/reorder", tag = "folders", operation_id = "reorderFolders", request_body = OrderBody,
    responses(
        (status = 200, description = "All folders in their new order.", body = Vec<FolderView>),
        (status = 400, description = "A folder is named twice.", body = ErrorBody),
        (status = 404, description = "A folder does not exist.", body = ErrorBody),
    )
)]
pub(crate) async fn reorder(
    State(state): State<AppState>,
    actor: Actor,
    extract::Json(body): extract::Json<OrderBody>,
) -> ApiResult<Json<Vec<FolderView>>> {
    let mut seen = HashSet::new();
    if !body.folder_ids.iter().all(|id| seen.insert(*id)) {
        return Err(ApiError::field("folderIds", "one of them is named twice"));
    }
    let folders = state.store().reorder_folders(actor.account, &body.folder_ids).await?;
    let unknown = || ApiError::UnknownReference("folderIds", "one of them does not exist".to_owned());
    Ok(Json(views(folders.ok_or_else(unknown)?)))
}

fn views(folders: Vec<Folder>) -> Vec<FolderView> {
    folders.into_iter().map(FolderView::from).collect()
}

fn name(text: &str) -> ApiResult<String> {
    let name = one_line(text);
    // As it came: what is left out of it counts too.
    if name.is_empty() || text.chars().count() > FOLDER_NAME_CHARS_MAX {
        return Err(ApiError::field("name", format_args!("must have from 1 to {FOLDER_NAME_CHARS_MAX} characters")));
    }
    Ok(name)
}

/// Ids, each once.
fn ordered_folders() -> Schema {
    let mut ids = ArrayBuilder::new().items(Ref::from_schema_name("FolderId")).unique_items(true);
    ids = ids.description(Some("The folders, first to last, each once; those not named follow in the order they had."));
    ids.build().into()
}
