//! What the tests of Fever's and Miniflux's interfaces begin with, and how they ask.

use std::ops::Deref;

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::Reader;
use crate::{
    accounts::{PASSWORD, cookie_of},
    server::{Answer, answer},
    world::rss,
};

/// A server with two feeds: `Alpha` in the folder `News`, with three entries of which the second is read; and `Beta` in
/// none, whose second is starred. Its account has a token that apps come in with.
pub struct Apps {
    pub reader: Reader,
    pub alpha: i64,
    pub beta: i64,
    pub news: i64,
}

impl Deref for Apps {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

impl Apps {
    /// One on each store.
    pub async fn each() -> Vec<Self> {
        let mut apps = Vec::new();
        for reader in Reader::each().await {
            let (alpha, beta) = reader.filled().await;
            let news = id(&reader.get("/api/folders").await[0]);
            apps.push(Self { reader, alpha, beta, news });
        }
        apps
    }

    /// Publishes a feed with so many entries, and follows it.
    pub async fn add(&self, title: &str, entries: u32) -> i64 {
        let url = self.publish(title, entries);
        id(&self.api("POST", "/api/feeds", &json!({ "url": url })).await.ok(201))
    }

    pub fn publish(&self, title: &str, entries: u32) -> String {
        self.reader.publish(&format!("/{}.xml", title.to_lowercase()), &rss(title, entries))
    }

    pub async fn entries(&self) -> Vec<Value> {
        let page = self.api("GET", "/api/entries?limit=500", &Value::Null).await.ok(200);
        page["entries"].as_array().unwrap().clone()
    }

    pub async fn id_of(&self, title: &str) -> i64 {
        id(&self.entry(title).await)
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
        let request = self.server.request("POST", &format!("{path}?api&{query}"));
        answer(form(request, &format!("api_key={key}"))).await.ok(200)
    }

    /// A call of Miniflux's, with the token.
    pub async fn v1(&self, method: &str, path: &str, body: &Value) -> Answer {
        let request = self.server.request(method, &format!("/v1{path}")).header("x-auth-token", &self.token);
        with_json(request, body).await
    }

    /// The same with the name and the password.
    pub async fn v1_basic(&self, method: &str, path: &str, body: &Value) -> Answer {
        let request = self.server.request(method, &format!("/v1{path}")).basic_auth("reader", Some(PASSWORD));
        with_json(request, body).await
    }

    pub async fn v1_get(&self, path: &str) -> Value {
        self.v1("GET", path, &Value::Null).await.ok(200)
    }

    /// Another account with a token, which follows nothing.
    pub async fn other_token(&self) -> String {
        let login = json!({ "name": "ann", "password": PASSWORD });
        self.api("POST", "/api/accounts", &login).await.ok(201);
        let cookie = cookie_of(&self.server.send("POST", "/api/session", &login.to_string()).await);
        let request = self.server.request("POST", "/api/tokens").header("cookie", cookie);
        let request = request.header("origin", &self.server.url);
        let made = with_json(request, &json!({ "name": "an app", "scope": "write" })).await.ok(201);
        made["token"].as_str().unwrap().to_owned()
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
