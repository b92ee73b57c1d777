//! The stores, against the port's contract.

mod contract;
mod postgres_only;
mod sqlite_only;
mod twins;
