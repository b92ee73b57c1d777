//! The peer: the same kind of client, as many requests at once, with the same bodies and as many headers, and nothing
//! else. Nothing is signed, nothing is read from a store, and nothing is kept.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{
    fill::BODY_BYTES,
    receiver::{ReceiverMode, url},
};
use crate::push::usage::Usage;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) receiver: SocketAddr,
    pub(crate) webhooks: usize,
    pub(crate) requests: usize,
    pub(crate) at_once: usize,
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Usage> {
        let (client, next) = (client()?, Arc::new(AtomicUsize::new(0)));
        let body = Bytes::from(vec![b'x'; BODY_BYTES]);
        let start = Usage::now(None)?;
        let workers = (0..self.at_once).map(|worker| {
            let url = url(self.receiver, ReceiverMode::Accept, worker % self.webhooks);
            let (client, body, next, requests) = (client.clone(), body.clone(), Arc::clone(&next), self.requests);
            tokio::spawn(async move {
                while next.fetch_add(1, Ordering::Relaxed) < requests {
                    post(&client, &url, body.clone()).await?;
                }
                anyhow::Ok(())
            })
        });
        for worker in workers.collect::<Vec<_>>() {
            worker.await??;
        }
        Ok(Usage::now(None)?.since(start))
    }
}

/// A client as others use it.
pub(super) fn client() -> anyhow::Result<reqwest::Client> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(reqwest::Client::builder().no_proxy().user_agent("bare").pool_max_idle_per_host(64).build()?)
}

pub(super) async fn post(client: &reqwest::Client, url: &str, body: impl Into<reqwest::Body>) -> anyhow::Result<()> {
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("webhook-id", "evt_0123456789abcdef01234567")
        .header("webhook-timestamp", "1700000000")
        .header("webhook-signature", "v1,MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
        .header("idempotency-key", "evt_0123456789abcdef01234567")
        .header("pirssonite-attempt", "1");
    request.body(body).send().await?.error_for_status()?.bytes().await?;
    Ok(())
}
