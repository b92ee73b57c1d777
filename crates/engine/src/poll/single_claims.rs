//! Feeds that somebody asks for one by one, a renewal or a person: those that are asked for together are one claim.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use domain::{
    FeedId,
    ingest::PollJob,
    ports::{BatchResult, Batched, StoreError, StoreResult},
};

use super::{Poller, held::Ending};
use crate::coalesce::BatchCall;

/// Begins polls of single feeds.
#[derive(Debug)]
pub(super) struct SingleFeedClaims(pub(super) Weak<Poller>);

#[async_trait]
impl BatchCall for SingleFeedClaims {
    type Job = FeedId;
    type Answer = Option<Ending>;

    async fn run(&self, jobs: Vec<FeedId>) -> BatchResult<FeedId, Option<Ending>> {
        let Some(poller) = self.0.upgrade() else {
            return Err(StoreError::Unavailable("polling has ended".to_owned()));
        };
        let endings = poller.begin_each(&jobs).await?;
        Ok(endings.into_iter().map(|ending| Ok(Batched::Done(ending))).collect())
    }

    /// Never: a claim passes over what is locked, as over what another node holds.
    async fn run_alone(&self, _: FeedId) -> StoreResult<Option<Ending>> {
        Ok(None)
    }
}

impl Poller {
    /// Claims feeds, due or not, and begins to poll them, or finds the polls that are under way; `None` for one that another
    /// node holds, or that does not exist.
    async fn begin_each(self: &Arc<Self>, feeds: &[FeedId]) -> StoreResult<Vec<Option<Ending>>> {
        let _claiming = self.claiming.lock().await;
        let mut endings: Vec<Option<Ending>> = feeds.iter().map(|feed| self.held.ending(*feed)).collect();
        let missing = feeds.iter().zip(&endings).filter(|(_, ending)| ending.is_none()).map(|(feed, _)| *feed);
        let missing: Vec<FeedId> = missing.collect::<BTreeSet<_>>().into_iter().collect();
        if missing.is_empty() {
            return Ok(endings);
        }
        let claimed =
            self.context.deps.store.claim_polls(&self.owner, &missing, self.context.deps.settings.poll_lease.length());
        let begin = |job: PollJob| {
            let admission = self.context.hosts.apply_urgently(&job.address.url);
            (job.feed_id, self.begin(job, admission, true))
        };
        let started: HashMap<FeedId, Ending> = claimed.await?.into_iter().map(begin).collect();
        for (feed, ending) in feeds.iter().zip(&mut endings) {
            if ending.is_none() {
                *ending = started.get(feed).cloned();
            }
        }
        Ok(endings)
    }
}
