//! What went wrong, told apart by whether trying again may help.

use domain::ports::StoreError;
use rusqlite::{Error, ErrorCode, types::Type};

/// Errors of the machine, not of the statement: a full or failing disk, a lock that another process holds, no memory.
/// They pass, and then the same statement succeeds.
const PASSING: [ErrorCode; 8] = [
    ErrorCode::DiskFull,
    ErrorCode::SystemIoFailure,
    ErrorCode::DatabaseBusy,
    ErrorCode::DatabaseLocked,
    ErrorCode::FileLockingProtocolFailed,
    ErrorCode::CannotOpen,
    ErrorCode::OutOfMemory,
    ErrorCode::ReadOnly,
];

pub(crate) fn store_error(error: &Error) -> StoreError {
    let is_passing = error.sqlite_error_code().is_some_and(|code| PASSING.contains(&code));
    let reason = error.to_string();
    if is_passing { StoreError::Unavailable(reason) } else { StoreError::Failed(reason) }
}

/// The store was closed, or a thread of it is gone.
pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("it was closed".to_owned())
}

/// Work that came to no end.
pub(crate) fn broken_off() -> StoreError {
    StoreError::Failed("the work was broken off by a fault in the program".to_owned())
}

/// A value that no column takes.
pub(crate) fn unfit(error: serde_json::Error) -> Error {
    Error::ToSqlConversionFailure(Box::new(error))
}

/// A text in a column that says nothing we know: the store's failure, and nobody's panic.
pub(crate) fn unreadable(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
