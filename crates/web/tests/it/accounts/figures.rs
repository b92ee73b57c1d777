//! A1, U3: whose figures are whose.

use std::time::Duration;

use domain::delivery::{AttemptEnd, AttemptLog, AttemptOutcome, BreakerRules, ClaimLimits, Verdict};
use serde_json::{Value, json};

use super::Cluster;

/// All that is due has arrived.
async fn deliver(cluster: &Cluster) {
    let limits = ClaimLimits { limit: 100, of_others: 100, ..ClaimLimits::default() };
    let claimed = cluster.store.claim_deliveries("a worker", Duration::from_mins(1), &limits).await.unwrap();
    let ended = claimed.jobs.into_iter().map(|job| AttemptOutcome {
        id: job.id,
        lease: job.lease,
        webhook_id: job.webhook_id,
        url: "https://r.example/".to_owned(),
        event: job.event,
        kind: job.kind,
        verdict: Verdict::Delivered,
        ended: AttemptEnd::Answered { status: 200, retry_after: None },
        is_probe: job.is_probe,
        tries: job.tries,
        attempt: AttemptLog { number: 1, status_code: Some(200), ..AttemptLog::default() },
    });
    cluster.store.finish_deliveries(ended.collect(), &BreakerRules::default()).await.unwrap();
}

async fn delivered(cluster: &Cluster, cookie: &str) -> u64 {
    let figures = cluster.ask(cookie, "GET", "/api/stats?metric=deliveries", &Value::Null).await.ok(200);
    figures["points"].as_array().unwrap().iter().map(|point| point["total"].as_u64().unwrap()).sum()
}

#[tokio::test]
async fn a1_u3_figures_are_of_ones_own_webhooks() {
    for (cluster, admin) in Cluster::each_locked().await {
        let (_, ann) = cluster.account(&admin, "ann").await;
        let (_, bob) = cluster.account(&admin, "bob").await;
        for (cookie, tests) in [(&ann, 2), (&bob, 1)] {
            let hook =
                cluster.ask(cookie, "POST", "/api/webhooks", &json!({ "url": "https://r.example/" })).await.ok(201);
            for _ in 0..tests {
                cluster.ask(cookie, "POST", &format!("/api/webhooks/{}/test", hook["id"]), &Value::Null).await.ok(202);
            }
        }
        deliver(&cluster).await;
        assert_eq!((delivered(&cluster, &ann).await, delivered(&cluster, &bob).await), (2, 1));
        assert_eq!(delivered(&cluster, &admin).await, 3, "the whole server's");
        let program = cluster.token(&admin, "read").await;
        let own = cluster.with_token(&program, "GET", "/api/stats?metric=deliveries", &Value::Null).await.ok(200);
        assert!(own["points"].as_array().unwrap().iter().all(|point| point["total"] == 0), "its own, which are none");
    }
}

#[tokio::test]
async fn a1_u3_figures_of_the_server_are_for_administrators() {
    for (cluster, admin) in Cluster::each_locked().await {
        let (_, ann) = cluster.account(&admin, "ann").await;
        for metric in ["polls", "pushes", "entries"] {
            let path = format!("/api/stats?metric={metric}");
            let refused = cluster.ask(&ann, "GET", &path, &Value::Null).await;
            assert_eq!(refused.error(403), "this is for administrators");
            cluster.ask(&admin, "GET", &path, &Value::Null).await.ok(200);
        }
        for (path, plot) in [("/push", "plot-pushes"), ("/status", "plot-polls")] {
            let shows = async |cookie: &str| cluster.ask(cookie, "GET", path, &Value::Null).await.text.contains(plot);
            assert!(shows(&admin).await && !shows(&ann).await, "{path}");
        }
        assert!(cluster.ask(&ann, "GET", "/webhooks", &Value::Null).await.text.contains("plot-deliveries"));
    }
}
