//! The delivering side, added up: what `status`, `doctor` and `outbox` say of webhooks and what waits for them.

use reqwest::Method;
use serde_json::{Value, json};

use super::{format_count, to_u64};
use crate::backend::Backend;

/// All webhooks together.
pub(super) struct Webhooks {
    all: usize,
    disabled: usize,
    failing: usize,
    /// Those of which a person should know, and why.
    pub(super) troubled: Vec<String>,
}

impl Webhooks {
    pub(super) async fn ask(backend: &dyn Backend) -> anyhow::Result<Self> {
        let webhooks = backend.call(Method::GET, "/api/webhooks", None).await?;
        Ok(Self::of(webhooks.as_array().map(Vec::as_slice).unwrap_or_default()))
    }

    /// Of webhooks as the API shows them.
    pub(super) fn of(webhooks: &[Value]) -> Self {
        let is_disabled = |webhook: &&Value| webhook["enabled"] == false;
        let is_failing = |webhook: &&Value| !is_disabled(webhook) && to_u64(&webhook["consecutiveFailures"]) > 0;
        Self {
            all: webhooks.len(),
            disabled: webhooks.iter().filter(is_disabled).count(),
            failing: webhooks.iter().filter(is_failing).count(),
            troubled: webhooks.iter().filter_map(trouble).collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all == 0
    }

    /// How they are, in a line.
    pub(super) fn in_words(&self) -> String {
        match (self.failing, self.disabled) {
            (0, 0) => self.all.to_string(),
            (failing, disabled) => format!("{} ({failing} failing, {disabled} disabled)", self.all),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "all": self.all, "disabled": self.disabled, "failing": self.failing, "troubled": self.troubled })
    }
}

/// What is wrong with a webhook: disabled by itself, sent nothing because it asked for that, or failing so long that only
/// probes are sent. One that the user has disabled is as it should be.
fn trouble(webhook: &Value) -> Option<String> {
    let (id, url) = (&webhook["id"], webhook["url"].as_str().unwrap_or_default());
    let failures = u32::try_from(to_u64(&webhook["consecutiveFailures"])).unwrap_or(u32::MAX);
    let why = match (webhook["enabled"] == true, webhook["disabledReason"].as_str(), webhook["heldUntil"].as_str()) {
        (false, Some(why), _) => {
            format!("disabled, because {why}: `pirssonite webhook enable {id}` once it works again")
        }
        (true, _, Some(until)) => format!("held until {until}, as its receiver asked"),
        (true, _, None) if webhook["breakerOpen"] == true => {
            format!("failed {failures} times in a row, so what waits for it is held back")
        }
        _ => return None,
    };
    Some(format!("{id} ({url}): {why}"))
}

/// The outbox in numbers, as the API shows it.
pub(super) struct Outbox<'o>(pub(super) &'o Value);

impl Outbox<'_> {
    pub(super) fn in_words(&self) -> String {
        let count = |name: &str| to_u64(&self.0[name]);
        let oldest = self.0["oldestPendingAge"].as_u64();
        let oldest = oldest.map(|secs| format!("; the oldest waits for {}", lasting(secs))).unwrap_or_default();
        let (ready, in_flight) = (count("ready"), count("inFlight"));
        format!(
            "{} pending ({ready} ready, {in_flight} being sent), {} failed{oldest}",
            count("pending"),
            count("failed")
        )
    }
}

/// A length of time, roughly, as one says it.
fn lasting(secs: u64) -> String {
    match secs {
        0..120 => format_count(secs, "second", "seconds"),
        120..7200 => format!("{} minutes", secs / 60),
        7200..172_800 => format!("{} hours", secs / 3600),
        _ => format!("{} days", secs / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_d9_failing_webhooks_are_named() {
        let webhook = |id: u32, enabled: bool, failures: u32, why: Option<&str>| {
            json!({
                "id": id, "url": "https://r.org/", "enabled": enabled, "consecutiveFailures": failures, "breakerOpen": failures >= 10,
                "disabledReason": why,
            })
        };
        let all = [
            webhook(1, true, 0, None),
            webhook(2, true, 9, None),
            webhook(3, true, 10, None),
            webhook(4, false, 0, None),
            webhook(5, false, 40, Some("it has failed for 5 days")),
            json!({ "id": 6, "url": "https://r.org/", "enabled": true, "heldUntil": "2026-03-01T12:00:00Z" }),
        ];
        let webhooks = Webhooks::of(&all);
        assert_eq!(webhooks.in_words(), "6 (2 failing, 2 disabled)");
        assert_eq!(webhooks.troubled.len(), 3, "{:?}", webhooks.troubled);
        assert!(webhooks.troubled[0].starts_with("3 (https://r.org/): failed 10 times in a row"));
        assert!(webhooks.troubled[1].contains("it has failed for 5 days: `pirssonite webhook enable 5`"));
        assert!(webhooks.troubled[2].contains("held until 2026-03-01T12:00:00Z"));
        assert!(Webhooks::of(&[]).is_empty() && Webhooks::of(&all[..1]).in_words() == "1");
    }

    #[test]
    fn u5_d10_outbox_in_a_line() {
        let mut overview = json!({ "pending": 12, "ready": 3, "inFlight": 2, "failed": 1, "oldestPendingAge": 1 });
        assert_eq!(
            Outbox(&overview).in_words(),
            "12 pending (3 ready, 2 being sent), 1 failed; the oldest waits for 1 second"
        );
        overview["oldestPendingAge"] = json!(null);
        assert!(Outbox(&overview).in_words().ends_with("1 failed"));
        let lengths: Vec<String> = [119, 120, 7199, 7200, 172_800].map(lasting).into();
        assert_eq!(lengths, ["119 seconds", "2 minutes", "119 minutes", "2 hours", "2 days"]);
    }
}
