//! The store's clock, watched: one that was set back must not make anything wait until it has caught up.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::settings::Deps;

/// How often it is looked at: nothing waits for longer than this.
const WATCH_EVERY: Duration = Duration::from_secs(10);

pub(crate) async fn run(deps: &Deps, stop: &CancellationToken) {
    loop {
        match deps.store.watch_clock().await {
            Ok(None) => {}
            Ok(Some(back)) => {
                tracing::warn!(seconds = back.as_secs(), "clock set back");
            }
            Err(error) => tracing::warn!(%error, "clock check failed"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(WATCH_EVERY) => {}
        }
    }
}
