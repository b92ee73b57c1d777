//! What only SQLite can get wrong about the outbox: who gets the events of a group's jobs, what is undone with them, and rows
//! that should not be.

use std::{sync::Arc, time::Duration};

use domain::{
    FeedId, NewFeed, WebhookId,
    account::READER,
    delivery::{
        AttemptEnd, AttemptLog, AttemptOutcome, BreakerRules, ClaimLimits, DeliveryFilter, DeliveryJob, DomainEvent,
        EventType, NewWebhook, OutboxLimits, Verdict, Webhook, WebhookPatch, WebhookSecret,
    },
    feed_state::FeedAddress,
    ingest::{Document, Hash, IncomingEntry, PollOutcome, PollResult},
    ports::{ChangeStore, DeliveryStore, FeedStore, NewFeedOutcome, PollStore, StoreError, TestOutcome},
};

use testkit::SimulatedClock;

use super::{fresh, hold_writer};
use crate::sqlite::{
    SqliteOptions, SqliteStore, Synchronous,
    outbox::{events, webhooks},
    shared::{queue::Priority, writer::WriteTx},
};

const LEASE: Duration = Duration::from_secs(10);

fn new_webhook() -> NewWebhook {
    NewWebhook::to("https://r.org/", WebhookSecret::parse("whsec_b2xk").unwrap())
}

fn limits(limit: u32) -> ClaimLimits {
    ClaimLimits { limit, of_others: limit, ..ClaimLimits::default() }
}

fn ended(job: &DeliveryJob, verdict: Verdict) -> AttemptOutcome {
    AttemptOutcome {
        id: job.id,
        lease: job.lease.clone(),
        webhook_id: job.webhook_id,
        event: job.event,
        kind: job.kind,
        url: new_webhook().url,
        verdict,
        ended: AttemptEnd::Answered {
            status: if verdict == Verdict::Delivered { 200 } else { 500 },
            retry_after: None,
        },
        is_probe: job.is_probe,
        tries: job.tries,
        attempt: AttemptLog::default(),
    }
}

async fn add(store: &SqliteStore) -> FeedId {
    let new = NewFeed {
        address: FeedAddress { url: "http://e.org/1".to_owned(), credentials: None },
        folder_id: None,
        custom_title: None,
        document: Document::default(),
        next_check_in: Duration::ZERO,
    };
    match store.add_feed(READER, new).await.unwrap() {
        NewFeedOutcome::Added(feed) => feed.id,
        other => panic!("{other:?}"),
    }
}

/// A poll that brings one entry with so long a text.
async fn poll(store: &SqliteStore, feed: FeedId, number: u8, bytes: usize) -> PollResult {
    let job = store.claim_polls("worker", &[feed], LEASE).await.unwrap().remove(0);
    let entry = IncomingEntry {
        guid: number.to_string(),
        identity: Hash::of(&[number]),
        content: Some("x".repeat(bytes)),
        ..IncomingEntry::default()
    };
    PollResult {
        feed_id: feed,
        lease: job.lease,
        claimed_at: job.claimed_at,
        next_check_in: Duration::ZERO,
        next_audit_in: Duration::ZERO,
        due_by: None,
        adaptive_secs: 1,
        moved_to: None,
        outcome: PollOutcome::Fetched(Document { entries: vec![entry], ..Document::default() }),
    }
}

async fn count(store: &SqliteStore, table: &'static str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    store.readers.read(move |connection| connection.query_row(&sql, [], |row| row.get(0))).await.unwrap()
}

#[tokio::test]
async fn d2_what_happened_and_its_events_are_undone_together() {
    let (store, _folder) = fresh();
    let webhook = store.create_webhook(READER, new_webhook()).await.unwrap();
    let feed = add(&store).await;
    let result = poll(&store, feed, 1, 200_000).await;
    let limit = |changes: &mut WriteTx<'_>| {
        // Disk space for the entry, and for not half of its event.
        let pages: i64 = changes.connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        changes.connection.query_row(&format!("PRAGMA max_page_count = {}", pages + 75), [], |_| Ok(()))
    };
    store.writer.write(Priority::Usual, limit).await.unwrap();
    let stored = store.finish_polls(vec![result.clone()]).await.unwrap().remove(0);
    assert!(matches!(stored, Err(StoreError::Unavailable(_))), "{stored:?}");
    assert_eq!((count(&store, "entries").await, count(&store, "events").await), (0, 0));
    assert_eq!(count(&store, "deliveries").await, 0);
    // There is disk space for the entry alone.
    let patch = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
    store.update_webhook(READER, webhook.id, patch).await.unwrap();
    assert!(store.finish_polls(vec![result]).await.unwrap().remove(0).unwrap().applied);
    assert_eq!((count(&store, "entries").await, count(&store, "events").await), (1, 0));
}

#[tokio::test]
async fn d1_a_webhook_counts_from_its_own_job_on() {
    let (store, _folder) = fresh();
    let feed = add(&store).await;
    let result = poll(&store, feed, 1, 1).await;
    let (release, _held) = hold_writer(&store).await;
    // All in one group: a poll before the webhook, one after it, one after it was disabled.
    let record = |changes: &mut WriteTx<'_>| events::record(changes, &[gone(FeedId(1))]);
    let other = store.clone();
    let polled = tokio::spawn(async move { other.finish_polls(vec![result]).await });
    while store.writer.waiting() < 1 {
        tokio::task::yield_now().await;
    }
    let create = |changes: &mut WriteTx<'_>| webhooks::create(changes, READER, &new_webhook());
    let made = store.writer.submit(Priority::Usual, create).await.unwrap();
    let recorded = store.writer.submit(Priority::Usual, record).await.unwrap();
    let disable = |changes: &mut WriteTx<'_>| {
        let patch = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
        webhooks::update(changes, READER, WebhookId(1), &patch)
    };
    let disabled = store.writer.submit(Priority::Usual, disable).await.unwrap();
    let unwanted = store.writer.submit(Priority::Usual, record).await.unwrap();
    release.send(()).unwrap();
    assert!(polled.await.unwrap().unwrap().remove(0).unwrap().applied);
    let made: Webhook = made.await.unwrap().unwrap();
    assert_eq!((made.id, recorded.await.unwrap(), unwanted.await.unwrap()), (WebhookId(1), Ok(()), Ok(())));
    assert!(!disabled.await.unwrap().unwrap().unwrap().enabled);
    assert_eq!((count(&store, "events").await, count(&store, "deliveries").await), (1, 1));
}

fn gone(feed: FeedId) -> DomainEvent {
    DomainEvent::Feed(EventType::FeedGone, feed)
}

#[tokio::test]
async fn d1_a_webhook_that_was_undone_gets_no_events() {
    let (store, _folder) = fresh();
    add(&store).await;
    let (release, _held) = hold_writer(&store).await;
    let fails = |changes: &mut WriteTx<'_>| {
        webhooks::create(changes, READER, &new_webhook())?;
        // The listeners are known from here on, and must not be.
        events::record(changes, &[gone(FeedId(1))])?;
        changes.connection.execute_batch("no statement")
    };
    let undone = store.writer.submit(Priority::Usual, fails).await.unwrap();
    let record = |changes: &mut WriteTx<'_>| events::record(changes, &[gone(FeedId(1))]);
    let recorded = store.writer.submit(Priority::Usual, record).await.unwrap();
    release.send(()).unwrap();
    assert!(undone.await.unwrap().is_err());
    assert_eq!(recorded.await.unwrap(), Ok(()));
    assert_eq!((count(&store, "webhooks").await, count(&store, "events").await), (0, 0));
    assert_eq!(count(&store, "deliveries").await, 0);
}

#[tokio::test]
async fn d4_one_group_wakes_once_and_only_if_it_queues() {
    let (store, _folder) = fresh();
    let webhook = store.create_webhook(READER, new_webhook()).await.unwrap().id;
    let (release, _held) = hold_writer(&store).await;
    let tests: Vec<_> = (0..3)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.test_webhook(READER, webhook).await.unwrap() })
        })
        .collect();
    while store.writer.waiting() < 3 {
        tokio::task::yield_now().await;
    }
    release.send(()).unwrap();
    for test in tests {
        assert!(matches!(test.await.unwrap(), TestOutcome::Queued(_)));
    }
    // More than one only if the machine stood still for longer than a group may take; and one for the webhook.
    let seen = store.changed_since(0).await;
    assert!((2..=4).contains(&seen), "{seen}");
    let jobs = store.claim_deliveries("worker", LEASE, &limits(3)).await.unwrap().jobs;
    // A success of one that is well frees nothing that could be claimed.
    store.finish_deliveries(vec![ended(&jobs[0], Verdict::Delivered)], &BreakerRules::default()).await.unwrap();
    let retry = Verdict::Retry(Duration::from_hours(1));
    store.finish_deliveries(vec![ended(&jobs[1], retry)], &BreakerRules::default()).await.unwrap();
    store.renew_deliveries(&[(jobs[2].id, jobs[2].lease.clone())], LEASE).await.unwrap();
    let page = store.deliveries(READER, DeliveryFilter::default(), 9, None).await.unwrap();
    store.cancel_delivery(READER, &page.deliveries[1].id, "no").await.unwrap();
    assert_eq!(store.changed_since(seen).await, seen + 1, "only that");
}

#[tokio::test]
async fn d11_nothing_is_left_of_what_was_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let clock = SimulatedClock::at(jiff::Timestamp::from_second(1_767_268_800).unwrap());
    let options = SqliteOptions { synchronous: Synchronous::Off, readers: 1, slow_readers: 1 };
    let store = SqliteStore::open(folder.path(), options, Arc::new(clock.clone())).unwrap();
    for removes in [false, true] {
        let webhook = store.create_webhook(READER, new_webhook()).await.unwrap().id;
        store.test_webhook(READER, webhook).await.unwrap();
        let job = store.claim_deliveries("worker", LEASE, &limits(1)).await.unwrap().jobs.remove(0);
        store.finish_deliveries(vec![ended(&job, Verdict::Delivered)], &BreakerRules::default()).await.unwrap();
        assert_eq!(count(&store, "attempts").await, 1);
        assert!(!removes || store.delete_webhook(READER, webhook).await.unwrap());
        clock.advance(Duration::from_mins(1));
        let limit = Duration::from_secs(1);
        let limits = OutboxLimits { delivered_older_than: limit, failed_older_than: limit, chunk: 9 };
        assert_eq!(store.prune_deliveries(limits).await.unwrap(), 2);
        for table in ["deliveries", "events", "attempts"] {
            assert_eq!(count(&store, table).await, 0, "{table}");
        }
    }
    assert_eq!(count(&store, "webhooks").await, 1, "the one that was removed is gone with its last delivery");
}
