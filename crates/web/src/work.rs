//! Work that outlives the request that began it.

use tracing::Instrument;

use crate::error::{ApiError, ApiResult};

/// Runs something to its end, also if the client goes away or its time is up: half a refresh would leave feeds claimed
/// until their leases run out.
///
/// It begins at once, so that the caller holds no more than its handle: the futures around it are copied for every request.
pub(crate) fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> impl Future<Output = ApiResult<T>> + Send {
    let task = tokio::spawn(work.instrument(tracing::Span::current()));
    async move { task.await.map_err(|error| ApiError::Internal(format!("a task did not end well: {error}"))) }
}
