//! What a hub knows, and what it does with it: takes requests, asks callbacks, pushes.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use domain::push::{Algorithm, new_token};
use tokio::{io::BufStream, net::TcpStream, sync::watch, task::JoinSet};
use url::form_urlencoded::Serializer;

use super::{Behaviour, CallbackAnswer, HubPush, HubRequest, HubSubscription, Query, Verify, client};
use crate::{
    Page, Request, SeededIds,
    publisher::{
        WAIT_MAX,
        wire::{read_request, respond},
    },
};

/// What the hub and its connections share.
#[derive(Debug)]
pub(super) struct Shared {
    url: String,
    ids: SeededIds,
    state: Mutex<State>,
    /// Rises with everything that a test can wait for.
    changes: watch::Sender<u64>,
    /// The verifications that go on after the answer.
    verifying: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) script: Arc<Behaviour>,
    /// For one request each, before the script holds again.
    pub(super) next: VecDeque<Arc<Behaviour>>,
    pub(super) requests: Seen<HubRequest>,
    pub(super) verifications: Seen<CallbackAnswer>,
    pub(super) subscriptions: Vec<HubSubscription>,
    pub(super) algorithm: Algorithm,
    pub(super) is_silent: bool,
    pub(super) route: Option<SocketAddr>,
    pub(super) active: usize,
    pub(super) active_max: usize,
}

/// Things in the order in which they came, and how many of them the test has taken.
#[derive(Debug)]
pub(super) struct Seen<T> {
    pub(super) all: Vec<T>,
    taken: usize,
}

impl<T: Clone> Seen<T> {
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

impl Shared {
    pub(super) fn new(url: String, seed: u64) -> Self {
        let state = State {
            script: Arc::default(),
            next: VecDeque::new(),
            requests: Seen::new(),
            verifications: Seen::new(),
            subscriptions: Vec::new(),
            algorithm: Algorithm::Sha256,
            is_silent: false,
            route: None,
            active: 0,
            active_max: 0,
        };
        let (ids, changes) = (SeededIds::new(seed), watch::Sender::new(0));
        Self { url, ids, state: Mutex::new(state), changes, verifying: Mutex::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changes.send_modify(|changes| *changes += 1);
        changed
    }

    /// Waits until there is what the test looks for.
    pub(super) async fn wait<T>(&self, what: &str, mut find: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut changes = self.changes.subscribe();
        let found = async {
            loop {
                let found = find(&mut self.lock());
                match found {
                    Some(found) => return found,
                    None => changes.changed().await.expect("the hub lives"),
                }
            }
        };
        let found = tokio::time::timeout(WAIT_MAX, found).await;
        found.unwrap_or_else(|_| {
            let state = self.lock();
            let requests: Vec<_> = state.requests.all.iter().map(|request| (&request.mode, &request.topic)).collect();
            let verifications = &state.verifications.all;
            panic!("waited {WAIT_MAX:?} for {what}; the hub saw {requests:?}, and as answers {verifications:?}")
        })
    }

    /// One connection, request after request, until either side has had enough.
    pub(super) async fn converse(self: Arc<Self>, mut stream: BufStream<TcpStream>) {
        while let Some(request) = read_request(&mut stream).await {
            let goes_on = self.clone().serve(&mut stream, request).await;
            self.lock().active -= 1;
            if !goes_on {
                return;
            }
        }
    }

    async fn serve(self: Arc<Self>, stream: &mut BufStream<TcpStream>, http: Request) -> bool {
        let request = match self.receive(&http) {
            Ok(request) => request,
            Err(complaint) => return respond(stream, &Page::body(complaint).with_status(400), &http).await,
        };
        let behaviour = Arc::clone(&request.behaviour);
        let mut answer = &behaviour.answer;
        if behaviour.verify == Verify::BeforeAnswer && !self.verify(&request).await {
            answer = behaviour.refusal.as_ref().unwrap_or(answer);
        }
        let goes_on = respond(stream, answer, &http).await;
        if behaviour.verify == Verify::AfterAnswer {
            let verifying = Arc::clone(&self);
            let verify = async move {
                verifying.verify(&request).await;
            };
            self.verifying.lock().unwrap_or_else(PoisonError::into_inner).spawn(verify);
        }
        goes_on
    }

    /// Takes note of a request and chooses what to do with it.
    fn receive(&self, http: &Request) -> Result<HubRequest, &'static str> {
        self.change(|state| {
            state.active += 1;
            state.active_max = state.active_max.max(state.active);
            let mut request = HubRequest::new(http.clone(), Arc::clone(&state.script));
            let complaint = request.complaint();
            if complaint.is_none() {
                request.behaviour = state.next.pop_front().unwrap_or(request.behaviour);
            }
            state.requests.all.push(request.clone());
            complaint.map_or(Ok(request), Err)
        })
    }

    /// Asks the callback what the script wants; returns whether it confirmed everything.
    async fn verify(&self, request: &HubRequest) -> bool {
        let mut confirmed = true;
        for query in &request.behaviour.queries {
            let answer = self.ask(request, query).await;
            confirmed &= answer.confirms();
            self.change(|state| state.verifications.all.push(answer));
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
        let route = self.lock().route;
        let answer = client::send("GET", &url, &[], &[], route).await;
        let answer = CallbackAnswer { challenge: sent("hub.challenge").map(str::to_owned), ..answer };
        if sent("hub.topic") == Some(&request.topic) {
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
