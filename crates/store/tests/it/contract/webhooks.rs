//! D1: webhooks, made, changed, given other secrets, and removed.

use std::time::Duration;

use domain::{
    FeedId, FolderId, WebhookId,
    delivery::{
        AttemptEnd, AttemptOutcome, ClaimLimits, DeliveryFilter, DeliveryJob, EventType, FinishReport, HeaderValue,
        Moved, NewWebhook, Overview, Rate, Verdict, Webhook, WebhookHeaders, WebhookPatch,
    },
    ports::TestOutcome,
};

use super::{
    Harness,
    given::{HOUR, entry},
    given_outbox::{RETRY, SECOND, finished, limits, new_webhook, secret},
    given_push::DAY,
};

contract! {
    d1_a_webhook_is_kept_as_it_was_made,
    d1_null_and_an_empty_list_stay_apart,
    d1_what_no_database_takes_is_left_out,
    d1_a_patch_changes_what_it_names_and_nothing_else,
    d1_a_masked_header_keeps_its_stored_value,
    d9_once_enabled_it_is_well,
    d9_once_enabled_it_is_sent_what_waits_at_once,
    d9_one_that_is_enabled_is_not_changed_by_enabling_it,
    d9_another_url_is_another_receiver,
    d9_what_a_user_disables_has_no_reason,
    d1_old_secrets_sign_along_each_for_its_time,
    d1_of_too_many_old_secrets_the_oldest_goes,
    d1_a_removed_webhook_is_gone_for_everybody_at_once,
    d1_a_test_goes_to_one_webhook_whatever_it_wants,
    d1_a_test_goes_before_all_that_waits,
    d1_a_rate_delays_a_test_by_one_spacing,
    d1_nothing_is_queued_for_a_test_of_a_disabled_webhook,
}

/// How an attempt ended that was answered so.
fn answered(job: &DeliveryJob, status: u16) -> AttemptOutcome {
    AttemptOutcome { ended: AttemptEnd::Answered { status, retry_after: None }, ..finished(job, RETRY) }
}

async fn d1_a_webhook_is_kept_as_it_was_made(harness: &Harness) {
    assert_eq!(harness.store.webhooks().await.unwrap(), []);
    let new = NewWebhook {
        description: Some("mine".to_owned()),
        enabled: false,
        event_types: Some(vec![EventType::FeedGone, EventType::EntryCreated]),
        feed_ids: Some(vec![FeedId(7), FeedId(3)]),
        folder_ids: Some(vec![FolderId(2)]),
        headers: headers(&[("X-B", "\"b\""), ("X-A", "ä")]),
        include_content: false,
        backlog: true,
        rate_per_second: Rate::per_second(2.5),
        ..new_webhook("https://r.org/1")
    };
    let made = harness.webhook_like(new.clone()).await;
    let expected = Webhook {
        account_id: harness.id(),
        id: made.id,
        url: new.url,
        description: new.description,
        enabled: false,
        event_types: new.event_types,
        feed_ids: new.feed_ids,
        folder_ids: new.folder_ids,
        headers: new.headers,
        include_content: false,
        backlog: true,
        rate_per_second: new.rate_per_second,
        consecutive_failures: 0,
        is_breaker_open: false,
        held_until: None,
        disabled_reason: None,
        created_at: harness.now(),
        secrets: vec![new.secret],
    };
    assert_eq!(made, expected);
    let other = harness.webhook("https://r.org/2").await;
    assert_eq!(harness.the_webhook(made.id).await, made);
    assert_eq!(harness.store.webhooks().await.unwrap(), [made, harness.the_webhook(other).await]);
    assert_eq!(harness.store.webhook(WebhookId(999)).await.unwrap(), None);
}

async fn d1_null_and_an_empty_list_stay_apart(harness: &Harness) {
    let all = harness.webhook("https://r.org/1").await;
    let all = harness.the_webhook(all).await;
    assert_eq!((&all.event_types, &all.feed_ids, &all.folder_ids), (&None, &None, &None));
    let none = NewWebhook {
        event_types: Some(vec![]),
        feed_ids: Some(vec![]),
        folder_ids: Some(vec![]),
        ..new_webhook("https://r.org/2")
    };
    let none = harness.webhook_like(none).await;
    let none = harness.the_webhook(none.id).await;
    assert_eq!((none.event_types, none.feed_ids, none.folder_ids), (Some(vec![]), Some(vec![]), Some(vec![])));
}

async fn d1_what_no_database_takes_is_left_out(harness: &Harness) {
    let new = NewWebhook {
        url: "https://r.org/\0a".to_owned(),
        description: Some("a\0b".to_owned()),
        headers: headers(&[("X\0-A", "\0")]),
        ..new_webhook("")
    };
    let made = harness.webhook_like(new).await;
    assert_eq!((made.url.as_str(), made.description.as_deref()), ("https://r.org/a", Some("ab")));
    assert_eq!(made.headers, headers(&[("X-A", "")]));
    let patch = WebhookPatch { description: Some(Some("\0c".to_owned())), ..WebhookPatch::default() };
    let changed = harness.store.update_webhook(made.id, patch).await.unwrap().unwrap();
    assert_eq!(changed, Webhook { description: Some("c".to_owned()), ..made });
    assert_eq!(harness.the_webhook(changed.id).await, changed);
}

async fn d1_a_patch_changes_what_it_names_and_nothing_else(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let mut expected = harness.the_webhook(id).await;
    let unchanged = harness.store.update_webhook(id, WebhookPatch::default()).await.unwrap();
    assert_eq!(unchanged.as_ref(), Some(&expected));
    let none = WebhookPatch::default;
    let (url, mine) = ("https://r.org/2".to_owned(), Some("mine".to_owned()));
    let patches = [
        WebhookPatch { url: Some(url), ..none() },
        WebhookPatch { description: Some(mine), ..none() },
        WebhookPatch { event_types: Some(Some(vec![EventType::FeedGone])), ..none() },
        WebhookPatch { feed_ids: Some(Some(vec![FeedId(1)])), ..none() },
        WebhookPatch { folder_ids: Some(Some(vec![])), ..none() },
        WebhookPatch { headers: Some(headers(&[("A", "b")])), ..none() },
        WebhookPatch { include_content: Some(false), ..none() },
        WebhookPatch { backlog: Some(true), enabled: Some(false), ..none() },
        WebhookPatch { description: Some(None), event_types: Some(None), feed_ids: Some(None), ..none() },
        WebhookPatch { folder_ids: Some(None), headers: Some(vec![]), enabled: Some(true), ..none() },
    ];
    for patch in patches {
        expected = patched(expected, patch.clone());
        assert_eq!(harness.store.update_webhook(id, patch).await.unwrap().as_ref(), Some(&expected));
        assert_eq!(harness.the_webhook(id).await, expected);
    }
    assert_eq!(harness.store.update_webhook(WebhookId(999), WebhookPatch::default()).await.unwrap(), None);
}

fn patched(webhook: Webhook, patch: WebhookPatch) -> Webhook {
    Webhook {
        url: patch.url.unwrap_or(webhook.url),
        description: patch.description.unwrap_or(webhook.description),
        enabled: patch.enabled.unwrap_or(webhook.enabled),
        event_types: patch.event_types.unwrap_or(webhook.event_types),
        feed_ids: patch.feed_ids.unwrap_or(webhook.feed_ids),
        folder_ids: patch.folder_ids.unwrap_or(webhook.folder_ids),
        headers: patch.headers.unwrap_or(webhook.headers),
        include_content: patch.include_content.unwrap_or(webhook.include_content),
        backlog: patch.backlog.unwrap_or(webhook.backlog),
        rate_per_second: patch.rate_per_second.unwrap_or(webhook.rate_per_second),
        ..webhook
    }
}

fn headers(pairs: &[(&str, &str)]) -> WebhookHeaders {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), HeaderValue::new(*value))).collect()
}

async fn d1_a_masked_header_keeps_its_stored_value(harness: &Harness) {
    let stored = headers(&[("Authorization", "Bearer a"), ("X-B", "b")]);
    let id = harness.webhook_like(NewWebhook { headers: stored, ..new_webhook("https://r.org/1") }).await.id;
    for (wanted, expect) in [
        (&[("authorization", "***"), ("X-C", "c")][..], &[("authorization", "Bearer a"), ("X-C", "c")][..]),
        (&[("X-C", "***"), ("X-D", "***")], &[("X-C", "c")]),
        (&[("X-C", "other")], &[("X-C", "other")]),
    ] {
        let patch = WebhookPatch { headers: Some(headers(wanted)), ..WebhookPatch::default() };
        let changed = harness.store.update_webhook(id, patch).await.unwrap().unwrap();
        assert_eq!(changed.headers, headers(expect));
        assert_eq!(harness.the_webhook(id).await, changed);
    }
    let gone = WebhookPatch { headers: Some(headers(&[("X-C", "***")])), ..WebhookPatch::default() };
    assert_eq!(harness.store.update_webhook(WebhookId(999), gone).await.unwrap(), None);
}

async fn d9_once_enabled_it_is_well(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    harness.queue(id, 2).await;
    harness.fail_times(id, 10).await;
    harness.advance(HOUR).await;
    let job = harness.take_one("one").await;
    assert!(job.is_probe);
    let marks = harness.mark(vec![finished(&job, Verdict::Gone)]).await;
    assert_eq!(marks.disabled.len(), 1);
    let disabled = harness.the_webhook(id).await;
    assert!(!disabled.enabled && disabled.consecutive_failures > 10);
    assert_eq!(disabled.disabled_reason.as_deref(), Some(marks.disabled[0].1.as_str()));
    let patch = WebhookPatch { enabled: Some(true), ..WebhookPatch::default() };
    let enabled = harness.store.update_webhook(id, patch).await.unwrap().unwrap();
    assert_eq!((enabled.enabled, enabled.consecutive_failures, enabled.disabled_reason), (true, 0, None));
    // No probe: its breaker is closed.
    assert!(!harness.take_one("one").await.is_probe);
}

async fn d9_once_enabled_it_is_sent_what_waits_at_once(harness: &Harness) {
    let (id, other) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    for webhook in [id, other] {
        harness.queue(webhook, 600).await;
    }
    let jobs = harness.take("worker", 2000).await;
    assert_eq!(jobs.len(), 1200);
    let later = |job: &DeliveryJob| finished(job, Verdict::Retry(HOUR * 6));
    harness.mark(jobs.iter().map(later).collect()).await;
    let enable = |enabled| WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
    harness.store.update_webhook(id, enable(false)).await.unwrap();
    harness.advance(HOUR).await;
    assert_eq!(
        harness.store.update_webhook(id, enable(true)).await.unwrap().map(|webhook| webhook.enabled),
        Some(true)
    );
    let sent = harness.take("worker", 2000).await;
    assert_eq!(sent.len(), 600, "not at their old times");
    assert!(sent.iter().all(|job| job.webhook_id == id && job.attempts == 1), "what they have used up they have");
}

async fn d9_one_that_is_enabled_is_not_changed_by_enabling_it(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(id, 3).await;
    let jobs = harness.take("worker", 2).await;
    harness.mark(vec![finished(&jobs[0], Verdict::Retry(HOUR * 6))]).await;
    harness.mark(vec![answered(&jobs[1], 429)]).await;
    harness.advance(SECOND).await;
    harness.fail_times_more(id, 8).await;
    let job = harness.take_one("worker").await;
    harness.mark(vec![finished(&job, RETRY)]).await;
    let before = harness.the_webhook(id).await;
    let delivery = harness.shown(&queued[0].id).await;
    assert!(before.is_breaker_open && delivery.next_attempt_at.is_some_and(|at| at > harness.now() + HOUR));
    let enable = WebhookPatch { enabled: Some(true), ..WebhookPatch::default() };
    assert_eq!(harness.store.update_webhook(id, enable.clone()).await.unwrap().as_ref(), Some(&before));
    assert_eq!(harness.shown(&queued[0].id).await, delivery);
    assert_eq!(harness.take("worker", 9).await.len(), 0, "no sooner than before");
    harness.advance(SECOND * 5).await;
    let probe = harness.take_one("worker").await;
    let held = AttemptEnd::Answered { status: 503, retry_after: Some(HOUR) };
    harness.mark(vec![AttemptOutcome { ended: held, ..finished(&probe, RETRY) }]).await;
    let before = harness.the_webhook(id).await;
    assert_eq!(before.held_until, Some(harness.now() + HOUR));
    assert_eq!(harness.store.update_webhook(id, enable).await.unwrap(), Some(before));
}

async fn d9_another_url_is_another_receiver(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    harness.queue(id, 2).await;
    harness.fail_times(id, 10).await;
    harness.end(&harness.take_one("one").await, RETRY).await;
    assert_eq!(harness.take("one", 2).await.len(), 0, "the next probe is in some seconds");
    let same = WebhookPatch { url: Some("https://r.org/1".to_owned()), ..WebhookPatch::default() };
    let same = harness.store.update_webhook(id, same).await.unwrap().unwrap();
    assert_eq!(same.consecutive_failures, 11);
    let other = WebhookPatch { url: Some("https://r.org/2".to_owned()), ..WebhookPatch::default() };
    let other = harness.store.update_webhook(id, other).await.unwrap().unwrap();
    assert_eq!(other.consecutive_failures, 0);
    let jobs = harness.take("one", 2).await;
    assert_eq!(
        jobs.iter().map(|job| job.is_probe).collect::<Vec<_>>(),
        [false, false],
        "what waited for the old receiver does not wait for the new one"
    );
}

async fn d9_what_a_user_disables_has_no_reason(harness: &Harness) {
    let (id, other) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    harness.queue(id, 1).await;
    let patch = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
    let disabled = harness.store.update_webhook(id, patch).await.unwrap().unwrap();
    assert_eq!((disabled.enabled, disabled.disabled_reason), (false, None));
    assert_eq!(harness.deliveries_to(other).await, [], "what a user does is no event");
    assert_eq!(harness.take("one", 9).await.len(), 0);
    assert_eq!(harness.deliveries_to(id).await.len(), 1, "it keeps what it has");
}

async fn d1_old_secrets_sign_along_each_for_its_time(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    harness.queue(id, 1).await;
    let rotate = |to: &'static str| async move { harness.store.rotate_secret(id, secret(to), DAY).await.unwrap() };
    let rotated = rotate("second").await.unwrap();
    assert_eq!(rotated.secrets, [secret("second"), secret("first")]);
    let first_ends_at = harness.now() + DAY;
    harness.advance(HOUR).await;
    // As somebody does who never saw the second.
    let rotated = rotate("third").await.unwrap();
    assert_eq!(rotated.secrets, [secret("third"), secret("second"), secret("first")]);
    assert_eq!(harness.the_webhook(id).await, rotated);
    let second_ends_at = harness.now() + DAY;
    harness.set(first_ends_at - SECOND).await;
    assert_eq!(harness.the_webhook(id).await, rotated);
    harness.set(first_ends_at).await;
    assert_eq!(harness.the_webhook(id).await.secrets, [secret("third"), secret("second")]);
    harness.set(second_ends_at - SECOND).await;
    let claimed = harness.claim_with("one", &limits(1)).await;
    assert_eq!(claimed.webhooks, [harness.the_webhook(id).await], "what a worker signs with");
    assert_eq!(claimed.webhooks[0].secrets, [secret("third"), secret("second")]);
    harness.set(second_ends_at).await;
    assert_eq!(harness.the_webhook(id).await.secrets, [secret("third")]);
    assert_eq!(rotate("fourth").await.unwrap().secrets, [secret("fourth"), secret("third")]);
    assert_eq!(harness.store.rotate_secret(WebhookId(999), secret("x"), DAY).await.unwrap(), None);
}

async fn d1_of_too_many_old_secrets_the_oldest_goes(harness: &Harness) {
    let (id, other) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    let of = |number: usize| secret(&format!("number {number}"));
    for number in 0..=9 {
        harness.store.rotate_secret(id, of(number), DAY).await.unwrap();
    }
    // The one in force, and eight before it.
    assert_eq!(harness.the_webhook(id).await.secrets, (1..=9).rev().map(of).collect::<Vec<_>>());
    assert_eq!(harness.the_webhook(other).await.secrets, [secret("first")], "the others are left alone");
}

async fn d1_a_removed_webhook_is_gone_for_everybody_at_once(harness: &Harness) {
    let (id, other) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    let feed = harness.add("http://e.org/1", vec![]).await;
    let queued = harness.queue(id, 3).await;
    let claimed = harness.take("one", 2).await;
    assert!(harness.store.delete_webhook(id).await.unwrap());
    assert!(!harness.store.delete_webhook(id).await.unwrap());
    assert_eq!(harness.store.webhook(id).await.unwrap(), None);
    assert_eq!(harness.store.webhooks().await.unwrap(), [harness.the_webhook(other).await]);
    let patch = WebhookPatch { enabled: Some(true), ..WebhookPatch::default() };
    assert_eq!(harness.store.update_webhook(id, patch).await.unwrap(), None);
    assert_eq!(harness.store.rotate_secret(id, secret("x"), DAY).await.unwrap(), None);
    assert_eq!(harness.store.test_webhook(id).await.unwrap(), TestOutcome::NotFound);
    assert_eq!(harness.store.replay(id, harness.now(), None).await.unwrap(), None);
    assert_eq!(harness.store.requeue_failed(id).await.unwrap(), None);
    harness.poll(feed, vec![entry("1")]).await;
    assert_eq!(harness.kinds_to(other).await, [EventType::EntryCreated]);
    assert_eq!(harness.deliveries_to(id).await, []);
    assert_eq!(harness.outbox(DeliveryFilter::default()).await.len(), 1);
    let overview = harness.store.outbox_overview().await.unwrap();
    assert_eq!(overview, Overview { pending: 1, ready: 1, in_flight: 0, failed: 0, oldest_pending_age: Some(0) });
    for delivery in &queued {
        assert_eq!(harness.store.delivery(&delivery.id).await.unwrap(), None);
        assert_eq!(harness.store.requeue_delivery(&delivery.id).await.unwrap(), Moved::NotFound);
        assert_eq!(harness.store.cancel_delivery(&delivery.id, "no").await.unwrap(), Moved::NotFound);
    }
    assert_eq!(harness.take("one", 9).await.iter().filter(|job| job.webhook_id == id).count(), 0);
    // Whatever was under way ends as usual, and nobody is disturbed.
    for (job, verdict) in claimed.iter().zip([Verdict::Failed, Verdict::Gone]) {
        let ended = AttemptOutcome { url: "https://r.org/1".to_owned(), ..finished(job, verdict) };
        assert_eq!(harness.mark(vec![ended]).await, FinishReport::default());
        assert_eq!(harness.kinds_to(other).await, [EventType::EntryCreated], "{verdict:?}");
    }
}

async fn d1_a_test_goes_to_one_webhook_whatever_it_wants(harness: &Harness) {
    let other = harness.webhook("https://r.org/other").await;
    let deaf = NewWebhook { event_types: Some(vec![]), feed_ids: Some(vec![]), ..new_webhook("https://r.org/deaf") };
    let deaf = harness.webhook_like(deaf).await;
    let queued = harness.queue(deaf.id, 1).await.remove(0);
    assert_eq!((queued.event_type.as_str(), queued.webhook_id), ("webhook.test", deaf.id));
    assert_eq!(harness.shown(&queued.id).await, queued);
    assert_eq!(harness.deliveries_to(other).await, []);
    let (job, data) = harness.drain().await.remove(0);
    assert_eq!((job.webhook_id, &job.event_id), (deaf.id, &queued.event_id));
    let about = serde_json::json!({ "id": deaf.id, "url": "https://r.org", "disabledReason": null });
    assert_eq!(data, serde_json::json!({ "webhook": about }));
}

/// A claim of one, of a webhook whose next is one that was tried before.
fn one_retry_of(webhook: WebhookId) -> ClaimLimits {
    ClaimLimits { retries_first: vec![webhook], ..limits(1) }
}

async fn d1_a_test_goes_before_all_that_waits(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    let webhook = harness.webhook("https://r.org/1").await;
    let entries = |from: u32, count: u32| (from..from + count).map(|number| entry(&number.to_string())).collect();
    harness.poll(feed, entries(0, 40)).await;
    let tried = harness.take("worker", 20).await;
    harness.mark(tried.iter().map(|job| answered(job, 422)).collect()).await;
    harness.advance(SECOND * 5).await;
    harness.poll(feed, entries(40, 10)).await;
    let tests = harness.queue_tests(webhook, 2).await;
    assert_eq!(harness.shown(&tests[0].id).await.next_attempt_at, Some(harness.now()), "not in 1970");
    assert_eq!(harness.store.next_delivery_in(&[]).await.unwrap(), Some(Duration::ZERO));
    for test in &tests {
        let claimed = harness.claim_with("worker", &one_retry_of(webhook)).await;
        let claimed: Vec<&str> = claimed.jobs.iter().map(|job| job.event_id.as_str()).collect();
        assert_eq!(claimed, [&test.event_id]);
    }
    let test = harness.queue_tests(webhook, 1).await.remove(0);
    let claimed =
        harness.claim_with("worker", &ClaimLimits { limit: 99, of_others: 99, ..one_retry_of(webhook) }).await;
    assert_eq!((claimed.jobs.len(), &claimed.jobs[0].event_id), (51, &test.event_id), "and the others after it");
    let counts: Vec<u32> = claimed.jobs.iter().take(6).map(|job| job.tries).collect();
    assert_eq!(counts, [0, 1, 1, 0, 1, 0], "by turns, of which it took one");
}

async fn d1_a_rate_delays_a_test_by_one_spacing(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    let slow = NewWebhook { rate_per_second: Rate::per_second(1.0), ..new_webhook("https://r.org/1") };
    let webhook = harness.webhook_like(slow).await.id;
    harness.poll(feed, (0..9).map(|number| entry(&number.to_string())).collect()).await;
    let job = harness.take("worker", 9).await.remove(0);
    harness.mark(vec![answered(&job, 422)]).await;
    harness.advance(SECOND * 5).await;
    assert_eq!(harness.take("worker", 9).await.len(), 1);
    let test = harness.queue_tests(webhook, 1).await.remove(0);
    assert_eq!(harness.take("worker", 9).await.len(), 0);
    harness.advance(SECOND).await;
    let claimed = harness.claim_with("worker", &one_retry_of(webhook)).await;
    assert_eq!(claimed.jobs.iter().map(|job| &job.event_id).collect::<Vec<_>>(), [&test.event_id]);
}

async fn d1_nothing_is_queued_for_a_test_of_a_disabled_webhook(harness: &Harness) {
    let disabled = harness.webhook_like(NewWebhook { enabled: false, ..new_webhook("https://r.org/1") }).await;
    assert_eq!(harness.store.test_webhook(disabled.id).await.unwrap(), TestOutcome::Disabled);
    assert_eq!(harness.store.test_webhook(WebhookId(999)).await.unwrap(), TestOutcome::NotFound);
    assert_eq!(harness.outbox(DeliveryFilter::default()).await, []);
}
