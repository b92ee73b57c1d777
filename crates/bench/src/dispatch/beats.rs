//! What heartbeats cost: a thousand deliveries being sent, with a lease so short that it is renewed all the time, and
//! with one so long that it never is.

use std::{net::SocketAddr, time::Duration};

use domain::LeaseTime;
use engine::DeliverySettings;
use serde::{Deserialize, Serialize};

use super::{
    empty_stores,
    fill::{fill, make_webhooks},
    node::{Counters, Node},
    receiver::{Counts, ReceiverMode, ReceiverMonitor, ReceiverProcess, url},
    run_job,
};
use crate::{
    fixture::{Fixture, StoreLocation},
    postgres, process,
    push::load_average,
    report::{Rating, Table, Tally},
};

/// In flight: so many webhooks, with so many each.
const WEBHOOKS: usize = 100;
const OF_EACH: u32 = 10;
const IN_FLIGHT: u64 = 1000;

/// How long each takes; the first of each webhook are answered at once, so that its window opens.
const SEND_MS: u64 = 2000;
const BUT_FIRST: u64 = 16;

/// Events, each for all webhooks: more than can be sent meanwhile.
const EVENTS: usize = 240;

const SHORT_MS: u64 = 600;
const LONG_MS: u64 = 600_000;

/// While all that is in flight waits for its answers nothing begins and nothing ends, and whatever happens then is of
/// beats: so many such moments, of so many that are looked at at most.
const CALM: Duration = Duration::from_millis(SEND_MS / 8);
const WINDOWS: usize = 20;
const WINDOWS_MAX: usize = 120;

/// How often it is looked at the receiver, and how often at most: twenty seconds.
const LOOK_PAUSE: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 1000;

/// The limit: of one core, for the process and its database together. Where PostgreSQL needs about as much for the least
/// that a renewal can be, so many times that.
const PERCENT_MAX: f64 = 3.0;
const OF_BARE_MAX: f64 = 2.5;

/// That least: as many rows, changed by their keys in one statement, as often.
const BARE_UPDATE: &str = "UPDATE deliveries SET lease_until = lease_until + 1 WHERE id = ANY($1)";
const BARE_EVERY: Duration = Duration::from_millis(SHORT_MS / 3);
const BARE_TIMES: u32 = 40;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    location: StoreLocation,
    receiver: SocketAddr,
    lease_ms: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Measured {
    counters: Counters,
    /// While nothing began and nothing ended.
    calm: Counters,
    /// Rows that a beat renews: those that are sent, and those that wait for their turn.
    held: f64,
    /// What PostgreSQL needs for the least, in percent of a core.
    bare_percent: Option<f64>,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let title = format!(
        "dispatch: {IN_FLIGHT} in flight over {WEBHOOKS} webhooks at {} s each\n\
         CPU %: of one core, the process and PostgreSQL's; commits: on PostgreSQL those that write, on SQLite also claims that find nothing\n\
         beats alone: while nothing begins and nothing ends, less the same with a lease of ten minutes\n\
         load average before: {}",
        SEND_MS / 1000,
        load_average(),
    );
    let head = ["", "held", "sent a second", "beats a second", "commits a second", "CPU %", "database", "limit"];
    let mut table = Table::new(title, &head);
    let short = empty_stores(folder.path(), "dispatch_short")?;
    let long = empty_stores(folder.path(), "dispatch_long")?;
    for (short, long) in short.into_iter().zip(long) {
        let name = short.name();
        let without = measure(long, LONG_MS)?;
        let with = measure(short, SHORT_MS)?;
        table.row(&cells(&format!("{name}, a lease of ten minutes"), &without), Rating::None, "");
        table.row(&cells(&format!("{name}, a lease of {SHORT_MS} ms"), &with), Rating::None, "");
        cost(name, &with, &without, &mut table);
    }
    table.print(tally);
    Ok(())
}

/// What is more with beats than without.
fn cost(name: &str, with: &Measured, without: &Measured, table: &mut Table) {
    let percent = |counters: &Counters, of: fn(&Counters) -> f64| counters.a_second(of(counters)) * 100.0;
    let more = |of| percent(&with.calm, of) - percent(&without.calm, of);
    let (cpu, database) = (more(|counters| counters.usage.cpu_secs), more(|counters| counters.usage.database_cpu_secs));
    let cells = [
        format!("{name}, beats alone"),
        format!("{:.0}", with.held),
        String::new(),
        format!("{:.1}", with.calm.a_second(with.calm.beats)),
        format!("{:.1}", with.calm.a_second(with.calm.commits)),
        format!("{cpu:.1}"),
        format!("{database:.1}"),
        format!("< {PERCENT_MAX:.0} %, or {OF_BARE_MAX:.1} of bare"),
    ];
    let Counters { commits, beats, .. } = with.calm;
    // Of the node and of its database, wherever that runs.
    let (of_limit, lost) = ((cpu + database) / PERCENT_MAX, with.counters.lost);
    let of_bare = with.bare_percent.map(|bare| (cpu + database) / bare);
    let bare = of_bare.map(|of_bare| format!("{of_bare:.2} of a bare UPDATE, ")).unwrap_or_default();
    let remark =
        format!("{of_limit:.2} of the limit, {bare}{:.2} commits a beat, {lost:.0} leases lost", commits / beats);
    let is_kept = of_limit < 1.0 || of_bare.is_some_and(|of_bare| of_bare <= OF_BARE_MAX);
    table.row(&cells, Rating::of(is_kept && lost == 0.0), remark);
    if let Some(bare) = with.bare_percent {
        let mut cells = vec![String::new(); cells.len()];
        cells[0] = format!("{name}, a bare UPDATE of as many rows");
        cells[6] = format!("{bare:.1}");
        table.row(&cells, Rating::None, "");
    }
}

fn measure(location: StoreLocation, lease_ms: u64) -> anyhow::Result<Measured> {
    let receiver = ReceiverProcess::start()?;
    run_job(&super::Job::Beats(Job { location, receiver: receiver.address, lease_ms }))
}

fn cells(name: &str, measured: &Measured) -> Vec<String> {
    let Measured { counters, held, .. } = measured;
    vec![
        name.to_owned(),
        format!("{held:.0}"),
        format!("{:.0}", counters.a_second(counters.requests())),
        format!("{:.1}", counters.a_second(counters.beats)),
        format!("{:.1}", counters.a_second(counters.commits)),
        format!("{:.1}", counters.a_second(counters.usage.cpu_secs) * 100.0),
        format!("{:.1}", counters.a_second(counters.usage.database_cpu_secs) * 100.0),
        String::new(),
    ]
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Measured> {
        let settings = DeliverySettings {
            lease: LeaseTime::new(Duration::from_millis(self.lease_ms))?,
            // Slow receivers have half of them.
            concurrency: 2 * usize::try_from(IN_FLIGHT)?,
            webhook_concurrency: OF_EACH,
            ..DeliverySettings::default()
        };
        let mut monitor = ReceiverMonitor::open(self.receiver).await?;
        let mut node = Node::new(Fixture::open(&self.location).await?, settings, None)?;
        let late = ReceiverMode::Delay { after_ms: SEND_MS, but_first: BUT_FIRST };
        let urls = (0..WEBHOOKS).map(|number| url(self.receiver, late, number));
        let webhooks = make_webhooks(node.engine(), urls).await?;
        fill(&self.location, &webhooks, EVENTS).await?;
        node.fixture.vacuum_analyze().await?;
        node.start();
        await_receiver(&mut monitor, |counts| counts.waiting >= IN_FLIGHT).await?;
        let (start, mut calm) = (node.counters(&mut monitor).await?, Counters::default());
        let mut calm_windows = 0;
        for _ in 0..WINDOWS_MAX {
            let begun = node.counters(&mut monitor).await?;
            tokio::time::sleep(CALM).await;
            let passed = node.counters(&mut monitor).await?.since(begun);
            if passed.requests == 0 {
                calm = calm.and(passed);
                calm_windows += 1;
            }
            if calm_windows == WINDOWS {
                break;
            }
        }
        anyhow::ensure!(calm_windows == WINDOWS, "there were {calm_windows} moments of calm");
        let counters = node.counters(&mut monitor).await?.since(start);
        let held = node.metric("pirssonite_deliveries_sending") + node.metric("pirssonite_deliveries_waiting");
        node.stop().await?;
        let bare_percent = match &self.location {
            StoreLocation::Postgres { url } if self.lease_ms == SHORT_MS => {
                Some(bare_percent(&self.location, url, held).await?)
            }
            _ => None,
        };
        Ok(Measured { counters, calm, held, bare_percent })
    }
}

async fn bare_percent(location: &StoreLocation, url: &str, rows: f64) -> anyhow::Result<f64> {
    let (fixture, client) = (Fixture::open(location).await?, postgres::connect(url).await?);
    let ids = "SELECT id FROM deliveries WHERE status = 'pending' ORDER BY id LIMIT $1::double precision";
    let ids: Vec<i64> = client.query(ids, &[&rows]).await?.iter().map(|row| row.get(0)).collect();
    let update = client.prepare(BARE_UPDATE).await?;
    let (begun_secs, begun_cpu_secs) = (process::wall_secs(), fixture.database_cpu_secs());
    for _ in 0..BARE_TIMES {
        client.execute(&update, &[&ids]).await?;
        tokio::time::sleep(BARE_EVERY).await;
    }
    Ok((fixture.database_cpu_secs() - begun_cpu_secs) * 100.0 / (process::wall_secs() - begun_secs))
}

async fn await_receiver(monitor: &mut ReceiverMonitor, is_so: impl Fn(Counts) -> bool) -> anyhow::Result<()> {
    for _ in 0..LOOKS_MAX {
        if is_so(monitor.counts().await?) {
            return Ok(());
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
    anyhow::bail!("it took too long: {:?}", monitor.counts().await?)
}
