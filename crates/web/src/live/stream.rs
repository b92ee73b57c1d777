//! One stream: what its channel tells, a heartbeat now and then, and an end.

use std::{convert::Infallible, sync::atomic::Ordering, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use domain::changes::ChangeNumber;
use futures_util::{Stream, stream};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    Audience, Place, Told, catch_up,
    event::{Group, comment, heartbeat},
    hub,
};
use crate::{auth::Actor, error::ApiResult, state::AppState};

/// How often something comes at least: proxies close what is quiet for longer.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// How soon a browser comes again when the stream was cut off.
const RETRY_MS: u32 = 1_000;

#[derive(Debug)]
pub(crate) struct EventStream {
    first: Option<Bytes>,
    /// All up to here was told.
    position: ChangeNumber,
    told: Receiver<Told>,
    heartbeats: Interval,
    stop: CancellationToken,
    place: Place,
}

/// A stream for whoever asks, from after this place or from now on, until the server stops.
pub(crate) async fn open(
    state: &AppState,
    actor: &Actor,
    after: Option<ChangeNumber>,
    stop: CancellationToken,
) -> ApiResult<EventStream> {
    let (_, start) = state.engine.changes_since(None).await?;
    let (place, told, must_start) = state.live.join(actor, start)?;
    if must_start {
        tokio::spawn(hub::run(state.clone(), start));
    }
    // What comes after this is heard by the channel, which was joined before.
    let audience = Audience { account: actor.account, sees_server: actor.check_admin().is_ok() };
    let (missed, position) = catch_up::read(state, audience, after).await?;
    let mut first = BytesMut::from(format!("retry: {RETRY_MS}\n").as_bytes());
    first.put(missed);
    first.put(comment(position));
    let mut heartbeats = interval_at(Instant::now() + HEARTBEAT_EVERY, HEARTBEAT_EVERY);
    heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Ok(EventStream { first: Some(first.freeze()), position, told, heartbeats, stop, place })
}

impl EventStream {
    pub(crate) fn into_chunks(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        stream::unfold(self, async |mut stream| stream.next().await.map(|bytes| (Ok(bytes), stream)))
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                () = self.place.end.cancelled() => return None,
                told = self.told.recv() => match told {
                    Ok(told) if told.number <= self.position => {}
                    Ok(told) => {
                        self.position = told.number;
                        self.heartbeats.reset();
                        return Some(told.bytes);
                    }
                    Err(RecvError::Lagged(_)) => {
                        self.position = self.settled();
                        return Some(Group::reset().write(self.position, self.position));
                    }
                    Err(RecvError::Closed) => return None,
                },
                _ = self.heartbeats.tick() => {
                    // Read before it is looked whether anything is left, so nothing up to there is.
                    let settled = self.settled();
                    if self.told.is_empty() {
                        self.position = self.position.max(settled);
                    }
                    return Some(heartbeat(self.position));
                }
            }
        }
    }

    fn settled(&self) -> ChangeNumber {
        ChangeNumber(self.place.settled.load(Ordering::Acquire))
    }
}
