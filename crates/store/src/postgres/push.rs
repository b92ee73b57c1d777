//! Push: subscriptions, and what hubs bring.

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    FeedId, Lease, SubscriptionId,
    ports::{Changed, Claim, PushStore, StoreError, StoreResult},
    push::{Event, Offer, Push, PushStored, PushTarget, Rules, Subscription, SubscriptionJob},
};

use super::PostgresStore;

fn no<T>() -> StoreResult<T> {
    Err(StoreError::Failed("not yet".to_owned()))
}

#[async_trait]
impl PushStore for PostgresStore {
    async fn subscriptions(&self) -> StoreResult<Vec<Subscription>> {
        no()
    }
    async fn subscription(&self, _id: SubscriptionId) -> StoreResult<Option<Subscription>> {
        no()
    }
    async fn subscription_of(&self, _feed: FeedId) -> StoreResult<Option<Subscription>> {
        no()
    }
    async fn push_target(&self, _token: &str) -> StoreResult<Option<PushTarget>> {
        no()
    }
    async fn push_targets(&self, _topic: &str, _limit: u32) -> StoreResult<Vec<PushTarget>> {
        no()
    }
    async fn feeds_to_subscribe(&self, _base_url: &str, _after: FeedId, _limit: u32) -> StoreResult<Vec<FeedId>> {
        no()
    }
    async fn subscribe(&self, _wishes: Vec<(FeedId, Offer)>) -> StoreResult<u32> {
        no()
    }
    async fn stop_push(&self) -> StoreResult<u32> {
        no()
    }
    async fn change_subscription(
        &self,
        _id: SubscriptionId,
        _claim: Claim,
        _event: Event,
        _rules: Rules,
    ) -> StoreResult<Changed> {
        no()
    }
    async fn claim_due_subscriptions(
        &self,
        _owner: &str,
        _limit: u32,
        _lease: Duration,
        _but_not_at: &[String],
    ) -> StoreResult<Vec<SubscriptionJob>> {
        no()
    }
    async fn claim_expiring_subscriptions(
        &self,
        _owner: &str,
        _limit: u32,
        _lease: Duration,
        _within: Duration,
    ) -> StoreResult<Vec<SubscriptionJob>> {
        no()
    }
    async fn release_subscriptions(&self, _leases: &[(SubscriptionId, Lease)]) -> StoreResult<()> {
        no()
    }
    async fn next_step_in(&self) -> StoreResult<Option<Duration>> {
        no()
    }
    async fn push(&self, _push: Push) -> StoreResult<PushStored> {
        no()
    }
    async fn poll_soon(&self, _feed: FeedId, _delay: Duration) -> StoreResult<()> {
        no()
    }
}
