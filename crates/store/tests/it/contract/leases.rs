//! One lease for everything: two workers never hold the same feed, and a dead one's feeds are claimed again.

use std::{collections::HashSet, time::Duration};

use domain::{Feed, FeedId, Lease, ingest::PollOutcome};

use super::{
    Harness,
    given::{LEASE, entry, fetched, result, unchanged},
};

contract! {
    f4_a_claimed_feed_is_nobody_elses,
    f4_many_workers_at_once_never_claim_the_same_feed,
    f4_expired_lease_is_claimed_with_higher_fence,
    f4_a_worker_is_not_taken_for_its_older_self,
    f4_a_late_result_changes_nothing,
    f4_a_lease_that_ran_out_is_good_until_another_claims,
    f4_a_renewed_lease_lasts_longer,
    f4_a_released_feed_is_as_it_was_before,
    f4_a_postponed_feed_is_due_after_the_delay,
    f4_postponed_feed_is_never_due_earlier,
    f4_only_its_holder_postpones_a_feed,
    f5_a_feed_is_claimed_by_name_due_or_not,
    f4_a_lease_counts_no_further_than_its_own_length,
}

async fn f4_a_claimed_feed_is_nobody_elses(harness: &Harness) {
    let ids = harness.import(&["http://e.org/1", "http://e.org/2"]).await;
    let jobs = harness.store.claim_due_polls("one", 1, LEASE).await.unwrap();
    assert_eq!(jobs.len(), 1);
    assert_eq!((jobs[0].lease.owner.as_str(), jobs[0].claimed_at), ("one", harness.now()));
    let rest = harness.store.claim_due_polls("two", 10, LEASE).await.unwrap();
    assert_eq!(rest.len(), 1);
    assert_ne!(rest[0].feed_id, jobs[0].feed_id);
    assert!(harness.store.claim_due_polls("one", 10, LEASE).await.unwrap().is_empty());
    assert!(harness.store.claim_polls("one", &ids, LEASE).await.unwrap().is_empty());
}

async fn f4_many_workers_at_once_never_claim_the_same_feed(harness: &Harness) {
    let urls: Vec<String> = (0..100).map(|number| format!("http://e.org/{number}")).collect();
    let ids = harness.import(&urls.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let (store, ids) = (harness.store.clone(), ids.clone());
            tokio::spawn(async move {
                let owner = format!("worker {worker}");
                let mut claimed = store.claim_due_polls(&owner, 7, LEASE).await.unwrap();
                claimed.extend(store.claim_polls(&owner, &ids[worker..worker + 20], LEASE).await.unwrap());
                claimed.into_iter().map(|job| job.feed_id).collect::<Vec<FeedId>>()
            })
        })
        .collect();
    let mut claimed = Vec::new();
    for worker in workers {
        claimed.extend(worker.await.unwrap());
    }
    assert_eq!(claimed.len(), claimed.iter().collect::<HashSet<_>>().len());
    assert!(claimed.len() >= 27, "{}", claimed.len());
}

async fn f4_expired_lease_is_claimed_with_higher_fence(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let first = harness.store.claim_due_polls("dead", 1, LEASE).await.unwrap().remove(0);
    let until = harness.now() + LEASE;
    harness.set(until - Duration::from_millis(1)).await;
    assert!(harness.store.claim_due_polls("other", 1, LEASE).await.unwrap().is_empty());
    harness.set(until).await;
    let second = harness.store.claim_due_polls("other", 1, LEASE).await.unwrap().remove(0);
    assert_eq!(second.feed_id, id);
    assert!(second.lease.fence > first.lease.fence);
    assert_eq!(second.claimed_at, harness.now());
    assert_eq!(harness.store.renew_polls(&[(id, first.lease)], LEASE).await.unwrap(), [id]);
    assert!(harness.store.renew_polls(&[(id, second.lease)], LEASE).await.unwrap().is_empty());
}

async fn f4_a_worker_is_not_taken_for_its_older_self(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let older = harness.claim(id).await;
    harness.advance(LEASE).await;
    let newer = harness.claim(id).await;
    assert_eq!(older.lease.owner, newer.lease.owner);
    assert!(!harness.finish(fetched(&older, vec![entry("old")])).await.applied);
    harness.store.release_polls(&[(id, older.lease)]).await.unwrap();
    assert!(harness.finish(fetched(&newer, vec![entry("new")])).await.applied);
    assert_eq!(harness.all().await[0].guid, "new");
}

async fn f4_a_late_result_changes_nothing(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let late = harness.claim(id).await;
    harness.advance(LEASE).await;
    let current = harness.store.claim_polls("other", &[id], LEASE).await.unwrap().remove(0);
    let before = harness.feed(id).await;
    for outcome in [
        fetched(&late, vec![entry("1")]),
        unchanged(&late),
        result(&late, PollOutcome::Failed("no".to_owned())),
        result(&late, PollOutcome::Gone("no".to_owned())),
    ] {
        let stored = harness.finish(outcome).await;
        assert_eq!((stored.applied, stored.new, stored.changed), (false, 0, 0));
        assert_eq!(harness.feed(id).await, before);
    }
    assert_eq!(harness.all().await, []);
    assert!(harness.finish(fetched(&current, vec![entry("1")])).await.applied);
    // And the same once more: its lease ended with the first.
    assert!(!harness.finish(fetched(&current, vec![entry("2")])).await.applied);
    assert_eq!(harness.all().await.len(), 1);
}

async fn f4_a_lease_that_ran_out_is_good_until_another_claims(harness: &Harness) {
    let ids = harness.import(&["http://e.org/1", "http://e.org/2"]).await;
    let (one, two) = (harness.claim(ids[0]).await, harness.claim(ids[1]).await);
    harness.advance(LEASE * 2).await;
    assert!(harness.finish(fetched(&one, vec![entry("1")])).await.applied);
    assert!(harness.store.renew_polls(&[(ids[1], two.lease)], LEASE).await.unwrap().is_empty());
    assert!(harness.store.claim_due_polls("other", 10, LEASE).await.unwrap().is_empty());
}

async fn f4_a_renewed_lease_lasts_longer(harness: &Harness) {
    let ids = harness.import(&["http://e.org/1", "http://e.org/2"]).await;
    let jobs = harness.store.claim_due_polls("one", 10, LEASE).await.unwrap();
    let mut leases: Vec<(FeedId, Lease)> = jobs.iter().map(|job| (job.feed_id, job.lease.clone())).collect();
    for _ in 0..4 {
        harness.advance(LEASE / 2).await;
        assert!(harness.store.renew_polls(&leases, LEASE).await.unwrap().is_empty());
        assert!(harness.store.claim_due_polls("two", 10, LEASE).await.unwrap().is_empty());
    }
    let stranger = Lease { owner: "two".to_owned(), fence: leases[0].1.fence };
    leases.push((FeedId(999), leases[0].1.clone()));
    leases[0].1 = stranger;
    let lost = harness.store.renew_polls(&leases, LEASE).await.unwrap();
    assert_eq!(lost, [leases[0].0, FeedId(999)]);
    assert!(harness.store.renew_polls(&[], LEASE).await.unwrap().is_empty());
    // The one that was not renewed this time runs out; the other does not.
    harness.advance(LEASE * 3 / 4).await;
    harness.store.renew_polls(&leases, LEASE).await.unwrap();
    harness.advance(LEASE / 2).await;
    let jobs = harness.store.claim_due_polls("two", 10, LEASE).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.feed_id).collect::<Vec<_>>(), [ids[0]]);
}

async fn f4_a_released_feed_is_as_it_was_before(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let before = harness.feed(id).await;
    let first = harness.claim(id).await;
    harness.store.release_polls(&[(id, first.lease.clone()), (FeedId(999), first.lease.clone())]).await.unwrap();
    harness.store.release_polls(&[]).await.unwrap();
    assert_eq!(harness.feed(id).await, before);
    let second = harness.store.claim_due_polls("other", 1, LEASE).await.unwrap().remove(0);
    assert!(second.lease.fence > first.lease.fence, "a fence is never used twice");
    // A release that comes late is nobody's.
    harness.store.release_polls(&[(id, first.lease.clone())]).await.unwrap();
    assert!(harness.store.claim_due_polls("third", 1, LEASE).await.unwrap().is_empty());
    assert!(!harness.finish(unchanged(&first)).await.applied);
    assert!(harness.finish(unchanged(&second)).await.applied);
}

async fn f4_a_postponed_feed_is_due_after_the_delay(harness: &Harness) {
    let delay = LEASE / 2;
    let ids = harness.import(&["http://e.org/1", "http://e.org/2", "http://e.org/3"]).await;
    let before = harness.feed(ids[1]).await;
    let jobs = harness.store.claim_due_polls("one", 10, LEASE).await.unwrap();
    // In another order than that of the ids, and with one that is not there.
    let mut leases: Vec<_> = jobs[1..].iter().rev().map(|job| (job.feed_id, job.lease.clone())).collect();
    leases.push((FeedId(999), jobs[0].lease.clone()));
    harness.store.postpone_polls(&leases, delay).await.unwrap();
    harness.store.postpone_polls(&[], delay).await.unwrap();
    let next_check_at = harness.now() + delay;
    assert_eq!(harness.feed(ids[1]).await, Feed { next_check_at, ..before });
    assert_eq!(harness.store.next_poll_in().await.unwrap(), Some(delay));
    harness.set(next_check_at - Duration::from_millis(1)).await;
    assert!(harness.store.claim_due_polls("two", 10, LEASE).await.unwrap().is_empty());
    harness.set(next_check_at).await;
    let again = harness.store.claim_due_polls("two", 10, LEASE).await.unwrap();
    assert_eq!(again.iter().map(|job| job.feed_id).collect::<Vec<_>>(), ids[1..], "the first is still held");
    assert!(again[0].lease.fence > jobs[1].lease.fence, "a fence is never used twice");
    assert!(!harness.finish(unchanged(&jobs[1])).await.applied);
}

async fn f4_postponed_feed_is_never_due_earlier(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![]).await;
    let before = harness.feed(id).await;
    let job = harness.claim(id).await;
    harness.store.postpone_polls(&[(id, job.lease)], LEASE).await.unwrap();
    assert_eq!(harness.feed(id).await, before);
    // And it is free at once for whoever wants it by name.
    harness.claim(id).await;
}

async fn f4_only_its_holder_postpones_a_feed(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let late = harness.claim(id).await;
    harness.advance(LEASE).await;
    let current = harness.claim(id).await;
    let before = harness.feed(id).await;
    let stranger = Lease { owner: "stranger".to_owned(), fence: current.lease.fence };
    harness.store.postpone_polls(&[(id, late.lease)], LEASE * 9).await.unwrap();
    harness.store.postpone_polls(&[(id, stranger)], LEASE * 9).await.unwrap();
    assert_eq!(harness.feed(id).await, before);
    assert!(harness.finish(unchanged(&current)).await.applied);
}

async fn f5_a_feed_is_claimed_by_name_due_or_not(harness: &Harness) {
    let fresh = harness.add("http://e.org/1", vec![]).await;
    let gone = harness.import(&["http://e.org/2"]).await[0];
    let job = harness.claim(gone).await;
    harness.finish(result(&job, PollOutcome::Gone("410".to_owned()))).await;
    let held = harness.import(&["http://e.org/3"]).await[0];
    harness.store.claim_polls("other", &[held], LEASE).await.unwrap();
    let wanted = [fresh, held, gone, FeedId(999), fresh];
    let jobs = harness.store.claim_polls("one", &wanted, LEASE).await.unwrap();
    let mut claimed: Vec<_> = jobs.iter().map(|job| job.feed_id).collect();
    claimed.sort();
    let mut expect = vec![fresh, gone];
    expect.sort();
    assert_eq!(claimed, expect);
    assert!(harness.store.claim_polls("one", &[], LEASE).await.unwrap().is_empty());
}

async fn f4_a_lease_counts_no_further_than_its_own_length(harness: &Harness) {
    let ids = harness.import(&["http://e.org/1", "http://e.org/2"]).await;
    harness.advance(Duration::from_hours(2)).await;
    assert_eq!(harness.store.claim_due_polls("one", 9, LEASE).await.unwrap().len(), 2);
    // The database's clock goes back: nobody waits until it has caught up.
    harness.set(harness.after(-3600)).await;
    assert_eq!(harness.store.claim_polls("two", &ids[..1], LEASE).await.unwrap().len(), 1);
    assert_eq!(harness.store.claim_due_polls("two", 9, LEASE).await.unwrap().len(), 1);
    assert!(harness.store.claim_due_polls("three", 9, LEASE).await.unwrap().is_empty(), "a lease of now counts");
}
