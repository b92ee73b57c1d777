//! Two accounts that follow the same feed, and one each of their own: what webhooks are told, what `/metrics` shows and what
//! is logged holds nothing of one that another may see (requirement A1).

use reqwest::{Method, header};
use serde_json::{Value, json};
use testkit::{Page, fresh_postgres};

use super::Scene;
use crate::server::{Data, Server, client};

/// In all that one has, and in nothing else.
const WORDS: [&str; 2] = ["zanzibar", "timbuktu"];

const PASSWORD: &str = "correct horse";

/// Entries of each feed, and as many new ones.
const ENTRIES: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn a1_sqlite_events_metrics_and_logs_hold_nothing_of_others() {
    let folder = tempfile::tempdir().unwrap();
    tell_apart(Data::Folder(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a1_postgres_events_metrics_and_logs_hold_nothing_of_others() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    tell_apart(Data::Database(database.url(), folder.path())).await;
}

async fn tell_apart(data: Data<'_>) {
    let (scene, server) = (Scene::start().await, Server::start(data, &["--log", "debug"]));
    let admin = token(&server, header::ACCEPT, "*/*", "admin").await;
    let mut people = Vec::new();
    for word in WORDS {
        people.push(Person::create(&scene, &server, &admin, word).await);
    }
    for (feed, title) in [("/shared", "common")].into_iter().chain(WORDS.map(|word| (word, word))) {
        scene.publisher.set(&feed_path(feed), Page::body(document(title, 0..2 * ENTRIES)));
    }
    for person in &people {
        for feed in person.get("/api/feeds").await.as_array().unwrap() {
            person.post(&format!("/api/feeds/{}/refresh", feed["id"]), Value::Null).await;
        }
        // And one that fails, and is logged.
        scene.publisher.set(&feed_path(person.word), Page::status(500));
        person.post(&format!("/api/feeds/{}/refresh", person.own_feed), Value::Null).await;
    }
    for (person, other) in people.iter().zip(people.iter().rev()) {
        let told = scene.receiver.receipts(&hook(person.word)).wait_for(2 * ENTRIES).await;
        let told: Vec<String> =
            told.iter().map(|receipt| format!("{:?}{}", receipt.http.headers(), receipt.text())).collect();
        assert_eq!(told.len(), 2 * ENTRIES, "{told:#?}");
        let (title, text) = (format!("{}title", person.word), format!("{}text", person.word));
        for (word, count) in
            [(title, 2 * ENTRIES), (text, ENTRIES), (format!("\"folderId\":{}", person.folder), 2 * ENTRIES)]
        {
            assert_eq!(told.iter().filter(|body| body.contains(&word)).count(), count, "{word}: {told:#?}");
        }
        assert!(told.iter().all(|body| !body.contains(other.word)), "{told:#?}");
        let seen = [person.get("/metrics").await, person.get("/api/outbox/deliveries").await];
        assert!(seen.iter().all(|body| !body.to_string().contains(other.word)), "{seen:#?}");
    }
    let metrics = server.get("/metrics").await.to_string();
    assert!(WORDS.iter().all(|word| !metrics.contains(word)), "{metrics}");
    for line in server.log().lines() {
        assert!(WORDS.iter().filter(|word| line.contains(**word)).count() < 2, "{line}");
        for kind in ["title", "folder", "text", "hook", "about"] {
            assert!(WORDS.iter().all(|word| !line.contains(&format!("{word}{kind}"))), "{line}");
        }
    }
}

/// An account with a folder, the shared feed under a title of its own, a feed of its own, and a webhook.
struct Person {
    word: &'static str,
    token: String,
    base: String,
    folder: Value,
    own_feed: Value,
}

impl Person {
    async fn create(scene: &Scene, server: &Server, admin: &str, word: &'static str) -> Self {
        let credentials = json!({ "name": word, "password": PASSWORD });
        post(&server.url, "/api/accounts", header::AUTHORIZATION, admin, credentials.clone()).await;
        let login = client().post(format!("{}/api/session", server.url)).body(credentials.to_string());
        let login = login.header("content-type", "application/json").send().await.unwrap();
        let cookie = login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let token = token(server, header::COOKIE, &cookie, "write").await;
        let (base, folder, own_feed) = (server.url.clone(), Value::Null, Value::Null);
        let mut person = Self { word, token, base, folder, own_feed };
        person.folder = person.post("/api/folders", json!({ "name": format!("{word}folder") })).await["id"].clone();
        let webhook = json!({
            "url": scene.receiver.url(&hook(word)),
            "description": format!("{word}about"),
        });
        for feed in ["/shared", word] {
            let title = if feed == word { word } else { "common" };
            scene.publisher.set(&feed_path(feed), Page::body(document(title, 0..ENTRIES)));
            let wish = json!({
                "url": scene.publisher.url(&feed_path(feed)), "folderId": person.folder, "title": format!("{word}title"),
            });
            person.own_feed = person.post("/api/feeds", wish).await["id"].clone();
        }
        person.post("/api/webhooks", webhook).await;
        person
    }

    async fn get(&self, path: &str) -> Value {
        let answer =
            client().get(format!("{}{path}", self.base)).header(header::AUTHORIZATION, &self.token).send().await;
        let text = answer.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        post(&self.base, path, header::AUTHORIZATION, &self.token, body).await
    }
}

/// A token of whoever comes in so, as it is sent.
async fn token(server: &Server, header: header::HeaderName, value: &str, scope: &str) -> String {
    let token = post(&server.url, "/api/tokens", header, value, json!({ "name": "a test", "scope": scope })).await;
    format!("Bearer {}", token["token"].as_str().unwrap())
}

async fn post(base: &str, path: &str, header: header::HeaderName, value: &str, body: Value) -> Value {
    let request = client().request(Method::POST, format!("{base}{path}")).header("origin", base).header(header, value);
    let request = match body {
        Value::Null => request,
        body => request.header("content-type", "application/json").body(body.to_string()),
    };
    let answer = request.send().await.unwrap();
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    assert!(status.is_success(), "{path}: {status} {text}");
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

fn hook(word: &str) -> String {
    format!("/{word}hook")
}

fn feed_path(feed: &str) -> String {
    format!("/{}", feed.trim_start_matches('/'))
}

fn document(title: &str, entries: std::ops::Range<usize>) -> String {
    let item = |entry: usize| {
        format!(
            "<item><guid>{title}{entry}</guid><title>{title}text</title><description>{title}text</description></item>"
        )
    };
    let items: String = entries.rev().map(item).collect();
    format!("<rss version='2.0'><channel><title>{title}</title>{items}</channel></rss>")
}
