//! One event at a time on an idle system: how long it takes from its commit to its receiver, beside one request of a
//! plain client on its way to the same receiver.

use std::{net::SocketAddr, time::Duration};

use engine::DeliverySettings;
use serde::{Deserialize, Serialize};

use super::{
    bare, empty_stores,
    event_source::{BASE_URL, EventSource, Latencies, PublishedEvent},
    fill::make_webhooks,
    node::Node,
    receiver::{ReceiverMode, ReceiverMonitor, ReceiverProcess, url},
    run_job,
};
use crate::{
    fixture::{Fixture, StoreLocation},
    process,
    push::load_average,
    report::{Rating, Table, Tally},
};

const EVENTS: usize = 200;
const EVERY: Duration = Duration::from_millis(40);

/// The same of another, by its own account: on the average.
const GRAPHILE_MS: f64 = 4.16;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    receiver: SocketAddr,
    /// `None` for the plain client.
    location: Option<StoreLocation>,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let title = format!(
        "dispatch: {EVENTS} events, one every {} ms, to one webhook\n\
         from when the commit was known to the receipt; from the call: with the commit; bare: a plain client, from its \
         call to the receipt\n\
         load average before: {} (elsewhere, by its own account: graphile-worker, from add_job to the start of the job, \
         {GRAPHILE_MS} ms on the average, 13.84 at most)",
        EVERY.as_millis(),
        load_average(),
    );
    let head =
        ["", "median ms", "99th ms", "most ms", "median from the call", "99th from the call", "x bare", "x graphile"];
    let mut table = Table::new(title, &head);
    let bare = measure(None)?;
    table.row(&cells("bare", &bare, &bare), Rating::None, "");
    for location in empty_stores(folder.path(), "dispatch_alone")? {
        let name = location.name();
        let latencies = measure(Some(location))?;
        anyhow::ensure!(latencies.missing == 0, "{} events never arrived", latencies.missing);
        table.row(&cells(name, &latencies, &bare), Rating::None, "");
    }
    table.print(tally);
    Ok(())
}

fn measure(location: Option<StoreLocation>) -> anyhow::Result<Latencies> {
    let receiver = ReceiverProcess::start()?;
    run_job(&super::Job::Alone(Job { receiver: receiver.address, location }))
}

fn cells(name: &str, latencies: &Latencies, bare: &Latencies) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.2}", latencies.median_ms),
        format!("{:.2}", latencies.percentile_99_ms),
        format!("{:.2}", latencies.most_ms),
        format!("{:.2}", latencies.asked_median_ms),
        format!("{:.2}", latencies.asked_percentile_99_ms),
        format!("{:.1}", latencies.asked_median_ms / bare.asked_median_ms),
        format!("{:.1}", latencies.asked_median_ms / GRAPHILE_MS),
    ]
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Latencies> {
        let mut monitor = ReceiverMonitor::open(self.receiver).await?;
        let url = url(self.receiver, ReceiverMode::AcceptAndRecord, 0);
        let Some(location) = self.location else { return post_all(&url, &mut monitor).await };
        let fixture = Fixture::open(&location).await?;
        let source = EventSource::make(&*fixture.store).await?;
        let mut node = Node::new(fixture, DeliverySettings::default(), Some(BASE_URL.to_owned()))?;
        make_webhooks(node.engine(), [url]).await?;
        node.fixture.vacuum_analyze().await?;
        node.start();
        source.push(&*node.fixture.store, &mut monitor, EVENTS, EVERY).await
    }
}

async fn post_all(url: &str, monitor: &mut ReceiverMonitor) -> anyhow::Result<Latencies> {
    let client = bare::client()?;
    let mut published = Vec::new();
    for number in 0..EVENTS {
        tokio::time::sleep(EVERY / 4).await;
        let guid = format!("urn:bare:{number}");
        let asked_secs = process::wall_secs();
        bare::post(&client, url, format!(r#"{{"guid":"{guid}"}}"#)).await?;
        published.push(PublishedEvent { guid, asked_secs, committed_secs: asked_secs });
    }
    Ok(Latencies::of(&published, &monitor.arrivals().await?))
}
