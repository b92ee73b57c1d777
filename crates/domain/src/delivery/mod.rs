//! Delivery without doing any of it: what happened and who wants to know, how a request is signed, when it is tried
//! again, and how much a receiver is trusted with.

mod circuit;
mod event;
mod heartbeat;
mod retry;
mod sign;
mod webhook;

pub use self::{
    circuit::{BROKEN_AFTER, Circuit, DISABLED_AFTER, Window, circuit, is_given_up, probe_in},
    event::{
        EventType, FAILING_AFTER, PayloadData, PayloadFeed, PayloadWebhook, number_of, payload, public_id,
        without_content,
    },
    heartbeat::{LeaseTooShort, beat_every},
    retry::{Ended, RetryRules, Verdict, judge},
    sign::{WebhookSecret, signatures},
    webhook::{EventScope, Webhook},
};
