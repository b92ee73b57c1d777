//! Delivery: what it takes from the outbox to the receiver, and what one receiver costs another.
//!
//! Whatever is measured runs in a process of its own, and so does the receiver that everything is sent to. Both share the
//! machine's cores, and with PostgreSQL its processes do too, so a rate is that of the whole; the CPU time is the
//! measured process's alone, and that of PostgreSQL's processes stands beside it.

mod alone;
mod backlog;
mod bare;
mod beats;
mod crowd;
mod event_source;
mod fill;
mod flaky;
mod isolation;
mod node;
pub(crate) mod receiver;
mod snapshot;
mod throughput;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::{fixture::StoreLocation, process, report::Tally};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Deliveries a second, beside a bare client.
    Throughput,
    /// Memory with a long backlog.
    Backlog,
    /// Receivers that are slow or dead beside one that works.
    Isolation,
    /// What heartbeats cost.
    Beats,
    /// One event on an idle system.
    Alone,
    /// Many webhooks, most of which are sent nothing.
    Crowd,
    /// Receivers that refuse some of what they are sent.
    Flaky,
    /// Deliveries a second on PostgreSQL with an old snapshot open.
    Snapshot,
}

/// What a process of its own does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    Fill(fill::Job),
    Bare(bare::Job),
    Throughput(throughput::Job),
    Backlog(backlog::Job),
    Isolation(isolation::Job),
    Beats(beats::Job),
    Alone(alone::Job),
    Crowd(crowd::Job),
    Flaky(flaky::Job),
    Snapshot(snapshot::Job),
}

/// Measures one part, or all.
pub(crate) fn run(tally: &mut Tally, only: Option<Part>) -> anyhow::Result<()> {
    let is_wanted = |part| only.is_none_or(|only| only == part);
    if is_wanted(Part::Throughput) {
        throughput::run(tally)?;
    }
    if is_wanted(Part::Backlog) {
        backlog::run(tally)?;
    }
    if is_wanted(Part::Isolation) {
        isolation::run(tally)?;
    }
    if is_wanted(Part::Beats) {
        beats::run(tally)?;
    }
    if is_wanted(Part::Alone) {
        alone::run(tally)?;
    }
    if is_wanted(Part::Crowd) {
        crowd::run(tally)?;
    }
    if is_wanted(Part::Flaky) {
        flaky::run(tally)?;
    }
    if is_wanted(Part::Snapshot) {
        snapshot::run(tally)?;
    }
    Ok(())
}

/// The other side: does the job and prints what came of it.
pub(crate) fn perform(job: Job) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match job {
            Job::Fill(job) => process::print_result(&job.perform().await?),
            Job::Bare(job) => process::print_result(&job.perform().await?),
            Job::Throughput(job) => process::print_result(&job.perform().await?),
            Job::Backlog(job) => process::print_result(&job.perform().await?),
            Job::Isolation(job) => process::print_result(&job.perform().await?),
            Job::Beats(job) => process::print_result(&job.perform().await?),
            Job::Alone(job) => process::print_result(&job.perform().await?),
            Job::Crowd(job) => process::print_result(&job.perform().await?),
            Job::Flaky(job) => process::print_result(&job.perform().await?),
            Job::Snapshot(job) => process::print_result(&job.perform().await?),
        }
    })
}

fn run_job<A: serde::de::DeserializeOwned>(job: &Job) -> anyhow::Result<A> {
    process::run_job("dispatch-job", job)
}

/// An empty store of each kind.
fn empty_stores(folder: &std::path::Path, name: &str) -> anyhow::Result<[StoreLocation; 2]> {
    let url = crate::postgres::fresh(&format!("bench_{name}"))?;
    Ok([StoreLocation::Sqlite { folder: folder.join(name) }, StoreLocation::Postgres { url }])
}
