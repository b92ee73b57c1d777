//! Plots, drawn by the server as SVG: how many of what happened, stacked by outcome, and how long attempts took.
//!
//! Colours are classes of the style, so a plot is right in both themes. What a plot shows is told in words as well: its title
//! and description, the sums in its legend, and a table behind it.

mod outline;
mod span;

use domain::{
    figures::{Metric, Point, percentile},
    ports::Viewer,
};
use jiff::Timestamp;
use maud::{Markup, html};

use self::outline::{HEIGHT, STEP_WIDTH, columns, decimal, line, millis, rate, round_up};
pub(super) use self::span::PlotSpan;
use crate::{error::ApiResult, state::AppState};

/// What a plot shows, of what somebody may see.
pub(super) async fn load(state: &AppState, viewer: Viewer, metric: Metric, span: PlotSpan) -> ApiResult<Vec<Point>> {
    Ok(state.store().figures(viewer, span.query(metric, state.engine.now())).await?)
}

/// What is drawn, whatever it shows.
struct Plot {
    id: &'static str,
    title: String,
    description: String,
    /// Beside the plot, from above.
    scale: [String; 3],
    paths: Vec<(&'static str, String)>,
    steps: usize,
    /// Class, name, and what it comes to.
    legend: Vec<(&'static str, &'static str, String)>,
    /// The heads of the columns after the time, and the rows in which there is something.
    heads: Vec<&'static str>,
    rows: Vec<(Timestamp, Vec<String>)>,
}

/// How many of what happened a minute, by outcome.
pub(super) fn outcomes(id: &'static str, metric: Metric, span: PlotSpan, points: &[Point]) -> Markup {
    let what = words(metric);
    let names = metric.outcomes();
    let classes = classes(metric);
    let most = points.iter().map(Point::total).max().unwrap_or_default();
    // In thousandths, because few in an hour are less than one a minute.
    let top = round_up(rate(most, span));
    let sum = |place: usize| points.iter().map(|point| point.counts[place]).sum::<u64>();
    let legend: Vec<_> = (0..names.len()).map(|place| (classes[place], names[place], sum(place).to_string())).collect();
    let told: Vec<String> = legend.iter().map(|(_, name, sum)| format!("{name}: {sum}")).collect();
    let plot = Plot {
        id,
        title: format!("{what} a minute"),
        description: format!(
            "Over the last {}: {}. At most {} a minute.",
            span.name(),
            told.join(", "),
            decimal(rate(most, span))
        ),
        scale: [top, top / 2, 0].map(decimal),
        paths: (0..names.len()).map(|place| (classes[place], columns(points, place, span, top))).collect(),
        steps: points.len(),
        legend,
        heads: names.to_vec(),
        rows: rows(points, |point| point.counts.iter().map(ToString::to_string).collect()),
    };
    plot.drawn(span, most == 0)
}

/// How long attempts took: half of them no longer than the median, 99 of 100 no longer than the other.
pub(super) fn latency(id: &'static str, span: PlotSpan, points: &[Point]) -> Markup {
    let of = |per_mille| points.iter().map(move |point| percentile(&point.counts, per_mille)).collect::<Vec<_>>();
    let (medians, highs) = (of(500), of(990));
    let most = highs.iter().chain(&medians).flatten().copied().max().unwrap_or_default();
    let top = round_up(most.max(2));
    let all: Vec<u64> = (0..points.first().map_or(0, |point| point.counts.len()))
        .map(|step| points.iter().map(|point| point.counts[step]).sum())
        .collect();
    let told = |per_mille| percentile(&all, per_mille).map_or("none".to_owned(), millis);
    let plot = Plot {
        id,
        title: "Latency of attempts".to_owned(),
        description: format!(
            "Over the last {}: half of all attempts took no longer than {}, 99 of 100 no longer than {}.",
            span.name(),
            told(500),
            told(990)
        ),
        scale: [top, top / 2, 0].map(millis),
        paths: vec![("line fair", line(&highs, top)), ("line good", line(&medians, top))],
        steps: points.len(),
        legend: vec![("good", "median", told(500)), ("fair", "99th percentile", told(990))],
        heads: vec!["attempts", "median", "99th percentile"],
        rows: rows(points, |point| {
            let of = |per_mille| percentile(&point.counts, per_mille).map_or("none".to_owned(), millis);
            vec![point.total().to_string(), of(500), of(990)]
        }),
    };
    plot.drawn(span, most == 0)
}

impl Plot {
    fn drawn(&self, span: PlotSpan, is_empty: bool) -> Markup {
        let Self { id, title, description, scale, paths, steps, legend, .. } = self;
        let (width, middle) = (steps * STEP_WIDTH, HEIGHT / 2);
        html! {
            figure .plot id=(id) {
                figcaption { (title) }
                @if is_empty {
                    p .note { "Nothing in this time." }
                } @else {
                    div .axis .y aria-hidden="true" { @for label in scale { span { (label) } } }
                    svg role="img" aria-labelledby=(format!("{id}-title")) aria-describedby=(format!("{id}-words")) viewBox=(format!("0 0 {width} {HEIGHT}")) preserveAspectRatio="none" {
                        title id=(format!("{id}-title")) { (title) }
                        desc id=(format!("{id}-words")) { (description) }
                        path .grid d=(format!("M0 {middle}H{width}")) {}
                        @for (class, outline) in paths { path class=(class) d=(outline) {} }
                    }
                    div .axis .x aria-hidden="true" { @for label in span.axis() { span { (label) } } }
                    ul .legend {
                        @for (class, name, sum) in legend {
                            li { svg viewBox="0 0 10 10" aria-hidden="true" { rect .(class) width="10" height="10" rx="3" {} } (name) " " strong { (sum) } }
                        }
                    }
                    (self.table(span))
                }
            }
        }
    }

    fn table(&self, span: PlotSpan) -> Markup {
        html! {
            details {
                summary { "As a table" span .sr { ": " (self.title) } }
                div .wide tabindex="0" role="group" aria-label=(format!("{}, as a table", self.title)) {
                    table {
                        thead { tr { th scope="col" { "From (UTC)" } @for head in &self.heads { th scope="col" .number { (head) } } } }
                        tbody { @for (at, cells) in &self.rows {
                            tr { th scope="row" { time datetime=(at) { (span.clock(*at)) } } @for cell in cells { td .number { (cell) } } }
                        } }
                    }
                }
                p .note { "Each row is a " (span.step()) ". There was nothing in those that are not listed." }
            }
        }
    }
}

fn words(metric: Metric) -> &'static str {
    match metric {
        Metric::Deliveries => "Deliveries",
        Metric::Latency => "Latencies",
        Metric::Polls => "Polls",
        Metric::Pushes => "Pushes",
        Metric::Entries => "Entries",
    }
}

/// How good an outcome is, in the order of outcomes.
fn classes(metric: Metric) -> &'static [&'static str] {
    match metric {
        Metric::Deliveries => &["good", "fair", "bad"],
        Metric::Polls => &["good", "calm", "bad"],
        Metric::Latency | Metric::Pushes | Metric::Entries => &["good", "calm"],
    }
}

fn rows(points: &[Point], cells: impl Fn(&Point) -> Vec<String>) -> Vec<(Timestamp, Vec<String>)> {
    points.iter().filter(|point| point.total() > 0).map(|point| (point.at, cells(point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(metric: Metric, counts: &[&[u64]]) -> Vec<Point> {
        let now: Timestamp = "2026-11-18T09:37:20Z".parse().unwrap();
        let mut points = PlotSpan::Hour.query(metric, now).points([]);
        let begin = points.len() - counts.len();
        for (point, given) in points[begin..].iter_mut().zip(counts) {
            point.counts[..given.len()].copy_from_slice(given);
        }
        points
    }

    #[test]
    fn u3_outcomes_are_stacked() {
        let points = points(Metric::Deliveries, &[&[3, 1, 1], &[0, 0, 0], &[5, 0, 0]]);
        let drawn = outcomes("plot", Metric::Deliveries, PlotSpan::Hour, &points).into_string();
        // Five a minute are the top: three fifths, and a fifth on each.
        for column in [
            "class=\"good\" d=\"M571 400h8v600h-8zM591 0h8v1000h-8z\"",
            "d=\"M571 200h8v200h-8z\"",
            "d=\"M571 0h8v200h-8z\"",
        ] {
            assert!(drawn.contains(column), "{column}: {drawn}");
        }
        assert!(drawn.contains("delivered: 8, retried: 1, failed: 1. At most 5 a minute."), "{drawn}");
        assert_eq!(drawn.matches("scope=\"row\"").count(), 2, "{drawn}");
        assert!(drawn.contains("<time datetime=\"2026-11-18T09:35:00Z\">09:35</time>"), "{drawn}");
    }

    #[test]
    fn u3_latency_is_told_in_words() {
        let drawn =
            latency("plot", PlotSpan::Hour, &points(Metric::Latency, &[&[0, 0, 0, 0, 0, 0, 0, 10]])).into_string();
        assert!(drawn.contains("median <strong>17 ms</strong>"), "{drawn}");
    }

    #[test]
    fn u3_a_plot_of_nothing_says_so() {
        for drawn in [
            outcomes("plot", Metric::Polls, PlotSpan::Hour, &points(Metric::Polls, &[])),
            latency("plot", PlotSpan::Hour, &points(Metric::Latency, &[])),
        ] {
            assert!(drawn.into_string().contains("Nothing in this time."));
        }
    }
}
