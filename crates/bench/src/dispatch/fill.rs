//! Events and their deliveries by the million, written straight into the tables: what makes them is not measured here.

use domain::account::READER;
use std::net::SocketAddr;

use domain::{
    WebhookId,
    delivery::{EventType, NewWebhook, payload},
    ports::Clock,
};
use engine::{Engine, SystemClock};
use serde::{Deserialize, Serialize};

use super::receiver::{ReceiverMode, url};
use crate::fixture::{DATABASE, Fixture, StoreLocation};

/// Bytes of the body that is sent.
pub(crate) const BODY_BYTES: usize = 1024;

const SQLITE_EVENTS: &str = "
WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?1)
INSERT INTO events (type, created_at, is_backlog, size, data)
SELECT 'entry.created', ?2, 0, length(?3), ?3
FROM numbers";

const SQLITE_DELIVERIES: &str = "
INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at)
SELECT events.id, webhooks.value, events.created_at, events.created_at
FROM events
CROSS JOIN json_each(?1) AS webhooks
WHERE events.id > ?2";

const POSTGRES_EVENTS: &str = "
INSERT INTO events (type, created_at, is_backlog, size, data)
SELECT 'entry.created', pirssonite_now_ms(), false, length($2), $2
FROM generate_series(1, $1::bigint)
RETURNING id";

const POSTGRES_DELIVERIES: &str = "
INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at)
SELECT events.id, wanted.id, events.created_at, events.created_at
FROM events
CROSS JOIN unnest($1::bigint[]) AS wanted (id)
WHERE events.id >= $2
ORDER BY events.id, wanted.id";

/// A process of its own, so that its memory is not counted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) location: StoreLocation,
    pub(crate) receiver: SocketAddr,
    pub(crate) webhooks: usize,
    /// One delivery of each event for each webhook.
    pub(crate) events: usize,
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<()> {
        let fixture = Fixture::open(&self.location).await?;
        let engine = fixture.engine()?;
        let urls = (0..self.webhooks).map(|number| url(self.receiver, ReceiverMode::Accept, number));
        let webhooks = make_webhooks(&engine, urls).await?;
        fill(&self.location, &webhooks, self.events).await?;
        fixture.vacuum_analyze().await
    }
}

/// Webhooks that want all there is.
pub(super) async fn make_webhooks(
    engine: &Engine,
    urls: impl IntoIterator<Item = String>,
) -> anyhow::Result<Vec<WebhookId>> {
    let mut webhooks = Vec::new();
    for url in urls {
        webhooks.push(engine.create_webhook(READER, |secret| NewWebhook::to(url, secret)).await?.id);
    }
    Ok(webhooks)
}

/// What an event is about, so that a body has [`BODY_BYTES`].
fn data() -> String {
    let around = payload("evt_0123456789abcdef01234567", EventType::EntryCreated, SystemClock.now(), "").len();
    let (start, end) = (r#"{"entry":{"id":1,"content":""#, r#""}}"#);
    let text = "x".repeat(BODY_BYTES.saturating_sub(around + start.len() + end.len()));
    format!("{start}{text}{end}")
}

/// So many events, each to be delivered to all of these, due now.
pub(super) async fn fill(location: &StoreLocation, webhooks: &[WebhookId], events: usize) -> anyhow::Result<()> {
    let webhooks: Vec<i64> = webhooks.iter().map(|id| id.0).collect();
    let (events, data) = (i64::try_from(events)?, data());
    match location {
        StoreLocation::Sqlite { folder } => {
            let mut connection = rusqlite::Connection::open(folder.join(DATABASE))?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            let transaction = connection.transaction()?;
            let last: i64 = transaction.query_row("SELECT coalesce(max(id), 0) FROM events", [], |row| row.get(0))?;
            transaction.execute(SQLITE_EVENTS, (events, SystemClock.now().as_millisecond(), data))?;
            transaction.execute(SQLITE_DELIVERIES, (serde_json::to_string(&webhooks)?, last))?;
            transaction.commit()?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        StoreLocation::Postgres { url } => {
            let (mut client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            let transaction = client.transaction().await?;
            let first = format!("WITH made AS ({POSTGRES_EVENTS}) SELECT min(id) FROM made");
            let first: Option<i64> = transaction.query_one(&first, &[&events, &data]).await?.get(0);
            transaction.execute(POSTGRES_DELIVERIES, &[&webhooks, &first.unwrap_or(0)]).await?;
            transaction.commit().await?;
        }
    }
    Ok(())
}
