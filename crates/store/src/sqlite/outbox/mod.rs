//! Webhooks and the outbox.

pub(crate) mod delivery_claims;
pub(crate) mod delivery_leases;
pub(crate) mod delivery_mark_rows;
pub(crate) mod delivery_marks;
pub(crate) mod delivery_moves;
pub(crate) mod delivery_pages;
pub(crate) mod delivery_rows;
pub(crate) mod entry_events;
pub(crate) mod events;
pub(crate) mod outbox_prune;
pub(crate) mod replay;
pub(crate) mod webhook_rows;
pub(crate) mod webhooks;

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    AccountId, DeliveryId, EventId, Lease, WebhookId,
    delivery::{
        Attempt, AttemptOutcome, BreakerRules, ClaimLimits, Claimed, Delivery, DeliveryFilter, DeliveryPage,
        FinishReport, Moved, NewWebhook, OutboxLimits, Overview, Webhook, WebhookPatch, WebhookSecret, number_of,
    },
    ports::{DeliveryStore, StoreResult, TestOutcome, Viewer},
};
use jiff::Timestamp;
use rusqlite::OptionalExtension;

use crate::sqlite::{
    SqliteStore,
    outbox::delivery_rows::ViewContext,
    shared::{queue::Priority, writer::WriteTx},
};

const DATA: &str = "SELECT data FROM events WHERE id = ?";

#[async_trait]
impl DeliveryStore for SqliteStore {
    async fn webhooks(&self, account: AccountId) -> StoreResult<Vec<Webhook>> {
        let now = self.now();
        self.readers.read(move |connection| webhooks::all(connection, account, now)).await
    }

    async fn webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<Option<Webhook>> {
        let now = self.now();
        self.readers.read(move |connection| webhooks::one(connection, account, id, now)).await
    }

    async fn receiver(&self, id: WebhookId) -> StoreResult<Option<Webhook>> {
        let now = self.now();
        self.readers.read(move |connection| webhooks::receiver(connection, id, now)).await
    }

    async fn create_webhook(&self, account: AccountId, new: NewWebhook) -> StoreResult<Webhook> {
        self.writer.write(Priority::Usual, move |changes| webhooks::create(changes, account, &new)).await
    }

    async fn update_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        patch: WebhookPatch,
    ) -> StoreResult<Option<Webhook>> {
        self.writer.write(Priority::Usual, move |changes| webhooks::update(changes, account, id, &patch)).await
    }

    async fn delete_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<bool> {
        self.writer.write(Priority::Usual, move |changes| webhooks::delete(changes, account, id)).await
    }

    async fn rotate_secret(
        &self,
        account: AccountId,
        id: WebhookId,
        secret: WebhookSecret,
        keep: Duration,
    ) -> StoreResult<Option<Webhook>> {
        self.writer.write(Priority::Usual, move |changes| webhooks::rotate(changes, account, id, &secret, keep)).await
    }

    async fn test_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<TestOutcome> {
        let key = self.key.clone();
        self.writer.write(Priority::Usual, move |changes| delivery_moves::test(changes, account, &key, id)).await
    }

    async fn replay(
        &self,
        account: AccountId,
        id: WebhookId,
        since: Timestamp,
        until: Option<Timestamp>,
    ) -> StoreResult<Option<u64>> {
        replay::replay(self, account, id, since, until).await
    }

    async fn claim_deliveries(&self, owner: &str, lease: Duration, limits: &ClaimLimits) -> StoreResult<Claimed> {
        let (key, owner, limits) = (self.key.clone(), owner.to_owned(), limits.clone());
        let work = move |changes: &mut WriteTx<'_>| delivery_claims::claim(changes, &key, &owner, lease, &limits);
        self.writer.write(Priority::Usual, work).await
    }

    async fn event_data(&self, event: EventId) -> StoreResult<Option<String>> {
        let work = move |connection: &rusqlite::Connection| {
            connection.prepare_cached(DATA)?.query_row([event.0], |row| row.get(0)).optional()
        };
        self.readers.read(work).await
    }

    async fn renew_deliveries(&self, leases: &[(DeliveryId, Lease)], lease: Duration) -> StoreResult<Vec<DeliveryId>> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let leases = leases.to_vec();
        self.writer.write(Priority::Urgent, move |changes| delivery_leases::renew(changes, &leases, lease)).await
    }

    async fn release_deliveries(&self, leases: &[(DeliveryId, Lease)]) -> StoreResult<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let leases = leases.to_vec();
        self.writer.write(Priority::Usual, move |changes| delivery_leases::release(changes, &leases)).await
    }

    async fn finish_deliveries(
        &self,
        finished: Vec<AttemptOutcome>,
        rules: &BreakerRules,
    ) -> StoreResult<FinishReport> {
        if finished.is_empty() {
            return Ok(FinishReport::default());
        }
        let (key, rules) = (self.key.clone(), *rules);
        let work = move |changes: &mut WriteTx<'_>| delivery_marks::finish(changes, &key, &finished, &rules);
        self.writer.write(Priority::Usual, work).await
    }

    async fn next_delivery_in(&self, but_not_to: &[WebhookId]) -> StoreResult<Option<Duration>> {
        let (now, but_not_to) = (self.now(), but_not_to.to_vec());
        let at = self.readers.read(move |connection| delivery_leases::next_at(connection, &but_not_to, now)).await?;
        Ok(at.map(|at| Duration::from_millis(u64::try_from(at - now).unwrap_or(0))))
    }

    async fn outbox_overview(&self, viewer: Viewer) -> StoreResult<Overview> {
        let now = self.now();
        self.slow_readers.read(move |connection| delivery_pages::overview(connection, viewer, now)).await
    }

    async fn deliveries(
        &self,
        account: AccountId,
        filter: DeliveryFilter,
        limit: u32,
        after: Option<&str>,
    ) -> StoreResult<DeliveryPage> {
        let (key, now, after) = (self.key.clone(), self.now(), after.map(str::to_owned));
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let work = move |connection: &rusqlite::Connection| {
            delivery_pages::page(connection, filter, limit, after.as_deref(), ViewContext { account, key: &key, now })
        };
        self.readers.read(work).await
    }

    async fn delivery(&self, account: AccountId, id: &str) -> StoreResult<Option<(Delivery, Vec<Attempt>)>> {
        let Some(row) = number_of("dlv", &self.key, id) else { return Ok(None) };
        let (key, now) = (self.key.clone(), self.now());
        let work = move |connection: &rusqlite::Connection| {
            let delivery = delivery_rows::one(connection, row, ViewContext { account, key: &key, now })?;
            delivery.map(|delivery| Ok((delivery, delivery_rows::attempts(connection, row)?))).transpose()
        };
        Ok(self.readers.read(work).await?.filter(|(delivery, _)| delivery.id == id))
    }

    async fn requeue_delivery(&self, account: AccountId, id: &str) -> StoreResult<Moved> {
        let (key, id) = (self.key.clone(), id.to_owned());
        self.writer.write(Priority::Usual, move |changes| delivery_moves::requeue(changes, account, &key, &id)).await
    }

    async fn cancel_delivery(&self, account: AccountId, id: &str, reason: &str) -> StoreResult<Moved> {
        let (key, id, reason) = (self.key.clone(), id.to_owned(), reason.to_owned());
        self.writer
            .write(Priority::Usual, move |changes| delivery_moves::cancel(changes, account, &key, &id, &reason))
            .await
    }

    async fn requeue_failed(&self, account: AccountId, webhook: WebhookId) -> StoreResult<Option<u64>> {
        delivery_moves::requeue_failed(self, account, webhook).await
    }

    async fn prune_deliveries(&self, limits: OutboxLimits) -> StoreResult<u64> {
        outbox_prune::prune(self, limits).await
    }
}
