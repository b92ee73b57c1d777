//! What happened, queued once more for one webhook.

use deadpool_postgres::Client;
use domain::{
    AccountId, FeedId, FolderId, WebhookId,
    changes::ChangeLog,
    delivery::{EventScope, EventType, Follow, Webhook},
};
use jiff::Timestamp;
use tokio_postgres::{Error, Row};

use crate::postgres::{
    PostgresStore, now_ms,
    outbox::{
        delivery_moves::{CHUNK, queued, queued_again},
        webhooks,
    },
    query,
    shared::values::{Parsed, ceiling_ms, usize_to_i64},
};

const EVENTS: &str = include_str!("sql/replay_events.sql");

/// The events are held so that nobody prunes them meanwhile; and deliveries that are there, in the order of their ids.
/// Those that are pending stay as they are.
const QUEUE: &str = concat!(
    "
WITH known AS MATERIALIZED (
    SELECT id
    FROM events
    WHERE id = ANY($2)
    ORDER BY id
    FOR KEY SHARE
),
held AS MATERIALIZED (
    SELECT id
    FROM deliveries
    WHERE event_id = ANY($2)
      AND webhook_id = $1
    ORDER BY id
    FOR NO KEY UPDATE
)
INSERT INTO deliveries (event_id, webhook_id, next_attempt_at, created_at)
SELECT known.id, $1, now.ms, now.ms
FROM known, (SELECT pirssonite_now_ms() AS ms FROM (SELECT count(*) FROM held) AS after_the_wait) AS now
ORDER BY known.id
ON CONFLICT (event_id, webhook_id) DO UPDATE
SET ",
    queued_again!(),
    "
WHERE deliveries.status <> 'pending'
RETURNING id"
);

/// In chunks, each by itself: what is queued can be claimed meanwhile. Each looks at the webhook anew: one that is disabled
/// gets no more, and to one that was removed nothing is queued.
pub(crate) async fn replay(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    id: WebhookId,
    since: Timestamp,
    until: Option<Timestamp>,
) -> Result<Option<u64>, Error> {
    let until = now_ms(client).await?.min(until.map_or(i64::MAX, Timestamp::as_millisecond));
    let mut requeued = 0;
    // From that moment on: nothing has a smaller id.
    let mut after = (ceiling_ms(since), i64::MIN);
    loop {
        let transaction = client.transaction().await?;
        let Some(webhook) = webhooks::held(&transaction, account, id).await? else { return Ok(None) };
        if !webhook.enabled {
            return Ok(Some(requeued));
        }
        let chunk = usize_to_i64(CHUNK);
        let rows = query(&transaction, EVENTS, &[&after.0, &after.1, &until, &chunk, &account.0]).await?;
        let Some(last) = rows.last() else { return Ok(Some(requeued)) };
        after = (last.get(1), last.get(0));
        let wanted: Vec<i64> = rows.iter().filter(|row| is_repeated(&webhook, row)).map(|row| row.get(0)).collect();
        if wanted.is_empty() {
            continue;
        }
        let count = query(&transaction, QUEUE, &[&id.0, &wanted]).await?.len() as u64;
        store.commit(transaction, if count > 0 { queued() } else { ChangeLog::default() }).await?;
        store.bounds.pending().forget();
        requeued += count;
    }
}

/// Whether a webhook gets an event again. A kind that nobody knows is wanted by nobody, nor is what happened in a feed
/// before its account followed it.
fn is_repeated(webhook: &Webhook, row: &Row) -> bool {
    let Ok(Parsed(kind)) = row.try_get::<_, Parsed<EventType>>(2) else { return false };
    let scope = EventScope {
        kind,
        feed_id: row.get::<_, Option<i64>>(3).map(FeedId),
        account_id: row.get::<_, Option<i64>>(4).map(AccountId),
        webhook_id: row.get::<_, Option<i64>>(5).map(WebhookId),
        is_backlog: row.get(6),
    };
    let follow = row.get::<_, bool>(7).then(|| Follow { folder_id: row.get::<_, Option<i64>>(8).map(FolderId) });
    webhook.replays(&scope, follow)
}
