//! Entries that flow in from pushes and polls while the server that takes them is killed again and again, and what the
//! webhooks that are told of them have received.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use testkit::{Answer, Hub, HubPush, HubSubscription, Page, Publisher, Receipt};
use tokio::sync::{Semaphore, watch};

use crate::server::client;

/// Entries that have not been delivered to all yet. If there were many more, the second attempts at every third would
/// come one after the other, and so many failures in a row leave a webhook with probes only (requirement D9). That is not
/// what is tested here: receivers whose breaker opens get all events in `engine/tests/it/dispatch/flaky.rs` (without kills)
/// and `bench -- dispatch flaky` (a thousand events, within two minutes).
const UNRECEIVED_MAX: u32 = 96;

/// Webhooks that are told of every entry.
pub(super) const WEBHOOKS: usize = 3;

/// The one that refuses the first two attempts at every third entry.
pub(super) const FLAKY: usize = 2;
const REFUSALS: usize = 2;

/// The entry that an event is about, by its number.
pub(super) fn entry_of(receipt: &Receipt) -> usize {
    let payload: Value = serde_json::from_slice(receipt.body()).expect("a payload is JSON");
    let guid = payload["data"]["entry"]["guid"].as_str().expect("it is about an entry");
    guid.trim_start_matches("urn:entry:").parse().expect("it is one of ours")
}

/// How many attempts at an entry a webhook refuses.
pub(super) fn refusals(webhook: usize, entry: usize) -> usize {
    if webhook == FLAKY && entry.is_multiple_of(3) { REFUSALS } else { 0 }
}

/// What was received so far, by entry and webhook.
pub(super) struct Ledger {
    received: Mutex<HashMap<usize, [usize; WEBHOOKS]>>,
    /// There is a place for each entry that may be under way.
    permits: Semaphore,
}

impl Ledger {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { received: Mutex::default(), permits: Semaphore::new(UNRECEIVED_MAX as usize) })
    }

    /// Takes note of a receipt, and tells how it is answered.
    pub(super) fn answer(&self, webhook: usize, receipt: &Receipt) -> Answer {
        let entry = entry_of(receipt);
        let mut received = self.received.lock().unwrap();
        let counts = received.entry(entry).or_default();
        counts[webhook] += 1;
        if counts[webhook] <= refusals(webhook, entry) {
            return Answer::status(500);
        }
        let is_good = |of: usize| counts[of] > refusals(of, entry);
        let is_first = counts[webhook] == refusals(webhook, entry) + 1;
        if is_first && (0..WEBHOOKS).all(is_good) {
            self.permits.add_permits(1);
        }
        Answer::ok()
    }

    /// Waits until so many may come.
    async fn acquire(&self, entries: usize) {
        let entries = u32::try_from(entries).unwrap();
        self.permits.acquire_many(entries).await.expect("it is never closed").forget();
    }

    /// Waits until all have been delivered to all.
    pub(super) async fn all_delivered(&self) {
        self.acquire(UNRECEIVED_MAX as usize).await;
    }

    /// How far it has come, for a test that fails.
    pub(super) fn summary(&self) -> String {
        let received = self.received.lock().unwrap();
        let missing =
            received.iter().filter(|(entry, counts)| (0..WEBHOOKS).any(|of| counts[of] <= refusals(of, **entry)));
        let missing: Vec<_> = missing.collect();
        format!("{} entries are known, {} not delivered to all: {missing:?}", received.len(), missing.len())
    }
}

/// Whoever brings entries to a server that is up now and then.
#[derive(Clone)]
pub(super) struct Flow {
    pub(super) ledger: Arc<Ledger>,
    /// Whether the server is up.
    pub(super) is_up: watch::Receiver<bool>,
    /// Entries that were brought.
    pub(super) brought: Arc<watch::Sender<usize>>,
}

impl Flow {
    /// Pushes these entries, so many at once, as a hub does that tries again until it is told that they were taken.
    pub(super) async fn push(mut self, hub: Arc<Hub>, to: HubSubscription, entries: Vec<usize>, at_once: usize) {
        for chunk in entries.chunks(at_once) {
            self.ledger.acquire(chunk.len()).await;
            let push = HubPush::new("application/atom+xml", document(&to.topic, &hub.url(), chunk));
            loop {
                self.up().await;
                let answer = hub.push(&to, push.clone()).await;
                if answer.is_success() {
                    break;
                }
                assert_eq!(answer.status, 0, "only death keeps it from taking a push: {answer:?}");
            }
            self.brought.send_modify(|brought| *brought += chunk.len());
        }
    }

    /// Imports feeds with these entries, one after the other, each with so many. They are polled in the background.
    pub(super) async fn import(mut self, publisher: Arc<Publisher>, server: String, entries: Vec<usize>, each: usize) {
        for (feed, chunk) in entries.chunks(each).enumerate() {
            self.ledger.acquire(chunk.len()).await;
            let path = format!("/polled/{feed}");
            publisher.set(&path, Page::body(document(&publisher.url(&path), "", chunk)).etag("\"1\""));
            let opml = format!("<opml version='2.0'><body><outline xmlUrl='{}'/></body></opml>", publisher.url(&path));
            loop {
                self.up().await;
                let request = client().post(format!("{server}/api/opml/import")).header("content-type", "text/x-opml");
                let Ok(answer) = request.body(opml.clone()).send().await else { continue };
                assert_eq!(answer.status().as_u16(), 200);
                break;
            }
            self.brought.send_modify(|brought| *brought += chunk.len());
        }
    }

    async fn up(&mut self) {
        self.is_up.wait_for(|is_up| *is_up).await.expect("the test goes on");
    }
}

/// A feed, with a hub if it has one.
pub(super) fn document(topic: &str, hub: &str, entries: &[usize]) -> String {
    let entry = |entry: &usize| {
        format!(
            "<entry><id>urn:entry:{entry}</id><title>Entry {entry}</title><updated>2026-03-01T00:00:00Z</updated>\
             <content>What entry {entry} says.</content></entry>"
        )
    };
    let entries: String = entries.iter().map(entry).collect();
    let hub = if hub.is_empty() { String::new() } else { format!("<link rel='hub' href='{hub}'/>") };
    format!(
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>News</title>{hub}<link rel='self' href='{topic}'/>{entries}</feed>"
    )
}
