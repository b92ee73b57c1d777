//! Who is sent what, and how much of it.

use std::time::Duration;

use domain::{
    DeliveryId, EventId, Lease, WebhookId,
    delivery::{
        AttemptEnd, AttemptLog, AttemptOutcome, BreakerRules, ClaimLimits, Claimed, DeliveryJob, EventType, Verdict,
        Webhook,
    },
};
use jiff::Timestamp;

use super::super::in_flight::{EndEffects, Queues, ReadyDelivery};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const FAILED: Verdict = Verdict::Retry(Duration::from_secs(5));

fn webhook(id: i64, failures: u32) -> Webhook {
    Webhook {
        account_id: domain::account::READER,
        id: WebhookId(id),
        url: format!("https://r{id}.example/"),
        description: None,
        enabled: true,
        event_types: None,
        feed_ids: None,
        folder_ids: None,
        headers: vec![],
        include_content: true,
        backlog: false,
        rate_per_second: None,
        consecutive_failures: failures,
        is_breaker_open: failures >= 10,
        held_until: None,
        disabled_reason: None,
        created_at: Timestamp::UNIX_EPOCH,
        secrets: vec![],
    }
}

fn job(webhook: i64, number: i64) -> DeliveryJob {
    DeliveryJob {
        feed: None,
        view: domain::delivery::FollowerView::default(),
        id: DeliveryId(webhook * 1000 + number),
        lease: Lease { owner: "w".into(), fence: 1 },
        webhook_id: WebhookId(webhook),
        event: EventId(number),
        event_id: format!("evt_{number}"),
        kind: EventType::EntryCreated,
        happened_at: Timestamp::UNIX_EPOCH,
        data: Some("{}".into()),
        size: 2,
        attempts: 0,
        tries: 0,
        is_probe: false,
    }
}

/// The end of a request, with an answer that fits.
fn outcome(webhook: i64, verdict: Verdict) -> AttemptOutcome {
    let DeliveryJob { id, lease, webhook_id, event, kind, is_probe, tries, .. } = job(webhook, 0);
    let status = match verdict {
        Verdict::Delivered => 200,
        Verdict::Gone => 410,
        Verdict::Retry(_) | Verdict::Failed => 500,
    };
    let (ended, attempt) = (AttemptEnd::Answered { status, retry_after: None }, AttemptLog::default());
    AttemptOutcome { id, lease, webhook_id, event, kind, url: String::new(), verdict, ended, is_probe, tries, attempt }
}

/// As a store with plenty for these webhooks would.
fn claim(queues: &mut Queues, webhooks: &[i64]) -> ClaimLimits {
    let limits = queues.claim_limits();
    let of =
        |id: i64| limits.of.iter().find(|(known, _)| known.0 == id).map_or(limits.of_others, |(_, places)| *places);
    let most = webhooks.iter().map(|id| of(*id)).max().unwrap_or(0);
    // The first of each webhook before the second of any.
    let jobs = (0..most).flat_map(|rank| {
        let wants_more = move |id: &&i64| rank < of(**id);
        webhooks.iter().filter(wants_more).map(move |id| job(*id, i64::from(rank))).collect::<Vec<_>>()
    });
    let jobs = jobs.take(limits.limit as usize).collect();
    let webhooks = webhooks.iter().map(|id| webhook(*id, 0)).collect();
    queues.take_in(&limits, Claimed { jobs, webhooks }, NOW);
    limits
}

/// A request ends, and its mark is not stored yet.
fn end_unmarked(queues: &mut Queues, webhook: i64, verdict: Verdict) -> EndEffects {
    queues.ended(WebhookId(webhook), Some((&outcome(webhook, verdict), false)))
}

/// A request ends, and its mark is stored at once.
fn end(queues: &mut Queues, webhook: i64, verdict: Option<Verdict>, was_long: bool) -> EndEffects {
    let outcome = verdict.map(|verdict| outcome(webhook, verdict));
    let after = queues.ended(WebhookId(webhook), outcome.as_ref().map(|outcome| (outcome, was_long)));
    if verdict.is_some() {
        queues.marked([WebhookId(webhook)].into_iter());
    }
    after
}

fn begin_all(queues: &mut Queues) -> Vec<ReadyDelivery> {
    std::iter::from_fn(|| queues.next()).collect()
}

/// A webhook that is sent as much as it may be, with as much that waits.
fn warm(queues: &mut Queues, id: i64) {
    for _ in 0..20 {
        claim(queues, &[id]);
        begin_all(queues);
        end(queues, id, Some(Verdict::Delivered), false);
    }
    claim(queues, &[id]);
    begin_all(queues);
    claim(queues, &[id]);
}

#[test]
fn d9_window_starts_at_two_up_to_sixteen() {
    let mut queues = Queues::new(256, 16, BreakerRules::default());
    claim(&mut queues, &[1]);
    assert_eq!(begin_all(&mut queues).len(), 2);
    let mut sending = 2;
    for _ in 0..100 {
        end(&mut queues, 1, Some(Verdict::Delivered), false);
        sending -= 1;
        claim(&mut queues, &[1]);
        sending += begin_all(&mut queues).len();
    }
    assert_eq!(sending, 16, "one more with each success, up to the limit");
    end(&mut queues, 1, Some(FAILED), false);
    assert!(begin_all(&mut queues).is_empty(), "half with each failure");
    for _ in 0..7 {
        end(&mut queues, 1, None, false);
    }
    assert!(begin_all(&mut queues).is_empty(), "eight are under way");
    end(&mut queues, 1, None, false);
    assert_eq!(begin_all(&mut queues).len(), 1);
}

#[test]
fn d9_each_webhook_has_its_turn() {
    let mut queues = Queues::new(2, 16, BreakerRules::default());
    claim(&mut queues, &[1, 2, 3]);
    let order: Vec<i64> = begin_all(&mut queues).iter().map(|ready| ready.webhook.id.0).collect();
    assert_eq!(order, [1, 2, 3, 1, 2], "one each, and two places besides");
    end(&mut queues, 1, Some(Verdict::Delivered), false);
    assert_eq!(queues.next().map(|ready| ready.webhook.id.0), Some(3));
    assert!(queues.next().is_none());
}

#[test]
fn d9_each_webhook_has_its_own_place() {
    let mut queues = Queues::new(1, 16, BreakerRules::default());
    let many: Vec<i64> = (1..=500).collect();
    for _ in 0..3 {
        claim(&mut queues, &many);
        begin_all(&mut queues);
    }
    for id in &many {
        queues.slowed(WebhookId(*id));
    }
    claim(&mut queues, &many);
    assert_eq!(queues.counts().0, 501, "all shared places are taken, for as long as it may be");
    claim(&mut queues, &[999]);
    assert_eq!(begin_all(&mut queues).len(), 1, "there is one for whoever comes");
    end(&mut queues, 999, Some(Verdict::Delivered), false);
    claim(&mut queues, &[999]);
    assert_eq!(begin_all(&mut queues).len(), 1, "again and again");
}

#[test]
fn d9_slow_receivers_share_half_the_places() {
    let mut queues = Queues::new(8, 16, BreakerRules::default());
    let slow: Vec<i64> = (1..=4).collect();
    claim(&mut queues, &slow);
    begin_all(&mut queues);
    for id in &slow {
        queues.slowed(WebhookId(*id));
    }
    for _ in 0..40 {
        for id in &slow {
            end(&mut queues, *id, Some(Verdict::Delivered), true);
        }
        claim(&mut queues, &slow);
        begin_all(&mut queues);
    }
    assert_eq!(queues.counts().0, 4 + 4, "one each, and half of eight");
    warm(&mut queues, 9);
    assert_eq!(queues.counts().0, 4 + 4 + 1 + 4, "the other half is for one that is quick");
}

#[test]
fn d9_full_claim_is_followed_by_another() {
    let mut queues = Queues::new(256, 16, BreakerRules::default());
    claim(&mut queues, &[1]);
    assert!(queues.may_have_more());
    assert!(queues.full().is_empty());
    claim(&mut queues, &[1]);
    assert_eq!(queues.full(), [WebhookId(1)]);
    let limits = queues.claim_limits();
    queues.take_in(&limits, Claimed::default(), NOW);
    begin_all(&mut queues);
    assert!(!end(&mut queues, 1, Some(Verdict::Delivered), false).wants_more, "enough waits for its turn");
    assert_eq!(begin_all(&mut queues).len(), 2);
    assert!(
        end(&mut queues, 1, Some(Verdict::Delivered), false).wants_more,
        "nothing waits any more: it is time for another"
    );
}

#[test]
fn d9_ten_failures_open_the_breaker() {
    let mut queues = Queues::new(256, 16, BreakerRules::default());
    warm(&mut queues, 1);
    assert_eq!(queues.counts(), (16, 16));
    for failure in 1..10 {
        assert!(end(&mut queues, 1, Some(FAILED), false).released.is_empty(), "{failure}");
        begin_all(&mut queues);
    }
    let waiting = queues.counts().1;
    let released = end(&mut queues, 1, Some(FAILED), false).released;
    assert_eq!(u32::try_from(released.len()), Ok(waiting));
    assert!(waiting > 0 && begin_all(&mut queues).is_empty());
    while queues.counts().0 > 0 {
        end(&mut queues, 1, Some(FAILED), false);
    }
    let limits = queues.claim_limits();
    let probe = DeliveryJob { is_probe: true, ..job(1, 7) };
    queues.take_in(&limits, Claimed { jobs: vec![probe], webhooks: vec![webhook(1, 10)] }, NOW);
    assert!(begin_all(&mut queues)[0].job.is_probe);
    assert!(end(&mut queues, 1, Some(Verdict::Delivered), false).released.is_empty());
    claim(&mut queues, &[1]);
    assert!(!begin_all(&mut queues).is_empty(), "one success, and all is well");
}

#[test]
fn d9_releases_claims_of_disabled_webhooks() {
    let disabled = Webhook { enabled: false, ..webhook(1, 0) };
    for (found, count) in [(Some(webhook(1, 0)), 0), (Some(disabled), 16), (Some(webhook(1, 10)), 16), (None, 16)] {
        let mut queues = Queues::new(256, 16, BreakerRules::default());
        warm(&mut queues, 1);
        let found = found.map(std::sync::Arc::new);
        assert_eq!(queues.reread(WebhookId(1), found.as_ref(), NOW).len(), count);
        assert_eq!(queues.counts().0, 16, "what is being sent goes on");
    }
}

#[test]
fn d1_webhook_is_reread_after_a_moment() {
    let mut queues = Queues::new(256, 16, BreakerRules::default());
    claim(&mut queues, &[1]);
    let after = |millis| NOW + jiff::SignedDuration::from_millis(millis);
    assert!(queues.known(WebhookId(1), after(99)).is_some());
    assert!(queues.known(WebhookId(1), after(100)).is_none());
    assert!(queues.known(WebhookId(1), after(-500)).is_none(), "also after a clock went back");
    queues.reread(WebhookId(1), Some(&std::sync::Arc::new(webhook(1, 0))), after(100));
    assert!(queues.known(WebhookId(1), after(150)).is_some());
}

#[test]
fn d5_slow_receiver_has_one_queued() {
    let mut queues = Queues::new(256, 16, BreakerRules::default());
    warm(&mut queues, 1);
    assert_eq!(queues.counts(), (16, 16), "as many wait as are sent");
    queues.slowed(WebhookId(1));
    for _ in 0..15 {
        end(&mut queues, 1, Some(Verdict::Delivered), true);
        begin_all(&mut queues);
    }
    assert_eq!(queues.counts(), (16, 1));
    claim(&mut queues, &[1]);
    assert_eq!(queues.counts(), (16, 1), "that is enough");
    end(&mut queues, 1, Some(Verdict::Delivered), false);
    begin_all(&mut queues);
    claim(&mut queues, &[1]);
    assert_eq!(queues.counts(), (16, 16), "it is quick again");
}

#[test]
fn d7_queued_deliveries_are_released() {
    let mut queues = Queues::new(1, 16, BreakerRules::default());
    claim(&mut queues, &[1, 2]);
    queues.next().unwrap();
    let released = queues.clear();
    assert_eq!((released.len(), queues.counts()), (3, (1, 0)));
    assert!(queues.next().is_none());
}

#[test]
fn d12_unmarked_deliveries_count_as_held() {
    let mut queues = Queues::new(4, 16, BreakerRules::default());
    let many: Vec<i64> = (1..=20).collect();
    for _ in 0..1000 {
        claim(&mut queues, &many);
        for ready in begin_all(&mut queues) {
            end_unmarked(&mut queues, ready.webhook.id.0, Verdict::Delivered);
        }
    }
    let unmarked = queues.unmarked();
    assert!((1000..1400).contains(&unmarked), "two batches of marks, and a window for each: {unmarked}");
    claim(&mut queues, &many);
    assert!(begin_all(&mut queues).is_empty(), "no more until they are marked");
    assert!(
        queues.marked(std::iter::repeat_n(many.iter(), 100).flatten().map(|id| WebhookId(*id))),
        "and then there is capacity"
    );
    claim(&mut queues, &many);
    assert!(!begin_all(&mut queues).is_empty());
}

#[test]
fn d9_d12_open_breaker_waits_for_marks() {
    let mut queues = Queues::new(256, 16, BreakerRules::default());
    warm(&mut queues, 1);
    while queues.counts().0 > 0 {
        end_unmarked(&mut queues, 1, FAILED);
    }
    assert_eq!(queues.claim_limits().of, [(WebhookId(1), 0)]);
    assert!(queues.marked(std::iter::repeat_n(WebhookId(1), 16)));
    assert_ne!(queues.claim_limits().of, [(WebhookId(1), 0)], "and then what the store has for it");
}

#[test]
fn d9_idle_slow_receivers_take_no_share() {
    let mut queues = Queues::new(8, 16, BreakerRules::default());
    for id in 1..=300 {
        claim(&mut queues, &[id]);
        for ready in begin_all(&mut queues) {
            end(&mut queues, ready.webhook.id.0, Some(Verdict::Delivered), true);
        }
    }
    // There was nothing more for them.
    let limits = queues.claim_limits();
    queues.take_in(&limits, Claimed::default(), NOW);
    claim(&mut queues, &[999]);
    begin_all(&mut queues);
    queues.slowed(WebhookId(999));
    for _ in 0..20 {
        end(&mut queues, 999, Some(Verdict::Delivered), true);
        claim(&mut queues, &[999]);
        begin_all(&mut queues);
    }
    assert_eq!(queues.counts().0, 1 + 4, "its own place, and all that slow ones share");
}

#[test]
fn d8_d9_410_pauses_queue_until_stored() {
    let mut queues = Queues::new(256, 16, BreakerRules::default());
    warm(&mut queues, 1);
    let released = end_unmarked(&mut queues, 1, Verdict::Gone).released;
    assert_eq!(released.len(), 16, "all that waits");
    // What a claim brings that had begun before.
    let limits = ClaimLimits { limit: 1, of: vec![], of_others: 1, ..ClaimLimits::default() };
    queues.take_in(&limits, Claimed { jobs: vec![job(1, 99)], webhooks: vec![webhook(1, 0)] }, NOW);
    assert!(begin_all(&mut queues).is_empty());
    assert_eq!(queues.claim_limits().of, [(WebhookId(1), 0)]);
    assert!(queues.known(WebhookId(1), NOW).is_some());
    assert!(queues.marked([WebhookId(1)].into_iter()));
    assert!(queues.known(WebhookId(1), NOW).is_none(), "only the store knows how it is now");
    queues.take_in(&limits, Claimed { jobs: vec![], webhooks: vec![webhook(1, 0)] }, NOW);
    assert!(queues.known(WebhookId(1), NOW).is_none(), "not a claim that began before");
    queues.reread(WebhookId(1), Some(&std::sync::Arc::new(webhook(1, 0))), NOW);
    assert!(queues.known(WebhookId(1), NOW).is_some());
}

#[test]
fn d9_queue_of_removed_webhook_is_dropped() {
    let mut queues = Queues::new(256, 16, BreakerRules::default());
    claim(&mut queues, &[1]);
    begin_all(&mut queues);
    queues.reread(WebhookId(1), None, NOW);
    end(&mut queues, 1, None, false);
    assert!(queues.known(WebhookId(1), NOW).is_some());
    end(&mut queues, 1, Some(FAILED), false);
    assert!(queues.known(WebhookId(1), NOW).is_none() && queues.claim_limits().of.is_empty());
}
