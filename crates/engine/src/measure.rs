//! What is measured, by name: the numbers behind `/metrics`.

use jiff::SignedDuration;

use crate::poll::PollEnd;

/// A poll ended.
pub(crate) fn ended(end: PollEnd) {
    let outcome = match end {
        PollEnd::Fetched { .. } => "fetched",
        PollEnd::Unchanged => "unchanged",
        PollEnd::Failed => "failed",
        PollEnd::GivenBack => "given_back",
    };
    metrics::counter!("pirssonite_polls_total", "outcome" => outcome).increment(1);
    if let PollEnd::Fetched { new, changed } = end {
        metrics::counter!("pirssonite_entries_total", "kind" => "new").increment(u64::from(new));
        metrics::counter!("pirssonite_entries_total", "kind" => "changed").increment(u64::from(changed));
    }
}

/// A poll took so long, from its first request to its result.
pub(crate) fn took(duration: SignedDuration) {
    metrics::histogram!("pirssonite_poll_duration_seconds").record(duration.as_secs_f64());
}

/// A feed waited so long from its claim to its first request.
pub(crate) fn waited(duration: SignedDuration) {
    metrics::histogram!("pirssonite_poll_wait_seconds").record(duration.as_secs_f64().max(0.0));
}

/// So many feeds are claimed, and so many of them wait for their hosts.
pub(crate) fn holds(claimed: usize, waiting: usize) {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    metrics::gauge!("pirssonite_polls_claimed").set(number(claimed));
    metrics::gauge!("pirssonite_polls_waiting_for_hosts").set(number(waiting));
}

/// So many entries were pruned.
pub(crate) fn pruned(entries: u64) {
    metrics::counter!("pirssonite_entries_pruned_total").increment(entries);
}
