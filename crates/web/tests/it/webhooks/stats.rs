//! U3: the figures behind the plots, as JSON and on the pages.

use std::time::Duration;

use domain::delivery::Verdict;
use serde_json::{Value, json};

use super::world::{World, each};
use crate::world::{fields, keys};

/// All points of an answer, added up by outcome.
fn sums(figures: &Value, outcomes: &[&str]) -> Vec<u64> {
    let points = figures["points"].as_array().unwrap();
    let sum = |outcome: &&str| points.iter().map(|point| point["counts"][*outcome].as_u64().unwrap()).sum();
    outcomes.iter().map(sum).collect()
}

async fn some_deliveries(world: &World) -> Value {
    let webhook = world.webhook(json!({})).await;
    for verdict in [Verdict::Delivered, Verdict::Failed, Verdict::Retry(Duration::from_hours(1))] {
        world.test(&webhook).await;
        assert_eq!(world.end(verdict, Some(if verdict == Verdict::Delivered { 200 } else { 500 })).await, 1);
    }
    webhook
}

#[tokio::test]
async fn u3_stats_tell_what_became_of_deliveries() {
    for world in each().await {
        some_deliveries(&world).await;
        for (step, points) in [("minute", 60), ("hour", 24)] {
            let figures = world.get(&format!("/api/stats?metric=deliveries&step={step}")).await;
            assert_eq!(keys(&figures), fields("metric step from until points nextFrom"));
            assert_eq!((&figures["metric"], &figures["step"]), (&json!("deliveries"), &json!(step)));
            assert_eq!(keys(&figures["points"][0]), fields("at total counts medianMs p99Ms"));
            // A minute may have passed.
            assert_eq!(figures["points"].as_array().unwrap().len(), points);
            assert_eq!(sums(&figures, &["delivered", "retried", "failed"]), [1, 1, 1]);
            assert_eq!(figures["nextFrom"], json!(null));
        }
        let latency = world.get("/api/stats?metric=latency").await;
        let point = latency["points"].as_array().unwrap().iter().find(|point| point["total"] != 0).unwrap();
        assert!((11..=15).contains(&point["medianMs"].as_u64().unwrap()), "{point}");
        assert!((11..=15).contains(&point["p99Ms"].as_u64().unwrap()), "{point}");
        assert_eq!(latency["points"][0]["medianMs"], json!(null), "nothing was sent an hour ago");
        assert_eq!(latency["points"][0]["counts"], json!({}));
    }
}

#[tokio::test]
async fn u3_stats_tell_of_polls_and_entries() {
    for world in each().await {
        world.feed("/a", 3).await;
        let polls = world.get("/api/stats?metric=polls").await;
        assert_eq!(sums(&polls, &["new", "unchanged", "failed"]), [1, 0, 0]);
        assert_eq!(sums(&world.get("/api/stats?metric=entries").await, &["new", "changed"]), [3, 0]);
        assert_eq!(sums(&world.get("/api/stats?metric=pushes").await, &["new", "unchanged"]), [0, 0]);
    }
}

#[tokio::test]
async fn u3_stats_are_bounded_and_go_on_where_they_ended() {
    for world in each().await {
        some_deliveries(&world).await;
        let (mut path, mut seen, mut answers) =
            ("/api/stats?metric=deliveries&from=1970-01-01T00:00:00Z".to_owned(), 0, 0);
        loop {
            let figures = world.get(&path).await;
            assert!(figures["points"].as_array().unwrap().len() <= 1440);
            seen += sums(&figures, &["delivered"])[0];
            answers += 1;
            let Some(next) = figures["nextFrom"].as_str() else { break };
            assert_eq!(figures["until"], json!(next));
            path = format!("/api/stats?metric=deliveries&from={next}");
        }
        assert_eq!(seen, 1);
        assert!((3..=4).contains(&answers), "two days and a minute: {answers}");
        let to_come = world.get("/api/stats?metric=deliveries&step=hour&from=9999-12-31T23:59:59Z").await;
        assert_eq!((&to_come["points"], &to_come["nextFrom"]), (&json!([]), &json!(null)));
    }
}

#[tokio::test]
async fn u3_stats_refuse_what_they_do_not_know() {
    for world in each().await {
        for (query, expect) in [
            ("", "`metric`: missing: `deliveries`, `latency`, `polls`, `pushes` or `entries`"),
            ("?metric=backlog", "`metric`: expected `deliveries`, `latency`, `polls`, `pushes` or `entries`"),
            ("?metric=polls&step=day", "`step`: expected `minute` or `hour`"),
            ("?metric=polls&step=", "`step`: expected `minute` or `hour`"),
            ("?metric=polls&from=now", "`from`: expected a time with its zone, such as 2024-01-31T12:00:00Z"),
            ("?metric=polls&metric=polls", "`metric`: given more than once"),
            (
                "?metric=polls&until=2024-01-31T12:00:00Z",
                "`until`: no such parameter; there are `metric`, `from` and `step`",
            ),
        ] {
            assert_eq!(world.server.get(&format!("/api/stats{query}")).await.error(400), expect, "{query}");
        }
    }
}

#[tokio::test]
async fn u3_pages_show_the_figures_as_plots() {
    for world in each().await {
        for path in ["/webhooks", "/push", "/status"] {
            let page = world.server.get(path).await;
            assert_eq!(page.status, 200);
            assert!(page.text.contains("Nothing in this time."), "{path}: {}", page.text);
        }
        some_deliveries(&world).await;
        world.feed("/a", 3).await;
        for (path, told) in [
            ("/webhooks", "Over the last hour: delivered: 1, retried: 1, failed: 1. At most 3 a minute."),
            ("/webhooks?span=day", "Over the last day: delivered: 1, retried: 1, failed: 1. At most 0.2 a minute."),
            ("/webhooks?span=week", "Over the last week: half of all attempts took no longer than"),
            ("/status?span=week", "Over the last week: new: 1, unchanged: 0, failed: 0."),
            ("/status", "Over the last hour: new: 3, changed: 0."),
        ] {
            let page = world.server.get(path).await.text;
            // Attempts may have fallen into two minutes.
            let told = told.split(" At most").next().unwrap();
            assert!(page.contains(told), "{path}: {page}");
            assert!(page.contains("As a table") && page.contains("role=\"img\""), "{path}");
            assert!(!page.contains("style="), "the policy forbids it");
        }
    }
}
