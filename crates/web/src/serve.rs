//! Serving until told to stop.

use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long requests that are under way may take once the server is told to stop.
pub const SHUTDOWN_MAX: Duration = Duration::from_secs(8);

/// Answers requests until `stop`. Then takes no more, and finishes those under way for at most [`SHUTDOWN_MAX`].
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) -> std::io::Result<()> {
    let server = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    let overdue = async {
        stop.cancelled().await;
        tokio::time::sleep(SHUTDOWN_MAX).await;
    };
    tokio::select! {
        ended = server.into_future() => ended,
        () = overdue => {
            tracing::warn!(seconds = SHUTDOWN_MAX.as_secs(), "requests did not end in time and were cut off");
            Ok(())
        }
    }
}
