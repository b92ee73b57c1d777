//! How attempts ended, each guarded by its lease: delivery, owner, fence and state. What they mean for their webhooks is
//! the domain's; it is gathered here, in the order given, and written once for each.

use std::collections::{BTreeMap, btree_map::Entry};

use domain::{
    AccountId, WebhookId,
    delivery::{AttemptOutcome, BreakerRules, DomainEvent, EventType, FinishReport, PayloadWebhook, ReceiverState},
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
    "SELECT url, enabled, account_id, ",
    webhook_rows::health_columns!(),
    " FROM webhooks WHERE id = ? AND deleted_at IS NULL"
);

const NONCE: &str = "SELECT nonce FROM events WHERE id = ?";

const DISABLE: &str = include_str!("sql/delivery_marks_disable.sql");

/// How a receiver stands, and whose it is: nobody's, if its row is gone.
type Receiver = (ReceiverState, Option<AccountId>);

pub(crate) fn finish(
    changes: &mut WriteTx<'_>,
    key: &str,
    finished: &[AttemptOutcome],
    rules: &BreakerRules,
) -> Result<FinishReport> {
    let (connection, now) = (changes.connection, changes.now());
    let mut receivers: BTreeMap<WebhookId, Receiver> = BTreeMap::new();
    let (mut marks, mut given_up) = (FinishReport::default(), Vec::new());
    for one in finished {
        let (receiver, account) = match receivers.entry(one.webhook_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(receiver(connection, one.webhook_id)?),
        };
        let consequence = receiver.decide(one, rules, time(now));
        let Some(place) = mark(connection, one, &consequence, now)? else {
            marks.skipped.push(one.id);
            continue;
        };
        log(connection, one, place, now)?;
        changes.figures.attempt(*account, consequence.status, one.attempt.duration);
        if receiver.changes_deliveries(one, &consequence) {
            changes.log.deliveries();
        }
        if receiver.reports_failure(&consequence) {
            given_up.extend(failure_of(connection, *account, one, key)?);
        }
        receiver.apply(&consequence);
    }
    for (id, (receiver, account)) in &receivers {
        keep(changes, *account, *id, receiver)?;
        if let Some(reason) = receiver.disabled_reason() {
            marks.disabled.push((*id, reason.to_owned()));
        }
    }
    // Now that all are disabled that are to be: of two at once, neither gets the event of the other.
    for (id, reason) in &marks.disabled {
        let Some((receiver, Some(account))) = receivers.get(id) else { continue };
        let about = PayloadWebhook::new(*id, receiver.url(), Some(reason.clone()));
        events::record(changes, &[DomainEvent::Webhook(EventType::WebhookDisabled, *account, about)])?;
    }
    events::record(changes, &given_up)?;
    Ok(marks)
}

/// The event of a delivery that is given up.
fn failure_of(
    connection: &Connection,
    account: Option<AccountId>,
    one: &AttemptOutcome,
    key: &str,
) -> Result<Option<DomainEvent>> {
    let nonce = connection.prepare_cached(NONCE)?.query_row([one.event.0], |row| row.get(0)).optional()?;
    Ok(account.and_then(|account| DomainEvent::delivery_failed(account, one, key, nonce.unwrap_or_default())))
}

/// How the receiver of a webhook stands, whether that is removed or not.
fn receiver(connection: &Connection, webhook: WebhookId) -> Result<Receiver> {
    let receiver = connection.prepare_cached(HEALTH)?.query_row([webhook.0], |row| {
        Ok((ReceiverState::new(row.get(0)?, row.get(1)?, webhook_rows::health_at(row, 3)?), row.get(2).map(AccountId)?))
    });
    Ok(receiver.optional()?.map_or_else(|| (ReceiverState::removed(), None), |(state, account)| (state, Some(account))))
}

/// Writes down how a webhook stands, if that has changed. Its success is the rule, and writes nothing.
fn keep(changes: &mut WriteTx<'_>, account: Option<AccountId>, id: WebhookId, receiver: &ReceiverState) -> Result<()> {
    let Some(account) = account else { return Ok(()) };
    if receiver.is_changed() {
        webhook_rows::update_health(changes.connection, id, &receiver.health())?;
    }
    if receiver.is_shown_otherwise() {
        changes.log.webhooks(account);
    }
    if receiver.has_recovered() {
        // What waited for it to be well again can be claimed now.
        changes.log.deliveries();
    }
    if let Some(reason) = receiver.disabled_reason() {
        changes.connection.prepare_cached(DISABLE)?.execute((id.0, reason))?;
        changes.outbox.forget_listeners();
    }
    Ok(())
}
