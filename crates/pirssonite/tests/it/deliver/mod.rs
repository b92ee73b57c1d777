//! Deliveries with the real program: a publisher, webhooks and servers on loopback, of which some are killed, frozen or
//! told to stop (requirements D1 to D12).

mod accounts;
mod crash;
mod flow;
mod leases;
mod lost_database;
mod nodes;
mod settings;
mod stop;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{FreshPostgres, Page, Publisher, Receiver, fresh_postgres};

use crate::server::{Data, Server};

/// How long a test waits for what never comes.
const WAIT_MAX: Duration = Duration::from_mins(3);

/// Time between two looks at what gives no sign.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// A publisher of one feed, and a receiver of what is told of it.
struct Scene {
    publisher: Publisher,
    receiver: Receiver,
}

impl Scene {
    async fn start() -> Self {
        Self { publisher: Publisher::start().await, receiver: Receiver::start().await }
    }

    /// A webhook at this path, which is told of new entries. The receiver knows its secret.
    async fn webhook(&self, server: &Server, path: &str) -> Value {
        let input = json!({ "url": self.receiver.url(path), "eventTypes": ["entry.created"], "backlog": true });
        let (status, webhook) = server.call(Method::POST, "/api/webhooks", Some(input)).await;
        assert_eq!(status, 201, "{webhook}");
        self.receiver.expect_secret(path, webhook["secret"].as_str().unwrap());
        webhook
    }

    /// The feed, still empty.
    async fn feed(&self, server: &Server) {
        self.publisher.set("/feed", Page::body(document(&[])));
        let input = json!({ "url": self.publisher.url("/feed") });
        let (status, feed) = server.call(Method::POST, "/api/feeds", Some(input)).await;
        assert_eq!(status, 201, "{feed}");
    }

    /// These entries are in the feed now, and this server has polled them.
    async fn publish(&self, server: &Server, titles: &[&str]) {
        self.publisher.set("/feed", Page::body(document(titles)));
        let feed = server.get("/api/feeds").await[0]["id"].clone();
        let (status, polled) = server.call(Method::POST, &format!("/api/feeds/{feed}/refresh"), None).await;
        assert_eq!(status, 200, "{polled}");
        assert_ne!(polled["summary"]["newEntries"], 0, "{polled}");
    }

    /// A webhook at `/a`, and a first entry for it, polled by this server. Returns the webhook's secret.
    async fn first_delivery(&self, server: &Server) -> String {
        let webhook = self.webhook(server, "/a").await;
        self.feed(server).await;
        self.publish(server, &["first"]).await;
        webhook["secret"].as_str().unwrap().to_owned()
    }
}

/// What no log may ever say.
const TEXT: &str = "what the entry says";

fn document(titles: &[&str]) -> String {
    let item = |title: &&str| {
        format!("<item><guid>{title}</guid><title>{title}</title><description>{TEXT}</description></item>")
    };
    let items: String = titles.iter().map(item).collect();
    format!("<rss version='2.0'><channel><title>News</title>{items}</channel></rss>")
}

/// A database for any number of nodes.
struct Shared {
    database: FreshPostgres,
    folders: TempDir,
    nodes: AtomicUsize,
}

impl Shared {
    async fn new() -> Self {
        let (database, folders) = (fresh_postgres().await, tempfile::tempdir().unwrap());
        Self { database, folders, nodes: AtomicUsize::new(0) }
    }

    /// One more node, with a folder of its own.
    fn start(&self, flags: &[&str]) -> Server {
        let folder = self.folder();
        Server::start(Data::Database(self.database.url(), &folder), flags)
    }

    fn folder(&self) -> PathBuf {
        let folder = self.folders.path().join(self.nodes.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&folder).unwrap();
        folder
    }
}

/// Looks until it is so.
async fn until<T>(what: &str, server: &Server, is_so: impl AsyncFn() -> Option<T>) -> T {
    let end = tokio::time::Instant::now() + WAIT_MAX;
    loop {
        if let Some(found) = is_so().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < end, "waited {WAIT_MAX:?} for {what}: {}", server.log());
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}

/// Waits until it has logged this, and returns the line.
async fn logged(server: &Server, what: &str) -> String {
    let find = async || server.log().lines().find(|line| line.contains(what)).map(str::to_owned);
    until(&format!("a log of {what:?}"), server, find).await
}

async fn deliveries(server: &Server) -> Vec<Value> {
    server.get("/api/outbox/deliveries?limit=500").await["events"].as_array().unwrap().clone()
}

async fn delivery(server: &Server) -> Value {
    let deliveries = deliveries(server).await;
    assert_eq!(deliveries.len(), 1, "{deliveries:#?}");
    deliveries.into_iter().next().unwrap()
}

/// The only delivery with its attempts, once it is delivered.
async fn delivered(server: &Server) -> Value {
    let is_so = async || Some(delivery(server).await).filter(|delivery| delivery["deliveryStatus"] == "delivered");
    let found = until("the delivery", server, is_so).await;
    server.get(&format!("/api/outbox/deliveries/{}", found["id"].as_str().unwrap())).await
}

/// Waits until nothing is pending. Returns what is left.
async fn drained(server: &Server) -> Value {
    let is_so = async || Some(server.get("/api/outbox/overview").await).filter(|overview| overview["pending"] == 0);
    until("an empty outbox", server, is_so).await
}
