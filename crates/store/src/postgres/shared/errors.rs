//! What went wrong, told apart by whether trying again may help. Never a row's content: messages go to users and logs.

use deadpool_postgres::{PoolError, TimeoutType};
use domain::ports::StoreError;
use tokio_postgres::{Error, error::SqlState};

use crate::OpenError;
use crate::postgres::shared::{hosts::is_read_only, read_only};

/// Classes of SQLSTATE after which the same statement may succeed later: connection, transaction rollback (deadlock,
/// serialisation), insufficient resources (disk, memory, connections), operator intervention (shutdown, time-outs),
/// system errors.
const PASSING_CLASSES: [&str; 5] = ["08", "40", "53", "57", "58"];

/// Single codes of the same kind: time-outs of locks and of idle transactions, a standby that cannot write.
const PASSING_CODES: [SqlState; 3] =
    [SqlState::LOCK_NOT_AVAILABLE, SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, SqlState::READ_ONLY_SQL_TRANSACTION];

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it so")]
pub(crate) fn store_error(error: Error) -> StoreError {
    let reason = reason(&error);
    if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) {
        read_only::met();
    }
    if is_passing(&error) { StoreError::Unavailable(reason) } else { StoreError::Failed(reason) }
}

pub(crate) fn pool_error(error: &PoolError) -> StoreError {
    StoreError::Unavailable(pool_reason(error))
}

pub(crate) fn pool_reason(error: &PoolError) -> String {
    match error {
        PoolError::Backend(error) if is_read_only(error) => "the database is read-only now".to_owned(),
        PoolError::Backend(error) => reason(error),
        PoolError::Timeout(TimeoutType::Wait) => "all connections are busy".to_owned(),
        PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => {
            "the database did not answer in time".to_owned()
        }
        other => chain(other),
    }
}

/// Why no connection could be made at the start: whether that passes, or somebody has to do something about it.
pub(crate) fn open_error(error: &PoolError) -> OpenError {
    match error {
        PoolError::Backend(error) if error.code().is_some() && !is_passing(error) => OpenError::Refused(reason(error)),
        other => OpenError::Unavailable(pool_reason(other)),
    }
}

/// Whether the server, or the pooler in front of it, has no connection left to give.
pub(crate) fn is_full(error: &PoolError) -> bool {
    let PoolError::Backend(error) = error else { return false };
    error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS) || reason(error).contains("no more connections allowed")
}

/// Whether another row has the value of a unique index.
pub(crate) fn is_unique_violation(error: &Error) -> bool {
    error.code() == Some(&SqlState::UNIQUE_VIOLATION)
}

/// Whether transactions waited for each other, and this one was chosen to end.
pub(crate) fn is_deadlock(error: &Error) -> bool {
    error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED)
}

/// Whether the wait for something that others have locked timed out.
pub(crate) fn is_locked(error: &Error) -> bool {
    error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// Whether a statement failed only because one before it in the same transaction has.
pub(crate) fn is_in_failed_transaction(error: &Error) -> bool {
    error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION)
}

/// In one line, without the detail, which may quote what was to be stored.
pub(crate) fn reason(error: &Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("{} ({})", error.message(), error.code().code());
    }
    chain(error)
}

/// With all its causes, unless a message has that of its cause already.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}

fn is_passing(error: &Error) -> bool {
    match error.code() {
        Some(code) => {
            PASSING_CODES.contains(code) || PASSING_CLASSES.iter().any(|class| code.code().starts_with(class))
        }
        None => error.is_closed() || is_of_the_connection(error),
    }
}

/// Errors without a code are of the connection, unless they concern a value or a statement of ours.
fn is_of_the_connection(error: &Error) -> bool {
    let is_of_socket = std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
    is_of_socket || error.to_string().starts_with("timeout")
}
