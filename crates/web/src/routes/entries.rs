//! Entries: paged through, read, starred, counted.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use domain::{
    Cursor, Entry, EntryFilter, EntryId, EntryPage, EntryPatch, FeedId, FolderId,
    entry::{Counts, PAGE_ENTRIES_DEFAULT, search_words},
    ports::MarkRead,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    error::{ApiError, ApiResult, ErrorBody},
    extract::{self, Id},
    query::{CURSOR, Parameters},
    state::AppState,
    time::time,
    work::to_its_end,
};

/// Which entries are wanted.
#[derive(Debug, IntoParams)]
#[into_params(rename_all = "camelCase", parameter_in = Query)]
pub(crate) struct EntriesQuery {
    /// Of this feed.
    feed_id: Option<FeedId>,
    /// Of the feeds in this folder.
    folder_id: Option<FolderId>,
    /// Not read yet (true), or read (false).
    unread: Option<bool>,
    /// Starred (true), or not (false).
    starred: Option<bool>,
    /// Holding all these words.
    q: Option<String>,
    /// Entries on the page.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
    /// Where the page before ended: its `nextCursor`. It holds this installation's key, and is opaque otherwise.
    #[param(value_type = Option<String>, pattern = "^cur_INSTALLATION[0-9a-f]{32}$")]
    cursor: Option<Cursor>,
}

/// A page of entries, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EntryPage)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageView {
    /// The entries.
    entries: Vec<Entry>,
    /// Where the next page begins; null on the last.
    next_cursor: Option<String>,
}

/// Which entries to mark as read. Conditions add up; none means all.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MarkRead)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MarkReadBody {
    /// Only of this feed.
    feed_id: Option<FeedId>,
    /// Only of the feeds in this folder.
    folder_id: Option<FolderId>,
    /// Only those received at this time or before.
    #[schema(format = DateTime)]
    before: Option<String>,
}

/// What was marked as read.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Marked {
    /// Entries that had not been read.
    marked: u64,
}

/// A page of entries, newest first. Following `nextCursor` neither repeats nor skips.
#[utoipa::path(
    get, path = "/api/entries", tag = "entries", operation_id = "listEntries", params(EntriesQuery),
    responses(
        (status = 200, description = "The page; `nextCursor` is null on the last.", body = PageView),
        (status = 400, description = "A parameter is wrong or not known; the sentence names it.", body = ErrorBody),
    )
)]
pub(crate) async fn list(State(state): State<AppState>, query: EntriesQuery) -> ApiResult<Json<PageView>> {
    let q = query.q.as_deref().unwrap_or_default();
    let words = search_words(q);
    if words.is_empty() && !q.trim().is_empty() {
        // Signs alone are in no index: nothing holds them, rather than everything.
        return Ok(Json(PageView { entries: Vec::new(), next_cursor: None }));
    }
    let filter = EntryFilter {
        feed_id: query.feed_id,
        folder_id: query.folder_id,
        unread: query.unread,
        starred: query.starred,
        words,
    };
    let limit = query.limit.unwrap_or(PAGE_ENTRIES_DEFAULT);
    let EntryPage { entries, next_cursor } = state.store().entries(&filter, limit, query.cursor).await?;
    let next_cursor = next_cursor.map(|cursor| cursor.encode(state.store().installation()));
    Ok(Json(PageView { entries, next_cursor }))
}

/// One entry.
#[utoipa::path(
    get, path = "/api/entries/{id}", tag = "entries", operation_id = "getEntry", params(("id" = EntryId, Path)),
    responses(
        (status = 200, description = "The entry.", body = Entry),
        (status = 404, description = "There is no such entry.", body = ErrorBody),
    )
)]
pub(crate) async fn get(State(state): State<AppState>, Id(id): Id<EntryId>) -> ApiResult<Json<Entry>> {
    Ok(Json(state.store().entry(id).await?.ok_or(ApiError::NotFound("entry"))?))
}

/// Marks an entry as read or unread, starred or not.
#[utoipa::path(
    patch, path = "/api/entries/{id}", tag = "entries", operation_id = "patchEntry", params(("id" = EntryId, Path)),
    request_body = EntryPatch,
    responses(
        (status = 200, description = "The entry as it is now.", body = Entry),
        (status = 400, description = "A field is wrong; the sentence names it.", body = ErrorBody),
        (status = 404, description = "There is no such entry.", body = ErrorBody),
    )
)]
pub(crate) async fn patch(
    State(state): State<AppState>,
    Id(id): Id<EntryId>,
    extract::Json(patch): extract::Json<EntryPatch>,
) -> ApiResult<Json<Entry>> {
    Ok(Json(state.store().patch_entry(id, patch).await?.ok_or(ApiError::NotFound("entry"))?))
}

/// Marks entries as read, by the time of their receipt.
#[utoipa::path(
    post, path = "/api/entries/mark-read", tag = "entries", operation_id = "markRead", request_body = MarkReadBody,
    responses(
        (status = 200, description = "How many had not been read.", body = Marked),
        (status = 400, description = "A field is wrong; the sentence names it.", body = ErrorBody),
    )
)]
pub(crate) async fn mark_read(
    State(state): State<AppState>,
    extract::Json(body): extract::Json<MarkReadBody>,
) -> ApiResult<Json<Marked>> {
    let before = body.before.as_deref().map(|before| time("before", before)).transpose()?;
    let which = MarkRead { feed_id: body.feed_id, folder_id: body.folder_id, before };
    let store = state.store().clone();
    let marked = to_its_end(async move { store.mark_read(which).await }).await??;
    Ok(Json(Marked { marked }))
}

/// Unread entries in all, by folder and by feed, and starred ones.
#[utoipa::path(
    get, path = "/api/counts", tag = "entries", operation_id = "getCounts",
    responses((status = 200, description = "The counts.", body = Counts))
)]
pub(crate) async fn counts(State(state): State<AppState>) -> ApiResult<Json<Counts>> {
    Ok(Json(state.store().counts().await?))
}

impl FromRequestParts<AppState> for EntriesQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> ApiResult<Self> {
        let installation = state.store().installation();
        let mut given = Parameters::of(parts.uri.query());
        let query = Self {
            feed_id: given.id("feedId")?.map(FeedId),
            folder_id: given.id("folderId")?.map(FolderId),
            unread: given.parsed("unread", "`true` or `false`")?,
            starred: given.parsed("starred", "`true` or `false`")?,
            q: given.text("q")?,
            limit: given.page_limit()?,
            cursor: given.read("cursor", CURSOR, |text| Cursor::decode(text, installation))?,
        };
        given.finish("`feedId`, `folderId`, `unread`, `starred`, `q`, `limit` and `cursor`")?;
        Ok(query)
    }
}
