//! Why a store could not be opened.

/// Why a store could not be opened. Each says what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The address or the options of the database are wrong.
    #[error("the database URL is wrong: {0}")]
    BadUrl(String),
    /// Nothing answers, or not now: it may later.
    #[error("the database cannot be opened: {0}")]
    Unavailable(String),
    /// It answers, and lets nobody in who comes like this.
    #[error("the database cannot be opened: {0}")]
    Refused(String),
    /// Another process has it.
    #[error("another process uses {0}: stop it, or choose another data folder")]
    InUse(String),
    /// Something of this kind cannot serve as the store.
    #[error("the database does not suit: {0}")]
    Unsuitable(String),
    /// A later version of the program has changed it.
    #[error("the database is of a later version ({found}) than this program knows ({known}): use the later program")]
    TooNew {
        /// The last migration in the database.
        found: i64,
        /// The last migration of this program.
        known: i64,
    },
    /// It was copied to another, which delivers in its place.
    #[error(
        "the database was moved to {to} on {on}, which delivers what was undelivered here: use that one, or let this one be \
         used again with `pirssonite copy --undo`, and what both deliver arrives twice"
    )]
    Moved { to: String, on: String },
    /// A copy into it was begun and has not ended.
    #[error(
        "a copy into this database was begun and is not complete: run `pirssonite copy` or `restore` into it once more"
    )]
    Incomplete,
    /// What is in the database was made by another text of a migration than this program has.
    #[error(
        "the migration {name} was changed after this database was made: use the program that made it, or a release"
    )]
    ChangedMigration { name: String },
    /// A migration failed. Nothing of it was kept.
    #[error("the migration {name} failed: {reason}")]
    Migration { name: String, reason: String },
}

/// The day of a time in milliseconds, for people.
pub(crate) fn day(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).map_or_else(|_| "some day".to_owned(), |at| at.strftime("%F").to_string())
}
