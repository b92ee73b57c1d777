//! The table of cases: from this state, by this event, to that state.

use super::*;
use crate::{
    ids::{FeedId, SubscriptionId},
    push::Offer,
};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
const LEASE: Duration = Duration::from_hours(240);

fn now() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

fn fresh() -> Subscription {
    let offer = Offer { token: "token".into(), base_url: "https://we.org/".into() };
    Subscription::new(SubscriptionId(1), FeedId(1), "https://h.org/", "https://e.org/", &offer, now())
}

fn asking(mode: Mode) -> SubscriptionEvent {
    let secret = (mode == Mode::Subscribe).then(|| "secret".to_owned());
    SubscriptionEvent::Asking { mode, secret, base_url: "https://we.org/".into() }
}

fn verified(mode: Mode) -> SubscriptionEvent {
    SubscriptionEvent::Verified { mode, lease_secs: Some(LEASE.as_secs()), only_if_asked: false }
}

fn failed() -> SubscriptionEvent {
    SubscriptionEvent::Failed { error: "Hub unreachable: ECONNREFUSED".into(), retry_after: None }
}

fn apply_at(subscription: &Subscription, event: &SubscriptionEvent, at: Timestamp) -> (Subscription, bool) {
    match apply(subscription, event, RenewalRules::default(), at) {
        Decision::Become { subscription, poll_now } => (*subscription, poll_now),
        other => panic!("{event:?}: {other:?}"),
    }
}

/// One event after the other, all now.
fn after_events(events: &[SubscriptionEvent]) -> Subscription {
    events.iter().fold(fresh(), |subscription, event| apply_at(&subscription, event, now()).0)
}

fn pending() -> Subscription {
    after_events(&[asking(Mode::Subscribe), SubscriptionEvent::Accepted])
}

fn active() -> Subscription {
    after_events(&[asking(Mode::Subscribe), SubscriptionEvent::Accepted, verified(Mode::Subscribe)])
}

fn renewing() -> Subscription {
    apply_at(&active(), &asking(Mode::Subscribe), now()).0
}

fn inactive() -> Subscription {
    let denied = SubscriptionEvent::Denied { reason: Some("no".into()), only_if_asked: false };
    apply_at(&active(), &denied, now()).0
}

fn unsubscribing() -> Subscription {
    apply_at(&active(), &SubscriptionEvent::Unwanted, now()).0
}

fn at(delay: Duration) -> Timestamp {
    after(now(), delay)
}

#[test]
fn w4_w9_w10_every_state_takes_every_event_as_the_table_says() {
    let denied = SubscriptionEvent::Denied { reason: None, only_if_asked: false };
    let pushed = SubscriptionEvent::Pushed { secret: "secret".into() };
    // pending, active, inactive, unsubscribing become: state, + if the feed is polled at once, x refused, 0 forgotten.
    let table = [
        (asking(Mode::Subscribe), ["pending", "active", "pending", "x"]),
        (asking(Mode::Unsubscribe), ["x", "x", "x", "unsubscribing"]),
        (SubscriptionEvent::Accepted, ["pending", "active", "inactive", "unsubscribing"]),
        (failed(), ["pending", "active", "inactive", "unsubscribing"]),
        (verified(Mode::Subscribe), ["active+", "active", "active+", "x"]),
        (verified(Mode::Unsubscribe), ["x", "x", "x", "0"]),
        (denied, ["inactive", "inactive+", "inactive", "0"]),
        (SubscriptionEvent::TimePassed, ["pending", "active", "inactive", "unsubscribing"]),
        (pushed, ["x", "active", "x", "x"]),
        (SubscriptionEvent::Missed, ["pending", "active", "inactive", "unsubscribing"]),
        (SubscriptionEvent::Unwanted, ["unsubscribing", "unsubscribing+", "unsubscribing", "unsubscribing"]),
        (SubscriptionEvent::Retry, ["pending", "active", "pending", "x"]),
        (SubscriptionEvent::BecomeCurrent, ["pending", "active", "pending", "x"]),
        (SubscriptionEvent::WakeAt(now()), ["pending", "active", "inactive", "unsubscribing"]),
        (SubscriptionEvent::StepAside, ["inactive", "active", "inactive", "unsubscribing"]),
        (SubscriptionEvent::BaseChanged { base_url: "b".into() }, ["pending", "pending+", "pending", "unsubscribing"]),
    ];
    for (event, expected) in table {
        let become_what =
            |subscription: &Subscription| match apply(subscription, &event, RenewalRules::default(), now()) {
                Decision::Refuse => "x".to_owned(),
                Decision::Forget => "0".to_owned(),
                Decision::Become { subscription, poll_now } => {
                    format!("{}{}", subscription.state.name(), if poll_now { "+" } else { "" })
                }
            };
        let became = [pending(), active(), inactive(), unsubscribing()].map(|subscription| become_what(&subscription));
        assert_eq!(became, expected, "{event:?}");
    }
}

#[test]
fn w2_verification_may_come_before_the_answer() {
    let verified_early = after_events(&[asking(Mode::Subscribe), verified(Mode::Subscribe)]);
    assert!(verified_early.is_active());
    for answer in [SubscriptionEvent::Accepted, failed()] {
        assert_eq!(apply_at(&verified_early, &answer, now()), (verified_early.clone(), false), "{answer:?}");
    }
}

#[test]
fn w4_a_verification_starts_the_lease_and_clears_errors() {
    let failing = after_events(&[asking(Mode::Subscribe), failed(), asking(Mode::Subscribe)]);
    assert_eq!((failing.error_count, failing.last_error.is_some()), (1, true));
    let (subscription, poll_now) = apply_at(&failing, &verified(Mode::Subscribe), now());
    assert!(poll_now && subscription.is_trusted());
    assert_eq!((subscription.error_count, subscription.last_error.as_deref()), (0, None));
    assert_eq!(subscription.lease_secs, Some(864_000));
    assert_eq!(subscription.expires_at, Some(at(LEASE)));
    assert_eq!(subscription.next_step_at, Some(at(8 * DAY)));
    assert_eq!(step(&subscription, at(8 * DAY)), Step::Ask(Mode::Subscribe));
}

#[test]
fn w3_without_token_only_recent_requests_are_answered() {
    let tokenless = |mode| SubscriptionEvent::Verified { mode, lease_secs: None, only_if_asked: true };
    let denied = SubscriptionEvent::Denied { reason: None, only_if_asked: true };
    let refused = |subscription: &Subscription, event: &SubscriptionEvent| {
        apply(subscription, event, RenewalRules::default(), now()) == Decision::Refuse
    };
    assert!(refused(&active(), &tokenless(Mode::Subscribe)) && !refused(&renewing(), &tokenless(Mode::Subscribe)));
    assert!(refused(&active(), &denied) && !refused(&renewing(), &denied));
    assert!(refused(&unsubscribing(), &tokenless(Mode::Unsubscribe)));
    let (asked, _) = apply_at(&unsubscribing(), &asking(Mode::Unsubscribe), now());
    assert!(!refused(&asked, &tokenless(Mode::Unsubscribe)));
    // What was accepted so long ago that it should have been verified was not just asked for.
    let (accepted, _) = apply_at(&asked, &SubscriptionEvent::Accepted, now());
    for (subscription, event) in
        [(pending(), tokenless(Mode::Subscribe)), (pending(), denied.clone()), (accepted, tokenless(Mode::Unsubscribe))]
    {
        let at = |time| apply(&subscription, &event, RenewalRules::default(), time);
        assert_ne!(at(now()), Decision::Refuse, "{event:?}");
        assert_eq!(at(after(now(), VERIFY_WITHIN)), Decision::Refuse, "{event:?}");
    }
}

#[test]
fn w3_confirmed_without_token_is_trusted_after_a_push() {
    let confirmed = SubscriptionEvent::Verified { mode: Mode::Subscribe, lease_secs: None, only_if_asked: true };
    // Push that begins so, and push that is prolonged so: in both cases the feed is polled, and as usual from then on.
    for asked in [pending(), renewing()] {
        let (subscription, poll_now) = apply_at(&asked, &confirmed, now());
        assert!(subscription.is_active() && !subscription.is_trusted() && poll_now, "{:?}", asked.state);
        let (pushed, _) = apply_at(&subscription, &SubscriptionEvent::Pushed { secret: "secret".into() }, now());
        assert!(pushed.is_trusted());
        let (renewing, _) = apply_at(&pushed, &asking(Mode::Subscribe), now());
        assert!(apply_at(&renewing, &verified(Mode::Subscribe), now()).0.is_trusted());
    }
}

#[test]
fn w3_without_a_token_no_lease_is_cut_short_or_prolonged() {
    let renewing = renewing();
    for secs in [Some(1), Some(14 * 24 * 60 * 60), None] {
        let confirmed = SubscriptionEvent::Verified { mode: Mode::Subscribe, lease_secs: secs, only_if_asked: true };
        let (renewed, _) = apply_at(&renewing, &confirmed, now());
        assert_eq!((renewed.lease_secs, renewed.expires_at), (renewing.lease_secs, renewing.expires_at), "{secs:?}");
        let next = renewed.next_step_at.unwrap();
        assert!(next > now() && next < renewed.expires_at.unwrap(), "it is renewed before it ends: {secs:?}");
        // One that begins so has the usual lease.
        let (begun, _) = apply_at(&pending(), &confirmed, now());
        assert_eq!(begun.lease_secs, Some(timing::LEASE_SECS_DEFAULT), "{secs:?}");
    }
}

#[test]
fn w3_denial_without_token_fails_a_renewal_only() {
    let denied = SubscriptionEvent::Denied { reason: Some("no".into()), only_if_asked: true };
    let (renewal, poll_now) = apply_at(&renewing(), &denied, now());
    assert!(renewal.is_trusted() && !poll_now);
    assert_eq!((renewal.error_count, renewal.last_error.as_deref()), (1, Some("no")));
    assert_eq!(renewal.expires_at, renewing().expires_at);
    assert_eq!(apply_at(&pending(), &denied, now()).0.state, State::Inactive);
}

#[test]
fn w4_nobody_is_confirmed_who_was_never_asked_or_is_not_wanted() {
    let refused = |subscription: &Subscription| {
        apply(subscription, &verified(Mode::Subscribe), RenewalRules::default(), now()) == Decision::Refuse
    };
    assert!(refused(&fresh()));
    assert!(refused(&Subscription { feed_id: None, ..pending() }));
    assert!(refused(&Subscription { is_current: false, ..pending() }));
}

#[test]
fn w7_a_hub_that_does_not_verify_in_time_has_failed() {
    let pending = pending();
    assert_eq!(pending.next_step_at, Some(at(VERIFY_WITHIN)));
    assert_eq!(step(&pending, at(VERIFY_WITHIN)), Step::LetPass);
    let (late, _) = apply_at(&pending, &SubscriptionEvent::TimePassed, at(VERIFY_WITHIN));
    assert_eq!((late.error_count, late.last_error.as_deref()), (1, Some("Hub did not verify in time")));
    assert_eq!(step(&late, at(HOUR)), Step::Ask(Mode::Subscribe));
    assert!(apply_at(&late, &verified(Mode::Subscribe), at(HOUR)).0.is_active(), "late, but wanted");
}

#[test]
fn w9_fifth_failure_ends_push_and_polls_at_once() {
    let mut subscription = active();
    let mut time = at(8 * DAY);
    for failure in 1..=5 {
        subscription = apply_at(&subscription, &asking(Mode::Subscribe), time).0;
        let (next, poll_now) = apply_at(&subscription, &failed(), time);
        assert_eq!((next.error_count, next.is_active(), poll_now), (failure, failure < 5, failure == 5));
        assert_eq!(next.last_error.as_deref(), Some("Hub unreachable: ECONNREFUSED"));
        if failure < 5 {
            let left = until(next.expires_at.unwrap(), time);
            assert_eq!(next.next_step_at, Some(after(time, left / 5)), "a fifth of what is left");
        }
        subscription = next;
        time = subscription.next_step_at.unwrap();
    }
    assert_eq!(step(&subscription, time), Step::StartOver);
    let (again, _) = apply_at(&subscription, &SubscriptionEvent::Retry, time);
    assert_eq!((again.state, again.error_count), (State::Pending, 0));
}

#[test]
fn w9_a_success_after_failures_clears_them_and_push_never_fell() {
    let failing = apply_at(&renewing(), &failed(), now()).0;
    assert!(failing.is_active() && failing.error_count == 1);
    let asked = apply_at(&failing, &asking(Mode::Subscribe), at(HOUR)).0;
    let (renewed, poll_now) = apply_at(&asked, &verified(Mode::Subscribe), at(HOUR));
    assert_eq!((renewed.error_count, renewed.last_error.clone(), poll_now), (0, None, false));
    assert_eq!(renewed.expires_at, Some(at(HOUR + LEASE)));
    assert_eq!(renewed.activated_at, active().activated_at);
}

#[test]
fn w9_expired_lease_ends_push_and_is_requested_again() {
    let (ended, poll_now) = apply_at(&active(), &SubscriptionEvent::TimePassed, at(LEASE));
    assert!(poll_now && !ended.is_active());
    assert_eq!(step(&active(), at(LEASE)), Step::LetPass);
    assert_eq!((ended.next_step_at, ended.last_error.as_deref()), (Some(at(LEASE)), Some("The lease ran out")));
    assert_eq!(step(&ended, at(LEASE)), Step::StartOver);
    let seconds = SubscriptionEvent::Verified { mode: Mode::Subscribe, lease_secs: Some(1), only_if_asked: false };
    let short = apply_at(&pending(), &seconds, now()).0;
    assert_eq!(short.next_step_at, Some(at(Duration::from_secs(5))));
    let (over, _) = apply_at(&short, &SubscriptionEvent::TimePassed, at(Duration::from_secs(5)));
    assert_eq!(
        over.next_step_at,
        Some(at(Duration::from_mins(1))),
        "a lease of a second is not asked for every second"
    );
    let waiting = apply_at(&renewing(), &SubscriptionEvent::Accepted, at(239 * HOUR)).0;
    assert!(waiting.next_step_at.unwrap() <= at(LEASE), "it never waits for a verification beyond its end");
}

#[test]
fn w9_retry_after_is_honoured() {
    let deferred =
        SubscriptionEvent::Failed { error: "Hub subscription failed: 503".into(), retry_after: Some(3 * HOUR) };
    let (subscription, _) = apply_at(&pending(), &deferred, now());
    assert_eq!(subscription.next_step_at, Some(at(3 * HOUR)));
}

#[test]
fn w10_unwanted_is_kept_until_confirmed_or_expired() {
    assert_eq!(
        apply(&fresh(), &SubscriptionEvent::Unwanted, RenewalRules::default(), now()),
        Decision::Forget,
        "no hub knows of it"
    );
    let leaving = unsubscribing();
    assert_eq!((leaving.next_step_at, leaving.expires_at), (Some(now()), Some(at(LEASE))));
    assert_eq!(step(&leaving, now()), Step::Ask(Mode::Unsubscribe));
    let asked = apply_at(&leaving, &asking(Mode::Unsubscribe), now()).0;
    let refused = apply_at(&asked, &failed(), now()).0;
    assert_eq!(refused.next_step_at, Some(at(Duration::from_mins(1))));
    let accepted = apply_at(&asked, &SubscriptionEvent::Accepted, now()).0;
    assert_eq!(step(&accepted, accepted.next_step_at.unwrap()), Step::Ask(Mode::Unsubscribe), "it did not verify");
    assert_eq!(step(&accepted, at(LEASE)), Step::LetPass);
    assert_eq!(apply(&accepted, &SubscriptionEvent::TimePassed, RenewalRules::default(), at(LEASE)), Decision::Forget);
    let never_verified = apply_at(&pending(), &SubscriptionEvent::Unwanted, now()).0;
    assert_eq!(never_verified.expires_at, Some(at(DAY)), "it may still verify");
}

#[test]
fn w6_a_renewal_brings_a_new_secret_and_a_push_proves_it() {
    let renewed = after_events(&[asking(Mode::Subscribe), verified(Mode::Subscribe)]);
    let ask = SubscriptionEvent::Asking {
        mode: Mode::Subscribe,
        secret: Some("second".into()),
        base_url: "https://we.org".into(),
    };
    let renewing = apply_at(&renewed, &ask, now()).0;
    assert!(renewing.is_active());
    assert_eq!(renewing.secrets.newest_first().collect::<Vec<_>>(), ["second", "secret"]);
    let old = apply_at(&renewing, &SubscriptionEvent::Pushed { secret: "secret".into() }, now()).0;
    assert_eq!(old.secrets.newest_first().count(), 2);
    let new = apply_at(&old, &SubscriptionEvent::Pushed { secret: "second".into() }, now()).0;
    assert_eq!(new.secrets.newest_first().collect::<Vec<_>>(), ["second"]);
    assert_eq!((new.push_count, new.last_push_at), (2, Some(now())));
}

#[test]
fn w12_two_misses_end_trust_and_a_push_restores_it() {
    let once = apply_at(&active(), &SubscriptionEvent::Missed, now()).0;
    assert!(once.is_trusted());
    let twice = apply_at(&once, &SubscriptionEvent::Missed, now()).0;
    assert!(!twice.is_trusted() && twice.is_active());
    let pushed = apply_at(&twice, &SubscriptionEvent::Pushed { secret: "secret".into() }, now()).0;
    assert!(pushed.is_trusted());
    assert_eq!((pushed.miss_count, pushed.misses_in_row), (2, 0));
}

#[test]
fn w12_only_what_the_hub_had_the_time_to_push_is_a_miss() {
    let active = active();
    let found = |published: Option<Duration>, checked: Duration| {
        missed([published.map(at)], &active, PUSH_MAY_TAKE, at(checked))
    };
    assert!(found(Some(HOUR), 2 * HOUR));
    assert!(!found(Some(HOUR), HOUR + Duration::from_mins(29)), "the push may still be on its way");
    assert!(!found(Some(Duration::ZERO), DAY), "published before push was active");
    assert!(found(None, DAY), "nobody knows when: it was not pushed");
    assert!(!found(None, Duration::from_mins(29)));
    assert!(!missed([Some(at(HOUR))], &pending(), PUSH_MAY_TAKE, at(DAY)));
    assert!(!missed([], &active, PUSH_MAY_TAKE, at(DAY)));
    let pushed = Subscription { last_push_at: Some(at(2 * HOUR)), ..active };
    assert!(
        !missed([Some(at(HOUR))], &pushed, PUSH_MAY_TAKE, at(DAY)),
        "the hub has told us since, with whatever was in it"
    );
    assert!(missed([Some(at(3 * HOUR))], &pushed, PUSH_MAY_TAKE, at(DAY)));
    assert!(
        !missed([None], &pushed, PUSH_MAY_TAKE, at(2 * HOUR + Duration::from_mins(10))),
        "this poll may be what came of it"
    );
    assert!(missed([None], &pushed, PUSH_MAY_TAKE, at(DAY)));
    assert!(missed([None], &pushed, Duration::from_secs(5), at(2 * HOUR + Duration::from_secs(6))), "as it is set");
}

#[test]
fn errors_are_kept_short_and_callbacks_hold_one_slash() {
    let reason = SubscriptionEvent::Denied { reason: Some("x".repeat(10_000)), only_if_asked: false };
    assert_eq!(apply_at(&active(), &reason, now()).0.last_error.unwrap().len(), 500);
    assert_eq!(fresh().callback(), "https://we.org/api/websub/callback/token");
    assert!(!format!("{:?}", asking(Mode::Subscribe)).contains("secret"));
}
