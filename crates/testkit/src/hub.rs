//! A WebSub hub on loopback that does as it is told: it verifies early, late, never, twice or wrongly, denies, fails,
//! and pushes whatever a test gives it, signed in whatever way.
//!
//! ```text
//! request ─> Behaviour ─> answer, Query ─> callback ─> HubSubscription ─> HubPush ─> callback
//! ```
//!
//! It knows no time: a lease that it has granted never runs out here. Tests wait for what it saw.

mod behaviour;
pub(crate) mod client;
mod push;
mod request;
mod state;
#[cfg(test)]
mod tests;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use domain::push::Algorithm;

use self::state::Shared;
pub use self::{
    behaviour::{Behaviour, Lease, Param, Query, Verify},
    client::CallbackAnswer,
    push::{HubPush, Signed},
    request::{HubRequest, HubSubscription},
    state::HubCounts,
};
use crate::wire::Listener;

/// A hub. It ends when it is dropped.
#[derive(Debug)]
pub struct Hub {
    shared: Arc<Shared>,
    listener: Listener,
}

impl Hub {
    /// A hub on 127.0.0.1.
    pub async fn start() -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into()).await
    }

    /// A hub at another address of this machine: another host to those who ask.
    ///
    /// # Panics
    ///
    /// If nothing can listen there.
    #[expect(clippy::unused_async, reason = "the same shape as that of the publisher")]
    pub async fn start_at(address: IpAddr) -> Self {
        let listener = Listener::at(address);
        let shared = Arc::new(Shared::new(listener.url("/"), listener.address().port().into()));
        listener.start(&shared);
        Self { shared, listener }
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Whether requests, answers of callbacks and subscriptions are recorded. If not, as for measurements, they are only
    /// counted, connections to callbacks are kept, and nothing is delayed as by a network.
    pub fn record(&self, is_recording: bool) {
        self.shared.lock().is_counting_only = !is_recording;
    }

    /// What it has seen so far.
    pub fn counts(&self) -> HubCounts {
        self.shared.lock().counts.clone()
    }

    /// Its URL. Every other path of it does the same.
    pub fn url(&self) -> String {
        self.url_at("/")
    }

    /// Its URL at a path, for redirects.
    pub fn url_at(&self, path: &str) -> String {
        self.listener.url(path)
    }

    pub fn script(&self, behaviour: Behaviour) {
        self.shared.lock().script = Arc::new(behaviour);
    }

    /// Does so with the next good request that no other call of this has taken, before the script holds again.
    pub fn next(&self, behaviour: Behaviour) {
        self.shared.lock().next.push_back(Arc::new(behaviour));
    }

    /// Signs by this algorithm from now on. At first it is SHA-256.
    pub fn sign_by(&self, algorithm: Algorithm) {
        self.shared.lock().algorithm = algorithm;
    }

    /// Sends everything to this address from now on, whatever the callbacks say, as if it were a proxy in front of them.
    pub fn route_callbacks_to(&self, address: SocketAddr) {
        self.shared.lock().route = Some(address);
    }

    /// The next request that was not taken by this yet. Waits for it.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn request(&self) -> HubRequest {
        self.shared.wait("a request", |state| state.requests.take()).await
    }

    /// All requests so far, also bad ones.
    pub fn requests(&self) -> Vec<HubRequest> {
        self.shared.lock().requests.all.clone()
    }

    /// The most requests that were in flight at once. One that hangs counts until its client goes away.
    pub fn concurrency_max(&self) -> usize {
        self.shared.lock().active.max
    }

    /// The next answer of a callback to what the hub asked by itself that was not taken by this yet. Waits for it.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn verification(&self) -> CallbackAnswer {
        self.shared.wait("a callback's answer to a verification", |state| state.verifications.take()).await
    }

    /// All answers of callbacks to what the hub asked by itself.
    pub fn verifications(&self) -> Vec<CallbackAnswer> {
        self.shared.lock().verifications.all.clone()
    }

    /// Verifies a request now.
    ///
    /// # Panics
    ///
    /// If the callback takes too long. If it cannot be reached, that is an answer with the status 0.
    pub async fn verify(&self, request: &HubRequest) -> CallbackAnswer {
        self.verify_with(request, Query::default()).await
    }

    /// Asks the callback of a request this now.
    ///
    /// # Panics
    ///
    /// As [`Self::verify`].
    pub async fn verify_with(&self, request: &HubRequest, query: Query) -> CallbackAnswer {
        self.shared.ask(request, &query).await
    }

    /// Denies what was asked for, be it accepted already or not.
    ///
    /// # Panics
    ///
    /// As [`Self::verify`].
    pub async fn deny(&self, request: &HubRequest, reason: Option<&str>) -> CallbackAnswer {
        self.verify_with(request, Query::denied(reason)).await
    }

    /// What it holds: all that was verified.
    pub fn subscriptions(&self) -> Vec<HubSubscription> {
        self.shared.lock().subscriptions.clone()
    }

    /// What it holds of a topic. Waits until there is something.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn subscribed(&self, topic: &str) -> HubSubscription {
        let find = |held: &[HubSubscription]| held.iter().find(|held| held.topic == topic).cloned();
        self.shared.wait(&format!("a subscription of {topic}"), |state| find(&state.subscriptions)).await
    }

    /// Waits until it holds nothing of a topic.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn unsubscribed(&self, topic: &str) {
        let is_gone = |held: &[HubSubscription]| held.iter().all(|held| held.topic != topic);
        self.shared.wait(&format!("the end of {topic}"), |state| is_gone(&state.subscriptions).then_some(())).await;
    }

    /// Pushes to all who are subscribed to a topic, at once; to nobody while it is silent.
    ///
    /// # Panics
    ///
    /// As [`Self::verify`].
    pub async fn publish(&self, topic: &str, push: HubPush) -> Vec<CallbackAnswer> {
        let (is_silent, held) = {
            let state = self.shared.lock();
            (state.is_silent, state.subscriptions.clone())
        };
        let held = held.into_iter().filter(|held| !is_silent && held.topic == topic);
        self.push_each(held.map(|held| (held, push.clone()))).await
    }

    /// Pushes, to whom and whatever it is, also while it is silent.
    ///
    /// # Panics
    ///
    /// As [`Self::verify`].
    pub async fn push(&self, to: &HubSubscription, push: HubPush) -> CallbackAnswer {
        self.shared.push(to, &push).await
    }

    /// The same with many at once. The answers are in the order of the pushes.
    ///
    /// # Panics
    ///
    /// As [`Self::verify`].
    pub async fn push_all(
        &self,
        to: &HubSubscription,
        pushes: impl IntoIterator<Item = HubPush>,
    ) -> Vec<CallbackAnswer> {
        self.push_each(pushes.into_iter().map(|push| (to.clone(), push))).await
    }

    async fn push_each(&self, pushes: impl Iterator<Item = (HubSubscription, HubPush)>) -> Vec<CallbackAnswer> {
        let start = |(to, push): (HubSubscription, HubPush)| {
            let shared = Arc::clone(&self.shared);
            tokio::spawn(async move { shared.push(&to, &push).await })
        };
        let in_flight: Vec<_> = pushes.map(start).collect();
        let mut answers = Vec::with_capacity(in_flight.len());
        for push in in_flight {
            answers.push(push.await.expect("the callback answers"));
        }
        answers
    }

    /// Accepts from now on what is published, and pushes nothing of it.
    pub fn go_silent(&self) {
        self.shared.lock().is_silent = true;
    }

    pub fn wake(&self) {
        self.shared.lock().is_silent = false;
    }

    /// Refuses connections from now on and ends those that are open. What it holds stays.
    pub async fn stop(&self) {
        self.listener.stop().await;
    }

    /// Listens again where it was.
    pub fn restart(&self) {
        self.listener.start(&self.shared);
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.shared.end();
    }
}
