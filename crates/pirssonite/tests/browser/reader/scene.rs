//! A server that follows two feeds, for a browser to read them.

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Page, Publisher};

use crate::{
    browser::Browser,
    server::{Data, Server},
};

/// Entries of each feed, the newest last. More than a page of rows shows.
pub(super) const ENTRIES: usize = 12;

pub(super) struct Scene {
    pub(super) server: Server,
    pub(super) publisher: Publisher,
    _folder: TempDir,
}

impl Scene {
    /// With the feeds `Bread` in the folder `Daily`, and `Boats` in none.
    pub(super) async fn start() -> Self {
        let (folder, publisher) = (tempfile::tempdir().unwrap(), Publisher::start().await);
        let server = Server::start(Data::Folder(folder.path()), &[]);
        let scene = Self { server, publisher, _folder: folder };
        let daily = scene.call(Method::POST, "/api/folders", json!({ "name": "Daily" })).await["id"].clone();
        scene.add("Bread", "/bread", &daily, 8).await;
        scene.add("Boats", "/boats", &Value::Null, 9).await;
        scene
    }

    /// Publishes a feed and follows it. Its entries are an hour apart, on this day of March.
    async fn add(&self, title: &str, path: &str, folder: &Value, day: usize) {
        let url = self.publish(title, path, &items(title, day));
        self.call(Method::POST, "/api/feeds", json!({ "url": url, "folderId": folder })).await;
    }

    /// Puts a feed there; returns its URL.
    pub(super) fn publish(&self, title: &str, path: &str, items: &str) -> String {
        let head = "<?xml version='1.0' encoding='utf-8'?><rss version='2.0'>";
        self.publisher.set(path, Page::body(format!("{head}<channel><title>{title}</title>{items}</channel></rss>")));
        self.publisher.url(path)
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }

    pub(super) async fn open(&self, browser: &Browser, path: &str) {
        browser.open(&self.url(path)).await;
    }

    pub(super) async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, answer) = self.server.call(method, path, Some(body)).await;
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    /// Waits until the server says this of an entry.
    pub(super) async fn entry_is(&self, browser: &Browser, id: i64, field: &str, value: bool) {
        let what = format!("entry {id} to have {field} {value}");
        browser
            .wait(&what, async || {
                let entry = self.server.get(&format!("/api/entries/{id}")).await;
                (entry[field] == value).then_some(())
            })
            .await;
    }

    /// How many entries are unread, as the server counts.
    pub(super) async fn unread(&self) -> u64 {
        self.server.get("/api/counts").await["total"].as_u64().unwrap()
    }

    /// The feed of this title.
    pub(super) async fn feed(&self, title: &str) -> Option<Value> {
        let feeds = self.server.get("/api/feeds").await;
        let is_it = |feed: &&Value| feed["title"] == title || feed["customTitle"] == title;
        feeds.as_array()?.iter().find(is_it).cloned()
    }
}

fn items(title: &str, day: usize) -> String {
    (1..=ENTRIES)
        .map(|number| {
            format!(
                "<item><guid>{title}-{number}</guid><title>{title} {number}</title>\
                 <link>http://127.0.0.1:9/{title}/{number}</link>\
                 <pubDate>{day:02} Mar 2026 {number:02}:00:00 GMT</pubDate>\
                 <description>&lt;p&gt;About {title} number {number}.&lt;/p&gt;</description></item>"
            )
        })
        .collect()
}

/// The id of the entry that an address names.
pub(super) fn id_of(path: &str) -> i64 {
    path.strip_prefix("/entry/").and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("{path} is no entry's"))
}
