//! Work that outlives the request that began it.

use tracing::Instrument;

use crate::error::{ApiError, ApiResult};

/// Runs something to its end, also if the client goes away or its time is up: half a refresh would leave feeds claimed
/// until their leases run out.
pub(crate) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> ApiResult<T> {
    tokio::spawn(work.instrument(tracing::Span::current()))
        .await
        .map_err(|error| ApiError::Internal(format!("a task did not end well: {error}")))
}
