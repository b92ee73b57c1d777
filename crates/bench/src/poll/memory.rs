//! The memory that polling takes: the peak of a first fetch, what many feeds hold, and what is left a while after.

use std::time::Duration;

use anyhow::Context;

use super::{FEEDS, Job, Phase, PhaseStart, phases, seed};
use crate::{
    fixture::{Fixture, StoreLocation},
    report::{Mark, Table, Tally, mib},
};

const MANY: usize = 10_000;

/// The limits, in MiB.
const FIRST_FETCH_MAX: f64 = 50.0;
const MANY_MAX: f64 = 150.0;

/// After this an allocator that gives memory back has done so, and idle connections are closed.
const WHILE: Duration = Duration::from_secs(20);

pub(super) fn run(tally: &mut Tally, publisher: &str) -> anyhow::Result<()> {
    let folders = [tempfile::tempdir()?, tempfile::tempdir()?];
    let [first, many] = folders.each_ref().map(|folder| StoreLocation::Sqlite { folder: folder.path().to_owned() });
    let first = phases(&Job::Poll { publisher: publisher.to_owned(), location: first })?;
    let many = phases(&Job::Many { publisher: publisher.to_owned(), location: many })?;
    let title = format!("poll: memory on SQLite, {FEEDS} feeds of 92 KB and {MANY} small feeds at as many hosts");
    let mut table = Table::new(title, &["", "MiB", "limit"]);
    let mut row = |name: &str, bytes: usize, limit: Option<f64>| {
        let cells = vec![
            name.to_owned(),
            format!("{:.0}", mib(bytes)),
            limit.map_or(String::new(), |limit| format!("{limit:.0}")),
        ];
        table.row(&cells, limit.map_or(Mark::None, |limit| Mark::of(mib(bytes) <= limit)), "");
    };
    let cold = first.first().context("a poll has a first phase")?;
    row("first fetch, peak", cold.peak_bytes, Some(FIRST_FETCH_MAX));
    let [cold, warm, later] = many.as_slice() else { anyhow::bail!("polling many has three phases") };
    row("many, cold, peak", cold.peak_bytes, Some(MANY_MAX));
    row("many, warm, held at the end", warm.resident_bytes, Some(MANY_MAX));
    row("many, a while after", later.resident_bytes, None);
    table.print(tally);
    Ok(())
}

/// Each feed at an address of loopback of its own.
pub(super) async fn poll_many(publisher: &str, location: &StoreLocation) -> anyhow::Result<Vec<Phase>> {
    let fixture = Fixture::open(location).await?;
    let engine = fixture.engine()?;
    let port = publisher.rsplit_once(':').context("the publisher has a port")?.1;
    let url = |number: usize| format!("http://127.1.{}.{}:{port}/small/{number}", number / 250, number % 250 + 1);
    let seeds = (0..MANY).map(|number| seed(&url(number))).collect::<anyhow::Result<_>>()?;
    fixture.store.import_feeds(seeds).await?;
    let mut phases = Vec::new();
    for _ in ["cold", "warm"] {
        let start = PhaseStart::now(0.0);
        let summary = engine.refresh_due().await?;
        phases.push(start.end(0.0)?);
        anyhow::ensure!(
            summary.polled as usize == MANY && summary.failed == 0,
            "not all feeds were polled: {summary:?}"
        );
        fixture.advance_clock(Duration::from_hours(48)).await?;
    }
    let start = PhaseStart::now(0.0);
    tokio::time::sleep(WHILE).await;
    phases.push(start.end(0.0)?);
    Ok(phases)
}
