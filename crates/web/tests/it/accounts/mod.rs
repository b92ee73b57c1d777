//! Who is let in, and who is not.

mod figures;
mod foreign_ids;
mod guessing;
mod isolation;
mod login;
mod manage;
mod page;
mod page_isolation;
mod proxy;
mod tokens;

use std::sync::Arc;

use domain::ports::Store;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use testkit::{FreshPostgres, FreshSqlite};
use web::WebSettings;

use crate::{
    server::{Answer, Server, answer},
    stubs::NoNetwork,
};

pub const PASSWORD: &str = "correct horse";

/// Servers over one store, as nodes are.
pub struct Cluster {
    pub store: Arc<dyn Store>,
    pub server: Server,
    _database: Database,
}

#[expect(dead_code, reason = "they are kept until the test ends")]
enum Database {
    Sqlite(FreshSqlite),
    Postgres(FreshPostgres),
}

impl Cluster {
    /// One for each kind of store.
    pub async fn each() -> [Self; 2] {
        let postgres = testkit::fresh_postgres().await;
        let store = Arc::new(postgres.store.clone());
        let postgres = Self::start_on(store, Database::Postgres(postgres), WebSettings::default()).await;
        [Self::start().await, postgres]
    }

    /// The same, with a password for the reader, whose session is with it.
    pub async fn each_locked() -> [(Self, String); 2] {
        let [sqlite, postgres] = Self::each().await;
        [sqlite.lock().await, postgres.lock().await]
    }

    pub async fn start() -> Self {
        Self::start_with(WebSettings::default()).await
    }

    pub async fn start_with(settings: WebSettings) -> Self {
        let sqlite = testkit::fresh_sqlite().await;
        Self::start_on(Arc::new(sqlite.store.clone()), Database::Sqlite(sqlite), settings).await
    }

    async fn start_on(store: Arc<dyn Store>, database: Database, settings: WebSettings) -> Self {
        let server = Server::start(Arc::clone(&store), Arc::new(NoNetwork), settings).await;
        Self { store, server, _database: database }
    }

    /// With a password for the reader, whose session is returned.
    pub async fn locked_with(settings: WebSettings) -> (Self, String) {
        Self::start_with(settings).await.lock().await
    }

    async fn lock(self) -> (Self, String) {
        let set = self.server.send("PATCH", "/api/account", &json!({ "newPassword": PASSWORD }).to_string()).await;
        set.ok(200);
        let cookie = cookie_of(&self.log_in("reader", PASSWORD).await);
        (self, cookie)
    }

    pub async fn another_node(&self) -> Server {
        Server::start(Arc::clone(&self.store), Arc::new(NoNetwork), WebSettings::default()).await
    }

    pub async fn log_in(&self, name: &str, password: &str) -> Answer {
        let body = json!({ "name": name, "password": password }).to_string();
        self.server.send("POST", "/api/session", &body).await
    }

    /// Asks as a browser with this session does.
    pub fn as_browser(&self, cookie: &str, method: &str, path: &str) -> RequestBuilder {
        self.server.request(method, path).header("cookie", cookie).header("origin", &self.server.url)
    }

    pub async fn ask(&self, cookie: &str, method: &str, path: &str, body: &Value) -> Answer {
        let request = self.as_browser(cookie, method, path);
        if body.is_null() {
            return answer(request).await;
        }
        answer(request.header("content-type", "application/json").body(body.to_string())).await
    }

    /// An account that is no administrator, and its session.
    pub async fn account(&self, admin: &str, name: &str) -> (Value, String) {
        let body = json!({ "name": name, "password": PASSWORD });
        let account = self.ask(admin, "POST", "/api/accounts", &body).await.ok(201);
        (account, cookie_of(&self.log_in(name, PASSWORD).await))
    }

    /// A token of this session's account.
    pub async fn token(&self, cookie: &str, scope: &str) -> Value {
        self.ask(cookie, "POST", "/api/tokens", &json!({ "name": "a program", "scope": scope })).await.ok(201)
    }

    pub async fn with_token(&self, token: &Value, method: &str, path: &str, body: &Value) -> Answer {
        let request = self.server.request(method, path).bearer_auth(token["token"].as_str().unwrap());
        if body.is_null() {
            return answer(request).await;
        }
        answer(request.header("content-type", "application/json").body(body.to_string())).await
    }
}

/// What a browser sends of what it was given.
#[track_caller]
pub fn cookie_of(answer: &Answer) -> String {
    assert!(matches!(answer.status, 200 | 303), "{answer:?}");
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}
