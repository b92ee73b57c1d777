//! Servers, and all who have to do with them.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Behaviour, Hub, HubPush, HubSubscription, Line, Page, Publisher, Receiver, Verify};
use tokio::time::Instant;

use super::{Database, figures::Figures, server::Server};
use crate::process;

/// Feeds of each kind.
pub(crate) const POLLED: usize = 20;
pub(crate) const PUSHED: usize = 20;
/// Entries that a document holds: what was published while a server was away must still be in it.
const DOCUMENT_ENTRIES: u64 = 400;
const HOOK: &str = "/hook";
/// How long a server may take to start, and a subscription to be verified.
const START_MAX: Duration = Duration::from_mins(2);
const LOOK_PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct World {
    pub(crate) servers: Arc<Vec<Server>>,
    pub(crate) line: Option<Line>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) held: Arc<Vec<HubSubscription>>,
    pub(crate) client: reqwest::Client,
    pub(crate) figures: Figures,
    /// Entries that each polled feed has published.
    pub(crate) published: Arc<Vec<AtomicU64>>,
    /// Pushes that were not answered: the hub tries them again.
    pub(crate) unanswered: Arc<Mutex<Vec<(usize, String)>>>,
    pub(crate) begun: Instant,
    publisher: Publisher,
    receiver: Receiver,
    _folder: TempDir,
}

impl World {
    pub(crate) async fn start(program: &Path, database: &Database) -> anyhow::Result<Self> {
        let (folder, figures) = (tempfile::tempdir()?, Figures::default());
        let line = match database {
            Database::Postgres(url) => Some(Line::to(url).await),
            Database::Sqlite | Database::Given(_) => None,
        };
        let url = match database {
            Database::Given(url) => Some(url.as_str()),
            Database::Sqlite | Database::Postgres(_) => line.as_ref().map(Line::url),
        };
        let posts: Arc<Vec<AtomicU64>> = Arc::new((0..POLLED).map(|_| AtomicU64::new(1)).collect());
        let (publisher, hub, receiver) =
            (Publisher::start().await, Arc::new(Hub::start().await), receive(&figures).await);
        publisher.record(false);
        hub.script(Behaviour::verifying(Verify::AfterAnswer));
        publish(&publisher, &hub.url(), &posts);
        let servers = make_servers(program, folder.path(), url)?;
        let mut world = Self {
            servers: Arc::new(servers),
            line,
            hub,
            held: Arc::default(),
            client: reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build()?,
            figures,
            published: posts,
            unanswered: Arc::default(),
            begun: Instant::now(),
            publisher,
            receiver,
            _folder: folder,
        };
        world.fill().await?;
        Ok(world)
    }

    /// Starts the servers, follows all feeds and waits for their subscriptions.
    async fn fill(&mut self) -> anyhow::Result<()> {
        for server in self.servers.iter() {
            server.start()?;
            self.ready(server).await?;
        }
        let hook = self.receiver.url(HOOK);
        self.post("/api/webhooks", json!({ "url": hook, "eventTypes": ["entry.created"], "backlog": true })).await?;
        for number in 0..POLLED {
            self.post("/api/feeds", json!({ "url": self.publisher.url(&format!("/polled/{number}")) })).await?;
            self.figures.owe(polled_title(number, 0));
        }
        let mut held = Vec::new();
        for number in 0..PUSHED {
            let url = self.publisher.url(&format!("/pushed/{number}"));
            self.post("/api/feeds", json!({ "url": url })).await?;
            let subscribed = tokio::time::timeout(START_MAX, self.hub.subscribed(&url)).await;
            held.push(subscribed.context("a hub is not asked")?);
        }
        self.held = Arc::new(held);
        Ok(())
    }

    async fn post(&self, path: &str, body: Value) -> anyhow::Result<()> {
        let request = self.client.post(self.servers[0].url(path)).header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await?;
        anyhow::ensure!(answer.status().is_success(), "{path}: {} {}", answer.status(), answer.text().await?);
        Ok(())
    }

    /// Waits until a server is ready.
    pub(crate) async fn ready(&self, server: &Server) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let answer = self.client.get(server.url("/readyz")).timeout(Duration::from_secs(5)).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            anyhow::ensure!(begun.elapsed() < START_MAX, "a server does not become ready: {}", server.log());
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    /// What a task that pushes needs of it.
    pub(crate) fn share(&self) -> Pusher {
        Pusher {
            hub: self.hub.clone(),
            held: self.held.clone(),
            figures: self.figures.clone(),
            unanswered: self.unanswered.clone(),
            publisher: self.publisher.url(""),
        }
    }

    /// Lets everything arrive that is owed, and looks whether it has.
    pub(crate) async fn settle(&self, most: Duration) -> anyhow::Result<Figures> {
        let (begun, pusher) = (Instant::now(), self.share());
        for server in self.servers.iter() {
            self.ready(server).await?;
        }
        loop {
            pusher.push_again(usize::MAX).await;
            self.figures.found(self.entries().await.unwrap_or_default());
            if self.figures.missing() == (0, 0) || begun.elapsed() > most {
                println!(
                    "  {} entries owed, settled after {:.0} s",
                    self.figures.owed_count(),
                    begun.elapsed().as_secs_f64()
                );
                return Ok(self.figures.clone());
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// All entries, page by page: their titles and ids, and whether they are read.
    async fn entries(&self) -> anyhow::Result<Vec<(String, i64, bool)>> {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/api/entries?limit=500&content=false{cursor}");
            let page = self.client.get(self.servers[0].url(&path)).send().await?.error_for_status()?.text().await?;
            let page: Value = serde_json::from_str(&page)?;
            let entries = page["entries"].as_array().context("a page has entries")?;
            found.extend(entries.iter().filter_map(|entry| {
                Some((entry["title"].as_str()?.to_owned(), entry["id"].as_i64()?, entry["isRead"].as_bool()?))
            }));
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(found),
            }
        }
    }
}

/// The hub, as it pushes.
pub(crate) struct Pusher {
    hub: Arc<Hub>,
    held: Arc<Vec<HubSubscription>>,
    pub(crate) figures: Figures,
    pub(crate) unanswered: Arc<Mutex<Vec<(usize, String)>>>,
    publisher: String,
}

impl Pusher {
    /// Pushes an entry of a feed; true if it was answered, and so is owed.
    pub(crate) async fn push(&self, feed: usize, title: &str) -> bool {
        let topic = format!("{}/pushed/{feed}", self.publisher.trim_end_matches('/'));
        let body = atom(&topic, &self.hub.url(), &[title.to_owned()]);
        let answer = self.hub.push(&self.held[feed], HubPush::new("application/atom+xml", body)).await;
        let is_answered = answer.status == 204;
        if is_answered {
            self.figures.owe(title.to_owned());
        }
        is_answered
    }

    /// Brings some of what was not answered once more.
    pub(crate) async fn push_again(&self, most: usize) {
        let waiting = {
            let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
            let some = most.min(unanswered.len());
            unanswered.drain(..some).collect::<Vec<_>>()
        };
        for (feed, title) in waiting {
            if !self.push(feed, &title).await {
                self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).push((feed, title));
            }
        }
    }
}

pub(crate) fn polled_title(feed: usize, entry: u64) -> String {
    format!("polled {feed} entry {entry}")
}

pub(crate) fn pushed_title(number: usize) -> String {
    format!("pushed {number}")
}

/// Whether an entry of this title comes by push.
pub(crate) fn is_pushed(title: &str) -> bool {
    title.starts_with("pushed ")
}

/// A receiver that notes the titles of what it gets, and now and then has a bad moment.
async fn receive(figures: &Figures) -> Receiver {
    let (receiver, figures, count) = (Receiver::start().await, figures.clone(), AtomicU64::new(0));
    receiver.record(false);
    receiver.answer_by(HOOK, move |receipt| {
        if count.fetch_add(1, Ordering::Relaxed) % 50 == 49 {
            return Page::status(503);
        }
        let event: Value = serde_json::from_slice(receipt.body()).unwrap_or_default();
        if let Some(title) = event["data"]["entry"]["title"].as_str() {
            figures.delivered(title);
        }
        Page::status(200)
    });
    receiver
}

/// Feeds that grow, and feeds that a hub pushes.
fn publish(publisher: &Publisher, hub: &str, posts: &Arc<Vec<AtomicU64>>) {
    let (base, hub, posts) = (publisher.url(""), hub.to_owned(), Arc::clone(posts));
    publisher.set_fallback(move |request| {
        let (kind, number) = request.path.rsplit_once('/').unwrap_or_default();
        match (kind, number.parse::<usize>()) {
            ("/polled", Ok(number)) if number < POLLED => {
                let last = posts[number].load(Ordering::SeqCst);
                let titles =
                    (last.saturating_sub(DOCUMENT_ENTRIES)..last).rev().map(|entry| polled_title(number, entry));
                Page::body(rss(titles)).header("Content-Type", "application/rss+xml")
            }
            ("/pushed", Ok(_)) => {
                let topic = format!("{}{}", base.trim_end_matches('/'), request.path);
                Page::body(atom(&topic, &hub, &[])).header("Content-Type", "application/atom+xml")
            }
            _ => Page::status(404),
        }
    });
}

fn rss(titles: impl Iterator<Item = String>) -> String {
    let items: String = titles
        .map(|title| {
            format!("<item><guid>{title}</guid><title>{title}</title><description>Text of {title}</description></item>")
        })
        .collect();
    format!("<rss version='2.0'><channel><title>Polled</title>{items}</channel></rss>")
}

fn atom(topic: &str, hub: &str, titles: &[String]) -> String {
    let entries: String = titles
        .iter()
        .map(|title| {
            format!(
                "<entry><id>urn:{title}</id><title>{title}</title><updated>2026-03-01T00:00:00Z</updated>\
                 <content>Text of {title}</content></entry>"
            )
        })
        .collect();
    format!(
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>Pushed</title><link rel='hub' href='{hub}'/>\
         <link rel='self' href='{topic}'/>{entries}</feed>"
    )
}

fn make_servers(program: &Path, folder: &Path, database: Option<&str>) -> anyhow::Result<Vec<Server>> {
    let count = if database.is_some() { 2 } else { 1 };
    let addresses: Vec<String> = (0..count).map(|_| process::free_address()).collect::<anyhow::Result<_>>()?;
    let base_url = format!("http://{}", addresses[0]);
    let make = |(number, address): (usize, &String)| {
        let folder = folder.join(format!("node-{number}"));
        std::fs::create_dir(&folder)?;
        anyhow::Ok(Server::new(program, &folder, address, &base_url, database))
    };
    addresses.iter().enumerate().map(make).collect()
}
