//! How much time plots show: a part of the address, so that it can be kept.

use domain::figures::{FigureQuery, FigureStep, Metric};
use jiff::{Timestamp, tz::TimeZone};
use maud::{Markup, html};

use super::super::view::with_query;
use crate::query::Parameters;

/// How much time a plot shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlotSpan {
    Hour,
    Day,
    Week,
}

impl PlotSpan {
    const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// What an address asks for; an hour, unless it says otherwise.
    pub(crate) fn of(query: Option<&str>) -> Self {
        let name = Parameters::of(query).text("span").ok().flatten();
        Self::ALL.into_iter().find(|span| name.as_deref() == Some(span.name())).unwrap_or(Self::Hour)
    }

    pub(crate) fn query(self, metric: Metric, now: Timestamp) -> FigureQuery {
        let (step, points) = match self {
            Self::Hour => (FigureStep::Minute, 60),
            Self::Day => (FigureStep::QuarterHour, 96),
            Self::Week => (FigureStep::Hour, 168),
        };
        FigureQuery::last(metric, step, points, now)
    }

    /// The pages of the same plots over other times.
    pub(crate) fn links(self, path: &str) -> Markup {
        html! {
            nav .tabs aria-label="Time that the plots show" {
                @for span in Self::ALL {
                    a href=(with_query(path.to_owned(), &[("span", span.name())])) aria-current=[(span == self).then_some("page")] { (span.label()) }
                }
            }
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Hour => "Hour",
            Self::Day => "Day",
            Self::Week => "Week",
        }
    }

    pub(super) fn minutes(self) -> u64 {
        match self {
            Self::Hour => 1,
            Self::Day => 15,
            Self::Week => 60,
        }
    }

    /// What a point stands for.
    pub(super) fn step(self) -> &'static str {
        match self {
            Self::Hour => "minute",
            Self::Day => "quarter of an hour",
            Self::Week => "hour",
        }
    }

    /// Below the plot, from left to right.
    pub(super) fn axis(self) -> [&'static str; 3] {
        match self {
            Self::Hour => ["1 h ago", "30 min ago", "now"],
            Self::Day => ["24 h ago", "12 h ago", "now"],
            Self::Week => ["7 d ago", "3.5 d ago", "now"],
        }
    }

    pub(super) fn clock(self, at: Timestamp) -> String {
        let form = if self == Self::Hour { "%H:%M" } else { "%-d %b %H:%M" };
        at.to_zoned(TimeZone::UTC).strftime(form).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u3_the_time_shown_is_in_the_address() {
        assert_eq!(PlotSpan::of(Some("done=saved&span=week")), PlotSpan::Week);
        for other in [None, Some("span=year"), Some("span=day&span=day"), Some("")] {
            assert_eq!(PlotSpan::of(other), PlotSpan::Hour);
        }
        assert!(
            PlotSpan::Day
                .links("/push")
                .into_string()
                .contains("<a href=\"/push?span=day\" aria-current=\"page\">Day</a>")
        );
    }
}
