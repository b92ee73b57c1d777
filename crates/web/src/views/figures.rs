//! Figures as the API shows them.

use std::collections::BTreeMap;

use domain::figures::{FigureStep, Metric, Point, percentile};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// What is counted. `deliveries`: attempts by what became of the delivery (`delivered`, `retried`, `failed`). `latency`: how
/// long attempts took. `polls`: `new` brought something, `unchanged` nothing, `failed`. `pushes`: `new`, `unchanged`.
/// `entries`: `new`, `changed`. The last three are for administrators.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = Metric)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MetricView {
    Deliveries,
    Latency,
    Polls,
    Pushes,
    Entries,
}

impl From<Metric> for MetricView {
    fn from(metric: Metric) -> Self {
        match metric {
            Metric::Deliveries => Self::Deliveries,
            Metric::Latency => Self::Latency,
            Metric::Polls => Self::Polls,
            Metric::Pushes => Self::Pushes,
            Metric::Entries => Self::Entries,
        }
    }
}

/// How much time a point stands for. Minutes are kept for two days, hours for a year.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = Step)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StepView {
    Minute,
    Hour,
}

impl From<StepView> for FigureStep {
    fn from(step: StepView) -> Self {
        match step {
            StepView::Minute => Self::Minute,
            StepView::Hour => Self::Hour,
        }
    }
}

/// Figures, a point for each minute or hour.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Figures)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FiguresView {
    pub(crate) metric: MetricView,
    pub(crate) step: StepView,
    /// When the first point begins: the whole minute or hour of `from`, but no earlier than is kept.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) from: Timestamp,
    /// When the last point ends.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) until: Timestamp,
    /// At most 1440, the oldest first, also those in which nothing happened.
    pub(crate) points: Vec<PointView>,
    /// The `from` of what follows; null if that is all there is.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) next_from: Option<Timestamp>,
}

/// One minute or hour.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FigurePoint)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PointView {
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// All outcomes together; of a latency, the attempts.
    total: u64,
    /// By outcome; empty of a latency.
    counts: BTreeMap<&'static str, u64>,
    /// Half of the attempts took no longer, in milliseconds. Of a latency alone, and null if there were none.
    median_ms: Option<u64>,
    /// 99 of 100 attempts took no longer, in milliseconds. Of a latency alone, and null if there were none.
    p99_ms: Option<u64>,
}

impl PointView {
    pub(crate) fn new(metric: Metric, point: &Point) -> Self {
        let of_latency = |per_mille| percentile(&point.counts, per_mille).filter(|_| metric == Metric::Latency);
        Self {
            at: point.at,
            total: point.total(),
            counts: metric.outcomes().iter().copied().zip(point.counts.iter().copied()).collect(),
            median_ms: of_latency(500),
            p99_ms: of_latency(990),
        }
    }
}
