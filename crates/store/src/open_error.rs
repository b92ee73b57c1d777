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
    /// A migration failed. Nothing of it was kept.
    #[error("the migration {name} failed: {reason}")]
    Migration { name: String, reason: String },
}
