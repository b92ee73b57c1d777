//! Feeds, followed, renamed, moved and left; and all of them as OPML.

use axum::{
    Json,
    body::Body,
    extract::Request,
    http::{Method, header},
    response::IntoResponse,
};
use domain::{FeedId, FeedPatch, FolderId, feed_state::FEED_TITLE_CHARS_MAX, folder::one_line, ports::UpdateOutcome};
use engine::{AddFeed, AddFeedError};
use serde_json::json;

use super::{
    refusal::{Answer, Refusal},
    request::Call,
    stream::{Stream, feed_id, title_of},
    tags::folder_of,
};
use crate::{error::ApiError, routes::opml, state::AppState};

/// Feeds that one call changes.
const FEEDS_MAX: usize = 100;

/// What a call wants of feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Subscribe,
    Unsubscribe,
    Edit,
}

/// One or several feeds, each with a title of its own; a label is a folder, and a label that is removed is none.
pub(super) async fn edit(call: &Call) -> Result<(), Refusal> {
    let action = match call.params.first("ac") {
        Some("subscribe") => Action::Subscribe,
        Some("unsubscribe") => Action::Unsubscribe,
        Some("edit") => Action::Edit,
        _ => return Err(Refusal::BadRequest),
    };
    let streams: Option<Vec<Stream>> = call.params.all("s").take(FEEDS_MAX + 1).map(Stream::parse).collect();
    let streams = streams.filter(|streams| (1..=FEEDS_MAX).contains(&streams.len())).ok_or(Refusal::BadRequest)?;
    let titles: Vec<&str> = call.params.all("t").collect();
    let label = if action == Action::Unsubscribe { Label::Kept } else { label(call).await? };
    for (place, stream) in streams.iter().enumerate() {
        let title = titles.get(place).map(|title| one_line(title)).filter(|title| !title.is_empty());
        if title.as_ref().is_some_and(|title| title.chars().count() > FEED_TITLE_CHARS_MAX) {
            return Err(Refusal::BadRequest);
        }
        let patch = FeedPatch { custom_title: title.map(Some), ..FeedPatch::default() };
        edit_one(call, action, stream, label, patch).await?;
    }
    Ok(())
}

/// What becomes of the folder of feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Kept,
    /// They go there, wherever they were.
    Added(FolderId),
    /// Those that are there go to none; the others stay where they are.
    Removed(FolderId),
}

/// The label that is added, or the one that is only removed. One that there is not is on no feed.
async fn label(call: &Call) -> Result<Label, Refusal> {
    let label = |name: &str| call.params.first(name).and_then(Stream::parse);
    match (label("a"), label("r")) {
        (Some(Stream::Label(label)), _) => Ok(Label::Added(folder_of(call, &label).await?)),
        (_, Some(Stream::Label(label))) => {
            Ok(call.folder(&label).await?.map_or(Label::Kept, |folder| Label::Removed(folder.id)))
        }
        _ => Ok(Label::Kept),
    }
}

impl Label {
    /// Where a feed goes, if it goes anywhere.
    async fn folder_id(self, call: &Call, feed: Option<FeedId>) -> Result<Option<Option<FolderId>>, Refusal> {
        match (self, feed) {
            (Self::Added(folder), _) => Ok(Some(Some(folder))),
            (Self::Removed(folder), Some(id)) => {
                let feed = call.state.store().feed(call.actor.account, id).await?;
                Ok(feed.filter(|feed| feed.folder_id == Some(folder)).map(|_| None))
            }
            (Self::Kept, _) | (Self::Removed(_), None) => Ok(None),
        }
    }
}

async fn edit_one(call: &Call, action: Action, stream: &Stream, label: Label, patch: FeedPatch) -> Result<(), Refusal> {
    let (engine, account) = (&call.state.engine, call.actor.account);
    let feed = call.feed(stream).await?;
    let patch = FeedPatch { folder_id: label.folder_id(call, feed).await?, ..patch };
    match (action, feed, stream) {
        (Action::Subscribe, None, Stream::FeedUrl(url)) => {
            let (folder_id, title) = (patch.folder_id.flatten(), patch.custom_title.flatten());
            add(call, AddFeed { account, url: url.clone(), folder_id, title })
                .await?
                .map_err(|_| Refusal::BadRequest)?;
            Ok(())
        }
        (Action::Unsubscribe, Some(id), _) => {
            let is_left = engine.delete_feed(account, id).await?;
            is_left.then_some(()).ok_or(Refusal::BadRequest)
        }
        // What is there already is changed.
        (Action::Subscribe | Action::Edit, Some(id), _) => match engine.update_feed(account, id, patch).await? {
            UpdateOutcome::Updated(_) => Ok(()),
            UpdateOutcome::NotFound | UpdateOutcome::NoSuchFolder | UpdateOutcome::Conflict(_) => {
                Err(Refusal::BadRequest)
            }
        },
        _ => Err(Refusal::BadRequest),
    }
}

/// Adds a feed, or finds that it is there; otherwise why it cannot be added. What went wrong inside is an error.
async fn add(call: &Call, new: AddFeed) -> Result<Result<FeedId, String>, Refusal> {
    match call.state.engine.add(new).await {
        Ok(added) => Ok(Ok(added.feed.id)),
        Err(AddFeedError::AlreadyThere(id)) => Ok(Ok(id)),
        Err(AddFeedError::Store(error)) => Err(error.into()),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// Adds what somebody typed: a feed, or a page that offers one.
pub(super) async fn quickadd(call: &Call) -> Answer {
    let typed = call.params.first("quickadd").ok_or(Refusal::BadRequest)?;
    let url = typed.strip_prefix("feed/").unwrap_or(typed).to_owned();
    let new = AddFeed { account: call.actor.account, url, folder_id: None, title: None };
    let id = match add(call, new).await? {
        Ok(id) => id,
        Err(reason) => return Ok(Json(json!({ "numResults": 0, "query": typed, "error": reason })).into_response()),
    };
    let feed = call.state.store().feed(call.actor.account, id).await?;
    let name = feed.as_ref().map(title_of).unwrap_or_default();
    let answer = json!({ "numResults": 1, "query": typed, "streamId": feed_id(id), "streamName": name });
    Ok(Json(answer).into_response())
}

pub(super) async fn export(call: &Call) -> Answer {
    let make = async {
        let file = call.state.engine.export_opml(call.actor.account).await?;
        Ok(([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], file).into_response())
    };
    Ok(call.state.answers.answer(make).await?)
}

/// Takes in an OPML file, which is the body itself: who asks stands in the header or in the query.
pub(super) async fn import(state: &AppState, request: Request) -> Answer {
    if request.method() != Method::POST {
        return Err(ApiError::MethodNotAllowed.into());
    }
    let (parts, body) = request.into_parts();
    let call = Call::of(state, Request::from_parts(parts.clone(), Body::empty())).await?;
    call.actor.check_write()?;
    let import = opml::take_in(state, call.actor.account, Request::from_parts(parts, body)).await;
    match import {
        Ok(_) => Ok("OK".into_response()),
        Err(ApiError::BadRequest(_) | ApiError::UnsupportedMediaType(_)) => Err(Refusal::BadRequest),
        Err(error) => Err(error.into()),
    }
}
