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

/// How often something comes at least, unless told otherwise: proxies close what is quiet for longer.
pub(crate) const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
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
    let heartbeats = heartbeats(state.settings.heartbeat_every);
    Ok(EventStream { first: Some(first.freeze()), position, told, heartbeats, stop, place })
}

fn heartbeats(every: Duration) -> Interval {
    let mut heartbeats = interval_at(Instant::now() + every, every);
    heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heartbeats
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

#[cfg(test)]
mod tests {
    use std::{pin::pin, sync::Arc};

    use super::*;
    use crate::live::{BEHIND_MAX, Channel, Live};

    #[tokio::test]
    async fn u2_whoever_is_too_far_behind_is_told_to_load_anew() {
        let channel = Channel::new(ChangeNumber(0));
        let live = Arc::new(Live::new(1));
        let end = CancellationToken::new();
        let mut stream = EventStream {
            first: None,
            position: ChangeNumber(0),
            told: channel.sender.subscribe(),
            heartbeats: heartbeats(Duration::from_hours(1)),
            stop: CancellationToken::new(),
            place: Place { live, id: 1, end, settled: Arc::clone(&channel.settled) },
        };
        let tell = |number: i64| {
            channel.sender.send(Told { number: ChangeNumber(number), bytes: number.to_string().into() }).unwrap();
            channel.settled.store(number, Ordering::Release);
        };
        let most = i64::try_from(BEHIND_MAX).unwrap();
        (1..=most).for_each(tell);
        for number in 1..=most {
            assert_eq!(stream.next().await.unwrap(), number.to_string(), "so many are kept for it");
        }
        let last = 2 * most + 1;
        (most + 1..=last).for_each(tell);
        let reset = Group::reset().write(ChangeNumber(last), ChangeNumber(last));
        assert_eq!(stream.next().await.unwrap(), reset, "one more is not");
        assert!(futures_util::poll!(pin!(stream.next())).is_pending(), "what it stands for is not told again");
        tell(last + 1);
        assert_eq!(stream.next().await.unwrap(), (last + 1).to_string());
    }
}
