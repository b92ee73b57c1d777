//! What a server knows, for tests to wait on.

use std::{
    fmt::Display,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

/// How long a test waits for what never comes. No test passes because of it, so it is longer than any machine needs.
pub(crate) const WAIT_MAX: Duration = Duration::from_mins(3);

/// State whose changes can be waited for.
#[derive(Debug, Default)]
pub(crate) struct Observable<T> {
    state: Mutex<T>,
    /// Rises with every change.
    changes: watch::Sender<u64>,
}

impl<T> Observable<T> {
    pub(crate) fn new(state: T) -> Self {
        Self { state: Mutex::new(state), changes: watch::Sender::new(0) }
    }

    /// To look at, or to change what nobody waits for.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it, and wakes who waits.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let changed = change(&mut self.lock());
        self.changes.send_modify(|changes| *changes += 1);
        changed
    }

    /// Waits until there is what the test looks for.
    ///
    /// # Panics
    ///
    /// If that takes too long, with what there is instead.
    pub(crate) async fn wait<R, D: Display>(
        &self,
        what: &str,
        mut find: impl FnMut(&mut T) -> Option<R>,
        describe: impl FnOnce(&T) -> D,
    ) -> R {
        let mut changes = self.changes.subscribe();
        let found = async {
            loop {
                let found = find(&mut self.lock());
                match found {
                    Some(found) => return found,
                    None => changes.changed().await.expect("what is waited on lives"),
                }
            }
        };
        let found = tokio::time::timeout(WAIT_MAX, found).await;
        found.unwrap_or_else(|_| panic!("waited {WAIT_MAX:?} for {what}; there was {}", describe(&self.lock())))
    }
}

/// How many requests wait for their answer.
#[derive(Debug, Default)]
pub(crate) struct InFlightCount {
    pub(crate) now: usize,
    /// The most at once.
    pub(crate) max: usize,
}

impl InFlightCount {
    /// One more. [`InFlightGuard`] takes it back.
    pub(crate) fn enter(&mut self) {
        self.now += 1;
        self.max = self.max.max(self.now);
    }
}

/// A request that waits for its answer until this is dropped.
pub(crate) struct InFlightGuard<'w, T, F: Fn(&mut T) -> &mut InFlightCount>(pub(crate) &'w Observable<T>, pub(crate) F);

impl<T, F: Fn(&mut T) -> &mut InFlightCount> Drop for InFlightGuard<'_, T, F> {
    fn drop(&mut self) {
        self.0.change(|state| (self.1)(state).now -= 1);
    }
}
