//! D5 to D7: for how long a claim holds, how it is kept, and how it is lost or released.

use domain::{DeliveryId, Lease, delivery::Verdict};

use super::{
    Harness,
    given::{HOUR, LEASE},
    given_outbox::{SECOND, finished, ids, lease_of, row, rows},
};

contract! {
    fr_004_ac2_expired_lease_is_claimed_with_higher_fence_d7,
    d7_a_worker_is_not_taken_for_its_older_self,
    d7_released_rows_were_never_tried,
    fr_001_ac2_a_renewed_lease_lasts_longer_d5,
    fr_002_ac1_only_the_holder_renews_while_pending_d5,
    fr_002_ac2_renewal_of_anothers_row_touches_nothing_d6,
    fr_004_ac1_expired_lease_holds_until_another_claim_d6,
}

async fn fr_004_ac2_expired_lease_is_claimed_with_higher_fence_d7(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(id, 1).await.remove(0);
    let first = harness.take_one("dead").await;
    let until = harness.now() + LEASE;
    harness.set(until - SECOND).await;
    assert_eq!(harness.take("other", 9).await.len(), 0);
    harness.set(until).await;
    let second = harness.take_one("other").await;
    assert_eq!((second.id, second.event_id, second.attempts), (first.id, first.event_id, 0), "no attempt is counted");
    assert!(second.lease.fence > first.lease.fence);
    let shown = harness.shown(&queued.id).await;
    assert_eq!((shown.lease_owner.as_deref(), shown.lease_until), (Some("other"), Some(until + LEASE)));
}

async fn d7_a_worker_is_not_taken_for_its_older_self(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    harness.queue(id, 1).await;
    let older = harness.take_one("worker").await;
    harness.advance(LEASE).await;
    let newer = harness.take_one("worker").await;
    assert_eq!(older.id, newer.id);
    let lost = harness.store.renew_deliveries(&[lease_of(&older)], LEASE).await.unwrap();
    assert_eq!(lost, [older.id]);
    assert_eq!(harness.mark(vec![finished(&older, Verdict::Delivered)]).await.skipped, [older.id]);
    harness.store.release_deliveries(&[lease_of(&older)]).await.unwrap();
    assert_eq!(harness.take("worker", 9).await.len(), 0, "the newer claim holds");
    harness.end(&newer, Verdict::Delivered).await;
}

async fn d7_released_rows_were_never_tried(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(id, 2).await;
    let before = harness.deliveries_to(id).await;
    let jobs = harness.take("one", 2).await;
    harness.store.release_deliveries(&jobs.iter().map(lease_of).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(harness.deliveries_to(id).await, before, "as if nobody had ever had them");
    let again = harness.take("two", 2).await;
    assert_eq!(ids(&again), rows(&queued), "at once");
    assert!(again.iter().zip(&jobs).all(|(again, before)| again.lease.fence > before.lease.fence));
    assert_eq!(again[0].attempts, 0);
    // Only its holder releases it.
    harness.store.release_deliveries(&jobs.iter().map(lease_of).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(harness.take("three", 2).await.len(), 0);
    assert_eq!(harness.store.release_deliveries(&[]).await, Ok(()));
}

async fn fr_001_ac2_a_renewed_lease_lasts_longer_d5(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(id, 1).await.remove(0);
    let job = harness.take_one("one").await;
    // More than three leases, with beats in each: nobody else ever gets it.
    for _ in 0..9 {
        harness.advance(SECOND * 4).await;
        assert_eq!(harness.store.renew_deliveries(&[lease_of(&job)], LEASE).await.unwrap(), []);
        assert_eq!(harness.shown(&queued.id).await.lease_until, Some(harness.now() + LEASE), "forward");
        assert_eq!(harness.take("two", 1).await.len(), 0);
    }
    harness.end(&job, Verdict::Delivered).await;
    assert_eq!(harness.store.renew_deliveries(&[], LEASE).await.unwrap(), []);
}

async fn fr_002_ac1_only_the_holder_renews_while_pending_d5(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(id, 3).await;
    let jobs = harness.take("one", 3).await;
    let [good, delivered, cancelled] = jobs.as_slice() else { panic!("{jobs:?}") };
    harness.end(delivered, Verdict::Delivered).await;
    harness.store.cancel_delivery(&queued[2].id, "no").await.unwrap();
    let lease = |owner: &str, fence: i64| Lease { owner: owner.to_owned(), fence };
    for (id, bad) in [
        (good.id, lease("two", good.lease.fence)),
        (good.id, lease("one", good.lease.fence + 1)),
        (good.id, lease("one", good.lease.fence - 1)),
        (DeliveryId(999), good.lease.clone()),
        lease_of(delivered),
        lease_of(cancelled),
    ] {
        let lost = harness.store.renew_deliveries(&[(id, bad.clone())], HOUR).await.unwrap();
        assert_eq!(lost, [id], "{bad:?}");
    }
    assert_eq!(harness.shown(&queued[0].id).await.lease_until, Some(harness.now() + LEASE));
}

async fn fr_002_ac2_renewal_of_anothers_row_touches_nothing_d6(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(id, 3).await;
    let slow = harness.take("slow", 2).await;
    harness.advance(LEASE).await;
    // One of the two is another's by now; the third was never its own.
    let other = harness.take_one("other").await;
    assert_eq!(ids(&slow), [other.id, row(&queued[1])]);
    let before = [harness.shown(&queued[0].id).await, harness.shown(&queued[2].id).await];
    harness.advance(SECOND).await;
    let leases: Vec<_> = slow.iter().map(lease_of).collect();
    assert_eq!(harness.store.renew_deliveries(&leases, LEASE).await.unwrap(), [other.id]);
    assert_eq!([harness.shown(&queued[0].id).await, harness.shown(&queued[2].id).await], before);
    assert_eq!(harness.shown(&queued[1].id).await.lease_until, Some(harness.now() + LEASE), "the other is renewed");
}

async fn fr_004_ac1_expired_lease_holds_until_another_claim_d6(harness: &Harness) {
    let id = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(id, 2).await;
    let jobs = harness.take("slow", 2).await;
    harness.advance(LEASE + HOUR).await;
    let shown = harness.shown(&queued[0].id).await;
    assert_eq!((shown.lease_owner, shown.lease_until), (None, None), "no lease is shown that has run out");
    assert_eq!(harness.store.renew_deliveries(&[lease_of(&jobs[0])], LEASE).await.unwrap(), []);
    harness.end(&jobs[1], Verdict::Delivered).await;
    assert_eq!(harness.take("other", 9).await.len(), 0, "one is renewed, the other delivered");
}
