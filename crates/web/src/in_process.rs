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
    auth::InProcess,
    error::FailureReason,
    routes::router,
    state::{AppState, WebSettings},
};

/// Bytes of an answer that are read: the largest page of entries is smaller.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The API of an engine in this process.
#[derive(Debug, Clone)]
pub struct InProcessApi(Router);

#[derive(Debug)]
pub struct InProcessAnswer {
    pub status: u16,
    pub body: String,
    /// What went wrong inside, if that did: clients are not told, but who has the store to itself may know.
    pub reason: Option<String>,
}

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
#[error("the request cannot be made: {0}")]
pub struct InProcessError(String);

impl InProcessApi {
    /// The API of this engine. What its requests count is shown nowhere.
    pub fn new(engine: Arc<Engine>, ids: &'static dyn Ids, version: &'static str) -> Self {
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        Self(router(AppState::new(engine, metrics, WebSettings::default(), ids, version)))
    }

    /// Asks it, with a body of a content type or none.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<InProcessAnswer, InProcessError> {
        let failed = |error: &dyn std::fmt::Display| InProcessError(error.to_string());
        let mut request = Request::builder().method(method).uri(path).extension(InProcess);
        let mut bytes = Vec::new();
        if let Some((content_type, body)) = body {
            request = request.header(header::CONTENT_TYPE, content_type);
            bytes = body;
        }
        let request = request.body(Body::from(bytes)).map_err(|error| failed(&error))?;
        // A router takes every request, and answers it.
        let response = self.0.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        let status = response.status().as_u16();
        let reason = response.extensions().get::<FailureReason>().map(|FailureReason(reason)| reason.clone());
        let body = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.map_err(|error| failed(&error))?;
        Ok(InProcessAnswer { status, body: String::from_utf8_lossy(&body).into_owned(), reason })
    }
}
