//! U3: what happened is counted by the minute and by the hour, with what it reports or not at all.

use std::time::Duration;

use domain::{
    AccountId,
    account::READER,
    delivery::{FinishReport, Verdict},
    figures::{FigureQuery, FigureStep, HOURS_KEPT, MINUTES_KEPT, Metric, percentile},
    ingest::PollOutcome,
    ports::{AccountOutcome, Viewer},
};
use tokio::task::JoinSet;

use super::{
    Harness,
    given::{HOUR, entry, fetched, result, unchanged, version},
    given_outbox::{RETRY, finished},
    given_push::push,
};

contract! {
    u3_polls_and_entries_are_counted,
    u3_pushes_are_counted,
    u3_attempts_are_counted_with_their_latency,
    u3_what_is_not_stored_is_not_counted,
    u3_points_are_by_minute_and_by_hour,
    u3_old_minutes_become_hours_and_old_hours_go,
    u3_many_at_once_are_all_counted,
    a1_figures_of_webhooks_are_their_accounts,
    a1_figures_go_with_their_account,
}

const MINUTE: Duration = Duration::from_mins(1);

impl Harness {
    /// What was counted in the last so many steps, added up.
    async fn counted(&self, viewer: Viewer, metric: Metric, step: FigureStep, steps: u32) -> Vec<u64> {
        let points = self.store.figures(viewer, FigureQuery::last(metric, step, steps, self.now())).await.unwrap();
        assert_eq!(points.len(), usize::try_from(steps).unwrap());
        let none = vec![0; metric.series().len()];
        points.iter().fold(none, |sum, point| sum.iter().zip(&point.counts).map(|(one, other)| one + other).collect())
    }

    /// The same of the whole server, within the minute.
    async fn now_counted(&self, metric: Metric) -> Vec<u64> {
        self.counted(Viewer::Server, metric, FigureStep::Minute, 1).await
    }
}

async fn u3_polls_and_entries_are_counted(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    assert_eq!(harness.now_counted(Metric::Polls).await, [1, 0, 0], "a feed that is added is fetched");
    assert_eq!(harness.now_counted(Metric::Entries).await, [2, 0]);
    harness.advance(MINUTE).await;
    harness.poll(feed, vec![entry("1"), version("2", "changed"), entry("3")]).await;
    harness.poll(feed, vec![entry("1")]).await;
    harness.poll_unchanged(feed).await;
    harness.fail_poll(feed).await;
    harness.fail_poll(feed).await;
    let gone = harness.claim(feed).await;
    harness.finish(result(&gone, PollOutcome::Gone("410 Gone".to_owned()))).await;
    assert_eq!(harness.now_counted(Metric::Polls).await, [1, 2, 3]);
    assert_eq!(harness.now_counted(Metric::Entries).await, [1, 1]);
    assert_eq!(harness.now_counted(Metric::Pushes).await, [0, 0]);
}

async fn u3_pushes_are_counted(harness: &Harness) {
    let (_, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.advance(MINUTE).await;
    harness.push(push(id, "secret", vec![entry("1"), entry("2")])).await;
    harness.push(push(id, "secret", vec![entry("1")])).await;
    harness.push(push(id, "secret", vec![version("1", "changed")])).await;
    harness.push(push(id, "secret", vec![])).await;
    assert_eq!(harness.now_counted(Metric::Pushes).await, [2, 2]);
    assert_eq!(harness.now_counted(Metric::Entries).await, [2, 1]);
    assert_eq!(harness.now_counted(Metric::Polls).await, [0, 0, 0]);
}

async fn u3_attempts_are_counted_with_their_latency(harness: &Harness) {
    let webhook = harness.quiet_webhook("https://r.org/1").await;
    harness.queue(webhook, 6).await;
    let jobs = harness.take("worker", 6).await;
    let mut ended: Vec<_> = jobs[..4].iter().map(|job| finished(job, Verdict::Delivered)).collect();
    ended[3].attempt.duration = Duration::from_millis(900);
    // All that arrived, and some that did not, are stored in different ways.
    assert_eq!(harness.mark(ended).await, FinishReport::default());
    harness.mark(vec![finished(&jobs[4], RETRY), finished(&jobs[5], Verdict::Failed)]).await;
    assert_eq!(harness.now_counted(Metric::Deliveries).await, [4, 1, 1]);
    let took = harness.now_counted(Metric::Latency).await;
    assert_eq!(took.iter().sum::<u64>(), 6);
    assert_eq!((percentile(&took, 500), percentile(&took, 990)), (Some(18), Some(1000)));
}

async fn u3_what_is_not_stored_is_not_counted(harness: &Harness) {
    let (_, _, job) = harness.one_claimed().await;
    harness.end(&job, RETRY).await;
    // Too late, and once more.
    let late = harness.mark(vec![finished(&job, Verdict::Delivered), finished(&job, RETRY)]).await;
    assert_eq!(late.skipped.len(), 2);
    assert_eq!(harness.now_counted(Metric::Deliveries).await, [0, 1, 0]);
    let feed = harness.add("http://e.org/1", vec![]).await;
    let job = harness.claim(feed).await;
    let results = vec![unchanged(&job), unchanged(&job), fetched(&job, vec![entry("1")])];
    harness.store.finish_polls(results).await.unwrap();
    assert_eq!(harness.now_counted(Metric::Polls).await, [0, 2, 0], "it was added, and polled once");
    assert_eq!(harness.now_counted(Metric::Entries).await, [0, 0]);
    harness.store.push(push(domain::SubscriptionId(999), "secret", vec![entry("2")])).await.unwrap();
    assert_eq!(harness.now_counted(Metric::Pushes).await, [0, 0]);
}

async fn u3_points_are_by_minute_and_by_hour(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    for _ in 0..3 {
        harness.advance(40 * MINUTE).await;
        harness.poll_unchanged(feed).await;
    }
    // At 12:00, 12:40, 13:20 and 14:00.
    let read = async |step, steps| {
        let wanted = FigureQuery::last(Metric::Polls, step, steps, harness.now());
        let points = harness.store.figures(Viewer::Server, wanted).await.unwrap();
        assert_eq!(points[0].at, wanted.from());
        points.into_iter().map(|point| point.counts[1]).collect::<Vec<_>>()
    };
    assert_eq!(read(FigureStep::Hour, 3).await, [2, 1, 1]);
    assert_eq!(read(FigureStep::QuarterHour, 9).await, [1, 0, 1, 0, 0, 1, 0, 0, 1]);
    assert_eq!(read(FigureStep::Minute, 2).await, [0, 1]);
    assert_eq!(read(FigureStep::Minute, 41).await.iter().sum::<u64>(), 2);
    assert_eq!(read(FigureStep::Minute, 121).await.iter().sum::<u64>(), 4);
}

async fn u3_old_minutes_become_hours_and_old_hours_go(harness: &Harness) {
    let feed = harness.add("http://e.org/1", vec![]).await;
    harness.advance(MINUTE).await;
    harness.poll_unchanged(feed).await;
    let prune = async || {
        let mut total = 0;
        loop {
            // One row at a time: an hour is whole however it is put together.
            let gone = harness.store.prune_figures(1).await.unwrap();
            assert!(gone <= 1);
            if gone == 0 {
                return total;
            }
            total += gone;
        }
    };
    let by_hour = async |hours| harness.counted(Viewer::Server, Metric::Polls, FigureStep::Hour, hours).await;
    harness.advance(MINUTES_KEPT).await;
    assert_eq!(prune().await, 0, "the hour is not over");
    assert_eq!(by_hour(49).await, [0, 2, 0]);
    harness.advance(HOUR).await;
    assert_eq!(prune().await, 2);
    assert_eq!(harness.number("SELECT count(*) FROM figures_by_minute").await, 0);
    assert_eq!(harness.number("SELECT count(*) FROM figures_by_hour").await, 1);
    assert_eq!(by_hour(50).await, [0, 2, 0]);
    // What comes late to such a minute is added.
    harness.set(harness.after(-49 * 3600)).await;
    harness.poll_unchanged(feed).await;
    harness.set(harness.after(49 * 3600)).await;
    assert_eq!(by_hour(50).await, [0, 3, 0], "also before it is gathered");
    assert_eq!(prune().await, 1);
    assert_eq!(by_hour(50).await, [0, 3, 0]);
    harness.advance(HOURS_KEPT.saturating_sub(50 * HOUR)).await;
    assert_eq!(prune().await, 0);
    harness.advance(2 * HOUR).await;
    assert_eq!(prune().await, 1);
    assert_eq!(harness.number("SELECT count(*) FROM figures_by_hour").await, 0);
}

async fn u3_many_at_once_are_all_counted(harness: &Harness) {
    let webhook = harness.quiet_webhook("https://r.org/1").await;
    harness.queue(webhook, 40).await;
    let jobs = harness.take("worker", 40).await;
    assert_eq!(jobs.len(), 40);
    let mut marks = JoinSet::new();
    for pair in jobs.chunks(2) {
        let mut ended = vec![finished(&pair[0], Verdict::Delivered), finished(&pair[1], Verdict::Failed)];
        let worker = harness.as_account(harness.id());
        marks.spawn(async move {
            // Whoever finds the webhook locked for long comes again, as a node does.
            while !ended.is_empty() {
                let report = worker.mark(ended.clone()).await;
                assert_eq!(report.skipped, []);
                ended.retain(|one| report.locked.contains(&one.id));
            }
        });
    }
    marks.join_all().await;
    assert_eq!(harness.now_counted(Metric::Deliveries).await, [20, 0, 20]);
}

async fn a1_figures_of_webhooks_are_their_accounts(harness: &Harness) {
    let other = harness.account("other").await;
    let (ours, theirs) = (harness.webhook("https://r.org/1").await, other.webhook("https://r.org/2").await);
    harness.queue(ours, 1).await;
    other.queue(theirs, 2).await;
    let of = async |account: AccountId, metric| {
        harness.counted(Viewer::Account(account), metric, FigureStep::Minute, 1).await.iter().sum::<u64>()
    };
    let jobs = harness.take("worker", 9).await;
    assert_eq!(harness.mark(jobs.iter().map(|job| finished(job, Verdict::Delivered)).collect()).await.skipped, []);
    for metric in [Metric::Deliveries, Metric::Latency] {
        assert_eq!((of(READER, metric).await, of(other.id(), metric).await), (1, 2), "{metric:?}");
        assert_eq!(harness.now_counted(metric).await.iter().sum::<u64>(), 3);
    }
    harness.add("http://e.org/1", vec![entry("1")]).await;
    for metric in [Metric::Polls, Metric::Pushes, Metric::Entries] {
        assert_eq!(of(READER, metric).await, 0, "the server's alone");
    }
}

async fn a1_figures_go_with_their_account(harness: &Harness) {
    let other = harness.account("other").await;
    let theirs = other.webhook("https://r.org/2").await;
    other.queue(theirs, 2).await;
    let jobs = harness.take("worker", 1).await;
    harness.mark(vec![finished(&jobs[0], Verdict::Delivered)]).await;
    harness.advance(MINUTES_KEPT + HOUR).await;
    harness.store.prune_figures(100).await.unwrap();
    let jobs = harness.take("worker", 1).await;
    harness.mark(vec![finished(&jobs[0], Verdict::Delivered)]).await;
    assert!(matches!(harness.store.delete_account(other.id()).await.unwrap(), AccountOutcome::Done(_)));
    harness.advance(HOUR).await;
    while harness.store.prune_accounts(HOUR, 1).await.unwrap() > 0 {}
    for table in ["figures_by_minute", "figures_by_hour"] {
        let left = format!("SELECT count(*) FROM {table} WHERE account_id = {}", other.id());
        assert_eq!(harness.number(&left).await, 0);
    }
    assert_eq!(harness.counted(Viewer::Server, Metric::Deliveries, FigureStep::Hour, 60).await, [2, 0, 0]);
}
