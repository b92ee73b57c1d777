//! The page, in the browser that the tests use (`scripts/with-browser` installs it): what its first load takes, how soon a
//! key is answered, how soon a push is on it, and what a thousand open pages cost the server.
//!
//! The server runs in a process of its own, with active subscriptions, as for the measurement of pushes. Times are of the
//! wall clock, because a person waits for them: on a busy machine they say little.

mod live;
mod load;
mod streams;

use std::{net::SocketAddr, path::Path};

use clap::ValueEnum;

use crate::{
    fixture::StoreLocation,
    process::ServerProcess,
    push::{receive, server::Job},
    report::Tally,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// The first load, rows and keys.
    Load,
    /// Pushes until they are on the page.
    Live,
    /// A thousand open event streams.
    Streams,
}

/// A size of the store: feeds, each with a subscription, and entries of each.
#[derive(Debug, Clone, Copy)]
struct Size {
    feeds: usize,
    entries: usize,
}

const LARGE: Size = Size { feeds: 1_000, entries: 1_000 };
/// For what does not depend on it.
const MIDDLE: Size = Size { feeds: 100, entries: 100 };
const SMALL: Size = Size { feeds: 1, entries: 50 };

/// The width of a desk.
const WIDTH: u32 = 1_400;

/// A server on a store of this size. It ends with this.
struct Server {
    process: ServerProcess,
    address: SocketAddr,
    name: &'static str,
    feeds: usize,
}

pub(crate) fn run(tally: &mut Tally, only: Option<Part>) -> anyhow::Result<()> {
    let wants = |part| only.is_none_or(|only| only == part);
    // A thousand streams are as many files, here and in the servers that are started from here.
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    rustix::process::setrlimit(
        rustix::process::Resource::Nofile,
        rustix::process::Rlimit { current: most, maximum: most },
    )?;
    let folder = tempfile::tempdir()?;
    if wants(Part::Load) || wants(Part::Live) {
        let large = Server::on_sqlite(folder.path(), "large", LARGE)?;
        if wants(Part::Load) {
            load::run(tally, &large, &Server::on_sqlite(folder.path(), "small", SMALL)?)?;
        }
        if wants(Part::Live) {
            let postgres = Server::on_postgres(folder.path(), "bench_page_live", MIDDLE)?;
            live::run(tally, [&large, &postgres])?;
        }
    }
    if wants(Part::Streams) {
        let sqlite = Server::on_sqlite(folder.path(), "streams", MIDDLE)?;
        let postgres = Server::on_postgres(folder.path(), "bench_page_streams", MIDDLE)?;
        streams::run(tally, [&sqlite, &postgres])?;
    }
    Ok(())
}

impl Server {
    fn on_sqlite(folder: &Path, name: &str, size: Size) -> anyhow::Result<Self> {
        Self::start(folder, name, StoreLocation::Sqlite { folder: folder.join(name) }, size)
    }

    fn on_postgres(folder: &Path, name: &str, size: Size) -> anyhow::Result<Self> {
        Self::start(folder, name, StoreLocation::Postgres { url: crate::postgres::fresh(name)? }, size)
    }

    fn start(folder: &Path, name: &str, location: StoreLocation, size: Size) -> anyhow::Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let (name, subscriptions, entries) = (location.name(), size.feeds, size.entries);
        let job = Job { location, subscriptions, entries, log };
        let process = ServerProcess::start(&["push-server", &serde_json::to_string(&job)?])?;
        Ok(Self { address: process.ready_line.parse()?, process, name, feeds: size.feeds })
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A signed push of one new entry, which is called so.
    fn push(&self, number: usize, title: &str) -> Vec<u8> {
        let document = format!(
            "<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'><title>Feed</title><entry>\
             <id>urn:pushed:{title}</id><title>{title}</title><content type='html'>Pushed.</content></entry></feed>"
        );
        receive::signed(self.address, receive::STORED, number % self.feeds, document.as_bytes())
    }
}

/// What this part of a hundred was no more than.
fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or(f64::NAN)
}
