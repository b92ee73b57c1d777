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

use super::super::desk::{AfterEnd, Desk, Turn};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const FAILED: Verdict = Verdict::Retry(Duration::from_secs(5));

fn webhook(id: i64, failures: u32) -> Webhook {
    Webhook {
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
fn finished(webhook: i64, verdict: Verdict) -> AttemptOutcome {
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
fn claim(desk: &mut Desk, webhooks: &[i64]) -> ClaimLimits {
    let room = desk.room();
    let of = |id: i64| room.of.iter().find(|(known, _)| known.0 == id).map_or(room.of_others, |(_, places)| *places);
    let most = webhooks.iter().map(|id| of(*id)).max().unwrap_or(0);
    // The first of each webhook before the second of any.
    let jobs = (0..most).flat_map(|rank| {
        let has_room = move |id: &&i64| rank < of(**id);
        webhooks.iter().filter(has_room).map(move |id| job(*id, i64::from(rank))).collect::<Vec<_>>()
    });
    let jobs = jobs.take(room.limit as usize).collect();
    let webhooks = webhooks.iter().map(|id| webhook(*id, 0)).collect();
    desk.take_in(&room, Claimed { jobs, webhooks }, NOW);
    room
}

/// A request ends, and its mark is not stored yet.
fn end_unmarked(desk: &mut Desk, webhook: i64, verdict: Verdict) -> AfterEnd {
    desk.ended(WebhookId(webhook), Some((&finished(webhook, verdict), false)))
}

/// A request ends, and its mark is stored at once.
fn end(desk: &mut Desk, webhook: i64, verdict: Option<Verdict>, was_long: bool) -> AfterEnd {
    let finished = verdict.map(|verdict| finished(webhook, verdict));
    let after = desk.ended(WebhookId(webhook), finished.as_ref().map(|finished| (finished, was_long)));
    if verdict.is_some() {
        desk.marked([WebhookId(webhook)].into_iter());
    }
    after
}

fn begin_all(desk: &mut Desk) -> Vec<Turn> {
    std::iter::from_fn(|| desk.next()).collect()
}

/// A webhook that is sent as much as it may be, with as much that waits.
fn warm(desk: &mut Desk, id: i64) {
    for _ in 0..20 {
        claim(desk, &[id]);
        begin_all(desk);
        end(desk, id, Some(Verdict::Delivered), false);
    }
    claim(desk, &[id]);
    begin_all(desk);
    claim(desk, &[id]);
}

#[test]
fn d9_a_webhook_starts_with_two_and_has_sixteen_at_most() {
    let mut desk = Desk::new(256, 16, BreakerRules::default());
    claim(&mut desk, &[1]);
    assert_eq!(begin_all(&mut desk).len(), 2);
    let mut sending = 2;
    for _ in 0..100 {
        end(&mut desk, 1, Some(Verdict::Delivered), false);
        sending -= 1;
        claim(&mut desk, &[1]);
        sending += begin_all(&mut desk).len();
    }
    assert_eq!(sending, 16, "one more with each success, up to the limit");
    end(&mut desk, 1, Some(FAILED), false);
    assert!(begin_all(&mut desk).is_empty(), "half with each failure");
    for _ in 0..7 {
        end(&mut desk, 1, None, false);
    }
    assert!(begin_all(&mut desk).is_empty(), "eight are under way");
    end(&mut desk, 1, None, false);
    assert_eq!(begin_all(&mut desk).len(), 1);
}

#[test]
fn d9_each_webhook_has_its_turn() {
    let mut desk = Desk::new(2, 16, BreakerRules::default());
    claim(&mut desk, &[1, 2, 3]);
    let order: Vec<i64> = begin_all(&mut desk).iter().map(|turn| turn.webhook.id.0).collect();
    assert_eq!(order, [1, 2, 3, 1, 2], "one each, and two places besides");
    end(&mut desk, 1, Some(Verdict::Delivered), false);
    assert_eq!(desk.next().map(|turn| turn.webhook.id.0), Some(3));
    assert!(desk.next().is_none());
}

#[test]
fn d9_each_webhook_has_a_place_of_its_own_that_nobody_can_take() {
    let mut desk = Desk::new(1, 16, BreakerRules::default());
    let many: Vec<i64> = (1..=500).collect();
    for _ in 0..3 {
        claim(&mut desk, &many);
        begin_all(&mut desk);
    }
    for id in &many {
        desk.slowed(WebhookId(*id));
    }
    claim(&mut desk, &many);
    assert_eq!(desk.counts().0, 501, "all shared places are taken, for as long as it may be");
    claim(&mut desk, &[999]);
    assert_eq!(begin_all(&mut desk).len(), 1, "there is one for whoever comes");
    end(&mut desk, 999, Some(Verdict::Delivered), false);
    claim(&mut desk, &[999]);
    assert_eq!(begin_all(&mut desk).len(), 1, "again and again");
}

#[test]
fn d9_slow_receivers_have_half_of_the_shared_places() {
    let mut desk = Desk::new(8, 16, BreakerRules::default());
    let slow: Vec<i64> = (1..=4).collect();
    claim(&mut desk, &slow);
    begin_all(&mut desk);
    for id in &slow {
        desk.slowed(WebhookId(*id));
    }
    for _ in 0..40 {
        for id in &slow {
            end(&mut desk, *id, Some(Verdict::Delivered), true);
        }
        claim(&mut desk, &slow);
        begin_all(&mut desk);
    }
    assert_eq!(desk.counts().0, 4 + 4, "one each, and half of eight");
    warm(&mut desk, 9);
    assert_eq!(desk.counts().0, 4 + 4 + 1 + 4, "the other half is for one that is quick");
}

#[test]
fn d9_a_claim_that_brought_all_it_could_is_followed_by_another() {
    let mut desk = Desk::new(256, 16, BreakerRules::default());
    claim(&mut desk, &[1]);
    assert!(desk.may_have_more());
    assert!(desk.full().is_empty());
    claim(&mut desk, &[1]);
    assert_eq!(desk.full(), [WebhookId(1)]);
    let room = desk.room();
    desk.take_in(&room, Claimed::default(), NOW);
    begin_all(&mut desk);
    assert!(!end(&mut desk, 1, Some(Verdict::Delivered), false).wants_more, "enough waits for its turn");
    assert_eq!(begin_all(&mut desk).len(), 2);
    assert!(
        end(&mut desk, 1, Some(Verdict::Delivered), false).wants_more,
        "nothing waits any more: it is time for another"
    );
}

#[test]
fn d9_after_ten_failures_what_waits_is_given_back_and_only_a_probe_is_sent() {
    let mut desk = Desk::new(256, 16, BreakerRules::default());
    warm(&mut desk, 1);
    assert_eq!(desk.counts(), (16, 16));
    for failure in 1..10 {
        assert!(end(&mut desk, 1, Some(FAILED), false).given_back.is_empty(), "{failure}");
        begin_all(&mut desk);
    }
    let waiting = desk.counts().1;
    let given_back = end(&mut desk, 1, Some(FAILED), false).given_back;
    assert_eq!(u32::try_from(given_back.len()), Ok(waiting));
    assert!(waiting > 0 && begin_all(&mut desk).is_empty());
    while desk.counts().0 > 0 {
        end(&mut desk, 1, Some(FAILED), false);
    }
    let room = desk.room();
    let probe = DeliveryJob { is_probe: true, ..job(1, 7) };
    desk.take_in(&room, Claimed { jobs: vec![probe], webhooks: vec![webhook(1, 10)] }, NOW);
    assert!(begin_all(&mut desk)[0].job.is_probe);
    assert!(end(&mut desk, 1, Some(Verdict::Delivered), false).given_back.is_empty());
    claim(&mut desk, &[1]);
    assert!(!begin_all(&mut desk).is_empty(), "one success, and all is well");
}

#[test]
fn d9_what_waits_for_a_webhook_that_is_disabled_broken_or_gone_is_given_back() {
    let disabled = Webhook { enabled: false, ..webhook(1, 0) };
    for (found, count) in [(Some(webhook(1, 0)), 0), (Some(disabled), 16), (Some(webhook(1, 10)), 16), (None, 16)] {
        let mut desk = Desk::new(256, 16, BreakerRules::default());
        warm(&mut desk, 1);
        let found = found.map(std::sync::Arc::new);
        assert_eq!(desk.looked_at(WebhookId(1), found.as_ref(), NOW).len(), count);
        assert_eq!(desk.counts().0, 16, "what is being sent goes on");
    }
}

#[test]
fn d1_a_webhook_is_looked_at_again_after_a_moment() {
    let mut desk = Desk::new(256, 16, BreakerRules::default());
    claim(&mut desk, &[1]);
    let after = |millis| NOW + jiff::SignedDuration::from_millis(millis);
    assert!(desk.known(WebhookId(1), after(99)).is_some());
    assert!(desk.known(WebhookId(1), after(100)).is_none());
    assert!(desk.known(WebhookId(1), after(-500)).is_none(), "also after a clock went back");
    desk.looked_at(WebhookId(1), Some(&std::sync::Arc::new(webhook(1, 0))), after(100));
    assert!(desk.known(WebhookId(1), after(150)).is_some());
}

#[test]
fn d5_of_a_slow_receiver_one_waits_because_what_waits_is_renewed() {
    let mut desk = Desk::new(256, 16, BreakerRules::default());
    warm(&mut desk, 1);
    assert_eq!(desk.counts(), (16, 16), "as many wait as are sent");
    desk.slowed(WebhookId(1));
    for _ in 0..15 {
        end(&mut desk, 1, Some(Verdict::Delivered), true);
        begin_all(&mut desk);
    }
    assert_eq!(desk.counts(), (16, 1));
    claim(&mut desk, &[1]);
    assert_eq!(desk.counts(), (16, 1), "that is enough");
    end(&mut desk, 1, Some(Verdict::Delivered), false);
    begin_all(&mut desk);
    claim(&mut desk, &[1]);
    assert_eq!(desk.counts(), (16, 16), "it is quick again");
}

#[test]
fn d7_what_waits_is_given_back() {
    let mut desk = Desk::new(1, 16, BreakerRules::default());
    claim(&mut desk, &[1, 2]);
    desk.next().unwrap();
    let given_back = desk.clear();
    assert_eq!((given_back.len(), desk.counts()), (3, (1, 0)));
    assert!(desk.next().is_none());
}

#[test]
fn d12_what_is_not_marked_yet_counts_as_held() {
    let mut desk = Desk::new(4, 16, BreakerRules::default());
    let many: Vec<i64> = (1..=20).collect();
    for _ in 0..1000 {
        claim(&mut desk, &many);
        for turn in begin_all(&mut desk) {
            end_unmarked(&mut desk, turn.webhook.id.0, Verdict::Delivered);
        }
    }
    let unmarked = desk.unmarked();
    assert!((1000..1400).contains(&unmarked), "two batches of marks, and a window for each: {unmarked}");
    claim(&mut desk, &many);
    assert!(begin_all(&mut desk).is_empty(), "no more until they are marked");
    assert!(
        desk.marked(std::iter::repeat_n(many.iter(), 100).flatten().map(|id| WebhookId(*id))),
        "and then there is room"
    );
    claim(&mut desk, &many);
    assert!(!begin_all(&mut desk).is_empty());
}

#[test]
fn d9_d12_a_receiver_that_is_broken_is_sent_nothing_before_the_store_knows() {
    let mut desk = Desk::new(256, 16, BreakerRules::default());
    warm(&mut desk, 1);
    while desk.counts().0 > 0 {
        end_unmarked(&mut desk, 1, FAILED);
    }
    assert_eq!(desk.room().of, [(WebhookId(1), 0)]);
    assert!(desk.marked(std::iter::repeat_n(WebhookId(1), 16)));
    assert_ne!(desk.room().of, [(WebhookId(1), 0)], "and then what the store has for it");
}

#[test]
fn d9_slow_receivers_with_nothing_to_do_take_nothing_from_others() {
    let mut desk = Desk::new(8, 16, BreakerRules::default());
    for id in 1..=300 {
        claim(&mut desk, &[id]);
        for turn in begin_all(&mut desk) {
            end(&mut desk, turn.webhook.id.0, Some(Verdict::Delivered), true);
        }
    }
    // There was nothing more for them.
    let room = desk.room();
    desk.take_in(&room, Claimed::default(), NOW);
    claim(&mut desk, &[999]);
    begin_all(&mut desk);
    desk.slowed(WebhookId(999));
    for _ in 0..20 {
        end(&mut desk, 999, Some(Verdict::Delivered), true);
        claim(&mut desk, &[999]);
        begin_all(&mut desk);
    }
    assert_eq!(desk.counts().0, 1 + 4, "its own place, and all that slow ones share");
}

#[test]
fn d8_d9_after_a_410_nothing_is_sent_until_that_is_stored_and_then_it_is_looked() {
    let mut desk = Desk::new(256, 16, BreakerRules::default());
    warm(&mut desk, 1);
    let given_back = end_unmarked(&mut desk, 1, Verdict::Gone).given_back;
    assert_eq!(given_back.len(), 16, "all that waits");
    // What a claim brings that had begun before.
    let room = ClaimLimits { limit: 1, of: vec![], of_others: 1, ..ClaimLimits::default() };
    desk.take_in(&room, Claimed { jobs: vec![job(1, 99)], webhooks: vec![webhook(1, 0)] }, NOW);
    assert!(begin_all(&mut desk).is_empty());
    assert_eq!(desk.room().of, [(WebhookId(1), 0)]);
    assert!(desk.known(WebhookId(1), NOW).is_some());
    assert!(desk.marked([WebhookId(1)].into_iter()));
    assert!(desk.known(WebhookId(1), NOW).is_none(), "only the store knows how it is now");
    desk.take_in(&room, Claimed { jobs: vec![], webhooks: vec![webhook(1, 0)] }, NOW);
    assert!(desk.known(WebhookId(1), NOW).is_none(), "not a claim that began before");
    desk.looked_at(WebhookId(1), Some(&std::sync::Arc::new(webhook(1, 0))), NOW);
    assert!(desk.known(WebhookId(1), NOW).is_some());
}

#[test]
fn d9_a_webhook_that_was_removed_is_forgotten_with_the_last_of_its_requests() {
    let mut desk = Desk::new(256, 16, BreakerRules::default());
    claim(&mut desk, &[1]);
    begin_all(&mut desk);
    desk.looked_at(WebhookId(1), None, NOW);
    end(&mut desk, 1, None, false);
    assert!(desk.known(WebhookId(1), NOW).is_some());
    end(&mut desk, 1, Some(FAILED), false);
    assert!(desk.known(WebhookId(1), NOW).is_none() && desk.room().of.is_empty());
}
