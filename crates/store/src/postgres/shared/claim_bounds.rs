//! Lower bounds for claims: where a scan of an index of due rows begins.
//!
//! While an old snapshot is open anywhere (a `pg_dump`, a transaction that was left open), PostgreSQL removes no dead
//! index entries. A claim that walks its index from the start then walks every entry that was ever claimed since. So
//! claims begin behind the last row that was claimed, which this module remembers in memory, for each key of an index.
//!
//! A bound is an optimisation and never the truth: leases run out behind it, rows are committed late, other nodes release
//! rows, clocks are set back. So four times a second at most a scan is whole, that is without a bound. What that took decides
//! when the next one comes, a minute later at most: so long may a row wait that is behind the bound. Pure logic: all times come in as arguments, and are the database's.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::postgres::shared::values::millis;

/// Whole scans are at least so far apart, and at most.
const WHOLE_EVERY_MIN: Duration = Duration::from_millis(250);
const WHOLE_EVERY_MAX: Duration = Duration::from_mins(1);

/// A whole scan is followed by so many times its duration without one: they cost 2 % of a core at most, unless one takes
/// over a second.
const WHOLE_PAUSE_FACTOR: u32 = 60;

/// How far before the last row a scan begins when nothing else is known to wait: transactions commit a little later than
/// the due times they write.
const MARGIN_MS: i64 = 250;

/// A scan that took all there was leaves nothing that was due so long ago but what others hold.
const QUIET_MS: i64 = 30_000;

/// Keys that are remembered; all are forgotten when there are more.
const KEYS_MAX: usize = 4096;

/// A row in the order of an index of due rows: when it is due, and its id.
pub(crate) type Position = (i64, i64);

/// Before every row.
pub(crate) const START: Position = (i64::MIN, i64::MIN);

/// Bounds of the claims from one index, of one node. A key is a part of the index with an order of its own, `()` if it has but one.
#[derive(Debug)]
pub(crate) struct ClaimBounds<K> {
    of: HashMap<K, Bound>,
    claims: WholeScans,
    /// Scans that move no bound have whole ones of their own.
    looks: WholeScans,
}

#[derive(Debug, Clone, Copy)]
struct Bound {
    position: Position,
    /// The last claim took all it might: more is waiting behind that position.
    is_full: bool,
}

/// When whole scans are made, by the database's clock.
#[derive(Debug, Clone, Copy)]
struct WholeScans {
    seen_ms: i64,
    next_ms: i64,
}

/// A scan that is about to be made.
#[derive(Debug, Clone)]
pub(crate) struct Scan<K> {
    /// It is bounded if the database's time is at least this and less than the next. Otherwise it is whole: the time for
    /// that has come, or the clock was set back.
    pub(crate) bounded_from_ms: i64,
    pub(crate) bounded_until_ms: i64,
    /// Rows after these are looked at if it is bounded; all rows of a key that is not there.
    pub(crate) after: Vec<(K, Position)>,
}

/// What a claim took of one key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimedRows {
    /// The last row in the order of the index.
    pub(crate) last: Option<Position>,
    /// As many as it might.
    pub(crate) is_full: bool,
}

/// The database's time at the start of a scan, and what the scan took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) now_ms: i64,
    pub(crate) took: Duration,
}

pub(crate) fn lock<K>(bounds: &Mutex<ClaimBounds<K>>) -> MutexGuard<'_, ClaimBounds<K>> {
    bounds.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K> Default for ClaimBounds<K> {
    /// The first scans are whole.
    fn default() -> Self {
        let claims = WholeScans { seen_ms: i64::MIN, next_ms: i64::MIN };
        Self { of: HashMap::new(), claims, looks: claims }
    }
}

impl<K: Clone + Eq + Hash> ClaimBounds<K> {
    /// A claim, with the bounds of all keys that are known. Report it by [`claimed`](Self::claimed).
    pub(crate) fn claim(&self) -> Scan<K> {
        self.claims.scan(self.of.iter().map(|(key, bound)| (key.clone(), bound.start())))
    }

    /// A scan that moves no bound, because it claims nothing, or passes over rows that are due. Report it by
    /// [`looked`](Self::looked).
    pub(crate) fn look(&self) -> Scan<K> {
        self.looks.scan(self.of.iter().map(|(key, bound)| (key.clone(), bound.recent())))
    }

    pub(crate) fn looked(&mut self, scan: &Scan<K>, timing: Timing) {
        self.looks.made(scan, timing);
    }

    /// What a claim took. Keys of which nothing is known to the caller need not be there.
    pub(crate) fn claimed(
        &mut self,
        scan: &Scan<K>,
        timing: Timing,
        of_keys: impl IntoIterator<Item = (K, ClaimedRows)>,
    ) {
        if timing.now_ms < scan.bounded_from_ms {
            // The clock was set back: what was claimed before is no measure any more.
            self.of.clear();
        }
        self.claims.made(scan, timing);
        let is_bounded = scan.is_bounded(timing.now_ms);
        let starts: HashMap<&K, Position> = scan.after.iter().map(|(key, start)| (key, *start)).collect();
        for (key, claimed) in of_keys {
            let start = starts.get(&key).copied().filter(|_| is_bounded);
            self.move_bound(key, start, timing.now_ms, claimed);
        }
    }

    /// A row was released, and is due as before: claims begin before it.
    pub(crate) fn released(&mut self, key: &K, (due_ms, id): Position) {
        if let Some(bound) = self.of.get_mut(key) {
            bound.position = bound.position.min((due_ms, id.saturating_sub(1)));
        }
    }

    /// Rows are due now that were not, or not so soon: claims begin a little earlier.
    pub(crate) fn requeued(&mut self) {
        for bound in self.of.values_mut() {
            bound.is_full = false;
        }
    }

    fn move_bound(&mut self, key: K, start: Option<Position>, now_ms: i64, claimed: ClaimedRows) {
        let known = self.of.get(&key).map(|bound| bound.position);
        if known < start {
            // Rows before the start of this scan were released, or found by a whole one, meanwhile.
            return;
        }
        let quiet = Some((now_ms.saturating_sub(QUIET_MS), i64::MIN));
        let position = if claimed.is_full { claimed.last } else { claimed.last.max(known).max(quiet) };
        let Some(position) = position else { return };
        if known.is_none() && self.of.len() >= KEYS_MAX {
            self.of.clear();
        }
        self.of.insert(key, Bound { position, is_full: claimed.is_full });
    }
}

impl Bound {
    /// Where a claim begins: with the next row while more is waiting, since it matters little then if one is late.
    fn start(self) -> Position {
        if self.is_full { self.position } else { self.recent() }
    }

    fn recent(self) -> Position {
        (self.position.0.saturating_sub(MARGIN_MS), i64::MIN)
    }
}

impl WholeScans {
    fn scan<K>(self, after: impl Iterator<Item = (K, Position)>) -> Scan<K> {
        Scan { bounded_from_ms: self.seen_ms, bounded_until_ms: self.next_ms, after: after.collect() }
    }

    fn made<K>(&mut self, scan: &Scan<K>, Timing { now_ms, took }: Timing) {
        if !scan.is_bounded(now_ms) {
            let pause = took.saturating_mul(WHOLE_PAUSE_FACTOR).clamp(WHOLE_EVERY_MIN, WHOLE_EVERY_MAX);
            self.next_ms = now_ms.saturating_add(millis(took.saturating_add(pause)));
        }
        self.seen_ms = now_ms;
    }
}

impl<K> Scan<K> {
    pub(crate) fn is_bounded(&self, now_ms: i64) -> bool {
        self.bounded_from_ms <= now_ms && now_ms < self.bounded_until_ms
    }
}

impl Scan<()> {
    /// Where it begins if it is bounded, for an index with one order.
    pub(crate) fn after(&self) -> Position {
        self.after.first().map_or(START, |((), position)| *position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;
    const QUICK: Duration = Duration::from_millis(1);

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Expect {
        Whole,
        /// Rows after this one.
        After(i64, i64),
    }
    use Expect::{After, Whole};

    /// What happens to the bounds of one key: claims at a time, each with where it is to begin and what it takes.
    enum Step {
        Claim { at: i64, expect: Expect, last: Option<Position>, is_full: bool },
        Look { at: i64, expect: Expect },
        Release(Position),
    }
    use Step::{Claim, Look, Release};

    fn claim(at: i64, expect: Expect, last: Position) -> Step {
        Claim { at, expect, last: Some(last), is_full: false }
    }

    fn full(at: i64, expect: Expect, last: Position) -> Step {
        Claim { at, expect, last: Some(last), is_full: true }
    }

    fn nothing(at: i64, expect: Expect) -> Step {
        Claim { at, expect, last: None, is_full: false }
    }

    fn check(name: &str, steps: Vec<Step>) {
        let mut bounds = ClaimBounds::<()>::default();
        for (place, step) in steps.into_iter().enumerate() {
            let (scan, at, expect) = match &step {
                Claim { at, expect, .. } => (bounds.claim(), at, *expect),
                Look { at, expect } => (bounds.look(), at, *expect),
                Release(position) => {
                    bounds.released(&(), *position);
                    continue;
                }
            };
            let (due_ms, id) = scan.after();
            let begins = if scan.is_bounded(*at) && scan.after() != START { After(due_ms, id) } else { Whole };
            assert_eq!(begins, expect, "{name}, step {place}");
            let timing = Timing { now_ms: *at, took: QUICK };
            match step {
                Claim { last, is_full, .. } => bounds.claimed(&scan, timing, [((), ClaimedRows { last, is_full })]),
                Look { .. } => bounds.looked(&scan, timing),
                Release(_) => {}
            }
        }
    }

    const ANY: i64 = i64::MIN;

    #[test]
    fn claims_begin_where_they_should() {
        check("the first is whole", vec![nothing(NOW, Whole)]);
        check(
            "with the next row while more is waiting",
            vec![full(NOW, Whole, (500, 7)), full(NOW + 1, After(500, 7), (500, 9)), nothing(NOW + 2, After(500, 9))],
        );
        check(
            "a little earlier when nothing is",
            vec![
                claim(NOW, Whole, (NOW - 9, 7)),
                nothing(NOW + 1, After(NOW - 259, ANY)),
                nothing(NOW + 2, After(NOW - 259, ANY)),
            ],
        );
        check(
            "not long before a scan that took all",
            vec![claim(NOW, Whole, (500, 7)), nothing(NOW + 1, After(NOW - 30_250, ANY))],
        );
        check("nor if that took nothing", vec![nothing(NOW, Whole), nothing(NOW + 100, After(NOW - 30_250, ANY))]);
        check(
            "whole after a quarter of a second, and then not for another",
            vec![
                claim(NOW, Whole, (NOW, 7)),
                nothing(NOW + 250, After(NOW - 250, ANY)),
                nothing(NOW + 251, Whole),
                nothing(NOW + 501, After(NOW - 250, ANY)),
                nothing(NOW + 502, Whole),
            ],
        );
        check(
            "from what a whole scan found far behind",
            vec![
                full(NOW, Whole, (NOW, 7)),
                full(NOW + 2_000, Whole, (500, 3)),
                full(NOW + 2_001, After(500, 3), (NOW + 900, 8)),
                nothing(NOW + 2_002, After(NOW + 900, 8)),
            ],
        );
        check(
            "whole when the clock was set back",
            vec![
                full(NOW, Whole, (NOW, 7)),
                full(NOW - 5_000, Whole, (NOW - 6_000, 9)),
                nothing(NOW - 4_999, After(NOW - 6_000, 9)),
            ],
        );
        check(
            "before a row that was released",
            vec![
                full(NOW, Whole, (NOW - 10, 7)),
                Release((NOW - 20, 4)),
                Release((NOW - 5, 1)),
                full(NOW + 1, After(NOW - 20, 3), (NOW - 10, 8)),
                nothing(NOW + 2, After(NOW - 10, 8)),
            ],
        );
    }

    #[test]
    fn whole_scans_cost_little() {
        for (took, pause) in [(0, 250), (3, 250), (4, 250), (50, 3_000), (174, 10_440), (9_000, 60_000)] {
            let mut bounds = ClaimBounds::<()>::default();
            let timing = Timing { now_ms: NOW, took: Duration::from_millis(took) };
            bounds.claimed(&bounds.claim(), timing, []);
            let end = NOW + i64::try_from(took).unwrap();
            assert!(bounds.claim().is_bounded(end + pause - 1), "{took}");
            assert!(!bounds.claim().is_bounded(end + pause), "{took}");
        }
    }

    #[test]
    fn looks_move_no_bound_and_have_whole_ones_of_their_own() {
        check(
            "looks",
            vec![
                full(NOW, Whole, (NOW, 7)),
                Look { at: NOW + 1, expect: Whole },
                Look { at: NOW + 2, expect: After(NOW - 250, ANY) },
                nothing(NOW + 3, After(NOW, 7)),
                nothing(NOW + 251, Whole),
                Look { at: NOW + 251, expect: After(NOW - 250, ANY) },
                Look { at: NOW + 252, expect: Whole },
                nothing(NOW + 253, After(NOW - 250, ANY)),
            ],
        );
    }

    #[test]
    fn what_was_released_while_a_claim_was_made_is_not_forgotten() {
        let mut bounds = ClaimBounds::default();
        let timing = Timing { now_ms: NOW, took: QUICK };
        let taken = |last| [((), ClaimedRows { last: Some(last), is_full: true })];
        bounds.claimed(&bounds.claim(), timing, taken((NOW - 10, 7)));
        let scan = bounds.claim();
        bounds.released(&(), (NOW - 20, 4));
        bounds.claimed(&scan, timing, taken((NOW - 5, 9)));
        assert_eq!(bounds.claim().after(), (NOW - 20, 3));
    }

    #[test]
    fn keys_have_bounds_of_their_own_and_are_not_too_many() {
        let mut bounds = ClaimBounds::default();
        let timing = Timing { now_ms: NOW, took: QUICK };
        let taken = |key: i64| (key, ClaimedRows { last: Some((NOW, key)), is_full: true });
        bounds.claimed(&bounds.claim(), timing, (0..3).map(taken));
        let mut after = bounds.claim().after;
        after.sort_unstable();
        assert_eq!(after, [(0, (NOW, 0)), (1, (NOW, 1)), (2, (NOW, 2))]);
        let many = i64::try_from(KEYS_MAX).unwrap();
        bounds.claimed(&bounds.claim(), timing, (3..many).map(taken));
        assert_eq!(bounds.claim().after.len(), KEYS_MAX);
        bounds.claimed(&bounds.claim(), timing, [taken(0), taken(many)]);
        assert_eq!(bounds.claim().after, [(many, (NOW, many))]);
    }
}
