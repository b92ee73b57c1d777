//! The memory that polling and reading take: the peak of a first fetch, what many feeds hold, pages of large entries, and
//! what the process still holds a minute after each.

use domain::account::READER;
use std::{net::SocketAddr, time::Duration};

use anyhow::Context;
use domain::{
    FeedId,
    ingest::{Document, IncomingEntry, PollOutcome},
};
use futures_util::future::try_join_all;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{FEEDS, Job, Phase, PhaseStart, phases, seed};
use crate::{
    fixture::{Fixture, StoreLocation},
    pages::entry,
    process::{self, ServerProcess},
    push::{server, subscriptions::finish},
    report::{Rating, Table, Tally, mib},
};

const MANY: usize = 10_000;

/// Readers of pages of large entries at once, and how many pages each follows.
const READERS: usize = 16;
const READER_PAGES: usize = 8;
const LARGE_ENTRIES: usize = 120;
const LARGE_BATCH: usize = 20;
const LARGE_ENTRY_BYTES: usize = 1_000_000;

/// The limits, in MiB.
const FIRST_FETCH_MAX: f64 = 50.0;
const MANY_MAX: f64 = 150.0;
const LATER_MAX: f64 = 50.0;

/// After this an allocator that gives memory back has done so, and idle connections are closed.
const LATER: Duration = Duration::from_mins(1);

pub(super) fn run(tally: &mut Tally, publisher: &str) -> anyhow::Result<()> {
    let folders = [tempfile::tempdir()?, tempfile::tempdir()?, tempfile::tempdir()?];
    let [first, many, large] =
        folders.each_ref().map(|folder| StoreLocation::Sqlite { folder: folder.path().to_owned() });
    let first = phases(&Job::FirstFetch { publisher: publisher.to_owned(), location: first })?;
    let many = phases(&Job::Many { publisher: publisher.to_owned(), location: many })?;
    let _ = phases(&Job::LargeEntries { location: large.clone() })?;
    let large = read_large(&large)?;
    let title = format!(
        "poll: memory on SQLite, {FEEDS} feeds of 92 KB, {MANY} small feeds at as many hosts, and {READERS} readers of pages \
         of 1 MB entries\n\
         later: what the process still holds after {} s",
        LATER.as_secs(),
    );
    let mut table = Table::new(title, &["", "MiB", "limit"]);
    let mut row = |name: &str, bytes: usize, limit: Option<f64>| {
        let cells = vec![
            name.to_owned(),
            format!("{:.0}", mib(bytes)),
            limit.map_or(String::new(), |limit| format!("{limit:.0}")),
        ];
        table.row(&cells, limit.map_or(Rating::None, |limit| Rating::of(mib(bytes) <= limit)), "");
    };
    let [cold, later] = first.as_slice() else { anyhow::bail!("a first fetch has two phases") };
    row("first fetch, peak", cold.peak_bytes, Some(FIRST_FETCH_MAX));
    row("first fetch, later", later.resident_bytes, Some(LATER_MAX));
    let [cold, warm, later] = many.as_slice() else { anyhow::bail!("polling many has three phases") };
    row("many, cold, peak", cold.peak_bytes, Some(MANY_MAX));
    row("many, warm, held at the end", warm.resident_bytes, Some(MANY_MAX));
    row("many, later", later.resident_bytes, Some(LATER_MAX));
    row("pages of large entries, peak", large.peak_bytes, None);
    row("pages of large entries, later", large.later_bytes, Some(LATER_MAX));
    table.print(tally);
    Ok(())
}

pub(super) async fn first_fetch(publisher: &str, location: &StoreLocation) -> anyhow::Result<Vec<Phase>> {
    let fixture = Fixture::open(location).await?;
    let engine = fixture.engine()?;
    let seeds = (0..FEEDS).map(|number| seed(&format!("{publisher}/{number}"))).collect::<anyhow::Result<_>>()?;
    fixture.store.import_feeds(READER, seeds).await?;
    let start = PhaseStart::now(0.0);
    let summary = engine.refresh_due().await?;
    anyhow::ensure!(summary.polled as usize == FEEDS && summary.failed == 0, "not all feeds were polled: {summary:?}");
    Ok(vec![start.end(0.0)?, later().await?])
}

/// Each feed at an address of loopback of its own.
pub(super) async fn poll_many(publisher: &str, location: &StoreLocation) -> anyhow::Result<Vec<Phase>> {
    let fixture = Fixture::open(location).await?;
    let engine = fixture.engine()?;
    let port = publisher.rsplit_once(':').context("the publisher has a port")?.1;
    let url = |number: usize| format!("http://127.1.{}.{}:{port}/small/{number}", number / 250, number % 250 + 1);
    let seeds = (0..MANY).map(|number| seed(&url(number))).collect::<anyhow::Result<_>>()?;
    fixture.store.import_feeds(READER, seeds).await?;
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
    phases.push(later().await?);
    Ok(phases)
}

async fn later() -> anyhow::Result<Phase> {
    let start = PhaseStart::now(0.0);
    tokio::time::sleep(LATER).await;
    start.end(0.0)
}

/// Fills a store with large entries.
pub(super) async fn make_large_entries(location: &StoreLocation) -> anyhow::Result<Vec<Phase>> {
    let store = Fixture::open(location).await?.store;
    store.import_feeds(READER, vec![seed("https://example.org/large")?]).await?;
    let feeds: Vec<FeedId> = store.feeds(READER).await?.iter().map(|feed| feed.id).collect();
    for first in (0..LARGE_ENTRIES).step_by(LARGE_BATCH) {
        let entries: Vec<IncomingEntry> = (first..first + LARGE_BATCH).map(large_entry).collect();
        let present = entries.iter().map(IncomingEntry::key).collect();
        let document = Document { entries, present, ..Document::default() };
        finish(&*store, &feeds, |_| Ok(PollOutcome::Fetched(document.clone()))).await?;
    }
    Ok(Vec::new())
}

fn large_entry(number: usize) -> IncomingEntry {
    const PARAGRAPH: &str =
        "<p>Twenty words or so make a paragraph, and some thousands of them an entry that no page shows whole.</p>\n";
    let content = PARAGRAPH.repeat(LARGE_ENTRY_BYTES / PARAGRAPH.len());
    IncomingEntry { content: Some(content), ..entry(number) }
}

#[derive(Debug)]
struct Memory {
    peak_bytes: usize,
    later_bytes: usize,
}

/// Reads from a server in a process of its own, whose memory is looked at from outside.
fn read_large(location: &StoreLocation) -> anyhow::Result<Memory> {
    let server = ServerProcess::start(&["pages-server", &serde_json::to_string(location)?])?;
    let address: SocketAddr = server.ready_line.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build()?;
        try_join_all((0..READERS).map(|_| follow_pages(&client, address))).await
    })?;
    std::thread::sleep(LATER);
    let process = server.id();
    Ok(Memory { peak_bytes: process::peak_bytes_of(process)?, later_bytes: process::resident_bytes_of(process)? })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    next_cursor: Option<String>,
}

async fn follow_pages(client: &reqwest::Client, address: SocketAddr) -> anyhow::Result<()> {
    let mut cursor = String::new();
    for _ in 0..READER_PAGES {
        let url = format!("http://{address}/api/entries?limit=500{cursor}");
        let body = client.get(url).send().await?.error_for_status()?.bytes().await?;
        let page: Page = serde_json::from_slice(&body)?;
        cursor = format!("&cursor={}", page.next_cursor.context("there are more pages")?);
    }
    Ok(())
}

/// The other side: serves until it is killed.
pub(crate) fn serve(location: &StoreLocation) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let fixture = Fixture::open(location).await?;
        let router = server::router(fixture.engine()?)?;
        println!("{}", listener.local_addr()?);
        Ok(web::serve(listener, router, CancellationToken::new()).await?)
    })
}
