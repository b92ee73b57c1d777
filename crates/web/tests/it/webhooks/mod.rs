//! Webhooks and the outbox over HTTP (requirements D1, D10), on both stores.

mod actions;
mod bad_input;
mod described;
mod fields;
mod outbox;
mod stats;
mod world;
