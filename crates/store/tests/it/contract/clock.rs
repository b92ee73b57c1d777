//! A clock that was set back makes nothing wait until it has caught up.

use std::time::Duration;

use domain::delivery::Verdict;

use super::{
    Harness,
    given::{HOUR, fetched},
    given_outbox::{SECOND, ids, row},
};

contract! {
    d9_f4_w8_due_times_follow_a_clock_set_back,
}

async fn d9_f4_w8_due_times_follow_a_clock_set_back(harness: &Harness) {
    harness.advance(HOUR * 2).await;
    let watch = || async { harness.store.watch_clock().await.unwrap() };
    assert_eq!(watch().await, None);
    let (_, subscription) = harness.pushed("http://e.org/2", "secret").await;
    // A retry that is due in five seconds, a receiver that asked for as long, and a feed to be polled in a quarter hour.
    let (retried, held) = (harness.webhook("https://r.org/1").await, harness.webhook("https://r.org/2").await);
    let queued = harness.queue(retried, 1).await;
    let job = harness.take_one("worker").await;
    harness.end(&job, Verdict::Retry(SECOND * 5)).await;
    let later = harness.queue(held, 1).await;
    let until = harness.after(5).as_millisecond();
    harness.tamper(&format!("UPDATE webhooks SET held_until = {until} WHERE id = {}", held.0)).await;
    let feed = harness.add("http://e.org/1", vec![]).await;
    let poll = harness.claim(feed).await;
    harness.finish(fetched(&poll, vec![])).await;
    let step_in = harness.store.next_step_in().await.unwrap().unwrap();
    let poll_in = harness.feed(feed).await.next_check_at.duration_since(harness.now());
    let lease = harness.store.subscription(subscription).await.unwrap().unwrap().expires_at.unwrap();
    let lease_left = lease.duration_since(harness.now());
    assert_eq!(watch().await, None);

    harness.set(harness.after(-3600)).await;
    harness.advance(SECOND * 6).await;
    assert_eq!(harness.take("worker", 9).await.len(), 0, "that would be for an hour");
    let back = HOUR.checked_sub(SECOND * 6).unwrap();
    assert_eq!(watch().await, Some(back));
    assert_eq!(watch().await, None, "once");
    assert_eq!(harness.feed(feed).await.next_check_at.duration_since(harness.now()), poll_in);
    assert_eq!(harness.store.next_step_in().await.unwrap(), Some(step_in));
    let lease = harness.store.subscription(subscription).await.unwrap().unwrap().expires_at.unwrap();
    assert_eq!(lease.duration_since(harness.now()), lease_left);
    harness.advance(Duration::from_secs(5)).await;
    let mut taken = ids(&harness.take("worker", 9).await);
    taken.sort();
    assert_eq!(taken, [row(&queued[0]), row(&later[0])]);
    // One that is set right by half a minute is left alone.
    harness.set(harness.after(-30)).await;
    assert_eq!(watch().await, None);
}
