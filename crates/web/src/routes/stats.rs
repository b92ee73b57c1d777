//! The figures behind the plots, as JSON.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use domain::{
    figures::{FigureQuery, FigureStep, Metric},
    ports::Viewer,
};
use jiff::Timestamp;
use utoipa::IntoParams;

use crate::{
    auth::Actor,
    error::{ApiError, ApiResult, ErrorBody},
    query::Parameters,
    state::AppState,
    views::{FiguresView, MetricView, PointView, StepView},
};

const METRICS: &str = "`deliveries`, `latency`, `polls`, `pushes` or `entries`";

/// Which figures are wanted.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatsQuery {
    /// What is counted.
    #[param(value_type = MetricView)]
    metric: Metric,
    /// From this time on; without it, of the last hour by the minute, of the last day by the hour.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// How much time a point stands for; a minute, unless it says otherwise.
    #[param(value_type = Option<StepView>)]
    step: StepView,
}

/// How many of what happened, by the minute or by the hour: to your webhooks; for administrators, on the whole server.
#[utoipa::path(
    get, path = "/api/stats", tag = "operations", operation_id = "getStats", params(StatsQuery),
    responses(
        (status = 200, description = "The figures; `nextFrom` is null if that is all.", body = FiguresView),
        (status = 400, description = "A parameter is wrong, missing or not known; the sentence names it.", body = ErrorBody),
        (status = 403, description = "The metric is for administrators.", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    State(state): State<AppState>,
    actor: Actor,
    query: StatsQuery,
) -> ApiResult<Json<FiguresView>> {
    let (now, viewer) = (state.engine.now(), viewer_of(&actor, query.metric)?);
    let wanted = FigureQuery::since(query.metric, query.step.into(), query.begin(now), now);
    let points = state.store().figures(viewer, wanted).await?;
    Ok(Json(FiguresView {
        metric: query.metric.into(),
        step: query.step,
        from: wanted.from(),
        until: wanted.until(),
        points: points.iter().map(|point| PointView::new(query.metric, point)).collect(),
        next_from: Some(wanted.until()).filter(|until| *until <= now),
    }))
}

/// Whose figures of this metric somebody sees: what does not concern webhooks is the whole server's, and so the
/// administrators'.
pub(crate) fn viewer_of(actor: &Actor, metric: Metric) -> ApiResult<Viewer> {
    if !metric.is_of_webhooks() {
        actor.check_admin()?;
    }
    Ok(actor.viewer())
}

impl StatsQuery {
    fn begin(&self, now: Timestamp) -> Timestamp {
        let (step, points) = match self.step {
            StepView::Minute => (FigureStep::Minute, 60),
            StepView::Hour => (FigureStep::Hour, 24),
        };
        self.from.unwrap_or_else(|| FigureQuery::last(self.metric, step, points, now).from())
    }
}

impl FromRequestParts<AppState> for StatsQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> ApiResult<Self> {
        let mut given = Parameters::of(parts.uri.query());
        let metric = given.read("metric", METRICS, Metric::by_name)?;
        let from = given.time("from")?;
        let step = given.read("step", "`minute` or `hour`", step_of)?;
        given.finish("`metric`, `from` and `step`")?;
        let metric = metric.ok_or_else(|| ApiError::field("metric", format_args!("missing: {METRICS}")))?;
        Ok(Self { metric, from, step: step.unwrap_or(StepView::Minute) })
    }
}

fn step_of(name: &str) -> Option<StepView> {
    match name {
        "minute" => Some(StepView::Minute),
        "hour" => Some(StepView::Hour),
        _ => None,
    }
}
