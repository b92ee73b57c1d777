//! What a receiver knows, and what it does with a request.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::time::Instant;

use super::{Answer, Receipt, secrets::Secrets};
use crate::{
    Request,
    wire::{ConnectionHandler, InFlightCount, InFlightGuard, Observable, Outcome, Stream, read_request, respond},
};

/// What the receiver and its connections share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) state: Observable<State>,
    connections: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) paths: HashMap<String, Path>,
    /// For paths without a script of their own.
    pub(super) fallback: Script,
    pub(super) is_counting_only: bool,
    pub(super) is_any_age_good: bool,
    count: u64,
}

#[derive(Debug, Default)]
pub(super) struct Path {
    pub(super) script: Option<Script>,
    /// For one request each, before the script holds again.
    pub(super) next: VecDeque<Answer>,
    pub(super) secrets: Arc<Secrets>,
    pub(super) receipts: Vec<Receipt>,
    pub(super) count: usize,
    pub(super) forged: usize,
    pub(super) active: InFlightCount,
}

/// Chooses an answer by what was sent.
type ChooseAnswer = dyn FnMut(&Receipt) -> Answer + Send;

/// How a path is answered.
#[derive(Clone)]
pub(super) enum Script {
    Always(Answer),
    By(Arc<Mutex<ChooseAnswer>>),
}

impl Default for Script {
    fn default() -> Self {
        Self::Always(Answer::ok())
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always(answer) => answer.fmt(formatter),
            Self::By(_) => formatter.write_str("By"),
        }
    }
}

impl Script {
    fn answer(self, receipt: &Receipt) -> Answer {
        match self {
            Self::Always(answer) => answer,
            Self::By(choose) => choose.lock().unwrap_or_else(PoisonError::into_inner)(receipt),
        }
    }
}

impl State {
    /// A path, that of nobody yet included.
    pub(super) fn path(&mut self, path: &str) -> &mut Path {
        if !self.paths.contains_key(path) {
            self.paths.insert(path.to_owned(), Path::default());
        }
        self.paths.get_mut(path).expect("it was just made")
    }

    /// Takes note of a request, and tells how it is to be answered.
    fn receive(&mut self, connection: u64, http: Arc<Request>, is_verified: Option<bool>) -> (Receipt, Script) {
        self.count += 1;
        let receipt = Receipt { number: self.count, connection, at: Instant::now(), is_verified, http };
        let is_kept = !self.is_counting_only;
        let path = self.path(&receipt.http.path);
        path.count += 1;
        path.forged += usize::from(is_verified == Some(false));
        path.active.enter();
        if is_kept {
            path.receipts.push(receipt.clone());
        }
        let script = path.next.pop_front().map(Script::Always).or_else(|| path.script.clone());
        (receipt, script.unwrap_or_else(|| self.fallback.clone()))
    }
}

impl ConnectionHandler for Shared {
    fn handle(self: Arc<Self>, stream: Stream) -> impl Future<Output = ()> + Send {
        // Now, and not when its turn comes: connections are accepted in the order in which they were made.
        let connection = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        self.handle_connection(connection, stream)
    }
}

impl Shared {
    async fn handle_connection(self: Arc<Self>, connection: u64, mut stream: Stream) {
        while let Some(request) = read_request(&mut stream).await {
            let request = Arc::new(request);
            let (receipt, script) = self.receive(connection, &request);
            // From here on, so that it is also taken back if the script panics.
            let in_flight = InFlightGuard(&self.state, |state: &mut State| &mut state.path(&request.path).active);
            // Without the lock: a script may ask the receiver what it knows.
            let answer = script.answer(&receipt);
            if respond(&mut stream, &answer, &request, in_flight).await != Outcome::GoesOn {
                return;
            }
        }
    }

    fn receive(&self, connection: u64, http: &Arc<Request>) -> (Receipt, Script) {
        let (secrets, is_any_age_good) = {
            let mut state = self.state.lock();
            (Arc::clone(&state.path(&http.path).secrets), state.is_any_age_good)
        };
        let is_verified = secrets.verify(http, is_any_age_good);
        self.state.change(|state| state.receive(connection, Arc::clone(http), is_verified))
    }
}
