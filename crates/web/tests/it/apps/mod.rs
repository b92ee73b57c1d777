//! The interfaces of other readers, on both stores, as their clients call them.

mod fever;
mod fever_sessions;
mod miniflux;
mod miniflux_entries;
mod miniflux_sessions;

use std::sync::Arc;

use engine::http::{ClientSettings, GuardedClient};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use testkit::{Page, Publisher};

use crate::{
    accounts::{House, PASSWORD},
    server::{Answer, answer},
    world::rss,
};

/// A server with two feeds: `Alpha` in the folder `News`, with three entries of which the second is read; and `Beta` in
/// none, whose second is starred. Its account has a token that apps come in with.
pub struct Apps {
    pub house: House,
    pub cookie: String,
    pub publisher: Publisher,
    pub token: String,
    pub alpha: i64,
    pub beta: i64,
    pub news: i64,
}

impl Apps {
    /// One on each store.
    pub async fn each() -> Vec<Self> {
        let loopback = vec!["127.0.0.0/8".parse().unwrap()];
        let settings = ClientSettings { allow_networks: loopback, ..ClientSettings::default() };
        let houses = House::each_locked_with(Arc::new(GuardedClient::new(settings).unwrap())).await;
        let mut apps = Vec::new();
        for (house, cookie) in houses {
            apps.push(Self::fill(house, cookie).await);
        }
        apps
    }

    async fn fill(house: House, cookie: String) -> Self {
        let token = house.token(&cookie, "write").await["token"].as_str().unwrap().to_owned();
        let publisher = Publisher::start().await;
        let mut apps = Self { house, cookie, publisher, token, alpha: 0, beta: 0, news: 0 };
        apps.news = id(&apps.api("POST", "/api/folders", &json!({ "name": "News" })).await.ok(201));
        apps.alpha = apps.add("Alpha", 3, Some(apps.news)).await;
        apps.beta = apps.add("Beta", 3, None).await;
        apps.patch("Alpha 2", &json!({ "isRead": true })).await;
        apps.patch("Beta 2", &json!({ "isStarred": true })).await;
        apps
    }

    /// Publishes a feed with so many entries, and follows it.
    pub async fn add(&self, title: &str, entries: u32, folder: Option<i64>) -> i64 {
        let url = self.publish(title, entries);
        id(&self.api("POST", "/api/feeds", &json!({ "url": url, "folderId": folder })).await.ok(201))
    }

    pub fn publish(&self, title: &str, entries: u32) -> String {
        let path = format!("/{}.xml", title.to_lowercase());
        let feed = rss(title, entries);
        self.publisher.set(&path, Page::body(&feed).header("content-type", "application/rss+xml"));
        self.publisher.url(&path)
    }

    /// The JSON API, as the page asks it.
    pub async fn api(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.house.ask(&self.cookie, method, path, body).await
    }

    pub async fn entries(&self) -> Vec<Value> {
        let page = self.api("GET", "/api/entries?limit=500", &Value::Null).await.ok(200);
        page["entries"].as_array().unwrap().clone()
    }

    /// The entry of this title, as the page has it.
    pub async fn entry(&self, title: &str) -> Value {
        self.entries().await.into_iter().find(|entry| entry["title"] == title).unwrap()
    }

    pub async fn id_of(&self, title: &str) -> i64 {
        id(&self.entry(title).await)
    }

    pub async fn patch(&self, title: &str, patch: &Value) {
        let path = format!("/api/entries/{}", self.id_of(title).await);
        self.api("PATCH", &path, patch).await.ok(200);
    }

    /// Read and starred, of one entry.
    pub async fn marks(&self, title: &str) -> (bool, bool) {
        let entry = self.entry(title).await;
        (entry["isRead"].as_bool().unwrap(), entry["isStarred"].as_bool().unwrap())
    }

    /// The titles of what is unread, sorted.
    pub async fn unread(&self) -> Vec<String> {
        let unread = self.entries().await.into_iter().filter(|entry| entry["isRead"] == false);
        let mut titles: Vec<_> = unread.map(|entry| entry["title"].as_str().unwrap().to_owned()).collect();
        titles.sort_unstable();
        titles
    }

    pub fn fever_key(&self) -> String {
        fever_key("reader", &self.token)
    }

    /// A call of Fever's, with the key in the body.
    pub async fn fever(&self, query: &str) -> Value {
        self.fever_at("/fever/", query, &self.fever_key()).await
    }

    pub async fn fever_at(&self, path: &str, query: &str, key: &str) -> Value {
        let request = self.house.server.request("POST", &format!("{path}?api&{query}"));
        answer(form(request, &format!("api_key={key}"))).await.ok(200)
    }

    /// A call of Miniflux's, with the token.
    pub async fn v1(&self, method: &str, path: &str, body: &Value) -> Answer {
        let request = self.house.server.request(method, &format!("/v1{path}")).header("x-auth-token", &self.token);
        with_json(request, body).await
    }

    /// The same with the name and the password.
    pub async fn v1_basic(&self, method: &str, path: &str, body: &Value) -> Answer {
        let request = self.house.server.request(method, &format!("/v1{path}")).basic_auth("reader", Some(PASSWORD));
        with_json(request, body).await
    }

    pub async fn v1_get(&self, path: &str) -> Value {
        self.v1("GET", path, &Value::Null).await.ok(200)
    }

    /// Another account with a token, which follows nothing.
    pub async fn other_token(&self) -> String {
        let (_, cookie) = self.house.account(&self.cookie, "ann").await;
        self.house.token(&cookie, "write").await["token"].as_str().unwrap().to_owned()
    }
}

async fn with_json(request: RequestBuilder, body: &Value) -> Answer {
    if body.is_null() {
        return answer(request).await;
    }
    answer(request.header("content-type", "application/json").body(body.to_string())).await
}

pub fn form(request: RequestBuilder, body: &str) -> RequestBuilder {
    request.header("content-type", "application/x-www-form-urlencoded").body(body.to_owned())
}

/// What Fever's clients make of a name and a token.
pub fn fever_key(name: &str, token: &str) -> String {
    use md5::{Digest, Md5};
    Md5::digest(format!("{name}:{token}")).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn id(thing: &Value) -> i64 {
    thing["id"].as_i64().unwrap()
}

/// The members of a list, by a field.
pub fn texts(list: &Value, field: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|one| one[field].as_str().unwrap().to_owned()).collect()
}

pub fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts
}

/// A message of an error, as Miniflux's clients read it.
#[track_caller]
pub fn refused(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{answer:?}");
    answer.json()["error_message"].as_str().unwrap().to_owned()
}
