//! W7: which subscriptions expire, and which of them are renewed first.

use std::time::Duration;

use domain::{SubscriptionId, push::SubscriptionEvent};

use super::{
    Harness,
    given::{HOUR, LEASE},
    given_push::{DAY, asking, denied, ids},
};

const SECOND: Duration = Duration::from_secs(1);

contract! {
    w7_expiring_subscriptions_are_claimed_soonest_first,
    w7_of_many_expiring_only_so_many_are_taken,
    w7_a_renewal_that_the_hub_may_still_verify_is_left_alone,
    w7_only_active_subscriptions_expire,
}

impl Harness {
    /// Subscriptions whose leases end after these times.
    async fn expiring(&self, leases: &[Duration]) -> Vec<SubscriptionId> {
        let mut ids = Vec::new();
        for (number, lease) in leases.iter().enumerate() {
            let token = format!("token {number}");
            let (_, id) = self.with_hub(&format!("http://e.org/{number}"), &token).await;
            self.verify(id, &token, *lease).await;
            ids.push(id);
        }
        ids
    }
}

async fn w7_expiring_subscriptions_are_claimed_soonest_first(harness: &Harness) {
    let [a, b, c] = harness.expiring(&[DAY, DAY * 3, HOUR]).await[..] else { panic!("there are three") };
    let jobs = harness.claim_expiring("worker", 20, DAY * 2).await;
    assert_eq!(ids(&jobs), [c, a]);
    assert_eq!((jobs[0].lease.owner.as_str(), jobs[0].claimed_at), ("worker", harness.now()));
    assert_eq!(harness.claim_expiring("other", 20, DAY * 2).await.len(), 0);
    assert_eq!(ids(&harness.claim_expiring("other", 20, DAY * 3).await), [b], "to the second");
    harness.store.release_subscriptions(&[(c, jobs[0].lease.clone())]).await.unwrap();
    assert_eq!(ids(&harness.claim_expiring("other", 20, DAY).await), [c]);
}

async fn w7_of_many_expiring_only_so_many_are_taken(harness: &Harness) {
    let leases: Vec<Duration> = (0..25).map(|number| HOUR * (25 - number)).collect();
    let mut expiring = harness.expiring(&leases).await;
    expiring.reverse();
    assert_eq!(ids(&harness.claim_expiring("one", 20, DAY * 2).await), expiring[..20]);
    assert_eq!(ids(&harness.claim_expiring("two", 20, DAY * 2).await), expiring[20..]);
}

async fn w7_a_renewal_that_the_hub_may_still_verify_is_left_alone(harness: &Harness) {
    let id = harness.expiring(&[DAY]).await[0];
    harness.done(id, asking("second")).await;
    assert_eq!(ids(&harness.claim_expiring("one", 20, DAY).await), [id], "the hub has not accepted yet");
    harness.advance(LEASE).await;
    harness.done(id, SubscriptionEvent::Accepted).await;
    assert_eq!(harness.claim_expiring("one", 20, DAY).await.len(), 0);
    harness.advance(SECOND * 299).await;
    assert_eq!(harness.claim_expiring("one", 20, DAY).await.len(), 0);
    harness.advance(SECOND).await;
    assert_eq!(ids(&harness.claim_expiring("one", 20, DAY).await), [id]);
}

async fn w7_only_active_subscriptions_expire(harness: &Harness) {
    let expiring = harness.expiring(&[HOUR, HOUR, HOUR]).await;
    harness.with_hub("http://e.org/pending", "pending").await;
    harness.done(expiring[0], denied()).await;
    harness.done(expiring[1], SubscriptionEvent::Unwanted).await;
    assert_eq!(ids(&harness.claim_expiring("one", 20, DAY * 2).await), [expiring[2]]);
}
