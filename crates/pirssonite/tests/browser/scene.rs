//! A server whose reader follows two feeds, one of them pushed by a hub, for browsers to read them.

use std::sync::Mutex;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{FreshPostgres, Hub, HubPush, Page, Publisher, fresh_postgres};

use crate::{
    browser::Browser,
    server::{Data, Place, Server, ask, client},
};

/// Entries of each feed, the newest last.
pub(crate) const ENTRIES: usize = 12;

/// What the data is kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

pub(crate) struct Scene {
    pub(crate) url: String,
    pub(crate) publisher: Publisher,
    pub(crate) hub: Hub,
    server: Mutex<Option<Server>>,
    place: Place,
    database: Option<FreshPostgres>,
    folder: TempDir,
}

impl Scene {
    /// With the feeds `Bread` in the folder `Daily`, and `Boats` in none; the latter is pushed.
    pub(crate) async fn start(store: Store) -> Self {
        let scene = Self::start_empty(store).await;
        let daily = scene.call(Method::POST, "/api/folders", json!({ "name": "Daily" })).await["id"].clone();
        let bread = scene.publish("Bread", "/bread", &items("Bread", 8));
        scene.call(Method::POST, "/api/feeds", json!({ "url": bread, "folderId": daily })).await;
        let boats = scene.publish_pushed("Boats", "/boats", &items("Boats", 9));
        scene.call(Method::POST, "/api/feeds", json!({ "url": boats })).await;
        scene
    }

    /// Without any feed.
    pub(crate) async fn start_empty(store: Store) -> Self {
        let database = if store == Store::Postgres { Some(fresh_postgres().await) } else { None };
        let place = Place::reserve();
        let scene = Self {
            url: place.url(),
            publisher: Publisher::start().await,
            hub: Hub::start().await,
            server: Mutex::new(None),
            place,
            database,
            folder: tempfile::tempdir().unwrap(),
        };
        scene.start_server();
        scene
    }

    /// Starts the server, at the address that it has had before.
    pub(crate) fn start_server(&self) {
        let server = Server::start_at(&self.place, self.data(self.folder.path()), &[]);
        *self.server.lock().unwrap() = Some(server);
    }

    /// Kills the server, as a loss of power does.
    pub(crate) fn kill_server(&self) {
        self.server.lock().unwrap().take().unwrap().kill();
    }

    /// Another node on the same database, which has to be PostgreSQL.
    pub(crate) fn another_node(&self, folder: &TempDir) -> Server {
        assert!(self.database.is_some());
        Server::start(self.data(folder.path()), &["--base-url", &self.url])
    }

    fn data<'a>(&'a self, folder: &'a std::path::Path) -> Data<'a> {
        match &self.database {
            Some(database) => Data::Database(database.url(), folder),
            None => Data::Folder(folder),
        }
    }

    /// Puts a feed there that no hub pushes; returns its URL.
    pub(crate) fn publish(&self, title: &str, path: &str, items: &str) -> String {
        self.publisher.set(path, Page::body(document(title, items)));
        self.publisher.url(path)
    }

    /// The same with a hub.
    pub(crate) fn publish_pushed(&self, title: &str, path: &str, items: &str) -> String {
        let url = self.publisher.url(path);
        let link = format!("<{}>; rel=\"hub\", <{url}>; rel=\"self\"", self.hub.url());
        self.publisher.set(path, Page::body(document(title, items)).header("Link", &link));
        url
    }

    /// Has the hub push an entry of this title to `Boats`, now.
    pub(crate) async fn push(&self, title: &str) {
        self.push_item(&item(title, "News.")).await;
    }

    /// The same with an item of a feed.
    pub(crate) async fn push_item(&self, item: &str) {
        let topic = self.publisher.url("/boats");
        let subscription = self.hub.subscribed(&topic).await;
        let answer = self.hub.push(&subscription, HubPush::new("application/rss+xml", document("Boats", item))).await;
        assert!(answer.is_success(), "{}", answer.text());
    }

    /// Imports these outlines of OPML.
    pub(crate) async fn import(&self, outlines: &str) {
        let opml = format!("<opml version='2.0'><body>{outlines}</body></opml>");
        let import = client().post(format!("{}/api/opml/import", self.url)).header("content-type", "text/x-opml");
        let answer = import.body(opml).send().await.unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
    }

    /// Has a feed polled, now.
    pub(crate) async fn poll(&self, feed: i64) {
        self.call(Method::POST, &format!("/api/feeds/{feed}/refresh"), json!({})).await;
    }

    pub(crate) async fn open(&self, browser: &Browser, path: &str) {
        browser.open(&format!("{}{path}", self.url)).await;
        browser.ready().await;
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, answer) = ask(&self.url, method, path, Some(body)).await;
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, answer) = ask(&self.url, Method::GET, path, None).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Waits until the server says this of an entry.
    pub(crate) async fn entry_is(&self, browser: &Browser, id: i64, field: &str, value: bool) {
        let what = format!("entry {id} to have {field} {value}");
        browser
            .wait(&what, async || {
                let entry = self.get(&format!("/api/entries/{id}")).await;
                (entry[field] == value).then_some(())
            })
            .await;
    }

    /// How many entries are unread, as the server counts.
    pub(crate) async fn unread(&self) -> u64 {
        self.get("/api/counts").await["total"].as_u64().unwrap()
    }

    /// The feed of this title.
    pub(crate) async fn feed(&self, title: &str) -> Option<Value> {
        let feeds = self.get("/api/feeds").await;
        let is_it = |feed: &&Value| feed["title"] == title || feed["customTitle"] == title;
        feeds.as_array()?.iter().find(is_it).cloned()
    }

    /// The id of the feed of this title, which is there.
    pub(crate) async fn feed_id(&self, title: &str) -> i64 {
        self.feed(title).await.and_then(|feed| feed["id"].as_i64()).unwrap_or_else(|| panic!("{title} is not there"))
    }

    /// Waits until this is so of the feed of this title.
    pub(crate) async fn feed_is(&self, browser: &Browser, title: &str, is_so: impl Fn(&Value) -> bool) {
        let look = async || self.feed(title).await.filter(|feed| is_so(feed));
        browser.wait(&format!("{title} to be changed"), look).await;
    }

    /// Waits until there is no feed of this title.
    pub(crate) async fn feed_is_gone(&self, browser: &Browser, title: &str) {
        browser.wait(&format!("{title} to go"), async || self.feed(title).await.is_none().then_some(())).await;
    }
}

fn document(title: &str, items: &str) -> String {
    let head = "<?xml version='1.0' encoding='utf-8'?><rss version='2.0'>";
    format!("{head}<channel><title>{title}</title>{items}</channel></rss>")
}

/// Entries an hour apart, on this day of March.
pub(crate) fn items(title: &str, day: usize) -> String {
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

/// An item that was published at this time.
pub(crate) fn dated(title: &str, time: &str) -> String {
    format!(
        "<item><guid>{title}</guid><title>{title}</title><pubDate>{time}</pubDate><description>Late.</description></item>"
    )
}

/// An item of a feed, with this HTML.
pub(crate) fn item(title: &str, html: &str) -> String {
    let (title, html) = (escaped(title), escaped(html));
    format!("<item><guid>{title}</guid><title>{title}</title><description>{html}</description></item>")
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// The id of the entry that an address names.
pub(crate) fn id_of(path: &str) -> i64 {
    path.strip_prefix("/entry/").and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("{path} is no entry's"))
}
