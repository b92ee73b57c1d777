//! The memory for documents that have been asked for: all that are being read, or wait to be worked on, share it. Many
//! polls may wait for slow servers at once; without this each could hold a document of the largest size.

use std::{sync::Arc, time::Duration};

use domain::ports::HttpError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of all documents together, in pieces of so many.
const BYTES_MAX: usize = 256 * 1024 * 1024;
const PIECE_BYTES: usize = 16 * 1024;

/// How long a document waits for memory. After that it is given up, which is not its fault.
const WAIT_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct BodyMemory {
    pieces: Arc<Semaphore>,
}

impl Default for BodyMemory {
    fn default() -> Self {
        Self { pieces: Arc::new(Semaphore::new(BYTES_MAX / PIECE_BYTES)) }
    }
}

/// What one document has of it, until this is dropped.
#[derive(Debug, Default)]
pub(super) struct BodyPermit(Option<OwnedSemaphorePermit>);

impl BodyPermit {
    /// Makes sure that there is memory for so many bytes in all.
    pub(super) async fn grow(&mut self, memory: &BodyMemory, bytes: usize) -> Result<(), HttpError> {
        let has = self.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = bytes.div_ceil(PIECE_BYTES).saturating_sub(has);
        if more == 0 {
            return Ok(());
        }
        let full = || HttpError::Exhausted("the memory for documents is full".to_owned());
        let more = u32::try_from(more).map_err(|_| full())?;
        let wait = tokio::time::timeout(WAIT_MAX, Arc::clone(&memory.pieces).acquire_many_owned(more));
        let Ok(Ok(more)) = wait.await else { return Err(full()) };
        match &mut self.0 {
            Some(has) => has.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn u8_bodies_share_bounded_memory() {
        let memory = BodyMemory { pieces: Arc::new(Semaphore::new(4)) };
        let mut one = BodyPermit::default();
        for bytes in [1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            one.grow(&memory, bytes).await.unwrap();
            assert_eq!(memory.pieces.available_permits(), 4 - bytes.div_ceil(PIECE_BYTES));
        }
        let mut other = BodyPermit::default();
        let too_much = 2 * PIECE_BYTES;
        assert!(futures_util::FutureExt::now_or_never(other.grow(&memory, too_much)).is_none(), "it waits");
        drop(one);
        other.grow(&memory, 4 * PIECE_BYTES).await.unwrap();
    }
}
