//! The running server, through its API. It leaves its address in the data folder while it runs.

use std::{net::SocketAddr, path::Path, time::Duration};

use anyhow::{Context, bail};
use async_trait::async_trait;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::Backend;

/// The file in the data folder that holds the server's address.
const ADDRESS_FILE: &str = "server.url";

/// How long one call may take: adding a feed waits for its publisher.
const CALL_TIMEOUT: Duration = Duration::from_mins(5);

/// How long the server may take to say that it is there.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Leaves the server's address for the commands.
pub(crate) fn announce(data_dir: &Path, listen: SocketAddr) -> std::io::Result<()> {
    let host = match listen {
        SocketAddr::V4(address) if address.ip().is_unspecified() => format!("127.0.0.1:{}", address.port()),
        SocketAddr::V6(address) if address.ip().is_unspecified() => format!("[::1]:{}", address.port()),
        address => address.to_string(),
    };
    std::fs::write(data_dir.join(ADDRESS_FILE), format!("http://{host}\n"))
}

/// Takes it away again.
pub(crate) fn withdraw(data_dir: &Path) {
    // Nothing depends on it: the lock says whether there is a server.
    let _ = std::fs::remove_file(data_dir.join(ADDRESS_FILE));
}

pub(crate) struct Remote {
    client: reqwest::Client,
    url: String,
}

impl Remote {
    /// The server that uses a data folder, if it has left its address there.
    pub(crate) async fn find(data_dir: &Path) -> anyhow::Result<Option<Self>> {
        let Ok(url) = std::fs::read_to_string(data_dir.join(ADDRESS_FILE)) else { return Ok(None) };
        let client = reqwest::Client::builder().no_proxy().timeout(CALL_TIMEOUT).build()?;
        let remote = Self { client, url: url.trim().to_owned() };
        let probe = remote.client.get(format!("{}/healthz", remote.url)).timeout(PROBE_TIMEOUT).send().await;
        probe
            .and_then(reqwest::Response::error_for_status)
            .with_context(|| format!("the server at {} does not answer", remote.url))?;
        Ok(Some(remote))
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let request = self.client.request(method, format!("{}{path}", self.url));
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        let text = self.text(request).await?;
        if text.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
    }

    /// Sends a request; an error of the API becomes an error with its sentence.
    async fn text(&self, request: reqwest::RequestBuilder) -> anyhow::Result<String> {
        let response = request.send().await.with_context(|| format!("the server at {} does not answer", self.url))?;
        let status = response.status();
        let text = response.text().await?;
        if status.is_success() {
            return Ok(text);
        }
        let said = serde_json::from_str::<Value>(&text).ok().and_then(|body| body["error"].as_str().map(str::to_owned));
        match said {
            Some(said) => bail!(said),
            None => bail!("the server answered {}", StatusCode::as_u16(&status)),
        }
    }

    async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        match self.call(Method::GET, path, None).await? {
            Value::Array(list) => Ok(list),
            _ => bail!("the server's answer to {path} is no list"),
        }
    }
}

#[async_trait]
impl Backend for Remote {
    async fn feeds(&self) -> anyhow::Result<Vec<Value>> {
        self.list("/api/feeds").await
    }

    async fn folders(&self) -> anyhow::Result<Vec<Value>> {
        self.list("/api/folders").await
    }

    async fn counts(&self) -> anyhow::Result<Value> {
        self.call(Method::GET, "/api/counts", None).await
    }

    async fn create_folder(&self, name: &str) -> anyhow::Result<Value> {
        self.call(Method::POST, "/api/folders", Some(json!({ "name": name }))).await
    }

    async fn delete_folder(&self, id: i64) -> anyhow::Result<()> {
        self.call(Method::DELETE, &format!("/api/folders/{id}"), None).await.map(drop)
    }

    async fn add(&self, url: &str, folder_id: Option<i64>, title: Option<&str>) -> anyhow::Result<Value> {
        self.call(Method::POST, "/api/feeds", Some(json!({ "url": url, "folderId": folder_id, "title": title }))).await
    }

    async fn refresh_feed(&self, id: i64) -> anyhow::Result<Value> {
        let mut answer = self.call(Method::POST, &format!("/api/feeds/{id}/refresh"), None).await?;
        Ok(answer["summary"].take())
    }

    async fn import(&self, opml: Vec<u8>) -> anyhow::Result<Value> {
        let request =
            self.client.post(format!("{}/api/opml/import", self.url)).header("content-type", "text/x-opml").body(opml);
        Ok(serde_json::from_str(&self.text(request).await?)?)
    }

    async fn export(&self) -> anyhow::Result<String> {
        self.text(self.client.get(format!("{}/api/opml/export", self.url))).await
    }

    fn is_server(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        format!("the server at {}", self.url)
    }
}
