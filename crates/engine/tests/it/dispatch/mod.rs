//! Deliveries over real HTTP, on each kind of store.

mod answers;
mod clock;
mod flaky;
mod isolation;
mod leases;
mod office;
mod sending;
mod stopping;
