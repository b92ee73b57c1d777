//! A server with a store, and a publisher that it can fetch from.

use std::{collections::BTreeSet, sync::Arc};

use engine::http::{ClientSettings, GuardedClient};
use serde_json::Value;
use store::{SqliteOptions, SqliteStore, Synchronous};
use testkit::{Page, Publisher};
use web::WebSettings;

use crate::server::{Answer, Server, answer};

/// A server with a store, and a publisher that it can fetch from.
pub struct World {
    pub server: Server,
    pub publisher: Publisher,
    /// Removed with the world.
    _folder: tempfile::TempDir,
}

impl World {
    pub async fn start() -> Self {
        Self::start_with(WebSettings::default()).await
    }

    pub async fn start_with(settings: WebSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Nothing here outlives the test, so nothing waits for the disk.
        let options = SqliteOptions { synchronous: Synchronous::Off, ..SqliteOptions::default() };
        let store = SqliteStore::open(folder.path(), options, Arc::new(engine::SystemClock)).unwrap();
        let loopback = vec!["127.0.0.0/8".parse().unwrap()];
        let http =
            GuardedClient::new(ClientSettings { allow_networks: loopback, ..ClientSettings::default() }).unwrap();
        let server = Server::start(Arc::new(store), Arc::new(http), settings).await;
        Self { server, publisher: Publisher::start().await, _folder: folder }
    }

    /// Publishes a document and returns its URL.
    pub fn serve(&self, path: &str, status: u16, kind: &str, body: &str) -> String {
        self.publisher.set(path, Page::body(body).header("content-type", kind).with_status(status));
        self.publisher.url(path)
    }

    /// Publishes a feed and returns its URL.
    pub fn publish(&self, path: &str, feed: &str) -> String {
        self.serve(path, 200, "application/rss+xml", feed)
    }

    /// Asks to add a feed.
    pub async fn add(&self, body: &Value) -> Answer {
        self.send("POST", "/api/feeds", body).await
    }

    /// Publishes a feed, adds it, and returns it.
    pub async fn added(&self, path: &str, feed: &str) -> Value {
        let url = self.publish(path, feed);
        self.add(&serde_json::json!({ "url": url })).await.ok(201)
    }

    pub async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.server.send(method, path, &body.to_string()).await
    }

    /// The body of a success.
    pub async fn get(&self, path: &str) -> Value {
        self.server.get(path).await.ok(200)
    }

    /// Imports a file of this media type, if any.
    pub async fn import(&self, kind: &str, body: &str) -> Answer {
        let mut request = self.server.request("POST", "/api/opml/import").body(body.to_owned());
        if !kind.is_empty() {
            request = request.header("content-type", kind);
        }
        answer(request).await
    }
}

/// A feed of this title with so many entries, a minute apart, newest first.
pub fn rss(title: &str, entries: u32) -> String {
    let items: String = (1..=entries).rev().map(|number| item(title, number)).collect();
    let head = format!("<title>{title}</title><link>https://news.example/</link><description>d</description>");
    format!(r#"<?xml version="1.0"?><rss version="2.0"><channel>{head}{items}</channel></rss>"#)
}

fn item(title: &str, number: u32) -> String {
    format!(
        "<item><guid isPermaLink=\"false\">{title}-{number}</guid><title>{title} {number}</title>\
         <link>https://news.example/{number}</link><category>word{number}</category>\
         <description>about word{number}</description>\
         <pubDate>Mon, 01 Jan 2024 {:02}:{:02}:00 GMT</pubDate>\
         <enclosure url=\"https://news.example/{number}.mp3\" type=\"audio/mpeg\" length=\"100\"/></item>",
        number / 60,
        number % 60,
    )
}

/// The names of an object's fields.
#[track_caller]
pub fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Names as they are written in the specification.
pub fn fields(names: &str) -> BTreeSet<&str> {
    names.split_whitespace().collect()
}
