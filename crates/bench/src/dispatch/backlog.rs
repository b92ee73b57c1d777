//! Memory of a node that has a million deliveries to make, while it makes them.

use std::{net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    answer, fill,
    node::{Meter, Node},
    places,
    sink::{Sink, Watch},
    throughput::{WEBHOOKS, settings},
};
use crate::{
    report::{Mark, Table, Tally, mb},
    world::{Place, World},
};

const BACKLOG: usize = 1_000_000;

/// How long it delivers.
const DRAIN: Duration = Duration::from_secs(5);

const MEMORY_BYTES_MAX: usize = 100_000_000;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    place: Place,
    sink: SocketAddr,
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
    let sink = Sink::start()?;
    for place in places(folder.path(), "dispatch_backlog")? {
        let name = place.name();
        let job =
            fill::Job { place: place.clone(), sink: sink.address, webhooks: WEBHOOKS, events: BACKLOG / WEBHOOKS };
        let () = answer(&super::Job::Fill(job))?;
        let meter: Meter = answer(&super::Job::Backlog(Job { place, sink: sink.address }))?;
        let peak_bytes = meter.usage.peak_bytes;
        let each_ms = |secs: f64| format!("{:.3}", secs * 1000.0 / meter.requests());
        let cells = [
            name.to_owned(),
            format!("{:.0}", meter.a_second(meter.requests())),
            each_ms(meter.usage.cpu_secs),
            each_ms(meter.usage.database_cpu_secs),
            format!("{:.0}", mb(peak_bytes)),
            format!("{:.2}", mb(peak_bytes) / mb(MEMORY_BYTES_MAX)),
            format!("< {:.0} MB", mb(MEMORY_BYTES_MAX)),
        ];
        table.row(&cells, Mark::of(peak_bytes < MEMORY_BYTES_MAX), "");
    }
    table.print(tally);
    Ok(())
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Meter> {
        let mut watch = Watch::open(self.sink).await?;
        let mut node = Node::new(World::open(&self.place).await?, settings(), None)?;
        let start = node.meter(&mut watch).await?;
        node.start();
        tokio::time::sleep(DRAIN).await;
        let measured = node.meter(&mut watch).await?.since(start);
        anyhow::ensure!(measured.requests > 0, "nothing was delivered");
        anyhow::ensure!(measured.requests < BACKLOG as u64, "the backlog was too short");
        node.stop().await?;
        Ok(measured)
    }
}
