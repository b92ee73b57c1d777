//! Entries, and how many are unread.

use std::collections::BTreeMap;

use domain::{Entry, EntryId, FeedId, File, FolderId, entry::Counts};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::ids;
use crate::excerpt::excerpt;

/// A post.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Entry)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryView {
    /// Its id.
    #[schema(value_type = ids::EntryId)]
    id: EntryId,
    /// The feed that it is of.
    #[schema(value_type = ids::FeedId)]
    feed_id: FeedId,
    /// By what it is known again within its feed.
    guid: String,
    /// The page it stands on.
    url: Option<String>,
    /// Its heading, as plain text.
    title: Option<String>,
    /// Who wrote it.
    author: Option<String>,
    /// A short form, as sanitised HTML.
    summary: Option<String>,
    /// The whole, as sanitised HTML.
    content: Option<String>,
    /// Its first words, as plain text; only there if `excerpt` asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
    /// When its publisher says that it was published.
    #[schema(value_type = Option<String>, format = DateTime)]
    published_at: Option<Timestamp>,
    /// When its publisher says that it was changed.
    #[schema(value_type = Option<String>, format = DateTime)]
    updated_at: Option<Timestamp>,
    /// What it is sorted by: when it was published, but not after it was first seen. Never changes.
    #[schema(value_type = String, format = DateTime)]
    sort_at: Timestamp,
    /// Whether it has been read.
    is_read: bool,
    /// Whether it has been starred.
    is_starred: bool,
    /// What it is about.
    categories: Vec<String>,
    /// Files that belong to it.
    enclosures: Vec<FileView>,
}

impl From<Entry> for EntryView {
    fn from(entry: Entry) -> Self {
        let Entry {
            id,
            feed_id,
            guid,
            url,
            title,
            author,
            summary,
            content,
            published_at,
            updated_at,
            sort_at,
            received_at: _,
            is_read,
            is_starred,
            categories,
            enclosures,
        } = entry;
        Self {
            id,
            feed_id,
            guid,
            url,
            title,
            author,
            summary,
            content,
            excerpt: None,
            published_at,
            updated_at,
            sort_at,
            is_read,
            is_starred,
            categories,
            enclosures: enclosures.into_iter().map(FileView::from).collect(),
        }
    }
}

impl EntryView {
    /// With its first words in the place of its texts.
    pub(crate) fn with_excerpt(mut entry: Entry) -> Self {
        let (summary, content) = (entry.summary.take(), entry.content.take());
        let text = summary.as_deref().and_then(excerpt).or_else(|| content.as_deref().and_then(excerpt));
        Self { excerpt: Some(text.unwrap_or_default()), ..Self::from(entry) }
    }
}

/// A file that belongs to an entry.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = File)]
pub(crate) struct FileView {
    /// Where it is.
    url: String,
    /// Its media type.
    #[serde(rename = "type")]
    mime: Option<String>,
    /// Its bytes, as the publisher says.
    length: Option<u64>,
    /// How long it plays, in seconds.
    #[serde(rename = "durationSecs")]
    duration_secs: Option<u32>,
}

impl From<File> for FileView {
    fn from(file: File) -> Self {
        let File { url, mime, length, duration_secs } = file;
        Self { url, mime, length, duration_secs }
    }
}

/// Unread entries, and starred ones.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Counts)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CountsView {
    /// Unread in all.
    total: u64,
    /// Starred in all, read or not.
    starred: u64,
    /// Unread in each folder that has a feed.
    #[schema(value_type = BTreeMap<String, u64>)]
    by_folder: BTreeMap<FolderId, u64>,
    /// Unread in each feed.
    #[schema(value_type = BTreeMap<String, u64>)]
    by_feed: BTreeMap<FeedId, u64>,
}

impl From<Counts> for CountsView {
    fn from(counts: Counts) -> Self {
        let Counts { total, starred, by_folder, by_feed } = counts;
        Self { total, starred, by_folder, by_feed }
    }
}

#[cfg(test)]
mod tests {
    use domain::delivery::PayloadEntry;

    use super::*;

    #[test]
    fn d2_payload_shows_entry_as_api_does() {
        let entry = Entry {
            id: EntryId(7),
            feed_id: FeedId(3),
            guid: "g".to_owned(),
            url: Some("https://e.org/7".to_owned()),
            title: Some("Seven".to_owned()),
            author: None,
            summary: Some("short".to_owned()),
            content: Some("<p>long</p>".to_owned()),
            published_at: None,
            updated_at: Some(Timestamp::UNIX_EPOCH),
            sort_at: Timestamp::UNIX_EPOCH,
            received_at: Timestamp::UNIX_EPOCH,
            is_read: false,
            is_starred: true,
            categories: vec!["c".to_owned()],
            enclosures: vec![File {
                url: "https://e.org/7.mp3".to_owned(),
                mime: Some("audio/mpeg".to_owned()),
                length: Some(12),
                duration_secs: None,
            }],
        };
        let sent = serde_json::to_string(&PayloadEntry::from(&entry)).unwrap();
        assert_eq!(serde_json::to_string(&EntryView::from(entry)).unwrap(), sent);
    }
}
