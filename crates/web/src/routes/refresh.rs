//! Polling on demand.

use axum::{Json, extract::State};
use domain::FeedId;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    auth::Actor,
    error::{ApiError, ApiResult, ErrorBody},
    extract::Id,
    state::AppState,
    views::{FeedView, ids},
    work::run_to_completion,
};

/// How polls ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefreshSummary {
    /// Feeds polled.
    polled: u32,
    /// Of them, those that answered with something.
    fetched: u32,
    /// Of them, those with nothing new.
    unchanged: u32,
    /// Of them, those that failed.
    failed: u32,
    /// Entries that had not been there.
    new_entries: u32,
    /// Entries with other content than before.
    changed_entries: u32,
}

/// A feed after a poll, and how that ended.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RefreshedFeed {
    #[serde(flatten)]
    feed: FeedView,
    /// How the poll ended.
    summary: RefreshSummary,
}

/// Polls one feed now, or joins the poll that is under way.
#[utoipa::path(
    post, path = "/api/feeds/{id}/refresh", tag = "feeds", operation_id = "refreshFeed", params(("id" = ids::FeedId, Path)),
    responses(
        (status = 200, description = "The feed afterwards; if the poll failed, `lastError` says why.", body = RefreshedFeed),
        (status = 404, description = "There is no such feed.", body = ErrorBody),
    )
)]
pub(crate) async fn feed(
    State(state): State<AppState>,
    actor: Actor,
    Id(id): Id<FeedId>,
) -> ApiResult<Json<RefreshedFeed>> {
    let engine = state.engine.clone();
    let summary = run_to_completion(async move { engine.refresh_feed(actor.account, id).await })
        .await??
        .ok_or(ApiError::NotFound("feed"))?;
    let feed = state.store().feed(actor.account, id).await?.ok_or(ApiError::NotFound("feed"))?;
    Ok(Json(RefreshedFeed { feed: feed.into(), summary: summary.into() }))
}

/// Polls all feeds that are due. An account that does not manage the server is told of those that it follows.
#[utoipa::path(
    post, path = "/api/refresh", tag = "feeds", operation_id = "refreshDue",
    responses((status = 200, description = "How the polls ended.", body = RefreshSummary))
)]
pub(crate) async fn due(State(state): State<AppState>, actor: Actor) -> ApiResult<Json<RefreshSummary>> {
    let engine = state.engine.clone();
    let summary = run_to_completion(async move {
        match actor.check_admin() {
            Ok(()) => engine.refresh_due().await,
            // How many feeds others follow, and how they do, is not told.
            Err(_) => engine.refresh_due_for(actor.account).await,
        }
    })
    .await??;
    Ok(Json(summary.into()))
}

impl From<engine::RefreshSummary> for RefreshSummary {
    fn from(summary: engine::RefreshSummary) -> Self {
        let engine::RefreshSummary { polled, fetched, unchanged, failed, new_entries, changed_entries } = summary;
        Self { polled, fetched, unchanged, failed, new_entries, changed_entries }
    }
}
