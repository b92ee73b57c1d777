//! What becomes of a subscription when something happens. A function of the subscription, the event and the time; the
//! table is in ARCHITECTURE.md.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    subscription::{Mode, Subscription, SubscriptionState as State},
    timing::{self, FAILURES_MAX, RETRY_INACTIVE, RenewalRules, UNVERIFIED_KEPT, VERIFY_WITHIN, after, until},
};

/// What a poll finds was pushed too late only if it was published longer ago than this, unless that is set otherwise.
pub const PUSH_MAY_TAKE: Duration = Duration::from_mins(30);

/// Characters of an error that are kept: a hub's reason may be a book.
const ERROR_CHARS_MAX: usize = 500;

/// What a hub that did not verify is accused of.
const NOT_VERIFIED: &str = "Hub did not verify in time";

/// What happens to a subscription.
#[derive(Clone, PartialEq, Eq)]
pub enum SubscriptionEvent {
    /// The hub is about to be asked, with this callback base; for a subscription with a new secret.
    Asking {
        mode: Mode,
        secret: Option<String>,
        /// Where the hub is told to reach us.
        base_url: String,
    },
    /// The hub has answered that it will.
    Accepted,
    /// The hub has not, for this reason.
    Failed {
        error: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// The hub asks whether this is what we want.
    Verified {
        mode: Mode,
        /// For how long, as it says.
        lease_secs: Option<u64>,
        /// Whoever says so may be anybody: it counts only if the hub was just asked for it, and is no reason to trust in
        /// pushes.
        only_if_asked: bool,
    },
    /// The hub says that it will not, or no longer.
    Denied {
        reason: Option<String>,
        /// Whoever says so may be anybody: it counts only if the hub was just asked, and ends nothing that is verified.
        only_if_asked: bool,
    },
    /// The time has come that something was waited for until.
    TimePassed,
    /// A push came, signed with this secret.
    Pushed { secret: String },
    /// A poll found what should have been pushed.
    Missed,
    /// It is no longer wanted.
    Unwanted,
    /// It is to be tried now, whatever happened before.
    Retry,
    /// It becomes its feed's own.
    BecomeCurrent,
    /// Another becomes its feed's own, and this is only remembered.
    StepAside,
    /// One of its feed's other hubs can be tried again at this time.
    WakeAt(Timestamp),
    /// Hubs reach us somewhere else now.
    BaseChanged { base_url: String },
}

impl std::fmt::Debug for SubscriptionEvent {
    /// Its kind: what is in it may be secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Asking { .. } => "Asking",
            Self::Accepted => "Accepted",
            Self::Failed { .. } => "Failed",
            Self::Verified { .. } => "Verified",
            Self::Denied { .. } => "Denied",
            Self::TimePassed => "TimePassed",
            Self::Pushed { .. } => "Pushed",
            Self::Missed => "Missed",
            Self::Unwanted => "Unwanted",
            Self::Retry => "Retry",
            Self::BecomeCurrent => "BecomeCurrent",
            Self::StepAside => "StepAside",
            Self::WakeAt(_) => "WakeAt",
            Self::BaseChanged { .. } => "BaseChanged",
        })
    }
}

/// What becomes of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It does not take this event: nothing changes, and whoever brought it is told so.
    Refuse,
    /// It is so now. If push has begun or ended with this, its feed is polled at once.
    Become {
        /// As it is to be kept.
        subscription: Box<Subscription>,
        /// Whether its feed is to be polled at once.
        poll_now: bool,
    },
    /// It is kept no longer.
    Forget,
}

impl Decision {
    /// The subscription from now on, none if it is kept no longer, and whether its feed is to be polled at once; `None`
    /// if the event was refused.
    pub fn outcome(self, before: &Subscription) -> Option<(Option<Subscription>, bool)> {
        match self {
            Self::Refuse => None,
            Self::Become { subscription, poll_now } => Some((Some(*subscription), poll_now)),
            // Push ends with a subscription that was active.
            Self::Forget => Some((None, before.is_active())),
        }
    }
}

/// What is to be done about a subscription that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Ask(Mode),
    /// Tell the machine that time has passed.
    LetPass,
    /// Choose a hub again, and begin anew.
    StartOver,
}

/// What is to be done about a subscription whose next step is due.
pub fn step(subscription: &Subscription, now: Timestamp) -> Step {
    let is_past = |time: Option<Timestamp>| time.is_some_and(|time| time <= now);
    match subscription.state {
        State::Unsubscribing if is_past(subscription.expires_at) => Step::LetPass,
        State::Unsubscribing => Step::Ask(Mode::Unsubscribe),
        State::Active if is_past(subscription.expires_at) => Step::LetPass,
        State::Active | State::Pending if is_past(subscription.verify_by) => Step::LetPass,
        State::Active | State::Pending => Step::Ask(Mode::Subscribe),
        State::Inactive => Step::StartOver,
    }
}

/// Whether a poll that found entries published at these times, and not known before, shows that the hub has missed one.
/// One that does not say when it was published counts.
pub fn missed(
    published: impl IntoIterator<Item = Option<Timestamp>>,
    subscription: &Subscription,
    push_may_take: Duration,
    now: Timestamp,
) -> bool {
    let Some(active_since) = subscription.activated_at.filter(|_| subscription.is_active()) else { return false };
    // What was published before the hub could have pushed it is not its fault; and a push after that, with whatever in
    // it, says that the hub is not silent: this poll may be what came of it.
    let has_pushed_since = |then: Timestamp| subscription.last_push_at.is_some_and(|pushed_at| pushed_at >= then);
    let was_due = |published: Timestamp| {
        published > active_since && after(published, push_may_take) <= now && !has_pushed_since(published)
    };
    let pushed_lately = subscription.last_push_at.is_some_and(|pushed_at| after(pushed_at, push_may_take) > now);
    let could_have = after(active_since, push_may_take) <= now && !pushed_lately;
    published.into_iter().any(|published| published.map_or(could_have, was_due))
}

pub fn apply(subscription: &Subscription, event: &SubscriptionEvent, rules: RenewalRules, now: Timestamp) -> Decision {
    let next = subscription.clone();
    match event {
        SubscriptionEvent::Asking { mode, secret, base_url } => asking(next, *mode, secret.as_ref(), base_url),
        SubscriptionEvent::Accepted => accepted(next, now),
        SubscriptionEvent::Failed { error, retry_after } => failed(next, error, *retry_after, now),
        SubscriptionEvent::Verified { mode, lease_secs, only_if_asked } => {
            if *only_if_asked && !is_just_asked(subscription, *mode, now) {
                return Decision::Refuse;
            }
            match mode {
                // A stranger's lease does not count.
                Mode::Subscribe if *only_if_asked => {
                    untrusted(subscription, verified(next, None, rules, now), rules, now)
                }
                Mode::Subscribe => verified(next, *lease_secs, rules, now),
                Mode::Unsubscribe => unsubscribed(&next),
            }
        }
        SubscriptionEvent::Denied { only_if_asked: true, .. } if !is_just_asked(subscription, Mode::Subscribe, now) => {
            Decision::Refuse
        }
        SubscriptionEvent::Denied { reason, only_if_asked: true } if subscription.is_active() => {
            failed(next, reason_of(reason.as_deref()), None, now)
        }
        SubscriptionEvent::Denied { reason, .. } => denied(next, reason.as_deref(), now),
        SubscriptionEvent::TimePassed => time_passed(next, now),
        SubscriptionEvent::Pushed { secret } => pushed(next, secret, now),
        SubscriptionEvent::Missed => missed_one(next),
        SubscriptionEvent::Unwanted => unwanted(next, now),
        SubscriptionEvent::Retry => retry(next, now),
        SubscriptionEvent::BecomeCurrent => become_current(next, now),
        SubscriptionEvent::StepAside => step_aside(next, now),
        SubscriptionEvent::WakeAt(at) => {
            let next_step_at = next.next_step_at.map(|step_at| step_at.min(*at));
            become_so(Subscription { next_step_at, ..next })
        }
        SubscriptionEvent::BaseChanged { base_url } => base_changed(next, base_url, now),
    }
}

/// Whether the hub was asked for this and still has the time to verify it.
fn is_just_asked(subscription: &Subscription, mode: Mode, now: Timestamp) -> bool {
    subscription.asked == Some(mode) && subscription.verify_by.is_none_or(|verify_by| now < verify_by)
}

/// The same decision without trust: the feed is polled as usual until a signed push has come, at once if it was not. A
/// lease that there is stays as it is, so that nobody cuts it short or defers its renewal.
fn untrusted(before: &Subscription, decision: Decision, rules: RenewalRules, now: Timestamp) -> Decision {
    let Decision::Become { mut subscription, poll_now } = decision else { return decision };
    subscription.distrust();
    if let Some(expires_at) = before.expires_at.filter(|_| before.is_active()) {
        subscription.lease_secs = before.lease_secs;
        subscription.expires_at = Some(expires_at);
        subscription.next_step_at = Some(after(now, timing::renew_in(until(expires_at, now), rules)));
    }
    Decision::Become { subscription, poll_now: poll_now || before.is_trusted() }
}

fn become_so(subscription: Subscription) -> Decision {
    Decision::Become { subscription: Box::new(subscription), poll_now: false }
}

fn become_and_poll(subscription: Subscription) -> Decision {
    Decision::Become { subscription: Box::new(subscription), poll_now: true }
}

/// The row exists before the request goes out, because a hub may verify before it answers.
fn asking(mut next: Subscription, mode: Mode, secret: Option<&String>, base_url: &str) -> Decision {
    let fits = match mode {
        Mode::Subscribe => next.state != State::Unsubscribing && next.is_current && next.feed_id.is_some(),
        Mode::Unsubscribe => next.state == State::Unsubscribing,
    };
    if !fits {
        return Decision::Refuse;
    }
    if next.state == State::Inactive {
        next.state = State::Pending;
        next.error_count = 0;
    }
    if let Some(secret) = secret {
        next.secrets.add(secret.clone());
    }
    if mode == Mode::Subscribe {
        base_url.clone_into(&mut next.base_url);
    }
    next.asked = Some(mode);
    next.verify_by = None;
    become_so(next)
}

fn accepted(mut next: Subscription, now: Timestamp) -> Decision {
    match next.asked {
        // It was verified before the hub answered.
        None => become_so(next),
        Some(Mode::Subscribe) => {
            let verify_by = after(now, VERIFY_WITHIN);
            next.verify_by = Some(verify_by);
            next.next_step_at = Some(sooner(verify_by, next.expires_at.filter(|_| next.is_active())));
            become_so(next)
        }
        Some(Mode::Unsubscribe) => {
            next.verify_by = Some(after(now, VERIFY_WITHIN));
            next.next_step_at = Some(sooner(after(now, RETRY_INACTIVE), next.expires_at));
            become_so(next)
        }
    }
}

fn sooner(time: Timestamp, other: Option<Timestamp>) -> Timestamp {
    other.map_or(time, |other| other.min(time))
}

fn failed(mut next: Subscription, error: &str, retry_after: Option<Duration>, now: Timestamp) -> Decision {
    if next.asked.is_none() {
        // It was verified all the same: what the hub answers after that does not matter.
        return become_so(next);
    }
    next.asked = None;
    next.verify_by = None;
    next.error_count = next.error_count.saturating_add(1);
    next.last_error = Some(shortened(error));
    match next.state {
        State::Unsubscribing => {
            let wait = timing::retry_in(next.error_count, None, retry_after);
            next.next_step_at = Some(sooner(after(now, wait), next.expires_at));
            become_so(next)
        }
        _ if next.error_count >= FAILURES_MAX => deactivate(next, after(now, RETRY_INACTIVE)),
        State::Active => {
            let left = next.expires_at.map(|expires_at| until(expires_at, now)).unwrap_or_default();
            let wait = timing::retry_in(next.error_count, Some(left), retry_after);
            next.next_step_at = Some(sooner(after(now, wait), next.expires_at));
            become_so(next)
        }
        State::Pending | State::Inactive => {
            let wait = timing::retry_in(next.error_count, None, retry_after);
            next.next_step_at = Some(after(now, wait));
            become_so(next)
        }
    }
}

/// Push has ended: the feed is polled from now on.
fn deactivate(mut next: Subscription, retry_at: Timestamp) -> Decision {
    let was_active = next.is_active();
    next.state = State::Inactive;
    next.asked = None;
    next.verify_by = None;
    next.activated_at = None;
    next.retry_at = Some(retry_at);
    next.next_step_at = next.is_current.then_some(retry_at);
    if was_active { become_and_poll(next) } else { become_so(next) }
}

fn verified(mut next: Subscription, lease_secs: Option<u64>, rules: RenewalRules, now: Timestamp) -> Decision {
    let is_wanted = next.is_current && next.feed_id.is_some() && next.state != State::Unsubscribing;
    // A hub that was never given a secret was never asked.
    if !is_wanted || next.secrets.is_empty() {
        return Decision::Refuse;
    }
    let secs = timing::lease_secs(lease_secs);
    let lease = Duration::from_secs(u64::from(secs));
    let was_active = next.is_active();
    if !was_active {
        next.activated_at = Some(now);
        next.misses_in_row = 0;
    }
    next.state = State::Active;
    next.lease_secs = Some(secs);
    next.expires_at = Some(after(now, lease));
    next.verified_at = Some(now);
    next.asked = None;
    next.verify_by = None;
    next.error_count = 0;
    next.last_error = None;
    next.retry_at = None;
    next.next_step_at = Some(after(now, timing::renew_in(lease, rules)));
    // Once, for what was published before the hub knew of us.
    if was_active { become_so(next) } else { become_and_poll(next) }
}

/// Anyone can ask a hub to unsubscribe us: only what we asked for is confirmed.
fn unsubscribed(next: &Subscription) -> Decision {
    if next.state == State::Unsubscribing { Decision::Forget } else { Decision::Refuse }
}

fn denied(mut next: Subscription, reason: Option<&str>, now: Timestamp) -> Decision {
    if next.state == State::Unsubscribing {
        // It does not push, which is what we want.
        return Decision::Forget;
    }
    next.last_error = Some(shortened(reason_of(reason)));
    deactivate(next, after(now, RETRY_INACTIVE))
}

fn reason_of(reason: Option<&str>) -> &str {
    reason.map(str::trim).filter(|reason| !reason.is_empty()).unwrap_or("Hub denied the subscription")
}

fn time_passed(mut next: Subscription, now: Timestamp) -> Decision {
    let is_past = |time: Option<Timestamp>| time.is_some_and(|time| time <= now);
    match next.state {
        State::Unsubscribing if is_past(next.expires_at) => Decision::Forget,
        State::Active if is_past(next.expires_at) => {
            if next.last_error.is_none() {
                next.last_error = Some("The lease ran out".to_owned());
            }
            // It did not fail so often that it would have to wait: it is asked for again at once, but for leases of
            // seconds.
            let began = next.verified_at.map(|verified_at| after(verified_at, timing::ASK_AGAIN_MIN));
            deactivate(next, began.unwrap_or(now).max(now))
        }
        State::Active | State::Pending if is_past(next.verify_by) => failed(next, NOT_VERIFIED, None, now),
        _ => become_so(next),
    }
}

fn pushed(mut next: Subscription, secret: &str, now: Timestamp) -> Decision {
    if !next.is_active() || !next.is_current {
        return Decision::Refuse;
    }
    next.secrets.prove(secret);
    next.last_push_at = Some(now);
    next.push_count += 1;
    next.misses_in_row = 0;
    become_so(next)
}

fn missed_one(mut next: Subscription) -> Decision {
    next.miss_count += 1;
    next.misses_in_row = next.misses_in_row.saturating_add(1);
    become_so(next)
}

/// The hub is told, if it may know of us; until it has confirmed, or its lease has run out, we remember.
fn unwanted(mut next: Subscription, now: Timestamp) -> Decision {
    if next.state == State::Unsubscribing {
        return become_so(next);
    }
    let may_push = next.expires_at.is_some_and(|expires_at| expires_at > now);
    let may_verify = next.asked.is_some() || (next.state == State::Pending && !next.secrets.is_empty());
    if !may_push && !may_verify {
        return Decision::Forget;
    }
    let was_active = next.is_active();
    next.state = State::Unsubscribing;
    next.is_current = false;
    next.asked = None;
    next.verify_by = None;
    next.activated_at = None;
    next.error_count = 0;
    next.last_error = None;
    next.expires_at = next.expires_at.filter(|_| may_push).or_else(|| Some(after(now, UNVERIFIED_KEPT)));
    next.next_step_at = Some(now);
    next.retry_at = None;
    if was_active { become_and_poll(next) } else { become_so(next) }
}

fn retry(mut next: Subscription, now: Timestamp) -> Decision {
    if next.state == State::Unsubscribing {
        return Decision::Refuse;
    }
    if next.state == State::Inactive {
        next.state = State::Pending;
        next.error_count = 0;
        next.retry_at = None;
    }
    next.verify_by = None;
    next.next_step_at = Some(now);
    become_so(next)
}

fn become_current(next: Subscription, now: Timestamp) -> Decision {
    retry(Subscription { is_current: true, ..next }, now)
}

/// One that never came to be has failed, and is not tried again today.
fn step_aside(mut next: Subscription, now: Timestamp) -> Decision {
    if next.state == State::Pending {
        next.state = State::Inactive;
        next.asked = None;
        next.verify_by = None;
        next.retry_at = Some(after(now, RETRY_INACTIVE));
    }
    become_so(Subscription { is_current: false, next_step_at: None, ..next })
}

fn base_changed(mut next: Subscription, base_url: &str, now: Timestamp) -> Decision {
    base_url.clone_into(&mut next.base_url);
    if next.state == State::Unsubscribing {
        return become_so(next);
    }
    let was_active = next.is_active();
    // What the hub pushes goes where we are not any more.
    next.state = State::Pending;
    next.error_count = 0;
    next.last_error = None;
    next.asked = None;
    next.verify_by = None;
    next.activated_at = None;
    next.expires_at = None;
    next.retry_at = None;
    next.next_step_at = Some(now);
    if was_active { become_and_poll(next) } else { become_so(next) }
}

fn shortened(error: &str) -> String {
    error.chars().take(ERROR_CHARS_MAX).collect()
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
