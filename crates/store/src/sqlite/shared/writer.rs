//! The one thread that writes. Everything that waits runs in one transaction, a savepoint each, with one commit at the
//! end; only then is anybody answered. So a disk that syncs 400 times a second takes tens of thousands of writes.
//!
//! The first job needs no savepoint: if it fails, the transaction is begun anew. Under load that is a batch of pushes, and
//! a savepoint copies aside every page that is changed in it.
//!
//! A job that fails is undone by itself. But a full disk or an I/O error may undo the whole transaction: then every job
//! of the group has failed, and is told so.
//!
//! Whether the disk takes writes is known from the last of them, and so whether the store is ready.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use domain::{
    changes::ChangeLog,
    figures::FigureLog,
    ports::{Clock, StoreError, StoreResult},
};
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::sqlite::{
    changes, figures,
    outbox::events::Outbox,
    search::search_index::WordChanges,
    shared::{
        errors::{broken_off, closed, store_error},
        queue::{Priority, Queue},
    },
};

/// Jobs that wait, of each priority; further callers wait for a permit.
const QUEUE_JOBS_MAX: usize = 1024;
/// Jobs in one transaction.
const GROUP_JOBS_MAX: usize = 256;
/// For so long a transaction takes further jobs in: nobody waits much longer than this for the others.
const GROUP_TIME_MAX: Duration = Duration::from_millis(50);
/// Commits between looks at the statistics of the tables.
const OPTIMIZE_COMMITS: u64 = 20_000;

pub(crate) struct Writer {
    queue: Arc<Queue<Box<dyn Job>>>,
    commits: Arc<AtomicU64>,
    is_failing: Arc<AtomicBool>,
    /// Groups so far that changed something.
    changed: watch::Receiver<u64>,
    thread: Option<JoinHandle<()>>,
}

/// What a job works on: the connection, inside the transaction, and what is written at its end.
pub(crate) struct WriteTx<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) words: &'a mut WordChanges,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) log: &'a mut ChangeLog,
    pub(crate) figures: &'a mut FigureLog,
    /// Nothing was done in the transaction yet.
    is_fresh: &'a mut bool,
    clock: &'a dyn Clock,
}

impl WriteTx<'_> {
    /// Runs `work`, and undoes it if it fails. The inner error is its own; the outer one is that of the transaction, which
    /// is lost with all that is in it.
    pub(crate) fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<StoreResult<T>> {
        let (connection, is_fresh) = (self.connection, *self.is_fresh);
        let (mark, noted, counted) = (self.words.mark(), self.log.mark(), self.figures.mark());
        if !is_fresh {
            execute(connection, "SAVEPOINT job")?;
        }
        let result = match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(Err(error)) if connection.is_autocommit() => return Err(error),
            Ok(result) => result.map_err(|error| store_error(&error)),
            Err(_) => Err(broken_off()),
        };
        if connection.is_autocommit() {
            return Err(gone());
        }
        if result.is_err() {
            self.words.undo_to(mark);
            self.log.undo_to(noted);
            self.figures.undo_to(counted);
            self.outbox.forget_listeners();
            if is_fresh {
                execute(connection, "ROLLBACK")?;
                execute(connection, "BEGIN IMMEDIATE")?;
            } else {
                execute(connection, "ROLLBACK TO job")?;
            }
        }
        if !is_fresh {
            execute(connection, "RELEASE job")?;
        }
        *self.is_fresh = is_fresh && result.is_err();
        Ok(result)
    }

    /// The store's time, in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        self.clock.now().as_millisecond()
    }
}

impl Writer {
    pub(crate) fn start(connection: Connection, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::new(QUEUE_JOBS_MAX));
        let commits = Arc::new(AtomicU64::new(0));
        let is_failing = Arc::new(AtomicBool::new(false));
        let (changed_sender, changed) = watch::channel(0);
        let mut worker = Worker {
            connection,
            clock,
            queue: Arc::clone(&queue),
            commits: Arc::clone(&commits),
            is_failing: Arc::clone(&is_failing),
            changed: changed_sender,
            signs: DiskSigns::default(),
            words: WordChanges::default(),
            outbox: Outbox::default(),
            log: ChangeLog::default(),
            figures: FigureLog::default(),
            is_fresh: true,
        };
        // Also if the thread ends by a fault in here: then nobody waits for it.
        let taking = queue.worker();
        let serve = move || {
            let _taking = taking;
            worker.serve();
        };
        let thread = std::thread::Builder::new().name("sqlite-writer".to_owned()).spawn(serve)?;
        Ok(Self { queue, commits, is_failing, changed, thread: Some(thread) })
    }

    /// Runs `work` in the next transaction and returns after its commit. All or nothing.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        priority: Priority,
        work: impl FnOnce(&mut WriteTx<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.submit(priority, work).await?.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Puts `work` in line and returns at once; the answer comes after its commit. Of one caller, in the order given.
    pub(crate) async fn submit<T: Send + 'static>(
        &self,
        priority: Priority,
        work: impl FnOnce(&mut WriteTx<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreResult<oneshot::Receiver<StoreResult<T>>> {
        let (sender, answer) = oneshot::channel();
        let job = Box::new(Task { work: Some(work), outcome: None, sender });
        self.queue.push(priority, job).await.map_err(|_| closed())?;
        Ok(answer)
    }

    /// The same for several, each all or nothing, in the order given.
    pub(crate) async fn write_all<T: Send + 'static>(
        &self,
        priority: Priority,
        works: impl Iterator<Item = impl FnOnce(&mut WriteTx<'_>) -> rusqlite::Result<T> + Send + 'static> + Send,
    ) -> StoreResult<Vec<StoreResult<T>>> {
        let mut answers = Vec::new();
        for work in works {
            answers.push(self.submit(priority, work).await?);
        }
        let mut done = Vec::with_capacity(answers.len());
        for answer in answers {
            done.push(answer.await.unwrap_or_else(|_| Err(closed())));
        }
        Ok(done)
    }

    /// Waits until more groups have changed something than these; returns how many have.
    pub(crate) async fn changed_since(&self, seen: u64) -> u64 {
        let mut changed = self.changed.clone();
        let more = changed.wait_for(|count| *count > seen).await.map(|count| *count);
        match more {
            Ok(count) => count,
            // The thread is gone: nothing changes any more.
            Err(_) => std::future::pending().await,
        }
    }

    /// Puts a job in line that ends the thread, after the answers to those before it.
    #[cfg(test)]
    pub(crate) async fn submit_fatal(&self) {
        self.queue.push(Priority::Usual, Box::new(Fatal)).await.expect("the queue is open");
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Transactions committed so far.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Whether the last attempt to write failed, as on a full disk.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }
}

impl Drop for Writer {
    /// Does what is left, and ends.
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

trait Job: Send {
    /// Runs it, and keeps what it returns. The inner error is its own; the outer one is that of the transaction.
    fn run(&mut self, changes: &mut WriteTx<'_>) -> rusqlite::Result<StoreResult<()>>;
    /// Answers, now that it is known whether the transaction was committed.
    fn answer(self: Box<Self>, committed: &StoreResult<()>);
}

struct Task<T, W> {
    work: Option<W>,
    outcome: Option<StoreResult<T>>,
    sender: oneshot::Sender<StoreResult<T>>,
}

impl<T, W> Job for Task<T, W>
where
    T: Send,
    W: FnOnce(&mut WriteTx<'_>) -> rusqlite::Result<T> + Send,
{
    fn run(&mut self, changes: &mut WriteTx<'_>) -> rusqlite::Result<StoreResult<()>> {
        let Some(work) = self.work.take() else { return Ok(Err(broken_off())) };
        let outcome = changes.attempt(work)?;
        let result = outcome.as_ref().map(|_| ()).map_err(StoreError::clone);
        self.outcome = Some(outcome);
        Ok(result)
    }

    fn answer(self: Box<Self>, committed: &StoreResult<()>) {
        let outcome = match committed {
            Ok(()) => self.outcome.unwrap_or_else(|| Err(broken_off())),
            Err(error) => Err(error.clone()),
        };
        // A caller that went away needs no answer.
        let _ = self.sender.send(outcome);
    }
}

#[cfg(test)]
struct Fatal;

#[cfg(test)]
impl Job for Fatal {
    fn run(&mut self, _: &mut WriteTx<'_>) -> rusqlite::Result<StoreResult<()>> {
        Ok(Ok(()))
    }

    fn answer(self: Box<Self>, _: &StoreResult<()>) {
        panic!("a fault outside of any job");
    }
}

/// What all are told whose transaction is gone with that of the job that failed.
fn lost(cause: StoreError) -> StoreError {
    let (StoreError::Unavailable(reason) | StoreError::Failed(reason)) = cause;
    StoreError::Unavailable(reason)
}

/// A transaction that ended by itself.
fn gone() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ABORT);
    rusqlite::Error::SqliteFailure(code, Some("the transaction was lost".to_owned()))
}

/// What the jobs of a transaction say about the disk.
#[derive(Debug, Default)]
struct DiskSigns {
    has_written: bool,
    /// Something could not be written for now.
    has_failed: bool,
}

struct Worker {
    connection: Connection,
    clock: Arc<dyn Clock>,
    queue: Arc<Queue<Box<dyn Job>>>,
    commits: Arc<AtomicU64>,
    is_failing: Arc<AtomicBool>,
    changed: watch::Sender<u64>,
    signs: DiskSigns,
    words: WordChanges,
    outbox: Outbox,
    log: ChangeLog,
    figures: FigureLog,
    is_fresh: bool,
}

impl Worker {
    fn serve(&mut self) {
        self.optimize();
        while let Some(first) = self.queue.next() {
            let mut group = Vec::new();
            let committed = self.run_group(first, &mut group);
            self.words.end(committed.is_ok());
            self.outbox.forget_listeners();
            // What was noted for a transaction that is gone.
            self.log.take();
            self.figures.take();
            if committed == Ok(true) {
                self.changed.send_modify(|count| *count += 1);
            }
            let committed = committed.map(drop);
            self.judge(committed.is_ok());
            match &committed {
                Ok(()) => {
                    let commits = self.commits.fetch_add(1, Ordering::Relaxed) + 1;
                    if commits.is_multiple_of(OPTIMIZE_COMMITS) {
                        self.optimize();
                    }
                }
                Err(error) => tracing::warn!(jobs = group.len(), %error, "transaction failed"),
            }
            for job in group {
                job.answer(&committed);
            }
        }
    }

    /// Keeps in mind whether the disk takes writes. A transaction that wrote nothing is committed on a full one too, and
    /// says nothing.
    fn judge(&mut self, is_committed: bool) {
        let DiskSigns { has_written, has_failed } = std::mem::take(&mut self.signs);
        if has_failed || !is_committed {
            self.is_failing.store(true, Ordering::Relaxed);
        } else if has_written {
            self.is_failing.store(false, Ordering::Relaxed);
        }
    }

    /// True if it changed something that others follow.
    fn run_group(&mut self, first: Box<dyn Job>, group: &mut Vec<Box<dyn Job>>) -> StoreResult<bool> {
        self.is_fresh = true;
        let done = match execute(&self.connection, "BEGIN IMMEDIATE") {
            Ok(()) => self.run_jobs(first, group).and_then(|()| self.commit().map_err(|error| store_error(&error))),
            Err(error) => {
                // Whoever waits now would wait for the same.
                group.push(first);
                group.extend(std::iter::from_fn(|| self.queue.next_now()).take(GROUP_JOBS_MAX));
                Err(store_error(&error))
            }
        };
        if !self.connection.is_autocommit() {
            let _ = execute(&self.connection, "ROLLBACK");
        }
        done
    }

    #[expect(clippy::disallowed_methods, reason = "for how long callers have waited is no decision about data")]
    fn run_jobs(&mut self, first: Box<dyn Job>, group: &mut Vec<Box<dyn Job>>) -> StoreResult<()> {
        let begun = Instant::now();
        let mut next = Some(first);
        while let Some(mut job) = next {
            let changes = self.connection.total_changes();
            let result = self.run_one(&mut *job);
            group.push(job);
            let result = result.map_err(|error| lost(store_error(&error)))?;
            self.signs.has_failed |= matches!(result, Err(StoreError::Unavailable(_)));
            self.signs.has_written |= result.is_ok() && self.connection.total_changes() > changes;
            let is_full = group.len() >= GROUP_JOBS_MAX || begun.elapsed() >= GROUP_TIME_MAX;
            next = if is_full { None } else { self.queue.next_now() };
        }
        Ok(())
    }

    fn run_one(&mut self, job: &mut dyn Job) -> rusqlite::Result<StoreResult<()>> {
        let mut changes = WriteTx {
            connection: &self.connection,
            words: &mut self.words,
            outbox: &mut self.outbox,
            log: &mut self.log,
            figures: &mut self.figures,
            is_fresh: &mut self.is_fresh,
            clock: &*self.clock,
        };
        job.run(&mut changes)
    }

    fn commit(&mut self) -> rusqlite::Result<bool> {
        self.words.write(&self.connection)?;
        let now = self.clock.now().as_millisecond();
        figures::write(&self.connection, &mut self.figures, now)?;
        let is_changed = changes::write(&self.connection, &mut self.log, now)?;
        execute(&self.connection, "COMMIT").map(|()| is_changed)
    }

    /// Looks after the statistics by which statements are planned. Cheap when there is nothing to do.
    fn optimize(&self) {
        if let Err(error) = self.connection.execute_batch("PRAGMA optimize = 0x10002") {
            tracing::debug!(%error, "optimize failed");
        }
    }
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
