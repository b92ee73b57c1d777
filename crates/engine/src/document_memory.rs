//! The memory for documents on their way from the body to the store. Parsed, sanitised and made ready for the store, one
//! takes many times its size; two cores work on few at once, and the others wait here as the bytes they came in.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of documents that are worked on at once, counted as they came, in pieces of so many. A larger one is worked on
/// alone.
const BYTES_MAX: usize = 1024 * 1024;
const PIECE_BYTES: usize = 1024;

#[derive(Debug)]
pub(crate) struct DocumentMemory {
    pieces: Arc<Semaphore>,
}

/// What one document has of it, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct DocumentPermit(#[expect(dead_code, reason = "it is held, not read")] Option<OwnedSemaphorePermit>);

impl Default for DocumentMemory {
    fn default() -> Self {
        Self { pieces: Arc::new(Semaphore::new(BYTES_MAX / PIECE_BYTES)) }
    }
}

impl DocumentMemory {
    /// Waits for memory for a document of so many bytes. Those that have memory wait for nobody here, so it comes.
    pub(crate) async fn reserve(&self, bytes: usize) -> DocumentPermit {
        let pieces = u32::try_from(bytes.min(BYTES_MAX).div_ceil(PIECE_BYTES)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.pieces).acquire_many_owned(pieces).await;
        DocumentPermit(Some(permit.expect("the semaphore is never closed")))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn u8_document_memory_is_bounded() {
        let memory = DocumentMemory::default();
        let largest = memory.reserve(usize::MAX).await;
        assert!(memory.reserve(1).now_or_never().is_none());
        drop(largest);
        let half = memory.reserve(BYTES_MAX / 2).await;
        assert!(memory.reserve(BYTES_MAX / 2 + 1).now_or_never().is_none());
        let _other = memory.reserve(BYTES_MAX / 2).await;
        drop(half);
        memory.reserve(BYTES_MAX / 2).await;
    }
}
