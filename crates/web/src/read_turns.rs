//! How many pushes of one subscription are read at once: a hub that sends large bodies slowly, or never to their end, does
//! not take the memory of all others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use domain::SubscriptionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bodies for one subscription that are read at once; more wait until one has come.
const BODIES_MAX: usize = 2;

/// Subscriptions that are remembered before those are forgotten of which nothing is read.
const KNOWN_MAX: usize = 256;

#[derive(Debug, Clone, Default)]
pub(crate) struct ReadTurns(Arc<Mutex<HashMap<SubscriptionId, Weak<Semaphore>>>>);

impl ReadTurns {
    /// The right to read one more body, until it is dropped.
    pub(crate) async fn turn(&self, id: SubscriptionId) -> Option<OwnedSemaphorePermit> {
        self.of(id).acquire_owned().await.ok()
    }

    fn of(&self, id: SubscriptionId) -> Arc<Semaphore> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = known.get(&id).and_then(Weak::upgrade) {
            return turns;
        }
        if known.len() >= KNOWN_MAX {
            known.retain(|_, turns| turns.strong_count() > 0);
        }
        let turns = Arc::new(Semaphore::new(BODIES_MAX));
        known.insert(id, Arc::downgrade(&turns));
        turns
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn w3_bodies_of_one_subscription_wait_for_each_other() {
        let turns = ReadTurns::default();
        let (first, second) = (turns.turn(SubscriptionId(1)).await, turns.turn(SubscriptionId(1)).await);
        let mut third = pin!(turns.turn(SubscriptionId(1)));
        assert!(futures_util::poll!(&mut third).is_pending());
        assert!(turns.turn(SubscriptionId(2)).await.is_some(), "another does not wait");
        drop(first);
        assert!(third.await.is_some());
        drop(second);
        for id in 0..1000 {
            turns.turn(SubscriptionId(id)).await;
        }
        assert!(turns.0.lock().unwrap().len() <= KNOWN_MAX);
    }
}
