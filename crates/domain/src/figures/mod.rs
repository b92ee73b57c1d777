//! The figures behind the plots: how many of what happened in each minute, and later in each hour.
//!
//! A transaction gathers what it does in a [`FigureLog`] and adds it to the rows of the minute at its end: what is not
//! committed is not counted, and nothing is counted twice. After two days the minutes of an hour become one row, so an hour
//! is the sum of both tables wherever the border is.
//!
//! Figures of webhooks are kept for the account that a webhook belongs to, and once more for the whole server. All others are
//! the server's.

mod latency;
mod log;

use std::{collections::HashMap, time::Duration};

use jiff::{SignedDuration, Timestamp};

pub use self::{
    latency::{LATENCY_BOUNDS_MS, percentile},
    log::{FigureLog, NewFigure, Series, attempt_series},
};

/// What is known by the minute is kept for this long; then it is known by the hour.
pub const MINUTES_KEPT: Duration = Duration::from_hours(2 * 24);

/// What is known by the hour is kept for this long.
pub const HOURS_KEPT: Duration = Duration::from_hours(366 * 24);

/// Points in one answer: a day of minutes, two months of hours.
pub const POINTS_MAX: u32 = 1440;

pub(crate) const MINUTE_MS: i64 = 60_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Attempts to deliver, by what became of the delivery.
    Deliveries,
    /// How long attempts to deliver took.
    Latency,
    Polls,
    Pushes,
    Entries,
}

impl Metric {
    pub const ALL: [Self; 5] = [Self::Deliveries, Self::Latency, Self::Polls, Self::Pushes, Self::Entries];

    pub fn name(self) -> &'static str {
        match self {
            Self::Deliveries => "deliveries",
            Self::Latency => "latency",
            Self::Polls => "polls",
            Self::Pushes => "pushes",
            Self::Entries => "entries",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// What it is made of, in the order of [`Point::counts`]: outcomes, or how long something took.
    pub fn series(self) -> Vec<Series> {
        match self {
            Self::Deliveries => vec![Series::DELIVERED, Series::RETRIED, Series::FAILED],
            Self::Latency => Series::latencies().collect(),
            Self::Polls => vec![Series::POLLED_NEW, Series::POLLED_UNCHANGED, Series::POLL_FAILED],
            Self::Pushes => vec![Series::PUSHED_NEW, Series::PUSHED_UNCHANGED],
            Self::Entries => vec![Series::ENTRIES_NEW, Series::ENTRIES_CHANGED],
        }
    }

    /// The names of its outcomes, in the same order; none of a latency.
    pub fn outcomes(self) -> &'static [&'static str] {
        match self {
            Self::Deliveries => &["delivered", "retried", "failed"],
            Self::Latency => &[],
            Self::Polls => &["new", "unchanged", "failed"],
            Self::Pushes => &["new", "unchanged"],
            Self::Entries => &["new", "changed"],
        }
    }

    /// Whether each account has its own. What is not so is the whole server's.
    pub fn is_of_webhooks(self) -> bool {
        matches!(self, Self::Deliveries | Self::Latency)
    }
}

/// How much time a point stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FigureStep {
    Minute,
    QuarterHour,
    Hour,
}

impl FigureStep {
    pub fn minutes(self) -> i64 {
        match self {
            Self::Minute => 1,
            Self::QuarterHour => 15,
            Self::Hour => 60,
        }
    }

    /// How long what it needs is kept.
    pub fn kept(self) -> Duration {
        if self == Self::Hour { HOURS_KEPT } else { MINUTES_KEPT }
    }
}

/// Which figures are wanted: so many points, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FigureQuery {
    pub metric: Metric,
    pub step: FigureStep,
    /// The first minute, counted from 1970: one at which a step begins.
    first: i64,
    points: u32,
}

impl FigureQuery {
    /// All points from this time until now, but no earlier than is kept, and no more than [`POINTS_MAX`].
    pub fn since(metric: Metric, step: FigureStep, from: Timestamp, now: Timestamp) -> Self {
        let kept = SignedDuration::try_from(step.kept()).unwrap_or(SignedDuration::MAX);
        let oldest = now.checked_sub(kept).unwrap_or(Timestamp::MIN);
        let (first, last) = (begin(from.max(oldest), step), begin(now, step));
        let points = (last - first).div_euclid(step.minutes()) + 1;
        Self { metric, step, first, points: u32::try_from(points.max(0)).unwrap_or(POINTS_MAX).min(POINTS_MAX) }
    }

    /// So many points up to now.
    pub fn last(metric: Metric, step: FigureStep, points: u32, now: Timestamp) -> Self {
        let points = points.clamp(1, POINTS_MAX);
        let first = begin(now, step) - i64::from(points - 1) * step.minutes();
        Self { metric, step, first, points }
    }

    pub fn from(&self) -> Timestamp {
        time(self.first)
    }

    /// When its last point ends, which may be to come.
    pub fn until(&self) -> Timestamp {
        time(self.end())
    }

    /// The minutes that it needs, the last one not included.
    pub fn minutes(&self) -> (i64, i64) {
        (self.first, self.end())
    }

    /// The hours of which it needs the kept sums, the last one not included; none of less than hours.
    pub fn hours(&self) -> (i64, i64) {
        let hour = FigureStep::Hour.minutes();
        if self.step == FigureStep::Hour { (self.first / hour, self.end() / hour) } else { (0, 0) }
    }

    /// Puts together what is stored: a minute of each step, a series, and how many. There is a point for each step, also
    /// where there is nothing.
    pub fn points(&self, stored: impl IntoIterator<Item = (i64, i64, u64)>) -> Vec<Point> {
        let series = self.metric.series();
        let places: HashMap<i64, usize> = series.iter().enumerate().map(|(place, one)| (one.number(), place)).collect();
        let points = usize::try_from(self.points).unwrap_or_default();
        let mut counts = vec![vec![0_u64; series.len()]; points];
        for (minute, series, count) in stored {
            let point = usize::try_from((minute - self.first).div_euclid(self.step.minutes())).ok();
            let counts = point.and_then(|point| counts.get_mut(point));
            if let (Some(counts), Some(place)) = (counts, places.get(&series)) {
                counts[*place] = counts[*place].saturating_add(count);
            }
        }
        let at = (self.first..).step_by(usize::try_from(self.step.minutes()).unwrap_or(1));
        at.zip(counts).map(|(minute, counts)| Point { at: time(minute), counts }).collect()
    }

    fn end(&self) -> i64 {
        self.first + i64::from(self.points) * self.step.minutes()
    }
}

/// What was counted in one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub at: Timestamp,
    /// In the order of [`Metric::series`].
    pub counts: Vec<u64>,
}

impl Point {
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |total, count| total.saturating_add(*count))
    }
}

/// The minute that a time is in, counted from 1970.
pub fn minute_of(at: Timestamp) -> i64 {
    at.as_millisecond().div_euclid(MINUTE_MS)
}

/// The minute before which all are given up as minutes: a whole hour.
pub fn minutes_end(now: Timestamp) -> i64 {
    let hour = FigureStep::Hour.minutes();
    (minute_of(now) - whole_minutes(MINUTES_KEPT)).div_euclid(hour) * hour
}

/// The hour before which all are given up.
pub fn hours_end(now: Timestamp) -> i64 {
    (minute_of(now) - whole_minutes(HOURS_KEPT)).div_euclid(FigureStep::Hour.minutes())
}

fn whole_minutes(time: Duration) -> i64 {
    i64::try_from(time.as_secs() / 60).unwrap_or(i64::MAX)
}

fn begin(at: Timestamp, step: FigureStep) -> i64 {
    minute_of(at).div_euclid(step.minutes()) * step.minutes()
}

fn time(minute: i64) -> Timestamp {
    Timestamp::from_millisecond(minute.saturating_mul(MINUTE_MS)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    const NOW: &str = "2026-11-18T09:37:20Z";

    #[test]
    fn u3_windows_begin_at_whole_steps_and_are_bounded() {
        let query = |step, from: &str| {
            let query = FigureQuery::since(Metric::Polls, step, at(from), at(NOW));
            (query.from().to_string(), query.points([]).len())
        };
        for (step, from, expect) in [
            (FigureStep::Minute, "2026-11-18T09:30:59Z", ("2026-11-18T09:30:00Z", 8)),
            (FigureStep::Minute, "2026-11-18T09:37:20Z", ("2026-11-18T09:37:00Z", 1)),
            (FigureStep::QuarterHour, "2026-11-18T09:14:59Z", ("2026-11-18T09:00:00Z", 3)),
            (FigureStep::Hour, "2026-11-18T07:30:59Z", ("2026-11-18T07:00:00Z", 3)),
            // No further back than is kept, and no more than can be answered.
            (FigureStep::Minute, "1970-01-01T00:00:00Z", ("2026-11-16T09:37:00Z", 1440)),
            (FigureStep::Hour, "-009999-01-02T01:59:59Z", ("2025-11-17T09:00:00Z", 1440)),
            // What is to come is nothing yet.
            (FigureStep::Minute, "2026-11-18T09:38:00Z", ("2026-11-18T09:38:00Z", 0)),
            (FigureStep::Hour, "9999-12-30T22:00:00Z", ("9999-12-30T22:00:00Z", 0)),
        ] {
            let (from, points) = query(step, from);
            assert_eq!((from.as_str(), points), expect);
        }
        let last = FigureQuery::last(Metric::Polls, FigureStep::Minute, 60, at(NOW));
        assert_eq!((last.from(), last.until()), (at("2026-11-18T08:38:00Z"), at("2026-11-18T09:38:00Z")));
        assert_eq!(last.points([]).len(), 60);
    }

    #[test]
    fn u3_points_are_sums_of_what_is_stored() {
        let query = FigureQuery::since(Metric::Polls, FigureStep::Hour, at("2026-11-18T08:00:00Z"), at(NOW));
        let (first, _) = query.minutes();
        let (new, failed) = (Series::POLLED_NEW.number(), Series::POLL_FAILED.number());
        let stored = [
            (first, new, 3),
            (first + 59, new, 4),
            (first + 60, failed, 5),
            // Of another time, and of another metric.
            (first - 1, new, 9),
            (first + 120, new, 9),
            (first, Series::PUSHED_NEW.number(), 9),
        ];
        let counts: Vec<_> = query.points(stored).into_iter().map(|point| point.counts).collect();
        assert_eq!(counts, [vec![7, 0, 0], vec![0, 0, 5]]);
        assert_eq!(query.hours(), (first / 60, first / 60 + 2));
        assert_eq!(FigureQuery::last(Metric::Polls, FigureStep::Minute, 9, at(NOW)).hours(), (0, 0));
    }

    #[test]
    fn u3_every_series_belongs_to_one_metric_and_has_a_name() {
        let mut seen = std::collections::HashSet::new();
        for metric in Metric::ALL {
            assert_eq!(Metric::by_name(metric.name()), Some(metric));
            for series in metric.series() {
                assert!(seen.insert(series.number()), "{metric:?}");
            }
            let names = metric.outcomes().len();
            assert!(names == metric.series().len() || metric == Metric::Latency);
        }
        assert_eq!(Metric::by_name("Polls"), None);
    }

    #[test]
    fn u3_whole_hours_are_given_up_as_minutes() {
        assert_eq!(minutes_end(at(NOW)), minute_of(at("2026-11-16T09:00:00Z")));
        assert_eq!(hours_end(at(NOW)) * 60, minute_of(at("2025-11-17T09:00:00Z")));
    }
}
