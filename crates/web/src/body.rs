//! Reading what a client sends, up to a size and within a time.

use std::{sync::Arc, time::Duration};

use axum::body::{Body, BodyDataStream, HttpBody};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{ApiError, ApiResult};

/// Of a body that is refused, so much is read and thrown away: a client that is still sending when the connection
/// closes never sees why.
const DRAIN_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// And for so long.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);

/// Bytes that are counted as one: a semaphore has not as many permits as there may be bytes.
const UNIT_BYTES: usize = 1024;

/// Room for the large bodies of all requests together. A client that sends nothing takes none of it.
#[derive(Debug, Clone)]
pub(crate) struct Room(Arc<Semaphore>);

/// What a body takes of it, until this is dropped.
pub(crate) type Taken = Option<OwnedSemaphorePermit>;

impl Room {
    /// Room for so many bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Semaphore::new((bytes_max / UNIT_BYTES).min(Semaphore::MAX_PERMITS))))
    }

    /// Takes what a body needs more than before.
    fn take(&self, taken: &mut Taken, bytes_before: usize, bytes_now: usize) -> ApiResult<()> {
        let more = bytes_now.div_ceil(UNIT_BYTES) - bytes_before.div_ceil(UNIT_BYTES);
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let more = Arc::clone(&self.0).try_acquire_many_owned(more);
        let more = more.map_err(|_| ApiError::Unavailable("too much is being sent at once; try again later"))?;
        match taken {
            Some(taken) => taken.merge(more),
            None => *taken = Some(more),
        }
        Ok(())
    }
}

/// The whole body, if it is not larger than this and comes within this time.
pub(crate) async fn read(body: Body, bytes_max: usize, time_max: Duration) -> ApiResult<Bytes> {
    let read = read_within(body, bytes_max, time_max, None).await;
    read.map(|(bytes, _)| bytes)
}

/// The same, if there is room for it.
pub(crate) async fn read_into(
    room: &Room,
    body: Body,
    bytes_max: usize,
    time_max: Duration,
) -> ApiResult<(Bytes, Taken)> {
    read_within(body, bytes_max, time_max, Some(room)).await
}

async fn read_within(
    body: Body,
    bytes_max: usize,
    time_max: Duration,
    room: Option<&Room>,
) -> ApiResult<(Bytes, Taken)> {
    let in_time = tokio::time::timeout(time_max, collect(body, bytes_max, room)).await;
    in_time.unwrap_or(Err(ApiError::Slow(time_max)))
}

async fn collect(body: Body, bytes_max: usize, room: Option<&Room>) -> ApiResult<(Bytes, Taken)> {
    let announced = body.size_hint().lower();
    let mut stream = body.into_data_stream();
    if announced > bytes_max as u64 {
        return Err(refuse(stream, announced, ApiError::TooLarge(bytes_max)).await);
    }
    let (mut bytes, mut taken) = (BytesMut::new(), None);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| ApiError::BadRequest("the body broke off".to_owned()))?;
        let length = bytes.len() + chunk.len();
        if length > bytes_max {
            return Err(refuse(stream, 0, ApiError::TooLarge(bytes_max)).await);
        }
        if let Some(room) = room
            && let Err(full) = room.take(&mut taken, bytes.len(), length)
        {
            return Err(refuse(stream, 0, full).await);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((bytes.freeze(), taken))
}

async fn refuse(stream: BodyDataStream, announced: u64, why: ApiError) -> ApiError {
    if announced <= DRAIN_BYTES_MAX {
        // Whether it ends in time or not, the answer is the same.
        let _ = tokio::time::timeout(DRAIN_TIME_MAX, drain(stream)).await;
    }
    why
}

async fn drain(mut stream: BodyDataStream) {
    let mut left = DRAIN_BYTES_MAX;
    while let Some(Ok(chunk)) = stream.next().await {
        left = left.saturating_sub(chunk.len() as u64);
        if left == 0 {
            return;
        }
    }
}
