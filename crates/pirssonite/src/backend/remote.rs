//! The running server, through its API. It leaves its address in the data folder while it runs.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::Context;
use async_trait::async_trait;
use domain::ingest::Hash;
use reqwest::Method;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Backend, Refused, RequestBody, server_token};
use crate::settings::Settings;

/// How long one call may take: adding a feed waits for its publisher.
const CALL_TIMEOUT: Duration = Duration::from_mins(5);

/// How long the server may take to say that it is there.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The file in the data folder that holds the server's address: one for each database.
fn address_file(settings: &Settings) -> PathBuf {
    settings.data_dir.join(format!("{}.url", server_name(settings)))
}

/// What the files of the server are called that uses this database.
pub(super) fn server_name(settings: &Settings) -> String {
    match &settings.database_url {
        None => "server".to_owned(),
        Some(url) => {
            let hash: String = Hash::of(url.0.as_bytes()).0.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            format!("server-{hash}")
        }
    }
}

/// Where this machine reaches a server that listens there.
pub(crate) fn url_of(listen: SocketAddr) -> String {
    match listen {
        SocketAddr::V4(address) if address.ip().is_unspecified() => format!("http://127.0.0.1:{}", address.port()),
        SocketAddr::V6(address) if address.ip().is_unspecified() => format!("http://[::1]:{}", address.port()),
        address => format!("http://{address}"),
    }
}

/// Leaves the server's address for the commands, by what they know that it is still the same, and where hubs reach it.
pub(crate) fn announce(settings: &Settings, listen: SocketAddr, instance: &str, token: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(&settings.data_dir)?;
    // First: whoever finds the address needs it.
    server_token::write(settings, token)?;
    let base_url = settings.hubs_reach_us_at().unwrap_or_default();
    std::fs::write(address_file(settings), format!("{}\n{instance}\n{base_url}\n", url_of(listen)))
}

/// Takes it away again.
pub(crate) fn withdraw(settings: &Settings) {
    // Nothing depends on it: an address whose server is gone is not followed.
    let _ = std::fs::remove_file(address_file(settings));
    server_token::remove(settings);
}

pub(crate) struct Remote {
    client: reqwest::Client,
    url: String,
    instance: String,
    base_url: Option<String>,
    /// What it is asked with, if this user may read it.
    token: Option<String>,
}

impl Remote {
    /// The server that uses this database, if there is one: it has left its address, and answers there.
    pub(crate) async fn find(settings: &Settings) -> anyhow::Result<Option<Self>> {
        let Ok(left) = std::fs::read_to_string(address_file(settings)) else { return Ok(None) };
        let mut lines = left.lines();
        let (Some(url), Some(instance)) = (lines.next(), lines.next()) else { return Ok(None) };
        let base_url = lines.next().filter(|base_url| !base_url.is_empty()).map(str::to_owned);
        let token = settings.token.as_ref().map(|token| token.0.clone()).or_else(|| server_token::read(settings));
        let client = reqwest::Client::builder().no_proxy().timeout(CALL_TIMEOUT).build()?;
        let remote = Self { client, url: url.to_owned(), instance: instance.to_owned(), base_url, token };
        let health = remote.client.get(format!("{url}/healthz")).timeout(PROBE_TIMEOUT).send().await;
        let Ok(health) = health else { return Ok(None) };
        let health = health.text().await.unwrap_or_default();
        let health: Value = serde_json::from_str(&health).unwrap_or_default();
        // Another server may have the address of one that is gone.
        Ok((health["instance"] == instance).then_some(remote))
    }
}

#[async_trait]
impl Backend for Remote {
    async fn send(&self, method: Method, path: &str, body: RequestBody) -> anyhow::Result<String> {
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some((content_type, bytes)) = body.into_parts() {
            request = request.header("content-type", content_type).body(bytes);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.with_context(|| format!("the server at {} does not answer", self.url))?;
        let status = response.status();
        let text = response.text().await?;
        if status.is_success() { Ok(text) } else { Err(Refused::new(status, &text).into()) }
    }

    async fn deliver_to(&self, _webhook: i64, stop: CancellationToken) {
        // The server does.
        stop.cancelled().await;
    }

    fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    fn is_server(&self) -> bool {
        true
    }

    fn instance(&self) -> Option<&str> {
        Some(&self.instance)
    }

    fn name(&self) -> String {
        format!("the server at {}", self.url)
    }
}
