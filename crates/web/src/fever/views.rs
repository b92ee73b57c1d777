//! The shapes of Fever's answers.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{Entry, EntryId, Feed, FeedId, Folder, FolderId, icon::Icon};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::listed;
use crate::entry_stream::EntryShape;

pub(super) fn groups(folders: Vec<Folder>) -> Value {
    folders.into_iter().map(|folder| json!({ "id": folder.id, "title": folder.name })).collect()
}

/// Which feeds are in which group. Those in none are in no group here either.
pub(super) fn feed_groups(feeds: &[Feed]) -> Value {
    let mut by_folder: BTreeMap<FolderId, Vec<i64>> = BTreeMap::new();
    for feed in feeds {
        if let Some(folder) = feed.folder_id {
            by_folder.entry(folder).or_default().push(feed.id.0);
        }
    }
    let group =
        |(folder, ids): (FolderId, Vec<i64>)| json!({ "group_id": folder, "feed_ids": listed(ids.into_iter()) });
    by_folder.into_iter().map(group).collect()
}

pub(super) fn feeds(feeds: Vec<Feed>) -> Value {
    let feed = |feed: Feed| {
        let title = feed.custom_title.or(feed.title).unwrap_or_else(|| feed.url.clone());
        json!({
            "id": feed.id,
            "favicon_id": feed.icon_id.map_or(0, |id| id.0),
            "title": title,
            "site_url": feed.site_url.unwrap_or_else(|| feed.url.clone()),
            "url": feed.url,
            "is_spark": 0,
            "last_updated_on_time": feed.last_fetched_at.map_or(0, Timestamp::as_second),
        })
    };
    feeds.into_iter().map(feed).collect()
}

pub(super) fn favicons(icons: &[Icon]) -> Value {
    let favicon = |icon: &Icon| {
        let data = format!("{};base64,{}", icon.kind.mime(), STANDARD.encode(&icon.bytes));
        json!({ "id": icon.id, "data": data })
    };
    icons.iter().map(favicon).collect()
}

/// An entry as Fever shows it.
#[derive(Serialize)]
struct Item<'a> {
    id: EntryId,
    feed_id: FeedId,
    title: &'a str,
    author: &'a str,
    html: &'a str,
    url: &'a str,
    is_saved: u8,
    is_read: u8,
    created_on_time: i64,
}

pub(super) struct ItemShape;

impl EntryShape for ItemShape {
    const SHOWS_CHANGE: bool = false;

    fn write(&self, entry: &Entry, _: Option<Timestamp>, into: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(
            into,
            &Item {
                id: entry.id,
                feed_id: entry.feed_id,
                title: entry.title.as_deref().unwrap_or_default(),
                author: entry.author.as_deref().unwrap_or_default(),
                html: entry.content.as_deref().or(entry.summary.as_deref()).unwrap_or_default(),
                url: entry.url.as_deref().unwrap_or_default(),
                is_saved: entry.is_starred.into(),
                is_read: entry.is_read.into(),
                created_on_time: entry.sort_at.as_second(),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use domain::{IconId, raster::RasterKind};

    use super::*;

    #[test]
    fn s2_icons_are_data_urls_without_their_beginning() {
        let icon = Icon { id: IconId(7), kind: RasterKind::Png, bytes: b"x".to_vec() };
        assert_eq!(favicons(&[icon]), json!([{ "id": 7, "data": "image/png;base64,eA==" }]));
    }
}
