//! The shape of an item. Clients differ in what they read of it: some take only `canonical`, some only `alternate`.

use std::collections::HashMap;

use domain::{Entry, FeedId};
use serde::Serialize;

use super::{
    ids::long_id,
    lists::folder_names,
    refusal::Refusal,
    request::Call,
    stream::{feed_id, label_id, state_id, title_of},
};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item {
    id: String,
    crawl_time_msec: String,
    timestamp_usec: String,
    /// Some keep it in 32 bits.
    published: i32,
    /// Always there: Liferea dates items by it alone.
    updated: i32,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    canonical: Vec<Link>,
    alternate: Vec<Link>,
    categories: Vec<String>,
    origin: Origin,
    summary: Summary,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    enclosure: Vec<Enclosure>,
}

#[derive(Debug, Serialize)]
struct Link {
    href: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
}

/// The feed of an item.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Origin {
    stream_id: String,
    title: String,
    html_url: String,
}

#[derive(Debug, Serialize)]
struct Summary {
    content: String,
}

#[derive(Debug, Serialize)]
struct Enclosure {
    href: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
}

/// The feeds that items may be of, and their folders.
#[derive(Debug)]
pub(super) struct Origins(HashMap<FeedId, (Origin, Option<String>)>);

impl Origins {
    pub(super) async fn of(call: &Call) -> Result<Self, Refusal> {
        let folders = folder_names(call).await?;
        let feeds = call.state.store().feeds(call.actor.account).await?;
        let origin = feeds.into_iter().map(|feed| {
            let html_url = feed.site_url.clone().unwrap_or_else(|| feed.url.clone());
            let origin = Origin { stream_id: feed_id(feed.id), title: title_of(&feed).to_owned(), html_url };
            (feed.id, (origin, feed.folder_id.and_then(|id| folders.get(&id)).map(|name| label_id(name))))
        });
        Ok(Self(origin.collect()))
    }

    pub(super) fn title(&self, feed: FeedId) -> Option<&str> {
        self.0.get(&feed).map(|(origin, _)| origin.title.as_str())
    }

    pub(super) fn html_url(&self, feed: FeedId) -> Option<&str> {
        self.0.get(&feed).map(|(origin, _)| origin.html_url.as_str())
    }

    pub(super) fn item(&self, entry: Entry) -> Item {
        // One that was left a moment ago.
        let unknown = || Origin { stream_id: feed_id(entry.feed_id), title: String::new(), html_url: String::new() };
        let (origin, label) = self
            .0
            .get(&entry.feed_id)
            .map_or_else(|| (unknown(), None), |(origin, label)| (origin.clone(), label.clone()));
        let href = entry.url.clone().unwrap_or_default();
        Item {
            id: long_id(entry.id),
            crawl_time_msec: entry.received_at.as_millisecond().to_string(),
            timestamp_usec: entry.received_at.as_microsecond().to_string(),
            published: seconds(entry.sort_at),
            updated: seconds(entry.updated_at.unwrap_or(entry.sort_at)),
            categories: categories(&entry, label),
            title: entry.title.unwrap_or_default(),
            author: entry.author,
            canonical: vec![Link { href: href.clone(), kind: None }],
            alternate: vec![Link { href, kind: Some("text/html") }],
            origin,
            summary: Summary { content: entry.content.or(entry.summary).unwrap_or_default() },
            enclosure: entry
                .enclosures
                .into_iter()
                .map(|file| Enclosure { href: file.url, kind: file.mime, length: file.length })
                .collect(),
        }
    }
}

fn categories(entry: &Entry, label: Option<String>) -> Vec<String> {
    let states = [("reading-list", true), ("read", entry.is_read), ("starred", entry.is_starred)];
    let states = states.into_iter().filter(|(_, is_so)| *is_so).map(|(name, _)| state_id(name));
    states.chain(label).collect()
}

fn seconds(at: jiff::Timestamp) -> i32 {
    i32::try_from(at.as_second().max(0)).unwrap_or(i32::MAX)
}
