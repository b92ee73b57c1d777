//! A thousand open pages, without the pages: event streams, idle and while entries come.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use futures_util::future::try_join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::Server;
use crate::{
    fixture::family_cpu_secs,
    process::{self, resident_bytes_of},
    push::{load::Connection, load_average},
    report::{Rating, Table, Tally, mib},
};

const STREAMS: usize = 1_000;
const AT_ONCE: usize = 50;
const ENTRIES_PER_SEC: u32 = 10;
const SECS: u32 = 10;
/// How often an event was written to each stream at least: what comes quickly is told together.
const TOLD_MIN: u64 = 10;

/// Limits of our own: of the memory that a stream takes, and of one core.
const STREAM_KIB_MAX: f64 = 64.0;
const IDLE_PERCENT_MAX: f64 = 5.0;
const BUSY_PERCENT_MAX: f64 = 50.0;

pub(super) fn run(tally: &mut Tally, servers: [&Server; 2]) -> anyhow::Result<()> {
    let title = format!(
        "page: {STREAMS} open event streams, and the server that feeds them; PostgreSQL's own processes are not counted\n\
         CPU: per cent of one core over {SECS} s; load average before: {}",
        load_average(),
    );
    let mut table = Table::new(title, &["", "figure", "limit", "ratio"]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    for server in servers {
        let used = runtime.block_on(measure(server))?;
        let mut row = |what: &str, value: f64, unit: &str, limit: Option<f64>| {
            let shown = |value: f64| format!("{value:.1} {unit}");
            let cells = [
                format!("{}, {what}", server.name),
                shown(value),
                limit.map(shown).unwrap_or_default(),
                limit.map(|limit| format!("{:.2}", value / limit)).unwrap_or_default(),
            ];
            table.row(&cells, limit.map_or(Rating::None, |limit| Rating::of(value <= limit)), "");
        };
        row("memory before", used.before_mib, "MiB", None);
        row("memory with all of them", used.with_mib, "MiB", None);
        #[expect(clippy::cast_precision_loss, reason = "a thousand fits")]
        row("memory of each", (used.with_mib - used.before_mib) * 1024.0 / STREAMS as f64, "KiB", Some(STREAM_KIB_MAX));
        row("CPU, idle", used.idle_percent, "%", Some(IDLE_PERCENT_MAX));
        row("CPU, 10 entries a second", used.busy_percent, "%", Some(BUSY_PERCENT_MAX));
        row("memory after that", used.after_mib, "MiB", None);
    }
    table.print(tally);
    Ok(())
}

struct Used {
    before_mib: f64,
    with_mib: f64,
    after_mib: f64,
    idle_percent: f64,
    busy_percent: f64,
}

async fn measure(server: &Server) -> anyhow::Result<Used> {
    let resident = || anyhow::Ok(mib(resident_bytes_of(server.process.id())?));
    // What a first push and a first stream allocate for good is not of the streams.
    push(server, 0, 1).await?;
    let before_mib = resident()?;
    let told = Arc::new(AtomicU64::new(0));
    for _ in 0..STREAMS / AT_ONCE {
        try_join_all((0..AT_ONCE).map(|_| open(server, &told))).await?;
    }
    let with_mib = resident()?;
    let idle_percent = cpu_percent(server, async {
        tokio::time::sleep(Duration::from_secs(SECS.into())).await;
        Ok(())
    })
    .await?;
    told.store(0, Ordering::Relaxed);
    let busy_percent = cpu_percent(server, push(server, 1, ENTRIES_PER_SEC * SECS)).await?;
    let heard = told.load(Ordering::Relaxed);
    anyhow::ensure!(heard >= TOLD_MIN * STREAMS as u64, "only {heard} events were heard");
    Ok(Used { before_mib, with_mib, after_mib: resident()?, idle_percent, busy_percent })
}

/// The CPU that the server uses meanwhile.
async fn cpu_percent(server: &Server, work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<f64> {
    let used = || (family_cpu_secs(server.process.id()), process::wall_secs());
    let (cpu, wall) = used();
    work.await?;
    let (cpu_after, wall_after) = used();
    Ok((cpu_after - cpu) / (wall_after - wall) * 100.0)
}

/// Pushes so many entries, ten a second.
async fn push(server: &Server, round: u32, count: u32) -> anyhow::Result<()> {
    let mut connection = Connection::open(server.address).await?;
    let mut every = tokio::time::interval(Duration::from_secs(1) / ENTRIES_PER_SEC);
    for number in 0..count {
        every.tick().await;
        let request = server.push(number as usize, &format!("Streamed {round} {number}"));
        let status = connection.send(&request).await?.status;
        anyhow::ensure!(status == 204, "a push was answered with {status}");
    }
    Ok(())
}

/// Opens a stream and reads it in the background; what it tells is counted.
async fn open(server: &Server, told: &Arc<AtomicU64>) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(server.address).await?;
    let request = format!("GET /api/events HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\n\r\n", server.address);
    stream.write_all(request.as_bytes()).await?;
    let mut piece = vec![0; 4096];
    let bytes = stream.read(&mut piece).await?;
    let head = std::str::from_utf8(&piece[..bytes]).context("an answer is text")?;
    anyhow::ensure!(head.starts_with("HTTP/1.1 200"), "a stream was refused: {head}");
    let told = Arc::clone(told);
    tokio::spawn(async move {
        while let Ok(bytes @ 1..) = stream.read(&mut piece).await {
            let events = piece[..bytes].windows(EVENT.len()).filter(|window| *window == EVENT).count();
            told.fetch_add(events as u64, Ordering::Relaxed);
        }
    });
    Ok(())
}

const EVENT: &[u8] = b"event: entries";
