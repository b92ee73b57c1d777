//! W3, W9 and W11: what feeds want of push, and what they are given.

use domain::{
    FeedId, FeedPatch,
    ports::UpdateOutcome,
    push::{Offer, SubscriptionState as State},
};

use super::{
    Harness,
    given::{HOUR, LEASE, entry},
    given_push::{BASE, HUB, OTHER_HUB, TOPIC, asking, denied, discovered, found, found_without_push, offer},
};

contract! {
    w3_without_push_the_hubs_are_kept_and_subscribed_at_later,
    w3_feeds_without_a_subscription_are_found_in_order,
    w3_another_base_url_means_to_subscribe_again,
    w3_when_push_is_off_no_subscription_is_wanted,
    w3_many_subscriptions_are_ended_as_well,
    w9_the_next_hub_is_tried_and_later_the_first_again,
    w11_push_can_be_turned_off_for_one_feed,
    w11_feeds_that_are_not_there_are_passed_over,
}

async fn to_subscribe(harness: &Harness, base_url: &str) -> Vec<FeedId> {
    harness.store.feeds_to_subscribe(base_url, FeedId(0), 100).await.unwrap()
}

async fn w3_without_push_the_hubs_are_kept_and_subscribed_at_later(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    harness.discover(id, vec![entry("1")], found_without_push(&[HUB, OTHER_HUB], Some(TOPIC))).await;
    assert_eq!(harness.subscriptions().await, []);
    assert_eq!(harness.feed(id).await.subscription, None);
    assert_eq!(to_subscribe(harness, BASE).await, [id]);
    harness.advance(HOUR).await;
    assert_eq!(harness.store.subscribe(vec![(id, offer("token"))]).await.unwrap(), 1);
    let current = harness.current(id).await;
    assert_eq!((current.hub_url.as_str(), current.topic_url.as_str()), (HUB, TOPIC));
    assert_eq!((current.token.as_str(), current.next_step_at), ("token", Some(harness.now())));
    assert_eq!(to_subscribe(harness, BASE).await, []);
    assert_eq!(harness.store.subscribe(vec![(id, offer("other"))]).await.unwrap(), 0);
    assert_eq!(harness.subscriptions().await, [current]);
}

async fn w3_feeds_without_a_subscription_are_found_in_order(harness: &Harness) {
    let urls: Vec<String> = (0..6).map(|number| format!("http://e.org/{number}")).collect();
    let ids = harness.import(&urls.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for (place, id) in ids.iter().enumerate() {
        // The third has no hub, and the fourth no topic of its own.
        let hubs: &[&str] = if place == 2 { &[] } else { &[HUB] };
        harness.discover(*id, vec![], found_without_push(hubs, Some(TOPIC).filter(|_| place != 3))).await;
    }
    let find = |after: FeedId, limit: u32| harness.store.feeds_to_subscribe(BASE, after, limit);
    assert_eq!(find(FeedId(0), 2).await.unwrap(), [ids[0], ids[1]]);
    assert_eq!(find(ids[1], 2).await.unwrap(), [ids[3], ids[4]]);
    assert_eq!(find(ids[4], 2).await.unwrap(), [ids[5]]);
    assert_eq!(find(ids[5], 2).await.unwrap(), []);
    let offers = ids.iter().enumerate().map(|(place, id)| (*id, offer(&place.to_string()))).collect();
    assert_eq!(harness.store.subscribe(offers).await.unwrap(), 5);
    assert_eq!(harness.current(ids[3]).await.topic_url, "http://e.org/3");
    assert_eq!(find(FeedId(0), 10).await.unwrap(), []);
}

async fn w3_another_base_url_means_to_subscribe_again(harness: &Harness) {
    const NEW: &str = "https://new.org";
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    assert_eq!(to_subscribe(harness, BASE).await, []);
    assert_eq!(to_subscribe(harness, NEW).await, [feed]);
    harness.advance(HOUR).await;
    let moved = || vec![(feed, Offer { token: "unused".to_owned(), base_url: NEW.to_owned() })];
    assert_eq!(harness.store.subscribe(moved()).await.unwrap(), 1);
    let current = harness.current(feed).await;
    assert_eq!((current.id, current.token.as_str(), current.base_url.as_str()), (id, "token", NEW));
    assert_eq!((current.state, current.next_step_at), (State::Pending, Some(harness.now())));
    assert_eq!(harness.feed(feed).await.next_check_at, harness.now(), "what is pushed goes where we are not any more");
    assert_eq!(harness.store.subscribe(moved()).await.unwrap(), 0);
    assert_eq!(to_subscribe(harness, NEW).await, []);
    // A poll does the same.
    harness.discover(feed, vec![], found(&[HUB], Some(TOPIC), "unused")).await;
    assert_eq!(harness.current(feed).await.base_url, BASE);
}

async fn w3_when_push_is_off_no_subscription_is_wanted(harness: &Harness) {
    let (fresh, _) = harness.with_hub("http://e.org/1", "fresh").await;
    let (asked, asked_id) = harness.with_hub("http://e.org/2", "asked").await;
    harness.done(asked_id, asking("secret")).await;
    let (active, active_id) = harness.pushed("http://e.org/3", "active").await;
    harness.advance(HOUR / 2).await;
    assert_eq!(harness.store.stop_push().await.unwrap(), 3);
    let left: Vec<_> = harness.subscriptions().await.into_iter().map(|left| (left.id, left.state)).collect();
    assert_eq!(left, [(asked_id, State::Unsubscribing), (active_id, State::Unsubscribing)]);
    for feed in [fresh, asked, active] {
        assert_eq!(harness.feed(feed).await.subscription, None);
    }
    assert_eq!(harness.feed(active).await.next_check_at, harness.now());
    assert!(harness.feed(asked).await.next_check_at > harness.now());
    assert_eq!(harness.store.stop_push().await.unwrap(), 0);
    // Their hubs are told.
    assert_eq!(harness.claim_due("worker", 10).await.len(), 2);
}

async fn w3_many_subscriptions_are_ended_as_well(harness: &Harness) {
    const FEEDS: u32 = 1_200;
    let urls: Vec<String> = (0..FEEDS).map(|number| format!("http://e.org/{number}")).collect();
    harness.import(&urls.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let jobs = harness.store.claim_due_polls("worker", FEEDS, LEASE).await.unwrap();
    let results = jobs.iter().map(|job| discovered(job, vec![], found(&[HUB], None, &job.feed_id.to_string())));
    for stored in harness.store.finish_polls(results.collect()).await.unwrap() {
        assert!(stored.unwrap().applied);
    }
    let jobs = harness.claim_due("worker", FEEDS).await;
    assert_eq!(jobs.len(), 1_200);
    for job in jobs.iter().take(3) {
        harness.done(job.subscription.id, asking("secret")).await;
    }
    assert_eq!(harness.store.stop_push().await.unwrap(), FEEDS);
    let states: Vec<_> = harness.subscriptions().await.into_iter().map(|left| left.state).collect();
    assert_eq!(states, [State::Unsubscribing; 3]);
}

async fn w9_the_next_hub_is_tried_and_later_the_first_again(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    harness.discover(id, vec![], found(&[HUB, OTHER_HUB], None, "first")).await;
    let first = harness.current(id).await.id;
    harness.done(first, denied()).await;
    harness.advance(HOUR).await;
    assert_eq!(harness.store.subscribe(vec![(id, offer("second"))]).await.unwrap(), 1);
    let second = harness.current(id).await;
    assert_eq!((second.hub_url.as_str(), second.token.as_str()), (OTHER_HUB, "second"));
    let aside = harness.store.subscription(first).await.unwrap().unwrap();
    assert_eq!((aside.state, aside.is_current, aside.next_step_at), (State::Inactive, false, None));
    harness.done(second.id, denied()).await;
    // Both have failed lately: the first is tried again when a day has passed for it.
    assert_eq!(harness.store.subscribe(vec![(id, offer("unused"))]).await.unwrap(), 1);
    assert_eq!(harness.current(id).await.next_step_at, aside.retry_at);
    assert_eq!(harness.store.subscribe(vec![(id, offer("unused"))]).await.unwrap(), 0);
    // A day after the first failed, and not yet one after the second did.
    harness.advance(HOUR * 23).await;
    assert_eq!(harness.store.subscribe(vec![(id, offer("unused"))]).await.unwrap(), 1);
    let again = harness.current(id).await;
    assert_eq!((again.id, again.state, again.next_step_at), (first, State::Pending, Some(harness.now())));
    assert!(!harness.store.subscription(second.id).await.unwrap().unwrap().is_current);
    assert_eq!(harness.subscriptions().await.len(), 2);
}

async fn w11_push_can_be_turned_off_for_one_feed(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    let (other, _) = harness.pushed("http://e.org/2", "other").await;
    harness.advance(HOUR).await;
    let switch = |is_on: bool| FeedPatch { push_enabled: Some(is_on), ..FeedPatch::default() };
    let UpdateOutcome::Updated(changed) = harness.store.update_feed(feed, switch(false)).await.unwrap() else {
        panic!("the feed is there")
    };
    assert_eq!((changed.push_enabled, &changed.subscription), (false, &None));
    assert_eq!(changed.next_check_at, harness.now());
    let left = harness.store.subscription(id).await.unwrap();
    assert_eq!(left.as_ref().map(|left| (left.state, left.is_current)), Some((State::Unsubscribing, false)));
    // Neither a poll nor a request brings it back.
    harness.discover(feed, vec![], found(&[HUB], Some(TOPIC), "new")).await;
    assert_eq!(harness.store.subscribe(vec![(feed, offer("new"))]).await.unwrap(), 0);
    assert_eq!(to_subscribe(harness, BASE).await, []);
    assert_eq!(harness.store.subscription(id).await.unwrap(), left);
    assert_eq!(harness.subscriptions().await.len(), 2);
    assert!(harness.current(other).await.is_active());
    // Turned on, it wants one again.
    harness.store.update_feed(feed, switch(true)).await.unwrap();
    assert_eq!(harness.feed(feed).await.subscription, None);
    assert_eq!(to_subscribe(harness, BASE).await, [feed]);
    assert_eq!(harness.store.subscribe(vec![(feed, offer("new"))]).await.unwrap(), 1);
    assert_eq!(harness.current(feed).await.token, "new");
}

async fn w11_feeds_that_are_not_there_are_passed_over(harness: &Harness) {
    let (feed, _) = harness.with_hub("http://e.org/1", "token").await;
    let other = Offer { token: "unused".to_owned(), base_url: "https://new.org".to_owned() };
    let offers = vec![(FeedId(998), other.clone()), (feed, other.clone()), (FeedId(999), other)];
    assert_eq!(harness.store.subscribe(offers).await.unwrap(), 1);
    assert_eq!(harness.store.subscribe(vec![]).await.unwrap(), 0);
    assert_eq!(harness.subscriptions().await.len(), 1);
}
