//! The change stream in this process: one read of the store for all who listen, however many they are.
//!
//! ```text
//! commit ─> hint (here at once, elsewhere by NOTIFY) ─> whoever listens ─> the first reads, the others find it read
//! ```
//!
//! There is no task: whoever waits for [the next](ChangeListener::next) changes reads them, under a lock, into a short
//! list that all share. So nothing runs where nobody listens, and nothing is left when they have gone. Hints may be lost,
//! so there is a look every second without one.
//!
//! What is kept is bounded: a listener that is further behind than the list is served from the store, and if there is
//! too much of it, is told to load everything anew.

mod prune;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use domain::{
    changes::{Change, ChangeKind, ChangeNumber, ChangesPage},
    ports::{ChangeStore, StoreResult},
};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep, timeout},
};

pub(crate) use self::prune::run as run_prune;

/// Changes that are kept for all listeners; whoever has missed more than these loads everything anew.
const RECENT_MAX: usize = 1000;

/// Changes in one read.
const READ_MAX: u32 = 500;

/// Time between two reads, at least: what comes meanwhile is read together.
const READ_EVERY: Duration = Duration::from_millis(5);

/// How soon it is looked again when somebody with a smaller number has not committed yet. It may never do, and then
/// there is no hint.
const HELD_UP: Duration = Duration::from_millis(20);

/// A hint may be lost; and after an error.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The change stream of this process.
#[derive(Debug)]
pub struct ChangeStream {
    store: Arc<dyn ChangeStore>,
    recent: Mutex<Option<Recent>>,
}

/// What was read last.
#[derive(Debug)]
struct Recent {
    /// The hint that it was read after.
    hint: u64,
    read_at: Instant,
    /// All between these places are in the list.
    begin: ChangeNumber,
    end: ChangeNumber,
    changes: VecDeque<Change>,
    /// How long after the read the next is due, if there is no hint.
    due_after: Duration,
}

/// What a listener hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// These, in order, none left out and none twice.
    Changes(Vec<Change>),
    /// Load everything anew: what was changed is not known. What follows is after this place.
    Reset(ChangeNumber),
}

/// What there is after a place.
#[derive(Debug)]
struct Found {
    heard: Option<Heard>,
    /// Where to go on.
    next: ChangeNumber,
    /// How long to wait for a hint if nothing was heard.
    pause: Duration,
}

impl Found {
    fn reset(next: ChangeNumber) -> Self {
        Self { heard: Some(Heard::Reset(next)), next, pause: Duration::ZERO }
    }

    fn changes(changes: Vec<Change>, next: ChangeNumber, pause: Duration) -> Self {
        Self { heard: (!changes.is_empty()).then_some(Heard::Changes(changes)), next, pause }
    }
}

/// Somebody who follows the stream.
#[derive(Debug)]
pub struct ChangeListener {
    stream: Arc<ChangeStream>,
    position: Option<ChangeNumber>,
    hint: u64,
    is_away: bool,
}

impl ChangeStream {
    pub fn new(store: Arc<dyn ChangeStore>) -> Arc<Self> {
        Arc::new(Self { store, recent: Mutex::new(None) })
    }

    /// Follows the stream from after this place. Without one the first that it hears is a reset, at once.
    pub fn listen(self: &Arc<Self>, after: Option<ChangeNumber>) -> ChangeListener {
        ChangeListener { stream: Arc::clone(self), position: after, hint: 0, is_away: false }
    }

    /// What there is after a place, without waiting for more, and where to go on. Without a place it is a reset.
    pub async fn since(&self, after: Option<ChangeNumber>) -> StoreResult<(Heard, ChangeNumber)> {
        let Found { heard, next, .. } = self.look(after, 0).await?;
        Ok((heard.unwrap_or_else(|| Heard::Changes(Vec::new())), next))
    }

    async fn look(&self, after: Option<ChangeNumber>, hint: u64) -> StoreResult<Found> {
        let mut recent = self.recent.lock().await;
        let known = self.read(&mut recent, hint).await?;
        let Some(after) = after else { return Ok(Found::reset(known.end)) };
        if after < known.begin || known.end < after {
            drop(recent);
            return self.look_alone(after).await;
        }
        let heard = known.changes.iter().filter(|change| change.number > after).cloned().collect();
        Ok(Found::changes(heard, known.end, known.due_in()))
    }

    /// Somebody who was elsewhere for a while.
    async fn look_alone(&self, after: ChangeNumber) -> StoreResult<Found> {
        let page = self.store.changes_after(after, u32::try_from(RECENT_MAX).unwrap_or(u32::MAX)).await?;
        let ChangesPage { changes, next, has_more, is_reset } = page;
        if is_reset {
            return Ok(Found::reset(next));
        }
        if changes.len() >= RECENT_MAX {
            return Ok(Found::reset(self.store.last_change().await?));
        }
        Ok(Found::changes(changes, next, if has_more { HELD_UP } else { LOOK_EVERY }))
    }

    /// Reads what is new, unless somebody else has done so since this hint.
    async fn read<'r>(&self, recent: &'r mut Option<Recent>, hint: u64) -> StoreResult<&'r mut Recent> {
        if recent.is_none() {
            let last = self.store.last_change().await?;
            return Ok(recent.insert(Recent::new(last, hint)));
        }
        let recent = recent.as_mut().expect("it was looked at just before");
        if is_later(hint, recent.hint) || recent.due_in().is_zero() {
            sleep(READ_EVERY.saturating_sub(recent.read_at.elapsed())).await;
            let page = self.store.changes_after(recent.end, READ_MAX).await?;
            recent.read_at = Instant::now();
            if is_later(hint, recent.hint) {
                recent.hint = hint;
            }
            recent.take(page);
        }
        Ok(recent)
    }
}

/// Hints are counted, and begin anew some day.
fn is_later(hint: u64, known: u64) -> bool {
    (1..=u64::MAX / 2).contains(&hint.wrapping_sub(known))
}

impl Recent {
    fn new(last: ChangeNumber, hint: u64) -> Self {
        let (read_at, changes) = (Instant::now(), VecDeque::new());
        Self { hint, read_at, begin: last, end: last, changes, due_after: LOOK_EVERY }
    }

    /// Zero if it is due now.
    fn due_in(&self) -> Duration {
        self.due_after.saturating_sub(self.read_at.elapsed())
    }

    fn take(&mut self, page: ChangesPage) {
        if page.is_reset {
            // Nobody goes on from here: all others read by themselves, and are told the same.
            self.changes.clear();
            self.begin = page.next;
        }
        self.end = page.next;
        let is_full = page.changes.len() >= usize::try_from(READ_MAX).unwrap_or(usize::MAX);
        self.due_after = match (page.has_more, is_full) {
            (true, true) => Duration::ZERO,
            (true, false) => HELD_UP,
            (false, _) => LOOK_EVERY,
        };
        self.changes.extend(page.changes);
        while self.changes.len() > RECENT_MAX {
            if let Some(gone) = self.changes.pop_front() {
                self.begin = gone.number;
            }
        }
    }
}

impl ChangeListener {
    /// The place of the last change that was heard.
    pub fn position(&self) -> Option<ChangeNumber> {
        self.position
    }

    /// Waits for what comes next, however long the store is away. It may be broken off at any time: nothing is lost.
    pub async fn next(&mut self) -> Heard {
        loop {
            let pause = match self.stream.look(self.position, self.hint).await {
                Ok(Found { heard, next, pause }) => {
                    (self.is_away, self.position) = (false, Some(next));
                    if let Some(heard) = heard {
                        return heard;
                    }
                    pause
                }
                Err(error) => {
                    if !std::mem::replace(&mut self.is_away, true) {
                        tracing::warn!(%error, "change stream interrupted");
                    }
                    // A store that is away may hint again and again.
                    sleep(LOOK_EVERY).await;
                    continue;
                }
            };
            if let Ok(hint) = timeout(pause, self.stream.store.changed_since(self.hint)).await {
                self.hint = hint;
            }
        }
    }

    /// Waits until something of this kind may have changed.
    pub async fn next_of(&mut self, kind: ChangeKind) {
        loop {
            match self.next().await {
                Heard::Changes(changes) if changes.iter().all(|change| change.kind != kind) => {}
                Heard::Changes(_) | Heard::Reset(_) => return,
            }
        }
    }
}
