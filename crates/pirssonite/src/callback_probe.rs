//! Whether hubs reach this server at its base URL, as far as that shows from this machine. It asks the callback itself,
//! because a careful proxy lets nothing else through, and changes nothing.

use std::{net::IpAddr, time::Duration};

use reqwest::{StatusCode, header};
use serde_json::Value;
use url::Url;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of an answer that are read: ours are shorter.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What every answer of ours carries: the process that gave it, and a number.
const REQUEST_ID: &str = "x-request-id";

/// What our callback asks of those who come without anything.
const ASKED_FOR: &str = "hub.mode";

/// Who answers at a base URL.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProbeResult {
    /// The process that was looked for.
    ThisServer,
    /// Another one of our kind.
    OtherServer,
    /// One of our kind; which does not show.
    UnknownInstance,
    /// None of our kind, and this is what it says.
    NotPirssonite(String),
    /// Nobody, because of this.
    Unreachable(String),
}

/// Asks the callback at a base URL who it is. `instance` is the process that is looked for.
pub(crate) async fn callback(base_url: &str, instance: Option<&str>, proxy: Option<&Url>) -> ProbeResult {
    let client = match client(proxy) {
        Ok(client) => client,
        Err(error) => return ProbeResult::Unreachable(root(&error)),
    };
    let answer = match ask(&client, &format!("{base_url}/api/websub/callback")).await {
        Ok(answer) => answer,
        Err(error) if error.is_timeout() => {
            return ProbeResult::Unreachable(format!("no answer within {} s", TIMEOUT.as_secs()));
        }
        Err(error) => return ProbeResult::Unreachable(root(&error)),
    };
    if !answer.is_ours() {
        return ProbeResult::NotPirssonite(answer.in_words());
    }
    let of = |instance: &str| answer.request_id.as_deref().is_some_and(|id| id.starts_with(&format!("{instance}-")));
    if instance.is_some_and(of) {
        return ProbeResult::ThisServer;
    }
    // A proxy may number requests in its own way. Where it lets us, we ask for the name.
    match named(&client, base_url).await {
        Some(name) if Some(name.as_str()) == instance => ProbeResult::ThisServer,
        Some(_) => ProbeResult::OtherServer,
        None => ProbeResult::UnknownInstance,
    }
}

/// The addresses of a URL's host, unless one of them is public.
pub(crate) async fn only_private(base_url: &str) -> Option<IpAddr> {
    let url = Url::parse(base_url).ok()?;
    let (host, port) = (url.host_str()?, url.port_or_known_default()?);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::time::timeout(TIMEOUT, tokio::net::lookup_host((host, port))).await.ok()?.ok()?;
    let addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    addresses.first().copied().filter(|_| addresses.iter().all(|address| is_private(*address)))
}

/// Whether an address is one of a machine's own, or of its network's.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            // Shared by a provider's customers (RFC 6598): of no use either.
            let is_shared = matches!(address.octets(), [100, 64..=127, ..]);
            is_shared
                || address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
        }
    }
}

fn client(proxy: Option<&Url>) -> reqwest::Result<reqwest::Client> {
    // A hub's push is not sent again to where a redirect leads.
    let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).timeout(TIMEOUT);
    match proxy {
        Some(proxy) => builder.proxy(reqwest::Proxy::all(proxy.clone())?).build(),
        None => builder.build(),
    }
}

struct Answer {
    status: StatusCode,
    request_id: Option<String>,
    location: Option<String>,
    body: Value,
}

impl Answer {
    fn is_ours(&self) -> bool {
        let said = self.body["error"].as_str().unwrap_or_default();
        self.status == StatusCode::BAD_REQUEST && said.contains(ASKED_FOR)
    }

    fn in_words(&self) -> String {
        match &self.location {
            Some(location) if self.status.is_redirection() => format!("it redirects to {location}"),
            _ => format!("it answers {}", self.status),
        }
    }
}

async fn ask(client: &reqwest::Client, url: &str) -> reqwest::Result<Answer> {
    let mut response = client.get(url).send().await?;
    let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (request_id, location) = (text(REQUEST_ID), text(header::LOCATION.as_str()));
    let status = response.status();
    let mut body = Vec::new();
    while body.len() <= ANSWER_BYTES_MAX
        && let Some(chunk) = response.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, request_id, location, body: serde_json::from_slice(&body).unwrap_or_default() })
}

/// What the process calls itself.
async fn named(client: &reqwest::Client, base_url: &str) -> Option<String> {
    let health = ask(client, &format!("{base_url}/healthz")).await.ok()?;
    health.body["instance"].as_str().map(str::to_owned)
}

/// What is at the bottom of an error: above it stands only that there was one.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w3_private_addresses_are_recognised() {
        for (address, expect) in [
            ("127.0.0.1", true),
            ("10.1.2.3", true),
            ("172.31.0.1", true),
            ("192.168.1.1", true),
            ("169.254.1.1", true),
            ("100.64.0.1", true),
            ("0.0.0.0", true),
            ("::1", true),
            ("fd00::1", true),
            ("fe80::1", true),
            ("::ffff:192.168.1.1", true),
            ("100.128.0.1", false),
            ("172.32.0.1", false),
            ("8.8.8.8", false),
            ("2a00:1450::1", false),
        ] {
            assert_eq!(is_private(address.parse().unwrap()), expect, "{address}");
        }
    }
}
