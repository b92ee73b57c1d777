//! Push: subscriptions, and what hubs bring.

pub(crate) mod discovery;
pub(crate) mod pushes;
pub(crate) mod subscription_changes;
pub(crate) mod subscription_claims;
pub(crate) mod subscription_rows;
pub(crate) mod subscriptions;

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    FeedId, Lease, SubscriptionId,
    ports::{BatchResult, Batched, Changed, PushStore, StoreError, StoreResult, SubscriptionChange, Viewer},
    push::{Offer, Push, PushStored, PushTarget, RenewalRules, Subscription, SubscriptionEvent, SubscriptionJob},
};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    SqliteStore,
    entries::ingest,
    feeds::{feed_rows, polls},
    push::subscription_changes::change,
    shared::{batch, errors::store_error, queue::Priority, writer::WriteTx},
};

/// Subscriptions in one transaction, when all are ended.
const CHUNK: u32 = 500;

#[async_trait]
impl PushStore for SqliteStore {
    async fn subscriptions(&self, viewer: Viewer) -> StoreResult<Vec<Subscription>> {
        self.readers.read(move |connection| subscriptions::all(connection, viewer)).await
    }

    async fn subscription(&self, id: SubscriptionId) -> StoreResult<Option<Subscription>> {
        self.readers.read(move |connection| subscriptions::one(connection, id)).await
    }

    async fn subscription_of(&self, feed: FeedId) -> StoreResult<Option<Subscription>> {
        self.readers.read(move |connection| subscriptions::current_of(connection, feed.0)).await
    }

    async fn targets_by_token(&self, tokens: Vec<String>) -> StoreResult<Vec<StoreResult<Option<PushTarget>>>> {
        let look = move |connection: &Connection| {
            Ok(tokens.iter().map(|token| subscriptions::by_token(connection, token)).collect::<Vec<_>>())
        };
        let found = self.readers.read(look).await?;
        Ok(found.into_iter().map(|target| target.map_err(|error| store_error(&error))).collect())
    }

    async fn push_targets(&self, topic: &str, limit: u32) -> StoreResult<Vec<PushTarget>> {
        let topic = topic.to_owned();
        self.readers.read(move |connection| subscriptions::by_topic(connection, &topic, limit)).await
    }

    async fn feeds_to_subscribe(&self, base_url: &str, after: FeedId, limit: u32) -> StoreResult<Vec<FeedId>> {
        let base_url = base_url.to_owned();
        self.readers.read(move |connection| discovery::to_subscribe(connection, &base_url, after, limit)).await
    }

    async fn subscribe(&self, requests: Vec<(FeedId, Offer)>) -> StoreResult<u32> {
        self.writer.write(Priority::Usual, move |changes| discovery::subscribe(changes, &requests)).await
    }

    async fn stop_push(&self) -> StoreResult<u32> {
        let (mut after, mut ended) = (0, 0);
        loop {
            match self.writer.write(Priority::Usual, move |changes| end_some(changes, after)).await? {
                Some((last, count)) => (after, ended) = (last, ended + count),
                None => return Ok(ended),
            }
        }
    }

    async fn change_subscriptions(&self, changes: Vec<SubscriptionChange>) -> BatchResult<SubscriptionChange, Changed> {
        each(self, changes, |tx, SubscriptionChange { id, claim, event, rules }| {
            subscription_changes::change_one(tx, *id, claim, event, *rules)
        })
        .await
    }

    async fn claim_due_subscriptions(
        &self,
        owner: &str,
        limit: u32,
        lease: Duration,
        but_not_at: &[String],
    ) -> StoreResult<Vec<SubscriptionJob>> {
        let owner = owner.to_owned();
        let hubs = crate::values::hubs(but_not_at).map_err(|error| StoreError::Failed(error.to_string()))?;
        let hubs = (!but_not_at.is_empty()).then_some(hubs);
        let work = move |changes: &mut WriteTx<'_>| {
            subscription_claims::claim_due(changes, &owner, limit, lease, hubs.as_deref())
        };
        self.writer.write(Priority::Usual, work).await
    }

    async fn claim_expiring_subscriptions(
        &self,
        owner: &str,
        limit: u32,
        lease: Duration,
        within: Duration,
    ) -> StoreResult<Vec<SubscriptionJob>> {
        let owner = owner.to_owned();
        let work =
            move |changes: &mut WriteTx<'_>| subscription_claims::claim_expiring(changes, &owner, limit, lease, within);
        self.writer.write(Priority::Usual, work).await
    }

    async fn release_subscriptions(&self, leases: &[(SubscriptionId, Lease)]) -> StoreResult<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let leases = leases.to_vec();
        self.writer.write(Priority::Usual, move |changes| subscription_claims::release(changes, &leases)).await
    }

    async fn next_step_in(&self) -> StoreResult<Option<Duration>> {
        let now = self.now();
        let by_due = subscription_claims::BY_DUE;
        let at = self.readers.read(move |connection| polls::next_at(connection, by_due, now)).await?;
        Ok(at.map(|at| Duration::from_millis(u64::try_from(at - now).unwrap_or(0))))
    }

    async fn push_all(&self, mut pushes: Vec<Push>) -> BatchResult<Push, PushStored> {
        for push in &mut pushes {
            ingest::prepare(&mut push.document);
        }
        each(self, pushes, pushes::store).await
    }

    async fn poll_soon(&self, feed: FeedId, delay: Duration) -> StoreResult<()> {
        let work =
            move |changes: &mut WriteTx<'_>| feed_rows::poll_soon(changes.connection, feed, delay, changes.now());
        self.writer.write(Priority::Usual, work).await
    }
}

/// Does jobs in the next transaction of the writer.
async fn each<J: Send + 'static, A: Send + 'static>(
    store: &SqliteStore,
    jobs: Vec<J>,
    work: batch::Work<J, A>,
) -> BatchResult<J, A> {
    let done = batch::write(store, jobs, work).await?;
    Ok(done.into_iter().map(|answer| answer.map(Batched::Done)).collect())
}

/// Ends a chunk of subscriptions after this one; returns the last, and how many. `None` if there are no more.
fn end_some(changes: &mut WriteTx<'_>, after: i64) -> Result<Option<(i64, u32)>> {
    let (connection, now) = (changes.connection, changes.now());
    let mut ended = None;
    for subscription in subscriptions::living(connection, after, CHUNK)? {
        let (id, count) = (subscription.id.0, ended.map_or(0, |(_, count)| count));
        change(changes, subscription, &SubscriptionEvent::Unwanted, RenewalRules::default(), now)?;
        ended = Some((id, count + 1));
    }
    Ok(ended)
}
