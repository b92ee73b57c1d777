//! What is measured of requests. Labels have few values: a path is the route's pattern, never what a client sent.

use std::time::Duration;

use axum::http::Method;
use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder};
use tokio_util::sync::CancellationToken;

use crate::openapi;

pub use metrics_exporter_prometheus::PrometheusHandle as MetricsHandle;

const REQUESTS: &str = "http_requests_total";
const DURATION: &str = "http_request_duration_seconds";

/// How often durations are put into their buckets.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// Upper bounds of the buckets of durations, in seconds: a page takes milliseconds, a refresh minutes.
const DURATION_BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0];

/// Makes this process count, and gives what `/metrics` shows. To be called once.
pub fn install_metrics() -> Result<MetricsHandle, BuildError> {
    let handle = PrometheusBuilder::new().set_buckets(&DURATION_BUCKETS)?.install_recorder()?;
    describe_counter!(REQUESTS, Unit::Count, "Requests, by method, route and status.");
    describe_histogram!(DURATION, Unit::Seconds, "How long requests took, by method and route.");
    engine::register_metrics();
    register();
    Ok(handle)
}

/// Makes every route appear before anybody asks for it, with each status that is described.
fn register() {
    for (method, path, statuses) in openapi::described_statuses() {
        for status in statuses {
            counter!(REQUESTS, "method" => method, "path" => path.clone(), "status" => status).increment(0);
        }
        drop(histogram!(DURATION, "method" => method, "path" => path));
    }
}

/// Keeps what was measured small, until it is told to stop: each duration takes memory until it is put into its bucket,
/// which otherwise only happens when somebody asks for the metrics.
pub async fn keep_metrics_small(metrics: MetricsHandle, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(UPKEEP_EVERY);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => metrics.run_upkeep(),
        }
    }
}

pub(crate) fn count(method: &'static str, path: &str, status: u16, duration: Duration) {
    let path = path.to_owned();
    counter!(REQUESTS, "method" => method, "path" => path.clone(), "status" => status.to_string()).increment(1);
    histogram!(DURATION, "method" => method, "path" => path).record(duration);
}

/// A method as a label: clients can make up as many as they like.
pub(crate) fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
