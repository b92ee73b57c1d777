//! Those who publish, push, read and listen while it runs.

use std::{
    sync::{PoisonError, atomic::Ordering},
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::world::{PUSHED, World, polled_title, pushed_title};

/// How often each does what it does.
const PUBLISH_EVERY: Duration = Duration::from_millis(250);
const PUSH_EVERY: Duration = Duration::from_millis(100);
const PAGE_EVERY: Duration = Duration::from_millis(100);
const MARK_EVERY: Duration = Duration::from_millis(500);
const SAMPLE_EVERY: Duration = Duration::from_secs(5);
/// Pages that are open and listen.
const STREAMS: usize = 20;
/// Pushes that are tried again at once, at most.
const RETRIES_MAX: usize = 50;

/// What is asked for, and as whom apps ask: the servers are open to this machine.
const PAGES: [(&str, &str, Option<&str>); 7] = [
    ("page of entries", "/api/entries?limit=50", None),
    ("search", "/api/entries?limit=50&q=entry", None),
    ("counts", "/api/counts", None),
    ("feeds", "/api/feeds", None),
    ("page in HTML", "/", None),
    (
        "app: ids (Google Reader)",
        "/api/greader.php/reader/api/0/stream/items/ids?output=json&n=1000&s=user/-/state/com.google/reading-list",
        Some("GoogleLogin auth=open"),
    ),
    ("app: unread (Miniflux)", "/v1/entries?status=unread&limit=100", Some("Basic cmVhZGVyOmFueQ==")),
];

pub(crate) struct Load(TaskTracker);

impl Load {
    pub(crate) async fn wait(self) {
        self.0.close();
        self.0.wait().await;
    }
}

/// Begins all of it, until it is told to stop.
pub(crate) fn begin(world: &World, stop: &CancellationToken) -> Load {
    let tracker = TaskTracker::new();
    tracker.spawn(every(PUBLISH_EVERY, stop.clone(), publisher(world)));
    tracker.spawn(stop.clone().run_until_cancelled_owned(pusher(world)));
    for server in 0..world.servers.len() {
        tracker.spawn(stop.clone().run_until_cancelled_owned(reader(world, server)));
    }
    tracker.spawn(stop.clone().run_until_cancelled_owned(marker(world)));
    for number in 0..STREAMS {
        tracker.spawn(stop.clone().run_until_cancelled_owned(listener(world, number)));
    }
    tracker.spawn(every(SAMPLE_EVERY, stop.clone(), sampler(world)));
    Load(tracker)
}

async fn every(pause: Duration, stop: CancellationToken, mut act: impl FnMut() + Send) {
    let mut ticks = tokio::time::interval(pause);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        act();
    }
}

/// Publishes an entry in one polled feed after the other.
fn publisher(world: &World) -> impl FnMut() + Send + use<> {
    let (published, figures, mut next) = (world.published.clone(), world.figures.clone(), 0);
    move || {
        let feed = next % published.len();
        next += 1;
        let entry = published[feed].fetch_add(1, Ordering::SeqCst);
        figures.owe(polled_title(feed, entry));
    }
}

fn sampler(world: &World) -> impl FnMut() + Send + use<> {
    let (servers, figures, begun) = (world.servers.clone(), world.figures.clone(), world.begun);
    move || {
        for id in servers.iter().filter_map(super::server::Server::id) {
            // One that was just killed has none.
            if let Ok(bytes) = crate::process::resident_bytes_of(id)
                && bytes > 0
            {
                figures.memory_is(begun.elapsed().as_secs() / 60, bytes);
            }
        }
    }
}

/// A hub with something new in one feed after the other. What is not answered it brings again.
fn pusher(world: &World) -> impl Future<Output = ()> + Send + use<> {
    let world = world.share();
    async move {
        let mut ticks = tokio::time::interval(PUSH_EVERY);
        for number in 0usize.. {
            ticks.tick().await;
            let (feed, title) = (number % PUSHED, pushed_title(number));
            let begun = Instant::now();
            let is_answered = world.push(feed, &title).await;
            world.figures.took("push", is_answered.then(|| begun.elapsed()));
            if is_answered {
                world.push_again(RETRIES_MAX).await;
            } else {
                world.unanswered.lock().unwrap_or_else(PoisonError::into_inner).push((feed, title));
            }
        }
    }
}

fn reader(world: &World, server: usize) -> impl Future<Output = ()> + Send + use<> {
    let (servers, client, figures) = (world.servers.clone(), world.client.clone(), world.figures.clone());
    async move {
        let mut ticks = tokio::time::interval(PAGE_EVERY);
        for (what, path, app) in PAGES.into_iter().cycle() {
            ticks.tick().await;
            let begun = Instant::now();
            let request = client.get(servers[server].url(path));
            let request = app.into_iter().fold(request, |request, who| request.header("authorization", who));
            let answer = request.send().await;
            let answer = match answer.and_then(reqwest::Response::error_for_status) {
                Ok(answer) => answer.bytes().await.ok(),
                Err(_) => None,
            };
            figures.took(what, answer.map(|_| begun.elapsed()));
        }
    }
}

/// An app that marks what it sees.
fn marker(world: &World) -> impl Future<Output = ()> + Send + use<> {
    let (servers, client, figures) = (world.servers.clone(), world.client.clone(), world.figures.clone());
    async move {
        let mut ticks = tokio::time::interval(MARK_EVERY);
        loop {
            ticks.tick().await;
            let begun = Instant::now();
            let url = |path: &str| servers[servers.len() - 1].url(path);
            let marked = async {
                let page = client.get(url("/api/entries?limit=1&unread=true&content=false")).send().await.ok()?;
                let page: serde_json::Value = serde_json::from_str(&page.text().await.ok()?).ok()?;
                let entry = page["entries"].get(0)?["id"].as_i64()?;
                let request =
                    client.patch(url(&format!("/api/entries/{entry}"))).header("content-type", "application/json");
                let answer = request.body(r#"{"isRead":true}"#).send().await.ok()?;
                answer.status().is_success().then(|| {
                    figures.owe_mark(entry);
                    begun.elapsed()
                })
            };
            figures.took("mark", marked.await);
        }
    }
}

/// A page that is open: it listens, and connects again when it is cut off.
fn listener(world: &World, number: usize) -> impl Future<Output = ()> + Send + use<> {
    let (servers, client) = (world.servers.clone(), world.client.clone());
    async move {
        loop {
            let url = servers[number % servers.len()].url("/api/events");
            let request = client.get(url).timeout(Duration::from_hours(24));
            if let Ok(mut answer) = request.send().await {
                while let Ok(Some(_)) = answer.chunk().await {}
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}
