//! What only SQLite can get wrong, seen from inside: groups of writes, a full disk, plans.

mod checkpoints;
mod groups;
mod invariants;
mod outbox;
mod plans;
mod search_tail;
mod trouble;

use std::sync::{Arc, mpsc};

use domain::ports::StoreResult;
use tempfile::TempDir;
use testkit::SimulatedClock;
use tokio::sync::oneshot::Receiver;

use super::{SqliteOptions, SqliteStore, Synchronous, shared::queue::Priority};

fn fresh() -> (SqliteStore, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions { synchronous: Synchronous::Off, readers: 1, slow_readers: 1 };
    (SqliteStore::open(folder.path(), options, Arc::new(SimulatedClock::default())).unwrap(), folder)
}

/// Keeps the writer busy until the returned sender is used or dropped; the receiver gets the answer of that job.
async fn hold_writer(store: &SqliteStore) -> (mpsc::Sender<()>, Receiver<StoreResult<()>>) {
    let (release, released) = mpsc::channel::<()>();
    let (start, started) = tokio::sync::oneshot::channel();
    let wait = move |_: &mut super::shared::writer::WriteTx<'_>| {
        let _ = start.send(());
        let _ = released.recv();
        Ok(())
    };
    let answer = store.writer.submit(Priority::Usual, wait).await.unwrap();
    started.await.unwrap();
    (release, answer)
}
