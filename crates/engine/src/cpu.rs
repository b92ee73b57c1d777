//! Work that keeps a core busy, away from the threads that wait for the network.

use std::future::ready;

use futures_util::{FutureExt, future::Either};
use tokio::sync::Semaphore;

/// Bytes up to which a document is worked on where it arrived: handing it over would cost more.
const INLINE_BYTES_MAX: usize = 16 * 1024;

/// Takes turns at the cores.
#[derive(Debug)]
pub(crate) struct Cpu {
    turns: Semaphore,
}

impl Cpu {
    /// As many turns at once as there are cores.
    pub(crate) fn new() -> Self {
        Self { turns: Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)) }
    }

    /// Does some work on so many bytes. A panic in it goes on in the caller.
    ///
    /// What is small is done at once, and what waits is in a place of its own: so the caller's future, which is copied
    /// more than once on its way, holds none of what the work needs.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        if bytes <= INLINE_BYTES_MAX {
            return Either::Left(ready(work()));
        }
        Either::Right(self.run_elsewhere(work).boxed())
    }

    async fn run_elsewhere<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => panic!("the runtime ended under its work: {error}"),
            },
        }
    }
}
