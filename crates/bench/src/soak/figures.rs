//! What is counted and timed, by many at once.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Times that are kept of each kind: the last ones.
const TIMES_MAX: usize = 200_000;

/// All that is known of a run. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Titles of entries that must be there.
    owed: HashSet<String>,
    /// How often each was found in the end.
    stored: HashMap<String, usize>,
    /// How often each was delivered.
    delivered: HashMap<String, usize>,
    faults: BTreeMap<&'static str, usize>,
    /// By minute: the least and the most.
    memory: BTreeMap<u64, (usize, usize)>,
    latencies: BTreeMap<&'static str, Latency>,
}

#[derive(Debug, Default)]
struct Latency {
    times: Vec<Duration>,
    failed: usize,
}

impl Figures {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn owe(&self, title: String) {
        self.lock().owed.insert(title);
    }

    pub(crate) fn delivered(&self, title: &str) {
        *self.lock().delivered.entry(title.to_owned()).or_default() += 1;
    }

    pub(crate) fn stored(&self, titles: impl Iterator<Item = String>) {
        let mut inner = self.lock();
        inner.stored.clear();
        for title in titles {
            *inner.stored.entry(title).or_default() += 1;
        }
    }

    pub(crate) fn fault(&self, name: &'static str) {
        *self.lock().faults.entry(name).or_default() += 1;
    }

    pub(crate) fn memory_is(&self, minute: u64, bytes: usize) {
        let mut inner = self.lock();
        let (least, most) = inner.memory.entry(minute).or_insert((bytes, bytes));
        (*least, *most) = ((*least).min(bytes), (*most).max(bytes));
    }

    pub(crate) fn took(&self, what: &'static str, time: Option<Duration>) {
        let mut inner = self.lock();
        let latency = inner.latencies.entry(what).or_default();
        match time {
            Some(time) if latency.times.len() < TIMES_MAX => latency.times.push(time),
            Some(_) => {}
            None => latency.failed += 1,
        }
    }

    pub(crate) fn owed_count(&self) -> usize {
        self.lock().owed.len()
    }

    /// Entries that are owed and were not found, or not delivered.
    pub(crate) fn missing(&self) -> (usize, usize) {
        let inner = self.lock();
        let missing =
            |found: &HashMap<String, usize>| inner.owed.iter().filter(|title| !found.contains_key(*title)).count();
        (missing(&inner.stored), missing(&inner.delivered))
    }

    /// What, how many were owed, lost, and there more than once.
    pub(crate) fn owed(&self) -> Vec<(&'static str, usize, usize, usize)> {
        let (not_stored, not_delivered) = self.missing();
        let inner = self.lock();
        let twice = |found: &HashMap<String, usize>| found.values().filter(|times| **times > 1).count();
        vec![
            ("stored", inner.owed.len(), not_stored, twice(&inner.stored)),
            ("delivered", inner.owed.len(), not_delivered, twice(&inner.delivered)),
        ]
    }

    pub(crate) fn faults(&self) -> Vec<(&'static str, usize)> {
        self.lock().faults.iter().map(|(name, times)| (*name, *times)).collect()
    }

    pub(crate) fn memory(&self) -> Vec<(u64, usize, usize)> {
        self.lock().memory.iter().map(|(minute, (least, most))| (*minute, *least, *most)).collect()
    }

    pub(crate) fn latencies(&self) -> Vec<[String; 6]> {
        let mut inner = self.lock();
        inner.latencies.iter_mut().map(|(what, latency)| latency.row(what)).collect()
    }
}

impl Latency {
    fn row(&mut self, what: &str) -> [String; 6] {
        self.times.sort_unstable();
        let at = |part: usize| {
            let place = (self.times.len() * part / 100).min(self.times.len().saturating_sub(1));
            self.times.get(place).map_or_else(|| "-".to_owned(), |time| format!("{:.1}", time.as_secs_f64() * 1e3))
        };
        [what.to_owned(), self.times.len().to_string(), self.failed.to_string(), at(50), at(99), at(100)]
    }
}
