//! The two stores: SQLite inside, PostgreSQL when one machine is not enough.

mod clock;
mod icons;
mod migrations;
mod open_error;
mod postgres;
mod sqlite;
mod target;
pub mod transfer;
mod values;

pub use open_error::OpenError;
pub use postgres::{PostgresOptions, PostgresStore};
pub use sqlite::{PagesCopied, SqliteOptions, SqliteStore, Synchronous};
