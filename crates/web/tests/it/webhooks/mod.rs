//! Webhooks and the outbox over HTTP (SPEC D1, D10), on both stores.

mod bad_input;
mod described;
mod given;
mod outbox;
mod wishes;
mod world;
