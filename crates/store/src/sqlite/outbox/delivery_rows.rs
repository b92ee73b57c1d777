//! Deliveries and their attempts, as the API shows them.

use domain::{
    AccountId, WebhookId,
    delivery::{Attempt, Delivery, DeliveryStatus, public_id},
};
use rusqlite::{Connection, Result, Row};

use crate::clock::LEASE_SLACK_MS;
use crate::sqlite::shared::errors::unreadable;
use crate::values::{count, status_of, time, to_u32};

pub(crate) const BY_ID: &str = include_str!("sql/delivery_rows_by_id.sql");

pub(crate) const ATTEMPTS: &str = include_str!("sql/delivery_rows_attempts.sql");

/// Whose deliveries are looked at, what ids are made with, and the time that leases are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewContext<'k> {
    pub(crate) account: AccountId,
    pub(crate) key: &'k str,
    pub(crate) now: i64,
}

pub(crate) fn one(connection: &Connection, id: i64, shown: ViewContext<'_>) -> Result<Option<Delivery>> {
    let mut statement = connection.prepare_cached(BY_ID)?;
    let mut rows = statement.query((id, shown.account.0))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    // One in a state of a later version is that one's to show.
    if status_of(row.get_ref(4)?.as_str()?).is_err() {
        return Ok(None);
    }
    delivery_of(row, shown).map(Some)
}

/// The attempts that are kept, the first first.
pub(crate) fn attempts(connection: &Connection, id: i64) -> Result<Vec<Attempt>> {
    connection.prepare_cached(ATTEMPTS)?.query_map([id], attempt_of)?.collect()
}

fn delivery_of(row: &Row<'_>, ViewContext { key, now, .. }: ViewContext<'_>) -> Result<Delivery> {
    let status = status_of(row.get_ref(4)?.as_str()?).map_err(|error| unreadable(4, error))?;
    let is_pending = status == DeliveryStatus::Pending;
    let (lease_until, lease_ms): (i64, i64) = (row.get(8)?, row.get(14)?);
    let is_held = is_pending && lease_until > now && lease_until <= now + lease_ms + LEASE_SLACK_MS;
    let ended_at = row.get::<_, Option<i64>>(13)?.filter(|_| status == DeliveryStatus::Delivered);
    Ok(Delivery {
        id: public_id("dlv", key, row.get(0)?, row.get(15)?),
        event_id: public_id("evt", key, row.get(1)?, row.get(15)?),
        event_type: row.get(2)?,
        webhook_id: WebhookId(row.get(3)?),
        delivery_status: status,
        attempts: to_u32(row.get(5)?),
        // A test is due before everything else, but not before it was made.
        next_attempt_at: Some(row.get::<_, i64>(6)?.max(row.get(12)?)).filter(|_| is_pending).map(time),
        lease_owner: row.get::<_, Option<String>>(7)?.filter(|_| is_held),
        lease_until: Some(lease_until).filter(|_| is_held).map(time),
        last_status_code: row.get(9)?,
        last_error: row.get(10)?,
        reason: row.get(11)?,
        created_at: time(row.get(12)?),
        delivered_at: ended_at.map(time),
    })
}

fn attempt_of(row: &Row<'_>) -> Result<Attempt> {
    Ok(Attempt {
        number: to_u32(row.get(0)?),
        at: time(row.get(1)?),
        duration_ms: count(row.get(2)?),
        status_code: row.get(3)?,
        answer: row.get(4)?,
        error: row.get(5)?,
    })
}
