//! Which hub a feed is to be subscribed at, given those it names and how those that it had have fared.

use jiff::Timestamp;

use super::{
    machine::SubscriptionEvent,
    subscription::{Subscription, SubscriptionState as State},
    timing::FAILURES_OF_FIRST_HUB_MAX,
};
use crate::ids::SubscriptionId;

/// How a feed is to be pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DesiredPush<'w> {
    /// Its hubs, in order; none if it is not to be pushed.
    pub hubs: &'w [String],
    pub topic: &'w str,
    /// Where hubs reach us.
    pub base_url: &'w str,
}

/// A change of a subscription that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedChange {
    pub id: SubscriptionId,
    /// What happens to it.
    pub event: SubscriptionEvent,
}

/// What is to be done, in this order: first the changes, then the new one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// What happens to those that are known.
    pub changes: Vec<PlannedChange>,
    /// A hub that needs a new subscription, which is its feed's own then.
    pub subscribe_at: Option<String>,
}

/// Compares what is wanted with what there is. `known` are all subscriptions of the feed.
pub fn reconcile(wanted: DesiredPush<'_>, known: &[Subscription], now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let fits = |subscription: &Subscription| {
        wanted.hubs.contains(&subscription.hub_url) && subscription.topic_url == wanted.topic
    };
    let living = || known.iter().filter(|subscription| subscription.state != State::Unsubscribing);
    for stale in living().filter(|subscription| !fits(subscription)) {
        plan.add(stale, SubscriptionEvent::Unwanted);
    }
    let current = living().find(|subscription| subscription.is_current && fits(subscription));
    if let Some(current) = current.filter(|current| current.state != State::Inactive) {
        if current.base_url != wanted.base_url {
            plan.add(current, SubscriptionEvent::BaseChanged { base_url: wanted.base_url.to_owned() });
            return plan;
        }
        if !needs_another_hub(current) {
            return plan;
        }
    }
    let at = |hub: &String| living().find(|subscription| fits(subscription) && subscription.hub_url == *hub);
    let usable = wanted.hubs.iter().find(|hub| at(hub).is_none_or(|known| !is_exhausted(known, now)));
    if usable.is_none() && current.is_some_and(|current| current.state == State::Pending) {
        // No other is left: it has more tries.
        return plan;
    }
    // If all hubs have failed lately, it stays with the one it has, or is given its first.
    let Some(hub) = usable.or_else(|| wanted.hubs.first().filter(|_| current.is_none())) else {
        plan.wake(current, living().filter(|subscription| fits(subscription)));
        return plan;
    };
    match current {
        // It is its turn, and is tried again when its time has come.
        Some(current) if current.hub_url == *hub => return plan,
        Some(current) => plan.add(current, SubscriptionEvent::StepAside),
        None => {}
    }
    match at(hub) {
        None => plan.subscribe_at = Some(hub.clone()),
        Some(known) => plan.add(known, SubscriptionEvent::BecomeCurrent),
    }
    plan
}

/// Whether a hub has failed so lately that another is tried before it.
fn is_exhausted(subscription: &Subscription, now: Timestamp) -> bool {
    let is_inactive = subscription.state == State::Inactive;
    needs_another_hub(subscription) && !(is_inactive && subscription.retry_at.is_none_or(|retry_at| retry_at <= now))
}

/// Whether another of the feed's hubs is to be tried, if it has one: push has ended, or did not begin in two attempts.
pub fn needs_another_hub(subscription: &Subscription) -> bool {
    match subscription.state {
        State::Inactive => true,
        State::Pending => subscription.error_count >= FAILURES_OF_FIRST_HUB_MAX,
        State::Active | State::Unsubscribing => false,
    }
}

impl Plan {
    /// All hubs have failed lately: the first that may be tried again is, and not only the one that failed last.
    fn wake<'k>(&mut self, current: Option<&Subscription>, known: impl Iterator<Item = &'k Subscription>) {
        let earliest = known.filter_map(|subscription| subscription.retry_at).min();
        if let (Some(current), Some(earliest)) = (current, earliest)
            && current.next_step_at.is_some_and(|step_at| earliest < step_at)
        {
            self.add(current, SubscriptionEvent::WakeAt(earliest));
        }
    }

    fn add(&mut self, subscription: &Subscription, event: SubscriptionEvent) {
        self.changes.push(PlannedChange { id: subscription.id, event });
    }

    /// Whether everything is as it should be.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.subscribe_at.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ids::FeedId, push::Offer};

    const BASE: &str = "https://we.org";

    fn now() -> Timestamp {
        "2026-03-02T12:00:00Z".parse().unwrap()
    }

    fn subscription(id: i64, hub: &str, state: State, is_current: bool) -> Subscription {
        let offer = Offer { token: id.to_string(), base_url: BASE.into() };
        let mut subscription = Subscription::new(SubscriptionId(id), FeedId(1), hub, "t", &offer, now());
        subscription.state = state;
        subscription.is_current = is_current;
        if state == State::Inactive {
            subscription.retry_at = Some("2026-03-03T00:00:00Z".parse().unwrap());
        }
        subscription
    }

    fn plan(hubs: &[&str], topic: &str, base_url: &str, known: &[Subscription], now: Timestamp) -> String {
        let hubs: Vec<String> = hubs.iter().map(|hub| (*hub).to_owned()).collect();
        let plan = reconcile(DesiredPush { hubs: &hubs, topic, base_url }, known, now);
        let changes = plan.changes.iter().map(|change| format!("{}:{:?}", change.id.0, change.event));
        changes.chain(plan.subscribe_at.map(|hub| format!("new at {hub}"))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn w1_another_hub_or_topic_means_a_new_subscription() {
        let check = |hubs: &[&str], topic: &str, known: &[Subscription], expected: &str| {
            assert_eq!(plan(hubs, topic, BASE, known, now()), expected, "{hubs:?} {topic}");
        };
        check(&[], "t", &[], "");
        check(&["a", "b"], "t", &[], "new at a");
        let active = [subscription(1, "a", State::Active, true)];
        check(&["a"], "t", &active, "");
        check(&["b", "a"], "t", &active, "");
        check(&["b"], "t", &active, "1:Unwanted new at b");
        check(&["a"], "u", &active, "1:Unwanted new at a");
        check(&[], "t", &active, "1:Unwanted");
        let leaving = [subscription(1, "a", State::Unsubscribing, false)];
        check(&["a"], "t", &leaving, "new at a");
        check(&[], "t", &leaving, "");
    }

    #[test]
    fn w9_the_next_hub_is_tried_and_after_a_day_the_first_again() {
        let check = |known: &[Subscription], now: Timestamp, expected: &str| {
            assert_eq!(plan(&["a", "b"], "t", BASE, known, now), expected);
        };
        let first = subscription(1, "a", State::Inactive, true);
        check(std::slice::from_ref(&first), now(), "1:StepAside new at b");
        let aside = subscription(1, "a", State::Inactive, false);
        let second = subscription(2, "b", State::Inactive, true);
        check(&[aside.clone(), second.clone()], now(), "");
        let next_day = "2026-03-03T01:00:00Z".parse().unwrap();
        check(&[aside.clone(), second], next_day, "2:StepAside 1:BecomeCurrent");
        check(std::slice::from_ref(&first), next_day, "");
        let mut later = subscription(2, "b", State::Inactive, true);
        later.retry_at = Some("2026-03-03T04:00:00Z".parse().unwrap());
        later.next_step_at = later.retry_at;
        check(&[aside.clone(), later.clone()], now(), "2:WakeAt");
        check(&[aside.clone(), later], next_day, "2:StepAside 1:BecomeCurrent");
        check(&[aside, subscription(2, "b", State::Active, true)], next_day, "");
        assert_eq!(plan(&["a"], "t", BASE, &[first], now()), "", "it has no other: it is tried again in a day");
    }

    #[test]
    fn w9_second_failure_moves_a_first_subscription_to_next_hub() {
        let failed = |id: i64, hub: &str, errors: u32, is_current| Subscription {
            error_count: errors,
            ..subscription(id, hub, State::Pending, is_current)
        };
        let check = |known: &[Subscription], expected: &str| {
            assert_eq!(plan(&["a", "b"], "t", BASE, known, now()), expected, "{known:?}");
        };
        check(&[failed(1, "a", 1, true)], "");
        check(&[failed(1, "a", 2, true)], "1:StepAside new at b");
        let aside = subscription(1, "a", State::Inactive, false);
        check(&[aside.clone(), failed(2, "b", 1, true)], "");
        check(&[aside, failed(2, "b", 3, true)], "");
        let renewing = Subscription { error_count: 4, ..subscription(1, "a", State::Active, true) };
        check(&[renewing], "");
        assert_eq!(plan(&["a"], "t", BASE, &[failed(1, "a", 3, true)], now()), "", "it has no other");
    }

    #[test]
    fn w3_another_base_url_means_to_subscribe_again() {
        let active = [subscription(1, "a", State::Active, true)];
        assert_eq!(plan(&["a"], "t", "https://new.org", &active, now()), "1:BaseChanged");
    }
}
