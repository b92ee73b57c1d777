//! The real program under a mixed load for a long time, on each store, while it is killed, frozen, and loses its database or
//! its disk: what was lost, how much memory it took, and how long others waited.
//!
//! ```text
//! publisher, hub ─> servers (killed, frozen, ...) ─> receiver
//!                      ^ pages, searches, apps, marks, event streams
//! ```
//!
//! An entry is owed once it was published, or once a push of it was answered, and a mark once it was answered. At the end
//! every entry that is owed must be there once, and must have been delivered, and what was marked as read must be read.

mod faults;
mod figures;
mod load;
mod server;
mod world;

use std::{path::PathBuf, time::Duration};

use anyhow::Context;
use tokio_util::sync::CancellationToken;

use self::{figures::Figures, world::World};
use crate::{
    postgres,
    report::{Rating, Table, Tally, mb},
};

/// How long all that is owed may take to arrive once nothing fails any more.
const SETTLE_MAX: Duration = Duration::from_mins(5);

/// Memory that a server may take at any time, in bytes.
const MEMORY_MAX: usize = 400_000_000;

/// What is run, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How long, in minutes, both stores together.
    minutes: f64,
    /// The program that is run.
    #[arg(long, default_value = "target/release/pirssonite")]
    program: PathBuf,
    /// Two nodes on this empty PostgreSQL instead, to which somebody else does something: nothing is done to it from here.
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
}

pub(crate) fn run(tally: &mut Tally, arguments: &Arguments) -> anyhow::Result<()> {
    anyhow::ensure!(arguments.program.is_file(), "{} is not there: build it first", arguments.program.display());
    // It can only fail if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let stores = match &arguments.database {
        Some(url) => vec![Database::Given(url.clone())],
        None => vec![Database::Sqlite, Database::Postgres(postgres::fresh("soak")?)],
    };
    let each = arguments.minutes * 60.0 / f64::from(u32::try_from(stores.len())?);
    let each = Duration::from_secs_f64(each.clamp(1.0, 1e6));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for database in stores {
        let name = database.name();
        println!("\n{name}: {:.1} minutes", each.as_secs_f64() / 60.0);
        let figures = runtime.block_on(soak(arguments, &database, each)).context(name)?;
        report(tally, name, &figures);
    }
    Ok(())
}

/// What the servers keep everything in.
#[derive(Debug)]
pub(crate) enum Database {
    Sqlite,
    /// Reached by a line that is cut and falls silent.
    Postgres(String),
    /// The same without.
    Given(String),
}

impl Database {
    fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres(_) => "PostgreSQL, two nodes",
            Self::Given(_) => "PostgreSQL as given, two nodes",
        }
    }
}

async fn soak(arguments: &Arguments, database: &Database, time: Duration) -> anyhow::Result<Figures> {
    let world = World::start(&arguments.program, database).await?;
    let stop = CancellationToken::new();
    let load = load::begin(&world, &stop);
    let faults = match database {
        Database::Given(_) => faults::wait(&world, time).await,
        _ => faults::go_on(&world, time).await,
    };
    stop.cancel();
    load.wait().await;
    faults?;
    world.settle(SETTLE_MAX).await
}

fn report(tally: &mut Tally, name: &str, figures: &Figures) {
    let mut table = Table::new(format!("{name}: what was owed"), &["", "owed", "lost", "twice"]);
    for (what, owed, lost, twice) in figures.owed() {
        let is_kept = lost == 0 && (what != "stored" || twice == 0);
        table.row(&[what.to_owned(), owed.to_string(), lost.to_string(), twice.to_string()], Rating::of(is_kept), "");
    }
    table.print(tally);
    let mut table = Table::new(format!("{name}: what was done to it"), &["", "times"]);
    for (fault, times) in figures.faults() {
        table.row(&[fault.to_owned(), times.to_string()], Rating::None, "");
    }
    table.print(tally);
    let mut table = Table::new(format!("{name}: memory of a server over time, MB"), &["minute", "least", "most"]);
    for (minute, least, most) in figures.memory() {
        let cells = [minute.to_string(), format!("{:.0}", mb(least)), format!("{:.0}", mb(most))];
        table.row(&cells, Rating::of(most <= MEMORY_MAX), "");
    }
    table.print(tally);
    let head = ["", "answered", "failed", "median ms", "99 %", "most", "longest gap, s"];
    let mut table = Table::new(format!("{name}: how long others waited"), &head);
    for row in figures.latencies() {
        table.row(&row, Rating::None, "");
    }
    table.print(tally);
}
