//! What operators and their machines ask: does it live, is it ready, what has it done, what can it do.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::{ApiError, ApiResult, ErrorBody},
    openapi,
    state::AppState,
};

/// How long the store may take to say that it is there.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// That the process lives.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`.
    status: &'static str,
    /// The version that runs.
    version: &'static str,
    /// Which process it is: no other has ever had this.
    instance: String,
}

/// That requests can be answered.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    /// `ready`.
    status: &'static str,
    /// The kind of store.
    store: &'static str,
    /// An outage that keeps this node from polling, if there is one. Requests are answered all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    outage: Option<OutageDetails>,
}

/// An outage on this side: no network, no name service, no files or memory left. No failure is counted on feeds while it
/// lasts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutageDetails {
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    since: jiff::Timestamp,
    /// What happens.
    reason: &'static str,
}

impl From<engine::Outage> for OutageDetails {
    fn from(outage: engine::Outage) -> Self {
        Self { since: outage.since, reason: outage.reason }
    }
}

/// Whether the process lives.
#[utoipa::path(
    get, path = "/healthz", tag = "operations", operation_id = "healthz",
    responses((status = 200, description = "It lives.", body = Health))
)]
pub(crate) async fn healthz(State(state): State<AppState>) -> Json<Health> {
    Json(Health { status: "ok", version: state.version, instance: state.instance().to_owned() })
}

/// Whether the store answers and takes writes: not on a full disk, once that has been noticed.
#[utoipa::path(
    get, path = "/readyz", tag = "operations", operation_id = "readyz",
    responses(
        (status = 200, description = "It does.", body = Readiness),
        (status = 503, description = "It does not.", body = ErrorBody),
    )
)]
pub(crate) async fn readyz(State(state): State<AppState>) -> ApiResult<Json<Readiness>> {
    let store = state.store();
    match tokio::time::timeout(READY_TIMEOUT, store.ping()).await {
        Ok(Ok(())) => {
            let outage = state.engine.outage().map(OutageDetails::from);
            Ok(Json(Readiness { status: "ready", store: store.kind(), outage }))
        }
        Ok(Err(error)) => Err(ApiError::StoreUnavailable(error.to_string())),
        Err(_) => Err(ApiError::StoreUnavailable("no answer in time".to_owned())),
    }
}

/// What has been counted, for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "operations", operation_id = "metrics",
    responses((status = 200, description = "The metrics.", body = String, content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(state): State<AppState>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], state.metrics.render()).into_response()
}

/// This description.
#[utoipa::path(
    get, path = "/api/openapi.json", tag = "operations", operation_id = "openapi",
    responses((status = 200, description = "The description.", body = Object))
)]
pub(crate) async fn openapi(State(state): State<AppState>) -> Response {
    let description = openapi::openapi_of(state.store().installation());
    ([(header::CONTENT_TYPE, "application/json")], description).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_u6_readiness_is_told_within_five_seconds() {
        assert!(READY_TIMEOUT <= Duration::from_millis(4500));
    }
}
