//! The shapes of Miniflux's answers. Fields of what there is not here are there and empty, because clients read them.

use std::{collections::HashMap, sync::OnceLock};

use domain::{AccountId, Entry, EntryId, Feed, FeedId, File, Folder, FolderId};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{auth::Actor, entry_stream::EntryShape};

/// The category of feeds that are in no folder. No folder ever has this id, and it fits 31 bits, which is all that newsboat
/// takes.
pub(super) const OUTSIDE: i64 = 2_147_483_647;
const OUTSIDE_TITLE: &str = "All";

/// Files of an entry that are shown. Their ids are made of the entry's and their place.
pub(super) const ENCLOSURES_MAX: usize = 64;

/// Words that are read in a minute.
const WORDS_PER_MINUTE: usize = 265;

/// Text that stands for a time that there never was.
const NEVER: &str = "0001-01-01T00:00:00Z";

#[derive(Debug, Clone, Serialize)]
pub(super) struct Category {
    pub(super) id: i64,
    pub(super) title: String,
    user_id: AccountId,
    hide_globally: bool,
}

impl Category {
    pub(super) fn of(folder: Folder, account: AccountId) -> Self {
        Self { id: folder.id.0, title: folder.name, user_id: account, hide_globally: false }
    }

    pub(super) fn outside(account: AccountId) -> Self {
        Self { id: OUTSIDE, title: OUTSIDE_TITLE.to_owned(), user_id: account, hide_globally: false }
    }
}

/// The categories of an account, by folder.
#[derive(Debug)]
pub(super) struct Categories {
    outside: Category,
    by_folder: HashMap<FolderId, Category>,
}

impl Categories {
    pub(super) fn of(folders: Vec<Folder>, account: AccountId) -> Self {
        let by_folder = folders.into_iter().map(|folder| (folder.id, Category::of(folder, account))).collect();
        Self { outside: Category::outside(account), by_folder }
    }

    fn get(&self, folder: Option<FolderId>) -> &Category {
        folder.and_then(|folder| self.by_folder.get(&folder)).unwrap_or(&self.outside)
    }
}

pub(super) fn feed(feed: &Feed, categories: &Categories, account: AccountId) -> Value {
    let title = feed.custom_title.as_ref().or(feed.title.as_ref()).unwrap_or(&feed.url);
    let checked_at = feed.last_fetched_at.map_or_else(|| NEVER.to_owned(), |at| at.to_string());
    json!({
        "id": feed.id,
        "user_id": account,
        "title": title,
        "description": "",
        "site_url": feed.site_url.as_ref().unwrap_or(&feed.url),
        "feed_url": feed.url,
        "checked_at": checked_at,
        "next_check_at": feed.next_check_at,
        "etag_header": "",
        "last_modified_header": "",
        "parsing_error_message": feed.last_error.as_deref().unwrap_or_default(),
        "parsing_error_count": feed.failure_count,
        "scraper_rules": "",
        "rewrite_rules": "",
        "urlrewrite_rules": "",
        "blocklist_rules": "",
        "keeplist_rules": "",
        "block_filter_entry_rules": "",
        "keep_filter_entry_rules": "",
        "crawler": false,
        "user_agent": "",
        "cookie": "",
        "username": "",
        "password": "",
        "disabled": feed.is_gone,
        "no_media_player": false,
        "ignore_http_cache": false,
        "allow_self_signed_certificates": false,
        "fetch_via_proxy": false,
        "hide_globally": false,
        "disable_http2": false,
        "apprise_service_urls": "",
        "webhook_url": "",
        "category": categories.get(feed.folder_id),
        "icon": icon(feed),
    })
}

/// Which icon a feed has.
fn icon(feed: &Feed) -> Value {
    feed.icon_id.map_or(Value::Null, |id| json!({ "feed_id": feed.id, "icon_id": id, "external_icon_id": "" }))
}

pub(super) fn user(actor: &Actor) -> Value {
    json!({
        "id": actor.account,
        "username": actor.name,
        "is_admin": actor.is_admin,
        "theme": "system_serif",
        "language": "en_US",
        "timezone": "UTC",
        "entry_sorting_direction": "desc",
        "entry_sorting_order": "published_at",
        "stylesheet": "",
        "custom_js": "",
        "external_font_hosts": "",
        "google_id": "",
        "openid_connect_id": "",
        "entries_per_page": 100,
        "keyboard_shortcuts": true,
        "show_reading_time": true,
        "entry_swipe": true,
        "gesture_nav": "tap",
        "last_login_at": null,
        "display_mode": "standalone",
        "default_reading_speed": WORDS_PER_MINUTE,
        "cjk_reading_speed": 500,
        "default_home_page": "unread",
        "categories_sorting_order": "unread_count",
        "mark_read_on_view": true,
        "mark_read_on_media_player_completion": false,
        "media_playback_rate": 1,
        "block_filter_entry_rules": "",
        "keep_filter_entry_rules": "",
        "always_open_external_links": false,
        "open_external_links_in_new_tab": true,
    })
}

/// Entries as Miniflux shows them, each with its feed. The view of a feed is made with its first entry: a page has entries of
/// few.
#[derive(Debug)]
pub(super) struct EntryViews {
    account: AccountId,
    categories: Categories,
    feeds: HashMap<FeedId, (Feed, OnceLock<Value>)>,
}

impl EntryViews {
    pub(super) fn of(feeds: Vec<Feed>, categories: Categories, account: AccountId) -> Self {
        let feeds = feeds.into_iter().map(|one| (one.id, (one, OnceLock::new()))).collect();
        Self { account, categories, feeds }
    }

    fn feed(&self, id: FeedId) -> Option<&Value> {
        let (one, view) = self.feeds.get(&id)?;
        Some(view.get_or_init(|| feed(one, &self.categories, self.account)))
    }

    pub(super) fn entry<'a>(&'a self, entry: &'a Entry, changed_at: Option<Timestamp>) -> EntryView<'a> {
        let content = entry.content.as_deref().or(entry.summary.as_deref()).unwrap_or_default();
        EntryView {
            id: entry.id,
            user_id: self.account,
            feed_id: entry.feed_id,
            status: if entry.is_read { "read" } else { "unread" },
            hash: hash_of(&entry.guid),
            title: title_of(entry),
            url: entry.url.as_deref().unwrap_or_default(),
            comments_url: "",
            published_at: entry.sort_at,
            created_at: entry.received_at,
            changed_at: changed_at.unwrap_or(entry.received_at),
            content,
            author: entry.author.as_deref().unwrap_or_default(),
            share_code: "",
            starred: entry.is_starred,
            reading_time: reading_minutes(content),
            enclosures: enclosures(self.account, entry),
            feed: self.feed(entry.feed_id),
            tags: &entry.categories,
        }
    }
}

fn hash_of(guid: &str) -> String {
    Sha256::digest(guid.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An entry without a title is shown under its address, as Miniflux does.
fn title_of(entry: &Entry) -> &str {
    entry.title.as_deref().filter(|title| !title.is_empty()).or(entry.url.as_deref()).unwrap_or_default()
}

#[derive(Debug, Serialize)]
pub(super) struct EntryView<'a> {
    id: EntryId,
    user_id: AccountId,
    feed_id: FeedId,
    status: &'static str,
    hash: String,
    title: &'a str,
    url: &'a str,
    comments_url: &'static str,
    published_at: Timestamp,
    created_at: Timestamp,
    changed_at: Timestamp,
    content: &'a str,
    author: &'a str,
    share_code: &'static str,
    starred: bool,
    reading_time: usize,
    enclosures: Vec<Value>,
    feed: Option<&'a Value>,
    tags: &'a [String],
}

impl EntryShape for EntryViews {
    const SHOWS_CHANGE: bool = true;

    fn write(&self, entry: &Entry, changed_at: Option<Timestamp>, into: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(into, &self.entry(entry, changed_at))
    }
}

fn enclosures(account: AccountId, entry: &Entry) -> Vec<Value> {
    let files = entry.enclosures.iter().take(ENCLOSURES_MAX).enumerate();
    files.map(|(place, file)| enclosure(account, entry.id, place, file)).collect()
}

pub(super) fn enclosure(account: AccountId, entry: EntryId, place: usize, file: &File) -> Value {
    json!({
        "id": enclosure_id(entry, place),
        "user_id": account,
        "entry_id": entry,
        "url": file.url,
        "mime_type": file.mime.as_deref().unwrap_or_default(),
        "size": file.length.unwrap_or(0),
        "media_progression": 0,
    })
}

fn enclosure_id(entry: EntryId, place: usize) -> i64 {
    let files = i64::try_from(ENCLOSURES_MAX).unwrap_or(i64::MAX);
    entry.0.saturating_mul(files).saturating_add(i64::try_from(place).unwrap_or(0))
}

/// The entry of such an id, and the file's place in it.
pub(super) fn enclosure_place(id: i64) -> Option<(EntryId, usize)> {
    let files = i64::try_from(ENCLOSURES_MAX).ok()?;
    Some((EntryId(id / files), usize::try_from(id % files).ok()?))
}

/// Minutes that a text takes, at least one if there is any.
pub(super) fn reading_minutes(html: &str) -> usize {
    let (mut words, mut is_in_word, mut is_in_tag) = (0_usize, false, false);
    for byte in html.bytes() {
        match byte {
            b'<' => (is_in_tag, is_in_word) = (true, false),
            b'>' => is_in_tag = false,
            _ if is_in_tag => {}
            _ if byte.is_ascii_whitespace() => is_in_word = false,
            _ => {
                words += usize::from(!is_in_word);
                is_in_word = true;
            }
        }
    }
    words.div_ceil(WORDS_PER_MINUTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_files_are_found_by_their_ids() {
        for (entry, place) in [(1, 0), (1, 63), (33_554_431, 63)] {
            let id = enclosure_id(EntryId(entry), place);
            assert!(id <= i64::from(i32::MAX), "{id} fits 31 bits");
            assert_eq!(enclosure_place(id), Some((EntryId(entry), place)));
        }
    }

    #[test]
    fn s3_reading_takes_its_time() {
        for (html, expect) in [
            ("", 0),
            ("<p></p>", 0),
            ("<p>one</p>", 1),
            (&"word ".repeat(265), 1),
            (&"word ".repeat(266), 2),
            (&"<a href='x y z'>w</a>".repeat(265), 1),
        ] {
            assert_eq!(reading_minutes(html), expect);
        }
    }

    #[test]
    fn s3_feeds_without_a_folder_have_a_category() {
        let folder = Folder { id: FolderId(5), name: "News".to_owned(), order: 0 };
        let categories = Categories::of(vec![folder], AccountId(1));
        assert_eq!(categories.get(Some(FolderId(5))).title, "News");
        assert_eq!((categories.get(None).id, categories.get(Some(FolderId(6))).id), (OUTSIDE, OUTSIDE));
    }
}
