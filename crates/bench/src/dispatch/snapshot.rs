//! Deliveries while an old snapshot is open on PostgreSQL, as by a `pg_dump`: nothing that dies meanwhile is removed from
//! tables and indexes. What that costs shows only when much has died, so the second half is what counts.

use std::{net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    fill::{fill, make_webhooks},
    node::Node,
    receiver::{ReceiverMode, ReceiverMonitor, ReceiverProcess, url},
    run_job,
    throughput::{WEBHOOKS, settings},
};
use crate::{
    fixture::{Fixture, StoreLocation},
    postgres, process,
    push::{load_average, usage::Usage},
    report::{Rating, Table, Tally},
};

/// Deliveries are queued in batches, each when the one before has arrived.
const BATCHES: usize = 8;
const BATCH: usize = 30_000;

/// The limit: of the rate without a snapshot.
const OF_WITHOUT_MIN: f64 = 0.7;

/// How long a batch is waited for, and how often it is looked.
const BATCH_SECS_MAX: f64 = 120.0;
const LOOK_PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    url: String,
    receiver: SocketAddr,
    has_snapshot: bool,
}

/// What a batch took, from its first arrival to its last.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Batch {
    arrived: u64,
    usage: Usage,
}

/// Of several batches together.
#[derive(Debug, Clone, Copy)]
struct Rate {
    per_sec: f64,
    database_ms: f64,
}

impl Rate {
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    fn of(batches: &[Batch]) -> Self {
        let arrived = batches.iter().map(|batch| batch.arrived).sum::<u64>() as f64;
        let sum = |of: fn(&Usage) -> f64| batches.iter().map(|batch| of(&batch.usage)).sum::<f64>();
        let (wall_secs, database_secs) = (sum(|usage| usage.wall_secs), sum(|usage| usage.database_cpu_secs));
        Self { per_sec: arrived / wall_secs, database_ms: database_secs * 1000.0 / arrived }
    }

    fn of_halves(batches: &[Batch]) -> [Self; 2] {
        let (first, second) = batches.split_at(batches.len().min(BATCHES / 2));
        [Self::of(first), Self::of(second)]
    }
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let title = format!(
        "dispatch: {BATCHES} batches of {BATCH} deliveries on PostgreSQL, over {WEBHOOKS} webhooks\n\
         the rate in the first and in the second half, each batch from its first arrival to its last; database: CPU \
         ms of PostgreSQL's processes for one\n\
         load average before: {}",
        load_average(),
    );
    let head = ["", "first a second", "second a second", "first database", "second database", "of without", "limit"];
    let mut table = Table::new(title, &head);
    let without = measure("bench_dispatch_no_snapshot", false)?;
    let with = measure("bench_dispatch_snapshot", true)?;
    let second = |batches: &[Batch]| Rate::of_halves(batches)[1].per_sec;
    let of_without = second(&with) / second(&without);
    table.row(&cells("without a snapshot", &without, 1.0, String::new()), Rating::None, "");
    let is_all = with.len() == BATCHES && with.iter().all(|batch| batch.arrived == BATCH as u64);
    let remark = if is_all { "" } else { "not all arrived in time" };
    let rating = Rating::of(is_all && of_without >= OF_WITHOUT_MIN);
    let limit = format!(">= {OF_WITHOUT_MIN:.1} of without");
    table.row(&cells("with an old snapshot open", &with, of_without, limit), rating, remark);
    table.print(tally);
    Ok(())
}

fn measure(database: &str, has_snapshot: bool) -> anyhow::Result<Vec<Batch>> {
    let (receiver, url) = (ReceiverProcess::start()?, postgres::fresh(database)?);
    run_job(&super::Job::Snapshot(Job { url, receiver: receiver.address, has_snapshot }))
}

fn cells(name: &str, batches: &[Batch], of_without: f64, limit: String) -> Vec<String> {
    let [first, second] = Rate::of_halves(batches);
    vec![
        name.to_owned(),
        format!("{:.0}", first.per_sec),
        format!("{:.0}", second.per_sec),
        format!("{:.3}", first.database_ms),
        format!("{:.3}", second.database_ms),
        format!("{of_without:.2}"),
        limit,
    ]
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Vec<Batch>> {
        let mut monitor = ReceiverMonitor::open(self.receiver).await?;
        let location = StoreLocation::Postgres { url: self.url.clone() };
        let mut node = Node::new(Fixture::open(&location).await?, settings(), None)?;
        let urls = (0..WEBHOOKS).map(|number| url(self.receiver, ReceiverMode::Accept, number));
        let webhooks = make_webhooks(node.engine(), urls).await?;
        let snapshot = if self.has_snapshot { Some(postgres::old_snapshot(&self.url).await?) } else { None };
        node.start();
        let mut batches = Vec::new();
        for _ in 0..BATCHES {
            let before = monitor.counts().await?.requests;
            fill(&location, &webhooks, BATCH / WEBHOOKS).await?;
            batches.push(arrive(&node, &mut monitor, before).await?);
            if batches.last().is_some_and(|batch| batch.arrived < BATCH as u64) {
                break;
            }
        }
        drop(snapshot);
        Ok(batches)
    }
}

/// Waits until a batch has arrived, or for long enough.
async fn arrive(node: &Node, monitor: &mut ReceiverMonitor, before: u64) -> anyhow::Result<Batch> {
    let asked_secs = process::wall_secs();
    let mut start = None;
    loop {
        let arrived = monitor.counts().await?.requests - before;
        if arrived > 0 && start.is_none() {
            start = Some(Usage::now(Some(&node.fixture))?);
        }
        if arrived >= BATCH as u64 || process::wall_secs() - asked_secs > BATCH_SECS_MAX {
            let end = Usage::now(Some(&node.fixture))?;
            return Ok(Batch { arrived, usage: end.since(start.unwrap_or_default()) });
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}
