//! W8: which subscriptions are due, in which order, and that two workers never hold the same one.

use std::{collections::HashSet, time::Duration};

use domain::{
    Lease, SubscriptionId,
    ports::{Changed, Claim},
    push::SubscriptionEvent,
};

use super::{
    Harness,
    given::{HOUR, LEASE},
    given_push::{DAY, HUB, HUB_LEASE, OTHER_HUB, asking, failed, found, ids, verified},
};

const SECOND: Duration = Duration::from_secs(1);

contract! {
    w8_due_subscriptions_are_claimed_longest_due_first,
    w8_of_many_due_only_so_many_are_taken,
    w8_one_that_cannot_be_read_does_not_stop_the_others,
    w8_busy_hubs_are_passed_over,
    w8_a_claimed_subscription_is_nobody_elses,
    w8_many_workers_at_once_never_claim_the_same_subscription,
    w8_expired_lease_is_claimed_with_higher_fence,
    w8_a_late_change_changes_nothing,
    w8_a_lease_ends_with_the_change_that_ends_it,
    w8_what_comes_from_outside_needs_no_lease,
    w8_a_released_subscription_is_as_it_was_before,
    w8_the_next_step_is_known,
    w8_a_lease_counts_no_further_than_its_own_length,
    w8_a_lease_counts_for_those_who_take_shorter_ones,
}

impl Harness {
    /// So many subscriptions, each due a second after the one before.
    async fn due(&self, count: usize) -> Vec<SubscriptionId> {
        let mut ids = Vec::new();
        for number in 0..count {
            ids.push(self.with_hub(&format!("http://e.org/{number}"), &format!("token {number}")).await.1);
            self.advance(SECOND).await;
        }
        ids
    }
}

async fn w8_due_subscriptions_are_claimed_longest_due_first(harness: &Harness) {
    let due = harness.due(4).await;
    // The first is tried again: it is due last.
    harness.done(due[0], asking("secret")).await;
    harness.done(due[0], SubscriptionEvent::Retry).await;
    let (_, later) = harness.with_hub("http://e.org/later", "later").await;
    harness.done(later, asking("secret")).await;
    harness.done(later, failed()).await;
    let jobs = harness.claim_due("worker", 3).await;
    assert_eq!(ids(&jobs), [due[1], due[2], due[3]]);
    assert_eq!((jobs[0].lease.owner.as_str(), jobs[0].claimed_at), ("worker", harness.now()));
    assert_eq!(Some(&jobs[0].subscription), harness.store.subscription(due[1]).await.unwrap().as_ref());
    assert_eq!(ids(&harness.claim_due("worker", 10).await), [due[0]], "the one that failed waits a minute");
    assert_eq!(harness.claim_due("worker", 0).await.len(), 0);
}

async fn w8_of_many_due_only_so_many_are_taken(harness: &Harness) {
    let due = harness.due(25).await;
    assert_eq!(ids(&harness.claim_due("one", 20).await), due[..20]);
    assert_eq!(ids(&harness.claim_due("two", 20).await), due[20..]);
}

async fn w8_one_that_cannot_be_read_does_not_stop_the_others(harness: &Harness) {
    let due = harness.due(3).await;
    harness.tamper(&format!("UPDATE subscriptions SET secrets = 'nonsense' WHERE id = {}", due[1].0)).await;
    assert_eq!(ids(&harness.claim_due("worker", 10).await), [due[0], due[2]]);
}

async fn w8_busy_hubs_are_passed_over(harness: &Harness) {
    let due = harness.due(2).await;
    let feed = harness.import(&["http://e.org/other"]).await[0];
    harness.discover(feed, vec![], found(&[OTHER_HUB], None, "other")).await;
    let other = harness.current(feed).await.id;
    let claim = |but_not_at: &[&str]| {
        let hubs: Vec<String> = but_not_at.iter().map(|hub| (*hub).to_owned()).collect();
        async move { ids(&harness.store.claim_due_subscriptions("worker", 1, LEASE, &hubs).await.unwrap()) }
    };
    assert_eq!(claim(&[HUB, OTHER_HUB]).await, []);
    assert_eq!(claim(&["https://hub.org/'", HUB]).await, [other]);
    assert_eq!(claim(&[OTHER_HUB]).await, [due[0]]);
    assert_eq!(claim(&[]).await, [due[1]]);
}

async fn w8_a_claimed_subscription_is_nobody_elses(harness: &Harness) {
    let due = harness.due(2).await;
    assert_eq!(ids(&harness.claim_due("one", 1).await), [due[0]]);
    assert_eq!(ids(&harness.claim_due("two", 10).await), [due[1]]);
    assert_eq!(harness.claim_due("one", 10).await.len(), 0);
    // Whichever way it is claimed.
    harness.verify(due[0], "secret", HOUR).await;
    assert_eq!(harness.claim_expiring("two", 10, DAY).await.len(), 0);
    harness.advance(LEASE).await;
    assert_eq!(ids(&harness.claim_expiring("two", 10, DAY).await), [due[0]]);
    harness.done(due[0], SubscriptionEvent::Retry).await;
    assert_eq!(ids(&harness.claim_due("one", 10).await), [due[1]]);
}

async fn w8_many_workers_at_once_never_claim_the_same_subscription(harness: &Harness) {
    harness.due(40).await;
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let store = harness.store.clone();
            tokio::spawn(async move {
                let mut claimed = Vec::new();
                for _ in 0..3 {
                    let jobs = store.claim_due_subscriptions(&worker.to_string(), 2, LEASE, &[]).await.unwrap();
                    claimed.extend(ids(&jobs));
                }
                claimed
            })
        })
        .collect();
    let mut claimed = Vec::new();
    for worker in workers {
        claimed.extend(worker.await.unwrap());
    }
    claimed.extend(ids(&harness.claim_due("late", 40).await));
    assert_eq!(claimed.len(), 40);
    assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), 40);
}

async fn w8_expired_lease_is_claimed_with_higher_fence(harness: &Harness) {
    harness.due(1).await;
    let first = harness.claim_due("dead", 1).await.remove(0);
    harness.advance(Duration::from_millis(9_999)).await;
    assert_eq!(harness.claim_due("other", 1).await.len(), 0);
    harness.advance(Duration::from_millis(1)).await;
    let second = harness.claim_due("other", 1).await.remove(0);
    assert!(second.lease.fence > first.lease.fence);
    assert_eq!(second.subscription, first.subscription);
}

async fn w8_a_late_change_changes_nothing(harness: &Harness) {
    let id = harness.due(1).await[0];
    let late = harness.claim_due("worker", 1).await.remove(0).lease;
    harness.advance(LEASE).await;
    // Nobody else has it yet: the lease is still good.
    let good = harness.change_under(id, Claim::Under(late.clone()), asking("first")).await;
    assert!(matches!(good, Changed::Done(_)), "{good:?}");
    let lease = harness.claim_due("worker", 1).await.remove(0).lease;
    let before = harness.store.subscription(id).await.unwrap();
    for claim in [Claim::Under(late.clone()), Claim::Ends(late.clone())] {
        assert_eq!(harness.change_under(id, claim, asking("late")).await, Changed::NotFound);
    }
    let stranger = Lease { owner: "stranger".to_owned(), fence: lease.fence };
    assert_eq!(harness.change_under(id, Claim::Under(stranger), asking("late")).await, Changed::NotFound);
    harness.store.release_subscriptions(&[(id, late)]).await.unwrap();
    assert_eq!(harness.claim_due("other", 1).await.len(), 0, "it is still held");
    assert_eq!(harness.store.subscription(id).await.unwrap(), before);
    let good = harness.change_under(id, Claim::Ends(lease), SubscriptionEvent::Accepted).await;
    assert!(matches!(good, Changed::Done(_)), "{good:?}");
}

async fn w8_a_lease_ends_with_the_change_that_ends_it(harness: &Harness) {
    let id = harness.due(1).await[0];
    let first = harness.claim_due("worker", 1).await.remove(0).lease;
    harness.change_under(id, Claim::Under(first.clone()), asking("secret")).await;
    assert_eq!(harness.claim_due("other", 1).await.len(), 0);
    // Also with a change that is none, and with one that is refused.
    let same = harness.change_under(id, Claim::Ends(first.clone()), SubscriptionEvent::TimePassed).await;
    assert!(matches!(same, Changed::Done(same) if same.after.as_ref() == Some(&same.before)));
    assert_eq!(harness.change_under(id, Claim::Under(first), SubscriptionEvent::Retry).await, Changed::NotFound);
    let second = harness.claim_due("other", 1).await.remove(0).lease;
    let refused = SubscriptionEvent::Pushed { secret: "secret".to_owned() };
    assert_eq!(harness.change_under(id, Claim::Under(second.clone()), refused.clone()).await, Changed::Refused);
    assert_eq!(harness.claim_due("third", 1).await.len(), 0);
    assert_eq!(harness.change_under(id, Claim::Ends(second), refused).await, Changed::Refused);
    let third = harness.claim_due("third", 1).await.remove(0).lease;
    assert_eq!((third.owner.as_str(), third.fence), ("third", 3));
}

async fn w8_what_comes_from_outside_needs_no_lease(harness: &Harness) {
    let id = harness.due(1).await[0];
    let lease = harness.claim_due("worker", 1).await.remove(0).lease;
    harness.change_under(id, Claim::Under(lease.clone()), asking("secret")).await;
    assert!(harness.done(id, verified(HUB_LEASE)).await.after.unwrap().is_active());
    // The worker has not lost its lease by that.
    let end = harness.change_under(id, Claim::Ends(lease), SubscriptionEvent::Accepted).await;
    assert!(matches!(end, Changed::Done(_)), "{end:?}");
    assert!(harness.store.subscription(id).await.unwrap().unwrap().is_active());
}

async fn w8_a_released_subscription_is_as_it_was_before(harness: &Harness) {
    let due = harness.due(2).await;
    let before = harness.subscriptions().await;
    let jobs = harness.claim_due("worker", 2).await;
    let leases: Vec<_> = jobs.iter().map(|job| (job.subscription.id, job.lease.clone())).collect();
    harness.store.release_subscriptions(&leases).await.unwrap();
    harness.store.release_subscriptions(&[]).await.unwrap();
    assert_eq!(harness.subscriptions().await, before);
    assert_eq!(ids(&harness.claim_due("other", 2).await), due);
}

async fn w8_the_next_step_is_known(harness: &Harness) {
    assert_eq!(harness.store.next_step_in().await.unwrap(), None);
    let (_, first) = harness.with_hub("http://e.org/1", "one").await;
    assert_eq!(harness.store.next_step_in().await.unwrap(), Some(Duration::ZERO));
    // One that is claimed is due again when its lease runs out.
    let lease = harness.claim_due("worker", 1).await.remove(0).lease;
    assert_eq!(harness.store.next_step_in().await.unwrap(), Some(LEASE));
    let (_, second) = harness.with_hub("http://e.org/2", "two").await;
    assert_eq!(harness.store.next_step_in().await.unwrap(), Some(Duration::ZERO));
    harness.verify(second, "secret", DAY).await;
    assert_eq!(harness.store.next_step_in().await.unwrap(), Some(LEASE));
    harness.change_under(first, Claim::Under(lease.clone()), asking("secret")).await;
    harness.change_under(first, Claim::Ends(lease), SubscriptionEvent::Accepted).await;
    assert_eq!(harness.store.next_step_in().await.unwrap(), Some(Duration::from_mins(5)));
    harness.done(first, verified(HUB_LEASE)).await;
    assert_eq!(harness.store.next_step_in().await.unwrap(), Some(DAY / 2));
    harness.advance(DAY).await;
    assert_eq!(harness.store.next_step_in().await.unwrap(), Some(Duration::ZERO));
}

async fn w8_a_lease_counts_no_further_than_its_own_length(harness: &Harness) {
    let due = harness.due(2).await;
    harness.advance(HOUR * 2).await;
    assert_eq!(harness.claim_due("one", 9).await.len(), 2);
    // The database's clock goes back: nobody waits until it has caught up.
    harness.set(harness.after(-3600)).await;
    assert_eq!(ids(&harness.claim_due("two", 9).await), due);
    assert_eq!(harness.claim_due("three", 9).await.len(), 0, "a lease of now counts");
}

async fn w8_a_lease_counts_for_those_who_take_shorter_ones(harness: &Harness) {
    let due = harness.due(2).await;
    harness.verify(due[0], "secret", HOUR).await;
    let longer = LEASE + Duration::from_mins(2);
    let store = &harness.store;
    assert_eq!(ids(&store.claim_expiring_subscriptions("manual", 9, longer, DAY).await.unwrap()), [due[0]]);
    assert_eq!(ids(&store.claim_due_subscriptions("manual", 9, longer, &[]).await.unwrap()), [due[1]]);
    for busy in [vec![], vec![OTHER_HUB.to_owned()]] {
        assert_eq!(ids(&store.claim_due_subscriptions("other", 9, LEASE, &busy).await.unwrap()), []);
    }
    assert_eq!(harness.claim_expiring("other", 9, DAY).await.len(), 0);
    harness.advance(longer).await;
    assert_eq!(ids(&harness.claim_due("other", 9).await), [due[1]]);
    assert_eq!(ids(&harness.claim_expiring("other", 9, DAY).await), [due[0]]);
}
