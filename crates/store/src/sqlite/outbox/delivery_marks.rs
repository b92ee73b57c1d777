//! How attempts ended, each guarded by its lease: delivery, owner, fence and state. What they mean for their webhooks is
//! the domain's; it is gathered here, in the order given, and written once for each.

use std::collections::{BTreeMap, btree_map::Entry};

use domain::{
    WebhookId,
    delivery::{
        ANSWER_BYTES_MAX, ATTEMPTS_KEPT_MAX, AttemptLog, AttemptOutcome, BreakerRules, Consequence, DeliveryStatus,
        DomainEvent, EventType, FinishReport, Health, PayloadWebhook,
    },
};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::sqlite::{
    outbox::{events, webhook_rows},
    shared::writer::WriteTx,
};
use crate::values::{ERROR_BYTES_MAX, beginning, millis, time};

const HEALTH: &str = concat!("SELECT url, enabled, ", webhook_rows::health_columns!(), " FROM webhooks WHERE id = ?");

pub(crate) const MARK: &str = include_str!("sql/delivery_marks_mark.sql");

const ATTEMPT: &str = include_str!("sql/delivery_marks_attempt.sql");

pub(crate) const FORGET: &str = include_str!("sql/delivery_marks_forget.sql");

const DISABLE: &str = include_str!("sql/delivery_marks_disable.sql");

/// A webhook, as the marks leave it.
#[derive(Debug)]
struct Receiver {
    url: String,
    is_enabled: bool,
    before: Health,
    health: Health,
    /// Why it is to be disabled, if it is.
    disable: Option<String>,
}

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
        let receiver = match receivers.entry(one.webhook_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(receiver(connection, one)?),
        };
        let consequence = decide(receiver, one, rules, now);
        let Some(place) = mark(connection, one, &consequence, now)? else {
            marks.skipped.push(one.id);
            continue;
        };
        log(connection, one, place, now)?;
        if receiver.url != one.url && consequence.status == DeliveryStatus::Pending {
            changes.log.deliveries();
        }
        if consequence.status == DeliveryStatus::Failed {
            changes.log.deliveries();
            given_up.extend(DomainEvent::delivery_failed(one, key));
        }
        receiver.health = consequence.health;
        receiver.disable = receiver.disable.take().or(consequence.disable);
    }
    for (id, receiver) in &receivers {
        keep(changes, *id, receiver)?;
        if let Some(reason) = receiver.disable.clone().filter(|_| receiver.is_enabled) {
            marks.disabled.push((*id, reason));
        }
    }
    // Now that all are disabled that are to be: of two at once, neither is told of the other.
    for (id, reason) in &marks.disabled {
        let url = receivers.get(id).map(|receiver| receiver.url.clone()).unwrap_or_default();
        let about = PayloadWebhook::new(*id, &url, Some(reason.clone()));
        events::tell(changes, &[DomainEvent::Webhook(EventType::WebhookDisabled, about)])?;
    }
    events::tell(changes, &given_up)?;
    Ok(marks)
}

/// What one attempt leads to, after those before it.
fn decide(receiver: &Receiver, one: &AttemptOutcome, rules: &BreakerRules, now: i64) -> Consequence {
    if receiver.url != one.url {
        return Consequence::of_another_receiver(receiver.health, one.verdict);
    }
    receiver.health.after(one, rules, time(now))
}

/// A webhook whose row is gone stands well, and is written nowhere.
fn receiver(connection: &Connection, one: &AttemptOutcome) -> Result<Receiver> {
    let receiver = connection.prepare_cached(HEALTH)?.query_row([one.webhook_id.0], |row| {
        let health = webhook_rows::health_of(row, 2)?;
        Ok(Receiver { url: row.get(0)?, is_enabled: row.get(1)?, before: health, health, disable: None })
    });
    let health = Health::default();
    let nobody = Receiver { url: one.url.clone(), is_enabled: false, before: health, health, disable: None };
    Ok(receiver.optional()?.unwrap_or(nobody))
}

/// Writes down how the delivery stands; returns the place of the attempt in its log. `None` if the row was not its own
/// any more: then nothing is changed.
fn mark(connection: &Connection, one: &AttemptOutcome, consequence: &Consequence, now: i64) -> Result<Option<i64>> {
    let AttemptLog { status_code, error, .. } = &one.attempt;
    let row = (
        one.id.0,
        &one.lease.owner,
        one.lease.fence,
        consequence.status.name(),
        consequence.is_counted,
        now,
        millis(consequence.next_in),
        status_code,
        error.as_deref().map(|error| beginning(error, ERROR_BYTES_MAX)),
    );
    connection.prepare_cached(MARK)?.query_row(row, |row| row.get(0)).optional()
}

fn log(connection: &Connection, one: &AttemptOutcome, place: i64, now: i64) -> Result<()> {
    let AttemptLog { number, duration, status_code, answer, error } = &one.attempt;
    let row = (
        one.id.0,
        place,
        number,
        now - millis(*duration),
        millis(*duration),
        status_code,
        answer.as_deref().map(|answer| beginning(answer, ANSWER_BYTES_MAX)),
        error.as_deref().map(|error| beginning(error, ERROR_BYTES_MAX)),
    );
    connection.prepare_cached(ATTEMPT)?.execute(row)?;
    let kept = i64::from(ATTEMPTS_KEPT_MAX);
    if place > kept {
        connection.prepare_cached(FORGET)?.execute((one.id.0, place - kept))?;
    }
    Ok(())
}

/// Writes down how a webhook stands, if that has changed. Its success is the rule, and writes nothing.
fn keep(changes: &mut WriteTx<'_>, id: WebhookId, receiver: &Receiver) -> Result<()> {
    let Receiver { is_enabled, before, health, disable, .. } = receiver;
    if health != before {
        webhook_rows::update_health(changes.connection, id, health)?;
        if health.breaker.is_some() != before.breaker.is_some() {
            changes.log.webhooks();
        }
    }
    if before.failures > 0 && health.failures == 0 {
        // What waited for it to be well again can be claimed now.
        changes.log.deliveries();
    }
    if let Some(reason) = disable.as_ref().filter(|_| *is_enabled) {
        changes.connection.prepare_cached(DISABLE)?.execute((id.0, reason))?;
        changes.log.webhooks();
        changes.outbox.forget_listeners();
    }
    Ok(())
}
