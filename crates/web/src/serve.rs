//! Serving until told to stop: connections in, each with its limits, and none that a client can hold for ever.
//!
//! HTTP/1 only. A browser speaks HTTP/2 to no server without TLS, and a proxy in front of this one need not.
//!
//! Who sends its headers slowly, or nothing, is cut off by a time limit; who sends its body slowly, where the body is
//! read; who does not read its answer, by the [stream](crate::stream). What is left is bounded by the number of
//! connections. Beyond it a new one takes the place of the one that has waited longest [for its client](crate::idle); if
//! none does, which the limits of requests prevent, it waits. To tell it so (503) would take the time of a client that
//! may not read.
//!
//! Event streams are no such connections: they are open for hours and mostly wait, so they give their slots up and have
//! [limits of their own](crate::live).
//!
//! What is left of a body that was refused is read before the answer is sent: a client that is still sending would see a
//! broken pipe instead of the answer.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    BoxError, Router,
    body::{Body, Bytes, HttpBody},
    http::Request,
    response::Response,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceExt};

use crate::{
    auth::Peer,
    body::{SharedBody, expects_continue},
    idle::{Connection, IdleConnections},
    live::{OpenEnded, ServerStop},
    stream::Stream,
};

/// How long requests that are under way may take once the server is told to stop.
pub const SHUTDOWN_MAX: Duration = Duration::from_secs(8);

/// Connections at once. More than requests of all kinds that are answered at once, pages too, so that there are always some
/// that wait for their clients, and callbacks and probes get through to a busy server; less than the 1,024 descriptors that
/// a process usually may have, because the database and the polls need some.
const CONNECTIONS_MAX: usize = 768;
/// How long a client may take for the headers of a request, from the end of the one before: so also how long a
/// connection may be idle.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of the headers of a request: enough for the longest address that can be asked for and as many headers as anybody
/// sends. Whoever does not end them has so much of our memory for each connection.
const HEADER_BYTES_MAX: usize = 80 * 1024;
/// How long a client may take no byte of its answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a refused body that are read and thrown away.
const DRAIN_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How long that may take.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long no connection is taken after the system refused one, which is most often for want of descriptors: asking at
/// once would be refused at once.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// What bounds the connections of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeLimits {
    /// Connections at once; for more, others are closed that wait for their clients.
    pub connections_max: usize,
    /// How long a client may take for the headers of a request, and a connection be idle.
    pub header_timeout: Duration,
    /// How long a client may take no byte of its answer.
    pub write_timeout: Duration,
    /// Bytes of a refused body that are read before it is answered.
    pub drain_bytes_max: u64,
    /// How long that may take.
    pub drain_timeout: Duration,
    /// How long no connection is taken after the system refused one.
    pub accept_pause: Duration,
    /// How long requests that are under way may take once the server is told to stop.
    pub shutdown_max: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections_max: CONNECTIONS_MAX,
            header_timeout: HEADER_TIMEOUT,
            write_timeout: WRITE_TIMEOUT,
            drain_bytes_max: DRAIN_BYTES_MAX,
            drain_timeout: DRAIN_TIMEOUT,
            accept_pause: ACCEPT_PAUSE,
            shutdown_max: SHUTDOWN_MAX,
        }
    }
}

/// Answers requests until `stop`. Then takes no more, and finishes those under way for at most [`SHUTDOWN_MAX`].
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) -> io::Result<()> {
    serve_within(listener, router, stop, ServeLimits::default()).await
}

/// The same within other limits.
pub async fn serve_within(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
    limits: ServeLimits,
) -> io::Result<()> {
    let (slots, idle) = (Arc::new(Semaphore::new(limits.connections_max)), Arc::new(IdleConnections::default()));
    let mut connections = JoinSet::new();
    loop {
        let ((stream, peer), slot) = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            taken = accept_connection(&listener, &slots, &idle, limits.accept_pause) => taken,
        };
        let connection = Arc::new(idle.connection_with(slot));
        let stopping = ServerStop(stop.clone());
        let service = ConnectionService { router: router.clone(), connection, peer: Peer(peer), stopping, limits };
        connections.spawn(serve_connection(stream, service, stop.clone()));
        // Those that have ended meanwhile.
        while connections.try_join_next().is_some() {}
    }
    // Whoever comes now is refused at once, rather than left waiting.
    drop(listener);
    let finish = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.shutdown_max, finish).await.is_err() {
        tracing::warn!(seconds = limits.shutdown_max.as_secs(), "requests cut off at shutdown");
    }
    Ok(())
}

/// The next connection, once there is a slot for it.
async fn accept_connection(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
    idle: &IdleConnections,
    pause: Duration,
) -> ((TcpStream, SocketAddr), Option<OwnedSemaphorePermit>) {
    let accepted = accept_with_retry(|| listener.accept(), pause).await;
    (accepted, acquire_slot(slots, idle).await)
}

/// A slot for a connection, if need be that of an idle one.
async fn acquire_slot(slots: &Arc<Semaphore>, idle: &IdleConnections) -> Option<OwnedSemaphorePermit> {
    loop {
        if let Ok(slot) = Arc::clone(slots).try_acquire_owned() {
            return Some(slot);
        }
        // Never closed, so it cannot fail; and if it were, no limit would be the smaller evil.
        let freed = Arc::clone(slots).acquire_owned();
        if idle.close_longest_idle() {
            return freed.await.ok();
        }
        tokio::select! {
            slot = freed => return slot.ok(),
            () = idle.joined() => {}
        }
    }
}

/// Accepts until it succeeds: no error of one connection, and no want of descriptors, ends the server.
async fn accept_with_retry<T, F: Future<Output = io::Result<T>>>(accept: impl Fn() -> F, pause: Duration) -> T {
    loop {
        match accept().await {
            Ok(connection) => return connection,
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "accept failed");
                tokio::time::sleep(pause).await;
            }
        }
    }
}

/// A client that was gone before it was met. The next may be there already.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Answers the requests of one connection, until it ends or, once told to stop, until the one under way is answered.
async fn serve_connection(stream: TcpStream, service: ConnectionService, stop: CancellationToken) {
    let (connection, limits) = (Arc::clone(&service.connection), service.limits);
    // Without looking for HTTP/2, which would wait for the first bytes without any limit.
    let mut server = auto::Builder::new(TokioExecutor::new()).http1_only();
    server.http1().timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_buf_size(HEADER_BYTES_MAX);
    let stream = TokioIo::new(Stream::new(stream, Arc::clone(&connection), limits.write_timeout));
    let mut serving = pin!(server.serve_connection(stream, TowerToHyperService::new(service)));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = connection.closed() => {
            tracing::debug!("idle connection closed");
            return;
        }
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        // A client that went away, sent no HTTP or was too slow: there is nobody to tell.
        tracing::debug!(%error, "connection failed");
    }
}

/// The router, for the requests of one connection.
#[derive(Clone)]
struct ConnectionService {
    router: Router,
    connection: Arc<Connection>,
    peer: Peer,
    stopping: ServerStop,
    limits: ServeLimits,
}

impl<B> Service<Request<B>> for ConnectionService
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { router, connection, peer, stopping, limits } = self.clone();
        Box::pin(async move {
            connection.set_busy();
            let expects_continue = expects_continue(request.headers());
            let (mut parts, body) = request.into_parts();
            parts.extensions.insert(peer);
            parts.extensions.insert(stopping);
            let body = SharedBody::new(Body::new(body), Arc::clone(&connection));
            let answer = router.oneshot(Request::from_parts(parts, Body::new(body.clone()))).await;
            let status = answer.as_ref().map(Response::status).unwrap_or_default();
            body.drain_if_refused(expects_continue, status, limits.drain_bytes_max, limits.drain_timeout).await;
            if answer.as_ref().is_ok_and(|answer| answer.extensions().get::<OpenEnded>().is_some()) {
                connection.release_slot();
                return answer;
            }
            // From here on it is the client who has to do something: take the answer, and ask again.
            connection.set_idle();
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn u8_accept_errors_are_retried_after_a_pause() {
        const EMFILE: i32 = 24;
        let pause = Duration::from_millis(20);
        let (begun, calls) = (Instant::now(), Cell::new(0));
        let accept = || {
            calls.set(calls.get() + 1);
            std::future::ready(match calls.get() {
                1 | 2 => Err(io::Error::from_raw_os_error(EMFILE)),
                3 => Err(io::ErrorKind::ConnectionAborted.into()),
                _ => Ok("a connection"),
            })
        };
        assert_eq!(accept_with_retry(accept, pause).await, "a connection");
        assert_eq!(calls.get(), 4);
        assert!(begun.elapsed() >= 2 * pause, "it asked again at once");
    }
}
