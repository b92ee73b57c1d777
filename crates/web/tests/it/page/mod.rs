//! The reader in the browser, as the server writes it: on both stores, without scripts.

mod forms;
mod hostile;
pub mod icons;
mod looks;
mod pictures;
mod shell;
mod views;
mod webhooks;

use std::sync::Arc;

use domain::ports::{Http, Store};
use engine::{
    PictureSettings, Pictures,
    http::{ClientSettings, GuardedClient},
};
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use testkit::{FreshPostgres, FreshSqlite, Page, Publisher};
use web::WebSettings;

use crate::server::{Answer, Server, answer};

/// A server with a store, and a publisher that it can fetch from.
pub struct Reader {
    pub server: Server,
    pub publisher: Publisher,
    pub store: Arc<dyn Store>,
    _kept: Kept,
    /// Of pictures.
    _folder: tempfile::TempDir,
}

/// The database, for as long as it is used.
enum Kept {
    Sqlite { _store: FreshSqlite },
    Postgres { _store: FreshPostgres },
}

/// One on each store.
pub async fn both() -> [Reader; 2] {
    both_with(false).await
}

/// The same, where the server may fetch pictures in the place of browsers.
pub async fn both_with(has_proxy: bool) -> [Reader; 2] {
    let (sqlite, postgres) = (testkit::fresh_sqlite().await, testkit::fresh_postgres().await);
    let stores: [Arc<dyn Store>; 2] = [Arc::new(sqlite.store.clone()), Arc::new(postgres.store.clone())];
    let [on_sqlite, on_postgres] = stores;
    [
        Reader::start(on_sqlite, Kept::Sqlite { _store: sqlite }, has_proxy).await,
        Reader::start(on_postgres, Kept::Postgres { _store: postgres }, has_proxy).await,
    ]
}

impl Reader {
    async fn start(store: Arc<dyn Store>, kept: Kept, has_proxy: bool) -> Self {
        let loopback = vec!["127.0.0.0/8".parse().unwrap()];
        let http =
            GuardedClient::new(ClientSettings { allow_networks: loopback, ..ClientSettings::default() }).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let http: Arc<dyn Http> = Arc::new(http);
        let pictures = has_proxy.then(|| {
            let settings = PictureSettings { folder: folder.path().to_owned(), cache_bytes_max: 1_000_000 };
            Pictures::open(Arc::clone(&http), store.picture_key(), &settings).unwrap()
        });
        let settings = WebSettings { pictures, ..WebSettings::default() };
        let server = Server::start(Arc::clone(&store), http, settings).await;
        Self { server, publisher: Publisher::start().await, store, _kept: kept, _folder: folder }
    }

    /// Publishes a feed, follows it, and returns it.
    pub async fn follow(&self, path: &str, feed: &str, folder: Option<&Value>) -> Value {
        self.publisher.set(path, Page::body(feed).header("content-type", "application/rss+xml"));
        let folder_id = folder.map_or(Value::Null, |folder| folder["id"].clone());
        let body = json!({ "url": self.publisher.url(path), "folderId": folder_id });
        self.server.send("POST", "/api/feeds", &body.to_string()).await.ok(201)
    }

    pub async fn folder(&self, name: &str) -> Value {
        self.server.send("POST", "/api/folders", &json!({ "name": name }).to_string()).await.ok(201)
    }

    /// Asks as a browser does that follows nothing.
    pub async fn browse(&self, method: &str, path: &str, form: Option<&str>) -> Answer {
        let client = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        let mut request = client.request(method.parse().unwrap(), format!("{}{path}", self.server.url));
        request = request.header("accept", "text/html").header("origin", &self.server.url);
        if let Some(form) = form {
            request = request.header("content-type", "application/x-www-form-urlencoded").body(form.to_owned());
        }
        answer(request).await
    }

    /// The page at a path.
    pub async fn page(&self, path: &str) -> String {
        let page = self.browse("GET", path, None).await;
        assert_eq!(page.status, 200, "{path}: {page:?}");
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        page.text
    }

    /// The ids of entries on a page, in their order.
    pub async fn rows(&self, path: &str) -> Vec<i64> {
        ids(&self.page(path).await)
    }

    /// The ids of entries that the API lists, in their order.
    pub async fn listed(&self, query: &str) -> Vec<i64> {
        let page = self.server.get(&format!("/api/entries?{query}")).await.ok(200);
        page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_i64().unwrap()).collect()
    }
}

/// The ids of rows, in their order.
pub fn ids(html: &str) -> Vec<i64> {
    html.split(" id=\"e").skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect()
}

/// What stands in the element of this class or tag, up to the next of its end.
#[track_caller]
pub fn between<'a>(html: &'a str, begin: &str, end: &str) -> &'a str {
    let at = html.find(begin).unwrap_or_else(|| panic!("{begin} is not in {html}"));
    html[at + begin.len()..].split(end).next().unwrap()
}
