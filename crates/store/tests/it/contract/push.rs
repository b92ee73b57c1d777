//! W5 and W6: what a hub brings is stored, once, and nothing of the feed's state with it.

use std::time::Duration;

use domain::{
    EntryFilter, Feed, FeedId, FeedPatch, SubscriptionId,
    ingest::{Hash, IncomingEntry, PollOutcome, Stored, Validators},
    ports::{MarkRead, PruneLimits},
    push::{PushStored, SubscriptionEvent},
};

use super::{
    Harness,
    given::{HOUR, LEASE, entry, fetched, result, titles, version},
    given_push::{HUB, TOPIC, asking, denied, found, push},
};

contract! {
    w5_a_push_is_stored,
    w5_nothing_of_the_feeds_state_is_in_a_push,
    w5_sent_twice_is_nothing_twice,
    w5_only_an_active_subscription_takes_a_push,
    w5_a_deleted_feed_takes_no_push,
    w5_many_pushes_at_once_are_all_stored,
    w5_what_was_pruned_does_not_come_back_by_push,
    f4_a_slow_poll_does_not_undo_a_newer_push,
    f3_a_push_that_is_late_or_replayed_undoes_nothing,
    w6_an_old_secret_goes_when_a_newer_one_is_seen_at_work,
}

fn stored(new: u32, changed: u32) -> Stored {
    Stored { applied: true, new, changed, completed: 0 }
}

async fn w5_a_push_is_stored(harness: &Harness) {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    let into = FeedPatch { folder_id: Some(Some(folder)), ..FeedPatch::default() };
    harness.store.update_feed(feed, into).await.unwrap();
    harness.advance(HOUR).await;
    assert_eq!(harness.push(push(id, "secret", vec![entry("1"), entry("2")])).await, stored(2, 0));
    assert_eq!(harness.unread_of(feed).await, 2);
    assert_eq!(titles(&harness.all().await), ["1", "2"], "the first in the document is the newest");
    let in_folder =
        EntryFilter { folder_id: Some(folder), search: domain::Search::parse("2").unwrap(), ..EntryFilter::default() };
    assert_eq!(titles(&harness.entries(in_folder).await), ["2"]);
    let subscription = harness.current(feed).await;
    assert_eq!((subscription.push_count, subscription.last_push_at), (1, Some(harness.now())));
    harness.advance(HOUR).await;
    assert_eq!(harness.push(push(id, "secret", vec![entry("3"), version("1", "changed")])).await, stored(1, 1));
    assert_eq!(harness.unread_of(feed).await, 3);
    assert_eq!(harness.entry("1").await.title.as_deref(), Some("changed"));
    // Nothing in it is a push all the same.
    assert_eq!(harness.push(push(id, "secret", vec![])).await, stored(0, 0));
    let subscription = harness.current(feed).await;
    assert_eq!((subscription.push_count, subscription.last_push_at), (3, Some(harness.now())));
}

async fn w5_nothing_of_the_feeds_state_is_in_a_push(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    let validators = Validators { etag: Some("\"1\"".to_owned()), ..Validators::default() };
    let job = harness.claim(feed).await;
    harness.finish(result(&job, PollOutcome::Unchanged(validators.clone()))).await;
    let job = harness.claim(feed).await;
    harness.finish(result(&job, PollOutcome::Failed("no".to_owned()))).await;
    let before = harness.feed(feed).await;
    let job = harness.claim(feed).await;
    harness.advance(Duration::from_secs(1)).await;
    let mut brought = push(id, "secret", vec![entry("1")]);
    brought.document.title = Some("Another".to_owned());
    brought.document.site_url = Some("http://e.org/".to_owned());
    brought.document.validators.etag = Some("\"2\"".to_owned());
    brought.document.hints.ttl_mins = Some(1);
    harness.push(brought).await;
    let after = harness.feed(feed).await;
    let expect = Feed { unread_count: 1, subscription: after.subscription.clone(), ..before };
    assert_eq!(after, expect);
    // The lease of a poll that is under way goes on, and the next one asks with what the last one got.
    assert_eq!(harness.store.renew_polls(&[(feed, job.lease.clone())], LEASE).await.unwrap(), []);
    harness.store.release_polls(&[(feed, job.lease)]).await.unwrap();
    let job = harness.claim(feed).await;
    assert_eq!((job.validators, job.hints.ttl_mins), (validators, None));
}

async fn w5_sent_twice_is_nothing_twice(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    assert_eq!(harness.push(push(id, "secret", vec![entry("1")])).await, stored(1, 0));
    let before = harness.all().await;
    harness.advance(HOUR).await;
    assert_eq!(harness.push(push(id, "secret", vec![entry("1")])).await, stored(0, 0));
    // Nor is what a poll brings, or what stands twice in one push.
    harness.poll(feed, vec![entry("1")]).await;
    assert_eq!(harness.all().await, before);
    let twice = vec![version("2", "first"), version("2", "first"), entry("1")];
    assert_eq!(harness.push(push(id, "secret", twice)).await, stored(1, 0));
    assert_eq!(harness.entry("2").await.title.as_deref(), Some("first"));
    assert_eq!(harness.unread_of(feed).await, 2);
}

async fn w5_only_an_active_subscription_takes_a_push(harness: &Harness) {
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    let refused = |id: SubscriptionId| async move {
        let before = harness.subscriptions().await;
        let stored = harness.store.push(push(id, "secret", vec![entry("1")])).await.unwrap();
        assert_eq!(stored, PushStored::NotActive);
        assert_eq!(harness.subscriptions().await, before);
        assert_eq!(harness.all().await, []);
    };
    refused(SubscriptionId(999)).await;
    refused(id).await;
    harness.done(id, asking("secret")).await;
    refused(id).await;
    harness.verify(id, "secret", HOUR).await;
    harness.done(id, denied()).await;
    refused(id).await;
    harness.verify(id, "secret", HOUR).await;
    harness.done(id, SubscriptionEvent::Unwanted).await;
    refused(id).await;
    assert_eq!(harness.unread_of(feed).await, 0);
}

async fn w5_a_deleted_feed_takes_no_push(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.store.delete_feed(feed).await.unwrap();
    let stored = harness.store.push(push(id, "secret", vec![entry("1")])).await.unwrap();
    assert_eq!(stored, PushStored::NoFeed);
    assert_eq!(harness.all().await, []);
}

async fn w5_many_pushes_at_once_are_all_stored(harness: &Harness) {
    const FEEDS: usize = 4;
    const PUSHES: usize = 64;
    let mut targets: Vec<(FeedId, SubscriptionId)> = Vec::new();
    for number in 0..FEEDS {
        targets.push(harness.pushed(&format!("http://e.org/{number}"), &format!("token {number}")).await);
    }
    let pushes: Vec<_> = (0..PUSHES)
        .map(|number| {
            let (store, (_, id)) = (harness.store.clone(), targets[number % FEEDS]);
            let secret = format!("token {}", number % FEEDS);
            // Each brings one of its own, and one that all bring.
            let entries = vec![entry(&format!("own {number}")), entry("all")];
            tokio::spawn(async move { store.push(push(id, &secret, entries)).await.unwrap() })
        })
        .collect();
    let mut new = 0;
    for push in pushes {
        match push.await.unwrap() {
            PushStored::Stored(stored) => new += stored.new,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(usize::try_from(new).unwrap(), PUSHES + FEEDS);
    for (feed, _) in targets {
        assert_eq!(harness.unread_of(feed).await, 17);
        assert_eq!(harness.current(feed).await.push_count, 16);
    }
}

async fn w5_what_was_pruned_does_not_come_back_by_push(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.push(push(id, "secret", vec![entry("1"), entry("2")])).await;
    harness.store.mark_read(MarkRead::default()).await.unwrap();
    harness.advance(HOUR).await;
    let limits = PruneLimits { read_older_than: Duration::ZERO, unread_older_than: None, per_feed: 1000, chunk: 100 };
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 2);
    assert_eq!(harness.push(push(id, "secret", vec![version("1", "changed")])).await, stored(0, 0));
    // A push is no whole feed: what is not in it may be there still.
    let identities = ["1", "2"].map(|guid| Hash::of(guid.as_bytes()));
    assert_eq!(harness.store.known_entries(feed, &identities).await.unwrap().len(), 2);
    assert_eq!(harness.all().await, []);
}

async fn f4_a_slow_poll_does_not_undo_a_newer_push(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.push(push(id, "secret", vec![version("1", "first")])).await;
    harness.advance(HOUR).await;
    let slow = harness.claim(feed).await;
    harness.advance(Duration::from_millis(1)).await;
    harness.push(push(id, "secret", vec![version("1", "second"), version("2", "new")])).await;
    harness.advance(Duration::from_millis(1)).await;
    let brought = vec![version("1", "slow"), version("2", "slow"), version("3", "slow")];
    let mut late = fetched(&slow, brought);
    if let PollOutcome::Fetched(document) = &mut late.outcome {
        document.validators.etag = Some("\"slow\"".to_owned());
    }
    assert_eq!(harness.finish(late).await, stored(1, 0));
    for (guid, title) in [("1", "second"), ("2", "new"), ("3", "slow")] {
        assert_eq!(harness.entry(guid).await.title.as_deref(), Some(title));
    }
    // The next poll asks for the whole, and may change it.
    let next = harness.claim(feed).await;
    assert_eq!(next.validators, Validators::default());
    assert_eq!(harness.finish(fetched(&next, vec![version("1", "third")])).await, stored(0, 1));
}

async fn f3_a_push_that_is_late_or_replayed_undoes_nothing(harness: &Harness) {
    let (_, id) = harness.pushed("http://e.org/1", "secret").await;
    let of = |text: &str, seconds: i64| {
        let entry = IncomingEntry { updated_at: Some(harness.after(seconds)), ..version("1", text) };
        push(id, "secret", vec![entry])
    };
    let (first, second) = (of("first", -200), of("second", -100));
    assert_eq!(harness.push(first.clone()).await, stored(1, 0));
    harness.advance(HOUR).await;
    assert_eq!(harness.push(second).await, stored(0, 1));
    harness.advance(HOUR).await;
    assert_eq!(harness.push(first).await, stored(0, 0));
    assert_eq!(harness.entry("1").await.title.as_deref(), Some("second"));
}

async fn w6_an_old_secret_goes_when_a_newer_one_is_seen_at_work(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "first").await;
    harness.done(id, asking("second")).await;
    let secrets = || async {
        let current = harness.current(feed).await;
        current.secrets.newest_first().map(str::to_owned).collect::<Vec<_>>()
    };
    for (secret, left) in [("first", vec!["second", "first"]), ("second", vec!["second"]), ("second", vec!["second"])] {
        harness.push(push(id, secret, vec![])).await;
        assert_eq!(secrets().await, left, "{secret}");
    }
    assert!(harness.current(feed).await.secrets.is_proven("second"));
    // What is found meanwhile leaves them as they are.
    harness.discover(feed, vec![], found(&[HUB], Some(TOPIC), "unused")).await;
    assert_eq!(secrets().await, ["second"]);
}
