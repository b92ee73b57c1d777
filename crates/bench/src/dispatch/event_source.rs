//! Events as they come to be: a hub pushes an entry, which is stored with its event and its deliveries in one commit.
//! From there to the receiver is what is measured.

use domain::ports::Viewer;
use std::{collections::HashMap, time::Duration};

use anyhow::Context;
use domain::{
    SubscriptionId,
    ingest::Document,
    ports::Store,
    push::{Push, PushStored},
};
use serde::{Deserialize, Serialize};
use tokio::time::MissedTickBehavior;

use super::receiver::ReceiverMonitor;
use crate::{
    pages::entry,
    process,
    push::subscriptions::{Plan, secret},
};

/// Feeds that are pushed, in turn.
const FEEDS: usize = 50;

/// Where hubs would reach us, which none does here.
pub(super) const BASE_URL: &str = "https://reader.example.org";

/// How long the last may take to arrive.
const ARRIVE_PAUSE: Duration = Duration::from_millis(100);
const ARRIVE_LOOKS_MAX: usize = 100;

/// Later than anything arrives; a number that JSON knows.
const NEVER_SECS: f64 = 1e12;

#[derive(Debug)]
pub(super) struct EventSource(Vec<(SubscriptionId, String)>);

impl EventSource {
    /// Makes feeds that are pushed.
    pub(super) async fn make(store: &dyn Store) -> anyhow::Result<Self> {
        let hubs = ["https://hub.example.org/".to_owned()];
        let publisher = "https://example.org/feeds";
        Plan { count: FEEDS, entries: 0, publisher, hubs: &hubs, base_url: BASE_URL }.make(store).await?;
        let subscriptions = store.subscriptions(Viewer::Server).await?;
        let known = |(id, token): (SubscriptionId, &str)| Ok((id, secret(usize::from_str_radix(token, 16)?)));
        Ok(Self(subscriptions.iter().map(|one| known((one.id, one.token.as_str()))).collect::<anyhow::Result<_>>()?))
    }

    /// Pushes so many entries, one after the other at this pace, and waits for all to arrive.
    pub(super) async fn push(
        &self,
        store: &dyn Store,
        monitor: &mut ReceiverMonitor,
        count: usize,
        every: Duration,
    ) -> anyhow::Result<Latencies> {
        let mut pace = tokio::time::interval(every);
        pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut published = Vec::with_capacity(count);
        for number in 0..count {
            pace.tick().await;
            published.push(self.push_one(store, number).await?);
        }
        for _ in 0..ARRIVE_LOOKS_MAX {
            if monitor.arrivals().await?.len() >= count {
                break;
            }
            tokio::time::sleep(ARRIVE_PAUSE).await;
        }
        Ok(Latencies::of(&published, &monitor.arrivals().await?))
    }

    async fn push_one(&self, store: &dyn Store, number: usize) -> anyhow::Result<PublishedEvent> {
        let (subscription_id, secret) = self.0.get(number % self.0.len()).context("there are subscriptions")?.clone();
        let entry = entry(number);
        let guid = entry.guid.clone();
        let document = Document { present: vec![entry.key()], entries: vec![entry], ..Document::default() };
        let asked_secs = process::wall_secs();
        let stored = store.push(Push { subscription_id, secret, document, poll_in: None }).await?;
        let committed_secs = process::wall_secs();
        anyhow::ensure!(matches!(stored, PushStored::Stored(_)), "a push was not stored: {stored:?}");
        Ok(PublishedEvent { guid, asked_secs, committed_secs })
    }
}

/// An event, and when it was written down.
#[derive(Debug)]
pub(super) struct PublishedEvent {
    pub(super) guid: String,
    pub(super) asked_secs: f64,
    /// When the commit was known: a moment after it, so that some arrive before.
    pub(super) committed_secs: f64,
}

/// How long events took to arrive, in milliseconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Latencies {
    pub(super) events: usize,
    pub(super) missing: usize,
    pub(super) median_ms: f64,
    pub(super) percentile_99_ms: f64,
    pub(super) most_ms: f64,
    /// The same from before the commit, which is in it.
    pub(super) asked_median_ms: f64,
    pub(super) asked_percentile_99_ms: f64,
}

impl Latencies {
    pub(super) fn of(published: &[PublishedEvent], arrivals: &HashMap<String, f64>) -> Self {
        let since = |begun: fn(&PublishedEvent) -> f64| {
            let took = |published: &PublishedEvent| {
                let arrived_secs = arrivals.get(&published.guid).copied().unwrap_or(NEVER_SECS);
                (arrived_secs - begun(published)).max(0.0) * 1000.0
            };
            let mut took: Vec<f64> = published.iter().map(took).collect();
            took.sort_by(f64::total_cmp);
            took
        };
        let (committed, asked) = (since(|published| published.committed_secs), since(|published| published.asked_secs));
        let at = |took: &[f64], percent: usize| {
            took.get((took.len() * percent / 100).min(took.len().saturating_sub(1))).copied().unwrap_or(f64::MAX)
        };
        Self {
            events: published.len(),
            missing: published.iter().filter(|published| !arrivals.contains_key(&published.guid)).count(),
            median_ms: at(&committed, 50),
            percentile_99_ms: at(&committed, 99),
            most_ms: at(&committed, 100),
            asked_median_ms: at(&asked, 50),
            asked_percentile_99_ms: at(&asked, 99),
        }
    }
}
