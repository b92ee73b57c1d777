//! How many deliveries of a webhook a worker could claim now: what the overview calls ready.

use jiff::Timestamp;

use super::circuit::{Circuit, circuit};

/// Of an enabled webhook with so many deliveries that are due and not leased, and so many that are leased. While its
/// breaker is open one probe can be claimed: once its time has come, and if nothing is being sent.
pub fn claimable(
    due: u64,
    in_flight: u64,
    consecutive_failures: u32,
    probe_at: Option<Timestamp>,
    now: Timestamp,
) -> u64 {
    match circuit(consecutive_failures) {
        Circuit::Whole => due,
        Circuit::Broken if in_flight > 0 || probe_at.is_some_and(|at| at > now) => 0,
        Circuit::Broken => due.min(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::BROKEN_AFTER;

    #[test]
    fn d10_ready_is_what_a_worker_could_claim() {
        let at = |second| Some(Timestamp::from_second(second).unwrap());
        let now = Timestamp::from_second(100).unwrap();
        for (due, in_flight, failures, probe_at, expect) in [
            (0, 0, 0, None, 0),
            (5, 0, 0, None, 5),
            (5, 3, 9, at(200), 5),
            (5, 0, BROKEN_AFTER, at(101), 0),
            (5, 0, BROKEN_AFTER, at(100), 1),
            (5, 0, BROKEN_AFTER, None, 1),
            (5, 1, BROKEN_AFTER, at(100), 0),
            (0, 0, BROKEN_AFTER, at(100), 0),
        ] {
            assert_eq!(claimable(due, in_flight, failures, probe_at, now), expect, "{due} {in_flight} {failures}");
        }
    }
}
