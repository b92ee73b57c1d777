//! Webhooks and the outbox.

pub(crate) mod delivery_claims;
pub(crate) mod delivery_leases;
pub(crate) mod delivery_mark_locks;
pub(crate) mod delivery_mark_rows;
pub(crate) mod delivery_marks;
pub(crate) mod delivery_moves;
pub(crate) mod delivery_pages;
pub(crate) mod delivery_rows;
pub(crate) mod entry_events;
pub(crate) mod events;
pub(crate) mod outbox_prune;
pub(crate) mod pending_webhooks;
pub(crate) mod replay;
pub(crate) mod webhook_rows;
pub(crate) mod webhooks;

use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::Client;
use domain::{
    AccountId, DeliveryId, EventId, Lease, WebhookId,
    delivery::{
        Attempt, AttemptOutcome, BreakerRules, ClaimLimits, Claimed, Delivery, DeliveryFilter, DeliveryPage,
        DomainEvent, EventType, FinishReport, Moved, NewWebhook, OutboxLimits, Overview, PayloadWebhook, Webhook,
        WebhookPatch, WebhookSecret,
    },
    ports::{DeliveryStore, StoreResult, TestOutcome, Viewer},
};
use jiff::Timestamp;
use tokio_postgres::Error;

use crate::postgres::{
    PostgresStore, changes, execute, now_ms,
    shared::{claim_bounds, errors::store_error, values::DUE_FIRST_MS},
};

/// Before all else that waits for its webhook.
const PUT_FIRST: &str = "UPDATE deliveries SET next_attempt_at = $2 WHERE id = $1";

#[async_trait]
impl DeliveryStore for PostgresStore {
    async fn webhooks(&self, account: AccountId) -> StoreResult<Vec<Webhook>> {
        self.read(async |client| webhooks::all(client, account).await).await
    }

    async fn webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<Option<Webhook>> {
        self.read(async |client| webhooks::one(client, account, id).await).await
    }

    async fn receiver(&self, id: WebhookId) -> StoreResult<Option<Webhook>> {
        let client = self.client().await?;
        webhooks::by_id(&client, id).await.map_err(store_error)
    }

    async fn create_webhook(&self, account: AccountId, new: NewWebhook) -> StoreResult<Webhook> {
        let mut client = self.client().await?;
        webhooks::create(self, &mut client, account, &new).await.map_err(store_error)
    }

    async fn update_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        patch: WebhookPatch,
    ) -> StoreResult<Option<Webhook>> {
        let mut client = self.client().await?;
        webhooks::update(self, &mut client, account, id, &patch).await.map_err(store_error)
    }

    async fn delete_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<bool> {
        let mut client = self.client().await?;
        webhooks::delete(self, &mut client, account, id).await.map_err(store_error)
    }

    async fn rotate_secret(
        &self,
        account: AccountId,
        id: WebhookId,
        secret: WebhookSecret,
        keep: Duration,
    ) -> StoreResult<Option<Webhook>> {
        let mut client = self.client().await?;
        webhooks::rotate(self, &mut client, account, id, &secret, keep).await.map_err(store_error)
    }

    async fn test_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<TestOutcome> {
        let mut client = self.client().await?;
        queue_test(self, &mut client, account, id).await.map_err(store_error)
    }

    async fn replay(
        &self,
        account: AccountId,
        id: WebhookId,
        since: Timestamp,
        until: Option<Timestamp>,
    ) -> StoreResult<Option<u64>> {
        let mut client = self.client_for_long().await?;
        replay::replay(self, &mut client, account, id, since, until).await.map_err(store_error)
    }

    async fn claim_deliveries(&self, owner: &str, lease: Duration, limits: &ClaimLimits) -> StoreResult<Claimed> {
        let mut client = self.client().await?;
        delivery_claims::claim(self, &mut client, owner, lease, limits).await.map_err(store_error)
    }

    async fn event_data(&self, event: EventId) -> StoreResult<Option<String>> {
        let client = self.client().await?;
        delivery_claims::event_data(&client, event).await.map_err(store_error)
    }

    async fn renew_deliveries(&self, leases: &[(DeliveryId, Lease)], lease: Duration) -> StoreResult<Vec<DeliveryId>> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        self.beat(lease, async |client| delivery_leases::renew(client, leases, lease).await).await
    }

    async fn release_deliveries(&self, leases: &[(DeliveryId, Lease)]) -> StoreResult<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let client = self.client().await?;
        if delivery_leases::release(self, &client, leases).await.map_err(store_error)? {
            self.freed(&client).await;
        }
        Ok(())
    }

    async fn finish_deliveries(
        &self,
        finished: Vec<AttemptOutcome>,
        rules: &BreakerRules,
    ) -> StoreResult<FinishReport> {
        delivery_marks::finish(self, &finished, rules).await
    }

    async fn next_delivery_in(&self, but_not_to: &[WebhookId]) -> StoreResult<Option<Duration>> {
        let client = self.client().await?;
        delivery_leases::next_in(self, &client, but_not_to).await.map_err(store_error)
    }

    async fn outbox_overview(&self, viewer: Viewer) -> StoreResult<Overview> {
        let _permit = self.slow_permit().await?;
        let mut client = self.client_for_long().await?;
        delivery_pages::overview(&mut client, viewer).await.map_err(store_error)
    }

    async fn deliveries(
        &self,
        account: AccountId,
        filter: DeliveryFilter,
        limit: u32,
        after: Option<&str>,
    ) -> StoreResult<DeliveryPage> {
        self.read(async |client| delivery_pages::page(self, client, account, filter, limit, after).await).await
    }

    async fn delivery(&self, account: AccountId, id: &str) -> StoreResult<Option<(Delivery, Vec<Attempt>)>> {
        let Some(row) = delivery_rows::row_of(id, &self.installation) else { return Ok(None) };
        let mut client = self.client().await?;
        let found = delivery_rows::with_attempts(&mut client, account, row, &self.installation).await;
        Ok(found.map_err(store_error)?.filter(|(delivery, _)| delivery.id == id))
    }

    async fn requeue_delivery(&self, account: AccountId, id: &str) -> StoreResult<Moved> {
        let mut client = self.client().await?;
        delivery_moves::requeue(self, &mut client, account, id).await.map_err(store_error)
    }

    async fn cancel_delivery(&self, account: AccountId, id: &str, reason: &str) -> StoreResult<Moved> {
        let mut client = self.client().await?;
        delivery_moves::cancel(self, &mut client, account, id, reason).await.map_err(store_error)
    }

    async fn requeue_failed(&self, account: AccountId, webhook: WebhookId) -> StoreResult<Option<u64>> {
        let mut client = self.client_for_long().await?;
        delivery_moves::requeue_failed(self, &mut client, account, webhook).await.map_err(store_error)
    }

    async fn prune_deliveries(&self, limits: OutboxLimits) -> StoreResult<u64> {
        let mut client = self.client_for_long().await?;
        outbox_prune::prune(&mut client, limits).await.map_err(store_error)
    }
}

/// Queues a test for a webhook, whatever it wants.
async fn queue_test(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    id: WebhookId,
) -> Result<TestOutcome, Error> {
    let transaction = client.transaction().await?;
    let Some(webhook) = webhooks::one(&transaction, account, id).await? else { return Ok(TestOutcome::NotFound) };
    if !webhook.enabled {
        return Ok(TestOutcome::Disabled);
    }
    let now = now_ms(&transaction).await?;
    execute(&transaction, delivery_moves::PROBE_NOW, &[&id.0, &now]).await?;
    let about = PayloadWebhook::new(id, &webhook.url, None);
    let event = DomainEvent::Webhook(EventType::WebhookTest, account, about);
    let Some(row) = events::queue_one(&transaction, &webhook, &event, now).await? else {
        return Ok(TestOutcome::Disabled);
    };
    execute(&transaction, PUT_FIRST, &[&row, &DUE_FIRST_MS]).await?;
    let delivery = delivery_rows::one(&transaction, account, row, &store.installation).await?;
    let changed = delivery_moves::queued().take();
    changes::write(&transaction, &changed).await?;
    transaction.commit().await?;
    // It is due before what was claimed last. Other nodes find it when they next scan their whole index.
    claim_bounds::lock(&store.bounds.deliveries).released(&(id.0, false), (DUE_FIRST_MS, row));
    store.changed(&changed);
    Ok(delivery.map_or(TestOutcome::NotFound, |delivery| TestOutcome::Queued(Box::new(delivery))))
}
