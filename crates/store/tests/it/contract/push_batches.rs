//! W5: pushes, changes of subscriptions and looks at tokens that come together: each is as it would be alone.

use domain::{
    SubscriptionId,
    delivery::EventType,
    ingest::Stored,
    ports::{Batched, Changed, Claim, StoreError, StoreResult, SubscriptionChange},
    push::{Push, PushStored, RenewalRules, SubscriptionEvent},
};

use super::{
    Harness,
    given::{HOUR, entry, titles, version},
    given_push::{HUB_LEASE, asking, denied, push, verified},
};

contract! {
    w5_batched_pushes_are_stored_as_if_alone,
    w5_batched_pushes_for_one_subscription_are_ordered,
    w5_failed_push_loses_no_other_of_its_batch,
    w5_batched_pushes_queue_events_in_the_transaction,
    w6_batches_keep_proof_of_secrets_per_subscription,
    w8_changes_of_a_batch_are_made_as_if_each_were_alone,
    w3_tokens_are_looked_up_together_in_their_order,
}

fn stored(new: u32, changed: u32) -> PushStored {
    PushStored::Stored(Stored { applied: true, new, changed, completed: 0 })
}

/// What is returned as locked is done by itself, as whoever gives a batch does.
impl Harness {
    async fn push_all(&self, pushes: Vec<Push>) -> Vec<StoreResult<PushStored>> {
        let mut outcomes = Vec::new();
        for outcome in self.store.push_all(pushes).await.unwrap() {
            outcomes.push(match outcome {
                Ok(Batched::Done(stored)) => Ok(stored),
                Ok(Batched::Locked(push)) => self.store.push(push).await,
                Err(error) => Err(error),
            });
        }
        outcomes
    }

    async fn change_all(&self, changes: Vec<(SubscriptionId, Claim, SubscriptionEvent)>) -> Vec<Changed> {
        let rules = RenewalRules::default();
        let changes = changes.into_iter().map(|(id, claim, event)| SubscriptionChange { id, claim, event, rules });
        let mut outcomes = Vec::new();
        for outcome in self.store.change_subscriptions(changes.collect()).await.unwrap() {
            outcomes.push(match outcome.unwrap() {
                Batched::Done(answer) => answer,
                Batched::Locked(SubscriptionChange { id, claim, event, .. }) => {
                    self.change_under(id, claim, event).await
                }
            });
        }
        outcomes
    }
}

async fn w5_batched_pushes_are_stored_as_if_alone(harness: &Harness) {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let (one, first) = harness.pushed("http://e.org/1", "one").await;
    let (two, second) = harness.pushed("http://e.org/2", "two").await;
    let (gone, third) = harness.pushed("http://e.org/3", "three").await;
    let (_, fourth) = harness.pushed("http://e.org/4", "four").await;
    let into = domain::FeedPatch { folder_id: Some(Some(folder)), ..domain::FeedPatch::default() };
    harness.store.update_feed(two, into).await.unwrap();
    harness.push(push(first, "one", vec![entry("1")])).await;
    harness.store.delete_feed(gone).await.unwrap();
    harness.done(fourth, denied()).await;
    harness.advance(HOUR).await;
    let poll_in = Some(HOUR);
    let outcomes = harness
        .push_all(vec![
            push(SubscriptionId(999), "no", vec![entry("no")]),
            push(first, "one", vec![entry("a"), version("1", "changed"), entry("a")]),
            push(third, "three", vec![entry("no")]),
            push(fourth, "four", vec![entry("no")]),
            Push { poll_in, ..push(second, "two", vec![entry("b"), entry("a")]) },
        ])
        .await;
    let expected = [PushStored::NotActive, stored(1, 1), PushStored::NoFeed, PushStored::NotActive, stored(2, 0)];
    assert_eq!(outcomes, expected.map(Ok));
    assert_eq!((harness.unread_of(one).await, harness.unread_of(two).await), (2, 2));
    assert_eq!(harness.entry("1").await.title.as_deref(), Some("changed"));
    let in_folder = domain::EntryFilter { folder_id: Some(folder), ..domain::EntryFilter::default() };
    assert_eq!(titles(&harness.entries(in_folder).await), ["b", "a"], "the first in the document is the newest");
    for feed in [one, two] {
        let count = if feed == one { 2 } else { 1 };
        let subscription = harness.current(feed).await;
        assert_eq!((subscription.push_count, subscription.last_push_at), (count, Some(harness.now())));
    }
    assert_eq!(harness.feed(two).await.next_check_at, harness.now() + HOUR);
    assert_ne!(harness.feed(one).await.next_check_at, harness.now() + HOUR);
    assert_eq!(harness.all().await.len(), 4);
    assert_eq!(harness.push_all(vec![]).await, []);
}

async fn w5_batched_pushes_for_one_subscription_are_ordered(harness: &Harness) {
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    let (_, other) = harness.pushed("http://e.org/2", "other").await;
    let batch = vec![
        push(id, "secret", vec![version("1", "first")]),
        push(other, "other", vec![entry("1")]),
        push(id, "secret", vec![version("1", "second"), entry("2")]),
        push(id, "secret", vec![version("1", "second"), entry("2")]),
    ];
    assert_eq!(harness.push_all(batch).await, [stored(1, 0), stored(1, 0), stored(1, 1), stored(0, 0)].map(Ok));
    assert_eq!((harness.unread_of(feed).await, harness.current(feed).await.push_count), (2, 3));
}

async fn w5_failed_push_loses_no_other_of_its_batch(harness: &Harness) {
    let mut ids = Vec::new();
    for number in 0..4 {
        ids.push(harness.pushed(&format!("http://e.org/{number}"), &format!("token {number}")).await.1);
    }
    harness.tamper("CREATE UNIQUE INDEX only_one ON entries (guid) WHERE guid = 'bad'").await;
    harness.tamper(&format!("UPDATE subscriptions SET secrets = 'nonsense' WHERE id = {}", ids[3].0)).await;
    let batch = ["good", "bad", "bad", "good"].iter().enumerate();
    let batch = batch.map(|(number, guid)| push(ids[number], &format!("token {number}"), vec![entry(guid)]));
    let outcomes = harness.push_all(batch.collect()).await;
    assert_eq!(outcomes[..2], [Ok(stored(1, 0)), Ok(stored(1, 0))]);
    for failed in &outcomes[2..] {
        assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
    }
    assert_eq!(harness.all().await.len(), 2);
    harness.tamper(&format!("UPDATE subscriptions SET secrets = '[]' WHERE id = {}", ids[3].0)).await;
    let counts: Vec<u64> = harness.subscriptions().await.iter().map(|known| known.push_count).collect();
    assert_eq!(counts, [1, 1, 0, 0]);
}

async fn w5_batched_pushes_queue_events_in_the_transaction(harness: &Harness) {
    let (one, first) = harness.pushed("http://e.org/1", "one").await;
    let (two, second) = harness.pushed("http://e.org/2", "two").await;
    harness.push(push(second, "two", vec![entry("old")])).await;
    harness.webhook("https://r.org/1").await;
    harness.advance(HOUR).await;
    let batch = vec![
        push(first, "one", vec![entry("2"), entry("1")]),
        push(second, "two", vec![entry("3"), version("old", "changed")]),
    ];
    assert_eq!(harness.push_all(batch).await, [stored(2, 0), stored(1, 1)].map(Ok));
    let mut drained: Vec<_> = harness
        .drain()
        .await
        .iter()
        .map(|(job, data)| (job.kind, data["feed"]["id"].as_i64(), data["entry"]["title"].as_str().map(str::to_owned)))
        .collect();
    drained.sort_by_key(|(_, feed, title)| (*feed, title.clone()));
    let expected = |kind, feed: domain::FeedId, title: &str| (kind, Some(feed.0), Some(title.to_owned()));
    let (created, updated) = (EventType::EntryCreated, EventType::EntryUpdated);
    let all = [
        expected(created, one, "1"),
        expected(created, one, "2"),
        expected(created, two, "3"),
        expected(updated, two, "changed"),
    ];
    assert_eq!(drained, all);
}

async fn w6_batches_keep_proof_of_secrets_per_subscription(harness: &Harness) {
    let (one, first) = harness.pushed("http://e.org/1", "one").await;
    let (two, second) = harness.pushed("http://e.org/2", "two").await;
    for id in [first, second] {
        harness.done(id, asking("newer")).await;
    }
    harness.push_all(vec![push(first, "newer", vec![]), push(second, "two", vec![])]).await;
    let secrets =
        |feed| async move { harness.current(feed).await.secrets.newest_first().map(str::to_owned).collect::<Vec<_>>() };
    assert_eq!(
        (secrets(one).await, secrets(two).await),
        (vec!["newer".to_owned()], vec!["newer".to_owned(), "two".to_owned()])
    );
    assert!(harness.current(one).await.secrets.is_proven("newer"));
    assert!(harness.current(two).await.secrets.is_proven("two"));
}

async fn w8_changes_of_a_batch_are_made_as_if_each_were_alone(harness: &Harness) {
    let (one, first) = harness.with_hub("http://e.org/1", "one").await;
    let (two, second) = harness.with_hub("http://e.org/2", "two").await;
    let (three, third) = harness.with_hub("http://e.org/3", "three").await;
    let mut jobs = harness.claim_due("worker", 10).await;
    jobs.sort_by_key(|job| job.subscription.id);
    let leases: Vec<_> = jobs.iter().map(|job| job.lease.clone()).collect();
    let mut lost = leases[2].clone();
    lost.fence += 1;
    let changed = harness
        .change_all(vec![
            (first, Claim::Under(leases[0].clone()), asking("one")),
            (SubscriptionId(999), Claim::None, SubscriptionEvent::Retry),
            (second, Claim::Ends(leases[1].clone()), SubscriptionEvent::TimePassed),
            (third, Claim::Ends(lost), asking("three")),
            (first, Claim::None, verified(HUB_LEASE)),
            (second, Claim::None, SubscriptionEvent::Pushed { secret: "two".to_owned() }),
        ])
        .await;
    let is_done = |changed: &Changed| matches!(changed, Changed::Done(_));
    assert_eq!(changed.iter().map(is_done).collect::<Vec<_>>(), [true, false, true, false, true, false]);
    assert_eq!((&changed[1], &changed[3], &changed[5]), (&Changed::NotFound, &Changed::NotFound, &Changed::Refused));
    assert!(harness.current(one).await.is_active());
    assert!(!harness.current(two).await.is_active());
    assert!(!harness.current(three).await.is_active());
    // Only the lease of the second has ended.
    assert_eq!(
        harness.claim_due("other", 10).await.iter().map(|job| job.subscription.id).collect::<Vec<_>>(),
        [second]
    );
}

async fn w3_tokens_are_looked_up_together_in_their_order(harness: &Harness) {
    let (_, first) = harness.with_hub("http://e.org/1", "one").await;
    let (_, second) = harness.with_hub("http://e.org/2", "two").await;
    let (_, third) = harness.with_hub("http://e.org/3", "three").await;
    harness.tamper(&format!("UPDATE subscriptions SET secrets = 'nonsense' WHERE id = {}", third.0)).await;
    let tokens = ["two", "none", "three", "one", "two", "no\0such"].map(str::to_owned).to_vec();
    let found = harness.store.targets_by_token(tokens).await.unwrap();
    let ids: Vec<_> = found
        .iter()
        .map(|target| target.as_ref().map(|target| target.as_ref().map(|target| target.subscription.id)))
        .collect();
    assert!(matches!(ids[2], Err(StoreError::Failed(_))));
    assert_eq!(
        [ids[0], ids[1], ids[3], ids[4], ids[5]].map(Result::ok),
        [Some(Some(second)), Some(None), Some(Some(first)), Some(Some(second)), Some(None)]
    );
    assert_eq!(harness.store.targets_by_token(vec![]).await, Ok(vec![]));
}
