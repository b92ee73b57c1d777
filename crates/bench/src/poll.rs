//! Polling two hundred feeds of fifty entries: all new (cold), then nothing new (warm), on each store, beside the floor
//! of fetching, parsing and sanitising the same bytes.

pub(crate) mod memory;
pub(crate) mod snapshot;

use std::time::Duration;

use anyhow::Context;
use domain::{FeedSeed, account::READER, feed_state::FeedAddress};
use engine::Engine;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use crate::{
    fixture::{Fixture, StoreLocation},
    process,
    publisher::{ENTRIES, Publisher},
    report::{Rating, Table, Tally, mib},
};

const FEEDS: usize = 200;

/// The limits on SQLite, in CPU seconds.
const COLD_CPU_SECS_MAX: f64 = 1.2;
const WARM_CPU_SECS_MAX: f64 = 0.03;

/// Rounds with nothing new; the best counts, because whatever disturbs one, such as what the first fetch has left to the disk,
/// only ever adds to it.
const WARM_ROUNDS: usize = 3;

/// The same work of others, measured elsewhere: cold and warm, in CPU seconds.
const PEERS: &str = "elsewhere: yarr 5.0 and 0.14, Miniflux 7.7 + 26.6 and 0.27 + 1.6, FreshRSS 20 and 5.5";

/// How many requests the bare client has in flight.
const BARE_CONCURRENCY: usize = 64;

/// What a process of its own does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Fetches, parses and sanitises with nothing around it.
    Floor { publisher: String },
    /// Polls cold and warm.
    Poll { publisher: String, location: StoreLocation },
    /// Polls cold, and waits.
    FirstFetch { publisher: String, location: StoreLocation },
    /// Makes large entries.
    LargeEntries { location: StoreLocation },
    /// Polls many small feeds, each at a host of its own, cold and warm.
    Many { publisher: String, location: StoreLocation },
}

/// What a phase took.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct Phase {
    cpu_secs: f64,
    database_cpu_secs: f64,
    wall_secs: f64,
    peak_bytes: usize,
    resident_bytes: usize,
    new_entries: u32,
    unchanged: u32,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let publisher = Publisher::start()?;
    let folder = tempfile::tempdir()?;
    let floor = phases(&Job::Floor { publisher: publisher.url.clone() })?;
    let floor = floor.first().context("the floor has one phase")?;
    let title = format!("poll: {FEEDS} feeds of {ENTRIES} entries, 92 KB each, from loopback ({PEERS})");
    let mut table = Table::new(title, &["", "CPU s", "database", "wall s", "peak MiB", "x floor", "limit"]);
    let cells = |name: String, phase: &Phase, limit: Option<f64>| {
        vec![
            name,
            format!("{:.3}", phase.cpu_secs),
            format!("{:.2}", phase.database_cpu_secs),
            format!("{:.2}", phase.wall_secs),
            format!("{:.0}", mib(phase.peak_bytes)),
            format!("{:.2}", phase.cpu_secs / floor.cpu_secs),
            limit.map_or(String::new(), |limit| format!("{limit:.2}")),
        ]
    };
    table.row(&cells("floor: fetch, parse, sanitise".to_owned(), floor, None), Rating::None, "");
    for location in [
        StoreLocation::Sqlite { folder: folder.path().to_owned() },
        StoreLocation::Postgres { url: crate::postgres::fresh("bench_poll")? },
    ] {
        let is_sqlite = matches!(location, StoreLocation::Sqlite { .. });
        let name = location.name();
        let measured = phases(&Job::Poll { publisher: publisher.url.clone(), location })?;
        let [cold, warm] = measured.as_slice() else { anyhow::bail!("a poll has two phases") };
        for (what, phase, limit) in [("cold", cold, COLD_CPU_SECS_MAX), ("warm", warm, WARM_CPU_SECS_MAX)] {
            let rating = if is_sqlite { Rating::of(phase.cpu_secs <= limit) } else { Rating::None };
            let remark = format!("{} new, {} unchanged", phase.new_entries, phase.unchanged);
            table.row(&cells(format!("{name}, {what}"), phase, is_sqlite.then_some(limit)), rating, remark);
        }
    }
    table.print(tally);
    memory::run(tally, &publisher.url)?;
    snapshot::run(tally)
}

fn phases(job: &Job) -> anyhow::Result<Vec<Phase>> {
    process::run_job("poll-job", job)
}

pub(crate) fn perform(job: Job) -> anyhow::Result<Vec<Phase>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match job {
            Job::Floor { publisher } => Ok(vec![floor(&publisher).await?]),
            Job::Poll { publisher, location } => poll(&publisher, &location).await,
            Job::FirstFetch { publisher, location } => memory::first_fetch(&publisher, &location).await,
            Job::LargeEntries { location } => memory::make_large_entries(&location).await,
            Job::Many { publisher, location } => memory::poll_many(&publisher, &location).await,
        }
    })
}

async fn floor(publisher: &str) -> anyhow::Result<Phase> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build()?;
    let start = PhaseStart::now(0.0);
    let entries = futures_util::stream::iter(0..FEEDS)
        .map(async |number| {
            let url = format!("{publisher}/{number}");
            let body = client.get(&url).send().await?.bytes().await?;
            let mut feed = feed::parse(&body, &feed::Hints { url: Some(&url), ..feed::Hints::default() })?;
            feed.entries.iter_mut().for_each(feed::Entry::sanitise);
            anyhow::Ok(feed.entries.len())
        })
        .buffer_unordered(BARE_CONCURRENCY)
        .fold(Ok(0), async |sum: anyhow::Result<usize>, entries| Ok(sum? + entries?))
        .await?;
    let mut phase = start.end(0.0)?;
    phase.new_entries = u32::try_from(entries)?;
    Ok(phase)
}

async fn poll(publisher: &str, location: &StoreLocation) -> anyhow::Result<Vec<Phase>> {
    let fixture = Fixture::open(location).await?;
    let engine = fixture.engine()?;
    let seeds = (0..FEEDS).map(|number| seed(&format!("{publisher}/{number}"))).collect::<anyhow::Result<_>>()?;
    fixture.store.import_feeds(READER, seeds).await?;
    let cold = poll_once(&fixture, &engine).await?;
    let mut warm = poll_once(&fixture, &engine).await?;
    for _ in 1..WARM_ROUNDS {
        let again = poll_once(&fixture, &engine).await?;
        if again.cpu_secs() < warm.cpu_secs() {
            warm = again;
        }
    }
    Ok(vec![cold, warm])
}

/// Polls all feeds, and lets time pass until they are due again.
async fn poll_once(fixture: &Fixture, engine: &Engine) -> anyhow::Result<Phase> {
    let start = PhaseStart::now(fixture.database_cpu_secs());
    let summary = engine.refresh_due().await?;
    let mut phase = start.end(fixture.database_cpu_secs())?;
    anyhow::ensure!(summary.polled as usize == FEEDS && summary.failed == 0, "not all feeds were polled: {summary:?}");
    (phase.new_entries, phase.unchanged) = (summary.new_entries, summary.unchanged);
    // Past the longest interval between polls, with its jitter.
    fixture.advance_clock(Duration::from_hours(48)).await?;
    Ok(phase)
}

pub(crate) fn seed(url: &str) -> anyhow::Result<FeedSeed> {
    Ok(FeedSeed::new(FeedAddress::parse(url)?))
}

/// The counters at the start of a phase.
#[expect(clippy::struct_field_names, reason = "all of them are seconds, and units go last")]
pub(crate) struct PhaseStart {
    cpu_secs: f64,
    wall_secs: f64,
    database_cpu_secs: f64,
}

impl PhaseStart {
    pub(crate) fn now(database_cpu_secs: f64) -> Self {
        Self { cpu_secs: process::cpu_secs(), wall_secs: process::wall_secs(), database_cpu_secs }
    }

    pub(crate) fn end(self, database_cpu_secs: f64) -> anyhow::Result<Phase> {
        Ok(Phase {
            cpu_secs: process::cpu_secs() - self.cpu_secs,
            wall_secs: process::wall_secs() - self.wall_secs,
            database_cpu_secs: database_cpu_secs - self.database_cpu_secs,
            peak_bytes: process::peak_bytes()?,
            resident_bytes: process::resident_bytes()?,
            ..Phase::default()
        })
    }
}

impl Phase {
    pub(crate) fn cpu_secs(&self) -> f64 {
        self.cpu_secs + self.database_cpu_secs
    }
}
