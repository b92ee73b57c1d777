//! A hub on loopback, in a process of its own, at several addresses: it answers 202, and verifies at once after that.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Context;
use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    routing::{get, post},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use url::{Url, form_urlencoded};

use super::{
    load::{self, Connection},
    subscriptions::LEASE,
};
use crate::process::Server;

/// Its addresses: of each at most four requests are under way, so that all of them allow 64.
pub(crate) const ADDRESSES: usize = 16;

/// What the challenge is; a hub that means it takes a new one for each.
const CHALLENGE: &str = "c2lnbmVkLWJ5LXRoZS1odWItb2YtdGhlLWJlbmNo";

/// The hub's process. It ends with this.
pub(crate) struct Hub {
    _process: Server,
    addresses: Vec<SocketAddr>,
}

/// What the hub has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) asked: u64,
    pub(crate) verified: u64,
    /// Who was asked to verify did not, or not so.
    pub(crate) not_verified: u64,
}

impl Hub {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let process = Server::start(&["push-hub"])?;
        Ok(Self { addresses: serde_json::from_str(&process.said)?, _process: process })
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.addresses.iter().map(|address| format!("http://{address}/")).collect()
    }

    pub(crate) fn counts(&self) -> anyhow::Result<Counts> {
        let address = self.addresses.first().context("it has addresses")?;
        Ok(serde_json::from_slice(&load::get(*address, "/counts")?)?)
    }
}

#[derive(Debug, Default)]
struct Seen {
    asked: AtomicU64,
    verified: AtomicU64,
    not_verified: AtomicU64,
    /// Connections to subscribers that nobody uses just now.
    idle: Mutex<HashMap<SocketAddr, Vec<Connection>>>,
}

/// The other side: serves until it is killed.
pub(crate) fn serve() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let seen = Arc::new(Seen::default());
        let router = Router::new().route("/", post(subscribe)).route("/counts", get(counts)).with_state(seen);
        let (mut addresses, mut servers) = (Vec::new(), Vec::new());
        for _ in 0..ADDRESSES {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            addresses.push(listener.local_addr()?);
            servers.push(axum::serve(listener, router.clone()).into_future());
        }
        println!("{}", serde_json::to_string(&addresses)?);
        futures_util::future::try_join_all(servers).await?;
        Ok(())
    })
}

async fn counts(State(seen): State<Arc<Seen>>) -> Json<Counts> {
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    Json(Counts { asked: read(&seen.asked), verified: read(&seen.verified), not_verified: read(&seen.not_verified) })
}

/// Without a callback there is nobody to verify it, and that is all.
async fn subscribe(State(seen): State<Arc<Seen>>, body: Bytes) -> StatusCode {
    seen.asked.fetch_add(1, Ordering::Relaxed);
    let parameters: HashMap<_, _> = form_urlencoded::parse(&body).into_owned().collect();
    if parameters.contains_key("hub.callback") {
        tokio::spawn(async move {
            let count = match verify(&seen, &parameters).await {
                Ok(()) => &seen.verified,
                Err(_) => &seen.not_verified,
            };
            count.fetch_add(1, Ordering::Relaxed);
        });
    }
    StatusCode::ACCEPTED
}

async fn verify(seen: &Seen, parameters: &HashMap<String, String>) -> anyhow::Result<()> {
    let parameter = |name: &str| parameters.get(name).with_context(|| format!("{name} is missing"));
    let callback = Url::parse(parameter("hub.callback")?)?;
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("hub.mode", parameter("hub.mode")?)
        .append_pair("hub.topic", parameter("hub.topic")?)
        .append_pair("hub.challenge", CHALLENGE)
        .append_pair("hub.lease_seconds", &LEASE.as_secs().to_string())
        .finish();
    let address: SocketAddr = callback.authority().parse()?;
    let request = format!("GET {}?{query} HTTP/1.1\r\nhost: {address}\r\n\r\n", callback.path());
    let idle = seen.lock_idle().get_mut(&address).and_then(Vec::pop);
    // One that was idle for long may be closed: then another.
    if let Some(mut connection) = idle
        && let Ok(()) = ask(&mut connection, &request).await
    {
        seen.lock_idle().entry(address).or_default().push(connection);
        return Ok(());
    }
    let mut connection = Connection::open(address).await?;
    ask(&mut connection, &request).await?;
    seen.lock_idle().entry(address).or_default().push(connection);
    Ok(())
}

async fn ask(connection: &mut Connection, request: &str) -> anyhow::Result<()> {
    const OK: u16 = 200;
    let answer = connection.ask(request.as_bytes()).await?;
    let status = answer.status;
    anyhow::ensure!(status == OK && answer.body == CHALLENGE.as_bytes(), "not the challenge, but {status}");
    Ok(())
}

impl Seen {
    fn lock_idle(&self) -> std::sync::MutexGuard<'_, HashMap<SocketAddr, Vec<Connection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
