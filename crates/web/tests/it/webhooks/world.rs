//! A server on each kind of store. Nothing is sent by itself: how a delivery ends is the test's to say.

use std::{sync::Arc, time::Duration};

use domain::{
    delivery::{AttemptEnd, AttemptLog, AttemptOutcome, BreakerRules, ClaimLimits, Verdict},
    ports::Store,
};
use engine::http::{ClientSettings, GuardedClient};
use serde_json::{Value, json};
use testkit::{FreshPostgres, FreshSqlite, Page, Publisher};
use web::WebSettings;

use crate::{
    server::{Answer, Server},
    world::rss,
};

/// The fields of a webhook, in the specification's order.
pub const WEBHOOK: &str = "id url description enabled eventTypes feedIds folderIds headers includeContent backlog \
                           consecutiveFailures disabledReason createdAt ratePerSecond breakerOpen heldUntil";

/// The fields of a delivery, in the specification's order, and why it was cancelled.
pub const DELIVERY: &str = "id eventId eventType webhookId deliveryStatus attempts maxAttempts nextAttemptAt leaseOwner \
                            leaseUntil lastStatusCode lastError createdAt deliveredAt reason";

pub struct World {
    pub store: Arc<dyn Store>,
    pub server: Server,
    publisher: Publisher,
    /// Goes with the world.
    _database: Database,
}

#[expect(dead_code, reason = "they are kept until the test ends")]
enum Database {
    Sqlite(FreshSqlite),
    Postgres(FreshPostgres),
}

/// One world for each kind of store.
pub async fn each() -> Vec<World> {
    let (sqlite, postgres) = (testkit::fresh_sqlite().await, testkit::fresh_postgres().await);
    vec![
        World::start(Arc::new(sqlite.store.clone()), Database::Sqlite(sqlite)).await,
        World::start(Arc::new(postgres.store.clone()), Database::Postgres(postgres)).await,
    ]
}

impl World {
    async fn start(store: Arc<dyn Store>, database: Database) -> Self {
        let loopback = vec!["127.0.0.0/8".parse().unwrap()];
        let http = GuardedClient::new(ClientSettings { allow_networks: loopback, ..ClientSettings::default() });
        let server = Server::start(Arc::clone(&store), Arc::new(http.unwrap()), WebSettings::default()).await;
        Self { store, server, publisher: Publisher::start().await, _database: database }
    }

    pub async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.server.send(method, path, &body.to_string()).await
    }

    /// The body of a success.
    pub async fn get(&self, path: &str) -> Value {
        self.server.get(path).await.ok(200)
    }

    /// Makes a webhook that wants this.
    pub async fn webhook(&self, mut wanted: Value) -> Value {
        if wanted["url"].is_null() {
            wanted["url"] = json!("https://receiver.example/hook");
        }
        self.send("POST", "/api/webhooks", &wanted).await.ok(201)
    }

    /// Tries a webhook; returns the id of the delivery.
    pub async fn test(&self, webhook: &Value) -> String {
        let queued = self.server.call("POST", &format!("/api/webhooks/{}/test", webhook["id"])).await.ok(202);
        queued["id"].as_str().unwrap().to_owned()
    }

    /// Adds a feed with so many entries.
    pub async fn feed(&self, path: &str, entries: u32) -> Value {
        self.publisher.set(path, Page::body(rss(path, entries)).header("content-type", "application/rss+xml"));
        self.send("POST", "/api/feeds", &json!({ "url": self.publisher.url(path) })).await.ok(201)
    }

    pub async fn folder(&self, name: &str) -> Value {
        self.send("POST", "/api/folders", &json!({ "name": name })).await.ok(201)
    }

    /// Lets an attempt of all that is due end so, answered with the wait as `Retry-After`; returns of how many.
    pub async fn end(&self, verdict: Verdict, status_code: Option<u16>) -> usize {
        let limits = ClaimLimits { limit: 100, of: vec![], of_others: 100, ..ClaimLimits::default() };
        let claimed = self.store.claim_deliveries("a worker", Duration::from_secs(10), &limits).await.unwrap();
        let webhooks = claimed.webhooks;
        let url = |id| webhooks.iter().find(|webhook| webhook.id == id).unwrap().url.clone();
        let retry_after = match verdict {
            Verdict::Retry(wait) => Some(wait).filter(|wait| !wait.is_zero()),
            _ => None,
        };
        let ended = |job: domain::delivery::DeliveryJob| AttemptOutcome {
            id: job.id,
            lease: job.lease,
            webhook_id: job.webhook_id,
            url: url(job.webhook_id),
            event: job.event,
            kind: job.kind,
            verdict,
            ended: status_code.map_or(AttemptEnd::Unanswered, |status| AttemptEnd::Answered { status, retry_after }),
            is_probe: job.is_probe,
            tries: job.tries,
            attempt: AttemptLog {
                number: job.attempts + 1,
                duration: Duration::from_millis(12),
                status_code,
                answer: status_code.map(|_| "said".to_owned()),
                error: status_code.is_none().then(|| "no route".to_owned()),
            },
        };
        let finished: Vec<AttemptOutcome> = claimed.jobs.into_iter().map(ended).collect();
        let count = finished.len();
        assert_eq!(self.store.finish_deliveries(finished, &BreakerRules::default()).await.unwrap().skipped, []);
        count
    }
}
