//! What is measured, by name: the numbers behind `/metrics`.

use std::time::Duration;

use domain::{
    delivery::{Overview, Verdict},
    push::{Event, Mode},
};
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

/// Deliveries begin: what has not happened yet has happened no times.
pub(crate) fn begin_deliveries() {
    for outcome in ["delivered", "retry", "failed", "gone"] {
        metrics::counter!("pirssonite_delivery_attempts_total", "outcome" => outcome).increment(0);
    }
    for outcome in ["stored", "skipped"] {
        metrics::counter!("pirssonite_delivery_marks_total", "outcome" => outcome).increment(0);
    }
    for outcome in ["renewed", "failed"] {
        metrics::counter!("pirssonite_delivery_beats_total", "outcome" => outcome).increment(0);
    }
    metrics::counter!("pirssonite_delivery_leases_lost_total").increment(0);
}

/// So many deliveries are being sent, and so many wait for their turn.
pub(crate) fn deliveries_held(sending: u32, waiting: u32) {
    metrics::gauge!("pirssonite_deliveries_sending").set(f64::from(sending));
    metrics::gauge!("pirssonite_deliveries_waiting").set(f64::from(waiting));
}

/// An attempt of a delivery ended, and took so long.
pub(crate) fn attempted(verdict: Verdict, took: Duration) {
    let outcome = match verdict {
        Verdict::Delivered => "delivered",
        Verdict::Retry(_) => "retry",
        Verdict::Failed => "failed",
        Verdict::Gone => "gone",
    };
    metrics::counter!("pirssonite_delivery_attempts_total", "outcome" => outcome).increment(1);
    metrics::histogram!("pirssonite_delivery_attempt_duration_seconds").record(took.as_secs_f64());
}

/// So long after it happened an event arrived at a webhook.
pub(crate) fn delivered_after(latency: SignedDuration) {
    metrics::histogram!("pirssonite_delivery_latency_seconds").record(latency.as_secs_f64().max(0.0));
}

/// So many marks were stored, and so many came too late.
pub(crate) fn marked(stored: usize, skipped: usize) {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    metrics::counter!("pirssonite_delivery_marks_total", "outcome" => "stored").increment(count(stored));
    metrics::counter!("pirssonite_delivery_marks_total", "outcome" => "skipped").increment(count(skipped));
}

/// A beat of the deliveries worked or failed.
pub(crate) fn beat(outcome: &'static str) {
    metrics::counter!("pirssonite_delivery_beats_total", "outcome" => outcome).increment(1);
}

/// The lease of a delivery was lost.
pub(crate) fn lease_lost() {
    metrics::counter!("pirssonite_delivery_leases_lost_total").increment(1);
}

/// How the outbox stands.
pub(crate) fn outbox(overview: &Overview) {
    let number = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    metrics::gauge!("pirssonite_outbox_pending").set(number(overview.pending));
    metrics::gauge!("pirssonite_outbox_ready").set(number(overview.ready));
    metrics::gauge!("pirssonite_outbox_in_flight").set(number(overview.in_flight));
    metrics::gauge!("pirssonite_outbox_failed").set(number(overview.failed));
    metrics::gauge!("pirssonite_outbox_oldest_pending_seconds").set(number(overview.oldest_pending_age.unwrap_or(0)));
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
