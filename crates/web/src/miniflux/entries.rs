//! Entries: lists, one by one, and what is marked.

use axum::{
    Json,
    extract::{Request, State},
    http::{StatusCode, Uri},
    response::IntoResponse,
};
use domain::{
    Entry, EntryFilter, EntryId, EntryPatch, FeedId, Search,
    entry::PAGE_ENTRIES_MAX,
    entry_query::{EntryQuery, Place},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    entry_query::{ListQuery, place},
    error::{Answer, Refused},
    input::{self, PathId, PathIds},
    no_content,
    views::{Categories, EntryViews, enclosure, enclosure_place, reading_minutes},
};
use crate::{auth::Actor, entry_stream::EntryStream, state::AppState, work::patch_to_the_end};

/// Entries that are marked by one request.
const MARKED_MAX: usize = 10_000;

/// Entries that a search finds at most.
const SEARCH_FOUND_MAX: usize = 1_000;

pub(super) async fn list(State(state): State<AppState>, actor: Actor, uri: Uri) -> Answer {
    find(&state, &actor, ListQuery::read(uri.query())?).await
}

pub(super) async fn of_feed(State(state): State<AppState>, actor: Actor, PathId(id): PathId, uri: Uri) -> Answer {
    let mut list = ListQuery::read(uri.query())?;
    // A parameter of the same meaning does not lead to another feed.
    list.query.feed_id = Some(FeedId(id));
    find(&state, &actor, list).await
}

pub(super) async fn of_category(State(state): State<AppState>, actor: Actor, PathId(id): PathId, uri: Uri) -> Answer {
    let mut list = ListQuery::read(uri.query())?;
    list.query.place = Some(place(id));
    find(&state, &actor, list).await
}

async fn find(state: &AppState, actor: &Actor, list: ListQuery) -> Answer {
    let account = actor.account;
    let (feeds, folders) = (state.store().feeds(account).await?, state.store().folders(account).await?);
    if list.query.feed_id.is_some_and(|id| feeds.iter().all(|feed| feed.id != id)) {
        return Err(Refused::bad("invalid feed ID"));
    }
    if let Some(Place::Folder(id)) = list.query.place
        && folders.iter().all(|folder| folder.id != id)
    {
        return Err(Refused::bad("invalid category ID"));
    }
    let query = match &list.search {
        Some(search) if list.query.among.is_none() => {
            EntryQuery { among: Some(search_ids(state, actor, search, &list.query).await?), ..list.query }
        }
        _ => list.query,
    };
    let total = total(state, actor, &query).await?;
    let ids = state.store().find_entries(account, &query, list.offset, list.limit).await?;
    let views = EntryViews::of(feeds, Categories::of(folders, account), account);
    let head = format!(r#"{{"total":{total},"entries":["#);
    Ok(EntryStream::new(state, account, ids, views, head, "]}").respond().await?)
}

/// How many there are in all: as it is kept, or counted up to a limit.
async fn total(state: &AppState, actor: &Actor, query: &EntryQuery) -> Answer<u64> {
    let counts = state.store().counts(actor.account).await?;
    match query.kept_count(&counts) {
        Some(total) => Ok(total),
        None => Ok(state.store().count_entries(actor.account, query).await?),
    }
}

/// What a search finds, the newest so many.
async fn search_ids(state: &AppState, actor: &Actor, search: &Search, query: &EntryQuery) -> Answer<Vec<EntryId>> {
    let mut found = Vec::new();
    if search.is_empty() {
        return Ok(found);
    }
    let folder_id = if let Some(Place::Folder(id)) = query.place { Some(id) } else { None };
    let filter = EntryFilter {
        feed_id: query.feed_id,
        folder_id,
        unread: query.unread,
        starred: query.starred,
        search: Some(search.clone()),
        without_texts: true,
        ..EntryFilter::default()
    };
    let mut after = None;
    while found.len() < SEARCH_FOUND_MAX {
        let page = state.store().entries(actor.account, &filter, PAGE_ENTRIES_MAX, after).await?;
        found.extend(page.entries.iter().map(|entry| entry.id));
        after = page.next_cursor;
        if after.is_none() || page.entries.is_empty() {
            break;
        }
    }
    found.truncate(SEARCH_FOUND_MAX);
    Ok(found)
}

pub(super) async fn get(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    one(&state, &actor, id, StatusCode::OK, |_| true).await
}

pub(super) async fn one_of_feed(State(state): State<AppState>, actor: Actor, PathIds(feed, id): PathIds) -> Answer {
    one(&state, &actor, id, StatusCode::OK, |entry| entry.feed_id == FeedId(feed)).await
}

pub(super) async fn one_of_category(
    State(state): State<AppState>,
    actor: Actor,
    PathIds(category, id): PathIds,
) -> Answer {
    let query = EntryQuery { place: Some(place(category)), among: Some(vec![EntryId(id)]), ..EntryQuery::default() };
    let is_there = !state.store().find_entries(actor.account, &query, 0, 1).await?.is_empty();
    one(&state, &actor, id, StatusCode::OK, |_| is_there).await
}

/// An entry, if it is what was asked for.
async fn one(
    state: &AppState,
    actor: &Actor,
    id: i64,
    status: StatusCode,
    is_wanted: impl FnOnce(&Entry) -> bool,
) -> Answer {
    let (account, id) = (actor.account, EntryId(id));
    let entry = state.store().entry(account, id).await?.filter(is_wanted).ok_or_else(Refused::none)?;
    let changed = state.store().changed_at(account, &[id]).await?.first().map(|(_, at)| *at);
    let feed: Vec<_> = state.store().feed(account, entry.feed_id).await?.into_iter().collect();
    let views = EntryViews::of(feed, Categories::of(state.store().folders(account).await?, account), account);
    Ok((status, Json(views.entry(&entry, changed))).into_response())
}

#[derive(Debug, Deserialize)]
struct StatusBody {
    #[serde(default)]
    entry_ids: Vec<EntryId>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    starred: Option<bool>,
}

impl StatusBody {
    fn patch(&self) -> Answer<EntryPatch> {
        let is_read = match self.status.as_deref() {
            // Nothing is removed before its time.
            Some("read" | "removed") => Some(true),
            Some("unread") => Some(false),
            None if self.starred.is_some() => None,
            _ => return Err(Refused::bad("invalid entry status, valid status values are: \"read\", \"unread\"")),
        };
        Ok(EntryPatch { is_read, is_starred: self.starred })
    }
}

pub(super) async fn update_status(State(state): State<AppState>, actor: Actor, request: Request) -> Answer {
    let body: StatusBody = input::json(&state, request).await?;
    if body.entry_ids.is_empty() {
        return Err(Refused::bad("the list of entry IDs is empty"));
    }
    if body.entry_ids.len() > MARKED_MAX {
        return Err(Refused::bad(format!("more than {MARKED_MAX} entries; send several requests")));
    }
    let patch = body.patch()?;
    patch_to_the_end(state.store().clone(), actor.account, body.entry_ids, patch).await?;
    Ok(no_content())
}

/// Entries are as their publishers wrote them, for all who follow the feed: only marks are changed.
pub(super) async fn update(
    State(state): State<AppState>,
    actor: Actor,
    PathId(id): PathId,
    request: Request,
) -> Answer {
    let body: StatusBody = input::json(&state, request).await?;
    if body.status.is_none() && body.starred.is_none() {
        return Err(Refused::bad("only `status` and `starred` can be changed, not what an entry says"));
    }
    state.store().patch_entries(actor.account, &[EntryId(id)], body.patch()?).await?;
    one(&state, &actor, id, StatusCode::CREATED, |_| true).await
}

pub(super) async fn toggle_star(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    state.store().toggle_star(actor.account, EntryId(id)).await?.ok_or_else(Refused::none)?;
    Ok(no_content())
}

/// What the feed has of the entry: the page behind it is not fetched.
pub(super) async fn content(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    let entry = state.store().entry(actor.account, EntryId(id)).await?.ok_or_else(Refused::none)?;
    let content = entry.content.or(entry.summary).unwrap_or_default();
    let reading_time = reading_minutes(&content);
    Ok(Json(json!({ "content": content, "reading_time": reading_time })).into_response())
}

pub(super) async fn save(_: Actor) -> Answer {
    Err(Refused::bad("no third-party integration enabled"))
}

async fn enclosure_of(state: &AppState, actor: &Actor, id: i64) -> Answer<serde_json::Value> {
    let (entry, place) = enclosure_place(id).ok_or_else(Refused::none)?;
    let filter = EntryFilter { ids: Some(vec![entry]), without_texts: true, ..EntryFilter::default() };
    let page = state.store().entries(actor.account, &filter, 1, None).await?;
    let file = page.entries.first().and_then(|entry| entry.enclosures.get(place)).ok_or_else(Refused::none)?;
    Ok(enclosure(actor.account, entry, place, file))
}

pub(super) async fn enclosure_get(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    Ok(Json(enclosure_of(&state, &actor, id).await?).into_response())
}

/// How far somebody has listened is not kept.
pub(super) async fn update_enclosure(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    enclosure_of(&state, &actor, id).await?;
    Ok(no_content())
}

/// Nothing: what is read is removed in its time.
pub(super) async fn flush_history(_: Actor) -> Answer {
    Ok(StatusCode::ACCEPTED.into_response())
}
