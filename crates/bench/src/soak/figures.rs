//! What is counted and timed, by many at once.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::world::is_pushed;

/// Times that are kept of each kind: the last ones.
const TIMES_MAX: usize = 200_000;

/// All that is known of a run. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Titles of entries that must be there, and since when.
    owed: HashMap<String, Instant>,
    /// How often each was found in the end.
    stored: HashMap<String, usize>,
    /// How often each was delivered.
    delivered: HashMap<String, usize>,
    /// Entries that must be read, and those that were found so in the end.
    owed_marks: HashSet<i64>,
    marked: HashSet<i64>,
    faults: BTreeMap<&'static str, usize>,
    /// By minute: the least and the most.
    memory: BTreeMap<u64, (usize, usize)>,
    latencies: BTreeMap<&'static str, Latency>,
}

#[derive(Debug, Default)]
struct Latency {
    times: Vec<Duration>,
    /// Also those that are no longer kept.
    succeeded: usize,
    failed: usize,
    last_at: Option<Instant>,
    longest_gap: Duration,
}

impl Figures {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn owe(&self, title: String) {
        self.lock().owed.insert(title, Instant::now());
    }

    pub(crate) fn owe_mark(&self, entry: i64) {
        self.lock().owed_marks.insert(entry);
    }

    /// An entry was delivered: how long after it was published, or its push was answered, which may be later.
    pub(crate) fn delivered(&self, title: &str) {
        let mut inner = self.lock();
        let times = inner.delivered.entry(title.to_owned()).or_default();
        *times += 1;
        if *times == 1 {
            let since = inner.owed.get(title).map_or(Duration::ZERO, Instant::elapsed);
            let what = if is_pushed(title) { "pushed, until delivered" } else { "published, until delivered" };
            inner.latencies.entry(what).or_default().add(since);
        }
    }

    /// What is there in the end: its title, its id, and whether it is read.
    pub(crate) fn found(&self, entries: Vec<(String, i64, bool)>) {
        let mut inner = self.lock();
        inner.stored.clear();
        inner.marked = entries.iter().filter(|(_, _, is_read)| *is_read).map(|(_, id, _)| *id).collect();
        for (title, _, _) in entries {
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
            Some(time) => latency.add(time),
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
            |found: &HashMap<String, usize>| inner.owed.keys().filter(|title| !found.contains_key(*title)).count();
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
            ("marked as read", inner.owed_marks.len(), inner.owed_marks.difference(&inner.marked).count(), 0),
        ]
    }

    pub(crate) fn faults(&self) -> Vec<(&'static str, usize)> {
        self.lock().faults.iter().map(|(name, times)| (*name, *times)).collect()
    }

    pub(crate) fn memory(&self) -> Vec<(u64, usize, usize)> {
        self.lock().memory.iter().map(|(minute, (least, most))| (*minute, *least, *most)).collect()
    }

    pub(crate) fn latencies(&self) -> Vec<[String; 7]> {
        let inner = self.lock();
        inner.latencies.iter().map(|(what, latency)| latency.row(what)).collect()
    }
}

impl Latency {
    /// Takes the place of the oldest, once there are enough.
    fn add(&mut self, time: Duration) {
        match self.times.get_mut(self.succeeded % TIMES_MAX) {
            Some(oldest) => *oldest = time,
            None => self.times.push(time),
        }
        self.succeeded += 1;
        let gap = self.last_at.map_or(Duration::ZERO, |at| at.elapsed());
        self.longest_gap = self.longest_gap.max(gap);
        self.last_at = Some(Instant::now());
    }

    fn row(&self, what: &str) -> [String; 7] {
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = |part: usize| {
            let place = (times.len() * part / 100).min(times.len().saturating_sub(1));
            times.get(place).map_or_else(|| "-".to_owned(), |time| format!("{:.1}", time.as_secs_f64() * 1e3))
        };
        let gap = format!("{:.1}", self.longest_gap.as_secs_f64());
        [what.to_owned(), self.succeeded.to_string(), self.failed.to_string(), at(50), at(99), at(100), gap]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_times_are_kept() {
        let mut latency = Latency::default();
        let second = Duration::from_secs(1);
        (0..TIMES_MAX).for_each(|_| latency.add(Duration::ZERO));
        (0..TIMES_MAX).for_each(|_| latency.add(second));
        assert_eq!(latency.times, vec![second; TIMES_MAX]);
        assert_eq!(latency.row("x")[1], (2 * TIMES_MAX).to_string());
    }
}
