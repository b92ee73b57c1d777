//! The contents of many items, in one answer: of a stream as many as are asked for, or all that are named, which may be ten
//! thousand. Some clients stop at a page that is not full, so none is cut short where its texts are long. It is written
//! piece by piece instead: each is a page of the store's, read when the one before it was sent.

use bytes::Bytes;
use domain::{AccountId, Cursor, EntryFilter, EntryId, EntryPage};

use super::{atom, item::Origins, request::Call};
use crate::{
    error::{ApiError, ApiResult},
    state::AppState,
};

/// Items that are read at once.
const ITEMS_AT_ONCE: usize = 500;

/// How items are written.
#[derive(Debug)]
pub(super) enum Form {
    /// The id of the stream.
    Json { id: String },
    /// The stream as it was asked for, and what it is called.
    Atom { named: String, title: String },
}

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
    form: Form,
    origins: Origins,
    source: Source,
    after: Option<Cursor>,
    part: Part,
}

impl Contents {
    pub(super) fn new(call: &Call, form: Form, source: Source, after: Option<Cursor>, origins: Origins) -> Self {
        let (state, account) = (call.state.clone(), call.actor.account);
        Self { state, account, form, origins, source, after, part: Part::Head }
    }

    pub(super) fn content_type(&self) -> &'static str {
        match self.form {
            Form::Json { .. } => "application/json",
            Form::Atom { .. } => "application/atom+xml; charset=utf-8",
        }
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
            let is_first = std::mem::replace(&mut self.part, Part::NextItem) == Part::FirstItem;
            if matches!(self.form, Form::Atom { .. }) {
                text.extend_from_slice(atom::entry(&entry, &self.origins).as_bytes());
                continue;
            }
            if !is_first {
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
        let now = self.state.engine.now();
        let id = match &self.form {
            Form::Json { id } => serde_json::to_string(id),
            Form::Atom { named, title } => return Ok(atom::head(named, title, now)),
        };
        let id = id.map_err(|error| ApiError::Internal(format!("an id was not written: {error}")))?;
        Ok(format!(r#"{{"direction":"ltr","id":{id},"title":"","updated":{},"items":["#, now.as_second()))
    }

    /// With where to go on, unless this is the last page; Atom has no place for it.
    fn end(&self) -> String {
        match (&self.form, &self.source, self.after) {
            (Form::Atom { .. }, ..) => atom::END.to_owned(),
            (_, Source::Stream { .. }, Some(after)) => {
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
