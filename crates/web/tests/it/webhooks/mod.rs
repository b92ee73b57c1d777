//! Webhooks and the outbox over HTTP (SPEC D1, D10), on both stores.

mod actions;
mod bad_input;
mod described;
mod fields;
mod outbox;
mod world;
