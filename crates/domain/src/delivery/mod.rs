//! Delivery without doing any of it: what happened and who wants to know, how a request is signed, when it is tried
//! again, and how much a receiver is trusted with.

mod breaker;
mod claimable;
mod domain_event;
mod event;
mod header;
mod health;
mod outbox;
mod rate;
mod retry;
mod sign;
mod webhook;

pub use self::{
    breaker::{Breaker, BreakerRules, PROBE_NEW_AFTER, PROBES_A_ROUND, Window},
    claimable::{DueRows, claimable},
    domain_event::{DomainEvent, Follows, Outgoing, fan_out, is_wanted},
    event::{
        EventType, FAILING_AFTER, FollowerView, PayloadData, PayloadDelivery, PayloadEntry, PayloadFeed,
        PayloadWebhook, data_for, number_of, payload, public_id,
    },
    header::{HeaderValue, MASK, WebhookHeaders, unknown_masked_header},
    health::{Consequence, Health, ReceiverState},
    outbox::{
        ANSWER_BYTES_MAX, ATTEMPTS_KEPT_MAX, Attempt, AttemptLog, AttemptOutcome, ClaimLimits, Claimed, Delivery,
        DeliveryFilter, DeliveryJob, DeliveryPage, DeliveryStatus, FinishReport, Moved, OutboxLimits, Overview,
        PAYLOAD_INLINE_MAX, REMOVED_KEPT, UPDATES_EVERY,
    },
    rate::Rate,
    retry::{AttemptEnd, RetryRules, Verdict, judge},
    sign::{OldSecrets, WebhookSecret, signatures},
    webhook::{EventScope, Follow, NewWebhook, Webhook, WebhookPatch},
};
