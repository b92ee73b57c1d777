//! Webhooks: whether they receive what they should.

use reqwest::Method;
use serde_json::Value;

use super::{
    super::deliveries::{Outbox, Webhooks},
    Finding,
};
use crate::{backend::Backend, settings::Settings};

/// Webhooks in trouble that are listed.
const WEBHOOKS_MAX: usize = 10;

/// How the webhooks are. Where there are none there is nothing to say.
pub(super) async fn judge(backend: &dyn Backend, settings: &Settings) -> Vec<Finding> {
    let asked = async {
        let webhooks = Webhooks::ask(backend).await?;
        anyhow::Ok((webhooks, backend.call(Method::GET, "/api/outbox/overview", None).await?))
    };
    // A database of nodes may have workers elsewhere.
    let is_served = backend.is_server() || settings.database_url.is_some();
    match asked.await {
        Ok((webhooks, outbox)) => findings(&webhooks, &outbox, is_served),
        Err(error) => vec![Finding::wrong("webhooks", format!("{error:#}"))],
    }
}

/// That a webhook fails is its receiver's matter.
fn findings(webhooks: &Webhooks, outbox: &Value, is_served: bool) -> Vec<Finding> {
    if webhooks.is_empty() {
        return Vec::new();
    }
    let all = format!("{}; outbox: {}", webhooks.in_words(), Outbox(outbox).in_words());
    let all = if is_served || outbox["pending"] == 0 {
        Finding::fine("webhooks", all)
    } else {
        Finding::noted("webhooks", format!("{all}; a server delivers, and none is running"))
    };
    let troubled = webhooks.troubled.iter().take(WEBHOOKS_MAX).map(|webhook| Finding::noted("webhook", webhook));
    let more = webhooks.troubled.len().saturating_sub(WEBHOOKS_MAX);
    let more = (more > 0).then(|| Finding::noted("webhook", format!("{more} others: `pirssonite status` lists them")));
    std::iter::once(all).chain(troubled).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::Severity, *};

    fn judged(webhooks: &[Value], pending: u32, is_served: bool) -> Vec<(Severity, String)> {
        let outbox = json!({ "pending": pending, "ready": 0, "inFlight": 0, "failed": 0, "oldestPendingAge": null });
        let found = findings(&Webhooks::of(webhooks), &outbox, is_served);
        found.into_iter().map(|finding| (finding.severity, finding.says)).collect()
    }

    #[test]
    fn u5_d9_doctor_notes_failing_webhooks() {
        assert!(judged(&[], 0, true).is_empty());
        let well = json!({ "id": 1, "url": "https://r.org/", "enabled": true, "consecutiveFailures": 0 });
        assert!(judged(std::slice::from_ref(&well), 3, true)[0].0 == Severity::Fine);
        assert!(judged(std::slice::from_ref(&well), 0, false)[0].0 == Severity::Fine);
        let waiting = judged(std::slice::from_ref(&well), 3, false);
        assert!(waiting[0].0 == Severity::Noted && waiting[0].1.contains("none is running"), "{}", waiting[0].1);
        let broken = json!({ "id": 2, "url": "https://b.org/", "enabled": true, "consecutiveFailures": 12, "breakerOpen": true });
        let both = judged(&[well, broken.clone()], 3, true);
        assert!(both.len() == 2 && both[1].0 == Severity::Noted && both[1].1.contains("https://b.org/"));
        let many = judged(&vec![broken; WEBHOOKS_MAX + 2], 3, true);
        assert!(many.len() == WEBHOOKS_MAX + 2 && many[WEBHOOKS_MAX + 1].1.starts_with("2 others"));
    }
}
