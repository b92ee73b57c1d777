//! The push side, added up: what `status` and `doctor` say of subscriptions and hubs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::to_u64;

/// The states, in the order in which they are told, as the API names them.
const STATES: [&str; 4] = ["active", "pending", "inactive", "unsubscribing"];

/// Why push is off.
pub(super) const OFF: &str = "no base_url is set, so no hub can reach this server, and all feeds are polled";

/// Feeds of one hub that are told by number.
const FEEDS_MAX: usize = 5;

/// What the API says of a hub that never asked back.
pub(super) const NOT_VERIFIED: &str = "Hub did not verify in time";

/// All subscriptions together.
pub(super) struct Summary {
    by_state: [usize; STATES.len()],
    /// When the first lease ends of those that are active, as the API has it.
    next_lease_end: Option<String>,
    pushes: u64,
    misses: u64,
    /// Hubs of which a subscription has an error, by URL.
    pub(super) failing: Vec<FailingHub>,
}

/// A hub of which a subscription has an error.
#[derive(Default)]
pub(super) struct FailingHub {
    url: String,
    subscriptions: usize,
    /// The feeds of those that fail.
    feeds: Vec<String>,
    failing: usize,
    pub(super) last_error: String,
}

impl Summary {
    /// Of subscriptions as the API shows them.
    pub(super) fn of(subscriptions: &[Value]) -> Self {
        let count = |state: &str| subscriptions.iter().filter(|subscription| subscription["state"] == state).count();
        let sum = |name: &str| subscriptions.iter().map(|subscription| to_u64(&subscription[name])).sum();
        let active = subscriptions.iter().filter(|subscription| subscription["isActive"] == true);
        Self {
            by_state: STATES.map(count),
            next_lease_end: active.filter_map(|active| active["expiresAt"].as_str()).min().map(str::to_owned),
            pushes: sum("pushCount"),
            misses: sum("missCount"),
            failing: failing(subscriptions),
        }
    }

    pub(super) fn active(&self) -> usize {
        self.by_state[0]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_state.iter().all(|count| *count == 0)
    }

    /// How they stand, in a line.
    pub(super) fn states(&self) -> String {
        let counts = STATES.iter().zip(self.by_state).filter(|(state, count)| *count > 0 || **state == "active");
        let counts: Vec<String> = counts.map(|(state, count)| format!("{count} {state}")).collect();
        let end = self.next_lease_end.as_ref().map(|end| format!("; the next lease ends at {end}"));
        format!("{}{}", counts.join(", "), end.unwrap_or_default())
    }

    /// What they have brought, and what they have not.
    pub(super) fn pushes(&self) -> String {
        format!("{} received, {} missed", self.pushes, self.misses)
    }

    pub(super) fn to_json(&self) -> Value {
        let mut json = json!({});
        for (state, count) in STATES.iter().zip(self.by_state) {
            json[*state] = json!(count);
        }
        json["nextLeaseEndsAt"] = json!(self.next_lease_end);
        json["pushes"] = json!(self.pushes);
        json["misses"] = json!(self.misses);
        json["failingHubs"] = self.failing.iter().map(FailingHub::to_json).collect();
        json
    }
}

impl FailingHub {
    /// What is wrong with it, in a line.
    pub(super) fn in_words(&self) -> String {
        let Self { url, subscriptions, failing, last_error, .. } = self;
        let named: Vec<&str> = self.feeds.iter().take(FEEDS_MAX).map(String::as_str).collect();
        let feeds = match (named.len(), self.feeds.len()) {
            (0, _) => String::new(),
            (1, _) => format!(", of feed {}", named[0]),
            (shown, all) => format!(", of feeds {}{}", named.join(", "), if shown < all { " and others" } else { "" }),
        };
        let of = if *subscriptions == 1 {
            "its subscription".to_owned()
        } else {
            format!("{failing} of {subscriptions} subscriptions")
        };
        format!("{url} ({of}{feeds}): {last_error}")
    }

    fn to_json(&self) -> Value {
        let Self { url, subscriptions, failing, last_error, .. } = self;
        json!({ "hubUrl": url, "subscriptions": subscriptions, "failing": failing, "lastError": last_error })
    }
}

fn failing(subscriptions: &[Value]) -> Vec<FailingHub> {
    let mut hubs: BTreeMap<&str, FailingHub> = BTreeMap::new();
    for subscription in subscriptions {
        let url = subscription["hubUrl"].as_str().unwrap_or_default();
        let hub = hubs.entry(url).or_insert_with(|| FailingHub { url: url.to_owned(), ..FailingHub::default() });
        hub.subscriptions += 1;
        if let Some(error) = subscription["lastError"].as_str() {
            hub.failing += 1;
            hub.feeds.extend(subscription["feedId"].as_i64().map(|id| id.to_string()));
            error.clone_into(&mut hub.last_error);
        }
    }
    hubs.into_values().filter(|hub| hub.failing > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(feed: i64, hub: &str, state: &str, ends: Option<&str>, error: Option<&str>) -> Value {
        json!({
            "feedId": feed, "hubUrl": hub, "state": state, "isActive": state == "active", "expiresAt": ends,
            "lastError": error, "pushCount": 2, "missCount": 1,
        })
    }

    #[test]
    fn w13_subscriptions_are_counted_by_state_and_hub() {
        let all = [
            subscription(1, "https://a.org/", "active", Some("2026-03-12T12:00:00Z"), None),
            subscription(
                2,
                "https://a.org/",
                "active",
                Some("2026-03-09T12:00:00Z"),
                Some("Hub unreachable: ETIMEDOUT"),
            ),
            subscription(3, "https://b.org/", "inactive", Some("2026-03-01T12:00:00Z"), Some("Not you")),
        ];
        let summary = Summary::of(&all);
        assert_eq!(summary.states(), "2 active, 1 inactive; the next lease ends at 2026-03-09T12:00:00Z");
        assert_eq!(summary.pushes(), "6 received, 3 missed");
        let hubs: Vec<String> = summary.failing.iter().map(FailingHub::in_words).collect();
        let expect = [
            "https://a.org/ (1 of 2 subscriptions, of feed 2): Hub unreachable: ETIMEDOUT",
            "https://b.org/ (its subscription, of feed 3): Not you",
        ];
        assert_eq!(hubs, expect);
        let json = summary.to_json();
        assert_eq!((&json["active"], &json["pending"], &json["pushes"]), (&json!(2), &json!(0), &json!(6)));
        assert!(Summary::of(&[]).is_empty() && Summary::of(&[]).states() == "0 active");
    }
}
