//! Push with the real program: publisher, hub and server on loopback, commands beside it, and processes that are killed
//! (requirements W1 to W13, U4, U5).

mod commands;
mod doctor;
mod fan_out;
mod life;
mod nodes;
mod own_server;
mod past;
mod traces;

use std::time::Duration;

use serde_json::Value;
use testkit::{Behaviour, Hub, HubPush, Lease, Page, Publisher, Verify};

use crate::server::Server;

pub(crate) const DAY: Duration = Duration::from_hours(24);

/// How long a test waits for what never comes.
const WAIT_MAX: Duration = Duration::from_mins(3);

/// Time between two looks at what gives no sign.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// A publisher and its hub.
struct Scene {
    publisher: Publisher,
    hub: Hub,
}

impl Scene {
    async fn start() -> Self {
        Self { publisher: Publisher::start().await, hub: Hub::start().await }
    }

    /// A feed at this path that names the hub.
    fn publish(&self, path: &str, entries: &[&str]) -> String {
        let page = Page::body(self.atom(path, entries)).header("Content-Type", "application/atom+xml");
        self.publisher.set(path, page);
        self.publisher.url(path)
    }

    /// What the hub would push of it.
    fn push(&self, path: &str, entries: &[&str]) -> HubPush {
        HubPush::new("application/atom+xml", self.atom(path, entries))
    }

    fn atom(&self, path: &str, entries: &[&str]) -> String {
        let entry = |title: &&str| {
            format!(
                "<entry><id>urn:{title}</id><title>{title}</title><updated>2026-03-01T00:00:00Z</updated>\
                 <content>About {title}</content></entry>"
            )
        };
        let entries: String = entries.iter().map(entry).collect();
        let (hub, topic) = (self.hub.url(), self.publisher.url(path));
        format!(
            "<feed xmlns='http://www.w3.org/2005/Atom'><title>News of {path}</title><link rel='hub' href='{hub}'/>\
             <link rel='self' href='{topic}'/>{entries}</feed>"
        )
    }
}

/// A hub that verifies while it is asked, and grants this lease.
fn leasing(lease: Duration) -> Behaviour {
    Behaviour { lease: Lease::Secs(lease.as_secs()), ..Behaviour::verifying(Verify::BeforeAnswer) }
}

/// Looks until it is so.
async fn until<T>(what: &str, is_so: impl AsyncFn() -> Option<T>) -> T {
    let end = tokio::time::Instant::now() + WAIT_MAX;
    loop {
        if let Some(found) = is_so().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < end, "waited {WAIT_MAX:?} for {what}");
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}

/// The only subscription, once it is in this state.
async fn subscription_becomes(server: &Server, state: &str) -> Value {
    let find = async || {
        let all = server.get("/api/websub/subscriptions").await;
        all.as_array().unwrap().iter().find(|subscription| subscription["state"] == state).cloned()
    };
    until(&format!("a subscription that is {state}: {}", server.log()), find).await
}

/// The titles of all entries, sorted.
async fn titles(server: &Server) -> Vec<String> {
    let title = |entry: &Value| entry["title"].as_str().unwrap_or_default().to_owned();
    let (mut titles, mut path): (Vec<String>, _) = (Vec::new(), "/api/entries?limit=500".to_owned());
    loop {
        let page = server.get(&path).await;
        titles.extend(page["entries"].as_array().unwrap().iter().map(title));
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        path = format!("/api/entries?limit=500&cursor={cursor}");
    }
    titles.sort();
    titles
}
