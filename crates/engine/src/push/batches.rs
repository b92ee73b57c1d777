//! What of push goes to the store in batches.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    ports::{BatchResult, Batched, Changed, Store, StoreResult, SubscriptionChange},
    push::{Push, PushStored, PushTarget},
};

use crate::coalesce::BatchCall;

#[derive(Debug)]
pub(super) struct Targets(pub(super) Arc<dyn Store>);

#[derive(Debug)]
pub(super) struct Pushes(pub(super) Arc<dyn Store>);

/// Changes of subscriptions, stored.
#[derive(Debug)]
pub(super) struct Changes(pub(super) Arc<dyn Store>);

#[async_trait]
impl BatchCall for Targets {
    type Job = String;
    type Answer = Option<PushTarget>;

    async fn run(&self, jobs: Vec<String>) -> BatchResult<String, Option<PushTarget>> {
        let targets = self.0.targets_by_token(jobs).await?;
        Ok(targets.into_iter().map(|target| target.map(Batched::Done)).collect())
    }

    /// Never: a look locks nothing.
    async fn run_alone(&self, token: String) -> StoreResult<Option<PushTarget>> {
        self.0.push_target(&token).await
    }
}

#[async_trait]
impl BatchCall for Pushes {
    type Job = Push;
    type Answer = PushStored;

    async fn run(&self, jobs: Vec<Push>) -> BatchResult<Push, PushStored> {
        self.0.push_all(jobs).await
    }

    async fn run_alone(&self, push: Push) -> StoreResult<PushStored> {
        self.0.push(push).await
    }
}

#[async_trait]
impl BatchCall for Changes {
    type Job = SubscriptionChange;
    type Answer = Changed;

    async fn run(&self, jobs: Vec<SubscriptionChange>) -> BatchResult<SubscriptionChange, Changed> {
        self.0.change_subscriptions(jobs).await
    }

    async fn run_alone(&self, change: SubscriptionChange) -> StoreResult<Changed> {
        let SubscriptionChange { id, claim, event, rules } = change;
        self.0.change_subscription(id, claim, event, rules).await
    }
}
