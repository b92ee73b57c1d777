//! Runs one job in a process of its own, so that its memory and its CPU time are its alone, and so that an abort, an
//! overflown stack or a hang is an outcome like any other.
//!
//! The parent starts this same program again, writes the document to its standard input and reads a [`Measured`] from
//! its standard output.

use std::{
    io::{Read, Write},
    os::unix::process::ExitStatusExt,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use anyhow::Context;
use feed::{Error, Feed, Hints, Warning};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::{cpu, feeds::FEED_URL, process};

/// CPU seconds after which the system ends a child.
pub(crate) const CPU_SECS_MAX: u64 = 10;

/// Memory that a child may ask for: a document must not take the machine with it.
const MEMORY_BYTES_MAX: u64 = 2 << 30;

/// How often, and how long, a child is looked after before it is killed: two minutes.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
const LOOKS_MAX: u32 = 24_000;

/// What a child does with the document that it is given.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Reads it as a feed and sanitises every text.
    Feed { document_bytes: usize, document_bytes_max: usize },
    /// Sanitises it as HTML.
    Sanitise { document_bytes: usize },
    /// The same with ammonia.
    Ammonia { document_bytes: usize },
}

/// What a job took.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) cpu_secs: f64,
    /// The most memory that the process ever had, with the document itself.
    pub(crate) peak_bytes: usize,
    /// The most that it had before the job began.
    pub(crate) start_bytes: usize,
    /// Bytes of HTML that came out.
    pub(crate) html_bytes: usize,
    /// Entries of a feed that came out.
    pub(crate) entries: usize,
    pub(crate) outcome: String,
}

/// Runs a job on a document in a new process; `Err` says how that process ended if not by itself.
pub(crate) fn run(job: Job, document: &[u8]) -> anyhow::Result<Result<Measured, String>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["child", &serde_json::to_string(&job)?])
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // A child that dies before it has read everything is an outcome, told by its status.
    let _ = child.stdin.take().context("its input is a pipe")?.write_all(document);
    let Some(status) = wait(&mut child)? else { return Ok(Err("hung: killed".to_owned())) };
    let mut output = String::new();
    child.stdout.take().context("its output is a pipe")?.read_to_string(&mut output)?;
    let mut complaint = String::new();
    child.stderr.take().context("its errors are a pipe")?.read_to_string(&mut complaint)?;
    match serde_json::from_str(&output) {
        Ok(measured) if status.success() => Ok(Ok(measured)),
        _ => Ok(Err(describe(status, &complaint))),
    }
}

fn wait(child: &mut Child) -> anyhow::Result<Option<ExitStatus>> {
    for _ in 0..LOOKS_MAX {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(LOOK_INTERVAL);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

fn describe(status: ExitStatus, complaint: &str) -> String {
    const SIGXCPU: i32 = 24;
    if status.signal() == Some(SIGXCPU) {
        return format!("stopped after {CPU_SECS_MAX} s of CPU");
    }
    let complaint = complaint.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    format!("{status}: {complaint}")
}

/// The other side: does the job on what stands in standard input.
pub(crate) fn serve(job: &str) -> anyhow::Result<()> {
    let job: Job = serde_json::from_str(job)?;
    setrlimit(Resource::Cpu, Rlimit { current: Some(CPU_SECS_MAX), maximum: None })?;
    setrlimit(Resource::As, Rlimit { current: Some(MEMORY_BYTES_MAX), maximum: None })?;
    let (Job::Feed { document_bytes, .. } | Job::Sanitise { document_bytes } | Job::Ammonia { document_bytes }) = job;
    let mut document = Vec::with_capacity(document_bytes);
    std::io::stdin().lock().read_to_end(&mut document)?;
    // The stack of a thread, as in a server, is a quarter of what the first thread has.
    let measured = thread::spawn(move || perform(job, &document)).join();
    let Ok(measured) = measured else { anyhow::bail!("the job panicked") };
    serde_json::to_writer(std::io::stdout(), &measured?)?;
    Ok(())
}

fn perform(job: Job, document: &[u8]) -> anyhow::Result<Measured> {
    let mut measured = Measured {
        cpu_secs: 0.0,
        peak_bytes: 0,
        start_bytes: process::peak_bytes()?,
        html_bytes: 0,
        entries: 0,
        outcome: String::new(),
    };
    measured.cpu_secs = cpu::secs_of(|| match job {
        Job::Feed { document_bytes_max, .. } => {
            let hints = Hints { url: Some(FEED_URL), document_bytes_max, ..Hints::default() };
            (measured.entries, measured.outcome) = read_and_sanitise(document, &hints);
        }
        Job::Sanitise { .. } => measured.html_bytes = feed::sanitise(&String::from_utf8_lossy(document), None).len(),
        Job::Ammonia { .. } => measured.html_bytes = ammonia::clean(&String::from_utf8_lossy(document)).len(),
    });
    measured.peak_bytes = process::peak_bytes()?;
    Ok(measured)
}

/// All that is ever done with a document from outside: how many entries came of it, and what else there is to say.
fn read_and_sanitise(document: &[u8], hints: &Hints<'_>) -> (usize, String) {
    match feed::parse(document, hints) {
        Ok(mut feed) => {
            feed.head.sanitise();
            feed.entries.iter_mut().for_each(feed::Entry::sanitise);
            (feed.entries.len(), summary(&feed))
        }
        Err(error @ Error::WebPage) => (0, format!("{error}, offers {} feeds", feed::discover(document, hints).len())),
        Err(error) => (0, error.to_string()),
    }
}

fn summary(feed: &Feed) -> String {
    let warnings: Vec<String> = feed
        .warnings
        .iter()
        .filter(|warning| !matches!(warning, Warning::BadDate(_)))
        .map(|warning| format!("{warning:?}"))
        .collect();
    let bad_dates = feed.warnings.len() - warnings.len();
    let bad_dates = if bad_dates > 0 { format!(", {bad_dates} bad dates") } else { String::new() };
    format!("{} entries{bad_dates} {}", feed.entries.len(), warnings.join(" ")).trim_end().to_owned()
}
