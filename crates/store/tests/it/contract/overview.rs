//! U6: how feeds and subscriptions stand, in numbers.

use domain::{ingest::PollOutcome, overview::FeedOverview, push::SubscriptionState};

use super::{
    Harness,
    given::{HOUR, result, unchanged},
    given_push::HUB_LEASE,
};

contract! {
    u6_feeds_and_subscriptions_are_counted,
}

async fn u6_feeds_and_subscriptions_are_counted(harness: &Harness) {
    let overview = async || harness.store.feed_overview().await.unwrap();
    assert_eq!(overview().await, FeedOverview::default());
    let ids = harness.import(&["http://e.org/1", "http://e.org/2", "http://e.org/3", "http://e.org/4"]).await;
    assert_eq!(overview().await, FeedOverview { all: 4, due: 4, ..FeedOverview::default() });
    let failed = harness.claim(ids[0]).await;
    harness.finish(result(&failed, PollOutcome::Failed("500".to_owned()))).await;
    let gone = harness.claim(ids[1]).await;
    harness.finish(result(&gone, PollOutcome::Gone("410".to_owned()))).await;
    let fine = harness.claim(ids[2]).await;
    harness.finish(unchanged(&fine)).await;
    let stands = FeedOverview { all: 4, due: 1, failing: 1, gone: 1, ..FeedOverview::default() };
    assert_eq!(overview().await, stands);
    harness.pushed("http://e.org/5", "token").await;
    let left = overview().await.lease_left_min.unwrap();
    assert!(left <= HUB_LEASE && left + HOUR > HUB_LEASE, "{left:?}");
    harness.advance(HOUR).await;
    let now = overview().await;
    assert_eq!((now.all, now.due, now.pushed), (5, 3, 1));
    assert_eq!(now.subscriptions, [(SubscriptionState::Active, 1)]);
    assert_eq!(now.lease_left_min, left.checked_sub(HOUR));
}
