//! How attempts ended, gathered for a moment and stored together with their log: one commit for many.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use domain::{
    delivery::{Finished, Verdict},
    ports::{StoreError, StoreResult},
};

use super::{Dispatcher, held::StopReason};
use crate::measure;

/// Marks in one call.
const BATCH_MAX: usize = 500;

/// How long it is waited before marks are stored once more that could not be.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

impl Dispatcher {
    /// Stores marks. On an error nothing is stored, and they may be stored again.
    pub(crate) async fn mark(&self, batch: &[Finished]) -> StoreResult<()> {
        let marks = self.store.finish_deliveries(batch.to_vec()).await?;
        for finished in batch {
            let is_late = marks.skipped.contains(&finished.id);
            let reason = if is_late { StopReason::LeaseLost } else { StopReason::Completed };
            self.stop(finished.id, finished.lease.fence, reason);
        }
        if batch.iter().any(|finished| matches!(finished.verdict, Verdict::Retry(_))) {
            // It may be due sooner than what is waited for.
            self.freed.notify_one();
        }
        measure::marked(batch.len() - marks.skipped.len(), marks.skipped.len());
        for (webhook, reason) in marks.disabled {
            tracing::warn!(webhook_id = webhook.0, %reason, "a webhook was disabled");
        }
        Ok(())
    }

    /// Stores marks, however long that takes: an attempt that was made is not made again because the store was away for
    /// a moment.
    async fn mark_at_last(&self, batch: Vec<Finished>) {
        let mut was_away = false;
        loop {
            match self.mark(&batch).await {
                Ok(()) => return,
                Err(StoreError::Failed(error)) => {
                    tracing::error!(%error, "marks could not be stored; each is tried by itself");
                    return self.mark_each(batch).await;
                }
                Err(error) => {
                    if !std::mem::replace(&mut was_away, true) {
                        tracing::warn!(marks = batch.len(), %error, "marks wait for the store");
                    }
                    tokio::time::sleep(AGAIN_AFTER).await;
                }
            }
        }
    }

    /// One mark that cannot be stored costs no other: its delivery is made again when its lease has run out.
    async fn mark_each(&self, batch: Vec<Finished>) {
        for finished in batch {
            let (id, fence) = (finished.id, finished.lease.fence);
            if let Err(error) = self.mark(&[finished]).await {
                tracing::error!(delivery = id.0, %error, "a mark was not stored");
                self.stop(id, fence, StopReason::RenewalFailed);
            }
        }
    }
}

/// Gathers and stores marks to the end, and those that have come until then.
pub(super) async fn run(dispatcher: Arc<Dispatcher>) {
    let taken = dispatcher.gathered.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut ended) = taken else { return };
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            biased;
            _ = ended.recv_many(&mut batch, BATCH_MAX) => {}
            () = dispatcher.closing.cancelled() => return,
        }
        if batch.len() < BATCH_MAX && !dispatcher.closing.is_cancelled() {
            tokio::time::sleep(dispatcher.settings.gather).await;
        }
        while batch.len() < BATCH_MAX {
            let Ok(finished) = ended.try_recv() else { break };
            batch.push(finished);
        }
        dispatcher.mark_at_last(std::mem::take(&mut batch)).await;
    }
}
