//! A publisher on loopback that does as it is told: answers, validators, redirects, and every way of misbehaving.
//!
//! Tests wait for what it saw, never for time to pass.

use std::{
    collections::HashMap,
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use crate::wire::{
    ConnectionHandler, InFlightCount, InFlightGuard, Listener, Observable, Outcome, Page, Request, Stream,
    network_delay, read_request, respond,
};

/// A publisher. It ends when it is dropped.
#[derive(Debug)]
pub struct Publisher {
    shared: Arc<Shared>,
    listener: Listener,
}

/// What the publisher and its connections share.
#[derive(Debug, Default)]
struct Shared {
    state: Observable<State>,
}

#[derive(Debug, Default)]
struct State {
    pages: HashMap<String, Vec<Page>>,
    fallback: Fallback,
    /// Those that are recorded.
    requests: Vec<Request>,
    count: usize,
    is_counting_only: bool,
    active: InFlightCount,
}

/// Answers paths without pages of their own.
#[derive(Clone)]
struct Fallback(Arc<dyn Fn(&Request) -> Page + Send + Sync>);

impl Default for Fallback {
    fn default() -> Self {
        Self(Arc::new(|_| Page::status(404)))
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Fallback")
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
    #[expect(clippy::unused_async, reason = "the same shape as that of everything that is started")]
    pub async fn start_at(address: IpAddr) -> Self {
        let (shared, listener) = (Arc::new(Shared::default()), Listener::at(address));
        listener.start(&shared);
        Self { shared, listener }
    }

    pub fn url(&self, path: &str) -> String {
        self.listener.url(path)
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Answers a path so from now on.
    pub fn set(&self, path: &str, page: Page) {
        self.set_all(path, vec![page]);
    }

    /// Answers a path with one after the other, and then always with the last.
    pub fn set_all(&self, path: &str, pages: Vec<Page>) {
        self.shared.state.lock().pages.insert(path.to_owned(), pages.into_iter().rev().collect());
    }

    /// Answers all paths that have no pages of their own so; at first with 404.
    pub fn set_fallback(&self, fallback: impl Fn(&Request) -> Page + Send + Sync + 'static) {
        self.shared.state.lock().fallback = Fallback(Arc::new(fallback));
    }

    /// Whether requests are recorded. If not, as for measurements, they are only counted, and answered without the delay
    /// of a network.
    pub fn record(&self, is_recording: bool) {
        self.shared.state.lock().is_counting_only = !is_recording;
    }

    /// The requests for a path so far.
    pub fn requests(&self, path: &str) -> Vec<Request> {
        self.shared.state.lock().requests.iter().filter(|request| request.path == path).cloned().collect()
    }

    /// How many requests there were in all.
    pub fn request_count(&self) -> usize {
        self.shared.state.lock().count
    }

    /// The most requests that were in flight at once.
    pub fn concurrency_max(&self) -> usize {
        self.shared.state.lock().active.max
    }

    /// Waits until a path was asked for so many times.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn asked(&self, path: &str, times: usize) {
        let asked = |state: &State| state.requests.iter().filter(|request| request.path == path).count();
        let what = format!("{times} requests for {path}");
        let is_enough = |state: &mut State| (asked(state) >= times).then_some(());
        self.shared.state.wait(&what, is_enough, asked).await;
    }
}

impl ConnectionHandler for Shared {
    async fn handle(self: Arc<Self>, mut stream: Stream) {
        while let Some(request) = read_request(&mut stream).await {
            let received = self.state.change(|state| state.receive(&request));
            let in_flight = InFlightGuard(&self.state, |state: &mut State| &mut state.active);
            if !received.is_lean {
                network_delay().await;
            }
            let page = received.page.unwrap_or_else(|| (received.fallback.0)(&request));
            if respond(&mut stream, &page, &request, in_flight).await != Outcome::GoesOn {
                return;
            }
        }
    }
}

struct Received {
    page: Option<Page>,
    fallback: Fallback,
    is_lean: bool,
}

impl State {
    /// Takes note of a request and chooses its answer.
    fn receive(&mut self, request: &Request) -> Received {
        self.count += 1;
        self.active.enter();
        if !self.is_counting_only {
            self.requests.push(request.clone());
        }
        let page = match self.pages.get_mut(&request.path) {
            Some(pages) if pages.len() > 1 => pages.pop(),
            Some(pages) => pages.last().cloned(),
            None => None,
        };
        Received { page, fallback: self.fallback.clone(), is_lean: self.is_counting_only }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::client::send;

    #[tokio::test]
    async fn without_recording_it_counts_and_the_fallback_answers() {
        let publisher = Publisher::start().await;
        publisher.record(false);
        publisher.set("/known", Page::body("known"));
        publisher.set_fallback(|request| Page::body(request.path.as_str()));
        for (path, body) in [("/known", "known"), ("/other", "/other")] {
            assert_eq!(send("GET", &publisher.url(path), &[], &[], None).await.text(), body);
        }
        assert_eq!((publisher.request_count(), publisher.requests("/known").len()), (2, 0));
    }
}
