//! Which webhooks have deliveries that wait, as far as this node knows: claims look at these and no others, so that what
//! they cost goes by what waits, and not by how many webhooks there are.
//!
//! A whole scan finds them all, by steps through the index from webhook to webhook. Until the next one, four times a second,
//! those are known, and whoever has a delivery that was made since is found by its id. All else that was queued again
//! behind its back, on another node, is found by the next whole scan. Pure logic: times and ids are the database's.
//!
//! Differs from the other store: on SQLite one step through an index finds them.

use std::collections::{BTreeSet, VecDeque};

/// Webhooks that are remembered; with more, every claim steps through the index.
const KNOWN_MAX: usize = 4096;

/// How long ago the last id was taken behind which deliveries are looked for: transactions commit a little later than they
/// take their ids.
const MARGIN_MS: i64 = 100;

/// Ids that are remembered with the time that they were the last.
const IDS_MAX: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct PendingWebhooks {
    /// `None` if not all are known.
    known: Option<BTreeSet<i64>>,
    /// When an id was the last that was taken, the oldest first.
    last_ids: VecDeque<(i64, i64)>,
    /// Rises whenever all is forgotten.
    generation: u64,
}

/// Where a scan looks, if it is bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidates {
    /// `None` for all.
    pub(crate) known: Option<Vec<i64>>,
    /// And those of later deliveries than this.
    pub(crate) after_id: i64,
    generation: u64,
}

/// What a scan has found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) now_ms: i64,
    /// The last id that was taken when it began.
    pub(crate) last_id: i64,
    /// `None` if there were too many.
    pub(crate) webhooks: Option<Vec<i64>>,
    pub(crate) is_whole: bool,
}

impl PendingWebhooks {
    pub(crate) fn candidates(&self) -> Candidates {
        Candidates {
            known: self.known.as_ref().map(|known| known.iter().copied().collect()),
            after_id: self.last_ids.front().map_or(0, |(_, id)| *id),
            generation: self.generation,
        }
    }

    pub(crate) fn found(&mut self, candidates: &Candidates, found: Found) {
        if candidates.generation != self.generation {
            // Something was queued again while it was made.
            return;
        }
        self.note(found.now_ms, found.last_id);
        let Some(webhooks) = found.webhooks.filter(|webhooks| webhooks.len() <= KNOWN_MAX) else {
            self.known = None;
            return;
        };
        if found.is_whole || candidates.known.is_none() {
            self.known = Some(webhooks.into_iter().collect());
        } else if let Some(known) = &mut self.known {
            known.extend(webhooks);
            if known.len() > KNOWN_MAX {
                self.known = None;
            }
        }
    }

    /// Deliveries wait that may have older ids: the next scan finds them all.
    pub(crate) fn forget(&mut self) {
        *self = Self { generation: self.generation.wrapping_add(1), ..Self::default() };
    }

    fn note(&mut self, now_ms: i64, last_id: i64) {
        if self.last_ids.back().is_some_and(|(at, id)| *at > now_ms || *id > last_id) {
            // A clock was set back, or the database is another.
            self.last_ids.clear();
            self.known = None;
        }
        if self.last_ids.len() < IDS_MAX {
            self.last_ids.push_back((now_ms, last_id));
        }
        // The second is old enough too.
        while self.last_ids.get(1).is_some_and(|(at, _)| *at <= now_ms.saturating_sub(MARGIN_MS)) {
            self.last_ids.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(now_ms: i64, last_id: i64, webhooks: &[i64]) -> Found {
        Found { now_ms, last_id, webhooks: Some(webhooks.to_vec()), is_whole: true }
    }

    fn bounded(now_ms: i64, last_id: i64, webhooks: &[i64]) -> Found {
        Found { is_whole: false, ..whole(now_ms, last_id, webhooks) }
    }

    fn check(name: &str, founds: Vec<Found>, known: Option<&[i64]>, after_id: i64) {
        let mut pending = PendingWebhooks::default();
        for found in founds {
            pending.found(&pending.candidates(), found);
        }
        let expect = Candidates { known: known.map(<[i64]>::to_vec), after_id, generation: 0 };
        assert_eq!(pending.candidates(), expect, "{name}");
    }

    #[test]
    fn p3_claims_look_at_webhooks_with_something_to_send() {
        check("nothing is known at first", vec![], None, 0);
        check("a whole scan knows all", vec![whole(1000, 7, &[2, 5])], Some(&[2, 5]), 7);
        check("others come to it", vec![whole(1000, 7, &[2]), bounded(1010, 9, &[2, 8])], Some(&[2, 8]), 7);
        check("until the next", vec![whole(1000, 7, &[2]), whole(1300, 9, &[3])], Some(&[3]), 7);
        check(
            "ids begin a little earlier",
            vec![whole(1000, 7, &[]), bounded(1090, 8, &[]), bounded(1100, 9, &[]), bounded(1190, 10, &[])],
            Some(&[]),
            8,
        );
        check("a clock that was set back", vec![whole(1000, 7, &[2]), bounded(900, 8, &[])], None, 8);
        check("a database that has forgotten", vec![whole(1000, 7, &[2]), bounded(1001, 5, &[])], None, 5);
        let too_many: Vec<i64> = (0..).take(KNOWN_MAX + 1).collect();
        check("too many", vec![whole(1000, 7, &too_many)], None, 7);
        check("too many by and by", vec![whole(1000, 7, &too_many[1..]), bounded(1001, 8, &[-1])], None, 7);
    }

    #[test]
    fn p3_what_is_queued_again_during_a_scan_is_not_forgotten() {
        let mut pending = PendingWebhooks::default();
        let candidates = pending.candidates();
        pending.forget();
        pending.found(&candidates, whole(1000, 7, &[2]));
        assert_eq!(pending.candidates().known, None);
    }
}
