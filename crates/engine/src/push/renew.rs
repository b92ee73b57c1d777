//! Renewing because somebody asks for it, and waiting for the hubs.

use std::{sync::Arc, time::Duration};

use domain::{FeedId, SubscriptionId, ports::StoreResult, push::Subscription, push::SubscriptionJob};
use futures_util::future;
use jiff::Timestamp;
use serde::Serialize;

use super::{
    Pusher,
    ask::UNREACHABLE,
    step::{self, StepEnd},
};

/// Renewals in one call.
const RENEWALS_MAX: u32 = 20;

/// How often it is looked whether a hub has verified at another node.
const RECHECK_PAUSE: Duration = Duration::from_millis(250);

/// What a manual renewal did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RenewSummary {
    /// Verified by their hubs.
    pub renewed: u32,
    pub failed: u32,
    /// Accepted by their hubs, and not verified yet.
    pub pending: u32,
    pub results: Vec<RenewResult>,
}

/// How a renewal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RenewStatus {
    /// The hub has verified it.
    Renewed,
    /// The hub has not taken it.
    Failed,
    /// The hub has accepted it, and not verified it yet.
    Pending,
}

impl RenewStatus {
    pub fn name(self) -> &'static str {
        match self {
            Self::Renewed => "renewed",
            Self::Failed => "failed",
            Self::Pending => "pending",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RenewResult {
    pub feed_id: Option<FeedId>,
    pub status: RenewStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Failures since the last success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_count: Option<u32>,
    /// When the new lease ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_expires_at: Option<Timestamp>,
}

/// Renews what ends soon, side by side.
pub(crate) async fn renew_expiring(pusher: &Arc<Pusher>) -> StoreResult<RenewSummary> {
    let settings = pusher.settings();
    if settings.base_url.is_none() {
        return Ok(RenewSummary::default());
    }
    let store = &pusher.context.deps.store;
    let within = settings.rules.renew_before;
    // They may wait for their hubs' turns for longer than those of the background.
    let lease = settings.step_lease + step::MANUAL_WAIT_MAX;
    let jobs = store.claim_expiring_subscriptions(&pusher.owner, RENEWALS_MAX, lease, within).await?;
    let results = future::join_all(jobs.into_iter().map(|job| renew_one(pusher, job))).await;
    let mut summary = RenewSummary::default();
    for result in results {
        let result = result?;
        match result.status {
            RenewStatus::Renewed => summary.renewed += 1,
            RenewStatus::Failed => summary.failed += 1,
            RenewStatus::Pending => summary.pending += 1,
        }
        summary.results.push(result);
    }
    Ok(summary)
}

async fn renew_one(pusher: &Arc<Pusher>, job: SubscriptionJob) -> StoreResult<RenewResult> {
    let feed_id = job.subscription.feed_id;
    Ok(match step::renew(pusher, job).await? {
        StepEnd::Asked(subscription) => result(feed_id, await_verification(pusher, *subscription).await?.as_ref()),
        // Its feed has another hub or topic now, which is being asked, or its hub had too much else to do.
        StepEnd::Other => RenewResult { status: RenewStatus::Pending, ..failed(feed_id) },
    })
}

fn failed(feed_id: Option<FeedId>) -> RenewResult {
    RenewResult { feed_id, status: RenewStatus::Failed, error: None, error_count: None, new_expires_at: None }
}

/// What became of a subscription whose hub was asked.
fn result(feed_id: Option<FeedId>, subscription: Option<&Subscription>) -> RenewResult {
    let nothing = failed(feed_id);
    let Some(subscription) = subscription else {
        return RenewResult { error: Some("No longer wanted".to_owned()), ..nothing };
    };
    if subscription.asked.is_some() {
        return RenewResult { status: RenewStatus::Pending, ..nothing };
    }
    // A verification clears the errors, and a failure is one.
    if subscription.is_active() && subscription.error_count == 0 {
        return RenewResult { status: RenewStatus::Renewed, new_expires_at: subscription.expires_at, ..nothing };
    }
    let error = subscription.last_error.as_deref().map(in_short);
    RenewResult { error, error_count: Some(subscription.error_count), ..nothing }
}

/// What an error is called where its details are not wanted.
fn in_short(error: &str) -> String {
    if error.starts_with(UNREACHABLE) { UNREACHABLE.to_owned() } else { error.to_owned() }
}

/// Waits until the hub has verified what it accepted, at this node or another, or for as long as is allowed.
async fn await_verification(pusher: &Pusher, asked: Subscription) -> StoreResult<Option<Subscription>> {
    if asked.asked.is_none() {
        return Ok(Some(asked));
    }
    let id = asked.id;
    match tokio::time::timeout(pusher.settings().verify_wait, settled(pusher, id)).await {
        Ok(subscription) => subscription,
        Err(_) => pusher.context.deps.store.subscription(id).await,
    }
}

async fn settled(pusher: &Pusher, id: SubscriptionId) -> StoreResult<Option<Subscription>> {
    let mut changed = pusher.changed.subscribe();
    loop {
        let subscription = pusher.context.deps.store.subscription(id).await?;
        if subscription.as_ref().is_none_or(|subscription| subscription.asked.is_none()) {
            return Ok(subscription);
        }
        // At another node nothing tells us.
        let _ = tokio::time::timeout(RECHECK_PAUSE, changed.changed()).await;
    }
}
