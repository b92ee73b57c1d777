//! The outbox as people look at it: pages, and numbers. Both walk an index, webhook by webhook.

use deadpool_postgres::Client;
use domain::{
    AccountId,
    delivery::{DeliveryFilter, DeliveryPage, DeliveryStatus, DueRows, Overview, claimable},
    ports::Viewer,
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, PostgresStore,
    outbox::{
        delivery_rows::{self, columns, delivery_of},
        webhook_rows::{self, readable_at},
    },
    query, query_then,
    shared::values::{count, time, usize_to_i64},
};

/// The newest of each webhook and status, and of them the newest. Each is looked up by itself, whatever the planner
/// thinks of how many there will be.
const PAGE: &str = concat!(
    "
SELECT ",
    columns!(),
    "
FROM (
    SELECT newest.id
    FROM webhooks
    CROSS JOIN unnest($4::text[]) AS wanted (status)
    CROSS JOIN LATERAL (
        SELECT id
        FROM deliveries
        WHERE webhook_id = webhooks.id
          AND deliveries.status = wanted.status
          AND id < $1
        ORDER BY id DESC
        LIMIT $2
    ) AS newest
    WHERE account_id = $5
      AND deleted_at IS NULL
      AND ($3::bigint IS NULL OR webhooks.id = $3)
    ORDER BY newest.id DESC
    LIMIT $2
) AS page
CROSS JOIN LATERAL (
    SELECT *
    FROM deliveries
    WHERE deliveries.id = page.id
    LIMIT 1
) AS deliveries
CROSS JOIN LATERAL (
    SELECT type, nonce
    FROM events
    WHERE events.id = deliveries.event_id
    LIMIT 1
) AS events
ORDER BY page.id DESC"
);

/// Whoever counts most of a table would be given the whole table to read, although an index has all that is asked for.
const BY_INDEX: &str = "SET LOCAL enable_seqscan = off";

/// A row for each webhook, with the webhook itself. Due are those of the index, but for the few that somebody holds. The
/// first pending one is the oldest.
const OVERVIEW: &str = concat!(
    "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
SELECT pending.count,
       CASE WHEN enabled THEN due.count - held.due ELSE 0 END,
       held.count,
       failed.count,
       oldest.created_at,
       (SELECT ms FROM now),
       due.new,
       due.tried,
       failures,
       failing_since,
       failed_at,
       probes,
       probe_at,
       probe_new_at,
       held_until,
       ",
    webhook_rows::columns!(),
    "
FROM webhooks
CROSS JOIN LATERAL (
    SELECT count(*) FROM deliveries WHERE webhook_id = webhooks.id AND status = 'pending'
) AS pending
CROSS JOIN LATERAL (
    SELECT count(*), count(*) FILTER (WHERE NOT is_tried) AS new, count(*) FILTER (WHERE is_tried) AS tried
    FROM deliveries
    WHERE webhook_id = webhooks.id AND status = 'pending' AND next_attempt_at <= (SELECT ms FROM now)
) AS due
CROSS JOIN LATERAL (
    SELECT count(*), count(*) FILTER (WHERE next_attempt_at <= (SELECT ms FROM now)) AS due
    FROM deliveries
    WHERE webhook_id = webhooks.id
      AND lease_owner IS NOT NULL
      AND lease_until > (SELECT ms FROM now)
      -- 60000: clock::LEASE_SLACK_MS.
      AND lease_until <= (SELECT ms FROM now) + lease_ms + 60000
      AND status = 'pending'
) AS held
CROSS JOIN LATERAL (
    SELECT count(*) FROM deliveries WHERE webhook_id = webhooks.id AND status = 'failed'
) AS failed
LEFT JOIN LATERAL (
    SELECT created_at
    FROM deliveries
    WHERE webhook_id = webhooks.id AND status = 'pending'
    ORDER BY id
    LIMIT 1
) AS oldest ON true
WHERE deleted_at IS NULL
  AND ($1::bigint IS NULL OR account_id = $1)"
);

/// Where in a row of [`OVERVIEW`] its webhook begins.
const WEBHOOK_AT: usize = 15;

pub(crate) async fn page(
    store: &PostgresStore,
    client: &Client,
    account: AccountId,
    filter: DeliveryFilter,
    limit: u32,
    after: Option<&str>,
) -> Result<DeliveryPage, Error> {
    let before = match after.map(|id| delivery_rows::row_of(id, &store.installation)) {
        None => i64::MAX,
        Some(Some(row)) => row,
        Some(None) => return Ok(DeliveryPage::default()),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let statuses = filter.status.map_or(DeliveryStatus::ALL.to_vec(), |status| vec![status]);
    let statuses: Vec<&str> = statuses.into_iter().map(DeliveryStatus::name).collect();
    let webhook = filter.webhook_id.map(|id| id.0);
    let rows_max = usize_to_i64(limit.saturating_add(1));
    let rows = query(client, PAGE, &[&before, &rows_max, &webhook, &statuses, &account.0]).await?;
    page_of(&rows, limit, &store.installation)
}

fn page_of(rows: &[Row], limit: usize, installation: &str) -> Result<DeliveryPage, Error> {
    let deliveries =
        rows.iter().take(limit).map(|row| delivery_of(row, installation)).collect::<Result<Vec<_>, _>>()?;
    let next_cursor = deliveries.last().filter(|_| rows.len() > limit).map(|last| last.id.clone());
    Ok(DeliveryPage { deliveries, next_cursor })
}

pub(crate) async fn overview(client: &mut Client, viewer: Viewer) -> Result<Overview, Error> {
    let transaction = client.transaction().await?;
    let account = match viewer {
        Viewer::Account(account) => Some(account.0),
        Viewer::Server => None,
    };
    let whose: Params<'_> = &[&account];
    let counts = query(&transaction, OVERVIEW, whose);
    let (_, rows) = query_then(&transaction, BY_INDEX, &[], counts).await?;
    transaction.commit().await?;
    Ok(overview_of(&rows))
}

fn overview_of(rows: &[Row]) -> Overview {
    let sum = |place: usize| rows.iter().map(|row| count(row.get(place))).sum();
    let age = |row: &Row| Some(count(row.get::<_, i64>(5) - row.get::<_, Option<i64>>(4)?) / 1000);
    Overview {
        pending: sum(0),
        ready: rows.iter().map(ready).sum(),
        in_flight: sum(2),
        failed: sum(3),
        oldest_pending_age: rows.iter().filter_map(age).max(),
    }
}

/// Nothing is claimed for a webhook that cannot be read.
fn ready(row: &Row) -> u64 {
    let [free, in_flight, new, tried] = [1, 2, 6, 7].map(|place| count(row.get(place)));
    let Some(webhook) = Some(row).filter(|_| free > 0).and_then(|row| readable_at(row, WEBHOOK_AT)) else { return 0 };
    let breaker = webhook_rows::health_at(row, 8).breaker;
    claimable(&webhook, DueRows { free, new, tried, in_flight }, breaker, time(row.get(5)))
}
