//! Push: subscriptions, and what hubs bring.

use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::Client;
use domain::{
    FeedId, Lease, SubscriptionId,
    ports::{Changed, Claim, PushStore, StoreResult},
    push::{Event, Offer, Push, PushStored, PushTarget, Rules, Subscription, SubscriptionJob},
};
use tokio_postgres::Error;

use super::{
    Params, PostgresStore, both, discovery,
    errors::store_error,
    events::{self, Audience, payload_feed},
    feed_rows,
    ingest::{self, KNOWN_BY_SUBSCRIPTION, Target},
    news, polls, prepare, query, query_opt,
    subscription_changes::{self, Decisions, LOCK, LOCK_FEED},
    subscription_claims::{self, BY_DUE},
    subscriptions::{self, COLUMNS, LOCK_OF_FEEDS, subscription_of},
    values::{millis, total},
    webhooks::{self, ENABLED},
};

/// Feeds in one transaction, when all subscriptions are ended: their rows are locked meanwhile.
const CHUNK: i64 = 100;

/// Feeds after one that have subscriptions that are still wanted.
const LIVING: &str = "
SELECT DISTINCT feed_id
FROM subscriptions
WHERE feed_id > $1
  AND state <> 'unsubscribing'
ORDER BY feed_id
LIMIT $2";

const LOCK_FEEDS: &str = "
WITH held AS MATERIALIZED (
    SELECT
    FROM feeds
    WHERE id = ANY($1)
    ORDER BY id
    FOR NO KEY UPDATE
)
SELECT pirssonite_now_ms(), count(*)
FROM held";

#[async_trait]
impl PushStore for PostgresStore {
    async fn subscriptions(&self) -> StoreResult<Vec<Subscription>> {
        let client = self.client().await?;
        subscriptions::all(&client).await.map_err(store_error)
    }

    async fn subscription(&self, id: SubscriptionId) -> StoreResult<Option<Subscription>> {
        let client = self.client().await?;
        subscriptions::one(&client, id).await.map_err(store_error)
    }

    async fn subscription_of(&self, feed: FeedId) -> StoreResult<Option<Subscription>> {
        let client = self.client().await?;
        subscriptions::current_of(&client, feed).await.map_err(store_error)
    }

    async fn push_target(&self, token: &str) -> StoreResult<Option<PushTarget>> {
        let client = self.client().await?;
        subscriptions::by_token(&client, token).await.map_err(store_error)
    }

    async fn push_targets(&self, topic: &str, limit: u32) -> StoreResult<Vec<PushTarget>> {
        let client = self.client().await?;
        subscriptions::by_topic(&client, topic, limit).await.map_err(store_error)
    }

    async fn feeds_to_subscribe(&self, base_url: &str, after: FeedId, limit: u32) -> StoreResult<Vec<FeedId>> {
        let client = self.client().await?;
        discovery::to_subscribe(&client, base_url, after, limit).await.map_err(store_error)
    }

    async fn subscribe(&self, wishes: Vec<(FeedId, Offer)>) -> StoreResult<u32> {
        discovery::subscribe(self, wishes).await
    }

    async fn stop_push(&self) -> StoreResult<u32> {
        let mut client = self.client().await?;
        let (mut after, mut ended) = (i64::MIN, 0);
        while let Some((last, count)) = end_some(self, &mut client, after).await.map_err(store_error)? {
            (after, ended) = (last, ended + count);
        }
        Ok(ended)
    }

    async fn change_subscription(
        &self,
        id: SubscriptionId,
        claim: Claim,
        event: Event,
        rules: Rules,
    ) -> StoreResult<Changed> {
        subscription_changes::change_one(self, id, &claim, &event, rules).await
    }

    async fn claim_due_subscriptions(
        &self,
        owner: &str,
        limit: u32,
        lease: Duration,
        but_not_at: &[String],
    ) -> StoreResult<Vec<SubscriptionJob>> {
        let client = self.client().await?;
        let claimed = subscription_claims::claim_due(&client, &self.bounds.steps, owner, limit, lease, but_not_at);
        claimed.await.map_err(store_error)
    }

    async fn claim_expiring_subscriptions(
        &self,
        owner: &str,
        limit: u32,
        lease: Duration,
        within: Duration,
    ) -> StoreResult<Vec<SubscriptionJob>> {
        let client = self.client().await?;
        subscription_claims::claim_expiring(&client, owner, limit, lease, within).await.map_err(store_error)
    }

    async fn release_subscriptions(&self, leases: &[(SubscriptionId, Lease)]) -> StoreResult<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let client = self.client().await?;
        subscription_claims::release(&client, &self.bounds.steps, leases).await.map_err(store_error)
    }

    async fn next_step_in(&self) -> StoreResult<Option<Duration>> {
        let client = self.client().await?;
        polls::next_in(&client, &self.bounds.steps, BY_DUE).await.map_err(store_error)
    }

    async fn push(&self, push: Push) -> StoreResult<PushStored> {
        let mut client = self.client().await?;
        store_push(self, &mut client, push).await.map_err(store_error)
    }

    async fn poll_soon(&self, feed: FeedId, delay: Duration) -> StoreResult<()> {
        let client = self.client().await?;
        feed_rows::poll_soon(&client, feed, delay).await.map_err(store_error)
    }
}

/// Ends the subscriptions of the next feeds after this one; returns the last of them, and how many subscriptions were
/// wanted. `None` if there are no more.
async fn end_some(store: &PostgresStore, client: &mut Client, after: i64) -> Result<Option<(i64, u32)>, Error> {
    let transaction = client.transaction().await?;
    prepare(&transaction, &[LOCK_FEEDS, LOCK_OF_FEEDS]).await?;
    let rows = query(&transaction, LIVING, &[&after, &CHUNK]).await?;
    let feeds: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let Some(last) = feeds.last().copied() else { return Ok(None) };
    let which: Params<'_> = &[&feeds];
    let known = subscriptions::lock_of_feeds(&transaction, &feeds);
    let (held, known) = both(query_opt(&transaction, LOCK_FEEDS, which), known).await?;
    let Some(now) = held.map(|row| row.get(0)) else { return Ok(None) };
    let mut decisions = Decisions::new(known, now);
    let ended = decisions.end_all();
    decisions.write(&transaction).await?;
    let has_queued = events::tell(&transaction, &decisions.into_news(), now).await?;
    store.commit(transaction, has_queued).await?;
    Ok(Some((last, ended)))
}

/// Two round trips between the beginning and the end, three if somebody is told: this is to be done thousands of times in
/// a second.
async fn store_push(store: &PostgresStore, client: &mut Client, push: Push) -> Result<PushStored, Error> {
    let Push { subscription_id: id, secret, document, poll_in } = push;
    let identities = ingest::identities_of(&document.entries);
    let transaction = client.transaction().await?;
    prepare(&transaction, &[LOCK_FEED, LOCK, KNOWN_BY_SUBSCRIPTION, ENABLED]).await?;
    let which: Params<'_> = &[&id.0];
    let locks = both(query_opt(&transaction, LOCK_FEED, which), query_opt(&transaction, LOCK, which));
    let known = ingest::known(&transaction, KNOWN_BY_SUBSCRIPTION, id.0, &identities);
    let ((feed, held), (known, webhooks)) = both(locks, both(known, webhooks::enabled(&transaction))).await?;
    let Some(held) = held else { return Ok(PushStored::NotActive) };
    let (Some(feed), subscription) = (feed, subscription_of(&held)?) else { return Ok(PushStored::NoFeed) };
    let now = held.get(COLUMNS + 2);
    // A poll that was claimed before now cannot undo it.
    let target = Target { feed_id: feed.get(0), folder_id: feed.get(1), claimed_at: now, is_backlog: false, now };
    let mut decisions = Decisions::new(vec![subscription], now);
    if decisions.decide(id, &Event::Pushed { secret }, Rules::default()).is_none() {
        return Ok(PushStored::NotActive);
    }
    let sorted = ingest::sort_out(&document, &known, target.claimed_at);
    if !sorted.new.is_empty() {
        decisions.effects(FeedId(target.feed_id)).new_entries = total(sorted.new.len());
    }
    if let Some(delay) = poll_in {
        decisions.effects(FeedId(target.feed_id)).poll_in = Some(millis(delay));
    }
    let entries = ingest::store_entries(&transaction, target, &sorted);
    let (ids, ()) = both(entries, decisions.write(&transaction)).await?;
    let mut news = decisions.into_news();
    news.extend(news::of_entries(&transaction, &webhooks, target, &sorted, &ids).await?);
    let feed = payload_feed(target, feed.get(2), feed.get(3));
    let has_queued = Audience { webhooks: &webhooks, feed }.tell(&transaction, &news, now).await?;
    store.commit(transaction, has_queued).await?;
    Ok(PushStored::Stored(sorted.stored()))
}
