//! A publisher in a process of its own, so that what it costs is not counted: feeds with their versions, on loopback.

use std::net::Ipv4Addr;

use testkit::{Page, Request};

use crate::{feeds, process::ServerProcess};

/// Entries of each feed.
pub(crate) const ENTRIES: usize = 50;

/// Entries of each small feed.
pub(crate) const SMALL_ENTRIES: usize = 3;

/// How many different documents there are; feeds beyond that repeat them.
const DOCUMENTS: usize = 200;

/// The one version of every feed.
pub(crate) const ETAG: &str = "\"1\"";

/// The publisher's process. It ends with this.
pub(crate) struct Publisher {
    _process: ServerProcess,
    pub(crate) url: String,
}

impl Publisher {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let process = ServerProcess::start(&["publish"])?;
        Ok(Self { url: process.ready_line.clone(), _process: process })
    }
}

/// The other side: serves until it is killed.
pub(crate) fn publish() -> anyhow::Result<()> {
    let page = |body: Vec<u8>| Page::body(body).etag(ETAG).header("Content-Type", "application/rss+xml");
    let documents: Vec<Page> = (0..DOCUMENTS).map(|number| page(feeds::weblog(ENTRIES, number as u64))).collect();
    let answer = move |request: &Request| {
        if request.header("if-none-match") == Some(ETAG) {
            return Page::status(304).etag(ETAG);
        }
        let (kind, number) = request.path.rsplit_once('/').unwrap_or_default();
        match (kind, number.parse::<usize>()) {
            ("", Ok(number)) => documents[number % DOCUMENTS].clone(),
            ("/small", Ok(number)) => page(feeds::weblog(SMALL_ENTRIES, number as u64)),
            _ => Page::status(404),
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // At every address of loopback: each is a host of its own to those who ask.
        let publisher = testkit::Publisher::start_at(Ipv4Addr::UNSPECIFIED.into()).await;
        publisher.record(false);
        publisher.set_fallback(answer);
        println!("http://127.0.0.1:{}", publisher.address().port());
        std::future::pending().await
    })
}
