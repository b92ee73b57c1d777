//! The measured server: all that the program serves, on a store with active subscriptions, and beside it, at the same
//! address, a route that only checks the signature.

use domain::account::READER;
use std::{collections::HashMap, fs::File, path::PathBuf, sync::Arc};

use anyhow::Context;
use axum::{
    Json, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use bytes::Bytes;
use domain::push::{Algorithm, Signature};
use engine::{Engine, PushSettings, SystemIds};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use web::{AppState, WebSettings};

use super::{
    subscriptions::{self, Plan},
    usage::Usage,
};
use crate::fixture::{Fixture, StoreLocation};

/// Pushes for one subscription in a minute: no push is to be refused for being one too many.
const PUSHES_PER_MINUTE: u32 = 1_000_000;

/// Where the hub would be, which nobody asks here.
pub(crate) const HUB: &str = "https://hub.example.org/";
/// And the feeds.
pub(crate) const PUBLISHER: &str = "https://example.org/feeds";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) location: StoreLocation,
    pub(crate) subscriptions: usize,
    /// Entries that each feed has before the first push.
    pub(crate) entries: usize,
    pub(crate) log: PathBuf,
}

/// What the server says of itself.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Status {
    pub(crate) usage: Usage,
    pub(crate) unread_entries: u64,
    pub(crate) is_durable: bool,
}

/// Logs as the program does by default, into a file.
pub(crate) fn start_logging(file: &std::path::Path) -> anyhow::Result<()> {
    let file = File::create(file).with_context(|| file.display().to_string())?;
    let filter = tracing_subscriber::EnvFilter::new("info");
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(file).init();
    Ok(())
}

/// All that the program serves.
pub(crate) fn router(engine: Arc<Engine>) -> anyhow::Result<Router> {
    let settings = WebSettings { pushes_per_minute: PUSHES_PER_MINUTE.try_into()?, ..WebSettings::default() };
    Ok(web::router(AppState::new(engine, web::install_metrics()?, settings, &SystemIds, "0")))
}

/// The other side: serves until it is killed.
pub(crate) fn serve(job: &Job) -> anyhow::Result<()> {
    start_logging(&job.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let base_url = format!("http://{address}");
        let fixture = Arc::new(Fixture::open(&job.location).await?);
        let hubs = [HUB.to_owned()];
        let plan = Plan {
            count: job.subscriptions,
            entries: job.entries,
            publisher: PUBLISHER,
            hubs: &hubs,
            base_url: &base_url,
        };
        plan.make(&*fixture.store).await?;
        fixture.vacuum_analyze().await?;
        let engine =
            fixture.engine_with(PushSettings { base_url: Some(base_url.clone()), ..PushSettings::default() })?;
        let secrets =
            (0..job.subscriptions).map(|number| (subscriptions::token(number), subscriptions::secret(number)));
        let secrets: Arc<HashMap<String, String>> = Arc::new(secrets.collect());
        let router = router(engine)?
            .route("/bare/{token}", post(bare).with_state(secrets))
            .route("/bare-status", get(status).with_state(fixture));
        println!("{address}");
        web::serve(listener, router, CancellationToken::new()).await?;
        Ok(())
    })
}

/// The peer: who is meant is known from memory, the signature is checked, and nothing is done with the push.
async fn bare(
    State(secrets): State<Arc<HashMap<String, String>>>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let Some(secret) = secrets.get(&token) else { return StatusCode::NOT_FOUND };
    let header = headers.get("x-hub-signature").and_then(|value| value.to_str().ok());
    match Signature::parse(header, &Algorithm::ALL) {
        Ok(signature) if signature.is_of(&body, secret) => StatusCode::NO_CONTENT,
        _ => StatusCode::FORBIDDEN,
    }
}

async fn status(State(fixture): State<Arc<Fixture>>) -> Result<Json<Status>, StatusCode> {
    let status = async {
        anyhow::Ok(Status {
            usage: Usage::now(Some(&fixture))?,
            unread_entries: fixture.store.counts(READER).await?.total,
            is_durable: fixture.is_durable().await?,
        })
    };
    status.await.map(Json).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}
