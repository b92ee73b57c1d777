//! Removing what is old, in small pieces, so that nothing else has to wait for it.

use std::time::Duration;

use domain::{account::SESSION_LIFETIME, ports::StoreResult};
use tokio_util::sync::CancellationToken;

use crate::{context::Context, icons, measure, settings::Deps};

/// Time between two rounds, and before the first: a start has better things to do.
const PRUNE_EVERY: Duration = Duration::from_hours(1);
const PRUNE_FIRST: Duration = Duration::from_mins(2);

/// Rows of removed accounts that go in one piece.
const ACCOUNTS_CHUNK: u32 = 500;

/// Rows of figures that go in one piece.
const FIGURES_CHUNK: u32 = 1000;

/// Pieces in one round; what is left is for the next.
const CHUNKS_MAX: usize = 2000;

/// Removes all that is due to be removed; returns how many entries went.
pub(crate) async fn prune(deps: &Deps) -> StoreResult<u64> {
    let limits = deps.settings.prune;
    let mut total = 0;
    for _ in 0..CHUNKS_MAX {
        let gone = deps.store.prune_entries(limits).await?;
        measure::pruned(gone);
        total += gone;
        if gone < u64::from(limits.chunk) {
            break;
        }
    }
    Ok(total)
}

/// The same of the outbox; returns how many deliveries and events went.
pub(crate) async fn prune_outbox(deps: &Deps) -> StoreResult<u64> {
    let limits = deps.settings.delivery.limits;
    let mut total = 0;
    for _ in 0..CHUNKS_MAX {
        let gone = deps.store.prune_deliveries(limits).await?;
        total += gone;
        if gone == 0 {
            break;
        }
    }
    Ok(total)
}

/// The same of logins that have ended and of removed accounts; returns how many rows went.
pub(crate) async fn prune_accounts(deps: &Deps) -> StoreResult<u64> {
    let mut total = 0;
    for _ in 0..CHUNKS_MAX {
        let gone = deps.store.prune_accounts(SESSION_LIFETIME, ACCOUNTS_CHUNK).await?;
        total += gone;
        if gone == 0 {
            break;
        }
    }
    Ok(total)
}

/// Makes hours of old figures by the minute, and removes the oldest; returns how many rows went.
pub(crate) async fn prune_figures(deps: &Deps) -> StoreResult<u64> {
    let mut total = 0;
    for _ in 0..CHUNKS_MAX {
        let gone = deps.store.prune_figures(FIGURES_CHUNK).await?;
        total += gone;
        if gone < u64::from(FIGURES_CHUNK) {
            break;
        }
    }
    Ok(total)
}

/// Prunes now and then, or when it is woken, until it is told to stop.
pub(crate) async fn run(context: &Context, stop: &CancellationToken) {
    let deps = &context.deps;
    let mut pause = PRUNE_FIRST;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            () = context.wake.prune.notified() => {}
        }
        pause = PRUNE_EVERY;
        tokio::select! {
            () = stop.cancelled() => return,
            pruned = prune(deps) => match pruned {
                Ok(0) => {}
                Ok(entries) => tracing::info!(entries, "entries pruned"),
                Err(error) => tracing::warn!(%error, "pruning failed"),
            },
        }
        tokio::select! {
            () = stop.cancelled() => return,
            pruned = prune_outbox(deps) => match pruned {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, "outbox pruned"),
                Err(error) => tracing::warn!(%error, "outbox pruning failed"),
            },
        }
        tokio::select! {
            () = stop.cancelled() => return,
            pruned = prune_accounts(deps) => match pruned {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, "accounts pruned"),
                Err(error) => tracing::warn!(%error, "account pruning failed"),
            },
        }
        tokio::select! {
            () = stop.cancelled() => return,
            pruned = icons::prune(context) => match pruned {
                Ok(0) => {}
                Ok(icons) => tracing::info!(icons, "icons pruned"),
                Err(error) => tracing::warn!(%error, "icon pruning failed"),
            },
        }
        tokio::select! {
            () = stop.cancelled() => return,
            pruned = prune_figures(deps) => match pruned {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, "figures pruned"),
                Err(error) => tracing::warn!(%error, "pruning figures failed"),
            },
        }
    }
}
