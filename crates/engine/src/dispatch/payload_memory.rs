//! Memory for large payloads.
//!
//! Those that are too large to come with their claims are fetched when they are sent, and so many bytes of them are in
//! memory at once. A payload takes its memory until it has been handed to the network, and no longer: a receiver that reads
//! it and does not answer keeps nobody waiting. Receivers that are known to be slow have half of the memory.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// In KiB, for those that are slow and for the others each.
const HALF_KIB: u32 = 32 * 1024;

/// Memory that a payload takes.
pub(super) type MemoryPermit = OwnedSemaphorePermit;

#[derive(Debug)]
pub(super) struct PayloadMemory {
    quick: Arc<Semaphore>,
    slow: Arc<Semaphore>,
}

impl Default for PayloadMemory {
    fn default() -> Self {
        let half = || Arc::new(Semaphore::new(HALF_KIB as usize));
        Self { quick: half(), slow: half() }
    }
}

impl PayloadMemory {
    /// Waits for memory for so many bytes. What is larger than a half has that to itself.
    pub(super) async fn reserve(&self, bytes: usize, is_slow: bool) -> Option<MemoryPermit> {
        let kib = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX).min(HALF_KIB);
        let half = if is_slow { &self.slow } else { &self.quick };
        // Never closed.
        Arc::clone(half).acquire_many_owned(kib).await.ok()
    }
}

/// A body, and the memory that it takes for as long as it is there.
struct PermittedBody {
    body: Vec<u8>,
    _permit: MemoryPermit,
}

impl AsRef<[u8]> for PermittedBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// The body, which frees its memory when nobody has it any more.
pub(super) fn with_permit(body: Vec<u8>, permit: Option<MemoryPermit>) -> Bytes {
    match permit {
        None => body.into(),
        Some(permit) => Bytes::from_owner(PermittedBody { body, _permit: permit }),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn d9_slow_receivers_share_half_the_memory() {
        let memory = PayloadMemory::default();
        let mut taken = Vec::new();
        while let Some(permit) = memory.reserve(4 * 1024 * 1024, true).now_or_never() {
            taken.push(permit);
        }
        assert_eq!(taken.len(), 7, "eight of four MiB and a little are more than half");
        let other = memory.reserve(4 * 1024 * 1024, false).now_or_never();
        assert!(other.is_some());
        assert!(memory.reserve(usize::MAX, false).now_or_never().is_none(), "it waits until it is alone");
    }

    #[test]
    fn d9_dropped_body_frees_its_memory() {
        let memory = PayloadMemory::default();
        let permit = memory.reserve(usize::MAX, false).now_or_never().flatten();
        let body = with_permit(b"large".to_vec(), permit);
        assert!(memory.reserve(1, false).now_or_never().is_none());
        let handed_on = body.clone();
        drop(body);
        assert_eq!(handed_on, b"large".as_slice());
        assert!(memory.reserve(1, false).now_or_never().is_none());
        drop(handed_on);
        assert!(memory.reserve(1, false).now_or_never().is_some());
    }
}
