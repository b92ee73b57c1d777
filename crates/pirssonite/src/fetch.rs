//! Fetches one document for the command line, at the request of the person at it.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context, bail};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TOTAL_TIMEOUT: Duration = Duration::from_mins(1);
const REDIRECTS_MAX: usize = 10;

/// What is asked for, most wanted first.
const ACCEPT: &str = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, text/html;q=0.7, */*;q=0.5";

/// A document with what its server said of it.
#[derive(Debug)]
pub(crate) struct FetchedDocument {
    pub(crate) bytes: Vec<u8>,
    /// Where it was found, after redirects.
    pub(crate) url: String,
    /// Headers by lower-case name.
    pub(crate) headers: HashMap<String, String>,
}

/// Fetches a document of at most one byte more than `max_bytes`.
pub(crate) fn get(url: &str, max_bytes: usize) -> anyhow::Result<FetchedDocument> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(get_async(url, max_bytes))
}

async fn get_async(url: &str, max_bytes: usize) -> anyhow::Result<FetchedDocument> {
    let client = reqwest::Client::builder()
        .user_agent(concat!("pirssonite/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TOTAL_TIMEOUT)
        .redirect(reqwest::redirect::Policy::limited(REDIRECTS_MAX))
        .build()?;
    let request = client.get(url).header("accept", ACCEPT);
    let mut response = request
        .send()
        .await
        .map_err(reqwest::Error::without_url)
        .with_context(|| format!("cannot reach {}", host_of(url)))?;
    if !response.status().is_success() {
        bail!("{} answered {}", host_of(url), response.status());
    }
    let headers = response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    let url = response.url().to_string();
    let mut bytes = Vec::new();
    while bytes.len() <= max_bytes
        && let Some(chunk) =
            response.chunk().await.map_err(reqwest::Error::without_url).context("the answer broke off")?
    {
        bytes.extend_from_slice(&chunk);
    }
    Ok(FetchedDocument { bytes, url, headers })
}

/// A URL's host: all of it that may be shown, because the rest may hold a password.
fn host_of(url: &str) -> String {
    reqwest::Url::parse(url)
        .ok()
        .and_then(|url| url.host_str().map(str::to_owned))
        .unwrap_or_else(|| "the URL".to_owned())
}
