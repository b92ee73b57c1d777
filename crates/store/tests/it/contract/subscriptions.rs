//! W2 to W4, W9, W10 and W13: what becomes of subscriptions, and of their feeds with them.

use std::time::Duration;

use domain::{
    SubscriptionId,
    ingest::PollOutcome,
    ports::{Changed, Claim},
    push::{Mode, SubscriptionEvent, SubscriptionState as State, VERIFY_WITHIN},
};

use super::{
    Harness,
    given::{HOUR, LEASE, fetched, result, unchanged},
    given_push::{
        BASE, DAY, HUB_LEASE, OTHER_HUB, TOPIC, asking, by_anybody, denied, failed, found, push, unsubscribed, verified,
    },
};

contract! {
    w2_the_row_exists_before_the_hub_is_asked,
    w3_subscriptions_are_found_by_token_and_by_topic,
    w3_verification_without_token_is_untrusted_until_push,
    w3_without_token_only_pending_requests_change,
    w4_verified_feed_is_pushed_and_polled_once,
    w4_what_is_refused_changes_nothing,
    w6_a_renewal_does_not_touch_the_feed,
    w9_what_is_answered_is_what_is_kept,
    w9_fifth_failure_ends_push,
    w9_expired_lease_ends_push,
    w9_a_feed_that_is_gone_is_not_woken,
    w9_a_hubs_reason_may_be_anything,
    w10_subscription_outlives_feed_until_hub_confirms,
    w10_what_no_hub_knows_of_goes_with_its_feed,
    w10_unnoticed_expiry_ends_push,
    w13_subscriptions_are_listed_by_feed,
}

async fn w2_the_row_exists_before_the_hub_is_asked(harness: &Harness) {
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    harness.advance(HOUR).await;
    let before = harness.current(feed).await;
    let transition = harness.done(id, asking("secret")).await;
    let after = harness.current(feed).await;
    assert_eq!((&transition.before, transition.after.as_ref()), (&before, Some(&after)));
    assert_eq!((after.asked, after.state), (Some(Mode::Subscribe), State::Pending));
    assert_eq!(after.secrets.newest_first().collect::<Vec<_>>(), ["secret"]);
    let accepted = harness.done(id, SubscriptionEvent::Accepted).await.after.unwrap();
    assert_eq!((accepted.verify_by, accepted.next_step_at), (Some(harness.after(300)), Some(harness.after(300))));
    assert_eq!(harness.current(feed).await, accepted);
    assert_eq!(harness.change(SubscriptionId(999), SubscriptionEvent::Retry).await, Changed::NotFound);
}

async fn w3_subscriptions_are_found_by_token_and_by_topic(harness: &Harness) {
    let (one, first) = harness.with_hub("http://e.org/1", "one").await;
    let (two, second) = harness.with_hub("http://e.org/2", "two").await;
    let target = harness.store.push_target("two").await.unwrap().unwrap();
    assert_eq!(target.subscription, harness.current(two).await);
    assert_eq!(target.feed_url.as_deref(), Some("http://e.org/2"));
    assert_eq!(harness.store.push_target("three").await.unwrap(), None);
    let with_topic = |topic: &'static str, limit: u32| async move {
        let targets = harness.store.push_targets(topic, limit).await.unwrap();
        targets.into_iter().map(|target| (target.subscription.id, target.feed_url)).collect::<Vec<_>>()
    };
    let [one_url, two_url] = ["http://e.org/1", "http://e.org/2"].map(|url| Some(url.to_owned()));
    assert_eq!(with_topic(TOPIC, 10).await, [(second, two_url.clone()), (first, one_url)], "the newest first");
    assert_eq!(with_topic(TOPIC, 1).await, [(second, two_url.clone())]);
    assert_eq!(with_topic("https://E.org/topic", 10).await, [], "a topic is a string");
    // One that is on its way out is found as well, and without its feed.
    harness.done(first, asking("secret")).await;
    harness.store.delete_feed(one).await.unwrap();
    assert_eq!(with_topic(TOPIC, 10).await, [(second, two_url), (first, None)]);
    assert_eq!(harness.store.push_target("one").await.unwrap().unwrap().feed_url, None);
}

async fn w3_verification_without_token_is_untrusted_until_push(harness: &Harness) {
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    let confirm = async |secret: &str| {
        harness.done(id, asking(secret)).await;
        harness.done(id, SubscriptionEvent::Accepted).await;
        harness.done(id, by_anybody(verified(HUB_LEASE))).await;
        assert!(harness.current(feed).await.is_active());
        assert_eq!(harness.feed(feed).await.next_check_at, harness.now(), "it is polled at once");
        harness.advance(LEASE).await;
        harness.poll(feed, vec![]).await;
        assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR, "and then as usual");
    };
    let push_and_poll = async |secret: &str| {
        harness.push(push(id, secret, vec![])).await;
        harness.advance(LEASE).await;
        harness.poll(feed, vec![]).await;
        assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY, "the hub is known to push");
    };
    confirm("first").await;
    push_and_poll("first").await;
    // A renewal that anybody may have confirmed.
    confirm("second").await;
    push_and_poll("second").await;
}

async fn w3_without_token_only_pending_requests_change(harness: &Harness) {
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    harness.done(id, asking("secret")).await;
    harness.done(id, SubscriptionEvent::Accepted).await;
    harness.advance(VERIFY_WITHIN).await;
    let late = harness.current(feed).await;
    for event in [verified(HUB_LEASE), denied(), unsubscribed()] {
        assert_eq!(harness.change(id, by_anybody(event)).await, Changed::Refused);
    }
    assert_eq!(harness.current(feed).await, late);
    // A denial in the middle of a renewal fails the renewal: push goes on.
    harness.verify(id, "second", HUB_LEASE).await;
    harness.advance(LEASE).await;
    harness.poll(feed, vec![]).await;
    harness.done(id, asking("third")).await;
    let denied = harness.done(id, by_anybody(denied())).await.after.unwrap();
    assert_eq!((denied.state, denied.last_error.as_deref()), (State::Active, Some("no")));
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY);
}

async fn w4_verified_feed_is_pushed_and_polled_once(harness: &Harness) {
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    harness.advance(HOUR / 2).await;
    let active = harness.verify(id, "secret", HUB_LEASE).await;
    assert_eq!(active, harness.current(feed).await);
    assert_eq!((active.state, active.lease_secs), (State::Active, Some(864_000)));
    assert_eq!((active.expires_at, active.activated_at), (Some(harness.now() + HUB_LEASE), Some(harness.now())));
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now());
    harness.advance(LEASE).await;
    let jobs = harness.store.claim_due_polls("worker", 10, LEASE).await.unwrap();
    harness.finish(fetched(&jobs[0], vec![])).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY, "now and then, to check");
    harness.advance(DAY).await;
    let jobs = harness.store.claim_due_polls("worker", 10, LEASE).await.unwrap();
    harness.finish(unchanged(&jobs[0])).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + DAY);
    // What fails is asked again as usual.
    let job = harness.claim(feed).await;
    harness.finish(result(&job, PollOutcome::Failed("no".to_owned()))).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR);
}

async fn w4_what_is_refused_changes_nothing(harness: &Harness) {
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    let before = harness.current(feed).await;
    // Nobody has asked the hub yet.
    assert_eq!(harness.change(id, verified(HUB_LEASE)).await, Changed::Refused);
    assert_eq!(harness.change(id, unsubscribed()).await, Changed::Refused);
    assert_eq!(harness.change(id, SubscriptionEvent::Pushed { secret: "secret".to_owned() }).await, Changed::Refused);
    assert_eq!(harness.current(feed).await, before);
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR);
}

async fn w6_a_renewal_does_not_touch_the_feed(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "first").await;
    let before = harness.feed(feed).await;
    harness.advance(HOUR).await;
    harness.done(id, asking("second")).await;
    let asked = harness.current(feed).await;
    assert!(asked.is_active());
    assert_eq!(asked.secrets.newest_first().collect::<Vec<_>>(), ["second", "first"]);
    harness.done(id, SubscriptionEvent::Accepted).await;
    let renewed = harness.done(id, verified(HUB_LEASE)).await.after.unwrap();
    assert_eq!(renewed.expires_at, Some(harness.now() + HUB_LEASE));
    assert_eq!(harness.feed(feed).await.next_check_at, before.next_check_at);
}

async fn w9_what_is_answered_is_what_is_kept(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    // A fifth of what is left of the lease is no whole number of milliseconds.
    harness.advance(Duration::from_millis(1)).await;
    harness.done(id, asking("secret")).await;
    let failed = harness.done(id, failed()).await.after;
    assert_eq!(failed, Some(harness.current(feed).await));
}

async fn w9_fifth_failure_ends_push(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    for failure in 1..=5 {
        harness.advance(HOUR).await;
        harness.done(id, asking(&failure.to_string())).await;
        let after = harness.done(id, failed()).await.after.unwrap();
        assert_eq!((after.error_count, after.is_active()), (failure, failure < 5));
        assert_eq!(after.last_error.as_deref(), Some("Hub unreachable: ECONNREFUSED"));
        assert_eq!(harness.feed(feed).await.next_check_at <= harness.now(), failure == 5);
    }
    let inactive = harness.current(feed).await;
    assert_eq!((inactive.state, inactive.next_step_at), (State::Inactive, Some(harness.now() + DAY)));
    harness.advance(LEASE).await;
    harness.poll(feed, vec![]).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR, "it is polled as usual");
}

async fn w9_expired_lease_ends_push(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    harness.advance(HOUR * 239).await;
    harness.poll(feed, vec![]).await;
    harness.advance(HOUR).await;
    assert!(harness.feed(feed).await.next_check_at > harness.now());
    let ended = harness.done(id, SubscriptionEvent::TimePassed).await.after.unwrap();
    assert_eq!((ended.state, ended.next_step_at), (State::Inactive, Some(harness.now())));
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now());
}

async fn w9_a_feed_that_is_gone_is_not_woken(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    let job = harness.claim(feed).await;
    harness.finish(result(&job, PollOutcome::Gone("410".to_owned()))).await;
    let gone = harness.feed(feed).await;
    harness.advance(LEASE).await;
    harness.done(id, denied()).await;
    harness.store.poll_soon(feed, LEASE).await.unwrap();
    assert_eq!(harness.feed(feed).await.next_check_at, gone.next_check_at);
    assert_eq!(harness.store.next_poll_in().await.unwrap(), None);
}

async fn w9_a_hubs_reason_may_be_anything(harness: &Harness) {
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    let reason = Some("'; DROP TABLE\0 Ünïcödé".to_owned());
    let denied = harness.done(id, SubscriptionEvent::Denied { reason, only_if_asked: false }).await.after;
    let current = harness.current(feed).await;
    assert_eq!(current.last_error.as_deref(), Some("'; DROP TABLE Ünïcödé"));
    assert_eq!(denied, Some(current));
}

async fn w10_subscription_outlives_feed_until_hub_confirms(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    harness.advance(HOUR).await;
    assert!(harness.store.delete_feed(feed).await.unwrap());
    let left = harness.store.subscription(id).await.unwrap().unwrap();
    assert_eq!((left.feed_id, left.state, left.is_current), (None, State::Unsubscribing, false));
    assert_eq!(left.next_step_at, Some(harness.now()));
    assert_eq!(harness.change(id, verified(HUB_LEASE)).await, Changed::Refused);
    let job = harness.claim_due("worker", 10).await.remove(0);
    let ask = SubscriptionEvent::Asking { mode: Mode::Unsubscribe, secret: None, base_url: BASE.to_owned() };
    let asked = harness.change_under(id, Claim::Under(job.lease.clone()), ask).await;
    assert!(matches!(asked, Changed::Done(_)), "{asked:?}");
    // The hub verifies before it answers.
    assert_eq!(harness.done(id, unsubscribed()).await.after, None);
    assert_eq!(harness.change_under(id, Claim::Ends(job.lease), SubscriptionEvent::Accepted).await, Changed::NotFound);
    assert_eq!(harness.subscriptions().await, []);
    assert_eq!(harness.by_token("token").await, None);
    // Another is kept until its lease has run out.
    let (feed, id) = harness.pushed("http://e.org/1", "again").await;
    harness.store.delete_feed(feed).await.unwrap();
    harness.advance(HUB_LEASE).await;
    assert_eq!(harness.done(id, SubscriptionEvent::TimePassed).await.after, None);
    assert_eq!(harness.store.next_step_in().await.unwrap(), None);
}

async fn w10_what_no_hub_knows_of_goes_with_its_feed(harness: &Harness) {
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    assert!(harness.store.delete_feed(feed).await.unwrap());
    assert_eq!(harness.store.subscription(id).await.unwrap(), None);
    assert_eq!(harness.subscriptions().await, []);
}

async fn w10_unnoticed_expiry_ends_push(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    harness.advance(HOUR * 239).await;
    harness.poll(feed, vec![]).await;
    // The machine was off when the lease ran out.
    harness.advance(HOUR * 2).await;
    assert_eq!(harness.done(id, SubscriptionEvent::Unwanted).await.after, None);
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now());
    harness.advance(LEASE).await;
    harness.finish(unchanged(&harness.claim(feed).await)).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now() + HOUR);
}

async fn w13_subscriptions_are_listed_by_feed(harness: &Harness) {
    let (one, first) = harness.pushed("http://e.org/1", "one").await;
    let (two, second) = harness.pushed("http://e.org/2", "two").await;
    let (_, third) = harness.pushed("http://e.org/3", "three").await;
    harness.discover(two, vec![], found(&[OTHER_HUB], None, "four")).await;
    let fourth = harness.current(two).await.id;
    harness.store.delete_feed(one).await.unwrap();
    let listed: Vec<_> = harness.subscriptions().await.into_iter().map(|listed| listed.id).collect();
    assert_eq!(listed, [second, fourth, third, first], "those without a feed last");
    assert_eq!(harness.feed(two).await.subscription.unwrap().hub_url, OTHER_HUB);
}
