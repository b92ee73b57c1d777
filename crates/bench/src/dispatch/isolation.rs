//! Receivers that are slow, hang or refuse, each with a long backlog, beside one that works: how long what is new takes
//! to arrive there. All of them want all events.

use domain::ports::Viewer;
use std::{net::SocketAddr, time::Duration};

use engine::DeliverySettings;
use serde::{Deserialize, Serialize};
use tokio::net::TcpSocket;

use super::{
    empty_stores,
    event_source::{BASE_URL, EventSource, Latencies},
    fill::{fill, make_webhooks},
    node::Node,
    receiver::{ReceiverMode, ReceiverMonitor, ReceiverProcess, url},
    run_job,
};
use crate::{
    fixture::{Fixture, StoreLocation},
    push::load_average,
    report::{Rating, Table, Tally},
};

const BACKLOG: usize = 10_000;
const SLOW_MS: u64 = 5000;
const DEAD: usize = 100;

/// How long the trouble goes on before the first event.
const TROUBLE: Duration = Duration::from_secs(1);

/// Events, fifty a second.
const EVENTS: usize = 850;
const EVERY: Duration = Duration::from_millis(20);

const LIMIT_MS: f64 = 500.0;
const SVIX_MS: f64 = 9300.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Scenario {
    Slow,
    Dead,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    location: StoreLocation,
    receiver: SocketAddr,
    scenario: Scenario,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    latencies: Latencies,
    /// What the others have still before them.
    pending: u64,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let title = format!(
        "dispatch: {EVENTS} events, one every {} ms, to a webhook that answers at once, beside others with a backlog of \
         {BACKLOG}\n\
         slow: one that takes {} s to answer; dead: {} that hang and {} that refuse connections\n\
         from when the commit was known to the receipt; from the call: with the commit; load average before: {} \
         (elsewhere: Svix beside a slow one, 99th {:.1} s)",
        EVERY.as_millis(),
        SLOW_MS / 1000,
        DEAD / 2,
        DEAD / 2,
        load_average(),
        SVIX_MS / 1000.0,
    );
    let head = ["", "median ms", "99th ms", "most ms", "99th from the call", "of Svix's", "of limit", "limit"];
    let mut table = Table::new(title, &head);
    for (scenario, name) in [(Scenario::Slow, "slow"), (Scenario::Dead, "dead")] {
        for location in empty_stores(folder.path(), &format!("dispatch_{name}"))? {
            let (receiver, store) = (ReceiverProcess::start()?, location.name());
            let job = Job { location, receiver: receiver.address, scenario };
            let Measured { latencies, pending } = run_job(&super::Job::Isolation(job))?;
            let worst_ms = latencies.asked_percentile_99_ms;
            let cells = [
                format!("{store}, {name}"),
                format!("{:.1}", latencies.median_ms),
                format!("{:.1}", latencies.percentile_99_ms),
                format!("{:.1}", latencies.most_ms),
                format!("{worst_ms:.1}"),
                format!("{:.4}", worst_ms / SVIX_MS),
                format!("{:.2}", worst_ms / LIMIT_MS),
                format!("< {LIMIT_MS:.0} ms"),
            ];
            let is_kept = latencies.missing == 0 && worst_ms < LIMIT_MS;
            let remark = format!("{pending} pending at the end, {} events never arrived", latencies.missing);
            table.row(&cells, Rating::of(is_kept), remark);
        }
    }
    table.print(tally);
    Ok(())
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Measured> {
        let mut monitor = ReceiverMonitor::open(self.receiver).await?;
        let fixture = Fixture::open(&self.location).await?;
        let source = EventSource::make(&*fixture.store).await?;
        let mut node = Node::new(fixture, DeliverySettings::default(), Some(BASE_URL.to_owned()))?;
        // Bound, and nothing listens: whoever comes is refused.
        let refusing = TcpSocket::new_v4()?;
        refusing.bind("127.0.0.1:0".parse()?)?;
        let refusing = (refusing.local_addr()?, refusing);
        let urls = match self.scenario {
            Scenario::Slow => vec![url(self.receiver, ReceiverMode::Delay { after_ms: SLOW_MS, but_first: 0 }, 0)],
            Scenario::Dead => {
                let hanging = (0..DEAD / 2).map(|number| url(self.receiver, ReceiverMode::Hang, number));
                hanging.chain((0..DEAD / 2).map(|number| url(refusing.0, ReceiverMode::Accept, number))).collect()
            }
        };
        let troubled = make_webhooks(node.engine(), urls).await?;
        fill(&self.location, &troubled, BACKLOG / troubled.len()).await?;
        make_webhooks(node.engine(), [url(self.receiver, ReceiverMode::AcceptAndRecord, 0)]).await?;
        node.fixture.vacuum_analyze().await?;
        node.start();
        tokio::time::sleep(TROUBLE).await;
        let latencies = source.push(&*node.fixture.store, &mut monitor, EVENTS, EVERY).await?;
        let pending = node.fixture.store.outbox_overview(Viewer::Server).await?.pending;
        drop(refusing.1);
        Ok(Measured { latencies, pending })
    }
}
