//! Categories: the account's folders, and one for feeds that are in none.

use axum::{
    Json,
    extract::{Request, State},
    http::{StatusCode, Uri},
    response::IntoResponse,
};
use domain::{
    AccountId, Feed, Folder, FolderId,
    entry_query::Place,
    folder::{FOLDER_NAME_CHARS_MAX, one_line},
    ports::{Conflict, MarkRead, Store, StoreResult},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    entry_query::place,
    error::{Answer, Refused},
    feeds::{mark_read, refresh_due, views_of},
    input::{self, PathId},
    no_content,
    views::{Category, OUTSIDE},
};
use crate::{
    auth::Actor,
    error::{ApiError, updated},
    state::AppState,
    work::run_to_completion,
};

#[derive(Debug, Deserialize)]
struct TitleBody {
    #[serde(default)]
    title: String,
}

impl TitleBody {
    fn name(&self) -> Answer<String> {
        let name = one_line(&self.title);
        if name.is_empty() {
            return Err(Refused::bad("the title is mandatory"));
        }
        if self.title.chars().count() > FOLDER_NAME_CHARS_MAX {
            return Err(Refused::bad(format!("the title is longer than {FOLDER_NAME_CHARS_MAX} characters")));
        }
        Ok(name)
    }
}

pub(super) async fn list(State(state): State<AppState>, actor: Actor, uri: Uri) -> Answer {
    let folders = state.store().folders(actor.account).await?;
    let categories = std::iter::once(Category::outside(actor.account))
        .chain(folders.into_iter().map(|folder| Category::of(folder, actor.account)));
    if !wants_counts(uri.query().unwrap_or_default()) {
        return Ok(Json(categories.collect::<Vec<_>>()).into_response());
    }
    let feeds = state.store().feeds(actor.account).await?;
    Ok(Json(categories.map(|category| counted(&category, &feeds)).collect::<Vec<_>>()).into_response())
}

fn wants_counts(query: &str) -> bool {
    url::form_urlencoded::parse(query.as_bytes())
        .any(|(name, value)| name == "counts" && matches!(&*value, "true" | "1"))
}

fn counted(category: &Category, feeds: &[Feed]) -> Value {
    let of = |feed: &&Feed| is_in(feed, category.id);
    let unread: u64 = feeds.iter().filter(of).map(|feed| feed.unread_count).sum();
    let mut counted = json!(category);
    counted["feed_count"] = feeds.iter().filter(of).count().into();
    counted["total_unread"] = unread.into();
    counted
}

fn is_in(feed: &Feed, category: i64) -> bool {
    match place(category) {
        Place::Folder(folder) => feed.folder_id == Some(folder),
        Place::Outside => feed.folder_id.is_none(),
    }
}

pub(super) async fn create(State(state): State<AppState>, actor: Actor, request: Request) -> Answer {
    let body: TitleBody = input::json(&state, request).await?;
    match state.store().create_folder(actor.account, &body.name()?).await? {
        Ok(folder) => Ok(created(folder, &actor)),
        Err(Conflict) => Err(Refused::bad("this category already exists")),
    }
}

fn created(folder: Folder, actor: &Actor) -> axum::response::Response {
    (StatusCode::CREATED, Json(Category::of(folder, actor.account))).into_response()
}

pub(super) async fn update(
    State(state): State<AppState>,
    actor: Actor,
    PathId(id): PathId,
    request: Request,
) -> Answer {
    let body: TitleBody = input::json(&state, request).await?;
    check_folder(id)?;
    let renamed = state.store().rename_folder(actor.account, FolderId(id), &body.name()?).await?;
    let folder = updated(renamed, "folder", "name").map_err(|error| match error {
        ApiError::Conflict(..) => Refused::bad("this category already exists"),
        error => error.into(),
    })?;
    Ok(created(folder, &actor))
}

/// Feeds stay, in no category but the one for those.
pub(super) async fn delete(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    check_folder(id)?;
    if !state.store().delete_folder(actor.account, FolderId(id)).await? {
        return Err(Refused::none());
    }
    Ok(no_content())
}

fn check_folder(id: i64) -> Answer<()> {
    if id == OUTSIDE {
        return Err(Refused::bad("this category is for feeds without a folder, and stays as it is"));
    }
    Ok(())
}

async fn check_there(state: &AppState, actor: &Actor, id: i64) -> Answer<()> {
    let is_there =
        id == OUTSIDE || state.store().folders(actor.account).await?.iter().any(|folder| folder.id == FolderId(id));
    if is_there { Ok(()) } else { Err(Refused::none()) }
}

pub(super) async fn feeds(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    check_there(&state, &actor, id).await?;
    let feeds: Vec<Feed> =
        state.store().feeds(actor.account).await?.into_iter().filter(|feed| is_in(feed, id)).collect();
    Ok(state.answers.json(views_of(&state, &actor, &feeds)).await?)
}

pub(super) async fn mark_all_read(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    check_there(&state, &actor, id).await?;
    match place(id) {
        Place::Folder(folder) => {
            mark_read(&state, &actor, MarkRead { folder_id: Some(folder), ..MarkRead::default() }).await?;
        }
        Place::Outside => {
            let (store, account) = (state.store().clone(), actor.account);
            // To the end, also if the client goes away.
            run_to_completion(async move { mark_outside_read(&*store, account).await }).await??;
        }
    }
    Ok(no_content())
}

/// Feed by feed: those in no folder have no mark of their own.
async fn mark_outside_read(store: &dyn Store, account: AccountId) -> StoreResult<()> {
    let feeds = store.feeds(account).await?;
    for feed in feeds.iter().filter(|feed| feed.folder_id.is_none() && feed.unread_count > 0) {
        store.mark_read(account, MarkRead { feed_id: Some(feed.id), ..MarkRead::default() }).await?;
    }
    Ok(())
}

pub(super) async fn refresh(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    check_there(&state, &actor, id).await?;
    refresh_due(&state);
    Ok(no_content())
}
