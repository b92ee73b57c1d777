//! Entries in a given order as JSON, for the interfaces of other readers. Their clients take a page that is shorter than they
//! asked for to be the last, so none is cut where its texts get long: it is read and sent in pieces instead, and takes the
//! memory of one piece, however long it is.

use std::collections::HashMap;

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use domain::{AccountId, Entry, EntryFilter, EntryId};
use futures_util::{StreamExt, stream};
use jiff::Timestamp;

use crate::{
    answer::in_pieces,
    error::{ApiError, ApiResult},
    state::AppState,
};

/// Entries that are read at once.
const GROUP_MAX: usize = 100;

/// How entries are written.
pub(crate) trait EntryShape: Send + Sync + 'static {
    /// Whether it shows when an entry last changed.
    const SHOWS_CHANGE: bool;

    fn write(&self, entry: &Entry, changed_at: Option<Timestamp>, into: &mut Vec<u8>) -> serde_json::Result<()>;
}

/// What is still to be written.
pub(crate) struct EntryStream<S> {
    state: AppState,
    account: AccountId,
    shape: S,
    ids: std::vec::IntoIter<EntryId>,
    /// What stands before the list; taken with the first piece.
    head: Vec<u8>,
    /// What stands after it; taken with the last.
    tail: Option<&'static str>,
    group: usize,
    is_begun: bool,
}

impl<S: EntryShape> EntryStream<S> {
    /// These entries, between `head`, which ends with the bracket of a list, and `tail`. Those that the account has not are
    /// left out.
    pub(crate) fn new(
        state: &AppState,
        account: AccountId,
        ids: Vec<EntryId>,
        shape: S,
        head: String,
        tail: &'static str,
    ) -> Self {
        let (state, ids, head) = (state.clone(), ids.into_iter(), head.into_bytes());
        Self { state, account, shape, ids, head, tail: Some(tail), group: GROUP_MAX, is_begun: false }
    }

    /// The answer. What fails at the first piece is an error of the request; later it breaks the answer off.
    pub(crate) async fn respond(mut self) -> ApiResult<Response> {
        let first = self.piece().await?;
        let json = [(header::CONTENT_TYPE, "application/json")];
        let length = first.len();
        let is_all = self.tail.is_none();
        let rest = stream::unfold(self, |mut entries| async move {
            entries.tail?;
            let piece = entries.piece().await;
            if piece.is_err() {
                entries.tail = None;
            }
            Some((piece, entries))
        });
        let body = in_pieces(stream::once(async { Ok(first) }).chain(rest));
        if is_all {
            return Ok((json, [(header::CONTENT_LENGTH, length)], body).into_response());
        }
        Ok((json, body).into_response())
    }

    async fn piece(&mut self) -> ApiResult<Bytes> {
        let answers = self.state.answers.clone();
        answers.piece(self.write_piece()).await
    }

    async fn write_piece(&mut self) -> ApiResult<Vec<u8>> {
        let mut written = std::mem::take(&mut self.head);
        let (entries, changes) = self.read_group().await?;
        for entry in entries {
            if std::mem::replace(&mut self.is_begun, true) {
                written.push(b',');
            }
            let unwritten = |error| ApiError::Internal(format!("an entry was not written: {error}"));
            self.shape.write(&entry, changes.get(&entry.id).copied(), &mut written).map_err(unwritten)?;
        }
        if self.ids.as_slice().is_empty() {
            written.extend_from_slice(self.tail.take().unwrap_or_default().as_bytes());
        }
        Ok(written)
    }

    /// The next entries in their order: as many as one page of the store has place for.
    async fn read_group(&mut self) -> ApiResult<(Vec<Entry>, HashMap<EntryId, Timestamp>)> {
        loop {
            let ids: Vec<EntryId> = self.ids.as_slice().iter().take(self.group).copied().collect();
            if ids.is_empty() {
                return Ok((Vec::new(), HashMap::new()));
            }
            let filter = EntryFilter { ids: Some(ids.clone()), ..EntryFilter::default() };
            let limit = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            let page = self.state.store().entries(self.account, &filter, limit, None).await?;
            if page.next_cursor.is_some() && ids.len() > 1 {
                // Their texts are too long together: fewer at once.
                self.group = (ids.len() / 4).max(1);
                continue;
            }
            let changes =
                if S::SHOWS_CHANGE { self.state.store().changed_at(self.account, &ids).await? } else { Vec::new() };
            self.ids.by_ref().take(ids.len()).for_each(drop);
            self.group = (self.group * 2).min(GROUP_MAX);
            let mut found: HashMap<EntryId, Entry> = page.entries.into_iter().map(|entry| (entry.id, entry)).collect();
            let entries = ids.iter().filter_map(|id| found.remove(id)).collect();
            return Ok((entries, changes.into_iter().collect()));
        }
    }
}
