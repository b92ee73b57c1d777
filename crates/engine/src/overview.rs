//! Measures now and then how feeds and subscriptions stand, and less often where that takes long: 5 % of the time at most.

use std::time::Duration;

use domain::ports::Store;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::measure;

/// How often it is measured, unless that takes long: then so many times as long passes before the next time.
const MEASURE_EVERY: Duration = Duration::from_secs(15);
const MEASURE_PAUSE_FACTOR: u32 = 20;

/// Measures until it is told to stop.
pub(crate) async fn run(store: &dyn Store, stop: &CancellationToken) {
    let measuring = async {
        loop {
            let begun = Instant::now();
            if let Ok(overview) = measure::store("overview", store.feed_overview()).await {
                measure::feeds(&overview);
            }
            tokio::time::sleep(MEASURE_EVERY.max(begun.elapsed() * MEASURE_PAUSE_FACTOR)).await;
        }
    };
    stop.run_until_cancelled(measuring).await.unwrap_or(());
}
