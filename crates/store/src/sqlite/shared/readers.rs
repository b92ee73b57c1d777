//! The threads that read, each with a connection of its own. They never wait for the writer, nor it for them.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::JoinHandle,
};

use domain::ports::StoreResult;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::sqlite::shared::{
    errors::{broken_off, closed, store_error},
    queue::{Priority, Queue},
};

/// Reads that wait; further callers wait for a permit.
const QUEUE_JOBS_MAX: usize = 1024;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

pub(crate) struct Readers {
    queue: Arc<Queue<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts a thread for each of these connections.
    pub(crate) fn start(name: &str, connections: Vec<Connection>) -> std::io::Result<Self> {
        let queue: Arc<Queue<Job>> = Arc::new(Queue::new(QUEUE_JOBS_MAX));
        let mut readers = Self { queue, threads: Vec::new() };
        for (number, mut connection) in connections.into_iter().enumerate() {
            let (queue, worker) = (Arc::clone(&readers.queue), readers.queue.worker());
            let thread = std::thread::Builder::new().name(format!("sqlite-{name}-{number}")).spawn(move || {
                let _worker = worker;
                while let Some(job) = queue.next() {
                    job(&mut connection);
                }
            })?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Runs `work` on one state of the database, whatever is written meanwhile.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (sender, answer) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let read = || {
                let transaction = connection.transaction()?;
                let result = work(&transaction)?;
                transaction.finish()?;
                Ok(result)
            };
            let outcome = catch_unwind(AssertUnwindSafe(read));
            let _ =
                sender.send(outcome.map_or_else(|_| Err(broken_off()), |outcome| outcome.map_err(|e| store_error(&e))));
        });
        self.queue.push(Priority::Usual, job).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}

impl Drop for Readers {
    /// Does what is left, and ends.
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
