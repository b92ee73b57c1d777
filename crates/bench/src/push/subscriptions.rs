//! Many subscriptions at once, made through the store as polls and hubs make them. Token and secret follow from the
//! number of the feed, so that another process knows them too.

use domain::account::READER;
use domain::ports::Viewer;
use std::time::Duration;

use anyhow::Context;
use domain::{
    FeedId,
    ingest::{Document, IncomingEntry, PollJob, PollOutcome, PollResult, PushDiscovery, Validators},
    ports::{Changed, Claim, Store},
    push::{Discovery, Mode, Offer, RenewalRules, Subscription, SubscriptionEvent},
};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{pages::entry, poll::seed, publisher::ETAG};

/// The lease that hubs give; it is renewed two days before its end.
pub(crate) const LEASE: Duration = Duration::from_hours(5 * 24);

/// Longer than any measurement, however far its clock is put forward.
const LONG: Duration = Duration::from_hours(30 * 24);

const IMPORT_BATCH: usize = 1000;
const POLL_BATCH: usize = 50;
const CHANGES_AT_ONCE: usize = 64;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'p> {
    /// Feeds, each with one subscription.
    pub(crate) count: usize,
    /// Entries that each feed has from the start: a database plans for the rows that it has.
    pub(crate) entries: usize,
    /// Where the feeds are.
    pub(crate) publisher: &'p str,
    /// Where their hubs are, in turn.
    pub(crate) hubs: &'p [String],
    /// Where hubs reach us.
    pub(crate) base_url: &'p str,
}

/// The token of the subscription of this feed.
pub(crate) fn token(number: usize) -> String {
    format!("{number:048x}")
}

/// The secret that its hub was given.
pub(crate) fn secret(number: usize) -> String {
    format!("{number:064x}")
}

/// Where this feed is.
pub(crate) fn feed_url(publisher: &str, number: usize) -> String {
    format!("{publisher}/{number}")
}

impl Plan<'_> {
    /// Makes the feeds and their subscriptions, each verified by its hub, and nothing to be polled.
    pub(crate) async fn make(&self, store: &dyn Store) -> anyhow::Result<()> {
        let seeds = (0..self.count).map(|number| seed(&feed_url(self.publisher, number)));
        let seeds = seeds.collect::<anyhow::Result<Vec<_>>>()?;
        for batch in seeds.chunks(IMPORT_BATCH) {
            store.import_feeds(READER, batch.to_vec()).await?;
        }
        let feeds: Vec<FeedId> = store.feeds(READER).await?.iter().map(|feed| feed.id).collect();
        finish(store, &feeds, |job| Ok(PollOutcome::Fetched(self.document(job)?))).await?;
        let subscriptions = store.subscriptions(Viewer::Server).await?;
        anyhow::ensure!(subscriptions.len() == self.count, "{} subscriptions were made", subscriptions.len());
        stream::iter(&subscriptions)
            .map(|subscription| self.activate(store, subscription))
            .buffer_unordered(CHANGES_AT_ONCE)
            .try_collect::<()>()
            .await?;
        // The first poll after a verification, which found nothing new.
        finish(store, &feeds, |_| Ok(PollOutcome::Unchanged(validators()))).await
    }

    fn document(&self, job: &PollJob) -> anyhow::Result<Document> {
        let url = &job.address.url;
        let number: usize = url.rsplit('/').next().context("a URL has a path")?.parse()?;
        let hub = self.hubs[number % self.hubs.len()].clone();
        let offer = Offer { token: token(number), base_url: self.base_url.to_owned() };
        let entries: Vec<_> = (number * self.entries..(number + 1) * self.entries).map(entry).collect();
        let discovery = Discovery { hubs: vec![hub], topic: Some(url.clone()) };
        Ok(Document {
            title: Some(format!("Feed {number}")),
            validators: validators(),
            present: entries.iter().map(IncomingEntry::key).collect(),
            entries,
            is_complete: true,
            found: Some(PushDiscovery { discovery, offer: Some(offer), push_may_take: domain::push::PUSH_MAY_TAKE }),
            ..Document::default()
        })
    }

    /// Its hub is asked, and verifies.
    async fn activate(&self, store: &dyn Store, subscription: &Subscription) -> anyhow::Result<()> {
        let number = usize::from_str_radix(&subscription.token, 16)?;
        let (mode, base_url) = (Mode::Subscribe, self.base_url.to_owned());
        let asking = SubscriptionEvent::Asking { mode, secret: Some(secret(number)), base_url };
        let verified = SubscriptionEvent::Verified { mode, lease_secs: Some(LEASE.as_secs()), only_if_asked: true };
        for event in [asking, verified] {
            let changed =
                store.change_subscription(subscription.id, Claim::None, event, RenewalRules::default()).await?;
            anyhow::ensure!(matches!(changed, Changed::Done(_)), "a subscription took no event");
        }
        Ok(())
    }
}

fn validators() -> Validators {
    Validators { etag: Some(ETAG.to_owned()), ..Validators::default() }
}

/// Has polls of these feeds end so.
pub(crate) async fn finish(
    store: &dyn Store,
    feeds: &[FeedId],
    outcome: impl Fn(&PollJob) -> anyhow::Result<PollOutcome>,
) -> anyhow::Result<()> {
    for batch in feeds.chunks(POLL_BATCH) {
        let jobs = store.claim_polls("builder", batch, Duration::from_mins(1)).await?;
        anyhow::ensure!(jobs.len() == batch.len(), "not all feeds were claimed");
        let result = |job: PollJob| {
            Ok(PollResult {
                outcome: outcome(&job)?,
                feed_id: job.feed_id,
                lease: job.lease,
                claimed_at: job.claimed_at,
                next_check_in: LONG,
                next_audit_in: LONG,
                due_by: None,
                adaptive_secs: 3600,
                moved_to: None,
            })
        };
        let results = jobs.into_iter().map(result).collect::<anyhow::Result<Vec<_>>>()?;
        for stored in store.finish_polls(results).await? {
            anyhow::ensure!(stored?.applied, "a result was not stored");
        }
    }
    Ok(())
}
