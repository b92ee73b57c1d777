//! What is measured, by name: the numbers behind `/metrics`.

use std::time::Duration;

use domain::{
    delivery::{Overview, Verdict},
    overview::FeedOverview,
    push::{Mode, SubscriptionEvent, SubscriptionState},
};
use jiff::SignedDuration;
use tokio::time::Instant;

use crate::{poll::PollEnd, push::PushAnswer};

const POLLS: &str = "pirssonite_polls_total";
const ENTRIES: &str = "pirssonite_entries_total";
const PUSHES: &str = "pirssonite_pushes_total";
const HUB_REQUESTS: &str = "pirssonite_hub_requests_total";
const HUB_VERIFICATIONS: &str = "pirssonite_hub_verifications_total";
const SUBSCRIPTION_CHANGES: &str = "pirssonite_subscription_changes_total";
const ATTEMPTS: &str = "pirssonite_delivery_attempts_total";
const MARKS: &str = "pirssonite_delivery_marks_total";
const BEATS: &str = "pirssonite_delivery_beats_total";

const STORE_DURATION: &str = "pirssonite_store_duration_seconds";

/// What the store is asked, as the label `operation` of how long it took.
const STORE_OPERATIONS: [&str; 12] = [
    "claim_polls",
    "renew_polls",
    "known_entries",
    "finish_polls",
    "push",
    "claim_subscriptions",
    "change_subscription",
    "claim_deliveries",
    "renew_deliveries",
    "mark_deliveries",
    "overview",
    "outbox_overview",
];

/// Every counter, with what it counts.
const COUNTER_HELP: [(&str, &str); 11] = [
    (POLLS, "Polls that ended, by outcome."),
    (ENTRIES, "Entries that were stored, new or changed."),
    (PUSHES, "Pushes of hubs, by outcome."),
    (HUB_REQUESTS, "Requests to hubs, by mode and outcome."),
    (HUB_VERIFICATIONS, "Verifications and denials by hubs, by mode and outcome."),
    (SUBSCRIPTION_CHANGES, "Changes of subscriptions, by the state they came to."),
    (ATTEMPTS, "Attempts to deliver an event to a webhook, by outcome."),
    (MARKS, "Results of attempts, stored or skipped because the lease was lost."),
    (BEATS, "Renewals of the leases of deliveries, by outcome."),
    ("pirssonite_entries_pruned_total", "Entries that were pruned."),
    ("pirssonite_delivery_leases_lost_total", "Leases of deliveries that were lost to another worker."),
];

/// Every gauge, with what it shows.
const GAUGE_HELP: [(&str, &str); 18] = [
    ("pirssonite_feeds", "Feeds in all."),
    ("pirssonite_feeds_due", "Feeds that are due for a poll."),
    ("pirssonite_feeds_failing", "Feeds whose last poll failed, without those that are gone."),
    ("pirssonite_feeds_pushed", "Feeds that a hub is trusted to push."),
    ("pirssonite_feeds_gone", "Feeds that are gone and not polled any more."),
    ("pirssonite_subscriptions", "Subscriptions at hubs, by state."),
    (
        "pirssonite_subscription_lease_left_seconds",
        "Time left of the active lease that ends first; NaN if there is none.",
    ),
    ("pirssonite_outage", "1 while an outage of this machine keeps it from polling, else 0."),
    ("pirssonite_polls_claimed", "Feeds that this node has claimed."),
    ("pirssonite_polls_waiting_for_hosts", "Of those, feeds that wait for their turn at their host."),
    ("pirssonite_polls_slow", "Polls that wait for slow servers without a slot."),
    ("pirssonite_deliveries_sending", "Deliveries that this node is sending."),
    ("pirssonite_deliveries_waiting", "Deliveries that this node has claimed and not begun."),
    ("pirssonite_outbox_pending", "Deliveries that are not made yet."),
    (
        "pirssonite_outbox_ready",
        "Of those, deliveries that are due and free, to webhooks that are sent to, at whatever rate.",
    ),
    ("pirssonite_outbox_in_flight", "Of those, deliveries that a worker has claimed."),
    ("pirssonite_outbox_failed", "Deliveries that were given up."),
    ("pirssonite_outbox_oldest_pending_seconds", "Age of the oldest delivery that is not made yet."),
];

/// Every histogram, with what it measures.
const HISTOGRAM_HELP: [(&str, &str); 5] = [
    ("pirssonite_poll_duration_seconds", "How long polls took, from the request to the result."),
    ("pirssonite_poll_wait_seconds", "How long feeds waited from their claim to the request."),
    ("pirssonite_delivery_attempt_duration_seconds", "How long attempts to deliver took."),
    ("pirssonite_delivery_latency_seconds", "How long after it happened an event arrived at a webhook."),
    (STORE_DURATION, "How long the store took, by operation."),
];

/// Every counter with one label, and all values that the label has.
const COUNTERS: [(&str, &str, &[&str]); 7] = [
    (POLLS, "outcome", &["fetched", "unchanged", "failed", "outage", "released"]),
    (ENTRIES, "kind", &["new", "changed"]),
    (
        PUSHES,
        "outcome",
        &["stored", "not_active", "no_feed", "unsigned", "not_a_feed", "too_many", "too_large", "not_read"],
    ),
    (SUBSCRIPTION_CHANGES, "to", &["pending", "active", "inactive", "unsubscribing", "gone"]),
    (ATTEMPTS, "outcome", &["delivered", "retry", "failed", "gone"]),
    (MARKS, "outcome", &["stored", "skipped"]),
    (BEATS, "outcome", &["renewed", "failed"]),
];

/// Every counter of hubs, and all values of its labels `mode` and `outcome`.
const HUB_COUNTERS: [(&str, &[&str], &[&str]); 2] = [
    (HUB_REQUESTS, &["subscribe", "unsubscribe"], &["accepted", "failed"]),
    (HUB_VERIFICATIONS, &["subscribe", "unsubscribe", "denied"], &["confirmed", "not_wanted"]),
];

/// Makes every counter and histogram appear in `/metrics` before anything is counted: what has not happened yet has
/// happened no times, and an alert on an increase sees the first.
///
/// Gauges are left to those who measure them: a node that does not deliver knows nothing of the outbox.
pub fn register_metrics() {
    for (name, help) in COUNTER_HELP {
        metrics::describe_counter!(name, help);
    }
    for (name, help) in GAUGE_HELP {
        metrics::describe_gauge!(name, help);
    }
    for (name, help) in HISTOGRAM_HELP {
        metrics::describe_histogram!(name, help);
    }
    for operation in STORE_OPERATIONS {
        drop(metrics::histogram!(STORE_DURATION, "operation" => operation));
    }
    for (name, label, values) in COUNTERS {
        for value in values {
            metrics::counter!(name, label => *value).increment(0);
        }
    }
    for (name, modes, outcomes) in HUB_COUNTERS {
        for (mode, outcome) in modes.iter().flat_map(|mode| outcomes.iter().map(move |outcome| (*mode, *outcome))) {
            metrics::counter!(name, "mode" => mode, "outcome" => outcome).increment(0);
        }
    }
    metrics::counter!("pirssonite_entries_pruned_total").increment(0);
    metrics::counter!("pirssonite_delivery_leases_lost_total").increment(0);
    // A histogram is there once it has been named.
    drop(metrics::histogram!("pirssonite_poll_duration_seconds"));
    drop(metrics::histogram!("pirssonite_poll_wait_seconds"));
    drop(metrics::histogram!("pirssonite_delivery_attempt_duration_seconds"));
    drop(metrics::histogram!("pirssonite_delivery_latency_seconds"));
}

pub(crate) fn ended(end: PollEnd) {
    metrics::counter!(POLLS, "outcome" => poll_outcome(end)).increment(1);
    if let PollEnd::Fetched { new, changed } = end {
        metrics::counter!(ENTRIES, "kind" => "new").increment(u64::from(new));
        metrics::counter!(ENTRIES, "kind" => "changed").increment(u64::from(changed));
    }
}

fn poll_outcome(end: PollEnd) -> &'static str {
    match end {
        PollEnd::Fetched { .. } => "fetched",
        PollEnd::Unchanged => "unchanged",
        PollEnd::Failed => "failed",
        PollEnd::Outage => "outage",
        PollEnd::Released => "released",
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

/// So many feeds are claimed, so many of them wait for their hosts, and so many for slow servers.
pub(crate) fn holds(claimed: usize, waiting: usize, slow: usize) {
    metrics::gauge!("pirssonite_polls_slow").set(usize_to_f64(slow));
    metrics::gauge!("pirssonite_polls_claimed").set(usize_to_f64(claimed));
    metrics::gauge!("pirssonite_polls_waiting_for_hosts").set(usize_to_f64(waiting));
}

/// Asks the store for something, and measures how long that takes.
pub(crate) async fn store<T>(operation: &'static str, asked: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let answer = asked.await;
    metrics::histogram!(STORE_DURATION, "operation" => operation).record(begun.elapsed().as_secs_f64());
    answer
}

/// How feeds and subscriptions stand.
pub(crate) fn feeds(overview: &FeedOverview) {
    let u64_to_f64 = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    metrics::gauge!("pirssonite_feeds").set(u64_to_f64(overview.all));
    metrics::gauge!("pirssonite_feeds_due").set(u64_to_f64(overview.due));
    metrics::gauge!("pirssonite_feeds_failing").set(u64_to_f64(overview.failing));
    metrics::gauge!("pirssonite_feeds_pushed").set(u64_to_f64(overview.pushed));
    metrics::gauge!("pirssonite_feeds_gone").set(u64_to_f64(overview.gone));
    for state in SubscriptionState::ALL {
        let count = overview.subscriptions.iter().find(|(known, _)| *known == state).map_or(0, |(_, count)| *count);
        metrics::gauge!("pirssonite_subscriptions", "state" => state.name()).set(u64_to_f64(count));
    }
    // No lease at all is not one that has ended.
    let left = overview.lease_left_min.map_or(f64::NAN, |left| left.as_secs_f64());
    metrics::gauge!("pirssonite_subscription_lease_left_seconds").set(left);
}

/// An outage of ours began or ended.
pub(crate) fn outage(is_on: bool) {
    metrics::gauge!("pirssonite_outage").set(if is_on { 1.0 } else { 0.0 });
}

/// A push, or what it brought, was stored.
pub(crate) fn brought(new: u32, changed: u32) {
    metrics::counter!(ENTRIES, "kind" => "new").increment(u64::from(new));
    metrics::counter!(ENTRIES, "kind" => "changed").increment(u64::from(changed));
}

/// A push was answered.
pub(crate) fn pushed(answer: &PushAnswer) {
    metrics::counter!(PUSHES, "outcome" => push_outcome(answer)).increment(1);
}

fn push_outcome(answer: &PushAnswer) -> &'static str {
    match answer {
        PushAnswer::Stored => "stored",
        PushAnswer::NotActive => "not_active",
        PushAnswer::NoFeed => "no_feed",
        PushAnswer::Unsigned(_) => "unsigned",
        PushAnswer::NotAFeed(_) => "not_a_feed",
        PushAnswer::TooMany => "too_many",
    }
}

/// A push was not even read, because there are too many of its kind, or it is too large.
pub(crate) fn push_refused(outcome: &'static str) {
    metrics::counter!(PUSHES, "outcome" => outcome).increment(1);
}

/// A hub was asked, and has accepted or not.
pub(crate) fn hub_asked(mode: Mode, is_accepted: bool) {
    let outcome = if is_accepted { "accepted" } else { "failed" };
    metrics::counter!(HUB_REQUESTS, "mode" => mode.name(), "outcome" => outcome).increment(1);
}

/// A hub asked whether something is wanted, or said no.
pub(crate) fn hub_verified(event: &SubscriptionEvent, is_wanted: bool) {
    let mode = match event {
        SubscriptionEvent::Verified { mode, .. } => mode.name(),
        _ => "denied",
    };
    let outcome = if is_wanted { "confirmed" } else { "not_wanted" };
    metrics::counter!(HUB_VERIFICATIONS, "mode" => mode, "outcome" => outcome).increment(1);
}

/// A subscription changed its state.
pub(crate) fn subscription_became(state: &'static str) {
    metrics::counter!(SUBSCRIPTION_CHANGES, "to" => state).increment(1);
}

/// So many entries were pruned.
pub(crate) fn pruned(entries: u64) {
    metrics::counter!("pirssonite_entries_pruned_total").increment(entries);
}

/// So many deliveries are being sent, and so many wait for their turn.
pub(crate) fn deliveries_held(sending: u32, waiting: u32) {
    metrics::gauge!("pirssonite_deliveries_sending").set(f64::from(sending));
    metrics::gauge!("pirssonite_deliveries_waiting").set(f64::from(waiting));
}

/// An attempt of a delivery ended, and took so long.
pub(crate) fn attempted(verdict: Verdict, took: Duration) {
    metrics::counter!(ATTEMPTS, "outcome" => attempt_outcome(verdict)).increment(1);
    metrics::histogram!("pirssonite_delivery_attempt_duration_seconds").record(took.as_secs_f64());
}

fn attempt_outcome(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Delivered => "delivered",
        Verdict::Retry(_) => "retry",
        Verdict::Failed => "failed",
        Verdict::Gone => "gone",
    }
}

/// So long after it happened an event arrived at a webhook.
pub(crate) fn delivered_after(latency: SignedDuration) {
    metrics::histogram!("pirssonite_delivery_latency_seconds").record(latency.as_secs_f64().max(0.0));
}

/// So many marks were stored, and so many came too late.
pub(crate) fn marked(stored: usize, skipped: usize) {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    metrics::counter!(MARKS, "outcome" => "stored").increment(count(stored));
    metrics::counter!(MARKS, "outcome" => "skipped").increment(count(skipped));
}

/// A beat of the deliveries worked or failed.
pub(crate) fn beat(outcome: &'static str) {
    metrics::counter!(BEATS, "outcome" => outcome).increment(1);
}

/// The lease of a delivery was lost.
pub(crate) fn lease_lost() {
    metrics::counter!("pirssonite_delivery_leases_lost_total").increment(1);
}

/// How the outbox stands.
pub(crate) fn outbox(overview: &Overview) {
    let u64_to_f64 = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    metrics::gauge!("pirssonite_outbox_pending").set(u64_to_f64(overview.pending));
    metrics::gauge!("pirssonite_outbox_ready").set(u64_to_f64(overview.ready));
    metrics::gauge!("pirssonite_outbox_in_flight").set(u64_to_f64(overview.in_flight));
    metrics::gauge!("pirssonite_outbox_failed").set(u64_to_f64(overview.failed));
    metrics::gauge!("pirssonite_outbox_oldest_pending_seconds")
        .set(u64_to_f64(overview.oldest_pending_age.unwrap_or(0)));
}

fn usize_to_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use domain::push::Unsigned;

    use super::*;

    use SubscriptionState::{Active, Inactive, Pending, Unsubscribing};

    #[test]
    fn u6_every_value_of_a_label_is_registered() {
        let values = |name| COUNTERS.iter().find(|(counter, ..)| *counter == name).unwrap().2;
        let fetched = PollEnd::Fetched { new: 1, changed: 0 };
        for end in [fetched, PollEnd::Unchanged, PollEnd::Failed, PollEnd::Outage, PollEnd::Released] {
            assert!(values(POLLS).contains(&poll_outcome(end)), "{end:?}");
        }
        for answer in [
            PushAnswer::Stored,
            PushAnswer::NotActive,
            PushAnswer::NoFeed,
            PushAnswer::Unsigned(Unsigned::Missing),
            PushAnswer::NotAFeed(String::new()),
        ] {
            assert!(values(PUSHES).contains(&push_outcome(&answer)), "{answer:?}");
        }
        for verdict in [Verdict::Delivered, Verdict::Retry(Duration::ZERO), Verdict::Failed, Verdict::Gone] {
            assert!(values(ATTEMPTS).contains(&attempt_outcome(verdict)), "{verdict:?}");
        }
        for state in [Pending, Active, Inactive, Unsubscribing] {
            assert!(values(SUBSCRIPTION_CHANGES).contains(&state.name()), "{state:?}");
        }
        for (_, modes, _) in HUB_COUNTERS {
            assert!([Mode::Subscribe, Mode::Unsubscribe].iter().all(|mode| modes.contains(&mode.name())));
        }
    }
}
