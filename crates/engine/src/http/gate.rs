//! At most so many requests at once to a host, whatever led there: its own feeds, or the redirects of others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Hosts that are remembered although nobody asks them, before they are forgotten.
const IDLE_HOSTS_MAX: usize = 1024;

/// The hosts that requests are under way to.
#[derive(Debug)]
pub(super) struct Gate {
    /// `None` for no limit.
    limit: Option<usize>,
    hosts: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl Gate {
    pub(super) fn new(limit: Option<usize>) -> Self {
        Self { limit, hosts: Mutex::default() }
    }

    /// Waits until there is a place at a host; it is taken until what this returns is dropped.
    pub(super) async fn enter(&self, host: &str) -> Option<OwnedSemaphorePermit> {
        let places = self.places(host, self.limit?);
        // Never closed, so it cannot fail.
        places.acquire_owned().await.ok()
    }

    fn places(&self, host: &str, limit: usize) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = hosts.get(host).and_then(Weak::upgrade) {
            return places;
        }
        if hosts.len() >= IDLE_HOSTS_MAX {
            hosts.retain(|_, places| places.strong_count() > 0);
        }
        let places = Arc::new(Semaphore::new(limit));
        hosts.insert(host.to_owned(), Arc::downgrade(&places));
        places
    }
}
