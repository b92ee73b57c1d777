//! W1 and W11: what a feed says about push is kept, and followed.

use domain::{
    FeedId, FeedPatch,
    ingest::PollResult,
    push::{SubscriptionEvent, SubscriptionState as State},
};

use super::{
    Harness,
    given::{HOUR, address, entry, new_feed, unchanged},
    given_push::{BASE, HUB, OTHER_HUB, TOPIC, asking, discovered, found, found_without_push, offer},
};

contract! {
    w1_new_feed_with_hub_has_due_subscription,
    w1_a_poll_that_finds_a_hub_makes_one_subscription,
    w1_no_hub_is_no_subscription,
    w1_what_is_known_is_not_written_again,
    w1_without_a_topic_the_url_is_the_topic_also_after_a_move,
    w1_another_hub_means_another_subscription,
    w1_another_topic_means_another_subscription,
    w1_a_hub_that_is_named_no_longer_is_left,
    w1_a_subscription_that_no_hub_knows_of_is_forgotten,
    w1_hubs_are_kept_in_order_and_the_first_is_taken,
    w1_a_text_that_no_store_takes_makes_no_second_subscription,
    w11_an_answer_that_brings_nothing_says_nothing_about_push,
    w11_another_url_forgets_the_hubs,
}

async fn w1_new_feed_with_hub_has_due_subscription(harness: &Harness) {
    let mut new = new_feed("http://e.org/1", vec![entry("1")]);
    new.document.found = Some(found(&[HUB], Some(TOPIC), "token"));
    let feed = harness.add_feed(new).await;
    let subscription = harness.current(feed.id).await;
    assert_eq!(feed.subscription, Some((&subscription).into()), "the answer has it");
    assert_eq!(feed.next_check_at, harness.after(3600), "it is polled as usual until the hub has verified");
    assert_eq!((subscription.state, subscription.feed_id), (State::Pending, Some(feed.id)));
    assert_eq!((subscription.hub_url.as_str(), subscription.topic_url.as_str()), (HUB, TOPIC));
    assert_eq!((subscription.token.as_str(), subscription.base_url.as_str()), ("token", BASE));
    assert_eq!(subscription.next_step_at, Some(harness.now()));
    assert!(subscription.secrets.is_empty() && subscription.asked.is_none() && subscription.expires_at.is_none());
    assert_eq!(harness.store.feeds().await.unwrap(), [feed]);
    assert_eq!(harness.subscriptions().await, [subscription]);
}

async fn w1_a_poll_that_finds_a_hub_makes_one_subscription(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let stored = harness.discover(id, vec![entry("1")], found(&[HUB], Some(TOPIC), "first")).await;
    assert_eq!((stored.applied, stored.new), (true, 1));
    let subscription = harness.current(id).await;
    assert_eq!((subscription.token.as_str(), subscription.next_step_at), ("first", Some(harness.now())));
    assert_eq!(harness.feed(id).await.next_check_at, harness.after(3600));
    harness.discover(id, vec![entry("1")], found(&[HUB], Some(TOPIC), "second")).await;
    assert_eq!(harness.subscriptions().await, [subscription]);
}

async fn w1_no_hub_is_no_subscription(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    harness.discover(id, vec![entry("1")], found(&[], Some(TOPIC), "token")).await;
    assert_eq!(harness.subscriptions().await, []);
    assert_eq!(harness.feed(id).await.subscription, None);
    assert_eq!(harness.store.subscription_of(id).await.unwrap(), None);
    assert_eq!(harness.store.next_step_in().await.unwrap(), None);
}

async fn w1_what_is_known_is_not_written_again(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    let before = harness.current(feed).await;
    harness.advance(HOUR).await;
    harness.discover(feed, vec![], found(&[HUB], Some(TOPIC), "other")).await;
    assert_eq!(harness.subscriptions().await, std::slice::from_ref(&before));
    assert_eq!(harness.store.subscribe(vec![(feed, offer("other"))]).await.unwrap(), 0);
    assert_eq!(harness.subscriptions().await, [before]);
    // Nobody has claimed it on the way.
    harness.done(id, SubscriptionEvent::Retry).await;
    assert_eq!(harness.claim_due("worker", 1).await[0].lease.fence, 1);
}

async fn w1_without_a_topic_the_url_is_the_topic_also_after_a_move(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    harness.discover(id, vec![], found(&[HUB], None, "one")).await;
    assert_eq!(harness.current(id).await.topic_url, "http://e.org/1");
    let other = harness.import(&["http://e.org/taken"]).await[0];
    let job = harness.claim(id).await;
    let moved = discovered(&job, vec![], found(&[HUB], None, "two"));
    harness.finish(PollResult { moved_to: Some(address("http://e.org/taken")), ..moved }).await;
    assert_eq!(harness.current(id).await.token, "one", "it could not move");
    let job = harness.claim(id).await;
    let moved = discovered(&job, vec![], found(&[HUB], None, "two"));
    harness.finish(PollResult { moved_to: Some(address("http://e.org/2")), ..moved }).await;
    let current = harness.current(id).await;
    assert_eq!((current.topic_url.as_str(), current.token.as_str()), ("http://e.org/2", "two"));
    assert_eq!(harness.feed(other).await.subscription, None);
}

async fn w1_another_hub_means_another_subscription(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "old").await;
    harness.advance(HOUR).await;
    harness.discover(feed, vec![], found(&[OTHER_HUB], Some(TOPIC), "new")).await;
    let new = harness.current(feed).await;
    assert_eq!((new.hub_url.as_str(), new.token.as_str(), new.state), (OTHER_HUB, "new", State::Pending));
    let old = harness.store.subscription(id).await.unwrap().unwrap();
    assert_eq!((old.state, old.is_current, old.feed_id), (State::Unsubscribing, false, Some(feed)));
    assert_eq!((old.token.as_str(), old.next_step_at), ("old", Some(harness.now())));
    assert_eq!(harness.subscriptions().await, [old, new]);
    // Nobody pushes it now.
    harness.finish(unchanged(&harness.claim(feed).await)).await;
    assert_eq!(harness.feed(feed).await.next_check_at, harness.after(3600));
}

async fn w1_another_topic_means_another_subscription(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "old").await;
    harness.discover(feed, vec![], found(&[HUB], Some("https://e.org/TOPIC"), "new")).await;
    let new = harness.current(feed).await;
    assert_eq!((new.topic_url.as_str(), new.token.as_str()), ("https://e.org/TOPIC", "new"));
    assert_eq!(harness.store.subscription(id).await.unwrap().unwrap().state, State::Unsubscribing);
    assert_eq!(harness.store.subscribe(vec![(feed, offer("unused"))]).await.unwrap(), 0, "it is kept");
    // The document names none any more: the URL is the topic.
    harness.discover(feed, vec![], found(&[HUB], None, "third")).await;
    assert_eq!(harness.current(feed).await.topic_url, "http://e.org/1");
    assert_eq!(harness.store.subscribe(vec![(feed, offer("unused"))]).await.unwrap(), 0);
}

async fn w1_a_hub_that_is_named_no_longer_is_left(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    harness.discover(feed, vec![], found(&[], None, "other")).await;
    assert_eq!(harness.feed(feed).await.subscription, None);
    assert_eq!(harness.subscriptions().await.len(), 1);
    let left = harness.store.subscription(id).await.unwrap().unwrap();
    assert_eq!(left.state, State::Unsubscribing);
    // It is named again: that is another subscription.
    harness.discover(feed, vec![], found(&[HUB], Some(TOPIC), "again")).await;
    assert_eq!(harness.current(feed).await.token, "again");
    assert_eq!(harness.store.subscription(id).await.unwrap(), Some(left));
}

async fn w1_a_subscription_that_no_hub_knows_of_is_forgotten(harness: &Harness) {
    let (feed, id) = harness.with_hub("http://e.org/1", "old").await;
    harness.discover(feed, vec![], found(&[OTHER_HUB], Some(TOPIC), "new")).await;
    assert_eq!(harness.store.subscription(id).await.unwrap(), None);
    assert_eq!(harness.subscriptions().await, [harness.current(feed).await]);
    // One that was asked for may be verified yet.
    let asked = harness.current(feed).await.id;
    harness.done(asked, asking("secret")).await;
    harness.discover(feed, vec![], found(&[HUB], Some(TOPIC), "third")).await;
    assert_eq!(harness.store.subscription(asked).await.unwrap().unwrap().state, State::Unsubscribing);
}

async fn w1_hubs_are_kept_in_order_and_the_first_is_taken(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    harness.discover(id, vec![], found(&[OTHER_HUB, HUB], None, "token")).await;
    let current = harness.current(id).await;
    assert_eq!(current.hub_url, OTHER_HUB);
    harness.discover(id, vec![], found(&[HUB, OTHER_HUB], None, "other")).await;
    assert_eq!(harness.current(id).await, current, "its hub is still one of them");
}

async fn w1_a_text_that_no_store_takes_makes_no_second_subscription(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let odd = || found(&["https://hub.org/\0"], Some("https://e.org/\0"), "token");
    harness.discover(id, vec![], odd()).await;
    let current = harness.current(id).await;
    assert_eq!((current.hub_url.as_str(), current.topic_url.as_str()), ("https://hub.org/", "https://e.org/"));
    harness.discover(id, vec![], odd()).await;
    assert_eq!(harness.subscriptions().await, [current]);
    assert_eq!(harness.store.push_target("no\0such").await.unwrap(), None);
    assert_eq!(harness.store.push_targets("no\0such", 10).await.unwrap(), []);
}

async fn w11_an_answer_that_brings_nothing_says_nothing_about_push(harness: &Harness) {
    let (feed, _) = harness.pushed("http://e.org/1", "token").await;
    let before = harness.subscriptions().await;
    harness.finish(unchanged(&harness.claim(feed).await)).await;
    harness.poll(feed, vec![]).await;
    assert_eq!(harness.subscriptions().await, before);
    // Push is off: the hubs are kept, and nothing else is done.
    harness.discover(feed, vec![], found_without_push(&[OTHER_HUB], None)).await;
    assert_eq!(harness.subscriptions().await, before);
}

async fn w11_another_url_forgets_the_hubs(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "token").await;
    let patch = FeedPatch { address: Some(address("http://e.org/2")), ..FeedPatch::default() };
    harness.store.update_feed(feed, patch).await.unwrap();
    let changed = harness.feed(feed).await;
    assert_eq!((changed.subscription, changed.next_check_at), (None, harness.now()));
    assert_eq!(harness.store.subscription(id).await.unwrap().unwrap().state, State::Unsubscribing);
    let none = harness.store.feeds_to_subscribe(BASE, FeedId(0), 10).await.unwrap();
    assert_eq!(none, []);
    assert_eq!(harness.store.subscribe(vec![(feed, offer("new"))]).await.unwrap(), 0);
    // What is found there counts.
    harness.discover(feed, vec![], found(&[HUB], None, "new")).await;
    assert_eq!(harness.current(feed).await.topic_url, "http://e.org/2");
}
