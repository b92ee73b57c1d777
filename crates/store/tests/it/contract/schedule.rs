//! F4 and F5: which feeds are due, in which order, and when the next will be.

use std::time::Duration;

use domain::ingest::{PollOutcome, PollResult, Validators};

use super::{
    Harness,
    given::{HOUR, LEASE, document, entry, result, unchanged},
};

contract! {
    f5_due_feeds_are_claimed_longest_due_first,
    f4_a_feed_that_is_gone_is_not_due,
    f5_the_next_poll_is_known,
    f5_a_feed_that_is_polled_is_due_when_its_lease_ends,
    f5_requested_poll_defers_nothing_and_adds_no_failure,
}

async fn f5_due_feeds_are_claimed_longest_due_first(harness: &Harness) {
    let urls = ["http://e.org/1", "http://e.org/2", "http://e.org/3", "http://e.org/4"];
    let ids = harness.import(&urls).await;
    let jobs = harness.store.claim_due_polls("one", 10, LEASE).await.unwrap();
    // Those of the same time as they came in.
    assert_eq!(jobs.iter().map(|job| job.feed_id).collect::<Vec<_>>(), ids);
    let delays = [3, 1, 4, 2];
    let results =
        jobs.iter().zip(delays).map(|(job, hours)| PollResult { next_check_in: HOUR * hours, ..unchanged(job) });
    harness.store.finish_polls(results.collect()).await.unwrap();
    assert!(harness.store.claim_due_polls("one", 10, LEASE).await.unwrap().is_empty());
    harness.advance(HOUR * 3).await;
    let jobs = harness.store.claim_due_polls("one", 2, LEASE).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.feed_id).collect::<Vec<_>>(), [ids[1], ids[3]]);
    let jobs = harness.store.claim_due_polls("one", 10, LEASE).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.feed_id).collect::<Vec<_>>(), [ids[0]]);
    assert!(harness.store.claim_due_polls("one", 0, LEASE).await.unwrap().is_empty());
}

async fn f4_a_feed_that_is_gone_is_not_due(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let job = harness.claim(id).await;
    harness.finish(result(&job, PollOutcome::Gone("410".to_owned()))).await;
    harness.advance(HOUR * 1000).await;
    assert!(harness.store.claim_due_polls("one", 10, LEASE).await.unwrap().is_empty());
    assert_eq!(harness.store.next_poll_in().await.unwrap(), None);
}

async fn f5_the_next_poll_is_known(harness: &Harness) {
    assert_eq!(harness.store.next_poll_in().await.unwrap(), None);
    harness.add("http://e.org/1", vec![]).await;
    assert_eq!(harness.store.next_poll_in().await.unwrap(), Some(HOUR));
    harness.advance(HOUR / 4).await;
    harness.add("http://e.org/2", vec![]).await;
    assert_eq!(harness.store.next_poll_in().await.unwrap(), Some(HOUR * 3 / 4));
    harness.advance(HOUR).await;
    assert_eq!(harness.store.next_poll_in().await.unwrap(), Some(Duration::ZERO));
}

async fn f5_a_feed_that_is_polled_is_due_when_its_lease_ends(harness: &Harness) {
    harness.import(&["http://e.org/1", "http://e.org/2"]).await;
    let jobs = harness.store.claim_due_polls("one", 1, LEASE).await.unwrap();
    assert_eq!(harness.store.next_poll_in().await.unwrap(), Some(Duration::ZERO));
    harness.store.claim_due_polls("one", 1, LEASE * 2).await.unwrap();
    assert_eq!(harness.store.next_poll_in().await.unwrap(), Some(LEASE));
    harness.finish(PollResult { next_check_in: LEASE * 3, ..unchanged(&jobs[0]) }).await;
    assert_eq!(harness.store.next_poll_in().await.unwrap(), Some(LEASE * 2));
    harness.advance(LEASE * 2).await;
    assert_eq!(harness.store.next_poll_in().await.unwrap(), Some(Duration::ZERO));
}

/// As many failures as make a feed a failing one, and as many polls of each kind, leave the schedule as it was.
async fn f5_requested_poll_defers_nothing_and_adds_no_failure(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let job = harness.claim(id).await;
    assert_eq!(job.due_at, job.claimed_at, "it is due since it was taken in");
    harness.finish(unchanged(&job)).await;
    let due_at = harness.feed(id).await.next_check_at;
    for round in 0..4_usize {
        harness.advance(HOUR / 8).await;
        for outcome in [
            PollOutcome::Failed("refused".to_owned()),
            PollOutcome::Failed("refused".to_owned()),
            PollOutcome::Failed("refused".to_owned()),
            PollOutcome::Unchanged(Validators::default()),
            PollOutcome::Fetched(document(vec![entry(&round.to_string())])),
            PollOutcome::Failed("refused".to_owned()),
        ] {
            let failures = u32::from(matches!(outcome, PollOutcome::Failed(_)));
            let job = harness.claim(id).await;
            assert_eq!(job.due_at, due_at);
            let early = PollResult { next_check_in: HOUR * 24, due_by: Some(job.due_at), ..result(&job, outcome) };
            assert!(harness.finish(early).await.applied);
            let feed = harness.feed(id).await;
            assert_eq!((feed.next_check_at, feed.failure_count), (due_at, failures));
        }
        assert_eq!(harness.feed(id).await.last_error.as_deref(), Some("refused"), "it says why all the same");
    }
    let job = harness.claim(id).await;
    let sooner = PollResult { next_check_in: HOUR / 4, due_by: Some(job.due_at), ..unchanged(&job) };
    harness.finish(sooner).await;
    assert_eq!(harness.store.next_poll_in().await.unwrap(), Some(HOUR / 4), "but it may be sooner");
}
