//! `pirssonite import`: feeds and folders from other readers, stored at once and then fetched, by the server that runs
//! or by this command itself.

use std::{
    collections::HashSet,
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::{format_count, print_json, print_line, progress_bar, refresh::refresh, to_u64};
use crate::{
    backend::{self, Backend},
    settings::Settings,
};

/// Bytes of an OPML file.
const OPML_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Exit code after Ctrl-C, as shells have it.
const EXIT_INTERRUPTED: u8 = 130;

/// How often it is looked how far the server is: at first, and later.
const LOOK_PAUSE_FIRST: Duration = Duration::from_millis(50);
const LOOK_PAUSE_MAX: Duration = Duration::from_secs(1);

/// How long to go on looking while nothing happens: longer than a feed may take, because nodes may share a database of
/// which none polls.
const IDLE_MAX: Duration = Duration::from_mins(2);

/// The file to read.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// An OPML file, or `-` for standard input.
    file: PathBuf,
    /// Store the feeds, and do not wait until they have been fetched.
    #[arg(long)]
    no_wait: bool,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Imports a file. Outlines that are no feeds are reported, and it fails if there are no others.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let opml = read(&arguments.file)?;
    let backend = backend::connect_or_create(settings).await?;
    let known = ids(&backend.feeds().await?);
    let mut report = backend.import(opml).await.with_context(|| arguments.file.display().to_string())?;
    if !arguments.json {
        say_report(&report)?;
    }
    let new: HashSet<i64> = ids(&backend.feeds().await?).difference(&known).copied().collect();
    let end = if arguments.no_wait { End::NotWaited } else { fetch(&*backend, &new).await };
    let so_far = match &end {
        End::NotWaited => Some(Progress { waiting: new.len(), ..Progress::default() }),
        End::Fetched | End::Interrupted => Some(Progress::of(&backend.feeds().await?, &new)),
        End::Failed(_) => None,
    };
    if let Some(so_far) = so_far {
        if arguments.json {
            so_far.add_to(&mut report);
        } else {
            so_far.print_line(who_fetches(backend.is_server(), settings))?;
        }
    }
    if arguments.json {
        print_json(&report)?;
    }
    match end {
        End::Failed(error) => Err(error),
        End::Interrupted => Ok(ExitCode::from(EXIT_INTERRUPTED)),
        // A feed that fails is the publisher's matter.
        End::NotWaited | End::Fetched => Ok(if is_refused(&report) { ExitCode::FAILURE } else { ExitCode::SUCCESS }),
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let name = file.display();
    let reader: Box<dyn Read> = match file.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(fs::File::open(file).with_context(|| name.to_string())?),
    };
    let mut opml = Vec::new();
    reader.take(OPML_BYTES_MAX + 1).read_to_end(&mut opml).with_context(|| name.to_string())?;
    if opml.len() as u64 > OPML_BYTES_MAX {
        bail!("{name} is larger than {OPML_BYTES_MAX} bytes");
    }
    Ok(opml)
}

fn ids(feeds: &[Value]) -> HashSet<i64> {
    feeds.iter().filter_map(|feed| feed["id"].as_i64()).collect()
}

fn errors(report: &Value) -> &[Value] {
    report["errors"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Whether there was something wrong, and nothing right.
fn is_refused(report: &Value) -> bool {
    !errors(report).is_empty() && report["imported"] == 0 && report["skipped"] == 0
}

fn say_report(report: &Value) -> anyhow::Result<()> {
    for error in errors(report) {
        let place = error["url"].as_str().filter(|url| !url.is_empty()).map(|url| format!("{url}: "));
        print_line(&format!("problem: {}{}", place.unwrap_or_default(), error["error"].as_str().unwrap_or_default()))?;
    }
    let problems = format_count(errors(report).len() as u64, "problem", "problems");
    print_line(&format!("{} imported, {} already there, {problems}", report["imported"], report["skipped"]))
}

/// Who fetches what was not waited for. Of nodes that share a database, the one that was asked may not fetch at all.
fn who_fetches(is_server: bool, settings: &Settings) -> &'static str {
    match (is_server, &settings.database_url) {
        (false, _) => "`pirssonite refresh` fetches them, or a server",
        (true, None) => "the server fetches them",
        (true, Some(_)) => "a worker fetches them, if one runs",
    }
}

/// How the wait for the feeds ended.
enum End {
    NotWaited,
    Fetched,
    Interrupted,
    Failed(anyhow::Error),
}

/// Fetches feeds, or watches the server do so. Ctrl-C ends the wait: what is stored stays.
async fn fetch(backend: &dyn Backend, feeds: &HashSet<i64>) -> End {
    let work = async {
        if backend.is_server() {
            return watch(backend, feeds).await;
        }
        let mut in_order: Vec<i64> = feeds.iter().copied().collect();
        in_order.sort_unstable();
        refresh(backend, &in_order, "fetching").await.failures.into_iter().next().map_or(Ok(()), Err)
    };
    tokio::select! {
        ended = work => ended.map_or_else(End::Failed, |()| End::Fetched),
        // If there is no way to hear of it, the system ends the process instead.
        Ok(()) = tokio::signal::ctrl_c() => End::Interrupted,
    }
}

/// Waits until the server has tried all these feeds, or does nothing about them any more.
async fn watch(backend: &dyn Backend, feeds: &HashSet<i64>) -> anyhow::Result<()> {
    let bar = progress_bar(feeds.len(), "fetching");
    let (mut waiting, mut idle, mut pause) = (usize::MAX, Duration::ZERO, LOOK_PAUSE_FIRST);
    while waiting > 0 && idle < IDLE_MAX {
        let now = Progress::of(&backend.feeds().await?, feeds).waiting;
        bar.set_position((feeds.len() - now) as u64);
        idle = if now == waiting { idle + pause } else { Duration::ZERO };
        waiting = now;
        if waiting > 0 {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LOOK_PAUSE_MAX);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// How far the fetching of some feeds has come.
#[derive(Default)]
struct Progress {
    fetched: usize,
    failed: usize,
    waiting: usize,
    entries: u64,
}

impl Progress {
    /// As the feeds say. One that was removed meanwhile does not count.
    fn of(feeds: &[Value], which: &HashSet<i64>) -> Self {
        let mut so_far = Self::default();
        for feed in feeds.iter().filter(|feed| feed["id"].as_i64().is_some_and(|id| which.contains(&id))) {
            let is_tried = feed["isGone"] == true || to_u64(&feed["failureCount"]) > 0;
            match (feed["lastFetchedAt"].is_string(), is_tried) {
                (true, _) => so_far.fetched += 1,
                (false, true) => so_far.failed += 1,
                (false, false) => so_far.waiting += 1,
            }
            so_far.entries += to_u64(&feed["unreadCount"]);
        }
        so_far
    }

    fn add_to(&self, report: &mut Value) {
        report["fetched"] = json!(self.fetched);
        report["failed"] = json!(self.failed);
        report["waiting"] = json!(self.waiting);
        report["newEntries"] = json!(self.entries);
    }

    fn print_line(&self, who_fetches: &str) -> anyhow::Result<()> {
        let Self { fetched, failed, waiting, entries } = self;
        if fetched + failed > 0 {
            let hint = if *failed > 0 { " (`pirssonite list` says why)" } else { "" };
            let entries = format_count(*entries, "new entry", "new entries");
            print_line(&format!("{fetched} fetched, {failed} failed{hint}; {entries}"))?;
        }
        if *waiting > 0 {
            print_line(&format!("{waiting} not fetched yet: {who_fetches}"))?;
        }
        Ok(())
    }
}
