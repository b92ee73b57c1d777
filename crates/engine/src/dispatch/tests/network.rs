//! Receivers that answer when the simulation says so.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use domain::ports::{Headers, Http, HttpError, HttpRequest, HttpResponse, MemoryPermit};
use tokio::sync::oneshot;

/// A webhook, and an event for it.
pub(super) type Pair = (String, String);

/// A request that is not answered yet.
#[derive(Debug)]
struct Waiting {
    worker: u64,
    pair: Pair,
    answer: oneshot::Sender<Result<HttpResponse, HttpError>>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    /// How often each was sent.
    sent: HashMap<Pair, usize>,
    /// The next request panics.
    is_mined: bool,
    /// How often each was taken with a 200.
    taken: HashMap<Pair, usize>,
}

/// The network and all receivers.
#[derive(Debug, Default)]
pub(super) struct Network(Mutex<State>);

impl Network {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that wait for an answer.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Those of one worker.
    pub(super) fn waiting_of(&self, worker: u64) -> usize {
        self.lock().waiting.iter().filter(|waiting| waiting.worker == worker).count()
    }

    /// The next request panics.
    pub(super) fn mine(&self) {
        self.lock().is_mined = true;
    }

    pub(super) fn sent_in_all(&self) -> usize {
        self.lock().sent.values().sum()
    }

    /// How often something was sent to this URL.
    pub(super) fn sent_to(&self, url: &str) -> usize {
        self.lock().sent.iter().filter(|((to, _), _)| to == url).map(|(_, times)| times).sum()
    }

    /// How often this was taken.
    pub(super) fn taken(&self, pair: &Pair) -> usize {
        self.lock().taken.get(pair).copied().unwrap_or(0)
    }

    /// Answers one of the requests that wait, whether somebody still listens or not.
    pub(super) fn answer(&self, which: usize, status: Result<u16, HttpError>, retry_after: Option<u32>) {
        let mut state = self.lock();
        let Waiting { pair, answer, .. } = state.waiting.swap_remove(which);
        if status == Ok(200) {
            *state.taken.entry(pair).or_default() += 1;
        }
        let headers = retry_after.map(|secs| ("retry-after".to_owned(), secs.to_string()));
        let response = |status| HttpResponse {
            status,
            headers: Headers(headers.into_iter().collect()),
            body: b"as wanted".to_vec(),
            url: String::new(),
            moved_to: None,
            memory_permit: MemoryPermit::default(),
        };
        drop(state);
        let _ = answer.send(status.map(response));
    }
}

/// The network, as one worker sees it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) network: Arc<Network>,
    pub(super) worker: u64,
}

#[async_trait]
impl Http for Line {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_mined = std::mem::take(&mut self.network.lock().is_mined);
        assert!(!is_mined, "this request panics, as it should in this test");
        let id = request.headers.get("webhook-id").unwrap_or_default().to_owned();
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body["id"], id.as_str(), "D3: the id in the payload is that of the header");
        let pair = (request.url, id);
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.network.lock();
            *state.sent.entry(pair.clone()).or_default() += 1;
            state.waiting.push(Waiting { worker: self.worker, pair, answer });
        }
        answered.await.unwrap_or_else(|_| Err(HttpError::BrokenOff("receiver".to_owned())))
    }
}
