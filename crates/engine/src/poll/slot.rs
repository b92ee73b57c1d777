//! The slots of polls. One that waits long for its server gives its slot up to others, and takes one again when the answer
//! is there: hosts that hang hold up nobody. How many may wait so is bounded, and so is the memory of the answers that
//! arrive meanwhile (`http/body_memory.rs`).
//!
//! One whose answer arrives does not wait, however long that takes: on a slow line all take long, and the more of them share
//! it, the fewer are there in time.

use std::{pin::pin, time::Duration};

use domain::ports::Arrived;
use tokio::{
    sync::{Notify, Semaphore, SemaphorePermit},
    time::timeout,
};

use super::Poller;

/// If not even so much has arrived since it was last looked, a server is waited for. A slow line that all slots share
/// carries more.
const ARRIVES_MIN: usize = 1024;

/// The right to work on a poll.
#[derive(Debug)]
pub(crate) struct Slot<'p> {
    slots: &'p Semaphore,
    permit: Option<SemaphorePermit<'p>>,
    /// A server that sends nothing for so long is slow.
    slow_after: Duration,
    /// For polls that wait for slow servers.
    slow_permits: &'p Semaphore,
    /// Told when there is a slot for another poll.
    ended: &'p Notify,
}

impl<'p> Slot<'p> {
    /// Waits for a slot.
    pub(crate) async fn take(poller: &'p Poller, slots: &'p Semaphore) -> Self {
        Self {
            permit: Some(acquire(slots).await),
            slots,
            slow_after: poller.context.settings().slow_after,
            slow_permits: &poller.slow_permits,
            ended: &poller.ended,
        }
    }

    /// Waits for an answer, without the slot while nothing arrives for long and not too many wait so already.
    pub(crate) async fn wait_for<T>(&mut self, arrived: &Arrived, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        let mut pace = Pace::default();
        loop {
            if let Ok(answer) = timeout(self.slow_after, &mut answer).await {
                return answer;
            }
            if pace.arrives(arrived) {
                continue;
            }
            let Ok(_place) = self.slow_permits.try_acquire() else { continue };
            self.permit = None;
            self.ended.notify_one();
            while !pace.arrives(arrived) {
                if let Ok(answer) = timeout(self.slow_after, &mut answer).await {
                    self.permit = Some(acquire(self.slots).await);
                    return answer;
                }
            }
            // It has its turn before polls that have not begun, and goes on meanwhile.
            let mut turn = pin!(acquire(self.slots));
            tokio::select! {
                biased;
                answer = &mut answer => {
                    self.permit = Some(turn.await);
                    return answer;
                }
                permit = &mut turn => self.permit = Some(permit),
            }
        }
    }
}

/// How much had arrived when it was last looked.
#[derive(Debug, Default)]
struct Pace {
    bytes: usize,
}

impl Pace {
    /// Whether an answer has gone on arriving since then.
    fn arrives(&mut self, arrived: &Arrived) -> bool {
        let before = std::mem::replace(&mut self.bytes, arrived.bytes());
        self.bytes - before >= ARRIVES_MIN
    }
}

async fn acquire(slots: &Semaphore) -> SemaphorePermit<'_> {
    slots.acquire().await.expect("the slots are never closed")
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[test]
    fn f4_an_answer_arrives_while_it_grows() {
        let (arrived, mut pace) = (Arrived::default(), Pace::default());
        for (bytes, expect) in [(0, false), (1023, false), (1024, true), (1, false), (0, false), (100_000, true)] {
            arrived.add(bytes);
            assert_eq!(pace.arrives(&arrived), expect, "{bytes}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn f4_slot_is_given_up_only_while_little_arrives() {
        for (bytes_per_second, is_given_up) in [(0, true), (100, true), (1024, false)] {
            let (slots, slow_permits, ended) = (Semaphore::new(1), Semaphore::new(1), Notify::new());
            let mut slot = Slot {
                permit: Some(slots.try_acquire().unwrap()),
                slots: &slots,
                slow_after: Duration::from_secs(2),
                slow_permits: &slow_permits,
                ended: &ended,
            };
            let arrived = Arrived::default();
            let answer = async {
                for _ in 0..20 {
                    sleep(Duration::from_secs(1)).await;
                    arrived.add(bytes_per_second);
                }
            };
            let has_another = tokio::select! {
                _ = acquire(&slots) => true,
                () = slot.wait_for(&arrived, answer) => false,
            };
            assert_eq!(has_another, is_given_up, "{bytes_per_second}");
        }
    }
}
