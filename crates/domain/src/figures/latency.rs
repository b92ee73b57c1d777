//! How long attempts took: a histogram of a few fixed steps, so that those of many minutes and nodes can be added up.

/// Where the steps of the histogram end, in milliseconds, each included; what takes longer is in one more. What is
/// told from it is in the step of the true value: near enough to see which receiver is slow.
pub const LATENCY_BOUNDS_MS: [u64; 26] = [
    1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000,
    10_000, 15_000, 30_000,
];

/// Steps of the histogram.
pub(super) const STEPS: usize = LATENCY_BOUNDS_MS.len() + 1;

/// Which step something falls into that took so long.
pub(super) fn step_of(ms: u64) -> usize {
    LATENCY_BOUNDS_MS.partition_point(|bound| *bound < ms)
}

/// How long it took at most for so many of a thousand, in milliseconds: 500 for the median. Within a step they are taken to
/// be spread evenly; what took longer than the last bound is told as that bound. `None` of nothing.
pub fn percentile(counts: &[u64], per_mille: u64) -> Option<u64> {
    let total: u64 = counts.iter().sum();
    // The place of the one that is asked for, from 1.
    let rank = (total.saturating_mul(per_mille.min(1000)).div_ceil(1000)).max(1);
    let mut before = 0;
    for (step, count) in counts.iter().enumerate() {
        if before + count >= rank && *count > 0 {
            let (low, high) = bounds(step);
            return Some(low + (high - low) * (rank - before) / count);
        }
        before += count;
    }
    None
}

fn bounds(step: usize) -> (u64, u64) {
    let bound = |step: usize| LATENCY_BOUNDS_MS.get(step).copied();
    let low = step.checked_sub(1).and_then(bound).unwrap_or(0);
    (low, bound(step).unwrap_or(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(took_ms: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut counts = vec![0; STEPS];
        for ms in took_ms {
            counts[step_of(ms)] += 1;
        }
        counts
    }

    #[test]
    fn u3_a_step_holds_its_upper_bound() {
        for (ms, step) in
            [(0, 0), (1, 0), (2, 1), (3, 2), (4, 3), (5, 3), (6, 4), (30_000, 25), (30_001, 26), (u64::MAX, 26)]
        {
            assert_eq!(step_of(ms), step, "{ms}");
        }
    }

    #[test]
    fn u3_percentiles_are_near_the_truth() {
        for (took, per_mille, expect) in [
            (vec![], 500, None),
            (vec![0], 500, Some(1)),
            (vec![20], 990, Some(20)),
            (vec![20, 20, 20, 900], 500, Some(18)),
            (vec![20, 20, 20, 900], 990, Some(1_000)),
            (vec![60_000], 500, Some(30_000)),
            ((1..=100).collect(), 500, Some(50)),
            ((1..=100).collect(), 990, Some(99)),
            ((1..=100).collect(), 1000, Some(100)),
            ((1..=1000).collect(), 500, Some(500)),
            ((1..=1000).collect(), 0, Some(1)),
        ] {
            assert_eq!(percentile(&histogram(took.iter().copied()), per_mille), expect, "{per_mille} of {took:?}");
        }
    }

    #[test]
    fn u3_percentiles_are_in_the_step_of_the_truth() {
        for scale in [1, 7, 33, 240] {
            let took: Vec<u64> = (1..=100).map(|number| number * scale).collect();
            for (per_mille, truth) in [(500, 50 * scale), (990, 99 * scale)] {
                let told = percentile(&histogram(took.iter().copied()), per_mille).unwrap();
                assert_eq!(step_of(told), step_of(truth), "{told} for {truth}");
            }
        }
    }
}
