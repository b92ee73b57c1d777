//! Streams, read: their ids, their contents, and the contents of items that are named one by one.

use axum::{
    Json,
    http::header,
    response::{IntoResponse, Response},
};
use domain::entry::{EntryIdPage, PAGE_IDS_MAX};
use futures_util::{StreamExt, stream};
use serde::Serialize;

use super::{
    contents::{Contents, Form, Source},
    ids::parse_ids,
    item::Origins,
    refusal::{Answer, Refusal},
    request::{Call, Params},
    stream::{Stream, state_id},
};
use crate::answer::in_pieces;

/// Items on a page, unless asked otherwise.
const ITEMS_DEFAULT: u32 = 20;
/// Items on a page of contents: Readrops asks for 2,500 and not for the rest.
const ITEMS_MAX: u32 = 10_000;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemRefs {
    item_refs: Vec<ItemRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continuation: Option<String>,
}

#[derive(Debug, Serialize)]
struct ItemRef {
    /// A decimal number.
    id: String,
}

/// The ids of a stream. No texts are read for them.
pub(super) async fn ids(call: &Call) -> Answer {
    let stream = asked_stream(call, None)?;
    let (limit, after) = (limit(&call.params, PAGE_IDS_MAX), call.continuation()?);
    let page = match call.filter(&stream).await? {
        Some(filter) => call.state.store().entry_ids(call.actor.account, &filter, limit, after).await?,
        None => EntryIdPage { ids: Vec::new(), next_cursor: None },
    };
    let item_refs = page.ids.into_iter().map(|id| ItemRef { id: id.to_string() }).collect();
    Ok(Json(ItemRefs { item_refs, continuation: call.encoded(page.next_cursor) }).into_response())
}

/// The contents of a stream, which is named in the path, as `s`, or not at all: then it is the reading list.
pub(super) async fn contents(call: &Call, in_path: Option<&str>) -> Answer {
    let stream = asked_stream(call, in_path)?;
    let id = in_path.or(call.params.first("s")).map_or_else(|| state_id("reading-list"), str::to_owned);
    sent_stream(call, &stream, Form::Json { id }, Origins::of(call).await?).await
}

/// As many entries of a stream as are asked for.
pub(super) async fn sent_stream(call: &Call, stream: &Stream, form: Form, origins: Origins) -> Answer {
    let source = match call.filter(stream).await? {
        Some(filter) => Source::Stream { filter, left: limit(&call.params, ITEMS_MAX) },
        None => Source::Nothing,
    };
    sent(Contents::new(call, form, source, call.continuation()?, origins)).await
}

/// The contents of named items: all of them, because nothing in this interface says how to ask for the rest.
pub(super) async fn items(call: &Call) -> Answer {
    let ids = parse_ids(call.params.all("i"))?;
    let source = if ids.is_empty() { Source::Nothing } else { Source::Named(ids) };
    let form = Form::Json { id: state_id("reading-list") };
    sent(Contents::new(call, form, source, None, Origins::of(call).await?)).await
}

/// Sends contents piece by piece. The first is made before anything is said, so that what fails at once says so.
async fn sent(contents: Contents) -> Answer {
    let content_type = contents.content_type();
    let Some((first, rest)) = contents.next().await else { return Err(Refusal::NotFound) };
    let pieces = stream::iter([Ok(first?)]).chain(stream::unfold(rest, Contents::next));
    let response: Response = ([(header::CONTENT_TYPE, content_type)], in_pieces(pieces)).into_response();
    Ok(response)
}

/// How many items a page is to have: what is asked for, but no more than there may be.
fn limit(params: &Params, most: u32) -> u32 {
    params.first("n").and_then(|text| text.parse().ok()).unwrap_or(ITEMS_DEFAULT).clamp(1, most)
}

fn asked_stream(call: &Call, in_path: Option<&str>) -> Result<Stream, Refusal> {
    match in_path.or(call.params.first("s")) {
        None => Ok(Stream::ReadingList),
        Some(text) => Stream::parse(text).ok_or(Refusal::BadRequest),
    }
}
