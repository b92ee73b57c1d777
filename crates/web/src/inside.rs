//! The API without a network, for a program that has the store to itself: what a client may ask, how it is checked and
//! what it is told are the same, because the routes are.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, header},
};
use domain::ports::Ids;
use engine::Engine;
use metrics_exporter_prometheus::PrometheusBuilder;
use tower::ServiceExt;

use crate::{
    routes::router,
    state::{AppState, WebSettings},
};

/// Bytes of an answer that are read: the largest page of entries is smaller.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The API of an engine in this process.
#[derive(Debug, Clone)]
pub struct InProcessApi(Router);

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
#[error("the request cannot be made: {0}")]
pub struct InProcessError(String);

impl InProcessApi {
    /// The API of this engine. What its requests count is shown nowhere.
    pub fn new(engine: Arc<Engine>, ids: &dyn Ids, version: &'static str) -> Self {
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        Self(router(AppState::new(engine, metrics, WebSettings::default(), ids, version)))
    }

    /// Asks it, with a JSON body or none: the status and the body of the answer.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        json: Option<String>,
    ) -> Result<(u16, String), InProcessError> {
        let failed = |error: &dyn std::fmt::Display| InProcessError(error.to_string());
        let mut request = Request::builder().method(method).uri(path);
        if json.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(Body::from(json.unwrap_or_default())).map_err(|error| failed(&error))?;
        // A router takes every request, and answers it.
        let response = self.0.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.map_err(|error| failed(&error))?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }
}
