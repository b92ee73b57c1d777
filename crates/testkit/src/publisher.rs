//! A publisher on loopback that does as it is told: answers, validators, redirects, and every way of misbehaving.
//!
//! It speaks HTTP/1.1 by hand, because most of what it has to do (break off, reset, never end) no server library does.
//! Tests wait for what it saw, never for time to pass.

mod page;
pub(crate) mod wire;

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    io::BufStream,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

pub use self::page::{Gate, Page};
use self::wire::{read_request, respond, serve};

/// How long a test waits for what never comes.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(30);

/// A publisher. It ends when it is dropped.
#[derive(Debug)]
pub struct Publisher {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Rises with every request.
    seen: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    pages: HashMap<String, Vec<Page>>,
    requests: Vec<Request>,
    active: usize,
    active_max: usize,
}

/// A request as it was received.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub path: String,
    /// Its body.
    pub body: Vec<u8>,
    headers: Vec<(String, String)>,
}

impl Request {
    /// The value of a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Publisher {
    /// A publisher on 127.0.0.1.
    pub async fn start() -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into()).await
    }

    /// A publisher at another address of this machine: another host to those who ask.
    ///
    /// # Panics
    ///
    /// If nothing can listen there.
    pub async fn start_at(address: IpAddr) -> Self {
        let listener = TcpListener::bind((address, 0)).await.expect("a port on loopback is free");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared { state: Mutex::default(), seen: watch::Sender::new(0) });
        let server = tokio::spawn({
            let shared = Arc::clone(&shared);
            serve(listener, move |stream| converse(stream, Arc::clone(&shared)), std::future::pending())
        });
        Self { address, shared, server }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers a path so from now on.
    pub fn set(&self, path: &str, page: Page) {
        self.set_all(path, vec![page]);
    }

    /// Answers a path with one after the other, and then always with the last.
    pub fn set_all(&self, path: &str, pages: Vec<Page>) {
        self.shared.lock().pages.insert(path.to_owned(), pages.into_iter().rev().collect());
    }

    /// The requests for a path so far.
    pub fn requests(&self, path: &str) -> Vec<Request> {
        self.shared.lock().requests.iter().filter(|request| request.path == path).cloned().collect()
    }

    /// How many requests there were in all.
    pub fn request_count(&self) -> usize {
        self.shared.lock().requests.len()
    }

    /// The most requests that were under way at once.
    pub fn concurrency_max(&self) -> usize {
        self.shared.lock().active_max
    }

    /// Waits until a path was asked for so many times.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn asked(&self, path: &str, times: usize) {
        let mut seen = self.shared.seen.subscribe();
        let enough = async {
            while self.requests(path).len() < times {
                seen.changed().await.expect("the publisher lives");
            }
        };
        tokio::time::timeout(WAIT_MAX, enough).await.expect("the request comes");
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a request and chooses its answer.
    fn answer(&self, request: &Request) -> Page {
        let mut state = self.lock();
        state.requests.push(request.clone());
        state.active += 1;
        state.active_max = state.active_max.max(state.active);
        let count = state.requests.len();
        let page = match state.pages.get_mut(&request.path) {
            Some(pages) if pages.len() > 1 => pages.pop(),
            Some(pages) => pages.last().cloned(),
            None => None,
        };
        drop(state);
        self.seen.send_replace(count);
        page.unwrap_or_else(|| Page::status(404))
    }
}

/// One connection, request after request, until either side has had enough.
async fn converse(mut stream: BufStream<TcpStream>, shared: Arc<Shared>) {
    while let Some(request) = read_request(&mut stream).await {
        let page = shared.answer(&request);
        let goes_on = respond(&mut stream, &page, &request).await;
        shared.lock().active -= 1;
        if !goes_on {
            return;
        }
    }
}
