//! A hub on loopback, in a process of its own, at several addresses: it answers 202, and verifies at once after that.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use testkit::{Behaviour, Lease, Page, Receiver, Verify};

use super::{load, subscriptions::LEASE};
use crate::process::ServerProcess;

/// Its addresses: of each at most four requests are in flight, so that all of them allow 64.
pub(crate) const ADDRESSES: usize = 16;

/// The hub's process. It ends with this.
pub(crate) struct Hub {
    _process: ServerProcess,
    addresses: Addresses,
}

#[derive(Debug, Serialize, Deserialize)]
struct Addresses {
    hubs: Vec<SocketAddr>,
    /// Where [`Counts`] are asked for.
    counts: SocketAddr,
}

/// What the hub has seen, at all of its addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    pub(crate) confirmed: u64,
    pub(crate) unconfirmed: u64,
    /// The status and the body of the last answer that did not confirm.
    pub(crate) last_unconfirmed: Option<String>,
}

impl Hub {
    /// One that verifies, or only answers.
    pub(crate) fn start(is_verifying: bool) -> anyhow::Result<Self> {
        let arguments: &[&str] = if is_verifying { &["push-hub", "--verifying"] } else { &["push-hub"] };
        let process = ServerProcess::start(arguments)?;
        Ok(Self { addresses: serde_json::from_str(&process.ready_line)?, _process: process })
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.addresses.hubs.iter().map(|address| format!("http://{address}/")).collect()
    }

    pub(crate) fn counts(&self) -> anyhow::Result<Counts> {
        serde_json::from_slice(&load::get(self.addresses.counts, "/counts")?).context("the hub's counts")
    }
}

/// The other side: serves until it is killed.
pub(crate) fn serve(is_verifying: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let verify = if is_verifying { Verify::AfterAnswer } else { Verify::Never };
        let behaviour = Behaviour { verify, lease: Lease::Secs(LEASE.as_secs()), ..Behaviour::default() };
        let hubs = Arc::new(join_all((0..ADDRESSES).map(|_| testkit::Hub::start())).await);
        for hub in hubs.iter() {
            hub.record(false);
            hub.script(behaviour.clone());
        }
        let (control, counted) = (Receiver::start().await, Arc::clone(&hubs));
        let counts = move |_: &_| Page::body(serde_json::to_vec(&counts(&counted)).unwrap_or_default());
        control.answer_by("/counts", counts);
        let addresses = Addresses { hubs: hubs.iter().map(testkit::Hub::address).collect(), counts: control.address() };
        println!("{}", serde_json::to_string(&addresses)?);
        std::future::pending().await
    })
}

fn counts(hubs: &[testkit::Hub]) -> Counts {
    hubs.iter().map(testkit::Hub::counts).fold(Counts::default(), |sum, hub| {
        let describe = |answer: testkit::CallbackAnswer| format!("{} {}", answer.status, answer.text());
        Counts {
            requests: sum.requests + hub.requests,
            confirmed: sum.confirmed + hub.confirmed,
            unconfirmed: sum.unconfirmed + hub.unconfirmed,
            last_unconfirmed: hub.last_unconfirmed.map(describe).or(sum.last_unconfirmed),
        }
    })
}
