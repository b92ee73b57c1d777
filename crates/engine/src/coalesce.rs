//! Calls of the store that arrive together are made together: pushes, changes of subscriptions, looks at tokens, and
//! claims of single feeds.
//!
//! Nobody waits for a batch to fill up: the first job starts one, and what arrives while it is being stored is the next.
//! Each job is answered when its own transaction is committed, and no sooner.

use std::{
    collections::VecDeque,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use domain::ports::{BatchResult, Batched, StoreError, StoreResult};
use futures_util::FutureExt;
use tokio::sync::{Semaphore, oneshot};

/// Jobs in one batch.
const BATCH_JOBS_MAX: usize = 64;

/// Bytes that came from outside in one batch: a single job may have more, and is alone then.
const BATCH_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Batches at once: while one is being committed, the next is on its way.
const BATCHES_AT_ONCE: usize = 2;

/// Jobs at once that wait for what somebody has locked: each takes a connection of the store for as long.
const ALONE_AT_ONCE: usize = 2;

/// What is done with a batch.
#[async_trait]
pub(crate) trait BatchCall: Send + Sync + 'static {
    type Job: Send + 'static;
    type Answer: Send + 'static;

    /// Waits for nobody who has locked what a job needs.
    async fn run(&self, jobs: Vec<Self::Job>) -> BatchResult<Self::Job, Self::Answer>;

    /// Does a job that a batch released, and waits for who has locked what it needs.
    async fn run_alone(&self, job: Self::Job) -> StoreResult<Self::Answer>;
}

/// Jobs on their way into the store.
#[derive(Debug)]
pub(crate) struct Coalescer<W: BatchCall> {
    work: W,
    state: Mutex<State<W>>,
    alone: Semaphore,
}

#[derive(Debug)]
struct State<W: BatchCall> {
    waiting: VecDeque<Waiting<W>>,
    /// Batches that are being worked on.
    running: usize,
}

struct Waiting<W: BatchCall> {
    job: W::Job,
    bytes: usize,
    answer: oneshot::Sender<StoreResult<W::Answer>>,
}

impl<W: BatchCall> std::fmt::Debug for Waiting<W> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Waiting").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl<W: BatchCall> Coalescer<W> {
    pub(crate) fn new(work: W) -> Arc<Self> {
        let state = Mutex::new(State { waiting: VecDeque::new(), running: 0 });
        Arc::new(Self { work, state, alone: Semaphore::new(ALONE_AT_ONCE) })
    }

    /// Has a job of so many bytes done, with others or alone. It waits in line from now on; who waits for the answer holds
    /// none of it.
    pub(crate) fn call(
        self: &Arc<Self>,
        job: W::Job,
        bytes: usize,
    ) -> impl Future<Output = StoreResult<W::Answer>> + Send + use<W> {
        let (answer, answered) = oneshot::channel();
        let must_start = {
            let mut state = self.lock();
            state.waiting.push_back(Waiting { job, bytes, answer });
            let may_run = state.running < BATCHES_AT_ONCE;
            state.running += usize::from(may_run);
            may_run
        };
        if must_start {
            tokio::spawn(Arc::clone(self).run());
        }
        async move { answered.await.unwrap_or_else(|_| Err(broken_off())) }
    }

    /// Works on batches until nothing waits.
    async fn run(self: Arc<Self>) {
        // Whoever is just about to bring a job is let go first.
        tokio::task::yield_now().await;
        while let Some(batch) = self.next_batch() {
            // Whoever waits for a batch that panicked is told so.
            let _ = AssertUnwindSafe(self.work_on(batch)).catch_unwind().await;
        }
    }

    fn next_batch(&self) -> Option<Vec<Waiting<W>>> {
        let mut state = self.lock();
        // Nobody waits for these any more: whoever brought them brings them again.
        state.waiting.retain(|waiting| !waiting.answer.is_closed());
        if state.waiting.is_empty() {
            state.running -= 1;
            return None;
        }
        let count = batch_of(state.waiting.iter().map(|waiting| waiting.bytes));
        Some(state.waiting.drain(..count).collect())
    }

    async fn work_on(self: &Arc<Self>, batch: Vec<Waiting<W>>) {
        let (jobs, answers): (Vec<_>, Vec<_>) = batch.into_iter().map(|waiting| (waiting.job, waiting.answer)).unzip();
        match self.work.run(jobs).await {
            Ok(outcomes) => {
                for (outcome, answer) in outcomes.into_iter().zip(answers) {
                    self.settle(outcome, answer);
                }
            }
            Err(error) => {
                for answer in answers {
                    let _ = answer.send(Err(error.clone()));
                }
            }
        }
    }

    /// Answers, or begins anew with a job whose rows somebody has locked: by itself, so that no other waits for them.
    fn settle(
        self: &Arc<Self>,
        outcome: StoreResult<Batched<W::Job, W::Answer>>,
        answer: oneshot::Sender<StoreResult<W::Answer>>,
    ) {
        // Nobody listening any more is no harm: it is stored.
        match outcome {
            Ok(Batched::Done(done)) => drop(answer.send(Ok(done))),
            Err(error) => drop(answer.send(Err(error))),
            Ok(Batched::Locked(job)) => {
                let coalescer = Arc::clone(self);
                tokio::spawn(async move { coalescer.do_alone(job, answer).await });
            }
        }
    }

    /// Does a job when it is its turn. One that nobody waits for any more does not wait for it: whoever brought it brings
    /// it again, and others wait behind it.
    async fn do_alone(&self, job: W::Job, mut answer: oneshot::Sender<StoreResult<W::Answer>>) {
        let turn = tokio::select! {
            biased;
            () = answer.closed() => return,
            turn = self.alone.acquire() => turn,
        };
        let done = match turn {
            Ok(_turn) => self.work.run_alone(job).await,
            Err(_) => Err(broken_off()),
        };
        drop(answer.send(done));
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn broken_off() -> StoreError {
    StoreError::Failed("the work was broken off by a fault in the program".to_owned())
}

/// How many of those that wait, of so many bytes each, are the next batch: at least one.
fn batch_of(bytes: impl Iterator<Item = usize>) -> usize {
    let mut sum: usize = 0;
    let fits = |bytes: usize| {
        sum = sum.saturating_add(bytes);
        sum <= BATCH_BYTES_MAX
    };
    bytes.take(BATCH_JOBS_MAX).map(fits).take_while(|fits| *fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use tokio::sync::Notify;

    use super::*;

    /// Records its batches; a job is a number, and some are special.
    #[derive(Debug, Default)]
    struct Recorder {
        batches: Mutex<Vec<Vec<u32>>>,
        /// Told when a batch of 0 has begun, which goes on when it is told to.
        begun: Notify,
        goes_on: Notify,
    }

    const HELD: u32 = 0;
    const BAD: u32 = 100;
    const LOCKED: u32 = 101;
    const PANICS: u32 = 102;
    const ALL_FAIL: u32 = 103;

    struct Recording(Arc<Recorder>);

    #[async_trait]
    impl BatchCall for Recording {
        type Job = u32;
        type Answer = u32;

        async fn run(&self, jobs: Vec<u32>) -> BatchResult<u32, u32> {
            self.0.batches.lock().unwrap_or_else(PoisonError::into_inner).push(jobs.clone());
            if jobs.contains(&HELD) {
                self.0.begun.notify_one();
                self.0.goes_on.notified().await;
            }
            assert!(!jobs.contains(&PANICS), "as it is told to");
            if jobs.contains(&ALL_FAIL) {
                return Err(StoreError::Unavailable("away".to_owned()));
            }
            let outcome = |job| match job {
                BAD => Err(StoreError::Failed("bad".to_owned())),
                LOCKED => Ok(Batched::Locked(job)),
                job => Ok(Batched::Done(job * 2)),
            };
            Ok(jobs.into_iter().map(outcome).collect())
        }

        async fn run_alone(&self, job: u32) -> StoreResult<u32> {
            self.0.batches.lock().unwrap_or_else(PoisonError::into_inner).push(vec![job]);
            Ok(job * 2)
        }
    }

    /// Brings jobs while as many batches are held as can be; what is answered, and the batches after those.
    async fn coalesce(jobs: &[(u32, usize)]) -> (Vec<StoreResult<u32>>, Vec<Vec<u32>>) {
        let recorder = Arc::new(Recorder::default());
        let coalescer = Coalescer::new(Recording(Arc::clone(&recorder)));
        let call = |job, bytes| {
            let coalescer = Arc::clone(&coalescer);
            tokio::spawn(async move { coalescer.call(job, bytes).await })
        };
        for _ in 0..BATCHES_AT_ONCE {
            call(HELD, 0);
            recorder.begun.notified().await;
        }
        let mut calls = Vec::new();
        for (job, bytes) in jobs {
            let before = coalescer.lock().waiting.len();
            calls.push(call(*job, *bytes));
            while coalescer.lock().waiting.len() == before {
                tokio::task::yield_now().await;
            }
        }
        recorder.goes_on.notify_one();
        let mut answers = Vec::new();
        for call in calls {
            answers.push(call.await.unwrap());
        }
        let batches = recorder.batches.lock().unwrap_or_else(PoisonError::into_inner).split_off(BATCHES_AT_ONCE);
        (answers, batches)
    }

    #[tokio::test]
    async fn w5_batch_keeps_arrival_order() {
        let (answers, batches) = coalesce(&[(1, 10), (2, 10), (3, 10)]).await;
        assert_eq!(answers, [Ok(2), Ok(4), Ok(6)]);
        assert_eq!(batches, [[1, 2, 3]]);
    }

    #[tokio::test]
    async fn w5_batches_are_bounded_in_number_and_bytes() {
        let many: Vec<(u32, usize)> = (1..=80).map(|job| (job, 1)).collect();
        let (_, batches) = coalesce(&many).await;
        assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [BATCH_JOBS_MAX, 80 - BATCH_JOBS_MAX]);
        let half = BATCH_BYTES_MAX / 2;
        let (_, batches) = coalesce(&[(1, half), (2, half), (3, 1), (4, usize::MAX), (5, 0)]).await;
        assert_eq!(batches, [vec![1, 2], vec![3], vec![4], vec![5]]);
    }

    #[tokio::test]
    async fn w5_one_bad_job_loses_no_other() {
        let bad = || Err(StoreError::Failed("bad".to_owned()));
        assert_eq!(coalesce(&[(1, 0), (BAD, 0), (2, 0)]).await.0, [Ok(2), bad(), Ok(4)]);
        let (answers, batches) = coalesce(&[(1, 0), (LOCKED, 0), (2, 0)]).await;
        assert_eq!(answers, [Ok(2), Ok(LOCKED * 2), Ok(4)]);
        assert_eq!(batches, [vec![1, LOCKED, 2], vec![LOCKED]], "it waits by itself");
    }

    #[tokio::test]
    async fn w5_locked_job_without_caller_holds_up_none() {
        let recorder = Arc::new(Recorder::default());
        let coalescer = Coalescer::new(Recording(Arc::clone(&recorder)));
        let batches = || recorder.batches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let all_turns = coalescer.alone.acquire_many(u32::try_from(ALONE_AT_ONCE).unwrap()).await.unwrap();
        let call = || tokio::spawn(coalescer.call(LOCKED, 0));
        let batches_are = async |count| {
            while batches().len() < count {
                tokio::task::yield_now().await;
            }
        };
        let abandoned = call();
        batches_are(1).await;
        abandoned.abort();
        assert!(abandoned.await.unwrap_err().is_cancelled());
        let other = call();
        batches_are(2).await;
        drop(all_turns);
        assert_eq!(other.await.unwrap(), Ok(LOCKED * 2));
        assert_eq!(batches(), vec![vec![LOCKED]; 3], "two batches, and the one that is waited for by itself");
    }

    #[tokio::test]
    async fn w5_failed_batch_fails_all_its_jobs() {
        let away = || Err(StoreError::Unavailable("away".to_owned()));
        assert_eq!(coalesce(&[(1, 0), (ALL_FAIL, 0)]).await.0, [away(), away()]);
        // And the next is worked on.
        let (answers, _) = coalesce(&[(PANICS, BATCH_BYTES_MAX), (1, 1)]).await;
        assert_eq!(answers, [Err(broken_off()), Ok(2)]);
    }
}
