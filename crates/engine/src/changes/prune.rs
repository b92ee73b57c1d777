//! Removing old changes. More often than other things are pruned: what is known of an hour is what they are for, and
//! there may be many.

use std::time::Duration;

use domain::{
    changes::KEPT_FOR,
    ports::{ChangeStore, StoreResult},
};
use tokio_util::sync::CancellationToken;

const PRUNE_EVERY: Duration = Duration::from_mins(5);

/// Changes in one piece, and pieces in one round; what is left is for the next.
const CHUNK: u32 = 1000;
const CHUNKS_MAX: usize = 500;

/// Prunes now and then, until it is told to stop.
pub(crate) async fn run<S: ChangeStore + ?Sized>(store: &S, stop: &CancellationToken) {
    let pruning = async {
        loop {
            tokio::time::sleep(PRUNE_EVERY).await;
            if let Err(error) = prune(store).await {
                tracing::warn!(%error, "pruning changes failed");
            }
        }
    };
    stop.run_until_cancelled(pruning).await.unwrap_or(());
}

/// Returns how many went.
pub(super) async fn prune<S: ChangeStore + ?Sized>(store: &S) -> StoreResult<u64> {
    let mut total = 0;
    for _ in 0..CHUNKS_MAX {
        let gone = store.prune_changes(KEPT_FOR, CHUNK).await?;
        total += gone;
        if gone < u64::from(CHUNK) {
            break;
        }
    }
    Ok(total)
}
