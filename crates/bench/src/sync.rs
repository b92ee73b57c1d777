//! What apps of other readers cost: a first sync of ten thousand unread entries, by each interface, out of a million entries
//! and out of as many as are unread; a sync with nothing new; marking a thousand. Beside it a bare walk of the same rows.
//!
//! Another interface is another file here that gives its [`Steps`], and a line in [`INTERFACES`].

mod bare;
mod fever;
mod greader;
mod miniflux;

use std::{net::SocketAddr, pin::Pin};

use domain::{EntryFilter, EntryPatch, account::READER, entry::PAGE_IDS_MAX, ports::MarkRead};
use serde::{Deserialize, Serialize};

use crate::{
    fixture::{Fixture, StoreLocation, family_cpu_secs},
    pages,
    process::{self, ServerProcess},
    push::load_average,
    report::{Rating, Table, Tally},
};

/// Entries that are unread.
const UNREAD: usize = 10_000;
/// The same feeds, and entries of each: as many as are unread, and a hundred times as many.
const SIZES: [(&str, usize, usize); 2] = [("sync_small", 1_000, 10), ("sync_large", 1_000, 1_000)];
/// Of them, those that are marked.
const MARKED: usize = 1_000;
/// How often a sync with nothing new is repeated, whose cost a clock of ticks would not show: all of them are compared
/// together.
const ROUNDS: u32 = 100;
/// How much more CPU a step may take out of a million entries than out of those that are unread, besides what the
/// rows take more by a bare statement, because they are far apart.
const GROWTH_MAX: f64 = 1.5;
/// Less than this is not compared: the clock of processes ticks a hundred times a second.
const COMPARED_SECS_MIN: f64 = 0.05;

/// What an app does, with how many requests.
type Step<'a> = Pin<Box<dyn Future<Output = anyhow::Result<usize>> + 'a>>;

/// The steps of an interface.
trait Steps {
    /// Everything that is unread: ids, then contents by so many.
    fn first(&self, at_once: usize) -> Step<'_>;
    fn nothing_new(&self) -> Step<'_>;
    fn mark_thousand(&self) -> Step<'_>;
}

/// An app that speaks an interface, and how many contents it asks for at once.
type Interface = (&'static str, fn(reqwest::Client, SocketAddr) -> Box<dyn Steps>, &'static [usize]);

const INTERFACES: [Interface; 3] = [
    ("Google Reader", greader::app, &[100, 1_000]),
    ("Fever", fever::app, &[50]),
    ("Miniflux", miniflux::app, &[100, 1_000]),
];

/// What a process of its own does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    location: StoreLocation,
}

/// What is done with the rows alone, by one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Floor {
    Walk,
    Marks,
}

/// A step, and what it took.
#[derive(Debug)]
struct Measured {
    name: String,
    /// Of all its rounds together.
    cost: Cost,
    rounds: u32,
    /// It is a floor itself.
    is: Option<Floor>,
    /// The floor of the same rows.
    beside: Option<Floor>,
}

/// What a step took.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    /// Of one round.
    requests: usize,
    secs: f64,
    cpu_secs: f64,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    for kind in ["SQLite", "PostgreSQL"] {
        let folder = tempfile::tempdir()?;
        let mut measured = Vec::new();
        for (name, feeds, entries) in SIZES {
            let location = match kind {
                "SQLite" => StoreLocation::Sqlite { folder: folder.path().join(name) },
                _ => StoreLocation::Postgres { url: crate::postgres::fresh(name)? },
            };
            pages::fill(&location, feeds, entries)?;
            let _: () = process::run_job("sync-job", &Job { location: location.clone() })?;
            measured.push(measure(&location)?);
        }
        let [small, large] = measured.as_slice() else { anyhow::bail!("there are two sizes") };
        print(kind, small, large, tally);
    }
    Ok(())
}

fn print(kind: &str, small: &[Measured], large: &[Measured], tally: &mut Tally) {
    let title = format!(
        "sync on {kind}: {UNREAD} unread of 1,000,000 entries of 1,000 feeds, beside {UNREAD} of {UNREAD}\n\
         CPU: of server and database; apart: what the same rows take more by a bare statement, because they are far apart; \
         x bare: of the walk out of a million\n\
         ratio: out of a million, of the small one and apart; load average before: {}",
        load_average(),
    );
    let head = ["", "requests", "s", "CPU s", "x bare", "CPU s, small", "apart", "ratio", "limit"];
    let mut table = Table::new(title, &head);
    let Some(bare_secs) = large.first().map(|bare| bare.cost.cpu_secs) else { return };
    let apart_secs = |floor: Option<Floor>| {
        let place = large.iter().position(|one| one.is == floor);
        let grown = place.map(|at| large[at].cost.cpu_secs - small[at].cost.cpu_secs);
        grown.unwrap_or(0.0).max(0.0)
    };
    for (large, small) in large.iter().zip(small) {
        let apart_secs = large.beside.map_or(0.0, |floor| apart_secs(Some(floor)));
        let (large_secs, small_secs) = (large.cost.cpu_secs, small.cost.cpu_secs + apart_secs);
        let ratio = large_secs / small_secs;
        let is_compared = large_secs.max(small_secs) >= COMPARED_SECS_MIN;
        let once = |secs: f64| secs / f64::from(large.rounds);
        let cells = [
            large.name.clone(),
            large.cost.requests.to_string(),
            format!("{:.2}", once(large.cost.secs)),
            format!("{:.3}", once(large_secs)),
            format!("{:.1}", once(large_secs) / bare_secs),
            format!("{:.3}", once(small.cost.cpu_secs)),
            format!("{apart_secs:.3}"),
            if is_compared { format!("{ratio:.2}") } else { String::new() },
            format!("{GROWTH_MAX}"),
        ];
        let rating = if is_compared { Rating::of(ratio <= GROWTH_MAX) } else { Rating::None };
        table.row(&cells, rating, "");
    }
    table.print(tally);
}

/// In a process of its own: all but some entries are read, and those are spread over all feeds.
pub(crate) fn perform(job: &Job) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let fixture = Fixture::open(&job.location).await?;
        let counts = fixture.store.counts(READER).await?;
        let every = usize::try_from(counts.total)? / UNREAD;
        if every > 1 {
            fixture.store.mark_read(READER, MarkRead::default()).await?;
            unmark(&fixture, every).await?;
        }
        fixture.vacuum_analyze().await
    })
}

async fn unmark(fixture: &Fixture, every: usize) -> anyhow::Result<()> {
    let (unread, mut after) = (EntryPatch { is_read: Some(false), is_starred: None }, None);
    loop {
        let page = fixture.store.entry_ids(READER, &EntryFilter::default(), PAGE_IDS_MAX, after).await?;
        let some: Vec<_> = page.ids.iter().copied().step_by(every).collect();
        fixture.store.patch_entries(READER, &some, unread).await?;
        after = page.next_cursor;
        if after.is_none() {
            return Ok(());
        }
    }
}

fn measure(location: &StoreLocation) -> anyhow::Result<Vec<Measured>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let floor =
            |name: &str, cost, is| Measured { name: name.to_owned(), cost, rounds: 1, is: Some(is), beside: Some(is) };
        let step = |name: String, cost, beside| Measured { name, cost, rounds: 1, is: None, beside };
        let mut all = vec![floor("bare walk of the unread rows", bare::walk(location).await?, Floor::Walk)];
        let _ = rustls::crypto::ring::default_provider().install_default();
        for (name, app, at_once) in INTERFACES {
            let asked = Asked::start(location, app).await?;
            for at_once in at_once {
                let cost = asked.meter.cost(asked.steps.first(*at_once)).await?;
                all.push(step(format!("{name}: first sync, contents by {at_once}"), cost, Some(Floor::Walk)));
            }
            let mut cost = Cost::default();
            for _ in 0..ROUNDS {
                cost = cost.and(asked.meter.cost(asked.steps.nothing_new()).await?);
            }
            let nothing_new = step(format!("{name}: sync with nothing new"), cost, None);
            all.push(Measured { rounds: ROUNDS, ..nothing_new });
        }
        // Last, because each finds fewer unread.
        for (name, app, _) in INTERFACES {
            let asked = Asked::start(location, app).await?;
            let cost = asked.meter.cost(asked.steps.mark_thousand()).await?;
            all.push(step(format!("{name}: marking 1,000"), cost, Some(Floor::Marks)));
        }
        all.push(floor("bare marks of 1,000 rows", bare::mark(location).await?, Floor::Marks));
        Ok(all)
    })
}

/// A server that an app asks.
struct Asked {
    steps: Box<dyn Steps>,
    meter: Meter,
    _server: ServerProcess,
}

impl Asked {
    async fn start(
        location: &StoreLocation,
        app: fn(reqwest::Client, SocketAddr) -> Box<dyn Steps>,
    ) -> anyhow::Result<Self> {
        let server = ServerProcess::start(&["pages-server", &serde_json::to_string(location)?])?;
        let client = reqwest::Client::builder().no_proxy().build()?;
        let steps = app(client, server.ready_line.parse()?);
        Ok(Self { steps, meter: Meter::of(location, server.id()).await?, _server: server })
    }
}

impl Cost {
    fn and(self, other: Self) -> Self {
        Self { requests: other.requests, secs: self.secs + other.secs, cpu_secs: self.cpu_secs + other.cpu_secs }
    }
}

/// What the server and its database have used.
struct Meter {
    server: u32,
    /// PostgreSQL's; SQLite is inside the server.
    database: Option<Fixture>,
}

impl Meter {
    async fn of(location: &StoreLocation, server: u32) -> anyhow::Result<Self> {
        let database = match location {
            StoreLocation::Sqlite { .. } => None,
            StoreLocation::Postgres { .. } => Some(Fixture::open(location).await?),
        };
        Ok(Self { server, database })
    }

    fn cpu_secs(&self) -> f64 {
        family_cpu_secs(self.server) + self.database.as_ref().map_or(0.0, Fixture::database_cpu_secs)
    }

    async fn cost(&self, step: Step<'_>) -> anyhow::Result<Cost> {
        let (secs, cpu_secs) = (process::wall_secs(), self.cpu_secs());
        let requests = step.await?;
        Ok(Cost { requests, secs: process::wall_secs() - secs, cpu_secs: self.cpu_secs() - cpu_secs })
    }
}
