//! The rows of deliveries whose attempts ended, and the log of those, written. What is in them was decided elsewhere.

use domain::delivery::{ANSWER_BYTES_MAX, ATTEMPTS_KEPT_MAX, AttemptLog, AttemptOutcome, Consequence};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::values::{ERROR_BYTES_MAX, beginning, millis};

pub(crate) const MARK: &str = include_str!("sql/delivery_mark_rows_mark.sql");

const ATTEMPT: &str = include_str!("sql/delivery_mark_rows_attempt.sql");

pub(crate) const FORGET: &str = include_str!("sql/delivery_mark_rows_forget.sql");

/// Writes down how the delivery stands; returns the place of the attempt in its log. `None` if the row was not its own
/// any more: then nothing is changed.
pub(crate) fn mark(
    connection: &Connection,
    one: &AttemptOutcome,
    consequence: &Consequence,
    now: i64,
) -> Result<Option<i64>> {
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

pub(crate) fn log(connection: &Connection, one: &AttemptOutcome, place: i64, now: i64) -> Result<()> {
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
