//! D10: the outbox as it is shown and moved.

use std::time::Duration;

use domain::{
    WebhookId,
    delivery::{
        Delivery, DeliveryFilter, DeliveryStatus, EventType, Moved, NewWebhook, Overview, Verdict, WebhookPatch,
    },
};

use super::{
    Harness,
    given::{HOUR, LEASE, entry},
    given_outbox::{RETRY, SECOND, finished, lease_of, new_webhook, row},
};

contract! {
    d10_pages_go_from_the_newest_to_the_oldest,
    d10_a_page_is_of_a_state_or_a_webhook_or_both,
    d10_an_id_that_is_none_of_ours_is_of_nothing,
    d7_p3_an_id_never_names_two_events,
    d10_the_outbox_in_numbers,
    d10_a_lease_taken_before_the_clock_went_back_is_not_shown,
    d10_ready_is_what_a_worker_could_claim_now,
    d10_requeued_delivery_has_all_its_attempts,
    d10_pending_or_cancelled_is_not_requeued,
    d10_pending_or_failed_is_cancelled,
    d10_requeues_all_failed_of_one_webhook,
}

fn ids(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| delivery.id.as_str()).collect()
}

async fn d10_pages_go_from_the_newest_to_the_oldest(harness: &Harness) {
    let (one, two) = (harness.quiet_webhook("https://r.org/1").await, harness.quiet_webhook("https://r.org/2").await);
    let mut expected = Vec::new();
    for _ in 0..3 {
        expected.extend(harness.queue(one, 2).await);
        expected.extend(harness.queue(two, 1).await);
    }
    // Of all states.
    for verdict in [Verdict::Delivered, Verdict::Failed, RETRY] {
        let job = harness.take_one("worker").await;
        harness.end(&job, verdict).await;
    }
    harness.store.cancel_delivery(&expected[3].id, "no").await.unwrap();
    expected.reverse();
    for limit in 1..=10 {
        let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = harness.store.deliveries(DeliveryFilter::default(), limit, after.as_deref()).await.unwrap();
            assert!(page.deliveries.len() <= usize::try_from(limit).unwrap());
            found.extend(page.deliveries);
            pages += 1;
            match page.next_cursor {
                Some(cursor) => after = Some(cursor),
                None => break,
            }
        }
        assert_eq!(ids(&found), ids(&expected), "{limit}");
        assert_eq!(pages, 9_u32.div_ceil(limit), "a page that is not the last is full, and the last is not empty");
    }
    // A cursor is a place: it need not be of the same kind, nor of a webhook that is still there.
    let filter = DeliveryFilter { webhook_id: Some(two), ..DeliveryFilter::default() };
    let page = harness.store.deliveries(filter, 9, Some(&expected[1].id)).await.unwrap();
    assert_eq!(page.deliveries.len(), 2);
}

async fn d10_a_page_is_of_a_state_or_a_webhook_or_both(harness: &Harness) {
    let webhooks = [harness.quiet_webhook("https://r.org/1").await, harness.quiet_webhook("https://r.org/2").await];
    for webhook in webhooks {
        harness.queue(webhook, 5).await;
    }
    for (place, job) in harness.take("worker", 10).await.iter().enumerate() {
        match place % 5 {
            0 => harness.end(job, Verdict::Delivered).await,
            1 => harness.end(job, Verdict::Failed).await,
            2 => harness.store.release_deliveries(&[lease_of(job)]).await.unwrap(),
            _ => {}
        }
    }
    let all = harness.outbox(DeliveryFilter::default()).await;
    let cancelled = all.iter().find(|delivery| delivery.delivery_status == DeliveryStatus::Pending).unwrap();
    harness.store.cancel_delivery(&cancelled.id, "no").await.unwrap();
    let all = harness.outbox(DeliveryFilter::default()).await;
    assert_eq!(all.len(), 10);
    let statuses = DeliveryStatus::ALL.map(Some).into_iter().chain([None]);
    for status in statuses {
        for webhook_id in [Some(webhooks[0]), Some(webhooks[1]), Some(WebhookId(999)), None] {
            let fits = |delivery: &&Delivery| {
                status.is_none_or(|status| delivery.delivery_status == status)
                    && webhook_id.is_none_or(|webhook| delivery.webhook_id == webhook)
            };
            let expected: Vec<Delivery> = all.iter().filter(fits).cloned().collect();
            assert_eq!(harness.outbox(DeliveryFilter { status, webhook_id }).await, expected);
        }
    }
}

async fn d10_an_id_that_is_none_of_ours_is_of_nothing(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let ours = harness.queue(webhook, 1).await.remove(0);
    assert!(ours.id.starts_with("dlv_") && ours.event_id.starts_with("evt_"), "{ours:?}");
    let of_none = format!("{}ff", &ours.id[..ours.id.len() - 2]);
    let bad = ["", "dlv_", "1", "dlv_ffffffffffff000000000001", &ours.event_id, &ours.id.to_uppercase(), &of_none];
    for id in bad {
        assert_eq!(harness.store.delivery(id).await.unwrap(), None, "{id}");
        assert_eq!(harness.store.requeue_delivery(id).await.unwrap(), Moved::NotFound);
        assert_eq!(harness.store.cancel_delivery(id, "no").await.unwrap(), Moved::NotFound);
        if *id != *of_none {
            let page = harness.store.deliveries(DeliveryFilter::default(), 9, Some(id)).await.unwrap();
            assert_eq!((page.deliveries, page.next_cursor), (vec![], None), "after all");
        }
    }
    assert_eq!(harness.shown(&ours.id).await, ours);
}

async fn d7_p3_an_id_never_names_two_events(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let forgotten = harness.queue(webhook, 1).await.remove(0);
    let sent = harness.take("worker", 1).await.remove(0);
    harness.forget_outbox().await;
    let queued = harness.queue(webhook, 1).await.remove(0);
    assert_eq!(row(&queued), row(&forgotten), "its number is given again");
    let job = harness.take("worker", 1).await.remove(0);
    assert_eq!((&job.event_id, job.event), (&queued.event_id, sent.event));
    assert_ne!(job.event_id, sent.event_id, "what receivers know it by is not");
    assert_eq!(harness.store.delivery(&forgotten.id).await.unwrap(), None);
    assert_eq!(harness.store.cancel_delivery(&forgotten.id, "no").await.unwrap(), Moved::NotFound);
    assert_eq!(harness.shown(&queued.id).await.delivery_status, DeliveryStatus::Pending);
    let page = harness.store.deliveries(DeliveryFilter::default(), 1, Some(&forgotten.id)).await.unwrap();
    assert_eq!(page.deliveries, [], "a place in the order all the same");
}

async fn d10_the_outbox_in_numbers(harness: &Harness) {
    let overview = || async { harness.store.outbox_overview().await.unwrap() };
    assert_eq!(overview().await, Overview::default());
    let one = harness.quiet_webhook("https://r.org/1").await;
    assert_eq!(overview().await, Overview::default());
    harness.queue(one, 2).await;
    harness.advance(Duration::from_millis(90_999)).await;
    let two = harness.quiet_webhook("https://r.org/2").await;
    harness.queue(two, 3).await;
    let waiting = Overview { pending: 5, ready: 5, in_flight: 0, failed: 0, oldest_pending_age: Some(90) };
    assert_eq!(overview().await, waiting);
    let jobs = harness.take("worker", 3).await;
    assert_eq!(overview().await, Overview { ready: 2, in_flight: 3, ..waiting });
    // One fails, one waits to be tried again, one is being sent.
    harness.end(&jobs[0], Verdict::Failed).await;
    harness.end(&jobs[1], RETRY).await;
    let mixed = Overview { pending: 4, ready: 2, in_flight: 1, failed: 1, oldest_pending_age: Some(90) };
    assert_eq!(overview().await, mixed);
    let disable = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
    harness.store.update_webhook(two, disable).await.unwrap();
    assert_eq!(overview().await, Overview { ready: 0, ..mixed }, "nothing is ready for one that is disabled");
    harness.advance(LEASE).await;
    let later = Overview { ready: 1, in_flight: 0, oldest_pending_age: Some(100), ..mixed };
    assert_eq!(overview().await, later, "a lease that has run out holds nothing");
    harness.store.delete_webhook(one).await.unwrap();
    let rest = Overview { pending: 3, ready: 0, in_flight: 0, failed: 0, oldest_pending_age: Some(10) };
    assert_eq!(overview().await, rest);
}

async fn d10_a_lease_taken_before_the_clock_went_back_is_not_shown(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(webhook, 1).await.remove(0);
    let numbers = || async {
        let overview = harness.store.outbox_overview().await.unwrap();
        (overview.ready, overview.in_flight)
    };
    harness.advance(HOUR * 2).await;
    harness.take_one("worker").await;
    assert_eq!((numbers().await, harness.shown(&queued.id).await.lease_until), ((0, 1), Some(harness.now() + LEASE)));
    // Nobody waits until the clock has caught up: it can be claimed.
    harness.set(harness.after(-3600)).await;
    let shown = harness.shown(&queued.id).await;
    assert_eq!((numbers().await, shown.lease_owner, shown.lease_until), ((1, 0), None, None));
    harness.take_one("other").await;
    assert_eq!((numbers().await, harness.shown(&queued.id).await.lease_owner.as_deref()), ((0, 1), Some("other")));
}

async fn d10_ready_is_what_a_worker_could_claim_now(harness: &Harness) {
    let ready = || async { harness.store.outbox_overview().await.unwrap().ready };
    let id = harness.webhook("https://r.org/1").await;
    harness.queue(id, 3).await;
    harness.fail_times(id, 9).await;
    assert_eq!(ready().await, 3);
    harness.fail_times_more(id, 1).await;
    assert_eq!(ready().await, 1, "one probe, at once");
    harness.end(&harness.take_one("worker").await, RETRY).await;
    assert_eq!((ready().await, harness.take("worker", 9).await.len()), (0, 0), "its next probe is in some seconds");
    harness.advance(HOUR).await;
    assert_eq!(ready().await, 1, "one probe");
    let probe = harness.take("worker", 9).await.remove(0);
    assert!(probe.is_probe);
    assert_eq!(ready().await, 0, "one at a time");
    harness.end(&probe, Verdict::Delivered).await;
    assert_eq!(ready().await, 2, "it is well again");
    let disable = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
    harness.store.update_webhook(id, disable).await.unwrap();
    assert_eq!(ready().await, 0);
    let enable = WebhookPatch { enabled: Some(true), ..WebhookPatch::default() };
    harness.store.update_webhook(id, enable).await.unwrap();
    assert_eq!(ready().await, 2);
    harness.store.delete_webhook(id).await.unwrap();
    assert_eq!(ready().await, 0);
}

async fn d10_requeued_delivery_has_all_its_attempts(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    for verdict in [Verdict::Failed, Verdict::Delivered] {
        let queued = harness.queue(webhook, 1).await.remove(0);
        let job = harness.take_one("worker").await;
        harness.end(&job, Verdict::Retry(Duration::ZERO)).await;
        let job = harness.take_one("worker").await;
        harness.end(&job, verdict).await;
        harness.advance(HOUR).await;
        let moved = harness.store.requeue_delivery(&queued.id).await.unwrap();
        // The same event, as if it were new, but for when it was first queued.
        let expected = Delivery { next_attempt_at: Some(harness.now()), ..queued };
        assert_eq!(moved, Moved::Done(Box::new(expected.clone())));
        assert_eq!(harness.shown(&expected.id).await, expected);
        let (_, attempts) = harness.store.delivery(&expected.id).await.unwrap().unwrap();
        assert_eq!(attempts.len(), 2, "the log stays");
        let job = harness.take_one("worker").await;
        assert_eq!((job.attempts, &job.event_id), (0, &expected.event_id));
        harness.end(&job, Verdict::Delivered).await;
        let (shown, attempts) = harness.store.delivery(&expected.id).await.unwrap().unwrap();
        assert_eq!((shown.attempts, shown.delivered_at), (1, Some(harness.now())));
        assert_eq!(attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [1, 2, 1]);
    }
}

async fn d10_pending_or_cancelled_is_not_requeued(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(webhook, 1).await.remove(0);
    let pending = Moved::WrongState(DeliveryStatus::Pending);
    assert_eq!(harness.store.requeue_delivery(&queued.id).await.unwrap(), pending);
    assert_eq!(harness.shown(&queued.id).await, queued);
    harness.store.cancel_delivery(&queued.id, "no").await.unwrap();
    let before = harness.shown(&queued.id).await;
    let cancelled = Moved::WrongState(DeliveryStatus::Cancelled);
    assert_eq!(harness.store.requeue_delivery(&queued.id).await.unwrap(), cancelled);
    assert_eq!(harness.shown(&queued.id).await, before);
}

async fn d10_pending_or_failed_is_cancelled(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(webhook, 3).await;
    let jobs = harness.take("worker", 2).await;
    harness.end(&jobs[0], Verdict::Delivered).await;
    harness.end(&jobs[1], Verdict::Failed).await;
    let cancel = |place: usize| harness.store.cancel_delivery(&queued[place].id, "not\0 needed");
    let delivered = harness.shown(&queued[0].id).await;
    assert_eq!(cancel(0).await.unwrap(), Moved::WrongState(DeliveryStatus::Delivered));
    assert_eq!(harness.shown(&queued[0].id).await, delivered);
    for place in [1, 2] {
        let before = harness.shown(&queued[place].id).await;
        let expected = Delivery {
            delivery_status: DeliveryStatus::Cancelled,
            reason: Some("not needed".to_owned()),
            next_attempt_at: None,
            ..before
        };
        assert_eq!(cancel(place).await.unwrap(), Moved::Done(Box::new(expected.clone())));
        assert_eq!(harness.shown(&queued[place].id).await, expected);
        assert_eq!(cancel(place).await.unwrap(), Moved::WrongState(DeliveryStatus::Cancelled));
    }
    harness.advance(HOUR).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0);
}

async fn d10_requeues_all_failed_of_one_webhook(harness: &Harness) {
    let (one, two) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    let only = NewWebhook { event_types: Some(vec![EventType::EntryCreated]), ..new_webhook("https://r.org/3") };
    let many = harness.webhook_like(only).await.id;
    let queued = harness.queue(one, 5).await;
    harness.queue(two, 1).await;
    // More than one chunk.
    let feed = harness.add("http://e.org/1", vec![]).await;
    harness
        .store
        .update_webhook(one, WebhookPatch { event_types: Some(Some(vec![])), ..Default::default() })
        .await
        .unwrap();
    harness
        .store
        .update_webhook(two, WebhookPatch { event_types: Some(Some(vec![])), ..Default::default() })
        .await
        .unwrap();
    harness.poll(feed, (0..1100).map(|number| entry(&number.to_string())).collect()).await;
    for (place, job) in harness.take("worker", 6).await.iter().enumerate() {
        let verdict = if place == 0 { Verdict::Delivered } else { Verdict::Failed };
        harness.end(job, verdict).await;
    }
    loop {
        let jobs = harness.take("worker", 1000).await;
        if jobs.is_empty() {
            break;
        }
        // All in one, and delivered now and then: its circuit stays whole.
        let verdict = |place: usize| if place % 5 == 4 { Verdict::Delivered } else { Verdict::Failed };
        harness.mark(jobs.iter().enumerate().map(|(place, job)| finished(job, verdict(place))).collect()).await;
    }
    harness.advance(SECOND).await;
    assert_eq!(harness.store.requeue_failed(one).await.unwrap(), Some(4));
    assert_eq!(harness.store.requeue_failed(one).await.unwrap(), Some(0));
    for delivery in &queued[1..] {
        let expected = Delivery { next_attempt_at: Some(harness.now()), ..delivery.clone() };
        assert_eq!(harness.shown(&delivery.id).await, expected);
    }
    assert_eq!(harness.status(&queued[0].id).await, DeliveryStatus::Delivered);
    assert_eq!(harness.store.outbox_overview().await.unwrap().failed, 1 + 880, "the others' are as they were");
    assert_eq!(harness.store.requeue_failed(many).await.unwrap(), Some(880));
    assert_eq!(harness.store.outbox_overview().await.unwrap().pending, 4 + 880);
    assert_eq!(harness.store.requeue_failed(WebhookId(999)).await.unwrap(), None);
}
