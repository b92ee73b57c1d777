//! F4: how polls end: the feed's state, in one transaction with its entries.

use domain::{
    Feed, FeedId, Lease, NewFeed,
    feed_state::FeedAddress,
    ingest::{Document, Hash, PollHints, PollJob, PollOutcome, PollResult, Skips, Stored, Validators},
};

use super::{
    Harness,
    given::{HOUR, address, document, entry, fetched, new_feed, result, unchanged},
};

contract! {
    f4_validators_are_kept_with_what_they_belong_to,
    f4_poll_hints_are_kept_without_a_document,
    f4_an_unchanged_feed_is_only_asked_again_later,
    f4_a_failure_is_counted_and_leaves_the_entries,
    f4_a_feed_that_is_gone_says_why,
    f4_a_success_clears_all_failures,
    f4_a_moved_feed_has_another_url,
    f4_a_feed_does_not_move_to_where_another_is,
    f4_results_are_stored_each_by_itself,
}

async fn f4_validators_are_kept_with_what_they_belong_to(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let validators = |text: &str| Validators {
        etag: Some(format!("\"{text}\"")),
        last_modified: Some(text.to_owned()),
        body_hash: Some(Hash::of(text.as_bytes())),
    };
    let mut first = document(vec![entry("1")]);
    first.validators = validators("first");
    let job = harness.claim(id).await;
    assert_eq!((job.validators.clone(), job.is_first_fetch), (Validators::default(), true));
    harness.finish(result(&job, PollOutcome::Fetched(first))).await;
    let job = harness.claim(id).await;
    assert_eq!((job.validators.clone(), job.is_first_fetch), (validators("first"), false));
    harness.finish(result(&job, PollOutcome::Failed("no".to_owned()))).await;
    let job = harness.claim(id).await;
    assert_eq!(job.validators, validators("first"));
    harness.finish(result(&job, PollOutcome::Unchanged(validators("second")))).await;
    assert_eq!(harness.claim(id).await.validators, validators("second"));
}

async fn f4_poll_hints_are_kept_without_a_document(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    let hints = PollHints { ttl_mins: Some(u32::MAX), skips: Skips { hours: 0xff_ffff, days: 0x7f } };
    let job = harness.claim(id).await;
    assert_eq!(job.hints, PollHints::default());
    harness.finish(result(&job, PollOutcome::Fetched(Document { hints, ..document(vec![]) }))).await;
    for bring_nothing in [unchanged, |job: &PollJob| result(job, PollOutcome::Failed("no".to_owned()))] {
        let job = harness.claim(id).await;
        assert_eq!(job.hints, hints);
        harness.finish(bring_nothing(&job)).await;
    }
    harness.poll(id, vec![]).await;
    assert_eq!(harness.claim(id).await.hints, PollHints::default());
}

async fn f4_an_unchanged_feed_is_only_asked_again_later(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1")]).await;
    let (feed, entries) = (harness.feed(id).await, harness.all().await);
    harness.advance(HOUR).await;
    let job = harness.claim(id).await;
    let stored = harness.finish(PollResult { adaptive_secs: 777, next_check_in: HOUR * 2, ..unchanged(&job) }).await;
    assert_eq!(stored, Stored { applied: true, new: 0, changed: 0, ..Stored::default() });
    let expect = Feed { last_fetched_at: Some(harness.now()), next_check_at: harness.after(7200), ..feed };
    assert_eq!(harness.feed(id).await, expect);
    assert_eq!(harness.all().await, entries);
    assert_eq!(harness.claim(id).await.adaptive_secs, 777);
}

async fn f4_a_failure_is_counted_and_leaves_the_entries(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1")]).await;
    let (feed, entries) = (harness.feed(id).await, harness.all().await);
    for failures in 1..=3 {
        harness.advance(HOUR).await;
        let job = harness.claim(id).await;
        assert_eq!(job.failure_count, failures - 1);
        let reason = format!("failure {failures}");
        let stored = harness.finish(result(&job, PollOutcome::Failed(reason.clone()))).await;
        assert_eq!(stored, Stored { applied: true, new: 0, changed: 0, ..Stored::default() });
        let expect = Feed {
            next_check_at: harness.after(3600),
            failure_count: failures,
            last_error: Some(reason),
            ..feed.clone()
        };
        assert_eq!(harness.feed(id).await, expect);
    }
    assert_eq!(harness.all().await, entries);
}

async fn f4_a_feed_that_is_gone_says_why(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1")]).await;
    let job = harness.claim(id).await;
    assert!(harness.finish(result(&job, PollOutcome::Gone("it is gone".to_owned()))).await.applied);
    let feed = harness.feed(id).await;
    assert_eq!((feed.is_gone, feed.failure_count, feed.last_error.as_deref()), (true, 1, Some("it is gone")));
    assert_eq!(harness.all().await.len(), 1);
    // A failure does not bring it back.
    let job = harness.claim(id).await;
    harness.finish(result(&job, PollOutcome::Failed("no".to_owned()))).await;
    assert!(harness.feed(id).await.is_gone);
}

async fn f4_a_success_clears_all_failures(harness: &Harness) {
    let id = harness.import(&["http://e.org/1"]).await[0];
    for success in [PollOutcome::Unchanged(Validators::default()), PollOutcome::Fetched(document(vec![entry("1")]))] {
        for failure in [PollOutcome::Failed("no".to_owned()), PollOutcome::Gone("no".to_owned()), success] {
            let job = harness.claim(id).await;
            harness.finish(result(&job, failure)).await;
        }
        let feed = harness.feed(id).await;
        assert_eq!((feed.is_gone, feed.failure_count, feed.last_error), (false, 0, None));
        assert_eq!(feed.last_fetched_at, Some(harness.now()));
    }
}

async fn f4_a_moved_feed_has_another_url(harness: &Harness) {
    let old = FeedAddress { url: "http://e.org/1".to_owned(), credentials: Some("a:b".to_owned()) };
    let id = harness.add_feed(NewFeed { address: old, ..new_feed("", vec![entry("1")]) }).await.id;
    let new = FeedAddress { url: "https://e.org/2".to_owned(), credentials: Some("c:d".to_owned()) };
    let job = harness.claim(id).await;
    let moved = PollResult { moved_to: Some(new.clone()), ..fetched(&job, vec![entry("1"), entry("2")]) };
    assert_eq!(harness.finish(moved).await, Stored { applied: true, new: 1, changed: 0, ..Stored::default() });
    assert_eq!(harness.feed(id).await.url, new.url);
    assert_eq!(harness.store.feed_by_url(&new.url).await.unwrap(), Some(id));
    assert_eq!(harness.store.feed_by_url("http://e.org/1").await.unwrap(), None);
    let job = harness.claim(id).await;
    assert_eq!(job.address, new);
    // Also with an answer that brings nothing.
    harness.finish(PollResult { moved_to: Some(address("https://e.org/3")), ..unchanged(&job) }).await;
    assert_eq!(harness.feed(id).await.url, "https://e.org/3");
}

async fn f4_a_feed_does_not_move_to_where_another_is(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![]).await;
    let other = harness.add("http://e.org/2", vec![]).await;
    let job = harness.claim(id).await;
    let moved = PollResult { moved_to: Some(address("http://e.org/2")), ..fetched(&job, vec![entry("1")]) };
    assert_eq!(harness.finish(moved).await, Stored { applied: true, new: 1, changed: 0, ..Stored::default() });
    assert_eq!(harness.feed(id).await.url, "http://e.org/1");
    assert_eq!(harness.store.feed_by_url("http://e.org/2").await.unwrap(), Some(other));
    assert_eq!(harness.feed(id).await.unread_count, 1);
}

async fn f4_results_are_stored_each_by_itself(harness: &Harness) {
    let urls: Vec<String> = (0..6).map(|number| format!("http://e.org/{number}")).collect();
    let ids = harness.import(&urls.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut jobs = Vec::new();
    for id in &ids {
        jobs.push(harness.claim(*id).await);
    }
    harness.store.delete_feed(ids[1]).await.unwrap();
    let lease = Lease { owner: "stranger".to_owned(), fence: jobs[3].lease.fence };
    let stranger = PollResult { lease, ..unchanged(&jobs[3]) };
    let results = vec![
        fetched(&jobs[0], vec![entry("1")]),
        fetched(&jobs[1], vec![entry("1")]),
        unchanged(&jobs[2]),
        stranger,
        result(&jobs[4], PollOutcome::Failed("no".to_owned())),
        fetched(&jobs[5], vec![entry("1"), entry("2")]),
        // The lease went with the result before.
        fetched(&jobs[0], vec![entry("3")]),
    ];
    let stored = harness.store.finish_polls(results).await.unwrap();
    let stored: Vec<_> =
        stored.into_iter().map(|stored| stored.unwrap()).map(|stored| (stored.applied, stored.new)).collect();
    assert_eq!(stored, [(true, 1), (false, 0), (true, 0), (false, 0), (true, 0), (true, 2), (false, 0)]);
    assert_eq!(harness.all().await.len(), 3);
    assert_eq!(harness.feed(ids[3]).await.last_fetched_at, None);
    let still_held: Vec<FeedId> = vec![ids[3]];
    let claimable = harness.store.claim_polls("other", &ids, HOUR).await.unwrap();
    assert!(claimable.iter().all(|job| !still_held.contains(&job.feed_id)));
    assert_eq!(claimable.len(), 4);
    assert_eq!(harness.store.finish_polls(vec![]).await.unwrap(), []);
}
