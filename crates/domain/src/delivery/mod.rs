//! Delivery without doing any of it: what happened and who wants to know, how a request is signed, when it is tried
//! again, and how much a receiver is trusted with.

mod heartbeat;
mod retry;
mod sign;

pub use self::{
    heartbeat::{LeaseTooShort, beat_every},
    retry::{Ended, RetryRules, Verdict, judge},
    sign::{WebhookSecret, signatures},
};
