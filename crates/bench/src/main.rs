//! The measurements, each beside its limit or a peer in the same run.
//!
//! `cargo run --release -p bench` runs them all; a name after `--` runs one. A figure that misses its limit is marked,
//! and the run then ends in failure. Times are CPU times, so that a busy machine changes them little.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

mod changes;
mod child;
mod copy;
mod cpu;
mod dispatch;
mod feeds;
mod fixture;
mod follows;
mod hostile;
mod logins;
mod page;
mod pages;
mod parse;
mod poll;
mod postgres;
mod process;
mod publisher;
mod push;
mod report;
mod soak;
mod sync;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use report::Tally;

/// Measures, and shows each figure beside its limit or a peer.
#[derive(Debug, Parser)]
struct CommandLine {
    /// Without a name, all of them.
    #[command(subcommand)]
    measurement: Option<Measurement>,
}

#[derive(Debug, Subcommand)]
enum Measurement {
    /// The speed of the parser and the sanitiser, beside a bare XML pass, feed-rs and ammonia.
    Parse,
    /// CPU time and memory on documents made to do harm.
    Hostile {
        /// Only the documents with this in their name.
        name: Option<String>,
        /// Writes the documents into this folder instead, to look into one.
        #[arg(long)]
        write: Option<std::path::PathBuf>,
    },
    /// Polling two hundred feeds, all new and then nothing new, on each store, beside its floor; claims with an old snapshot
    /// open.
    Poll,
    /// Pages, searches, memory and polls at a million entries, on each store.
    Pages,
    /// The page in a real browser at a million entries: its first load, keys, pushes until they are on it, and a thousand
    /// open event streams.
    Page {
        /// Only this part of it.
        part: Option<page::Part>,
    },
    /// Signed pushes until they are on the disk, and renewals of subscriptions, on each store, beside bare ones.
    Push {
        /// Only this part of it.
        part: Option<push::Part>,
    },
    /// Deliveries to webhooks on each store: how many a second, in how much memory, how soon, beside bare ones.
    Dispatch {
        /// Only this part of it.
        part: Option<dispatch::Part>,
    },
    /// The change stream on each store: how soon a commit is heard, in its process and on another node.
    Changes,
    /// Polls and pushes of a feed that many accounts follow, and pages of one account beside others, on each store.
    Follows,
    /// Apps of other readers: a first sync, one with nothing new, marking a thousand, on each store, beside a bare walk.
    Sync,
    /// Prepares a store for that, in a process of its own.
    #[command(hide = true)]
    SyncJob {
        /// The job, as JSON.
        job: String,
    },
    /// Moving a million entries from SQLite to PostgreSQL and back by the real program.
    Copy(copy::Arguments),
    /// Fills a store for that, in a process of its own.
    #[command(hide = true)]
    CopyJob {
        /// The job, as JSON.
        job: String,
    },
    /// Logins while passwords are guessed by many.
    Logins,
    /// The real program under a mixed load for some minutes, killed, frozen, without its database or its disk.
    Soak(soak::Arguments),
    /// Serves logins until it is killed.
    #[command(hide = true)]
    LoginsServer {
        /// The store, as JSON.
        location: String,
    },
    /// Serves feeds until it is killed.
    #[command(hide = true)]
    Publish,
    /// One poll in a process of its own.
    #[command(hide = true)]
    PollJob {
        /// The job, as JSON.
        job: String,
    },
    /// Claims with an old snapshot open, in a process of its own.
    #[command(hide = true)]
    SnapshotJob {
        /// The job, as JSON.
        job: String,
    },
    /// One size of store in a process of its own.
    #[command(hide = true)]
    PagesJob {
        /// The job, as JSON.
        job: String,
    },
    /// Serves pages until it is killed.
    #[command(hide = true)]
    PagesServer {
        /// The store, as JSON.
        location: String,
    },
    /// Serves pushes until it is killed.
    #[command(hide = true)]
    PushServer {
        /// The job, as JSON.
        job: String,
    },
    /// Is a hub until it is killed.
    #[command(hide = true)]
    PushHub {
        #[arg(long)]
        verifying: bool,
    },
    /// Renewals in a process of its own.
    #[command(hide = true)]
    PushRenew {
        /// The job, as JSON.
        job: String,
    },
    /// Receives deliveries until it is killed.
    #[command(hide = true)]
    DispatchReceiver,
    /// One part of the deliveries in a process of its own.
    #[command(hide = true)]
    DispatchJob {
        /// The job, as JSON.
        job: String,
    },
    /// One job in a process of its own, which the others start.
    #[command(hide = true)]
    Child {
        /// The job, as JSON.
        job: String,
    },
}

fn main() -> anyhow::Result<ExitCode> {
    let mut tally = Tally::default();
    match CommandLine::parse().measurement {
        Some(Measurement::Child { job }) => child::serve(&job)?,
        Some(Measurement::Parse) => parse::run(&mut tally)?,
        Some(Measurement::Hostile { write: Some(folder), name }) => hostile::write(&folder, name.as_deref())?,
        Some(Measurement::Hostile { name, write: None }) => hostile::run(&mut tally, name.as_deref())?,
        Some(Measurement::Poll) => {
            postgres::ensure()?;
            poll::run(&mut tally)?;
        }
        Some(Measurement::Pages) => {
            postgres::ensure()?;
            pages::run(&mut tally)?;
        }
        Some(Measurement::Page { part }) => {
            postgres::ensure()?;
            page::run(&mut tally, part)?;
        }
        Some(Measurement::Push { part }) => {
            postgres::ensure()?;
            push::run(&mut tally, part)?;
        }
        Some(Measurement::Dispatch { part }) => {
            postgres::ensure()?;
            dispatch::run(&mut tally, part)?;
        }
        Some(Measurement::Changes) => {
            postgres::ensure()?;
            changes::run(&mut tally)?;
        }
        Some(Measurement::Follows) => {
            postgres::ensure()?;
            follows::run(&mut tally)?;
        }
        Some(Measurement::Sync) => {
            postgres::ensure()?;
            sync::run(&mut tally)?;
        }
        Some(Measurement::SyncJob { job }) => {
            sync::perform(&serde_json::from_str(&job)?)?;
            process::print_result(&())?;
        }
        Some(Measurement::DispatchReceiver) => dispatch::receiver::serve()?,
        Some(Measurement::DispatchJob { job }) => dispatch::perform(serde_json::from_str(&job)?)?,
        Some(Measurement::PagesServer { location }) => poll::memory::serve(&serde_json::from_str(&location)?)?,
        Some(Measurement::PushServer { job }) => push::server::serve(&serde_json::from_str(&job)?)?,
        Some(Measurement::PushHub { verifying }) => push::hub::serve(verifying)?,
        Some(Measurement::PushRenew { job }) => {
            process::print_result(&push::renew::perform(serde_json::from_str(&job)?)?)?;
        }
        Some(Measurement::Soak(arguments)) => {
            if arguments.database.is_none() {
                postgres::ensure()?;
            }
            soak::run(&mut tally, &arguments)?;
        }
        Some(Measurement::Copy(arguments)) => {
            postgres::ensure()?;
            copy::run(&mut tally, &arguments)?;
        }
        Some(Measurement::CopyJob { job }) => {
            copy::perform(&serde_json::from_str(&job)?)?;
            process::print_result(&())?;
        }
        Some(Measurement::Logins) => logins::run(&mut tally)?,
        Some(Measurement::LoginsServer { location }) => logins::serve(&serde_json::from_str(&location)?)?,
        Some(Measurement::Publish) => publisher::publish()?,
        Some(Measurement::PollJob { job }) => process::print_result(&poll::perform(serde_json::from_str(&job)?)?)?,
        Some(Measurement::SnapshotJob { job }) => {
            process::print_result(&poll::snapshot::perform(&serde_json::from_str(&job)?)?)?;
        }
        Some(Measurement::PagesJob { job }) => process::print_result(&pages::perform(serde_json::from_str(&job)?)?)?,
        None => {
            postgres::ensure()?;
            parse::run(&mut tally)?;
            hostile::run(&mut tally, None)?;
            poll::run(&mut tally)?;
            pages::run(&mut tally)?;
            page::run(&mut tally, None)?;
            push::run(&mut tally, None)?;
            dispatch::run(&mut tally, None)?;
            changes::run(&mut tally)?;
            follows::run(&mut tally)?;
            sync::run(&mut tally)?;
            logins::run(&mut tally)?;
        }
    }
    Ok(tally.conclude())
}
