//! Answers that may be large. All of them together have one memory budget, and those that find none left wait for it, in
//! turn: for as long as their request may take. Those that may take long to find have a budget of their own.
//!
//! Before anything is read there must be memory for the largest; once an answer is written it keeps what it needs of
//! that, until its last chunk is handed to the connection.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json,
    body::{Body, to_bytes},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use domain::entry::PAGE_TEXT_BYTES_MAX;
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{ApiError, ApiResult};

/// Bytes that the largest answer takes while it is made: its texts as the database sends them, as they are kept, and
/// written down, where quotes and line ends make them longer.
const ANSWER_BYTES_MAX: usize = 4 * PAGE_TEXT_BYTES_MAX;
/// Answers that are smaller take no permit once they are made. There are no more of them than connections.
const SMALL_BYTES: usize = 64 * 1024;
/// Bytes that are handed to the connection at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// Bytes that are counted as one: a semaphore has not as many permits as there may be bytes.
const UNIT_BYTES: usize = 1024;

/// Memory for all answers that may be large.
#[derive(Debug, Clone)]
pub(crate) struct AnswerBudget(Arc<Semaphore>);

impl AnswerBudget {
    /// For so many bytes, and for the largest answer at least.
    pub(crate) fn new(bytes_max: usize) -> Self {
        let units = units(bytes_max.max(ANSWER_BYTES_MAX));
        Self(Arc::new(Semaphore::new(usize::try_from(units).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS))))
    }

    /// Makes an answer in JSON once there is memory for it.
    pub(crate) async fn json<T: Serialize>(&self, make: impl Future<Output = ApiResult<T>>) -> ApiResult<Response> {
        self.answer(async { Ok(Json(make.await?).into_response()) }).await
    }

    /// Makes an answer, whole, once there is memory for it.
    pub(crate) async fn answer(&self, make: impl Future<Output = ApiResult<Response>>) -> ApiResult<Response> {
        let permit = self.permit().await?;
        let (mut parts, body) = make.await?.into_parts();
        let written = to_bytes(body, usize::MAX).await;
        let bytes = written.map_err(|error| ApiError::Internal(format!("an answer was not written: {error}")))?;
        parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        Ok(Response::from_parts(parts, chunked(hold(bytes, permit))))
    }

    /// Makes a piece of an answer that is larger than there is memory for, once there is memory for the piece.
    pub(crate) async fn piece(&self, make: impl Future<Output = ApiResult<Vec<u8>>>) -> ApiResult<Bytes> {
        let permit = self.permit().await?;
        Ok(hold(make.await?.into(), permit))
    }

    async fn permit(&self) -> ApiResult<OwnedSemaphorePermit> {
        // Never closed, so it cannot fail.
        let permit = Arc::clone(&self.0).acquire_many_owned(units(ANSWER_BYTES_MAX)).await;
        permit.map_err(|_| ApiError::Unavailable("the server is stopping"))
    }
}

/// An answer of pieces: each is made when the one before it was handed to the connection. If one fails the answer breaks off,
/// and its client sees that.
pub(crate) fn in_pieces(pieces: impl Stream<Item = ApiResult<Bytes>> + Send + 'static) -> Body {
    Body::from_stream(pieces.flat_map(|piece| match piece {
        Ok(bytes) => stream::iter(chunks(bytes).map(Ok)).left_stream(),
        Err(error) => stream::iter([Err(std::io::Error::other(error.to_string()))]).right_stream(),
    }))
}

/// The same bytes, with the permit for their memory for as long as they are there.
fn hold(bytes: Bytes, mut permit: OwnedSemaphorePermit) -> Bytes {
    let needed = if bytes.len() <= SMALL_BYTES { 0 } else { units(bytes.len()) };
    let needed = usize::try_from(needed).unwrap_or(usize::MAX);
    // A larger one than was thought of keeps all.
    let kept = if needed < permit.num_permits() { permit.split(needed) } else { Some(permit) };
    Bytes::from_owner(HeldBytes { bytes, _permit: kept })
}

struct HeldBytes {
    bytes: Bytes,
    _permit: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Piece by piece, because the connection copies what it is handed, and would have all of it at once.
fn chunked(bytes: Bytes) -> Body {
    Body::from_stream(stream::iter(chunks(bytes).map(Ok::<_, Infallible>)))
}

fn chunks(mut bytes: Bytes) -> impl Iterator<Item = Bytes> + Send {
    std::iter::from_fn(move || {
        let piece = bytes.split_to(bytes.len().min(CHUNK_BYTES));
        (!piece.is_empty()).then_some(piece)
    })
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::{future::ready, pin::pin, task::Poll};

    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn u8_answers_share_one_memory_budget() {
        let budget = AnswerBudget::new(ANSWER_BYTES_MAX + 1024 * 1024);
        let all = budget.0.available_permits();
        let text = "x".repeat(3 * 1024 * 1024);
        let large = budget.json(ready(Ok(&text))).await.unwrap();
        assert_eq!(large.headers()[header::CONTENT_LENGTH], HeaderValue::from(text.len() + 2));
        assert_eq!(all - budget.0.available_permits(), 3 * 1024 + 1);
        // There is no memory for another that may be as large as any, before it is even begun.
        let mut other = pin!(budget.json(async { Ok(&text) }));
        assert!(matches!(poll!(&mut other), Poll::Pending));
        let body = to_bytes(large.into_body(), usize::MAX).await.unwrap();
        assert_eq!(body.len(), text.len() + 2);
        drop(body);
        let other = other.await.unwrap();
        drop(other);
        assert_eq!(budget.0.available_permits(), all, "a client that went away leaves its memory");
    }

    #[tokio::test]
    async fn u8_small_and_failed_answers_hold_no_memory() {
        let budget = AnswerBudget::new(0);
        let all = budget.0.available_permits();
        let small = budget.json(ready(Ok("small"))).await.unwrap();
        assert_eq!(budget.0.available_permits(), all);
        assert_eq!(to_bytes(small.into_body(), 100).await.unwrap(), "\"small\"");
        let failed = budget.json(ready(Err::<(), _>(ApiError::NotFound("entry")))).await;
        assert!(matches!(failed, Err(ApiError::NotFound(_))));
        assert_eq!(budget.0.available_permits(), all);
    }
}
