//! Feeds: listed, added, changed, removed, polled, counted.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::{Request, State},
    http::StatusCode,
    response::IntoResponse,
};
use domain::{
    Feed, FeedId, FeedPatch, FolderId,
    feed_state::{FEED_TITLE_CHARS_MAX, FeedAddress},
    folder::one_line,
    ports::MarkRead,
};
use engine::{AddFeed, AddFeedError};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    error::{Answer, Refused},
    input::{self, PathId},
    no_content,
    views::{self, Categories, OUTSIDE},
};
use crate::{
    auth::Actor,
    error::{ApiError, updated},
    state::AppState,
    work::run_to_completion,
};

pub(super) async fn list(State(state): State<AppState>, actor: Actor) -> Answer {
    let feeds = async {
        let feeds = state.store().feeds(actor.account).await?;
        views_of(&state, &actor, &feeds).await
    };
    Ok(state.answers.json(feeds).await?)
}

/// Feeds as they are shown.
pub(super) async fn views_of(state: &AppState, actor: &Actor, feeds: &[Feed]) -> Result<Vec<Value>, ApiError> {
    let categories = Categories::of(state.store().folders(actor.account).await?, actor.account);
    Ok(feeds.iter().map(|feed| views::feed(feed, &categories, actor.account)).collect())
}

pub(super) async fn get(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    let feed = found(&state, &actor, id).await?;
    Ok(Json(view(&state, &actor, &feed).await?).into_response())
}

async fn found(state: &AppState, actor: &Actor, id: i64) -> Answer<Feed> {
    state.store().feed(actor.account, FeedId(id)).await?.ok_or_else(Refused::none)
}

async fn view(state: &AppState, actor: &Actor, feed: &Feed) -> Answer<Value> {
    let categories = Categories::of(state.store().folders(actor.account).await?, actor.account);
    Ok(views::feed(feed, &categories, actor.account))
}

#[derive(Debug, Deserialize)]
struct NewFeedBody {
    #[serde(default)]
    feed_url: String,
    category_id: Option<i64>,
    username: Option<String>,
    password: Option<String>,
}

pub(super) async fn create(State(state): State<AppState>, actor: Actor, request: Request) -> Answer {
    let body: NewFeedBody = input::json(&state, request).await?;
    if body.feed_url.trim().is_empty() {
        return Err(Refused::bad("the feed URL is empty"));
    }
    let folder_id = body.category_id.filter(|id| *id > 0).and_then(folder_of);
    let url = with_credentials(&body.feed_url, body.username.as_deref(), body.password.as_deref());
    let added = state.engine.add(AddFeed { account: actor.account, url, folder_id, title: None }).await;
    let feed = added.map_err(|error| match error {
        AddFeedError::AlreadyThere(_) => Refused::bad("this feed already exists"),
        AddFeedError::NoSuchFolder => Refused::bad("this category does not exist or does not belong to this user"),
        error => error.into(),
    })?;
    Ok((StatusCode::CREATED, Json(json!({ "feed_id": feed.feed.id }))).into_response())
}

/// The folder of a category; `None` of the one for feeds outside.
fn folder_of(category: i64) -> Option<FolderId> {
    (category != OUTSIDE).then_some(FolderId(category))
}

/// A URL with a user and password in it, as feeds are added with them here.
fn with_credentials(url: &str, username: Option<&str>, password: Option<&str>) -> String {
    let Some(username) = username.filter(|username| !username.is_empty()) else { return url.to_owned() };
    let Ok(mut parsed) = Url::parse(url.trim()) else { return url.to_owned() };
    let is_set = parsed.set_username(username).is_ok() && parsed.set_password(password).is_ok();
    if is_set { parsed.into() } else { url.to_owned() }
}

#[derive(Debug, Deserialize)]
struct FeedBody {
    feed_url: Option<String>,
    title: Option<String>,
    category_id: Option<i64>,
}

pub(super) async fn update(
    State(state): State<AppState>,
    actor: Actor,
    PathId(id): PathId,
    request: Request,
) -> Answer {
    let body: FeedBody = input::json(&state, request).await?;
    let feed = found(&state, &actor, id).await?;
    let patch = patch_of(body, &feed)?;
    let outcome = state.engine.update_feed(actor.account, feed.id, patch).await?;
    let feed = updated(outcome, "feed", "URL").map_err(|error| match error {
        ApiError::UnknownReference(..) => Refused::bad("this category does not exist or does not belong to this user"),
        error => error.into(),
    })?;
    Ok((StatusCode::CREATED, Json(view(&state, &actor, &feed).await?)).into_response())
}

/// What is named and another than before. An empty title or URL is not named.
fn patch_of(body: FeedBody, feed: &Feed) -> Answer<FeedPatch> {
    let title = body.title.as_deref().map(one_line).filter(|title| !title.is_empty());
    if title.as_ref().is_some_and(|title| title.chars().count() > FEED_TITLE_CHARS_MAX) {
        return Err(Refused::bad(format!("the title is longer than {FEED_TITLE_CHARS_MAX} characters")));
    }
    let shown = feed.custom_title.as_ref().or(feed.title.as_ref());
    let title = title.filter(|title| Some(title) != shown);
    let url = body.feed_url.filter(|url| !url.trim().is_empty() && *url != feed.url);
    let address = url.map(|url| FeedAddress::parse(&url)).transpose();
    Ok(FeedPatch {
        custom_title: title.map(Some),
        address: address.map_err(|problem| Refused::bad(format!("invalid feed URL: {problem}")))?,
        folder_id: body.category_id.filter(|id| *id > 0).map(folder_of),
        ..FeedPatch::default()
    })
}

pub(super) async fn delete(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    if !state.engine.delete_feed(actor.account, FeedId(id)).await? {
        return Err(Refused::none());
    }
    Ok(no_content())
}

pub(super) async fn refresh(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    let engine = state.engine.clone();
    let refreshed = run_to_completion(async move { engine.refresh_feed(actor.account, FeedId(id)).await }).await??;
    refreshed.ok_or_else(Refused::none)?;
    Ok(no_content())
}

pub(super) async fn refresh_all(State(state): State<AppState>, _: Actor) -> Answer {
    refresh_due(&state);
    Ok(no_content())
}

/// Polls what is due, after the answer: that takes long. One at a time is enough.
pub(super) fn refresh_due(state: &AppState) {
    let Ok(turn) = state.app_refreshes.clone().try_acquire_owned() else { return };
    let engine = state.engine.clone();
    drop(run_to_completion(async move {
        let _turn = turn;
        if let Err(error) = engine.refresh_due().await {
            tracing::warn!(%error, "refresh failed");
        }
    }));
}

pub(super) async fn mark_all_read(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    let feed = found(&state, &actor, id).await?;
    mark_read(&state, &actor, MarkRead { feed_id: Some(feed.id), ..MarkRead::default() }).await?;
    Ok(no_content())
}

pub(super) async fn mark_read(state: &AppState, actor: &Actor, which: MarkRead) -> Answer<()> {
    let (store, account) = (state.store().clone(), actor.account);
    run_to_completion(async move { store.mark_read(account, which).await }).await??;
    Ok(())
}

pub(super) async fn counters(State(state): State<AppState>, actor: Actor) -> Answer {
    let counters = state.store().feed_counters(actor.account).await?;
    let count = |of: fn(&domain::entry_query::FeedCounter) -> u64| -> BTreeMap<String, u64> {
        counters.iter().map(|counter| (counter.feed_id.to_string(), of(counter))).collect()
    };
    let (reads, unreads) = (count(domain::entry_query::FeedCounter::read), count(|counter| counter.unread));
    Ok(Json(json!({ "reads": reads, "unreads": unreads })).into_response())
}

#[derive(Debug, Deserialize)]
struct DiscoverBody {
    #[serde(default)]
    url: String,
}

pub(super) async fn discover(State(state): State<AppState>, actor: Actor, request: Request) -> Answer {
    let body: DiscoverBody = input::json(&state, request).await?;
    let found = state.engine.discover(actor.account, &body.url).await.map_err(|error| match error {
        AddFeedError::NotAFeed(_) => Refused::none(),
        error => error.into(),
    })?;
    let kind = |url: &str| if url.contains("atom") { "atom" } else { "rss" };
    let offers = found.iter().map(|offer| {
        let title = offer.title.as_deref().unwrap_or(&offer.url);
        json!({ "url": offer.url, "title": title, "type": kind(&offer.url) })
    });
    Ok(Json(offers.collect::<Vec<_>>()).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_credentials_go_into_the_url() {
        for (url, user, password, expect) in [
            ("https://e.org/f", None, None, "https://e.org/f"),
            ("https://e.org/f", Some(""), Some("x"), "https://e.org/f"),
            ("https://e.org/f", Some("ann"), Some("p:w"), "https://ann:p%3Aw@e.org/f"),
            ("https://e.org/f", Some("ann"), None, "https://ann@e.org/f"),
            ("e.org", Some("ann"), Some("x"), "e.org"),
        ] {
            assert_eq!(with_credentials(url, user, password), expect);
        }
    }
}
