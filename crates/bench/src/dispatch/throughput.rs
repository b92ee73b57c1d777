//! Deliveries a second: from rows that are due to rows that are marked, each signed, sent and logged.

use domain::ports::Viewer;
use std::{net::SocketAddr, time::Duration};

use engine::DeliverySettings;
use serde::{Deserialize, Serialize};

use super::{
    bare, empty_stores, fill,
    node::{Counters, Node},
    receiver::{ReceiverMonitor, ReceiverProcess},
    run_job,
};
use crate::{
    fixture::{Fixture, StoreLocation},
    push::{load_average, usage::Usage},
    report::{Rating, Table, Tally, mib},
};

const DELIVERIES: usize = 40_000;
pub(super) const WEBHOOKS: usize = 4;
const AT_ONCE: usize = 64;

/// Rounds; the best counts, because whatever disturbs one only ever takes from it.
const ROUNDS: usize = 3;

/// The limits: of the bare client's rate on each store, and a second on both.
const OF_BARE_MIN: [f64; 2] = [0.3, 0.2];
const PER_SEC_MIN: f64 = 5000.0;

/// Others, measured elsewhere, a second.
const SVIX_PER_SEC: f64 = 880.0;
const GRAPHILE_PER_SEC: f64 = 4000.0;

/// How often it is looked whether all has arrived, and how often at most: two minutes.
const LOOK_PAUSE: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 6000;

/// How often it is looked whether all that arrived is marked.
const MARKED_PAUSE: Duration = Duration::from_millis(4);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    location: StoreLocation,
    receiver: SocketAddr,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let title = format!(
        "dispatch: {DELIVERIES} deliveries of {} bytes, signed and logged, {AT_ONCE} at once over {WEBHOOKS} webhooks, \
         the best of {ROUNDS} rounds\n\
         bare: a plain client that posts as many of the same size to the same receiver, and keeps nothing\n\
         CPU ms: of the process for one; database: of PostgreSQL's processes; a commit: deliveries for each, claimed and \
         marked\n\
         the receiver shares the cores; load average before: {} (elsewhere: Svix, draining, 880 a second at 1.1 CPU ms; \
         graphile-worker, batched, 4000)",
        fill::BODY_BYTES,
        load_average(),
    );
    let head =
        ["", "a second", "of bare", "x Svix", "x graphile", "CPU ms", "database", "a commit", "peak MiB", "limit"];
    let mut table = Table::new(title, &head);
    let (mut bare, mut stores) = (None, [None, None]);
    let receiver = ReceiverProcess::start()?;
    for round in 0..ROUNDS {
        better(&mut bare, measure_bare(&receiver)?);
        for (location, best) in empty_stores(folder.path(), &format!("dispatch_{round}"))?.into_iter().zip(&mut stores)
        {
            let webhooks = WEBHOOKS;
            let job = fill::Job {
                location: location.clone(),
                receiver: receiver.address,
                webhooks,
                events: DELIVERIES / WEBHOOKS,
            };
            let () = run_job(&super::Job::Fill(job))?;
            better(best, run_job(&super::Job::Throughput(Job { location, receiver: receiver.address }))?);
        }
    }
    let Some(bare) = bare else { anyhow::bail!("there are rounds") };
    table.row(&cells("bare", &bare, &bare, String::new()), Rating::None, "");
    for ((name, store), of_bare_min) in ["SQLite", "PostgreSQL"].into_iter().zip(stores).zip(OF_BARE_MIN) {
        let Some(store) = store else { anyhow::bail!("there are rounds") };
        let per_sec = per_sec(&store);
        let is_kept = per_sec >= PER_SEC_MIN && per_sec / self::per_sec(&bare) >= of_bare_min;
        let limit = format!(">= {PER_SEC_MIN:.0}, {of_bare_min:.1} of bare");
        table.row(&cells(name, &store, &bare, limit), Rating::of(is_kept), "");
    }
    table.print(tally);
    Ok(())
}

fn measure_bare(receiver: &ReceiverProcess) -> anyhow::Result<Counters> {
    let job = bare::Job { receiver: receiver.address, webhooks: WEBHOOKS, requests: DELIVERIES, at_once: AT_ONCE };
    let usage: Usage = run_job(&super::Job::Bare(job))?;
    Ok(Counters { usage, requests: DELIVERIES as u64, ..Counters::default() })
}

fn better(best: &mut Option<Counters>, round: Counters) {
    if best.as_ref().is_none_or(|best| per_sec(&round) > per_sec(best)) {
        *best = Some(round);
    }
}

fn per_sec(counters: &Counters) -> f64 {
    counters.a_second(counters.requests())
}

fn cells(name: &str, counters: &Counters, bare: &Counters, limit: String) -> Vec<String> {
    let (per_sec, usage) = (per_sec(counters), counters.usage);
    let each_ms = |secs: f64| format!("{:.3}", secs * 1000.0 / counters.requests());
    vec![
        name.to_owned(),
        format!("{per_sec:.0}"),
        format!("{:.2}", per_sec / self::per_sec(bare)),
        format!("{:.1}", per_sec / SVIX_PER_SEC),
        format!("{:.1}", per_sec / GRAPHILE_PER_SEC),
        each_ms(usage.cpu_secs),
        each_ms(usage.database_cpu_secs),
        if counters.commits > 0.0 { format!("{:.0}", counters.requests() / counters.commits) } else { String::new() },
        format!("{:.0}", mib(usage.peak_bytes)),
        limit,
    ]
}

/// As many at once as the bare client.
pub(super) fn settings() -> DeliverySettings {
    DeliverySettings {
        concurrency: AT_ONCE,
        webhook_concurrency: u32::try_from(AT_ONCE / WEBHOOKS).unwrap_or(1),
        ..DeliverySettings::default()
    }
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Counters> {
        let mut monitor = ReceiverMonitor::open(self.receiver).await?;
        let mut node = Node::new(Fixture::open(&self.location).await?, settings(), None)?;
        let start = node.counters(&mut monitor).await?;
        node.start();
        let expected = start.requests + DELIVERIES as u64;
        let mut looks = 0;
        while monitor.counts().await?.requests < expected {
            looks += 1;
            anyhow::ensure!(looks < LOOKS_MAX, "not all deliveries arrived in time");
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        let store = &node.fixture.store;
        while store.outbox_overview(Viewer::Server).await?.pending > 0 {
            tokio::time::sleep(MARKED_PAUSE).await;
        }
        let measured = node.counters(&mut monitor).await?.since(start);
        anyhow::ensure!(measured.requests == DELIVERIES as u64, "{} requests arrived", measured.requests);
        node.stop().await?;
        Ok(measured)
    }
}
