//! The thread that moves pages of the write-ahead log into the database, beside the one that writes: whoever writes waits
//! for the disk once for each commit, and need not for this as well.
//!
//! The log begins anew only when all of it was moved and nobody reads from it, and while much is written there is always
//! some more. So the writer moves the last of it, which is little.

use std::{
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::JoinHandle,
};

use rusqlite::Connection;

/// Pages of the log from which on they are moved, and after how many more they are again. The more often a page was
/// written meanwhile, the fewer there are to move.
const MOVED_FROM: i32 = 4_000;
const MOVED_EVERY: i32 = 1_000;
/// Pages of the log from which on the writer moves what is left: 24 MB, less than what the log is cut back to.
const MOVED_BY_WRITER_FROM: i32 = 6_000;

/// To be dropped when the writer's connection is closed: of two that close at the same time neither is the last, which takes
/// the log with it.
pub(crate) struct Checkpointer {
    wake: SyncSender<Wake>,
    thread: Option<JoinHandle<()>>,
}

enum Wake {
    Move,
    End,
}

impl Checkpointer {
    /// Starts it, with a connection of its own, for the writer's.
    pub(crate) fn start(own: Connection, writer: &mut Connection) -> std::io::Result<Self> {
        let (wake, woken) = sync_channel(1);
        watch(writer, wake.clone()).map_err(std::io::Error::other)?;
        let thread =
            std::thread::Builder::new().name("sqlite-checkpointer".to_owned()).spawn(move || serve(&own, &woken))?;
        Ok(Self { wake, thread: Some(thread) })
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        let _ = self.wake.send(Wake::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Looks at the length of the log after each commit.
fn watch(writer: &mut Connection, wake: SyncSender<Wake>) -> rusqlite::Result<()> {
    let mut woken_at = 0;
    writer.wal_hook(Some(move |log: &mut rusqlite::hooks::Wal, pages: i32| {
        if pages < woken_at {
            // It has begun anew.
            woken_at = 0;
        }
        if pages >= MOVED_BY_WRITER_FROM {
            // What fails is tried again after the next commit, and this one is done.
            let _ = log.checkpoint();
        } else if pages >= MOVED_FROM && pages >= woken_at + MOVED_EVERY {
            woken_at = pages;
            // If it has not begun yet, it will.
            let _ = wake.try_send(Wake::Move);
        }
        Ok(())
    }))
}

fn serve(connection: &Connection, woken: &Receiver<Wake>) {
    while let Ok(Wake::Move) = woken.recv() {
        let moved = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = moved {
            tracing::debug!(%error, "checkpoint failed");
        }
    }
}
