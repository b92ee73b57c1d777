//! Entries: paged through, read, starred, counted.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{Uri, request::Parts},
    response::{IntoResponse, Response},
};
use domain::{
    Cursor, Entry, EntryFilter, EntryId, EntryPage, EntryPatch, FeedId, FolderId, Search,
    entry::{ENTRY_IDS_MAX, Order, PAGE_ENTRIES_DEFAULT, PAGE_ENTRIES_MAX, Since},
    ports::MarkRead,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    auth::Actor,
    error::{ApiError, ApiResult, ErrorBody},
    extract::{self, Id, without_zero_fraction},
    pages::proxied,
    query::{CURSOR, Parameters},
    state::AppState,
    time::time,
    views::{CountsView, EntryView, ids},
    work::run_to_completion,
};

/// Which entries are wanted.
#[derive(Debug, IntoParams)]
#[into_params(rename_all = "camelCase", parameter_in = Query)]
pub(crate) struct EntriesQuery {
    /// Of this feed.
    #[param(value_type = Option<ids::FeedId>)]
    feed_id: Option<FeedId>,
    /// Of the feeds in this folder.
    #[param(value_type = Option<ids::FolderId>)]
    folder_id: Option<FolderId>,
    /// Not read yet (true), or read (false).
    unread: Option<bool>,
    /// Starred (true), or not (false).
    starred: Option<bool>,
    /// Found by this search: holding all its words. `"fresh bread"` is a phrase, `conf*` any word that starts so, `-jumps`
    /// and `-"a phrase"` what must not be there. At most 1000 characters and 32 terms.
    #[param(rename = "q", value_type = Option<String>, max_length = 1000)]
    search: Option<Search>,
    /// Only these, at most 1000, separated by commas. Not together with the conditions above or `receivedSince` and
    /// `changedSince`.
    #[param(style = Form, explode = false, value_type = Option<Vec<i64>>, min_items = 1, max_items = 1000)]
    ids: Option<Vec<EntryId>>,
    /// First seen at this time or later. The page goes by that time then, instead of `sortAt`. Not together with `q`.
    #[param(value_type = Option<String>, format = DateTime)]
    received_since: Option<Timestamp>,
    /// New, changed, or marked as read, unread, starred or not, at this time or later. The page goes by that time then,
    /// instead of `sortAt`. Not together with `q` or `receivedSince`.
    #[param(value_type = Option<String>, format = DateTime)]
    changed_since: Option<Timestamp>,
    /// Which come first: `newest`, as without it, or `oldest`.
    #[param(inline, value_type = Option<OrderName>)]
    order: Order,
    /// With summary and content (true, as without it); or without (false): both are null.
    content: Option<bool>,
    /// With the first words of summary or content as plain text (true), in the place of both. Not together with `content`.
    excerpt: Option<bool>,
    /// Entries on the page: 50 without it, and as many as there may be with `ids`. A page ends before that at 4 MiB of
    /// text.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// Where the page before ended: its `nextCursor`. It holds this installation's key, and is opaque otherwise.
    #[param(value_type = Option<String>, pattern = "^cur_INSTALLATION[0-9a-f]{32}$")]
    cursor: Option<Cursor>,
}

/// An order of entries.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "it is only described")]
enum OrderName {
    Newest,
    Oldest,
}

/// A page of entries.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EntryPage)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageView {
    /// The entries.
    entries: Vec<EntryView>,
    /// Where the next page begins; null on the last. A page with a cursor may have fewer entries than asked for.
    next_cursor: Option<String>,
}

/// Which entries to mark as read. Conditions add up; none means all.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MarkRead)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MarkReadBody {
    /// Only of this feed.
    #[schema(value_type = Option<ids::FeedId>)]
    feed_id: Option<FeedId>,
    /// Only of the feeds in this folder.
    #[schema(value_type = Option<ids::FolderId>)]
    folder_id: Option<FolderId>,
    /// Only those received at this time or before.
    #[schema(format = DateTime)]
    before: Option<String>,
}

/// What a reader changes about an entry.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = EntryPatch)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PatchBody {
    /// Read or not.
    is_read: Option<bool>,
    /// Starred or not.
    is_starred: Option<bool>,
}

/// Entries to mark, and how. What is not named stays.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = EntriesPatch)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PatchManyBody {
    /// Which. Those that do not exist are passed over.
    #[schema(value_type = Vec<ids::EntryId>, max_items = 1000)]
    ids: Vec<EntryId>,
    /// Read or not.
    is_read: Option<bool>,
    /// Starred or not.
    is_starred: Option<bool>,
}

/// How many were marked.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Marked)]
pub(crate) struct MarkResult {
    /// Entries that were not so before.
    marked: u64,
}

/// A page of entries, newest first unless `order` says otherwise. Following `nextCursor` neither repeats nor skips.
#[utoipa::path(
    get, path = "/api/entries", tag = "entries", operation_id = "listEntries", params(EntriesQuery),
    responses(
        (status = 200, description = "The page; `nextCursor` is null on the last.", body = PageView),
        (status = 400, description = "A parameter is wrong, not known, or cannot be together with another; the sentence names it.", body = ErrorBody),
    )
)]
pub(crate) async fn list(State(state): State<AppState>, actor: Actor, query: EntriesQuery) -> ApiResult<Response> {
    if query.search.as_ref().is_some_and(Search::is_empty) {
        // Signs alone are in no index: nothing holds them, rather than everything.
        return Ok(Json(PageView { entries: Vec::new(), next_cursor: None }).into_response());
    }
    let usual_limit = if query.ids.is_some() { PAGE_ENTRIES_MAX } else { PAGE_ENTRIES_DEFAULT };
    let filter = EntryFilter {
        feed_id: query.feed_id,
        folder_id: query.folder_id,
        unread: query.unread,
        starred: query.starred,
        search: query.search,
        ids: query.ids,
        since: query.received_since.map(Since::Received).or(query.changed_since.map(Since::Changed)),
        until: None,
        order: query.order,
        without_texts: query.content == Some(false),
    };
    let view = if query.excerpt == Some(true) { EntryView::with_excerpt } else { EntryView::from };
    let limit = query.limit.unwrap_or(usual_limit);
    let answers = if filter.is_slow() { &state.slow_answers } else { &state.answers };
    answers.json(page(&state, &actor, &filter, limit, query.cursor, view)).await
}

async fn page(
    state: &AppState,
    actor: &Actor,
    filter: &EntryFilter,
    limit: u32,
    after: Option<Cursor>,
    view: fn(Entry) -> EntryView,
) -> ApiResult<PageView> {
    let EntryPage { entries, next_cursor } = state.store().entries(actor.account, filter, limit, after).await?;
    let next_cursor = next_cursor.map(|cursor| cursor.encode(state.store().installation()));
    Ok(PageView { entries: entries.into_iter().map(view).collect(), next_cursor })
}

/// Marks many entries at once as read or unread, starred or not: all of them or, if it fails, none.
#[utoipa::path(
    patch, path = "/api/entries", tag = "entries", operation_id = "patchEntries", request_body = PatchManyBody,
    responses(
        (status = 200, description = "How many were not so before.", body = MarkResult),
        (status = 400, description = "A field is wrong; the sentence names it.", body = ErrorBody),
    )
)]
pub(crate) async fn patch_many(
    State(state): State<AppState>,
    actor: Actor,
    extract::Json(body): extract::Json<PatchManyBody>,
) -> ApiResult<Json<MarkResult>> {
    check_number_of_ids(body.ids.len())?;
    let patch = EntryPatch { is_read: body.is_read, is_starred: body.is_starred };
    Ok(Json(MarkResult { marked: state.store().patch_entries(actor.account, &body.ids, patch).await? }))
}

/// One entry.
#[utoipa::path(
    get, path = "/api/entries/{id}", tag = "entries", operation_id = "getEntry",
    params(
        ("id" = ids::EntryId, Path),
        ("proxied" = Option<bool>, Query, description = "Pictures at addresses of this server, where the setting `image_proxy` is on: for pages of this server."),
    ),
    responses(
        (status = 200, description = "The entry.", body = EntryView),
        (status = 400, description = "A parameter is wrong; the sentence names it.", body = ErrorBody),
        (status = 404, description = "There is no such entry.", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<EntryId>,
    uri: Uri,
) -> ApiResult<Response> {
    let mut given = Parameters::of(uri.query());
    let is_proxied = given.parsed("proxied", "`true` or `false`")?.unwrap_or(false);
    given.finish("proxied")?;
    let entry = async {
        let entry = state.store().entry(actor.account, id).await?.ok_or(ApiError::NotFound("entry"))?;
        Ok(EntryView::from(if is_proxied { proxied(&state, entry) } else { entry }))
    };
    state.answers.json(entry).await
}

/// Marks an entry as read or unread, starred or not.
#[utoipa::path(
    patch, path = "/api/entries/{id}", tag = "entries", operation_id = "patchEntry", params(("id" = ids::EntryId, Path)),
    request_body = PatchBody,
    responses(
        (status = 200, description = "The entry as it is now.", body = EntryView),
        (status = 400, description = "A field is wrong; the sentence names it.", body = ErrorBody),
        (status = 404, description = "There is no such entry.", body = ErrorBody),
    )
)]
pub(crate) async fn patch(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<EntryId>,
    extract::Json(body): extract::Json<PatchBody>,
) -> ApiResult<Response> {
    let patch = EntryPatch { is_read: body.is_read, is_starred: body.is_starred };
    let entry = async { state.store().patch_entry(actor.account, id, patch).await?.ok_or(ApiError::NotFound("entry")) };
    state.answers.json(async { entry.await.map(EntryView::from) }).await
}

/// Marks entries as read, by the time of their receipt.
#[utoipa::path(
    post, path = "/api/entries/mark-read", tag = "entries", operation_id = "markRead", request_body = MarkReadBody,
    responses(
        (status = 200, description = "How many had not been read.", body = MarkResult),
        (status = 400, description = "A field is wrong; the sentence names it.", body = ErrorBody),
    )
)]
pub(crate) async fn mark_read(
    State(state): State<AppState>,
    actor: Actor,
    extract::Json(body): extract::Json<MarkReadBody>,
) -> ApiResult<Json<MarkResult>> {
    let before = body.before.as_deref().map(|before| time("before", before)).transpose()?;
    let which = MarkRead { feed_id: body.feed_id, folder_id: body.folder_id, before };
    let store = state.store().clone();
    let marked = run_to_completion(async move { store.mark_read(actor.account, which).await }).await??;
    Ok(Json(MarkResult { marked }))
}

/// Unread entries in all, by folder and by feed, and starred ones.
#[utoipa::path(
    get, path = "/api/counts", tag = "entries", operation_id = "getCounts",
    responses((status = 200, description = "The counts.", body = CountsView))
)]
pub(crate) async fn counts(State(state): State<AppState>, actor: Actor) -> ApiResult<Json<CountsView>> {
    Ok(Json(state.store().counts(actor.account).await?.into()))
}

impl FromRequestParts<AppState> for EntriesQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> ApiResult<Self> {
        let installation = state.store().installation();
        let mut given = Parameters::of(parts.uri.query());
        check_exclusive(&given)?;
        let query = Self {
            feed_id: given.id("feedId")?.map(FeedId),
            folder_id: given.id("folderId")?.map(FolderId),
            unread: given.parsed("unread", TRUE_OR_FALSE)?,
            starred: given.parsed("starred", TRUE_OR_FALSE)?,
            search: given.text("q")?.map_or(Ok(None), |q| read_search(&q))?,
            ids: given.text("ids")?.map(|ids| read_ids(&ids)).transpose()?,
            received_since: given.time("receivedSince")?,
            changed_since: given.time("changedSince")?,
            order: given.read("order", "`newest` or `oldest`", Order::by_name)?.unwrap_or_default(),
            content: given.parsed("content", TRUE_OR_FALSE)?,
            excerpt: given.parsed("excerpt", TRUE_OR_FALSE)?,
            limit: given.page_limit()?,
            cursor: given.read("cursor", CURSOR, |text| Cursor::decode(text, installation))?,
        };
        given.finish(
            "`feedId`, `folderId`, `unread`, `starred`, `q`, `ids`, `receivedSince`, `changedSince`, `order`, `content`, \
             `excerpt`, `limit` and `cursor`",
        )?;
        Ok(query)
    }
}

const TRUE_OR_FALSE: &str = "`true` or `false`";

/// What cannot be together: texts are whole, short or not there, ids say by themselves which entries, a page goes by one time, and a search by `sortAt`.
const EXCLUSIVE: [(&str, &[&str]); 4] = [
    ("content", &["excerpt"]),
    ("ids", &["feedId", "folderId", "unread", "starred", "q", "receivedSince", "changedSince"]),
    ("receivedSince", &["changedSince", "q"]),
    ("changedSince", &["q"]),
];

fn check_exclusive(given: &Parameters) -> ApiResult<()> {
    for (name, others) in EXCLUSIVE.into_iter().filter(|(name, _)| given.has(name)) {
        if let Some(other) = others.iter().find(|other| given.has(other)) {
            return Err(ApiError::field(name, format_args!("cannot be together with `{other}`")));
        }
    }
    Ok(())
}

fn read_search(text: &str) -> ApiResult<Option<Search>> {
    Search::parse(text).map_err(|error| ApiError::field("q", error))
}

/// Each once, so that none is on the page twice.
fn read_ids(text: &str) -> ApiResult<Vec<EntryId>> {
    let numbers = text.split(',').map(|number| without_zero_fraction(number.trim()).parse().map(EntryId));
    let ids: Result<Vec<EntryId>, _> = numbers.take(ENTRY_IDS_MAX + 1).collect();
    let mut ids = ids.map_err(|_| ApiError::field("ids", "expected whole numbers with commas between them"))?;
    check_number_of_ids(ids.len())?;
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn check_number_of_ids(ids: usize) -> ApiResult<()> {
    if ids > ENTRY_IDS_MAX {
        return Err(ApiError::field("ids", format_args!("more than {ENTRY_IDS_MAX}; send several requests")));
    }
    Ok(())
}
