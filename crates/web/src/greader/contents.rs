//! The contents of many items, in one answer: of a stream as many as are asked for, or all that are named, which may be ten
//! thousand. Some clients stop at a page that is not full, so none is cut short where its texts are long. It is written
//! piece by piece instead: each is a page of the store's, read when the one before it was sent.

use bytes::Bytes;
use domain::{AccountId, Cursor, EntryFilter, EntryId, EntryPage};

use super::{item::Origins, request::Call};
use crate::{
    error::{ApiError, ApiResult},
    state::AppState,
};

/// Items that are read at once.
const ITEMS_AT_ONCE: usize = 500;

#[derive(Debug)]
pub(super) enum Source {
    /// So many of a stream.
    Stream {
        filter: EntryFilter,
        left: u32,
    },
    Named(Vec<EntryId>),
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    /// The head is written, and no item yet.
    FirstItem,
    /// An item is written, so a comma comes before the next.
    NextItem,
    End,
}

/// What is left to be written.
#[derive(Debug)]
pub(super) struct Contents {
    state: AppState,
    account: AccountId,
    id: String,
    origins: Origins,
    source: Source,
    after: Option<Cursor>,
    part: Part,
}

impl Contents {
    pub(super) fn new(call: &Call, id: String, source: Source, after: Option<Cursor>, origins: Origins) -> Self {
        let (state, account) = (call.state.clone(), call.actor.account);
        Self { state, account, id, origins, source, after, part: Part::Head }
    }

    /// The next piece, and what is left after it.
    pub(super) async fn next(mut self) -> Option<(ApiResult<Bytes>, Self)> {
        if self.part == Part::End {
            return None;
        }
        let budget = self.state.answers.clone();
        let piece = budget.piece(self.write()).await;
        if piece.is_err() {
            self.part = Part::End;
        }
        Some((piece, self))
    }

    async fn write(&mut self) -> ApiResult<Vec<u8>> {
        let page = self.page().await?;
        let mut text = Vec::new();
        if self.part == Part::Head {
            text.extend_from_slice(self.head()?.as_bytes());
            self.part = Part::FirstItem;
        }
        for entry in page.entries {
            if std::mem::replace(&mut self.part, Part::NextItem) == Part::NextItem {
                text.push(b',');
            }
            let written = serde_json::to_writer(&mut text, &self.origins.item(entry));
            written.map_err(|error| ApiError::Internal(format!("an item was not written: {error}")))?;
        }
        if self.is_whole() {
            self.part = Part::End;
            text.extend_from_slice(self.end().as_bytes());
        }
        Ok(text)
    }

    fn head(&self) -> ApiResult<String> {
        let id = serde_json::to_string(&self.id);
        let id = id.map_err(|error| ApiError::Internal(format!("an id was not written: {error}")))?;
        let now = self.state.engine.now().as_second();
        Ok(format!(r#"{{"direction":"ltr","id":{id},"title":"","updated":{now},"items":["#))
    }

    /// With where to go on, unless this is the last page.
    fn end(&self) -> String {
        match (&self.source, self.after) {
            (Source::Stream { .. }, Some(after)) => {
                format!(r#"],"continuation":"{}"}}"#, after.encode(self.state.store().installation()))
            }
            _ => "]}".to_owned(),
        }
    }

    fn is_whole(&self) -> bool {
        match &self.source {
            Source::Stream { left, .. } => *left == 0 || self.after.is_none(),
            Source::Named(ids) => ids.is_empty(),
            Source::Nothing => true,
        }
    }

    /// The next page of what is left.
    async fn page(&mut self) -> ApiResult<EntryPage> {
        let store = self.state.store();
        let page = match &mut self.source {
            Source::Nothing => EntryPage { entries: Vec::new(), next_cursor: None },
            Source::Stream { filter, left } => {
                let some = (*left).min(to_u32(ITEMS_AT_ONCE));
                let page = store.entries(self.account, filter, some, self.after).await?;
                *left = left.saturating_sub(to_u32(page.entries.len()));
                page
            }
            Source::Named(ids) => {
                let some = ids.len().min(ITEMS_AT_ONCE);
                let filter = EntryFilter { ids: ids.get(..some).map(<[EntryId]>::to_vec), ..EntryFilter::default() };
                let page = store.entries(self.account, &filter, to_u32(some), self.after).await?;
                if page.next_cursor.is_none() {
                    ids.drain(..some);
                }
                page
            }
        };
        self.after = page.next_cursor;
        Ok(page)
    }
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
