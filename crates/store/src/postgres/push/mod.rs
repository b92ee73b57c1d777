//! Push: subscriptions, and what hubs bring.

pub(crate) mod batches;
pub(crate) mod discovery;
pub(crate) mod pushes;
pub(crate) mod subscription_changes;
pub(crate) mod subscription_claims;
pub(crate) mod subscription_rows;
pub(crate) mod subscriptions;

use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::Client;
use domain::{
    FeedId, Lease, SubscriptionId,
    ports::{BatchResult, Changed, Claim, PushStore, StoreResult, SubscriptionChange, Viewer},
    push::{Offer, Push, PushStored, PushTarget, RenewalRules, Subscription, SubscriptionEvent, SubscriptionJob},
};
use tokio_postgres::Error;

use crate::postgres::{
    Params, PostgresStore,
    feeds::{feed_rows, polls},
    outbox::events,
    push::{subscription_changes::Decisions, subscription_claims::BY_DUE},
    query, query_then,
    shared::errors::store_error,
};

/// Feeds in one transaction, when all subscriptions are ended: their rows are locked meanwhile.
const CHUNK: i64 = 100;

const LIVING: &str = include_str!("sql/living.sql");

const LOCK_FEEDS: &str = include_str!("sql/lock_feeds.sql");

#[async_trait]
impl PushStore for PostgresStore {
    async fn subscriptions(&self, viewer: Viewer) -> StoreResult<Vec<Subscription>> {
        self.read(async |client| subscriptions::all(client, viewer).await).await
    }

    async fn subscription(&self, id: SubscriptionId) -> StoreResult<Option<Subscription>> {
        self.read(async |client| subscriptions::one(client, id).await).await
    }

    async fn subscription_of(&self, feed: FeedId) -> StoreResult<Option<Subscription>> {
        self.read(async |client| subscriptions::current_of(client, feed).await).await
    }

    async fn targets_by_token(&self, tokens: Vec<String>) -> StoreResult<Vec<StoreResult<Option<PushTarget>>>> {
        self.read(async |client| subscriptions::by_tokens(client, &tokens).await).await
    }

    async fn push_targets(&self, topic: &str, limit: u32) -> StoreResult<Vec<PushTarget>> {
        self.read(async |client| subscriptions::by_topic(client, topic, limit).await).await
    }

    async fn feeds_to_subscribe(&self, base_url: &str, after: FeedId, limit: u32) -> StoreResult<Vec<FeedId>> {
        let client = self.client().await?;
        discovery::to_subscribe(&client, base_url, after, limit).await.map_err(store_error)
    }

    async fn subscribe(&self, requests: Vec<(FeedId, Offer)>) -> StoreResult<u32> {
        discovery::subscribe(self, requests).await
    }

    async fn stop_push(&self) -> StoreResult<u32> {
        let mut client = self.client_for_long().await?;
        let (mut after, mut ended) = (i64::MIN, 0);
        while let Some((last, count)) = end_some(self, &mut client, after).await.map_err(store_error)? {
            (after, ended) = (last, ended + count);
        }
        Ok(ended)
    }

    async fn change_subscriptions(&self, changes: Vec<SubscriptionChange>) -> BatchResult<SubscriptionChange, Changed> {
        self.in_time(batches::run(self, changes)).await
    }

    async fn change_subscription(
        &self,
        id: SubscriptionId,
        claim: Claim,
        event: SubscriptionEvent,
        rules: RenewalRules,
    ) -> StoreResult<Changed> {
        self.in_time(batches::alone(self, &SubscriptionChange { id, claim, event, rules })).await
    }

    async fn claim_due_subscriptions(
        &self,
        owner: &str,
        limit: u32,
        lease: Duration,
        but_not_at: &[String],
    ) -> StoreResult<Vec<SubscriptionJob>> {
        let client = self.client().await?;
        let claimed = subscription_claims::claim_due(&client, &self.bounds.steps, owner, limit, lease, but_not_at);
        claimed.await.map_err(store_error)
    }

    async fn claim_expiring_subscriptions(
        &self,
        owner: &str,
        limit: u32,
        lease: Duration,
        within: Duration,
    ) -> StoreResult<Vec<SubscriptionJob>> {
        let client = self.client().await?;
        subscription_claims::claim_expiring(&client, owner, limit, lease, within).await.map_err(store_error)
    }

    async fn release_subscriptions(&self, leases: &[(SubscriptionId, Lease)]) -> StoreResult<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let client = self.client().await?;
        subscription_claims::release(&client, &self.bounds.steps, leases).await.map_err(store_error)
    }

    async fn next_step_in(&self) -> StoreResult<Option<Duration>> {
        let client = self.client().await?;
        polls::next_in(&client, &self.bounds.steps, BY_DUE).await.map_err(store_error)
    }

    async fn push_all(&self, pushes: Vec<Push>) -> BatchResult<Push, PushStored> {
        self.in_time(Box::pin(batches::run(self, pushes))).await
    }

    async fn push(&self, push: Push) -> StoreResult<PushStored> {
        self.in_time(Box::pin(batches::alone(self, &push))).await
    }

    async fn poll_soon(&self, feed: FeedId, delay: Duration) -> StoreResult<()> {
        self.read(async |client| feed_rows::poll_soon(client, feed, delay).await).await
    }
}

/// Ends the subscriptions of the next feeds after this one; returns the last of them, and how many subscriptions were
/// wanted. `None` if there are no more.
async fn end_some(store: &PostgresStore, client: &mut Client, after: i64) -> Result<Option<(i64, u32)>, Error> {
    let transaction = client.transaction().await?;
    let rows = query(&transaction, LIVING, &[&after, &CHUNK]).await?;
    let feeds: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let Some(last) = feeds.last().copied() else { return Ok(None) };
    let which: Params<'_> = &[&feeds];
    let known = subscriptions::lock_of_feeds(&transaction, &feeds);
    let (held, known) = query_then(&transaction, LOCK_FEEDS, which, known).await?;
    let Some(now) = held.first().map(|row| row.get(0)) else { return Ok(None) };
    let mut decisions = Decisions::new(known, now);
    let ended = decisions.end_all();
    decisions.write(&transaction).await?;
    let (events, mut log) = decisions.into_events();
    log.deliveries_if(events::record(&transaction, &events, now).await?);
    store.commit(transaction, log).await?;
    Ok(Some((last, ended)))
}
