//! The interfaces of other readers, over real HTTP and on both stores, as their apps ask.

mod fever;
mod fever_sessions;
mod filled;
mod greader;
mod miniflux;
mod miniflux_entries;
mod miniflux_sessions;
mod newsboat;
mod settings;
mod strangers;

use std::{sync::Arc, time::Duration};

use domain::ports::Store;
use engine::http::{ClientSettings, GuardedClient};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use testkit::{FreshPostgres, FreshSqlite, Page, Publisher};
use web::WebSettings;

use crate::{
    accounts::{PASSWORD, cookie_of},
    server::{Answer, Server, answer},
};

/// A server with a password, a token for writing, and a publisher that it can fetch from.
pub struct Reader {
    pub server: Server,
    pub store: Arc<dyn Store>,
    pub publisher: Publisher,
    pub token: String,
    /// The session of a browser.
    pub cookie: String,
    _database: Database,
}

#[expect(dead_code, reason = "they are kept until the test ends")]
enum Database {
    Sqlite(FreshSqlite),
    Postgres(FreshPostgres),
}

impl Reader {
    /// One for each kind of store.
    pub async fn each() -> [Self; 2] {
        let sqlite = testkit::fresh_sqlite().await;
        let postgres = testkit::fresh_postgres().await;
        let stores: [Arc<dyn Store>; 2] = [Arc::new(sqlite.store.clone()), Arc::new(postgres.store.clone())];
        let [first, second] = stores;
        [Self::start(first, Database::Sqlite(sqlite)).await, Self::start(second, Database::Postgres(postgres)).await]
    }

    async fn start(store: Arc<dyn Store>, database: Database) -> Self {
        let loopback = vec!["127.0.0.0/8".parse().unwrap()];
        let http =
            GuardedClient::new(ClientSettings { allow_networks: loopback, ..ClientSettings::default() }).unwrap();
        // Longer than a busy machine takes for a guess.
        let settings = WebSettings { guess_wait: Duration::from_mins(5), ..WebSettings::default() };
        let server = Server::start(Arc::clone(&store), Arc::new(http), settings).await;
        server.send("PATCH", "/api/account", &json!({ "newPassword": PASSWORD }).to_string()).await.ok(200);
        let login = json!({ "name": "reader", "password": PASSWORD }).to_string();
        let cookie = cookie_of(&server.send("POST", "/api/session", &login).await);
        let publisher = Publisher::start().await;
        let mut reader = Self { server, store, publisher, token: String::new(), cookie, _database: database };
        reader.token = reader.new_token("write").await;
        reader
    }

    /// Asks the JSON API, as the page does.
    pub async fn api(&self, method: &str, path: &str, body: &Value) -> Answer {
        let request = self.server.request(method, path).header("cookie", &self.cookie);
        let request = request.header("origin", &self.server.url);
        if body.is_null() {
            return answer(request).await;
        }
        answer(request.header("content-type", "application/json").body(body.to_string())).await
    }

    pub async fn get(&self, path: &str) -> Value {
        self.api("GET", path, &Value::Null).await.ok(200)
    }

    pub async fn new_token(&self, scope: &str) -> String {
        let made = self.api("POST", "/api/tokens", &json!({ "name": "an app", "scope": scope })).await.ok(201);
        made["token"].as_str().unwrap().to_owned()
    }

    pub fn publish(&self, path: &str, feed: &str) -> String {
        self.publisher.set(path, Page::body(feed).header("content-type", "application/rss+xml"));
        self.publisher.url(path)
    }

    /// Publishes a feed and adds it, in a folder if one is named; returns its id.
    pub async fn add(&self, path: &str, feed: &str, folder: Option<&str>) -> i64 {
        let url = self.publish(path, feed);
        let mut body = json!({ "url": url });
        if let Some(folder) = folder {
            let made = self.api("POST", "/api/folders", &json!({ "name": folder })).await.ok(201);
            body["folderId"] = made["id"].clone();
        }
        self.api("POST", "/api/feeds", &body).await.ok(201)["id"].as_i64().unwrap()
    }

    /// Publishes a feed anew and has it polled.
    pub async fn update(&self, id: i64, path: &str, feed: &str) {
        self.publish(path, feed);
        self.api("POST", &format!("/api/feeds/{id}/refresh"), &Value::Null).await.ok(200);
    }

    /// The entry of this title, as the JSON API shows it.
    pub async fn entry(&self, title: &str) -> Value {
        let page = self.get("/api/entries?limit=500").await;
        let entries = page["entries"].as_array().unwrap();
        entries.iter().find(|entry| entry["title"] == title).unwrap_or_else(|| panic!("no entry {title}")).clone()
    }

    /// Marks an entry by the JSON API.
    pub async fn mark(&self, title: &str, body: &Value) {
        let path = format!("/api/entries/{}", self.entry(title).await["id"]);
        self.api("PATCH", &path, body).await.ok(200);
    }

    /// Two feeds: Alpha with three entries in the folder News, Beta with three in none; Alpha 2 is read, Beta 2 starred.
    pub async fn filled(&self) -> (i64, i64) {
        use crate::world::rss;
        let alpha = self.add("/alpha.xml", &rss("Alpha", 3), Some("News")).await;
        let beta = self.add("/beta.xml", &rss("Beta", 3), None).await;
        self.mark("Alpha 2", &json!({ "isRead": true })).await;
        self.mark("Beta 2", &json!({ "isStarred": true })).await;
        (alpha, beta)
    }
}

/// A form as apps send it.
pub fn with_form(request: RequestBuilder, form: &[(&str, &str)]) -> RequestBuilder {
    let body: String = url_encoded(form);
    request.header("content-type", "application/x-www-form-urlencoded").body(body)
}

pub fn url_encoded(form: &[(&str, &str)]) -> String {
    reqwest::Url::parse_with_params("http://x/", form).unwrap().query().unwrap_or_default().to_owned()
}
