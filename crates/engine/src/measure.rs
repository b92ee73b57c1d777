//! What is measured, by name: the numbers behind `/metrics`.

use domain::push::{Event, Mode};
use jiff::SignedDuration;

use crate::{poll::PollEnd, push::PushAnswer};

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

/// A push, or what it brought, was stored.
pub(crate) fn brought(new: u32, changed: u32) {
    metrics::counter!("pirssonite_entries_total", "kind" => "new").increment(u64::from(new));
    metrics::counter!("pirssonite_entries_total", "kind" => "changed").increment(u64::from(changed));
}

/// A push was answered.
pub(crate) fn pushed(answer: &PushAnswer) {
    let outcome = match answer {
        PushAnswer::Stored => "stored",
        PushAnswer::NotActive => "not_active",
        PushAnswer::NoFeed => "no_feed",
        PushAnswer::Unsigned(_) => "unsigned",
        PushAnswer::NotAFeed(_) => "not_a_feed",
    };
    metrics::counter!("pirssonite_pushes_total", "outcome" => outcome).increment(1);
}

/// A push was not even read, because there are too many of its kind, or it is too large.
pub(crate) fn push_refused(outcome: &'static str) {
    metrics::counter!("pirssonite_pushes_total", "outcome" => outcome).increment(1);
}

/// A hub was asked, and has accepted or not.
pub(crate) fn hub_asked(mode: Mode, is_accepted: bool) {
    let outcome = if is_accepted { "accepted" } else { "failed" };
    metrics::counter!("pirssonite_hub_requests_total", "mode" => mode.name(), "outcome" => outcome).increment(1);
}

/// A hub asked whether something is wanted, or said no.
pub(crate) fn hub_verified(event: &Event, is_wanted: bool) {
    let mode = match event {
        Event::Verified { mode, .. } => mode.name(),
        _ => "denied",
    };
    let outcome = if is_wanted { "confirmed" } else { "not_wanted" };
    metrics::counter!("pirssonite_hub_verifications_total", "mode" => mode, "outcome" => outcome).increment(1);
}

/// A subscription changed its state.
pub(crate) fn subscription_became(state: &'static str) {
    metrics::counter!("pirssonite_subscription_changes_total", "to" => state).increment(1);
}

/// So many entries were pruned.
pub(crate) fn pruned(entries: u64) {
    metrics::counter!("pirssonite_entries_pruned_total").increment(entries);
}
