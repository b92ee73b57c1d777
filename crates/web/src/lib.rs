//! The server: the JSON API, health, readiness, metrics, and the description of it all.
//!
//! A request comes over a connection that has its limits ([`ServeLimits`]). It passes, from the outside in: observation
//! (id, log line, metrics), headers of every answer, the net for panics, the guard against foreign web pages, the limit
//! of requests at once, the [login](auth), a time limit, the refusal of parameters that nobody takes, and then its route.
//! Routes only translate: what happens is in the engine, what is kept is in the store. Whatever goes wrong, the answer
//! is `{"error": "a sentence"}` with the right status, and never shows what is inside.

mod answer;
mod auth;
mod body;
mod entry_stream;
mod error;
mod excerpt;
mod extract;
mod fever;
mod form;
mod greader;
mod idle;
mod in_process;
mod live;
mod log_throttle;
mod metrics;
mod middleware;
mod miniflux;
mod openapi;
mod origin;
mod pages;
mod query;
mod rate;
mod read_turns;
mod routes;
mod serve;
mod starting;
mod state;
mod stream;
mod time;
mod views;
mod work;

pub use auth::{HashError, hash_password};
pub use axum::http::HeaderName;
pub use in_process::{InProcessAnswer, InProcessApi, InProcessError};
pub use metrics::{MetricsHandle, install_metrics, keep_metrics_small};
pub use openapi::openapi_json;
pub use routes::{operations_router, router};
pub use serve::{SHUTDOWN_MAX, ServeLimits, serve, serve_within};
pub use starting::starting_router;
pub use state::{AppState, WebSettings};
