//! Signed pushes of one new entry each, answered when they are on the disk; beside the same server that answers when it
//! has checked the signature, and beside the disk.

use std::{fs::File, io::Write, net::SocketAddr, path::Path};

use domain::push::{Algorithm, sign};

use super::{
    load::{self, Load},
    load_average,
    server::{HUB, Job, PUBLISHER, Status},
    subscriptions::{feed_url, secret, token},
    usage::Usage,
};
use crate::{
    feeds,
    fixture::StoreLocation,
    process::{self, ServerProcess},
    report::{Rating, Table, Tally, mib},
};

const SUBSCRIPTIONS: usize = 1000;

/// Entries that each feed has before.
const ENTRIES: usize = 20;

/// Pushes of a round, one at a time and many at once.
const ALONE_PUSHES: usize = 1000;
const MANY_PUSHES: usize = 20_000;
const AT_ONCE: usize = 64;

/// Rounds; the best counts, because whatever disturbs one only ever adds to it.
const ROUNDS: usize = 3;

/// Pushes before the first round.
const WARM_UP_PUSHES: usize = 1000;

/// The limits: many at once on SQLite and on PostgreSQL, and alone on both.
const SQLITE_PER_SEC_MIN: f64 = 10_000.0;
const POSTGRES_PER_SEC_MIN: f64 = 4000.0;
const ALONE_MS_MAX: f64 = 5.0;

const PEERS: &str = "elsewhere: FreshRSS 36 ms, unsigned";

pub(crate) const STORED: &str = "/api/websub/callback";
const BARE: &str = "/bare";

/// A round that was measured.
#[derive(Debug, Clone)]
struct Round {
    load: Load,
    used: Usage,
    pushes: usize,
}

/// The server, and how many pushes were made for it.
struct Measured {
    _server: ServerProcess,
    address: SocketAddr,
    made: usize,
    /// Entries in its store, after the last of them.
    stored: usize,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let title = format!(
        "push: signed pushes of one new entry each ({} bytes) over {SUBSCRIPTIONS} subscriptions \
         with {ENTRIES} entries before, the best of {ROUNDS} \
         rounds of {ALONE_PUSHES} alone and {MANY_PUSHES} at once\n\
         durable: answered when committed and synced; bare: the same server, which only checks the signature\n\
         a second, median, 99th: answers, as the client sees them; x bare: how many times as long for as many\n\
         CPU us: of the server for one push; database: of PostgreSQL's processes; client: of the load's, on the same \
         cores\n\
         load average before: {} ({PEERS})",
        (0..SUBSCRIPTIONS).map(|number| document(number).len()).sum::<usize>() / SUBSCRIPTIONS,
        load_average(),
    );
    let head = ["", "a second", "median ms", "99th ms", "x bare", "CPU us", "database", "client", "peak MiB", "limit"];
    let mut table = Table::new(title, &head);
    table.row(&disk_cells(folder.path())?, Rating::None, "what one commit waits for at least");
    for location in [
        StoreLocation::Sqlite { folder: folder.path().to_owned() },
        StoreLocation::Postgres { url: crate::postgres::fresh("bench_push")? },
    ] {
        measure(location, folder.path(), &mut table)?;
    }
    table.print(tally);
    Ok(())
}

fn measure(location: StoreLocation, folder: &Path, table: &mut Table) -> anyhow::Result<()> {
    let (name, is_sqlite) = (location.name(), matches!(location, StoreLocation::Sqlite { .. }));
    let job = Job { location, subscriptions: SUBSCRIPTIONS, entries: ENTRIES, log: folder.join(format!("{name}.log")) };
    let server = ServerProcess::start(&["push-server", &serde_json::to_string(&job)?])?;
    let address = server.ready_line.parse()?;
    let mut measured = Measured { _server: server, address, made: 0, stored: SUBSCRIPTIONS * ENTRIES };
    let remark = if measured.status()?.is_durable { "" } else { "this database does not wait for the disk" };
    for (what, pushes, at_once) in [("alone", ALONE_PUSHES, 1), ("64 at once", MANY_PUSHES, AT_ONCE)] {
        for path in [BARE, STORED] {
            measured.round(path, WARM_UP_PUSHES, at_once)?;
        }
        let (mut bare, mut durable) = (None, None);
        for _ in 0..ROUNDS {
            better(&mut bare, measured.round(BARE, pushes, at_once)?);
            better(&mut durable, measured.round(STORED, pushes, at_once)?);
        }
        let (Some(bare), Some(durable)) = (bare, durable) else { anyhow::bail!("there are rounds") };
        let (rating, limit) = if at_once == 1 {
            (Rating::of(durable.load.percentile_ms(50) < ALONE_MS_MAX), format!("< {ALONE_MS_MAX:.0} ms"))
        } else {
            let per_sec_min = if is_sqlite { SQLITE_PER_SEC_MIN } else { POSTGRES_PER_SEC_MIN };
            (Rating::of(durable.load.per_sec() >= per_sec_min), format!(">= {per_sec_min:.0}"))
        };
        table.row(&cells(format!("{name}, {what}, bare"), &bare, &bare, String::new()), Rating::None, "");
        table.row(&cells(format!("{name}, {what}, durable"), &durable, &bare, limit), rating, remark);
    }
    Ok(())
}

fn better(best: &mut Option<Round>, round: Round) {
    if best.as_ref().is_none_or(|best| round.load.per_sec() > best.load.per_sec()) {
        *best = Some(round);
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn cells(name: String, round: &Round, bare: &Round, limit: String) -> Vec<String> {
    let each_us = |secs: f64| format!("{:.0}", secs * 1e6 / round.pushes as f64);
    vec![
        name,
        format!("{:.0}", round.load.per_sec()),
        format!("{:.2}", round.load.percentile_ms(50)),
        format!("{:.2}", round.load.percentile_ms(99)),
        format!("{:.1}", bare.load.per_sec() / round.load.per_sec()),
        each_us(round.used.cpu_secs),
        each_us(round.used.database_cpu_secs),
        each_us(round.load.cpu_secs),
        format!("{:.0}", mib(round.used.peak_bytes)),
        limit,
    ]
}

/// What the disk takes to keep one page, as a commit of one push writes some.
fn disk_cells(folder: &Path) -> anyhow::Result<Vec<String>> {
    const WRITES: usize = 500;
    let mut file = File::create(folder.join("disk"))?;
    let mut writes_ms = Vec::with_capacity(WRITES);
    for _ in 0..WRITES {
        let begun_secs = process::wall_secs();
        file.write_all(&[1; 4096])?;
        file.sync_data()?;
        writes_ms.push((process::wall_secs() - begun_secs) * 1000.0);
    }
    writes_ms.sort_by(f64::total_cmp);
    let mean_ms = writes_ms.iter().sum::<f64>() / 500.0;
    let mut cells = vec![
        "the disk: 4 KB written and synced".to_owned(),
        format!("{:.0}", 1000.0 / mean_ms),
        format!("{:.2}", writes_ms[WRITES / 2]),
        format!("{:.2}", writes_ms[WRITES * 99 / 100]),
    ];
    cells.resize(10, String::new());
    Ok(cells)
}

impl Measured {
    /// Sends so many pushes, none of which was sent before.
    fn round(&mut self, path: &str, pushes: usize, at_once: usize) -> anyhow::Result<Round> {
        let requests: Vec<Vec<u8>> =
            (self.made..self.made + pushes).map(|number| request(self.address, path, number)).collect();
        self.made += pushes;
        self.stored += if path == STORED { pushes } else { 0 };
        let before = self.status()?;
        let load = load::run_load(self.address, &requests, at_once)?;
        let after = self.status()?;
        let entries = after.unread_entries;
        anyhow::ensure!(entries == self.stored as u64, "{entries} entries are stored, not {}", self.stored);
        Ok(Round { load, used: after.usage.since(before.usage), pushes })
    }

    fn status(&self) -> anyhow::Result<Status> {
        Ok(serde_json::from_slice(&load::get(self.address, "/bare-status")?)?)
    }
}

fn document(number: usize) -> Vec<u8> {
    feeds::pushed(number, &feed_url(PUBLISHER, number % SUBSCRIPTIONS), HUB)
}

/// A push of one of the documents, as a hub sends it.
fn request(address: SocketAddr, path: &str, number: usize) -> Vec<u8> {
    signed(address, path, number % SUBSCRIPTIONS, &document(number))
}

/// A push of this Atom document to a subscription, as a hub sends it.
pub(crate) fn signed(address: SocketAddr, path: &str, subscription: usize, body: &[u8]) -> Vec<u8> {
    let topic = feed_url(PUBLISHER, subscription);
    let signature = sign(Algorithm::Sha256, body, &secret(subscription));
    let mut request = format!(
        "POST {path}/{} HTTP/1.1\r\nhost: {address}\r\nuser-agent: hub\r\ncontent-type: application/atom+xml\r\n\
         link: <{HUB}>; rel=\"hub\", <{topic}>; rel=\"self\"\r\nx-hub-signature: {signature}\r\ncontent-length: {}\r\n\
         \r\n",
        token(subscription),
        body.len(),
    )
    .into_bytes();
    request.extend(body);
    request
}
