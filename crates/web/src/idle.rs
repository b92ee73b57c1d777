//! Connections that wait for their clients: for a request, for more of a body, or for an answer to be taken. When there
//! is room for no more connections, the one that has waited longest is closed, and a new one has its place. So strangers
//! who open connections and do nothing keep nobody out; those for which we are at work are bounded by the limits of
//! requests.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The place of a connection that does not wait.
const NOWHERE: u64 = 0;

/// The connections that wait, by how long.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    line: Mutex<Line>,
    joined: Notify,
}

/// The longest wait first.
#[derive(Debug, Default)]
struct Line {
    last: u64,
    waiting: BTreeMap<u64, CancellationToken>,
}

impl Idle {
    /// A connection that waits for its first request.
    pub(crate) fn connection(self: &Arc<Self>) -> Connection {
        let connection =
            Connection { idle: Arc::clone(self), close: CancellationToken::new(), place: AtomicU64::new(NOWHERE) };
        connection.waits();
        connection
    }

    /// Has the connection closed that has waited longest. False if none waits.
    pub(crate) fn close_longest(&self) -> bool {
        let longest = self.line().waiting.pop_first();
        longest.inspect(|(_, close)| close.cancel()).is_some()
    }

    /// Returns when a connection has begun to wait.
    pub(crate) async fn joined(&self) {
        self.joined.notified().await;
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // Nothing in here panics half-way.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    idle: Arc<Idle>,
    close: CancellationToken,
    place: AtomicU64,
}

impl Connection {
    /// It waits for its client, if it did not.
    pub(crate) fn waits(&self) {
        let mut line = self.idle.line();
        if self.place.load(Ordering::Relaxed) == NOWHERE {
            self.join(&mut line);
            self.idle.joined.notify_one();
        }
    }

    /// It waits no longer: it is our turn.
    pub(crate) fn works(&self) {
        let mut line = self.idle.line();
        let place = self.place.swap(NOWHERE, Ordering::Relaxed);
        line.waiting.remove(&place);
    }

    /// Its client has done something: if it waits, then from now on.
    pub(crate) fn moved(&self) {
        let mut line = self.idle.line();
        let place = self.place.load(Ordering::Relaxed);
        if line.waiting.remove(&place).is_some() {
            self.join(&mut line);
        }
    }

    /// Returns when it is to be closed.
    pub(crate) async fn closed(&self) {
        self.close.cancelled().await;
    }

    fn join(&self, line: &mut Line) {
        line.last += 1;
        line.waiting.insert(line.last, self.close.clone());
        self.place.store(line.last, Ordering::Relaxed);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.works();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u8_longest_idle_connection_is_closed() {
        let idle = Arc::new(Idle::default());
        let [one, two, three, four, five] = std::array::from_fn(|_| idle.connection());
        let closed = |connections: &[&Connection]| {
            connections.iter().map(|connection| connection.close.is_cancelled()).collect::<Vec<_>>()
        };
        one.works();
        two.moved();
        four.works();
        four.waits();
        drop(five);
        assert!(idle.close_longest());
        assert_eq!(closed(&[&one, &two, &three, &four]), [false, false, true, false]);
        assert!(idle.close_longest());
        assert_eq!(closed(&[&one, &two, &three, &four]), [false, true, true, false]);
        assert!(idle.close_longest() && !idle.close_longest());
        assert_eq!(closed(&[&one, &four]), [false, true]);
        one.waits();
        one.waits();
        assert!(idle.close_longest() && !idle.close_longest());
        assert!(one.close.is_cancelled());
    }
}
