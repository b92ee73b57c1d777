//! Work that outlives the request that began it.

use std::sync::Arc;

use domain::{
    AccountId, EntryFilter, EntryId, EntryPatch,
    entry::{ENTRY_IDS_MAX, PAGE_IDS_MAX, Since},
    ports::{MarkRead, Store, StoreError},
};
use jiff::Timestamp;
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

/// Marks many entries, in as many transactions as it takes. To the end, also if the client goes away: half of them marked
/// would be neither.
pub(crate) async fn patch_to_the_end(
    store: Arc<dyn Store>,
    account: AccountId,
    ids: Vec<EntryId>,
    patch: EntryPatch,
) -> ApiResult<()> {
    let patched = run_to_completion(async move {
        for some in ids.chunks(ENTRY_IDS_MAX) {
            store.patch_entries(account, some, patch).await?;
        }
        Ok::<_, StoreError>(())
    });
    Ok(patched.await??)
}

/// Marks as read what is starred of those.
pub(crate) async fn mark_starred_read(store: Arc<dyn Store>, account: AccountId, which: MarkRead) -> ApiResult<()> {
    let MarkRead { feed_id, folder_id, before: until } = which;
    let (is, since) = (Some(true), Some(Since::Received(Timestamp::MIN)));
    let filter = EntryFilter { feed_id, folder_id, starred: is, unread: is, since, until, ..EntryFilter::default() };
    let mut after = None;
    loop {
        let page = store.entry_ids(account, &filter, PAGE_IDS_MAX, after).await?;
        let patch = EntryPatch { is_read: Some(true), is_starred: None };
        patch_to_the_end(store.clone(), account, page.ids, patch).await?;
        after = page.next_cursor;
        if after.is_none() {
            return Ok(());
        }
    }
}
