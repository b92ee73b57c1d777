//! What a server answers while it waits for its database: that it lives, and that nothing else can be had yet.

use axum::{Json, Router, routing::get};
use serde_json::json;

use crate::error::ApiError;

/// Health as from a server that works, so that no watcher ends one that waits; 503 for all else, readiness among it.
pub fn starting_router(version: &'static str) -> Router {
    let health = move || async move { Json(json!({ "status": "starting", "version": version })) };
    let all_else = async || ApiError::Unavailable("this server waits for its database; try again later");
    Router::new().route("/healthz", get(health)).fallback(all_else)
}
