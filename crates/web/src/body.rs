//! Reading what a client sends, up to a size and within a time; and what is left of a body that was refused.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    BoxError,
    body::{Body, BodyDataStream, HttpBody},
    http::{HeaderMap, StatusCode, header},
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http_body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    error::{ApiError, ApiResult},
    idle::Connection,
};

/// Bytes that are counted as one: a semaphore has not as many permits as there may be bytes.
const UNIT_BYTES: usize = 1024;

/// Memory for the large bodies of all requests together. A client that sends nothing takes none of it.
#[derive(Debug, Clone)]
pub(crate) struct MemoryBudget(Arc<Semaphore>);

/// What a body takes of it, until this is dropped.
pub(crate) type MemoryPermit = Option<OwnedSemaphorePermit>;

impl MemoryBudget {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Semaphore::new((bytes_max / UNIT_BYTES).min(Semaphore::MAX_PERMITS))))
    }

    /// Takes what a body needs more than before.
    fn take(&self, permit: &mut MemoryPermit, bytes_before: usize, bytes_now: usize) -> ApiResult<()> {
        let more = bytes_now.div_ceil(UNIT_BYTES) - bytes_before.div_ceil(UNIT_BYTES);
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let more = Arc::clone(&self.0).try_acquire_many_owned(more);
        let more = more.map_err(|_| ApiError::Unavailable("too much is being sent at once; try again later"))?;
        match permit {
            Some(permit) => permit.merge(more),
            None => *permit = Some(more),
        }
        Ok(())
    }
}

/// The whole body, if it is not larger than this and comes within this time.
pub(crate) async fn read(body: Body, bytes_max: usize, time_max: Duration) -> ApiResult<Bytes> {
    let read = read_within(body, bytes_max, time_max, None).await;
    read.map(|(bytes, _)| bytes)
}

/// The same, if there is memory for it.
pub(crate) async fn read_within_budget(
    memory: &MemoryBudget,
    body: Body,
    bytes_max: usize,
    time_max: Duration,
) -> ApiResult<(Bytes, MemoryPermit)> {
    read_within(body, bytes_max, time_max, Some(memory)).await
}

async fn read_within(
    body: Body,
    bytes_max: usize,
    time_max: Duration,
    memory: Option<&MemoryBudget>,
) -> ApiResult<(Bytes, MemoryPermit)> {
    let in_time = tokio::time::timeout(time_max, collect(body, bytes_max, memory)).await;
    in_time.unwrap_or(Err(ApiError::BodyTimeout(time_max)))
}

async fn collect(body: Body, bytes_max: usize, memory: Option<&MemoryBudget>) -> ApiResult<(Bytes, MemoryPermit)> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(ApiError::TooLarge(bytes_max));
    }
    let mut stream = body.into_data_stream();
    let (mut bytes, mut permit) = (BytesMut::new(), None);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| ApiError::BadRequest("the body broke off".to_owned()))?;
        let length = bytes.len() + chunk.len();
        if length > bytes_max {
            return Err(ApiError::TooLarge(bytes_max));
        }
        if let Some(memory) = memory {
            memory.take(&mut permit, bytes.len(), length)?;
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((bytes.freeze(), permit))
}

/// A request's body that can still be reached when its route has dropped it, to read what is left. While it is waited
/// for, its connection waits for its client.
#[derive(Debug, Clone)]
pub(crate) struct SharedBody {
    read: Arc<Mutex<Read>>,
    connection: Arc<Connection>,
}

#[derive(Debug)]
struct Read {
    body: Body,
    /// Whether its client was asked for anything of it.
    is_begun: bool,
}

impl SharedBody {
    pub(crate) fn new(body: Body, connection: Arc<Connection>) -> Self {
        Self { read: Arc::new(Mutex::new(Read { body, is_begun: false })), connection }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Read) -> T) -> T {
        // A panic while it is polled leaves a body that is no worse than before.
        act(&mut self.read.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads and throws away what is left of a body that was refused, so that its client gets to read why: a client that is
    /// still sending when the connection closes never sees that. No more than so many bytes, and no longer than this.
    pub(crate) async fn drain_if_refused(
        self,
        expects_continue: bool,
        status: StatusCode,
        bytes_max: u64,
        time_max: Duration,
    ) {
        let is_refused = status.is_client_error() || status.is_server_error();
        // Who was too slow once is not waited for again.
        if !is_refused || status == StatusCode::REQUEST_TIMEOUT || self.is_end_stream() {
            return;
        }
        // Who waits to be asked for the body is answered at once, and need not send it.
        let is_begun = self.with(|read| read.is_begun);
        if (is_begun || !expects_continue) && self.size_hint().lower() <= bytes_max {
            // Whether it ends in time or not, the answer is the same.
            let stream = Body::new(self).into_data_stream();
            let _ = tokio::time::timeout(time_max, drain(stream, bytes_max)).await;
        }
    }
}

/// Whether a client waits to be told that it may send its body.
pub(crate) fn expects_continue(headers: &HeaderMap) -> bool {
    headers.get(header::EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

async fn drain(mut stream: BodyDataStream, bytes_max: u64) {
    let mut left = bytes_max;
    while let Some(Ok(chunk)) = stream.next().await {
        left = left.saturating_sub(chunk.len() as u64);
        if left == 0 {
            return;
        }
    }
}

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = self.with(|read| {
            read.is_begun = true;
            Pin::new(&mut read.body).poll_frame(context)
        });
        if polled.is_pending() {
            self.connection.set_idle();
        } else {
            self.connection.set_busy();
        }
        polled.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.with(|read| read.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.with(|read| read.body.size_hint())
    }
}
