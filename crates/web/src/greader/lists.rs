//! What an account has: its subscriptions, its tags, and how much of each is unread.

use std::collections::BTreeMap;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{Feed, FeedId, FolderId};
use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    icons::IconAddresses,
    refusal::{Answer, Refusal},
    request::Call,
    stream::{feed_id, label_id, state_id, title_of},
};
use crate::error::ApiError;

#[derive(Debug, Serialize)]
struct Subscriptions {
    subscriptions: Vec<Subscription>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Subscription {
    id: String,
    title: String,
    categories: Vec<Category>,
    url: String,
    html_url: String,
    icon_url: String,
}

#[derive(Debug, Serialize)]
struct Category {
    id: String,
    label: String,
}

#[derive(Debug, Serialize)]
struct Tags {
    tags: Vec<Tag>,
}

#[derive(Debug, Serialize)]
struct Tag {
    id: String,
    /// Only that of a folder is said: clients drop the feeds in what they take for something else.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct UnreadCounts {
    max: u64,
    unreadcounts: Vec<UnreadCount>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UnreadCount {
    id: String,
    count: u64,
    newest_item_timestamp_usec: String,
}

pub(super) async fn subscriptions(call: &Call) -> Answer {
    let (store, account) = (call.state.store(), call.actor.account);
    let (folders, icons) = (folder_names(call).await?, IconAddresses::of(call));
    let subscription = |feed: Feed| Subscription {
        id: feed_id(feed.id),
        title: title_of(&feed).to_owned(),
        categories: feed.folder_id.and_then(|id| folders.get(&id)).map(|name| category(name)).into_iter().collect(),
        html_url: feed.site_url.clone().unwrap_or_else(|| feed.url.clone()),
        icon_url: feed.icon_id.map(|_| icons.address(account, feed.id)).unwrap_or_default(),
        url: feed.url,
    };
    let subscriptions = store.feeds(account).await?.into_iter().map(subscription).collect();
    unless_known(call, &Subscriptions { subscriptions })
}

pub(super) async fn tags(call: &Call) -> Answer {
    let states = ["starred"].map(|name| Tag { id: state_id(name), kind: None });
    let folders = call.state.store().folders(call.actor.account).await?;
    let folders = folders.into_iter().map(|folder| Tag { id: label_id(&folder.name), kind: Some("folder") });
    unless_known(call, &Tags { tags: states.into_iter().chain(folders).collect() })
}

/// Of feeds and folders that have something unread, and of all.
pub(super) async fn unread_counts(call: &Call) -> Answer {
    let (store, account) = (call.state.store(), call.actor.account);
    let counts = store.counts(account).await?;
    let newest: BTreeMap<FeedId, Timestamp> = store.newest_unread(account).await?.into_iter().collect();
    let folders = folder_names(call).await?;
    let mut newest_of_folder: BTreeMap<FolderId, Timestamp> = BTreeMap::new();
    for feed in store.feeds(account).await? {
        if let (Some(folder), Some(at)) = (feed.folder_id, newest.get(&feed.id)) {
            let last = newest_of_folder.entry(folder).or_insert(*at);
            *last = (*last).max(*at);
        }
    }
    let of_feeds = counts.by_feed.iter().map(|(id, count)| unread(feed_id(*id), *count, newest.get(id)));
    let of_folders = counts
        .by_folder
        .iter()
        .filter_map(|(id, count)| Some(unread(label_id(folders.get(id)?), *count, newest_of_folder.get(id))));
    let of_all = unread(state_id("reading-list"), counts.total, newest.values().max());
    let unreadcounts = of_feeds.chain(of_folders).filter(|unread| unread.count > 0).chain([of_all]).collect();
    Ok(Json(UnreadCounts { max: counts.total, unreadcounts }).into_response())
}

fn unread(id: String, count: u64, newest: Option<&Timestamp>) -> UnreadCount {
    let newest = newest.map_or(0, |at| at.as_microsecond());
    UnreadCount { id, count, newest_item_timestamp_usec: newest.to_string() }
}

pub(super) async fn folder_names(call: &Call) -> Result<BTreeMap<FolderId, String>, Refusal> {
    let folders = call.state.store().folders(call.actor.account).await?;
    Ok(folders.into_iter().map(|folder| (folder.id, folder.name)).collect())
}

fn category(name: &str) -> Category {
    Category { id: label_id(name), label: name.to_owned() }
}

/// An answer that clients ask for again and again: 304 if they have it already.
fn unless_known(call: &Call, answer: &impl Serialize) -> Answer {
    let written = serde_json::to_vec(answer);
    let body = written.map_err(|error| ApiError::Internal(format!("a list was not written: {error}")))?;
    let digest: [u8; 32] = Sha256::digest(&body).into();
    let tag: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let known = call.headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let is_known = known.flat_map(|value| value.split(',')).any(|known| known.trim().trim_start_matches("W/") == tag);
    let mut response: Response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, "application/json")], body).into_response()
    };
    let headers = response.headers_mut();
    headers.extend(HeaderValue::try_from(tag).ok().map(|tag| (header::ETAG, tag)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(response)
}
