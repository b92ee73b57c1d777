//! Memory of a node that has a million deliveries to make, while it makes them.

use std::{net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    empty_stores, fill,
    node::{Counters, Node},
    receiver::{ReceiverMonitor, ReceiverProcess},
    run_job,
    throughput::{WEBHOOKS, settings},
};
use crate::{
    fixture::{Fixture, StoreLocation},
    report::{Rating, Table, Tally, mb},
};

const BACKLOG: usize = 1_000_000;

/// How long it delivers.
const DRAIN: Duration = Duration::from_secs(5);

const MEMORY_BYTES_MAX: usize = 100_000_000;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    location: StoreLocation,
    receiver: SocketAddr,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let title = format!(
        "dispatch: {BACKLOG} deliveries pending over {WEBHOOKS} webhooks, delivered for {} s\n\
         peak: the most memory that the process ever had; of limit: that, beside what it may have",
        DRAIN.as_secs(),
    );
    let head = ["", "a second", "CPU ms", "database", "peak MB", "of limit", "limit"];
    let mut table = Table::new(title, &head);
    let receiver = ReceiverProcess::start()?;
    for location in empty_stores(folder.path(), "dispatch_backlog")? {
        let name = location.name();
        let job = fill::Job {
            location: location.clone(),
            receiver: receiver.address,
            webhooks: WEBHOOKS,
            events: BACKLOG / WEBHOOKS,
        };
        let () = run_job(&super::Job::Fill(job))?;
        let counters: Counters = run_job(&super::Job::Backlog(Job { location, receiver: receiver.address }))?;
        let peak_bytes = counters.usage.peak_bytes;
        let each_ms = |secs: f64| format!("{:.3}", secs * 1000.0 / counters.requests());
        let cells = [
            name.to_owned(),
            format!("{:.0}", counters.a_second(counters.requests())),
            each_ms(counters.usage.cpu_secs),
            each_ms(counters.usage.database_cpu_secs),
            format!("{:.0}", mb(peak_bytes)),
            format!("{:.2}", mb(peak_bytes) / mb(MEMORY_BYTES_MAX)),
            format!("< {:.0} MB", mb(MEMORY_BYTES_MAX)),
        ];
        table.row(&cells, Rating::of(peak_bytes < MEMORY_BYTES_MAX), "");
    }
    table.print(tally);
    Ok(())
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Counters> {
        let mut monitor = ReceiverMonitor::open(self.receiver).await?;
        let mut node = Node::new(Fixture::open(&self.location).await?, settings(), None)?;
        let start = node.counters(&mut monitor).await?;
        node.start();
        tokio::time::sleep(DRAIN).await;
        let measured = node.counters(&mut monitor).await?.since(start);
        anyhow::ensure!(measured.requests > 0, "nothing was delivered");
        anyhow::ensure!(measured.requests < BACKLOG as u64, "the backlog was too short");
        node.stop().await?;
        Ok(measured)
    }
}
