//! Deliveries while an old snapshot is open on PostgreSQL, as by a `pg_dump`: nothing that dies meanwhile is removed from
//! tables and indexes. What that costs shows only when much has died, so the second half is what counts.

use std::{net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    answer,
    fill::{fill, make_webhooks},
    node::Node,
    sink::{Manner, Sink, Watch, url},
    throughput::{WEBHOOKS, settings},
};
use crate::{
    postgres, process,
    push::{load_average, usage::Usage},
    report::{Mark, Table, Tally},
    world::{Place, World},
};

/// Deliveries are queued in portions, each when the one before has arrived.
const PORTIONS: usize = 8;
const PORTION: usize = 30_000;

/// The limit: of the rate without a snapshot.
const OF_WITHOUT_MIN: f64 = 0.7;

/// How long a portion is waited for, and how often it is looked.
const PORTION_SECS_MAX: f64 = 120.0;
const LOOK_PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    url: String,
    sink: SocketAddr,
    has_snapshot: bool,
}

/// What a portion took, from its first arrival to its last.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Portion {
    arrived: u64,
    usage: Usage,
}

/// Of several portions together.
#[derive(Debug, Clone, Copy)]
struct Rate {
    per_sec: f64,
    database_ms: f64,
}

impl Rate {
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    fn of(portions: &[Portion]) -> Self {
        let arrived = portions.iter().map(|portion| portion.arrived).sum::<u64>() as f64;
        let sum = |of: fn(&Usage) -> f64| portions.iter().map(|portion| of(&portion.usage)).sum::<f64>();
        let (wall_secs, database_secs) = (sum(|usage| usage.wall_secs), sum(|usage| usage.database_cpu_secs));
        Self { per_sec: arrived / wall_secs, database_ms: database_secs * 1000.0 / arrived }
    }

    fn of_halves(portions: &[Portion]) -> [Self; 2] {
        let (first, second) = portions.split_at(portions.len().min(PORTIONS / 2));
        [Self::of(first), Self::of(second)]
    }
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let title = format!(
        "dispatch: {PORTIONS} portions of {PORTION} deliveries on PostgreSQL, over {WEBHOOKS} webhooks\n\
         the rate in the first and in the second half, each portion from its first arrival to its last; database: CPU \
         ms of PostgreSQL's processes for one\n\
         load average before: {}",
        load_average(),
    );
    let head = ["", "first a second", "second a second", "first database", "second database", "of without", "limit"];
    let mut table = Table::new(title, &head);
    let without = measure("bench_dispatch_no_snapshot", false)?;
    let with = measure("bench_dispatch_snapshot", true)?;
    let second = |portions: &[Portion]| Rate::of_halves(portions)[1].per_sec;
    let of_without = second(&with) / second(&without);
    table.row(&cells("without a snapshot", &without, 1.0, String::new()), Mark::None, "");
    let is_all = with.len() == PORTIONS && with.iter().all(|portion| portion.arrived == PORTION as u64);
    let remark = if is_all { "" } else { "not all arrived in time" };
    let mark = Mark::of(is_all && of_without >= OF_WITHOUT_MIN);
    let limit = format!(">= {OF_WITHOUT_MIN:.1} of without");
    table.row(&cells("with an old snapshot open", &with, of_without, limit), mark, remark);
    table.print(tally);
    Ok(())
}

fn measure(database: &str, has_snapshot: bool) -> anyhow::Result<Vec<Portion>> {
    let (sink, url) = (Sink::start()?, postgres::fresh(database)?);
    answer(&super::Job::Snapshot(Job { url, sink: sink.address, has_snapshot }))
}

fn cells(name: &str, portions: &[Portion], of_without: f64, limit: String) -> Vec<String> {
    let [first, second] = Rate::of_halves(portions);
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
    pub(super) async fn perform(self) -> anyhow::Result<Vec<Portion>> {
        let mut watch = Watch::open(self.sink).await?;
        let place = Place::Postgres { url: self.url.clone() };
        let mut node = Node::new(World::open(&place).await?, settings(), None)?;
        let urls = (0..WEBHOOKS).map(|number| url(self.sink, Manner::Now, number));
        let webhooks = make_webhooks(node.engine(), urls).await?;
        let snapshot = if self.has_snapshot { Some(postgres::old_snapshot(&self.url).await?) } else { None };
        node.start();
        let mut portions = Vec::new();
        for _ in 0..PORTIONS {
            let before = watch.counts().await?.requests;
            fill(&place, &webhooks, PORTION / WEBHOOKS).await?;
            portions.push(arrive(&node, &mut watch, before).await?);
            if portions.last().is_some_and(|portion| portion.arrived < PORTION as u64) {
                break;
            }
        }
        drop(snapshot);
        Ok(portions)
    }
}

/// Waits until a portion has arrived, or for long enough.
async fn arrive(node: &Node, watch: &mut Watch, before: u64) -> anyhow::Result<Portion> {
    let asked_secs = process::wall_secs();
    let mut start = None;
    loop {
        let arrived = watch.counts().await?.requests - before;
        if arrived > 0 && start.is_none() {
            start = Some(Usage::now(Some(&node.world))?);
        }
        if arrived >= PORTION as u64 || process::wall_secs() - asked_secs > PORTION_SECS_MAX {
            let end = Usage::now(Some(&node.world))?;
            return Ok(Portion { arrived, usage: end.since(start.unwrap_or_default()) });
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}
