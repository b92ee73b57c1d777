//! The real program under a mixed load for a long time, on each store, while it is killed, frozen, and loses its database or
//! its disk: what was lost, how much memory it took, and how long others waited.
//!
//! ```text
//! publisher, hub ─> servers (killed, frozen, ...) ─> receiver
//!                      ^ pages, searches, marks, event streams
//! ```
//!
//! An entry is owed once it was published, or once a push of it was answered. At the end every one that is owed must be there
//! once, and must have been delivered.

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
}

pub(crate) fn run(tally: &mut Tally, arguments: &Arguments) -> anyhow::Result<()> {
    anyhow::ensure!(arguments.program.is_file(), "{} is not there: build it first", arguments.program.display());
    // It can only fail if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let each = Duration::from_secs_f64((arguments.minutes * 60.0 / 2.0).clamp(1.0, 1e6));
    let database = postgres::fresh("soak")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for database in [None, Some(database.as_str())] {
        let name = if database.is_some() { "PostgreSQL, two nodes" } else { "SQLite" };
        println!("\n{name}: {:.1} minutes", each.as_secs_f64() / 60.0);
        let figures = runtime.block_on(soak(arguments, database, each)).with_context(|| name.to_owned())?;
        report(tally, name, &figures);
    }
    Ok(())
}

async fn soak(arguments: &Arguments, database: Option<&str>, time: Duration) -> anyhow::Result<Figures> {
    let world = World::start(&arguments.program, database).await?;
    let stop = CancellationToken::new();
    let load = load::begin(&world, &stop);
    let faults = faults::go_on(&world, time).await;
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
    let head = ["", "answered", "failed", "median ms", "99 %", "most"];
    let mut table = Table::new(format!("{name}: how long others waited"), &head);
    for row in figures.latencies() {
        table.row(&row, Rating::None, "");
    }
    table.print(tally);
}
