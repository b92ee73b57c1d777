//! Polling by itself, in the background.

use std::{sync::Arc, time::Duration};

use domain::ports::StoreResult;
use tokio_util::sync::CancellationToken;

use super::{CLAIMS_IN_A_ROW_MAX, Poller, refresh::claim_min};
use crate::measure;

/// The longest sleep: another node may have taken in feeds that are due at once.
const SLEEP_MAX: Duration = Duration::from_secs(5);

/// The sleep when something is due that another node holds, when feeds wait for places at their hosts, or when the store
/// is away.
const SLEEP_BUSY: Duration = Duration::from_secs(1);

const SLEEP_MIN: Duration = Duration::from_millis(10);

/// After a stop: how long polls that have begun may take to end at most, how long to break off after that, and how long
/// releasing the others may take.
const STOP_POLLS_MAX: Duration = Duration::from_secs(6);
const STOP_CUT_MAX: Duration = Duration::from_secs(2);
const STOP_RELEASE_MAX: Duration = Duration::from_secs(2);

/// Polls what is due, whenever it is, until it is told to stop.
pub(crate) async fn run(poller: &Arc<Poller>, stop: &CancellationToken) {
    measure::outage(poller.has_outage());
    let mut was_away = false;
    while !stop.is_cancelled() {
        let pause = match step(poller).await {
            Ok(pause) => {
                if std::mem::take(&mut was_away) {
                    tracing::info!("polling resumed");
                }
                pause
            }
            Err(error) => {
                if !std::mem::replace(&mut was_away, true) {
                    tracing::error!(%error, "polling waiting for store");
                }
                Some(SLEEP_BUSY)
            }
        };
        tokio::select! {
            () = stop.cancelled() => break,
            () = wait(poller, pause) => {}
        }
    }
    wind_down(poller).await;
}

/// One step: claims and begins what is due, and says for how long there is nothing else to do; nothing if there is more
/// to do as soon as there is capacity.
pub(crate) async fn step(poller: &Arc<Poller>) -> StoreResult<Option<Duration>> {
    poller.deferred.forget_past(poller.context.now());
    if poller.has_outage() {
        poller.begin_due(|_| true).await?;
        return Ok(Some(SLEEP_BUSY));
    }
    for _ in 0..CLAIMS_IN_A_ROW_MAX {
        let has_filled_up = !poller.begin_deferred(&|_| true).await?.is_empty();
        if poller.capacity() < claim_min(poller) {
            return Ok(None);
        }
        if poller.begin_due(|_| true).await?.is_all && !has_filled_up {
            let longest = if poller.deferred.is_empty() { SLEEP_MAX } else { SLEEP_BUSY };
            return Ok(Some(match poller.context.deps.store.next_poll_in().await? {
                None => longest,
                Some(Duration::ZERO) => SLEEP_BUSY,
                Some(next) => next.clamp(SLEEP_MIN, longest),
            }));
        }
    }
    Ok(Some(Duration::ZERO))
}

async fn wait(poller: &Poller, pause: Option<Duration>) {
    match pause {
        Some(pause) => {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = poller.context.wake.polls.notified() => {}
            }
        }
        // With a bound, should a notice ever get lost.
        None => drop(tokio::time::timeout(SLEEP_MAX, poller.ended.notified()).await),
    }
}

/// Lets polls that have begun end, breaks off those that take too long, and releases all that is left.
async fn wind_down(poller: &Poller) {
    poller.stopping.cancel();
    poller.tasks.close();
    if tokio::time::timeout(poller.context.deps.settings.stop_wait.min(STOP_POLLS_MAX), poller.tasks.wait())
        .await
        .is_err()
    {
        poller.aborting.cancel();
        let _ = tokio::time::timeout(STOP_CUT_MAX, poller.tasks.wait()).await;
    }
    let held = poller.held.leases();
    if tokio::time::timeout(STOP_RELEASE_MAX, poller.release(held)).await.is_err() {
        tracing::warn!("claims not released");
    }
}
