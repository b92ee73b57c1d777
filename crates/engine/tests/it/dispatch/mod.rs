//! Deliveries over real HTTP, on each kind of store.

mod answers;
mod clock;
mod flaky;
mod isolation;
mod leases;
mod sending;
mod setup;
mod stopping;
