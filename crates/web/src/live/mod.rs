//! Live: what was changed reaches every open page (`GET /api/events`, server-sent events).
//!
//! ```text
//! change stream ─> hub, one task of the process ─> a channel for each account that listens ─> its streams
//! ```
//!
//! The hub hears every change once, keeps for each account what it has not been told yet (bounded: much becomes "several"),
//! reads the counts of all accounts that are due in one statement, and writes the events once for all streams of an
//! account. A stream only copies them to its connection. Whoever reads too slowly misses some and is told to load anew;
//! nothing grows. The task lives while somebody listens.
//!
//! The id of an event is the number in the change stream up to which its stream has told everything once it was read: of
//! several events told together only the last has the new one. So whoever comes back with it misses nothing.
//!
//! An account hears what concerns it, and nothing of another's; an administrator also what concerns the whole server.

mod catch_up;
mod event;
mod follows;
mod hub;
mod logins;
mod pace;
mod pending;
mod stream;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicI64},
};

use domain::{AccountId, account::Login, changes::ChangeNumber};
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

pub(crate) use self::stream::{HEARTBEAT_EVERY, open};
use self::{follows::Follows, pace::Pace, pending::Pending};
use crate::{
    auth::Actor,
    error::{ApiError, ApiResult},
};

/// Groups of events that a stream may be behind. Whoever is further behind is told to load anew.
const BEHIND_MAX: usize = 16;

/// With a request: when its server stops.
#[derive(Debug, Clone)]
pub(crate) struct ServerStop(pub(crate) CancellationToken);

/// With an answer: it has no end, and its connection is for nothing else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenEnded;

/// Who hears the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Audience {
    account: AccountId,
    /// Also what concerns the whole server.
    sees_server: bool,
}

/// Events that were told together, written once for all streams.
#[derive(Debug, Clone)]
struct Told {
    number: ChangeNumber,
    bytes: bytes::Bytes,
}

/// All streams of the process, and the hub that feeds them.
#[derive(Debug)]
pub(crate) struct Live {
    streams_max: usize,
    hub: Mutex<Hub>,
    joined: Notify,
}

#[derive(Debug, Default)]
struct Hub {
    is_running: bool,
    /// All up to here was noted for everybody.
    position: ChangeNumber,
    channels: HashMap<Audience, Channel>,
    streams: HashMap<u64, Open>,
    last_stream: u64,
}

/// What one audience is told.
#[derive(Debug)]
struct Channel {
    sender: broadcast::Sender<Told>,
    /// All up to here was told.
    told: ChangeNumber,
    /// The same, for its streams.
    settled: Arc<AtomicI64>,
    /// `None` until they are read.
    follows: Option<Follows>,
    pending: Pending,
    pace: Pace,
}

/// A stream that is open.
#[derive(Debug)]
struct Open {
    audience: Audience,
    login: Option<Login>,
    end: CancellationToken,
}

/// What a stream has of its channel. When it is dropped, the stream has left.
#[derive(Debug)]
struct Place {
    live: Arc<Live>,
    id: u64,
    end: CancellationToken,
    settled: Arc<AtomicI64>,
}

impl Live {
    pub(crate) fn new(streams_max: usize) -> Self {
        Self { streams_max, hub: Mutex::new(Hub::default()), joined: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Hub> {
        // Nothing in here panics half-way.
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a stream; true if the hub has to be started, at this position of the change stream.
    fn join(
        self: &Arc<Self>,
        actor: &Actor,
        position: ChangeNumber,
    ) -> ApiResult<(Place, broadcast::Receiver<Told>, bool)> {
        let audience = Audience { account: actor.account, sees_server: actor.check_admin().is_ok() };
        let mut hub = self.lock();
        let of_account = hub.streams.values().filter(|open| open.audience.account == actor.account).count();
        if hub.streams.len() >= self.streams_max || of_account >= self.streams_max.div_ceil(2) {
            return Err(ApiError::Unavailable("too many event streams are open; close a page, or try again later"));
        }
        let must_start = !std::mem::replace(&mut hub.is_running, true);
        if must_start {
            hub.position = position;
        }
        let position = hub.position;
        let channel = hub.channels.entry(audience).or_insert_with(|| Channel::new(position));
        let (receiver, settled) = (channel.sender.subscribe(), Arc::clone(&channel.settled));
        hub.last_stream += 1;
        let (id, end) = (hub.last_stream, CancellationToken::new());
        hub.streams.insert(id, Open { audience, login: actor.login, end: end.clone() });
        drop(hub);
        self.joined.notify_one();
        Ok((Place { live: Arc::clone(self), id, end, settled }, receiver, must_start))
    }
}

impl Channel {
    fn new(position: ChangeNumber) -> Self {
        Self {
            sender: broadcast::channel(BEHIND_MAX).0,
            told: position,
            settled: Arc::new(AtomicI64::new(position.0)),
            follows: None,
            pending: Pending::default(),
            pace: Pace::default(),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut hub = self.live.lock();
        let left = hub.streams.remove(&self.id);
        let Some(Open { audience, .. }) = left else { return };
        if hub.streams.values().all(|open| open.audience != audience) {
            hub.channels.remove(&audience);
        }
        drop(hub);
        self.live.joined.notify_one();
    }
}
