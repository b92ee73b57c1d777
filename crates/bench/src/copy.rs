//! Moving everything from SQLite to PostgreSQL and back by the real program: minutes, memory, whether it is the same, and
//! who delivers what had not arrived.
//!
//! ```text
//! filled folder ── copy ──> PostgreSQL ── copy ──> another folder ── serve ──> receiver
//! ```

use std::{
    collections::HashMap,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context;
use domain::{
    FeedId,
    account::READER,
    delivery::{EventType, NewWebhook, WebhookSecret},
    ingest::{Document, IncomingEntry, PollOutcome},
    ports::{MarkRead, Store, Viewer},
};
use engine::SystemIds;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use testkit::{Page, Receiver};
use tokio::time::Instant;

use crate::{
    fixture::{Fixture, StoreLocation},
    follows::{accounts, follow, import, url},
    pages::entry,
    postgres, process,
    push::subscriptions::finish,
    report::{Rating, Table, Tally, mib},
};

/// Feeds, of which the reader follows all, each other account one in so many, and the last some have a webhook that has
/// received nothing of them.
const FEEDS: usize = 1_000;
const ACCOUNTS: usize = 10;
const FOLLOWED_OF: usize = 10;
const UNDELIVERED_FEEDS: usize = 10;

const HOOK: &str = "/hook";

/// The limits: how long a copy of a million entries may take, and how much memory.
const SECS_MAX: f64 = 600.0;
const PEAK_BYTES_MAX: usize = 256 << 20;

/// How long an old database may take to refuse, and the new one to deliver.
const REFUSED_WITHIN: Duration = Duration::from_mins(1);
const DELIVERED_WITHIN: Duration = Duration::from_mins(5);
const LOOK_PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Entries; a hundredth of them is undelivered.
    #[arg(default_value_t = 1_000_000)]
    entries: usize,
    /// The program that copies.
    #[arg(long, default_value = "target/release/pirssonite")]
    program: PathBuf,
}

/// Fills a store, in a process of its own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    location: StoreLocation,
    entries_of_feed: usize,
    hook: String,
}

/// How often each event was received.
type Received = Arc<Mutex<HashMap<String, usize>>>;

pub(crate) fn run(tally: &mut Tally, arguments: &Arguments) -> anyhow::Result<()> {
    let program = &arguments.program;
    anyhow::ensure!(program.is_file(), "{} is not there: build it first", program.display());
    // It can only fail if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (folder, database) = (tempfile::tempdir()?, postgres::fresh("bench_copy")?);
    let [old, between, new] = ["old", "between", "new"].map(|name| folder.path().join(name));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (hook, received) = runtime.block_on(receive());
    let (location, entries_of_feed) = (StoreLocation::Sqlite { folder: old.clone() }, arguments.entries / FEEDS);
    let () = process::run_job("copy-job", &Job { location, entries_of_feed, hook: hook.url(HOOK) })?;
    println!("\nfilled, {:.0} MB", megabytes(&old)?);

    let old = Place { program, folder: &old, database: None };
    let moved = Place { program, folder: &between, database: Some(&database) };
    let back = Place { program, folder: &new, database: None };
    let there = old.copy_to(&database)?;
    let back_again = moved.copy_to(&new.display().to_string())?;
    let undelivered = UNDELIVERED_FEEDS * entries_of_feed;
    let title = format!(
        "copy: {} entries, {ACCOUNTS} accounts, {undelivered} undelivered rows, from SQLite to PostgreSQL and back",
        FEEDS * entries_of_feed
    );
    let mut table = Table::new(title, &["", "rows", "s", "rows a second", "peak MiB"]);
    for (name, copied) in [("SQLite to PostgreSQL", &there), ("PostgreSQL to SQLite", &back_again)] {
        table.row(&copied.row(name), Rating::of(copied.secs <= SECS_MAX && copied.peak_bytes <= PEAK_BYTES_MAX), "");
    }
    table.print(tally);

    // Whoever would deliver what another delivers, does so before that one is asked to.
    let refused = [&old, &moved].map(Place::refuses);
    let early = received.lock().unwrap_or_else(PoisonError::into_inner).len();
    let delivered = runtime.block_on(back.deliver(&received, undelivered))?;
    let mut table = Table::new("copy: what came of it", &["", "", ""]);
    let is_same = there.tables == back_again.tables;
    let cell = |text: &str, of: usize| [text.to_owned(), of.to_string(), String::new()];
    table.row(
        &cell("tables, the same rows and checksums both ways", there.tables.as_array().map_or(0, Vec::len)),
        Rating::of(is_same),
        "",
    );
    let refusals = refused.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    table.row(&cell("old databases that refuse to serve", refusals.len()), Rating::of(refusals == [true, true]), "");
    table.row(&cell("sent by the old ones", early), Rating::of(early == 0), "");
    table.row(&cell("delivered by the new one", delivered.len()), Rating::of(delivered.len() == undelivered), "");
    let twice = delivered.values().filter(|times| **times > 1).count();
    table.row(&cell("delivered twice", twice), Rating::of(twice == 0), "");
    table.print(tally);
    Ok(())
}

/// A receiver that counts what it gets.
async fn receive() -> (Receiver, Received) {
    let (hook, received) = (Receiver::start().await, Received::default());
    hook.record(false);
    let counted = Arc::clone(&received);
    hook.answer_by(HOOK, move |receipt| {
        let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
        *counted.entry(receipt.event_id().to_owned()).or_default() += 1;
        Page::status(200)
    });
    (hook, received)
}

/// A database, as the program is told of it.
struct Place<'p> {
    program: &'p Path,
    folder: &'p Path,
    database: Option<&'p str>,
}

/// What a copy took, and what it has compared.
struct Copied {
    tables: Value,
    secs: f64,
    peak_bytes: usize,
}

impl Copied {
    fn rows(&self) -> u64 {
        self.tables.as_array().into_iter().flatten().filter_map(|table| table["rows"].as_u64()).sum()
    }

    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    fn row(&self, name: &str) -> [String; 5] {
        [
            name.to_owned(),
            self.rows().to_string(),
            format!("{:.1} (<= {SECS_MAX})", self.secs),
            format!("{:.0}", self.rows() as f64 / self.secs),
            format!("{:.0} (<= {})", mib(self.peak_bytes), PEAK_BYTES_MAX >> 20),
        ]
    }
}

impl Place<'_> {
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.program);
        command.arg(name).arg("--data-dir").arg(self.folder);
        command.args(self.database.into_iter().flat_map(|url| ["--database-url", url]));
        command
    }

    fn copy_to(&self, target: &str) -> anyhow::Result<Copied> {
        let begun = process::wall_secs();
        let child = self.command("copy").args(["--json", "--to", target]).stdout(Stdio::piped()).spawn()?;
        let (output, peak_bytes) = wait(child)?;
        anyhow::ensure!(output.status.success(), "the copy ended with {}", output.status);
        Ok(Copied { tables: serde_json::from_slice(&output.stdout)?, secs: process::wall_secs() - begun, peak_bytes })
    }

    fn serve(&self, address: &str) -> Command {
        let mut command = self.command("serve");
        // Nothing but the receiver is asked for anything.
        command.args(["--listen", address, "--allow-networks", "127.0.0.0/8", "--feed-icons=false", "--log", "warn"]);
        command
    }

    /// Whether a server refuses to start here, because all was moved.
    fn refuses(&self) -> anyhow::Result<bool> {
        let mut server = Server(self.serve(&process::free_address()?).stderr(Stdio::piped()).spawn()?);
        let begun = Instant::now();
        while begun.elapsed() < REFUSED_WITHIN {
            if let Some(status) = server.0.try_wait()? {
                let mut said = String::new();
                server.0.stderr.take().context("what it says is a pipe")?.read_to_string(&mut said)?;
                return Ok(!status.success() && said.contains("was moved"));
            }
            std::thread::sleep(LOOK_PAUSE);
        }
        Ok(false)
    }

    /// Serves until nothing waits any more: what was received, and how often.
    async fn deliver(&self, received: &Received, count: usize) -> anyhow::Result<HashMap<String, usize>> {
        let address = process::free_address()?;
        let _server = Server(self.serve(&address).spawn()?);
        let client = reqwest::Client::builder().no_proxy().build()?;
        let begun = Instant::now();
        loop {
            let now = received.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if now.len() >= count && pending(&client, &address).await == Some(0) || begun.elapsed() > DELIVERED_WITHIN {
                return Ok(now);
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }
}

/// Ends with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What waits to be delivered, if the server answers yet.
async fn pending(client: &reqwest::Client, address: &str) -> Option<u64> {
    let answer = client.get(format!("http://{address}/api/outbox/overview")).send().await.ok()?;
    serde_json::from_str::<Value>(&answer.text().await.ok()?).ok()?["pending"].as_u64()
}

/// What a process has printed, and the most memory that it had, but for its last moment.
fn wait(mut child: Child) -> anyhow::Result<(Output, usize)> {
    let mut peak_bytes = 0;
    while child.try_wait()?.is_none() {
        peak_bytes = process::peak_bytes_of(child.id()).unwrap_or(0).max(peak_bytes);
        std::thread::sleep(LOOK_PAUSE);
    }
    Ok((child.wait_with_output()?, peak_bytes))
}

fn megabytes(folder: &Path) -> anyhow::Result<f64> {
    let sizes = std::fs::read_dir(folder)?.map(|file| Ok(file?.metadata()?.len()));
    let bytes = sizes.sum::<std::io::Result<u64>>()?;
    Ok(crate::report::mb(usize::try_from(bytes)?))
}

/// The other side: fills the store.
pub(crate) fn perform(job: &Job) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let fixture = Fixture::open(&job.location).await?;
        let store = &fixture.store;
        let feeds = import(store.as_ref(), FEEDS).await?;
        // Only what was fetched can be followed without another request.
        finish(store.as_ref(), &feeds, |_| Ok(PollOutcome::Fetched(Document::default()))).await?;
        let others = accounts(store, ACCOUNTS - 1).await?;
        follow(store, &others, |account| (account..FEEDS).step_by(FOLLOWED_OF).map(url).collect()).await?;
        add_webhook(store.as_ref(), &feeds[FEEDS - UNDELIVERED_FEEDS..], &job.hook).await?;
        finish(store.as_ref(), &feeds, |poll| {
            let number: usize = poll.address.url.rsplit('/').next().context("a URL has a path")?.parse()?;
            let numbers = number * job.entries_of_feed..(number + 1) * job.entries_of_feed;
            let entries: Vec<IncomingEntry> = numbers.map(entry).collect();
            let present = entries.iter().map(IncomingEntry::key).collect();
            Ok(PollOutcome::Fetched(Document { present, entries, is_complete: true, ..Document::default() }))
        })
        .await?;
        store.mark_read(others[0], MarkRead::default()).await?;
        let pending = store.outbox_overview(Viewer::Server).await?.pending;
        let expected = UNDELIVERED_FEEDS * job.entries_of_feed;
        anyhow::ensure!(pending == expected as u64, "{pending} rows wait, not {expected}");
        Ok(())
    })
}

/// Of these feeds, with what they hold when they are first fetched.
async fn add_webhook(store: &dyn Store, feeds: &[FeedId], hook: &str) -> anyhow::Result<()> {
    let new = NewWebhook {
        event_types: Some(vec![EventType::EntryCreated]),
        feed_ids: Some(feeds.to_vec()),
        backlog: true,
        ..NewWebhook::to(hook.to_owned(), WebhookSecret::new(&SystemIds))
    };
    store.create_webhook(READER, new).await?;
    Ok(())
}
