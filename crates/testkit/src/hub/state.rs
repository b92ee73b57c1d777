//! What a hub knows, and what it does with it: takes requests, asks callbacks, pushes.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use domain::push::{Algorithm, new_token};
use tokio::task::JoinSet;
use url::form_urlencoded::Serializer;

use super::{Behaviour, CallbackAnswer, HubPush, HubRequest, HubSubscription, Query, Verify, client};
use crate::{
    Page, Request, SeededIds,
    wire::{
        ConnectionHandler, InFlightCount, InFlightGuard, Observable, Outcome, Stream, network_delay, read_request,
        respond,
    },
};

/// What the hub and its connections share.
#[derive(Debug)]
pub(super) struct Shared {
    url: String,
    ids: SeededIds,
    state: Observable<State>,
    /// To callbacks, where they are kept.
    connections: client::Pool,
    /// The verifications that go on after the answer.
    verifying: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) script: Arc<Behaviour>,
    /// For one request each, before the script holds again.
    pub(super) next: VecDeque<Arc<Behaviour>>,
    pub(super) requests: Recorded<HubRequest>,
    pub(super) verifications: Recorded<CallbackAnswer>,
    pub(super) subscriptions: Vec<HubSubscription>,
    pub(super) algorithm: Algorithm,
    pub(super) is_silent: bool,
    pub(super) route: Option<SocketAddr>,
    pub(super) active: InFlightCount,
    pub(super) is_counting_only: bool,
    pub(super) counts: HubCounts,
}

/// What a hub has seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HubCounts {
    /// Good ones and bad ones.
    pub requests: u64,
    /// Verifications that the callback has confirmed.
    pub confirmed: u64,
    /// And those that it has not.
    pub unconfirmed: u64,
    /// The last answer that did not confirm a verification.
    pub last_unconfirmed: Option<CallbackAnswer>,
}

/// Things in the order in which they came, and how many of them the test has taken.
#[derive(Debug)]
pub(super) struct Recorded<T> {
    pub(super) all: Vec<T>,
    taken: usize,
}

impl<T: Clone> Recorded<T> {
    const fn new() -> Self {
        Self { all: Vec::new(), taken: 0 }
    }

    /// The next one that the test has not taken yet.
    pub(super) fn take(&mut self) -> Option<T> {
        let next = self.all.get(self.taken).cloned()?;
        self.taken += 1;
        Some(next)
    }
}

impl State {
    fn note(&mut self, answer: CallbackAnswer) {
        if answer.confirms() {
            self.counts.confirmed += 1;
        } else {
            self.counts.unconfirmed += 1;
            self.counts.last_unconfirmed = Some(answer.clone());
        }
        if !self.is_counting_only {
            self.verifications.all.push(answer);
        }
    }
}

impl ConnectionHandler for Shared {
    async fn handle(self: Arc<Self>, mut stream: Stream) {
        while let Some(request) = read_request(&mut stream).await {
            if self.clone().serve(&mut stream, request).await != Outcome::GoesOn {
                return;
            }
        }
    }
}

impl Shared {
    pub(super) fn new(url: String, seed: u64) -> Self {
        let state = State {
            script: Arc::default(),
            next: VecDeque::new(),
            requests: Recorded::new(),
            verifications: Recorded::new(),
            subscriptions: Vec::new(),
            algorithm: Algorithm::Sha256,
            is_silent: false,
            route: None,
            active: InFlightCount::default(),
            is_counting_only: false,
            counts: HubCounts::default(),
        };
        Self {
            url,
            ids: SeededIds::new(seed),
            state: Observable::new(state),
            connections: client::Pool::default(),
            verifying: Mutex::default(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        self.state.change(change)
    }

    /// Waits until there is what the test looks for.
    pub(super) async fn wait<T>(&self, what: &str, find: impl FnMut(&mut State) -> Option<T>) -> T {
        let describe = |state: &State| {
            let requests: Vec<_> = state.requests.all.iter().map(|request| (&request.mode, &request.topic)).collect();
            format!("as requests {requests:?}, and as answers {:?}", state.verifications.all)
        };
        self.state.wait(what, find, describe).await
    }

    async fn serve(self: Arc<Self>, stream: &mut Stream, http: Request) -> Outcome {
        let (request, complaint) = self.receive(http);
        let in_flight = InFlightGuard(&self.state, |state: &mut State| &mut state.active);
        if !self.lock().is_counting_only {
            network_delay().await;
        }
        if let Some(complaint) = complaint {
            return respond(stream, &Page::body(complaint).with_status(400), &request.http, in_flight).await;
        }
        let behaviour = Arc::clone(&request.behaviour);
        let mut answer = &behaviour.answer;
        if behaviour.verify == Verify::BeforeAnswer && !self.verify(&request).await {
            answer = behaviour.refusal.as_ref().unwrap_or(answer);
        }
        let outcome = respond(stream, answer, &request.http, in_flight).await;
        if behaviour.verify == Verify::AfterAnswer {
            let verifying = Arc::clone(&self);
            let verify = async move {
                if outcome == Outcome::Abandoned {
                    // Nobody reads its answer, but it is not given any earlier for that.
                    request.behaviour.answer.wait_until_due().await;
                }
                verifying.verify(&request).await;
            };
            let mut tasks = self.verifying.lock().unwrap_or_else(PoisonError::into_inner);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(verify);
        }
        outcome
    }

    /// Takes note of a request and chooses what to do with it.
    fn receive(&self, http: Request) -> (HubRequest, Option<&'static str>) {
        self.change(|state| {
            state.active.enter();
            state.counts.requests += 1;
            let mut request = HubRequest::new(http, Arc::clone(&state.script));
            let complaint = request.complaint();
            if complaint.is_none() {
                request.behaviour = state.next.pop_front().unwrap_or(request.behaviour);
            }
            if !state.is_counting_only {
                state.requests.all.push(request.clone());
            }
            (request, complaint)
        })
    }

    /// Asks the callback what the script wants; returns whether it confirmed everything.
    async fn verify(&self, request: &HubRequest) -> bool {
        let mut confirmed = true;
        for query in &request.behaviour.queries {
            let answer = self.ask(request, query).await;
            confirmed &= answer.confirms();
            self.change(|state| state.note(answer));
        }
        confirmed
    }

    /// Asks the callback, and keeps or forgets the subscription as the answer says.
    pub(super) async fn ask(&self, request: &HubRequest, query: &Query) -> CallbackAnswer {
        let fields = query.fields(request, &new_token(&self.ids));
        let sent = |name| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
        let joint = if request.callback.contains('?') { '&' } else { '?' };
        let url =
            format!("{}{joint}{}", request.callback, Serializer::new(String::new()).extend_pairs(&fields).finish());
        let (route, is_counting_only) = {
            let state = self.lock();
            (state.route, state.is_counting_only)
        };
        let answer = if is_counting_only {
            self.connections.get(&url, route).await
        } else {
            client::send("GET", &url, &[], &[], route).await
        };
        let answer = CallbackAnswer { challenge: sent("hub.challenge").map(str::to_owned), ..answer };
        if !is_counting_only && sent("hub.topic") == Some(&request.topic) {
            self.settle(request, sent("hub.mode").unwrap_or_default(), answer.confirms());
        }
        answer
    }

    /// What is not confirmed changes nothing (WebSub, section 5.1).
    fn settle(&self, request: &HubRequest, mode: &str, is_confirmed: bool) {
        let is_asked_for = is_confirmed && mode == request.mode;
        self.change(|state| {
            let known = state.subscriptions.iter_mut().find(|known| known.is_of(request));
            match (mode, known) {
                ("subscribe", Some(known)) if is_asked_for && request.behaviour.keeps_first_secret => {
                    known.secret = known.secret.take().or_else(|| request.secret.clone());
                }
                ("subscribe", Some(known)) if is_asked_for => known.secret.clone_from(&request.secret),
                ("subscribe", None) if is_asked_for => state.subscriptions.push(request.subscription()),
                ("unsubscribe", _) if is_asked_for => state.subscriptions.retain(|known| !known.is_of(request)),
                ("denied", _) => state.subscriptions.retain(|known| !known.is_of(request)),
                _ => {}
            }
        });
    }

    /// Sends a push. A callback that is gone is forgotten (WebSub, section 7).
    pub(super) async fn push(&self, to: &HubSubscription, push: &HubPush) -> CallbackAnswer {
        let (algorithm, route) = {
            let state = self.lock();
            (state.algorithm, state.route)
        };
        let headers = push.headers(to, &self.url, algorithm);
        let answer = client::send("POST", &to.callback, &headers, push.body(), route).await;
        if answer.status == 410 {
            let is_gone = |known: &HubSubscription| known.topic == to.topic && known.callback == to.callback;
            self.change(|state| state.subscriptions.retain(|known| !is_gone(known)));
        }
        answer
    }

    pub(super) fn end(&self) {
        self.verifying.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}
