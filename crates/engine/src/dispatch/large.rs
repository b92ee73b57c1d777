//! Room in memory for large payloads.
//!
//! Those that are too large to come with their claims are fetched when they are sent, and so many bytes of them are in
//! memory at once. A payload takes its room until it has been handed to the network, and no longer: a receiver that reads
//! it and does not answer keeps nobody waiting. Receivers that are known to be slow have half of the room.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// In KiB, for those that are slow and for the others each.
const HALF_KIB: u32 = 32 * 1024;

/// Room that a payload takes.
pub(super) type MemoryPermit = OwnedSemaphorePermit;

/// All of it.
#[derive(Debug)]
pub(super) struct LargePayloads {
    quick: Arc<Semaphore>,
    slow: Arc<Semaphore>,
}

impl Default for LargePayloads {
    fn default() -> Self {
        let half = || Arc::new(Semaphore::new(HALF_KIB as usize));
        Self { quick: half(), slow: half() }
    }
}

impl LargePayloads {
    /// Waits for room for so many bytes. What is larger than a half has that to itself.
    pub(super) async fn room(&self, bytes: usize, is_slow: bool) -> Option<MemoryPermit> {
        let kib = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX).min(HALF_KIB);
        let half = if is_slow { &self.slow } else { &self.quick };
        // Never closed.
        Arc::clone(half).acquire_many_owned(kib).await.ok()
    }
}

/// A body, and the room that it takes for as long as it is there.
struct Placed {
    body: Vec<u8>,
    _room: MemoryPermit,
}

impl AsRef<[u8]> for Placed {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// The body, which gives its room back when nobody has it any more.
pub(super) fn in_room(body: Vec<u8>, room: Option<MemoryPermit>) -> Bytes {
    match room {
        None => body.into(),
        Some(room) => Bytes::from_owner(Placed { body, _room: room }),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn d9_slow_receivers_leave_room_for_large_payloads_to_others() {
        let large = LargePayloads::default();
        let mut taken = Vec::new();
        while let Some(room) = large.room(4 * 1024 * 1024, true).now_or_never() {
            taken.push(room);
        }
        assert_eq!(taken.len(), 7, "eight of four MiB and a little are more than half");
        let other = large.room(4 * 1024 * 1024, false).now_or_never();
        assert!(other.is_some());
        assert!(large.room(usize::MAX, false).now_or_never().is_none(), "it waits until it is alone");
    }

    #[test]
    fn d9_a_body_gives_its_room_back_when_it_is_dropped() {
        let large = LargePayloads::default();
        let room = large.room(usize::MAX, false).now_or_never().flatten();
        let body = in_room(b"large".to_vec(), room);
        assert!(large.room(1, false).now_or_never().is_none());
        let handed_on = body.clone();
        drop(body);
        assert_eq!(handed_on, b"large".as_slice());
        assert!(large.room(1, false).now_or_never().is_none());
        drop(handed_on);
        assert!(large.room(1, false).now_or_never().is_some());
    }
}
