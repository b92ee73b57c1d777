//! What the commands work on: the API of the running server, over HTTP, where there is one; else the same API in this
//! process, over the store itself. So a command prints the same whichever it was.
//!
//! Commands ask for everything through it, but for what the API cannot do:
//! - `serve` is the API.
//! - `backup` copies the database, also while servers write to it; `restore` and `copy` fill one that nobody uses.
//! - `healthcheck` asks the address that a server listens on, as a container does.
//! - `doctor` looks at settings, files, the disk and `base_url` too: they matter most where no API answers.
//! - `parse` reads a document that nobody keeps.
//! - `webhook test` where no server runs: nobody would send what the API queues, so the engine sends it meanwhile
//!   ([`Backend::deliver_to`]).
//! - `renew` where no server runs is refused, because a hub asks back before it renews.

mod local;
mod remote;
mod server_token;

use std::{sync::Arc, time::Duration};

use anyhow::bail;
use async_trait::async_trait;
use engine::Engine;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use store::OpenError;
use tokio_util::sync::CancellationToken;

pub(crate) use self::remote::{Remote, announce, url_of, withdraw};
use crate::{commands, settings::Settings, wiring};

/// What the commands ask: the API. How a request reaches it, and what is known of it besides, is all that the two differ
/// in.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    /// Sends a request of the API: the text of its answer. One that is none of success is a [`Refused`].
    async fn send(&self, method: Method, path: &str, body: RequestBody) -> anyhow::Result<String>;
    /// Delivers what is due to one webhook until told to stop, where no server does.
    async fn deliver_to(&self, webhook: i64, stop: CancellationToken);
    /// Where hubs are told to reach it; without it push is off. Of a server, as it was started.
    fn base_url(&self) -> Option<&str>;
    /// Whether it is a running server.
    fn is_server(&self) -> bool;
    /// Which process it is, of a running server.
    fn instance(&self) -> Option<&str>;
    /// What it is, for people.
    fn name(&self) -> String;

    /// Any request, with a JSON body or none, that is answered with JSON or nothing.
    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let text = self.send(method, path, body.map_or(RequestBody::Empty, RequestBody::Json)).await?;
        if text.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
    }

    async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        match self.call(Method::GET, path, None).await? {
            Value::Array(list) => Ok(list),
            _ => bail!("the server's answer to {path} is no list"),
        }
    }

    async fn feeds(&self) -> anyhow::Result<Vec<Value>> {
        self.list("/api/feeds").await
    }

    async fn folders(&self) -> anyhow::Result<Vec<Value>> {
        self.list("/api/folders").await
    }

    async fn counts(&self) -> anyhow::Result<Value> {
        self.call(Method::GET, "/api/counts", None).await
    }

    /// The summary of a poll, or `None` if there is no such feed.
    async fn refresh_feed(&self, id: i64) -> anyhow::Result<Option<Value>> {
        match self.call(Method::POST, &format!("/api/feeds/{id}/refresh"), None).await {
            Ok(mut answer) => Ok(Some(answer["summary"].take())),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn import(&self, opml: Vec<u8>) -> anyhow::Result<Value> {
        let text = self.send(Method::POST, "/api/opml/import", RequestBody::Opml(opml)).await?;
        Ok(serde_json::from_str(&text)?)
    }

    async fn export(&self) -> anyhow::Result<String> {
        self.send(Method::GET, "/api/opml/export", RequestBody::Empty).await
    }

    async fn subscriptions(&self) -> anyhow::Result<Vec<Value>> {
        self.list("/api/websub/subscriptions").await
    }

    async fn renew(&self) -> anyhow::Result<Value> {
        self.call(Method::POST, "/api/websub/renew", None).await
    }

    /// Whether the store answers and, as far as it has noticed, takes writes.
    async fn ready(&self) -> anyhow::Result<()> {
        let ready = self.send(Method::GET, "/readyz", RequestBody::Empty);
        match tokio::time::timeout(READY_TIMEOUT, ready).await {
            Ok(ready) => ready.map(drop),
            Err(_) => bail!("{} does not answer", self.name()),
        }
    }
}

/// How long it may take to say whether it is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) enum RequestBody {
    Empty,
    Json(Value),
    Opml(Vec<u8>),
}

impl RequestBody {
    /// Its content type and its bytes.
    fn into_parts(self) -> Option<(&'static str, Vec<u8>)> {
        match self {
            Self::Empty => None,
            Self::Json(value) => Some(("application/json", value.to_string().into_bytes())),
            Self::Opml(bytes) => Some(("text/x-opml", bytes)),
        }
    }
}

/// An answer of the API that is none of success, with its sentence.
#[derive(Debug, thiserror::Error)]
#[error("{said}")]
pub(crate) struct Refused {
    status: StatusCode,
    said: String,
}

impl Refused {
    fn new(status: StatusCode, text: &str) -> Self {
        let body: Value = serde_json::from_str(text).unwrap_or_default();
        let said = body["error"].as_str().map_or_else(|| format!("the server answered {}", status.as_u16()), plain);
        // A feed that is known is named.
        let feed = body["feedId"].as_i64().map(|id| format!(": feed {id}"));
        Self { status, said: format!("{said}{}", feed.unwrap_or_default()) }
    }
}

/// How long another command may keep the data folder (it may refresh a thousand feeds), and how often it is asked for.
const WAIT_MAX: Duration = Duration::from_mins(30);
const WAIT: Duration = Duration::from_millis(200);

/// There is no embedded database where one is looked for.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no {what}: looked for {place}. `pirssonite`, `pirssonite add` and `pirssonite import` make one; \
     where there is one already, run this in the folder that the server was started in, or name the data folder with \
     --data-dir or PIRSSONITE_DATA_DIR"
)]
pub(crate) struct NoData {
    what: &'static str,
    pub(crate) place: String,
}

/// That there is an embedded database, if the settings name one. Only those who fill it, or come before a server's first
/// start, make a new one: whoever is in the wrong folder is told so, and does not see an empty list.
pub(crate) fn check_there(settings: &Settings) -> Result<(), NoData> {
    let file = wiring::database_file(settings);
    if settings.database_url.is_some() || file.exists() {
        return Ok(());
    }
    let (what, place) = if settings.data_dir.exists() {
        ("database here", file)
    } else {
        ("data folder here", settings.data_dir.clone())
    };
    Err(NoData { what, place: std::path::absolute(&place).unwrap_or(place).display().to_string() })
}

/// Finds what to work on: the server that uses the database, or the database itself, which must be there. Another command
/// that has the data folder is waited for, and a person told so.
pub(crate) async fn connect(settings: &Settings) -> anyhow::Result<Box<dyn Backend>> {
    find(settings, false).await
}

/// The same for commands that need none to begin with: where there is none, they make it, and say so.
pub(crate) async fn connect_or_create(settings: &Settings) -> anyhow::Result<Box<dyn Backend>> {
    find(settings, true).await
}

/// The API of an engine that runs in this process.
pub(crate) fn in_process(engine: Arc<Engine>) -> Box<dyn Backend> {
    Box::new(local::Local::new(engine))
}

async fn find(settings: &Settings, may_create: bool) -> anyhow::Result<Box<dyn Backend>> {
    match tokio::time::timeout(WAIT_MAX, wait_for(settings, may_create)).await {
        Ok(backend) => backend,
        Err(_) => {
            bail!("another process still uses {}: try again when it has ended", settings.data_dir.display())
        }
    }
}

async fn wait_for(settings: &Settings, may_create: bool) -> anyhow::Result<Box<dyn Backend>> {
    let mut is_reported = false;
    loop {
        if let Some(remote) = Remote::find(settings).await? {
            return Ok(Box::new(remote));
        }
        match check_there(settings) {
            Err(NoData { place, .. }) if may_create => {
                commands::print_notice(&format!("making a new data folder: {place}"));
            }
            there => there?,
        }
        match wiring::open_store(settings).await {
            Ok(store) => return Ok(Box::new(local::Local::new(wiring::build_engine(settings, store, None)?))),
            Err(error) if is_in_use(&error) => {}
            Err(error) => return Err(error),
        }
        if !std::mem::replace(&mut is_reported, true) {
            commands::print_notice(&format!(
                "another process uses {}: waiting for it to end",
                settings.data_dir.display()
            ));
        }
        tokio::time::sleep(WAIT).await;
    }
}

/// A sentence of the API's about a URL, without the field: whoever typed the URL knows which.
fn plain(said: &str) -> String {
    said.strip_prefix("`url`: ").unwrap_or(said).to_owned()
}

fn is_not_found(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refused>().is_some_and(|refused| refused.status == StatusCode::NOT_FOUND)
}

fn is_in_use(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref::<OpenError>(), Some(OpenError::InUse(..))))
}
