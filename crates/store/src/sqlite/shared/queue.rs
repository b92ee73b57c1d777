//! Work on its way from async callers to threads. Bounded: who finds it full waits. What is urgent goes first.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::Semaphore;

/// Which jobs go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Short, and of no use when late: renewals of leases.
    Urgent,
    Usual,
}

/// The queue was closed: nothing more is taken.
#[derive(Debug)]
pub(crate) struct Closed;

pub(crate) struct Queue<J> {
    jobs: Mutex<Jobs<J>>,
    arrived: Condvar,
    urgent_permits: Semaphore,
    usual_permits: Semaphore,
    workers: AtomicUsize,
}

/// A thread that takes jobs out of a queue: see [`Queue::worker`].
pub(crate) struct Worker<J>(Arc<Queue<J>>);

impl<J> Drop for Worker<J> {
    fn drop(&mut self) {
        if self.0.workers.fetch_sub(1, Ordering::AcqRel) == 1 {
            if std::thread::panicking() {
                tracing::error!("store thread died");
            }
            self.0.close();
            while self.0.next_now().is_some() {}
        }
    }
}

struct Jobs<J> {
    urgent: VecDeque<J>,
    usual: VecDeque<J>,
    is_closed: bool,
}

impl<J> Queue<J> {
    /// A queue for at most so many jobs of each priority.
    pub(crate) fn new(jobs_max: usize) -> Self {
        Self {
            jobs: Mutex::new(Jobs { urgent: VecDeque::new(), usual: VecDeque::new(), is_closed: false }),
            arrived: Condvar::new(),
            urgent_permits: Semaphore::new(jobs_max),
            usual_permits: Semaphore::new(jobs_max),
            workers: AtomicUsize::new(0),
        }
    }

    /// Puts a job in, as soon as there is a permit.
    pub(crate) async fn push(&self, priority: Priority, job: J) -> Result<(), Closed> {
        self.permits(priority).acquire().await.map_err(|_| Closed)?.forget();
        let mut jobs = self.lock();
        if jobs.is_closed {
            return Err(Closed);
        }
        match priority {
            Priority::Urgent => jobs.urgent.push_back(job),
            Priority::Usual => jobs.usual.push_back(job),
        }
        drop(jobs);
        self.arrived.notify_one();
        Ok(())
    }

    /// The next job, when there is one; `None` once the queue is closed and empty.
    pub(crate) fn next(&self) -> Option<J> {
        let mut jobs = self.lock();
        loop {
            if let Some(job) = self.take(&mut jobs) {
                return Some(job);
            }
            if jobs.is_closed {
                return None;
            }
            jobs = self.arrived.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next job, if there is one now.
    pub(crate) fn next_now(&self) -> Option<J> {
        self.take(&mut self.lock())
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let jobs = self.lock();
        jobs.urgent.len() + jobs.usual.len()
    }

    /// Counts a thread that takes jobs out, until it ends. With the last of them the queue is closed, and what is in it is
    /// dropped: whoever waits for an answer has none to expect.
    pub(crate) fn worker(self: &Arc<Self>) -> Worker<J> {
        self.workers.fetch_add(1, Ordering::Relaxed);
        Worker(Arc::clone(self))
    }

    /// Takes no more. What is in it is still done.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.urgent_permits.close();
        self.usual_permits.close();
        self.arrived.notify_all();
    }

    fn take(&self, jobs: &mut Jobs<J>) -> Option<J> {
        let (priority, job) = match jobs.urgent.pop_front() {
            Some(job) => (Priority::Urgent, job),
            None => (Priority::Usual, jobs.usual.pop_front()?),
        };
        self.permits(priority).add_permits(1);
        Some(job)
    }

    fn permits(&self, priority: Priority) -> &Semaphore {
        match priority {
            Priority::Urgent => &self.urgent_permits,
            Priority::Usual => &self.usual_permits,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Jobs<J>> {
        // Nothing that can panic runs while it is held.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
