//! Deliveries by themselves, in the background: claimed as soon as they are queued, each sent by itself.

use std::{sync::Arc, time::Duration};

use domain::{
    changes::ChangeKind,
    ports::{StoreResult, Viewer},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Dispatcher, beat, marks, send};
use crate::{changes::ChangeListener, measure};

/// The longest sleep: a wake is a hint, and may be lost.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// The first sleep when something is due that cannot be had, because another node is at it or there is no capacity. It is
/// doubled each time.
const SLEEP_BUSY: Duration = Duration::from_millis(20);

/// The shortest sleep until something is due.
const SLEEP_MIN: Duration = Duration::from_millis(2);

/// How often the outbox is measured, unless that takes long: then so many times as long passes before the next time.
const MEASURE_EVERY: Duration = Duration::from_secs(15);
const MEASURE_PAUSE_FACTOR: u32 = 20;

/// After a stop: how long it may take to release what was not begun, and to store the last marks.
const MARKS_MAX: Duration = Duration::from_millis(1500);

/// Delivers until it is told to stop. Then it takes no more, releases at once what it has not begun, lets end what is
/// being sent, and releases the rest.
pub(crate) async fn run(dispatcher: &Arc<Dispatcher>, changes: ChangeListener, stop: &CancellationToken) {
    tracing::info!(worker_id = %dispatcher.owner, "dispatcher started");
    // Also if this is dropped.
    let closing = dispatcher.closing.clone().drop_guard();
    let beats = tokio::spawn(beat::run(Arc::clone(dispatcher)));
    let marker = tokio::spawn(marks::run(Arc::clone(dispatcher)));
    tokio::join!(claim_all(dispatcher, changes, stop), measure_all(dispatcher, stop));
    end(dispatcher).await;
    drop(closing);
    if tokio::time::timeout(MARKS_MAX, marker).await.is_err() {
        tracing::warn!("marks not stored");
    }
    let released = tokio::time::timeout(MARKS_MAX, dispatcher.release_all()).await;
    match released {
        Ok(Ok(0)) => {}
        Ok(Ok(deliveries)) => tracing::warn!(deliveries, "unfinished deliveries released"),
        Ok(Err(_)) | Err(_) => tracing::warn!("claims not released"),
    }
    let _ = beats.await;
}

/// Claims and begins what is due, as it comes.
async fn claim_all(dispatcher: &Arc<Dispatcher>, mut changes: ChangeListener, stop: &CancellationToken) {
    let (mut busy, mut was_away) = (SLEEP_BUSY, false);
    while !stop.is_cancelled() {
        // Never broken off: a claim that nobody knows of would cost a lease.
        let pause = match begin_due(dispatcher, stop).await {
            Ok(next) => {
                was_away = false;
                match next {
                    Some(Duration::ZERO) => {
                        let pause = busy;
                        busy = (busy * 2).min(SLEEP_MAX);
                        pause
                    }
                    next => {
                        busy = SLEEP_BUSY;
                        next.unwrap_or(SLEEP_MAX).clamp(SLEEP_MIN, SLEEP_MAX)
                    }
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut was_away, true) {
                    tracing::error!(%error, "deliveries waiting for store");
                }
                SLEEP_MAX
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
            () = dispatcher.freed.notified() => busy = SLEEP_BUSY,
            () = changes.next_of(ChangeKind::Deliveries), if !was_away => busy = SLEEP_BUSY,
        }
    }
}

/// Claims and begins what is due; returns when something will be.
async fn begin_due(dispatcher: &Arc<Dispatcher>, stop: &CancellationToken) -> StoreResult<Option<Duration>> {
    loop {
        let summary = dispatcher.claim().await?;
        begin_waiting(dispatcher);
        if !summary.may_have_more || summary.count == 0 || stop.is_cancelled() {
            break;
        }
    }
    dispatcher.next_in().await
}

/// Begins to send what waits, as far as it may be sent.
fn begin_waiting(dispatcher: &Arc<Dispatcher>) {
    while let Some(ready) = { dispatcher.in_flight().next() } {
        let dispatcher = Arc::clone(dispatcher);
        let (tasks, closing) = (dispatcher.tasks.clone(), dispatcher.closing.clone());
        let deliver = async move {
            send::deliver(&dispatcher, ready).await;
            begin_waiting(&dispatcher);
        };
        tasks.spawn(closing.run_until_cancelled_owned(deliver));
    }
}

/// Nothing more is begun, and what was begun ends.
async fn end(dispatcher: &Arc<Dispatcher>) {
    if tokio::time::timeout(MARKS_MAX, dispatcher.release_waiting()).await.is_err() {
        tracing::warn!("claims not released");
    }
    dispatcher.tasks.close();
    if tokio::time::timeout(dispatcher.settings.stop_wait, dispatcher.tasks.wait()).await.is_err() {
        tracing::warn!("deliveries still being sent");
    }
}

/// Measures the outbox now and then, and less often where that takes long: 5 % of the time at most.
async fn measure_all(dispatcher: &Dispatcher, stop: &CancellationToken) {
    let measuring = async {
        loop {
            let begun = Instant::now();
            if let Ok(overview) =
                measure::store("outbox_overview", dispatcher.store.outbox_overview(Viewer::Server)).await
            {
                measure::outbox(&overview);
            }
            tokio::time::sleep(MEASURE_EVERY.max(begun.elapsed() * MEASURE_PAUSE_FACTOR)).await;
        }
    };
    stop.run_until_cancelled(measuring).await.unwrap_or(());
}
