//! The deliveries that this node holds.

pub(super) mod delivery;
pub(super) mod queues;
mod webhook_queue;
