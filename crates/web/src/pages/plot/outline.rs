//! Scales, and the outlines that are drawn on them, in whole numbers.

use std::fmt::Write;

use domain::figures::Point;

use super::PlotSpan;

/// The inner size of a drawing: a step is so wide, and a plot so high. It is stretched to its place on the page.
pub(super) const STEP_WIDTH: usize = 10;
pub(super) const HEIGHT: u64 = 1000;
const GAP: usize = 1;

pub(super) fn rate(count: u64, span: PlotSpan) -> u64 {
    count.saturating_mul(1000) / span.minutes()
}

/// The next of 1, 2, 3, 5, 10, 20 and so on.
pub(super) fn round_up(value: u64) -> u64 {
    let mut unit: u64 = 1;
    loop {
        for step in [1, 2, 3, 5] {
            let rounded = unit.saturating_mul(step);
            if rounded >= value || rounded == u64::MAX {
                return rounded;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// Thousandths as a decimal number, no longer than it has to be.
pub(super) fn decimal(thousandths: u64) -> String {
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    if rest == 0 || whole >= 100 {
        return whole.to_string();
    }
    format!("{whole}.{rest:03}").trim_end_matches('0').to_owned()
}

/// So many milliseconds, in few digits.
pub(super) fn millis(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{} s", decimal(ms)) }
}

fn height(value: u64, top: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(HEIGHT) / u128::from(top.max(1))).unwrap_or(HEIGHT).min(HEIGHT)
}

/// The columns of one outcome, upon those of the outcomes before it.
pub(super) fn columns(points: &[Point], place: usize, span: PlotSpan, top: u64) -> String {
    let columns = points.iter().enumerate().filter(|(_, point)| point.counts[place] > 0).map(|(index, point)| {
        let below: u64 = point.counts[..place].iter().sum();
        let (from, to) = (height(rate(below, span), top), height(rate(below + point.counts[place], span), top));
        // What is there is seen, however little it is.
        let (y, high) = (HEIGHT - to.max(from + 8).min(HEIGHT), to.max(from + 8).min(HEIGHT) - from);
        let (x, wide) = (index * STEP_WIDTH + GAP, STEP_WIDTH - 2 * GAP);
        format!("M{x} {y}h{wide}v{high}h-{wide}z")
    });
    columns.collect()
}

/// A line in steps, which ends where there is nothing to tell.
pub(super) fn line(values: &[Option<u64>], top: u64) -> String {
    let mut outline = String::new();
    let mut is_drawing = false;
    for (index, value) in values.iter().enumerate() {
        let Some(value) = value else {
            is_drawing = false;
            continue;
        };
        let (x, y) = (index * STEP_WIDTH, HEIGHT - height(*value, top));
        let _ = if is_drawing { write!(outline, "V{y}") } else { write!(outline, "M{x} {y}") };
        let _ = write!(outline, "h{STEP_WIDTH}");
        is_drawing = true;
    }
    outline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u3_scales_are_round_and_told_in_few_digits() {
        for (value, top, told) in
            [(0, 1, "0"), (1, 1, "0.001"), (67, 100, "0.067"), (1000, 1000, "1"), (1500, 2000, "1.5")]
        {
            assert_eq!((round_up(value), decimal(value).as_str()), (top, told));
        }
        assert_eq!((round_up(u64::MAX), decimal(123_456).as_str()), (u64::MAX, "123"));
        assert_eq!([999, 1000, 1250].map(millis), ["999 ms", "1 s", "1.25 s"]);
    }

    #[test]
    fn u3_lines_have_gaps_where_there_is_nothing() {
        assert_eq!(line(&[Some(5), None, Some(10), Some(0)], 10), "M0 500h10M20 0h10V1000h10");
    }
}
