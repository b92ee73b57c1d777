//! Idle connections: those that wait for their clients, for a request, for more of a body, or for an answer to be taken.
//! When the limit of connections is reached, the one that has been idle longest is closed, and a new one has its slot. So
//! strangers who open connections and do nothing keep nobody out; busy ones are bounded by the limits of requests.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio_util::sync::CancellationToken;

/// The position of a connection that is busy.
const BUSY: u64 = 0;

/// The connections that wait, by how long.
#[derive(Debug, Default)]
pub(crate) struct IdleConnections {
    queue: Mutex<IdleQueue>,
    joined: Notify,
}

/// The longest wait first.
#[derive(Debug, Default)]
struct IdleQueue {
    last: u64,
    waiting: BTreeMap<u64, CancellationToken>,
}

impl IdleConnections {
    /// A connection that waits for its first request.
    pub(crate) fn connection(self: &Arc<Self>) -> Connection {
        let connection = Connection {
            idle: Arc::clone(self),
            close: CancellationToken::new(),
            position: AtomicU64::new(BUSY),
            slot: Mutex::new(None),
        };
        connection.set_idle();
        connection
    }

    /// The same with its slot among all connections, which it has until it ends or becomes an event stream.
    pub(crate) fn connection_with(self: &Arc<Self>, slot: Option<OwnedSemaphorePermit>) -> Connection {
        let mut connection = self.connection();
        connection.slot = Mutex::new(slot);
        connection
    }

    /// Has the connection closed that has waited longest. False if none waits.
    pub(crate) fn close_longest_idle(&self) -> bool {
        let longest = self.queue().waiting.pop_first();
        longest.inspect(|(_, close)| close.cancel()).is_some()
    }

    /// Returns when a connection has begun to wait.
    pub(crate) async fn joined(&self) {
        self.joined.notified().await;
    }

    fn queue(&self) -> MutexGuard<'_, IdleQueue> {
        // Nothing in here panics half-way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    idle: Arc<IdleConnections>,
    close: CancellationToken,
    position: AtomicU64,
    slot: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Connection {
    /// It waits for its client from now on, if it did not.
    pub(crate) fn set_idle(&self) {
        let mut queue = self.idle.queue();
        if self.position.load(Ordering::Relaxed) == BUSY {
            self.join(&mut queue);
            self.idle.joined.notify_one();
        }
    }

    /// It is our turn: it is not closed for others.
    pub(crate) fn set_busy(&self) {
        let mut queue = self.idle.queue();
        let position = self.position.swap(BUSY, Ordering::Relaxed);
        queue.waiting.remove(&position);
    }

    /// Its client has done something: if it is idle, then from now on.
    pub(crate) fn touch(&self) {
        let mut queue = self.idle.queue();
        let position = self.position.load(Ordering::Relaxed);
        if queue.waiting.remove(&position).is_some() {
            self.join(&mut queue);
        }
    }

    /// It stays busy to its end, and is counted elsewhere: others may have its slot.
    pub(crate) fn release_slot(&self) {
        drop(self.slot.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns when it is to be closed.
    pub(crate) async fn closed(&self) {
        self.close.cancelled().await;
    }

    fn join(&self, queue: &mut IdleQueue) {
        queue.last += 1;
        queue.waiting.insert(queue.last, self.close.clone());
        self.position.store(queue.last, Ordering::Relaxed);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.set_busy();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u8_longest_idle_connection_is_closed() {
        let idle = Arc::new(IdleConnections::default());
        let [one, two, three, four, five] = std::array::from_fn(|_| idle.connection());
        let closed = |connections: &[&Connection]| {
            connections.iter().map(|connection| connection.close.is_cancelled()).collect::<Vec<_>>()
        };
        one.set_busy();
        two.touch();
        four.set_busy();
        four.set_idle();
        drop(five);
        assert!(idle.close_longest_idle());
        assert_eq!(closed(&[&one, &two, &three, &four]), [false, false, true, false]);
        assert!(idle.close_longest_idle());
        assert_eq!(closed(&[&one, &two, &three, &four]), [false, true, true, false]);
        assert!(idle.close_longest_idle() && !idle.close_longest_idle());
        assert_eq!(closed(&[&one, &four]), [false, true]);
        one.set_idle();
        one.set_idle();
        assert!(idle.close_longest_idle() && !idle.close_longest_idle());
        assert!(one.close.is_cancelled());
    }
}
