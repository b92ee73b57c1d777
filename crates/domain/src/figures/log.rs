//! What a transaction counts, gathered while it runs and written at its end.

use std::{collections::BTreeMap, time::Duration};

use super::latency;
use crate::{
    delivery::DeliveryStatus,
    ids::AccountId,
    ingest::{PollOutcome, Stored},
};

/// One row of counts: its number is stored, and never given to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series(i64);

impl Series {
    pub const DELIVERED: Self = Self(1);
    pub const RETRIED: Self = Self(2);
    pub const FAILED: Self = Self(3);
    pub const POLLED_NEW: Self = Self(11);
    pub const POLLED_UNCHANGED: Self = Self(12);
    pub const POLL_FAILED: Self = Self(13);
    pub const PUSHED_NEW: Self = Self(21);
    pub const PUSHED_UNCHANGED: Self = Self(22);
    pub const ENTRIES_NEW: Self = Self(31);
    pub const ENTRIES_CHANGED: Self = Self(32);
    /// The first step of the histogram of latencies; the others follow it.
    const LATENCY: Self = Self(100);

    pub fn number(self) -> i64 {
        self.0
    }

    pub(super) fn latencies() -> impl Iterator<Item = Self> {
        (Self::LATENCY.0..).take(latency::STEPS).map(Self)
    }

    fn of_latency(duration: Duration) -> Self {
        let step = latency::step_of(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        Self(Self::LATENCY.0 + i64::try_from(step).unwrap_or_default())
    }

    /// Where an attempt is counted that left its delivery so.
    fn of_attempt(status: DeliveryStatus) -> Self {
        match status {
            DeliveryStatus::Delivered => Self::DELIVERED,
            DeliveryStatus::Pending => Self::RETRIED,
            DeliveryStatus::Failed | DeliveryStatus::Cancelled => Self::FAILED,
        }
    }
}

/// Where an attempt is counted: by what it left its delivery as, and by how long it took.
pub fn attempt_series(status: DeliveryStatus, duration: Duration) -> [Series; 2] {
    [Series::of_attempt(status), Series::of_latency(duration)]
}

/// What is to be added to one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewFigure {
    /// `None`: the whole server's.
    pub account_id: Option<AccountId>,
    pub series: Series,
    pub count: u64,
}

/// What a transaction has counted so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FigureLog {
    noted: Vec<(Option<AccountId>, Series, u64)>,
}

impl FigureLog {
    /// An attempt to deliver to a webhook of this account; `None` if that is removed.
    pub fn attempt(&mut self, account: Option<AccountId>, status: DeliveryStatus, duration: Duration) {
        for series in attempt_series(status, duration) {
            self.noted.push((account, series, 1));
        }
    }

    /// A poll that brought a document, of which this was stored.
    pub fn document(&mut self, stored: Stored) {
        self.note(if brings_something(stored) { Series::POLLED_NEW } else { Series::POLLED_UNCHANGED }, 1);
        self.entries(stored);
    }

    /// A poll that brought no document.
    pub fn poll_without_document(&mut self, outcome: &PollOutcome) {
        let is_failure = matches!(outcome, PollOutcome::Failed(_) | PollOutcome::Gone(_));
        self.note(if is_failure { Series::POLL_FAILED } else { Series::POLLED_UNCHANGED }, 1);
    }

    /// A push that was taken and stored this.
    pub fn push(&mut self, stored: Stored) {
        self.note(if brings_something(stored) { Series::PUSHED_NEW } else { Series::PUSHED_UNCHANGED }, 1);
        self.entries(stored);
    }

    pub fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    /// What is noted from now on can be undone by itself.
    pub fn mark(&self) -> usize {
        self.noted.len()
    }

    /// Forgets what was noted since the mark.
    pub fn undo_to(&mut self, mark: usize) {
        self.noted.truncate(mark);
    }

    /// All of it, and nothing is noted any more: each row once, in the order in which rows are written everywhere. What is
    /// an account's is the server's too.
    pub fn take(&mut self) -> Vec<NewFigure> {
        let mut sums: BTreeMap<(Option<AccountId>, Series), u64> = BTreeMap::new();
        for (account, series, count) in std::mem::take(&mut self.noted) {
            *sums.entry((None, series)).or_default() += count;
            if account.is_some() {
                *sums.entry((account, series)).or_default() += count;
            }
        }
        sums.into_iter().map(|((account_id, series), count)| NewFigure { account_id, series, count }).collect()
    }

    fn entries(&mut self, stored: Stored) {
        self.note(Series::ENTRIES_NEW, u64::from(stored.new));
        self.note(Series::ENTRIES_CHANGED, u64::from(stored.changed) + u64::from(stored.completed));
    }

    fn note(&mut self, series: Series, count: u64) {
        if count > 0 {
            self.noted.push((None, series, count));
        }
    }
}

fn brings_something(stored: Stored) -> bool {
    stored.new > 0 || stored.changed > 0 || stored.completed > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::Validators;

    const MS: Duration = Duration::from_millis(1);

    fn taken(note: impl FnOnce(&mut FigureLog)) -> Vec<(Option<i64>, i64, u64)> {
        let mut log = FigureLog::default();
        note(&mut log);
        let taken = log.take();
        assert!(log.is_empty());
        taken.into_iter().map(|one| (one.account_id.map(|account| account.0), one.series.number(), one.count)).collect()
    }

    #[test]
    fn u3_attempts_are_their_accounts_and_the_servers() {
        let figures = taken(|log| {
            log.attempt(Some(AccountId(7)), DeliveryStatus::Delivered, MS);
            log.attempt(Some(AccountId(7)), DeliveryStatus::Delivered, MS);
            log.attempt(Some(AccountId(8)), DeliveryStatus::Pending, 2 * MS);
            log.attempt(None, DeliveryStatus::Failed, Duration::MAX);
        });
        let expect = [
            (None, 1, 2),
            (None, 2, 1),
            (None, 3, 1),
            (None, 100, 2),
            (None, 101, 1),
            (None, 126, 1),
            (Some(7), 1, 2),
            (Some(7), 100, 2),
            (Some(8), 2, 1),
            (Some(8), 101, 1),
        ];
        assert_eq!(figures, expect);
    }

    #[test]
    fn u3_polls_and_pushes_are_counted_by_what_they_bring() {
        let new = Stored { applied: true, new: 2, changed: 1, completed: 1 };
        let nothing = Stored { applied: true, ..Stored::default() };
        let figures = taken(|log| {
            log.document(new);
            log.document(nothing);
            log.poll_without_document(&PollOutcome::Unchanged(Validators::default()));
            log.poll_without_document(&PollOutcome::Failed(String::new()));
            log.poll_without_document(&PollOutcome::Gone(String::new()));
            log.push(new);
            log.push(nothing);
        });
        let expect =
            [(None, 11, 1), (None, 12, 2), (None, 13, 2), (None, 21, 1), (None, 22, 1), (None, 31, 4), (None, 32, 4)];
        assert_eq!(figures, expect);
    }

    #[test]
    fn u3_what_is_undone_is_not_counted() {
        let figures = taken(|log| {
            log.entries(Stored { new: 1, ..Stored::default() });
            let mark = log.mark();
            log.entries(Stored { new: 5, ..Stored::default() });
            log.undo_to(mark);
        });
        assert_eq!(figures, [(None, 31, 1)]);
    }
}
