//! A publisher in a process of its own, so that what it costs is not counted: feeds with their versions, on loopback.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;

use crate::{feeds, process::Server};

/// Entries of each feed.
pub(crate) const ENTRIES: usize = 50;

/// Entries of each small feed.
pub(crate) const SMALL_ENTRIES: usize = 3;

/// How many different documents there are; feeds beyond that repeat them.
const DOCUMENTS: usize = 200;

/// The one version of every feed.
pub(crate) const ETAG: &str = "\"1\"";

/// The publisher's process. It ends with this.
pub(crate) struct Publisher {
    _process: Server,
    pub(crate) url: String,
}

impl Publisher {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let process = Server::start(&["publish"])?;
        Ok(Self { url: process.said.clone(), _process: process })
    }
}

/// The other side: serves until it is killed.
pub(crate) fn publish() -> anyhow::Result<()> {
    let documents: Vec<Bytes> = (0..DOCUMENTS).map(|number| feeds::weblog(ENTRIES, number as u64).into()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // At every address of loopback: each is a host of its own to those who ask.
        let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await?;
        println!("http://127.0.0.1:{}", listener.local_addr()?.port());
        let router = Router::new()
            .route("/{number}", get(answer))
            .route("/small/{number}", get(small))
            .with_state(Arc::new(documents));
        axum::serve(listener, router).await?;
        Ok(())
    })
}

/// A feed of a few entries.
async fn small(Path(number): Path<u64>, headers: HeaderMap) -> Response {
    if headers.get(header::IF_NONE_MATCH).is_some_and(|etag| etag == ETAG) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, ETAG)]).into_response();
    }
    let document = feeds::weblog(SMALL_ENTRIES, number);
    ([(header::ETAG, ETAG), (header::CONTENT_TYPE, "application/rss+xml")], document).into_response()
}

async fn answer(State(documents): State<Arc<Vec<Bytes>>>, Path(number): Path<usize>, headers: HeaderMap) -> Response {
    if headers.get(header::IF_NONE_MATCH).is_some_and(|etag| etag == ETAG) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, ETAG)]).into_response();
    }
    let document = documents[number % documents.len()].clone();
    ([(header::ETAG, ETAG), (header::CONTENT_TYPE, "application/rss+xml")], document).into_response()
}
