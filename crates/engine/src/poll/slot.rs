//! The slots of polls. One that waits long for its server gives its slot up to others, and takes one again when the answer
//! is there: hosts that hang hold up nobody. How many may wait so is bounded, and so is the memory of the answers that
//! arrive meanwhile (`http/body_memory.rs`).

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::Poller;

/// The right to work on a poll.
#[derive(Debug)]
pub(crate) struct Slot<'p> {
    poller: &'p Poller,
    slots: &'p Semaphore,
    permit: Option<SemaphorePermit<'p>>,
}

impl<'p> Slot<'p> {
    /// Waits for a slot.
    pub(crate) async fn take(poller: &'p Poller, slots: &'p Semaphore) -> Self {
        Self { poller, slots, permit: Some(acquire(slots).await) }
    }

    /// Waits for a server, without the slot if that takes long and not too many do so already.
    pub(crate) async fn wait_for<T>(&mut self, answer: impl Future<Output = T>) -> T {
        tokio::pin!(answer);
        let slow_after: Duration = self.poller.context.deps.settings.slow_after;
        if let Ok(answer) = tokio::time::timeout(slow_after, &mut answer).await {
            return answer;
        }
        let Ok(_place) = self.poller.slow_permits.try_acquire() else { return answer.await };
        self.permit = None;
        // There is capacity for another.
        self.poller.ended.notify_one();
        let answer = answer.await;
        self.permit = Some(acquire(self.slots).await);
        answer
    }
}

async fn acquire(slots: &Semaphore) -> SemaphorePermit<'_> {
    slots.acquire().await.expect("the slots are never closed")
}
