//! The memory for documents that have been asked for: all that are being read, or wait to be worked on, share it. Many
//! polls may wait for slow servers at once; without this each could hold a document of the largest size.
//!
//! Where there is none left, a document that has been arriving for long is given up for others, the largest first: a
//! server that sends most of one and then dawdles takes the memory of nobody else.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::ports::HttpError;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// Bytes of all documents together, in pieces of so many.
const BYTES_MAX: usize = 256 * 1024 * 1024;
const PIECE_BYTES: usize = 16 * 1024;

/// What has been arriving for so long may be given up.
const LATE_AFTER: Duration = Duration::from_secs(8);

/// How often it is looked for such a document where memory is short.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long a document waits for memory: until others that began just before it are late. Then it is not read, which is
/// not its fault.
const WAIT_MAX: Duration = Duration::from_secs(12);

#[derive(Debug)]
pub(super) struct BodyMemory {
    pieces: Arc<Semaphore>,
    late_after: Duration,
    arriving: Mutex<Arriving>,
}

/// The documents that are being read.
#[derive(Debug, Default)]
struct Arriving {
    last: u64,
    documents: HashMap<u64, Arrival>,
}

#[derive(Debug)]
struct Arrival {
    since: Instant,
    pieces: usize,
    given_up: CancellationToken,
}

/// What one document has of the memory, until this is dropped.
#[derive(Debug, Default)]
pub(super) struct BodyPermit(Option<OwnedSemaphorePermit>);

/// A document while it is being read.
#[derive(Debug)]
pub(super) struct ArrivingBody<'m> {
    memory: &'m BodyMemory,
    number: u64,
    given_up: CancellationToken,
}

impl Default for BodyMemory {
    fn default() -> Self {
        Self::new(BYTES_MAX / PIECE_BYTES, LATE_AFTER)
    }
}

impl BodyMemory {
    fn new(pieces: usize, late_after: Duration) -> Self {
        Self { pieces: Arc::new(Semaphore::new(pieces)), late_after, arriving: Mutex::default() }
    }

    /// A document begins to arrive.
    pub(super) fn begin(&self) -> ArrivingBody<'_> {
        let given_up = CancellationToken::new();
        let mut arriving = self.arriving();
        arriving.last += 1;
        let number = arriving.last;
        let arrival = Arrival { since: Instant::now(), pieces: 0, given_up: given_up.clone() };
        arriving.documents.insert(number, arrival);
        ArrivingBody { memory: self, number, given_up }
    }

    /// Gives up the largest document that is late, unless one was given up that has its memory still.
    fn give_up_one(&self) {
        let arriving = self.arriving();
        let documents = || arriving.documents.values();
        if documents().any(|arrival| arrival.given_up.is_cancelled()) {
            return;
        }
        let late = documents().filter(|arrival| arrival.pieces > 0 && arrival.since.elapsed() >= self.late_after);
        if let Some(largest) = late.max_by_key(|arrival| arrival.pieces) {
            largest.given_up.cancel();
        }
    }

    fn arriving(&self) -> MutexGuard<'_, Arriving> {
        self.arriving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ArrivingBody<'_> {
    /// Returns when it is given up for others.
    pub(super) async fn given_up(&self) {
        self.given_up.cancelled().await;
    }

    /// Makes sure that there is memory for so many bytes in all.
    pub(super) async fn grow(&self, permit: &mut BodyPermit, bytes: usize) -> Result<(), HttpError> {
        let has = permit.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let pieces = bytes.div_ceil(PIECE_BYTES);
        if pieces <= has {
            return Ok(());
        }
        let more = self.take(pieces - has).await.ok_or(HttpError::NoMemory)?;
        match &mut permit.0 {
            Some(has) => has.merge(more),
            none => *none = Some(more),
        }
        if let Some(arrival) = self.memory.arriving().documents.get_mut(&self.number) {
            arrival.pieces = pieces;
        }
        Ok(())
    }

    async fn take(&self, pieces: usize) -> Option<OwnedSemaphorePermit> {
        let (pieces, free) = (u32::try_from(pieces).ok()?, &self.memory.pieces);
        if let Ok(taken) = Arc::clone(free).try_acquire_many_owned(pieces) {
            return Some(taken);
        }
        let mut taken = pin!(tokio::time::timeout(WAIT_MAX, Arc::clone(free).acquire_many_owned(pieces)));
        loop {
            self.memory.give_up_one();
            tokio::select! {
                biased;
                taken = &mut taken => return taken.ok()?.ok(),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }
}

impl Drop for ArrivingBody<'_> {
    fn drop(&mut self) {
        self.memory.arriving().documents.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn u8_bodies_share_bounded_memory() {
        let memory = BodyMemory::new(4, LATE_AFTER);
        let (body, mut one) = (memory.begin(), BodyPermit::default());
        for bytes in [1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            body.grow(&mut one, bytes).await.unwrap();
            assert_eq!(memory.pieces.available_permits(), 4 - bytes.div_ceil(PIECE_BYTES));
        }
        let (other_body, mut other) = (memory.begin(), BodyPermit::default());
        assert!(other_body.grow(&mut other, 2 * PIECE_BYTES).now_or_never().is_none(), "it waits");
        assert!(body.given_up().now_or_never().is_none(), "nothing is late");
        drop(one);
        other_body.grow(&mut other, 4 * PIECE_BYTES).await.unwrap();
    }

    #[tokio::test]
    async fn f4_u8_largest_late_document_makes_room() {
        let memory = BodyMemory::new(6, Duration::ZERO);
        let bodies = [memory.begin(), memory.begin(), memory.begin()];
        let mut permits = [BodyPermit::default(), BodyPermit::default(), BodyPermit::default()];
        for ((body, permit), pieces) in bodies.iter().zip(&mut permits).zip([2, 3, 1]) {
            body.grow(permit, pieces * PIECE_BYTES).await.unwrap();
        }
        let [small, large, smallest] = permits;
        let are_given_up = || bodies.each_ref().map(|body| body.given_up().now_or_never().is_some());
        let (next, mut more) = (memory.begin(), BodyPermit::default());
        let given_up = {
            let mut growing = pin!(next.grow(&mut more, PIECE_BYTES));
            assert!(futures_util::poll!(&mut growing).is_pending());
            let given_up = are_given_up();
            drop(large);
            growing.await.unwrap();
            given_up
        };
        assert_eq!(given_up, [false, true, false]);
        // What was read whole is not given up any more.
        drop(bodies);
        assert!(next.grow(&mut more, 4 * PIECE_BYTES).now_or_never().is_none());
        drop((small, smallest));
    }
}
