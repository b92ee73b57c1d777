//! A receiver of webhooks on loopback that does as it is told: it verifies and keeps what it gets, and answers well,
//! late, never, wrongly or with far too much.
//!
//! ```text
//! request ─> Receipt ─> the next answer, or the script ─> answer
//! ```
//!
//! Every path of it is a webhook of its own. Tests wait for what it saw, never for time to pass.

mod receipt;
mod receipts;
mod secrets;
mod state;
#[cfg(test)]
mod tests;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use self::state::{Path, Script, Shared};
pub use self::{receipt::Receipt, receipts::Receipts};
use crate::wire::{Listener, Page};

/// What a receiver answers: whatever a publisher can.
pub type Answer = Page;

/// A receiver. It ends when it is dropped.
#[derive(Debug)]
pub struct Receiver {
    shared: Arc<Shared>,
    listener: Listener,
}

impl Receiver {
    /// A receiver on 127.0.0.1 that answers 200 on every path.
    pub async fn start() -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into()).await
    }

    /// A receiver at another address of this machine: another host to those who send.
    ///
    /// # Panics
    ///
    /// If nothing can listen there.
    #[expect(clippy::unused_async, reason = "the same shape as that of the publisher")]
    pub async fn start_at(address: IpAddr) -> Self {
        let (shared, listener) = (Arc::new(Shared::default()), Listener::at(address));
        listener.start(&shared);
        Self { shared, listener }
    }

    /// The URL of a path, which may have a query.
    pub fn url(&self, path: &str) -> String {
        self.listener.url(path)
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Answers a path so from now on.
    pub fn answer(&self, path: &str, answer: Answer) {
        self.change(path, |path| path.script = Some(Script::Always(answer)));
    }

    /// Answers a path by what it was sent from now on.
    ///
    /// It is called for every receipt, for one at a time, also while receipts are only counted: who measures can take
    /// the time of each here.
    pub fn answer_by(&self, path: &str, answer: impl FnMut(&Receipt) -> Answer + Send + 'static) {
        self.change(path, |path| path.script = Some(Script::By(Arc::new(Mutex::new(answer)))));
    }

    /// The same for all paths that were told nothing else; at first they answer 200.
    pub fn answer_others_by(&self, answer: impl FnMut(&Receipt) -> Answer + Send + 'static) {
        self.shared.state.lock().fallback = Script::By(Arc::new(Mutex::new(answer)));
    }

    /// Answers the next requests for a path so, one after the other, before the script holds again.
    pub fn answer_next(&self, path: &str, answers: impl IntoIterator<Item = Answer>) {
        self.change(path, |path| path.next.extend(answers));
    }

    /// Verifies what comes to a path with this secret, or with any of those given before.
    ///
    /// # Panics
    ///
    /// If it is no secret.
    pub fn expect_secret(&self, path: &str, secret: &str) {
        self.change(path, |path| Arc::make_mut(&mut path.secrets).add(secret));
    }

    /// Verifies what comes to a path with no secret that was given before.
    pub fn forget_secrets(&self, path: &str) {
        self.change(path, |path| path.secrets = Arc::default());
    }

    /// Takes a signature of any age from now on: for senders with a clock that a test sets.
    pub fn ignore_age(&self) {
        self.shared.state.lock().is_any_age_good = true;
    }

    /// Whether receipts are kept. If not, they are only counted, and a million of them take no memory.
    pub fn record(&self, is_recording: bool) {
        self.shared.state.lock().is_counting_only = !is_recording;
    }

    /// What came to a path.
    pub fn receipts(&self, path: &str) -> Receipts<'_> {
        Receipts { state: &self.shared.state, path: path.to_owned() }
    }

    /// How many requests for a path wait for their answer now. One whose sender went away is counted until that is
    /// noticed.
    pub fn in_flight(&self, path: &str) -> usize {
        self.look(path, |path| path.active.now)
    }

    /// The same of all paths like this together.
    pub fn in_flight_where(&self, is_counted: impl Fn(&str) -> bool) -> usize {
        let state = self.shared.state.lock();
        state.paths.iter().filter(|(path, _)| is_counted(path)).map(|(_, path)| path.active.now).sum()
    }

    /// The most requests for a path that were in flight at once. Answers that wait for nothing are so quick that there
    /// may never be two: hold them behind a gate to see how many there can be.
    pub fn in_flight_max(&self, path: &str) -> usize {
        self.look(path, |path| path.active.max)
    }

    /// Waits until so many requests for a path are in flight.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn wait_in_flight(&self, path: &str, count: usize) {
        let is_so = |found: &Path| (found.active.now == count).then_some(());
        let what = format!("{count} in flight for {path}");
        self.receipts(path).wait(&what, is_so).await;
    }

    /// Refuses connections from now on and ends those that are open.
    pub async fn stop(&self) {
        self.listener.stop().await;
    }

    /// Listens again where it was.
    pub fn restart(&self) {
        self.listener.start(&self.shared);
    }

    fn change(&self, path: &str, change: impl FnOnce(&mut Path)) {
        self.shared.state.change(|state| change(state.path(path)));
    }

    fn look<T: Default>(&self, path: &str, look: impl FnOnce(&Path) -> T) -> T {
        self.shared.state.lock().paths.get(path).map(look).unwrap_or_default()
    }
}
