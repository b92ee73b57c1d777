//! Delivery without doing any of it: what happened and who wants to know, how a request is signed, when it is tried
//! again, and how much a receiver is trusted with.

mod circuit;
mod claimable;
mod event;
mod header;
mod health;
mod news;
mod outbox;
mod retry;
mod sign;
mod webhook;

pub use self::{
    circuit::{BROKEN_AFTER, Circuit, DISABLED_AFTER, Window, circuit, is_given_up, probe_in},
    claimable::claimable,
    event::{
        EventType, FAILING_AFTER, PayloadData, PayloadFeed, PayloadWebhook, number_of, payload, public_id,
        without_content,
    },
    header::{HeaderValue, WebhookHeaders, unknown_masked_header},
    health::{Consequence, Health},
    news::{News, Outgoing, address, is_wanted},
    outbox::{
        ANSWER_BYTES_MAX, ATTEMPTS_KEPT_MAX, Attempt, AttemptLog, ClaimRoom, Claimed, Delivery, DeliveryFilter,
        DeliveryJob, DeliveryPage, DeliveryStatus, Finished, Marks, Moved, OutboxLimits, Overview, PAYLOAD_INLINE_MAX,
        REMOVED_KEPT, UPDATES_EVERY,
    },
    retry::{Ended, RetryRules, Verdict, judge},
    sign::{OldSecrets, WebhookSecret, signatures},
    webhook::{EventScope, NewWebhook, Webhook, WebhookPatch},
};
