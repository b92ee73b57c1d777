//! Receivers that refuse some events, or the first attempts of all, or that limit their rate: none of them is starved.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use domain::account::READER;
use domain::delivery::{BreakerRules, DeliveryStatus, Rate};
use engine::DeliverySettings;
use testkit::{Page, Receipt};

use super::setup::{each, quick};

/// Requests that may go out before that of a new event: probes whose waits are shorter than that of a new one, with some
/// more for those that begin at once.
const SENT_BEFORE_NEW_MAX: usize = 10;

/// As the defaults, a hundred times as fast.
fn flaky() -> DeliverySettings {
    let breaker = BreakerRules {
        probe_first: Duration::from_millis(50),
        probe_max: Duration::from_millis(600),
        ..BreakerRules::default()
    };
    DeliverySettings { breaker, ..quick() }
}

/// Refuses the first so many requests of every event with a status.
fn refusing_first(times: u32, status: u16) -> impl FnMut(&Receipt) -> Page {
    let mut seen: HashMap<String, u32> = HashMap::new();
    move |receipt| {
        let seen = seen.entry(receipt.event_id().to_owned()).or_default();
        *seen += 1;
        if *seen > times { Page::ok() } else { Page::status(status) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_flaky_receiver_gets_all_events() {
    for setup in each(flaky()).await {
        setup.webhook("/a").await;
        setup.receiver.answer_by("/a", refusing_first(2, 500));
        let working = setup.work();
        setup.publish(200).await;
        let delivered = setup.wait_delivered().await;
        assert_eq!(delivered.len(), 200);
        for event in delivered.iter().map(|delivery| &delivery.event_id) {
            let receipts = setup.receiver.receipts("/a").all();
            let numbers: Vec<_> =
                receipts.iter().filter(|one| one.event_id() == event).filter_map(Receipt::attempt).collect();
            assert_eq!(numbers, [1, 2, 3], "D3: every request has its own number, probes too");
        }
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_delivers_all_events_refused_once() {
    for setup in each(flaky()).await {
        setup.webhook("/a").await;
        setup.receiver.answer_by("/a", refusing_first(1, 500));
        let working = setup.work();
        setup.publish(20).await;
        assert_eq!(setup.wait_delivered().await.len(), 20);
        assert_eq!(setup.receiver.receipts("/a").count(), 40);
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_delivers_all_events_when_every_tenth_is_refused_twice() {
    for setup in each(flaky()).await {
        setup.webhook("/a").await;
        let (mut seen, mut refuse) = (Vec::<String>::new(), refusing_first(2, 500));
        let answer = move |receipt: &Receipt| {
            let place = seen.iter().position(|event| event == receipt.event_id()).unwrap_or_else(|| {
                seen.push(receipt.event_id().to_owned());
                seen.len() - 1
            });
            if place.is_multiple_of(10) { refuse(receipt) } else { Page::ok() }
        };
        setup.receiver.answer_by("/a", answer);
        let working = setup.work();
        setup.publish(100).await;
        assert_eq!(setup.wait_delivered().await.len(), 100);
        assert_eq!(setup.receiver.receipts("/a").count(), 120, "ten events take three requests");
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_refused_events_delay_no_new_one() {
    for status in [422, 500] {
        for setup in each(flaky()).await {
            setup.webhook("/a").await;
            setup.receiver.answer("/a", Page::status(status));
            let working = setup.work_beside();
            setup.publish(30).await;
            let is_begun = |all: &[Receipt]| {
                let events: HashSet<&str> = all.iter().map(Receipt::event_id).collect();
                // What is refused opens no breaker: all are tried. Otherwise most wait.
                if status == 422 { events.len() == 30 } else { all.len() >= 15 }
            };
            setup.receiver.receipts("/a").wait_until("begun", is_begun).await;
            // Nothing is sent while the new one comes, so that what is sent before it can be counted.
            working.stop().await;
            let refused: Vec<String> = setup.deliveries().await.into_iter().map(|one| one.event_id).collect();
            let answer = move |receipt: &Receipt| {
                let is_refused = refused.iter().any(|event| event == receipt.event_id());
                if is_refused { Page::status(status) } else { Page::ok() }
            };
            setup.receiver.answer_by("/a", answer);
            setup.publish(1).await;
            let (new, sent) = (setup.deliveries().await.remove(0), setup.receiver.receipts("/a").count());
            let working = setup.work();
            let receipts = setup.receiver.receipts("/a");
            let place_of_new = |all: &[Receipt]| all.iter().position(|receipt| receipt.event_id() == new.event_id);
            let all = receipts.wait_until("the new one", |all| place_of_new(all).is_some()).await;
            let before = place_of_new(&all).unwrap() - sent;
            // It has some probes to wait for, not one of each that was refused.
            assert!(before <= SENT_BEFORE_NEW_MAX, "{status}: {before} were sent before it");
            while setup.deliveries().await[0].delivery_status != DeliveryStatus::Delivered {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            working.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_retry_after_is_honoured() {
    for setup in each(flaky()).await {
        setup.webhook("/a").await;
        setup.receiver.answer_next("/a", [Page::status(429).with_retry_after(3600)]);
        let working = setup.work();
        setup.publish(1).await;
        setup.wait_until("tried once", |delivery| delivery.attempts == 1).await;
        // Not what is new either.
        setup.publish(5).await;
        let held = setup.world.store.webhooks(READER).await.unwrap().remove(0);
        assert!(held.held_until.is_some());
        // Nor a test, which releases nothing.
        setup.world.store.test_webhook(READER, held.id).await.unwrap();
        let after = setup.world.store.webhook(READER, held.id).await.unwrap().unwrap();
        assert_eq!(after.held_until, held.held_until);
        assert_eq!(setup.receiver.receipts("/a").all().len(), 1);
        working.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_a_rate_is_kept() {
    for setup in each(flaky()).await {
        setup.webhook_with("/a", |new| new.rate_per_second = Rate::per_second(20.0)).await;
        let begun = tokio::time::Instant::now();
        let working = setup.work();
        setup.publish(20).await;
        setup.wait_delivered().await;
        // No sooner; how much later is the machine's matter.
        assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
        working.stop().await;
    }
}
