//! How attempts ended, each guarded by its lease: delivery, owner, fence and state. What they mean for their webhooks is
//! the domain's; it is gathered here, in the order given, and written once for each.

use std::collections::{BTreeMap, btree_map::Entry};

use domain::{
    WebhookId,
    delivery::{
        AttemptOutcome, BreakerRules, DeliveryStatus, DomainEvent, EventType, FinishReport, PayloadWebhook,
        ReceiverState,
    },
};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::sqlite::{
    outbox::{
        delivery_mark_rows::{log, mark},
        events, webhook_rows,
    },
    shared::writer::WriteTx,
};
use crate::values::time;

const HEALTH: &str = concat!(
    "SELECT url, enabled, ",
    webhook_rows::health_columns!(),
    " FROM webhooks WHERE id = ? AND deleted_at IS NULL"
);

const DISABLE: &str = include_str!("sql/delivery_marks_disable.sql");

pub(crate) fn finish(
    changes: &mut WriteTx<'_>,
    key: &str,
    finished: &[AttemptOutcome],
    rules: &BreakerRules,
) -> Result<FinishReport> {
    let (connection, now) = (changes.connection, changes.now());
    let mut receivers: BTreeMap<WebhookId, ReceiverState> = BTreeMap::new();
    let (mut marks, mut given_up) = (FinishReport::default(), Vec::new());
    for one in finished {
        let receiver = match receivers.entry(one.webhook_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(receiver(connection, one.webhook_id)?),
        };
        let consequence = receiver.decide(one, rules, time(now));
        let Some(place) = mark(connection, one, &consequence, now)? else {
            marks.skipped.push(one.id);
            continue;
        };
        log(connection, one, place, now)?;
        if receiver.is_redirected(one, &consequence) {
            changes.log.deliveries();
        }
        if consequence.status == DeliveryStatus::Failed {
            changes.log.deliveries();
        }
        if receiver.tells_of(&consequence) {
            given_up.extend(DomainEvent::delivery_failed(one, key));
        }
        receiver.apply(&consequence);
    }
    for (id, receiver) in &receivers {
        keep(changes, *id, receiver)?;
        if let Some(reason) = receiver.disabled_reason() {
            marks.disabled.push((*id, reason.to_owned()));
        }
    }
    // Now that all are disabled that are to be: of two at once, neither is told of the other.
    for (id, reason) in &marks.disabled {
        let url = receivers.get(id).map(ReceiverState::url).unwrap_or_default();
        let about = PayloadWebhook::new(*id, url, Some(reason.clone()));
        events::tell(changes, &[DomainEvent::Webhook(EventType::WebhookDisabled, about)])?;
    }
    events::tell(changes, &given_up)?;
    Ok(marks)
}

/// How the receiver of a webhook stands, whether that is removed or not.
fn receiver(connection: &Connection, webhook: WebhookId) -> Result<ReceiverState> {
    let receiver = connection.prepare_cached(HEALTH)?.query_row([webhook.0], |row| {
        Ok(ReceiverState::new(row.get(0)?, row.get(1)?, webhook_rows::health_of(row, 2)?))
    });
    Ok(receiver.optional()?.unwrap_or_else(ReceiverState::removed))
}

/// Writes down how a webhook stands, if that has changed. Its success is the rule, and writes nothing.
fn keep(changes: &mut WriteTx<'_>, id: WebhookId, receiver: &ReceiverState) -> Result<()> {
    if receiver.is_changed() {
        webhook_rows::update_health(changes.connection, id, &receiver.health())?;
        if receiver.is_shown_otherwise() {
            changes.log.webhooks();
        }
    }
    if receiver.has_recovered() {
        // What waited for it to be well again can be claimed now.
        changes.log.deliveries();
    }
    if let Some(reason) = receiver.disabled_reason() {
        changes.connection.prepare_cached(DISABLE)?.execute((id.0, reason))?;
        changes.log.webhooks();
        changes.outbox.forget_listeners();
    }
    Ok(())
}
