//! The figures behind the plots.

use async_trait::async_trait;

use super::{StoreResult, Viewer};
use crate::figures::{FigureQuery, Point};

/// How many of what happened, by minute and by hour, on all nodes together.
///
/// They are written by whoever makes it happen, in its transaction: see [`FigureLog`](crate::figures::FigureLog).
#[async_trait]
pub trait FigureStore: Send + Sync + std::fmt::Debug {
    /// The points that are asked for: of an account's webhooks, or of the whole server. An account has none of what does
    /// [not concern webhooks](crate::figures::Metric::is_of_webhooks).
    async fn figures(&self, viewer: Viewer, query: FigureQuery) -> StoreResult<Vec<Point>>;
    /// Makes hours of [old](crate::figures::MINUTES_KEPT) minutes and removes old [hours](crate::figures::HOURS_KEPT), at most
    /// so many rows; returns how many rows went.
    async fn prune_figures(&self, limit: u32) -> StoreResult<u64>;
}
