//! Feeds: added, listed, changed, removed.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    FeedId, FeedPatch, FolderId,
    feed_state::{FEED_TITLE_CHARS_MAX, FeedAddress, POLL_INTERVAL_SECS},
    folder::one_line,
};
use engine::{AddFeed, AddedFeed, OfferedFeed};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    auth::Actor,
    error::{ApiError, ApiResult, ErrorBody, updated},
    extract::{self, Id, PatchField, check_length, patch_field},
    state::AppState,
    views::{FeedView, ids},
};

/// A feed to add.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewFeed)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AddBody {
    /// Its URL, or that of a page that offers it: http or https. Without a scheme, as in `example.org/blog`, https is
    /// tried, then http.
    #[schema(max_length = 4096, pattern = r"^\s*([Hh][Tt][Tt][Pp][Ss]?:|feed:|(//)?[^\s/?#@:\\]+(\.|:[0-9]|/|$))")]
    url: String,
    /// The folder to put it in.
    #[schema(value_type = Option<ids::FolderId>)]
    folder_id: Option<FolderId>,
    /// A name of the user's for it.
    #[schema(max_length = 500)]
    title: Option<String>,
}

/// What to change about a feed. What is not named stays.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = FeedPatch)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PatchBody {
    /// The user's name for it; null for the feed's own.
    #[serde(default, deserialize_with = "patch_field")]
    #[schema(value_type = Option<String>, max_length = 500)]
    title: PatchField<String>,
    /// Where it is: http or https. A URL without a user and password keeps those that are stored if it is of the same
    /// origin (scheme, host and port), and drops them otherwise.
    #[schema(format = "uri", max_length = 4096, pattern = r"^\s*([Hh][Tt][Tt][Pp][Ss]?:|feed:)")]
    url: Option<String>,
    /// False takes the stored user and password away; true changes nothing.
    has_credentials: Option<bool>,
    /// The folder to put it in; null for none.
    #[serde(default, deserialize_with = "patch_field")]
    #[schema(value_type = Option<ids::FolderId>)]
    folder_id: PatchField<FolderId>,
    /// Seconds between two polls; null to adapt to the feed.
    #[serde(default, deserialize_with = "patch_field")]
    #[schema(value_type = Option<i64>, minimum = 60, maximum = 2_592_000)]
    poll_interval: PatchField<i64>,
    /// Whether push is wanted for it.
    push_enabled: Option<bool>,
}

/// A feed that was added.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AddedFeed)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AddedView {
    #[serde(flatten)]
    feed: FeedView,
    /// All feeds that the page behind the URL offers, best first; not there if the URL is a feed's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    offered: Vec<OfferedView>,
}

/// A feed that a page offers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OfferedFeed)]
pub(crate) struct OfferedView {
    /// Where it is.
    url: String,
    /// What the page calls it.
    title: Option<String>,
}

/// Adds a feed, or the best feed that a page offers. Nothing is stored on an error.
///
/// A page offers feeds by `Link` headers and by `<link rel="alternate">`. One for comments is taken only if there is no
/// other. Where none of them can be read, the places where feeds usually are (`/feed`, `/rss.xml` and the like) are tried.
#[utoipa::path(
    post, path = "/api/feeds", tag = "feeds", operation_id = "addFeed", request_body = AddBody,
    responses(
        (status = 201, description = "The feed, and what the page offers.", body = AddedView),
        (status = 400, description = "A field is wrong, such as a URL that is neither http nor https.", body = ErrorBody),
        (status = 404, description = "There is no such folder.", body = ErrorBody),
        (status = 409, description = "It is already there, with this `feedId`.", body = ErrorBody),
        (status = 422, description = "Not a feed, and it offers none.", body = ErrorBody),
        (status = 502, description = "It cannot be reached.", body = ErrorBody),
    )
)]
pub(crate) async fn add(
    State(state): State<AppState>,
    actor: Actor,
    extract::Json(body): extract::Json<AddBody>,
) -> ApiResult<Response> {
    let title = body.title.as_deref().map(title).transpose()?.flatten();
    let AddedFeed { feed, offered } =
        state.engine.add(AddFeed { account: actor.account, url: body.url, folder_id: body.folder_id, title }).await?;
    let location = format!("/api/feeds/{}", feed.id);
    let offered = offered.into_iter().map(|OfferedFeed { url, title }| OfferedView { url, title }).collect();
    let added = AddedView { feed: feed.into(), offered };
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(added)).into_response())
}

/// All feeds, by title.
#[utoipa::path(
    get, path = "/api/feeds", tag = "feeds", operation_id = "listFeeds",
    responses((status = 200, description = "The feeds.", body = Vec<FeedView>))
)]
pub(crate) async fn list(State(state): State<AppState>, actor: Actor) -> ApiResult<Response> {
    let feeds = async {
        let feeds = state.store().feeds(actor.account).await?;
        Ok(feeds.into_iter().map(FeedView::from).collect::<Vec<_>>())
    };
    state.answers.json(feeds).await
}

/// One feed.
#[utoipa::path(
    get, path = "/api/feeds/{id}", tag = "feeds", operation_id = "getFeed", params(("id" = ids::FeedId, Path)),
    responses(
        (status = 200, description = "The feed.", body = FeedView),
        (status = 404, description = "There is no such feed.", body = ErrorBody),
    )
)]
pub(crate) async fn get(State(state): State<AppState>, actor: Actor, Id(id): Id<FeedId>) -> ApiResult<Json<FeedView>> {
    Ok(Json(state.store().feed(actor.account, id).await?.ok_or(ApiError::NotFound("feed"))?.into()))
}

/// Changes a feed. With another URL it is polled at once.
#[utoipa::path(
    patch, path = "/api/feeds/{id}", tag = "feeds", operation_id = "patchFeed", params(("id" = ids::FeedId, Path)),
    request_body = PatchBody,
    responses(
        (status = 200, description = "The feed as it is now.", body = FeedView),
        (status = 400, description = "A field is wrong; the sentence names it.", body = ErrorBody),
        (status = 404, description = "There is no such feed, or no such folder.", body = ErrorBody),
        (status = 409, description = "Another feed has this URL: `feedId`.", body = ErrorBody),
    )
)]
pub(crate) async fn patch(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<FeedId>,
    extract::Json(body): extract::Json<PatchBody>,
) -> ApiResult<Json<FeedView>> {
    Ok(Json(updated(state.engine.update_feed(actor.account, id, body.try_into()?).await?, "feed", "URL")?.into()))
}

/// Removes a feed and its entries. Its hub is told afterwards.
#[utoipa::path(
    delete, path = "/api/feeds/{id}", tag = "feeds", operation_id = "deleteFeed", params(("id" = ids::FeedId, Path)),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is no such feed.", body = ErrorBody),
    )
)]
pub(crate) async fn delete(State(state): State<AppState>, actor: Actor, Id(id): Id<FeedId>) -> ApiResult<StatusCode> {
    if state.engine.delete_feed(actor.account, id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(ApiError::NotFound("feed"))
    }
}

impl TryFrom<PatchBody> for FeedPatch {
    type Error = ApiError;

    fn try_from(body: PatchBody) -> ApiResult<Self> {
        let address = body.url.map(|url| FeedAddress::parse(&url)).transpose();
        let address = address.map_err(|problem| ApiError::field("url", problem))?;
        let forgets_credentials = body.has_credentials == Some(false);
        if forgets_credentials && address.as_ref().is_some_and(|address| address.credentials.is_some()) {
            return Err(ApiError::field("hasCredentials", "cannot be false beside a URL with a user and password"));
        }
        Ok(Self {
            custom_title: body.title.map(|text| title(&text.unwrap_or_default())).transpose()?,
            address,
            forgets_credentials,
            folder_id: body.folder_id,
            poll_interval: body.poll_interval.map(|secs| secs.map(poll_interval).transpose()).transpose()?,
            push_enabled: body.push_enabled,
        })
    }
}

/// A user's name for a feed; an empty one is none.
fn title(text: &str) -> ApiResult<Option<String>> {
    check_length("title", text, FEED_TITLE_CHARS_MAX)?;
    Ok(Some(one_line(text)).filter(|text| !text.is_empty()))
}

fn poll_interval(secs: i64) -> ApiResult<u32> {
    let wanted = u32::try_from(secs).ok().filter(|secs| POLL_INTERVAL_SECS.contains(secs));
    wanted.ok_or_else(|| {
        let (least, most) = (POLL_INTERVAL_SECS.start(), POLL_INTERVAL_SECS.end());
        ApiError::field("pollInterval", format_args!("must be from {least} to {most} seconds, or null"))
    })
}
