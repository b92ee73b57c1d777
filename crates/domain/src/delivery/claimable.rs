//! How many deliveries of a webhook are ready, as the overview calls it: nothing keeps a worker from them but the pace of
//! the webhook's rate, and that it may be of a version that does not know their events.

use jiff::Timestamp;

use super::{breaker::Breaker, webhook::Webhook};

/// What is due for a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueRows {
    /// Due and not leased.
    pub free: u64,
    /// Of all that are due, those that were never tried.
    pub new: u64,
    /// Of all that are due, those that were.
    pub tried: u64,
    /// Leased, due or not.
    pub in_flight: u64,
}

/// How much of that is ready. While the breaker is open that is one probe: once its time has come, and if
/// nothing is being sent.
pub fn claimable(webhook: &Webhook, due: DueRows, breaker: Option<Breaker>, now: Timestamp) -> u64 {
    if !webhook.enabled || webhook.held_until.is_some() {
        return 0;
    }
    let Some(open) = breaker else { return due.free };
    let may_probe = due.new > 0 && open.probe_new_at <= now || due.tried > 0 && open.probe_at <= now;
    u64::from(due.in_flight == 0 && may_probe)
}
