//! U2: what happens reaches whoever listens, on whichever node, over real HTTP and on both stores.

mod logins;
mod streams;

use std::{sync::Arc, time::Duration};

use domain::{
    FeedId,
    ingest::{Document, Hash, IncomingEntry, PollOutcome, PollResult},
    ports::Store,
};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use store::{SqliteOptions, SqliteStore, Synchronous};
use testkit::FreshPostgres;
use web::{ServeLimits, WebSettings};

use crate::{
    accounts::{PASSWORD, cookie_of},
    raw::LONG,
    server::{Answer, Server, answer},
    stubs::NoNetwork,
};

/// Two nodes on one database.
pub struct Nodes {
    pub one: Server,
    pub two: Server,
    pub store: Arc<dyn Store>,
    _kept: Kept,
}

/// What goes with the nodes.
enum Kept {
    Folder { _folder: tempfile::TempDir },
    Database { _database: Box<FreshPostgres> },
}

impl Nodes {
    pub async fn on_each_store() -> [Self; 2] {
        [Self::on_sqlite().await, Self::on_postgres().await]
    }

    pub async fn on_sqlite() -> Self {
        Self::on_sqlite_with(WebSettings::default(), ServeLimits::default()).await
    }

    /// SQLite belongs to one process: both nodes have its one store.
    pub async fn on_sqlite_with(settings: WebSettings, limits: ServeLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions { synchronous: Synchronous::Off, ..SqliteOptions::default() };
        let store = SqliteStore::open(folder.path(), options, Arc::new(engine::SystemClock)).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let kept = Kept::Folder { _folder: folder };
        Self::over(Arc::clone(&store), store, kept, settings, limits).await
    }

    async fn on_postgres() -> Self {
        let database = testkit::fresh_postgres().await;
        let stores = [database.another_store().await, database.another_store().await];
        let [one, two] = stores.map(|store| Arc::new(store) as Arc<dyn Store>);
        let kept = Kept::Database { _database: Box::new(database) };
        Self::over(one, two, kept, WebSettings::default(), ServeLimits::default()).await
    }

    async fn over(
        first: Arc<dyn Store>,
        second: Arc<dyn Store>,
        kept: Kept,
        settings: WebSettings,
        limits: ServeLimits,
    ) -> Self {
        let one = Server::start_within(first, Arc::new(NoNetwork), settings.clone(), limits).await;
        let two = Server::start_within(Arc::clone(&second), Arc::new(NoNetwork), settings, limits).await;
        Self { one, two, store: second, _kept: kept }
    }

    /// Gives the reader a password; returns its session.
    pub async fn lock(&self) -> String {
        self.one.send("PATCH", "/api/account", &json!({ "newPassword": PASSWORD }).to_string()).await.ok(200);
        self.log_in("reader").await
    }

    pub async fn log_in(&self, name: &str) -> String {
        let body = json!({ "name": name, "password": PASSWORD }).to_string();
        cookie_of(&self.two.send("POST", "/api/session", &body).await)
    }

    /// An account that is no administrator, and its session.
    pub async fn account(&self, admin: &str, name: &str) -> (Value, String) {
        let body = json!({ "name": name, "password": PASSWORD });
        let account = self.ask(admin, "POST", "/api/accounts", &body).await.ok(201);
        (account, self.log_in(name).await)
    }

    /// Asks the second node, as a browser with this session, or as this machine.
    pub async fn ask(&self, cookie: &str, method: &str, path: &str, body: &Value) -> Answer {
        let request = self.two.request(method, path).header("origin", &self.two.url).header("cookie", cookie);
        if body.is_null() {
            return answer(request).await;
        }
        answer(request.header("content-type", "application/json").body(body.to_string())).await
    }

    /// Follows a feed that is not fetched.
    pub async fn feed(&self, cookie: &str, name: &str) -> FeedId {
        let opml = format!(r#"<opml><body><outline text="{name}" xmlUrl="https://{name}.example/"/></body></opml>"#);
        let request = self.two.request("POST", "/api/opml/import").header("origin", &self.two.url);
        answer(request.header("cookie", cookie).header("content-type", "text/x-opml").body(opml)).await.ok(200);
        let feeds = self.ask(cookie, "GET", "/api/feeds", &Value::Null).await.ok(200);
        let feeds = feeds.as_array().unwrap();
        let feed = feeds.iter().find(|feed| feed["url"] == format!("https://{name}.example/")).unwrap();
        FeedId(feed["id"].as_i64().unwrap())
    }

    /// A poll by the second node brings these entries.
    pub async fn poll(&self, feed: FeedId, guids: &[&str]) {
        let job = self.store.claim_polls("test", &[feed], Duration::from_mins(1)).await.unwrap().remove(0);
        let entry = |guid: &&str| IncomingEntry {
            guid: (*guid).to_owned(),
            identity: Hash::of(guid.as_bytes()),
            fingerprint: Hash::of(guid.as_bytes()),
            title: Some((*guid).to_owned()),
            ..IncomingEntry::default()
        };
        let document = Document { entries: guids.iter().map(entry).collect(), ..Document::default() };
        let result = PollResult {
            feed_id: feed,
            lease: job.lease,
            claimed_at: job.claimed_at,
            next_check_in: Duration::from_hours(1),
            next_audit_in: Duration::from_hours(1),
            due_by: None,
            adaptive_secs: 3600,
            moved_to: None,
            outcome: PollOutcome::Fetched(document),
        };
        assert!(self.store.finish_polls(vec![result]).await.unwrap().remove(0).unwrap().applied);
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub name: String,
    pub id: i64,
    pub data: Value,
}

#[derive(Debug)]
pub struct Events {
    pub response: reqwest::Response,
    text: String,
    /// As a browser would send it; -1 before there is one.
    pub last_id: i64,
}

impl Events {
    /// From the first node.
    pub async fn open(nodes: &Nodes, cookie: &str, path: &str) -> Self {
        Self::of(nodes.one.request("GET", path).header("cookie", cookie)).await
    }

    /// It is open when its first comment has come.
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self { response, text: String::new(), last_id: -1 }
    }

    /// The stream from its beginning, past the comment that ends that.
    pub async fn begun(nodes: &Nodes, cookie: &str) -> Self {
        let mut events = Self::open(nodes, cookie, "/api/events").await;
        while events.last_id < 0 {
            assert_eq!(events.block().await.unwrap(), None);
        }
        events
    }

    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.block().await {
                Some(Some(event)) => return Some(event),
                Some(None) => {}
                None => return None,
            }
        }
    }

    /// The next event of this name.
    pub async fn until(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("the stream ended before `{name}`"));
            if event.name == name {
                return event;
            }
        }
    }

    /// What stands before the next empty line.
    async fn lines(&mut self) -> Option<String> {
        while !self.text.contains("\n\n") {
            let chunk = tokio::time::timeout(LONG, self.response.chunk()).await.expect("nothing comes");
            // A server that stops may cut the connection.
            let Ok(Some(chunk)) = chunk else { return None };
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        let (block, rest) =
            self.text.split_once("\n\n").map(|(block, rest)| (block.to_owned(), rest.to_owned())).unwrap();
        self.text = rest;
        Some(block)
    }

    /// The same, if it is an event.
    async fn block(&mut self) -> Option<Option<Event>> {
        let block = self.lines().await?;
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        if let Some(id) = field("id: ") {
            let id: i64 = id.parse().unwrap();
            assert!(id >= self.last_id, "{id} after {}", self.last_id);
            self.last_id = id;
        }
        let event = field("event: ").filter(|name| name != "heartbeat").map(|name| {
            let data = serde_json::from_str(&field("data: ").unwrap()).unwrap();
            Event { name, id: self.last_id, data }
        });
        Some(event)
    }
}
