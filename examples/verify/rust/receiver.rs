//! A receiver of webhooks that verifies what it gets.
//!
//! ```sh
//! cargo add axum standardwebhooks tokio --features tokio/full
//! WEBHOOK_SECRET=whsec_... PORT=8080 cargo run
//! ```

use std::{env, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode},
    routing::post,
};
use standardwebhooks::Webhook;

const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Verifies these bytes, not JSON that was read and written again.
async fn receive(State(webhook): State<Arc<Webhook>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    if webhook.verify(&body, &headers).is_err() {
        return StatusCode::UNAUTHORIZED;
    }
    // The same event can come twice: do nothing for a `webhook-id` that you have seen.
    StatusCode::NO_CONTENT
}

pub(crate) fn receiver(secret: &str) -> Router {
    let webhook = Webhook::new(secret).expect("WEBHOOK_SECRET is `whsec_` and base64");
    let limit = DefaultBodyLimit::max(BODY_BYTES_MAX); // axum's own is 2 MiB
    Router::new().route("/", post(receive)).layer(limit).with_state(Arc::new(webhook))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let secret = env::var("WEBHOOK_SECRET").expect("WEBHOOK_SECRET is set");
    let port = env::var("PORT").unwrap_or("8080".into());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    axum::serve(listener, receiver(&secret)).await
}
