//! Reading what a client sends, up to a limit.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use crate::error::{ApiError, ApiResult};

/// Of a body that is too large, so much is read and thrown away: a client that is still sending when the connection
/// closes never sees why.
const DRAIN_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// And for so long.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);

/// The whole body, if it is not larger than this.
pub(crate) async fn read(body: Body, bytes_max: usize) -> ApiResult<Bytes> {
    let announced = body.size_hint().lower();
    let mut stream = body.into_data_stream();
    if announced > bytes_max as u64 {
        return refuse(stream, announced, bytes_max).await;
    }
    let mut bytes = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| ApiError::BadRequest("the body broke off".to_owned()))?;
        if bytes.len() + chunk.len() > bytes_max {
            return refuse(stream, 0, bytes_max).await;
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

async fn refuse(stream: BodyDataStream, announced: u64, bytes_max: usize) -> ApiResult<Bytes> {
    if announced <= DRAIN_BYTES_MAX {
        // Whether it ends in time or not, the answer is the same.
        let _ = tokio::time::timeout(DRAIN_TIME_MAX, drain(stream)).await;
    }
    Err(ApiError::TooLarge(bytes_max))
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
