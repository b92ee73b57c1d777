//! Push: whether it is on, whether hubs reach this server, and how they fare.

use super::{
    super::subscriptions::{FailingHub, NOT_VERIFIED, OFF, Summary},
    Finding, Severity,
};
use crate::{
    backend::Backend,
    callback_probe::{self, ProbeResult},
    settings::Settings,
};

/// Failing hubs that are listed.
const HUBS_MAX: usize = 10;

/// Whether push is on, and hubs can reach this server.
pub(super) async fn base_url(settings: &Settings, backend: Option<&dyn Backend>) -> Finding {
    let what = "base_url";
    let set = settings.hubs_reach_us_at();
    let server = backend.filter(|backend| backend.is_server());
    // What a server was started with is in force, whatever is set now.
    let base_url = server.map_or(set.as_deref(), Backend::base_url);
    let Some(url) = base_url else {
        let without = "push is off, because the server that runs was started without it: restart it with";
        let unset =
            format!("push is off: {OFF}; set it to the address under which this server is reached from outside");
        return Finding::noted(what, set.map_or(unset, |set| format!("{without} {set}")));
    };
    if server.is_none() && settings.database_url.is_none() {
        return Finding::noted(what, format!("push is on; whether {url} leads here shows when a server runs"));
    }
    let instance = server.and_then(Backend::instance);
    let reached = callback_probe::callback(url, instance, settings.proxy.as_ref()).await;
    judge(url, &reached, server.map(Backend::name).as_deref(), settings.database_url.is_some(), &hints(url).await)
}

/// What it means who answers at the base URL. Nodes of one database stand in for each other.
fn judge(url: &str, reached: &ProbeResult, server: Option<&str>, is_shared: bool, hints: &str) -> Finding {
    let what = "base_url";
    let good = |says: String| Finding {
        what,
        severity: if hints.is_empty() { Severity::Fine } else { Severity::Noted },
        says: format!("{says}{hints}"),
    };
    // Where no server runs on this machine, nobody can be expected to answer.
    let bad = |says: String| if server.is_some() { Finding::wrong(what, says) } else { Finding::noted(what, says) };
    let here = server.unwrap_or("a node");
    match reached {
        ProbeResult::ThisServer => good(format!("push is on, and {url} leads to this server")),
        ProbeResult::OtherServer if is_shared => {
            good(format!("push is on, and {url} leads to a node, which must use the same database"))
        }
        ProbeResult::OtherServer => {
            bad(format!("{url} leads to another server, which gets the pushes: let it lead to {here}"))
        }
        ProbeResult::UnknownInstance => Finding::noted(
            what,
            format!("push is on, and {url} leads to a piRSSonite, though whether to this one does not show{hints}"),
        ),
        ProbeResult::NotPirssonite(said) => bad(format!(
            "{url} does not lead to this server ({said}): let it pass {url}/api/websub/callback and all below that on to {here}"
        )),
        ProbeResult::Unreachable(why) => bad(format!(
            "nobody answers at {url} ({why}): check its name, and the proxy or tunnel that leads to {here}. If this \
             network does not lead back to itself, look from outside, with `curl {url}/api/websub/callback`"
        )),
    }
}

/// What may keep hubs from an address that this machine can reach.
async fn hints(url: &str) -> String {
    if let Some(address) = callback_probe::only_private(url).await {
        return format!("; but {address} is no public address: only hubs in its own network reach it");
    }
    if url.starts_with("http://") {
        return "; but over http whoever is on the way can read and hold back what is pushed: https is better"
            .to_owned();
    }
    String::new()
}

/// How the subscriptions are.
pub(super) async fn subscriptions(backend: &dyn Backend) -> Vec<Finding> {
    match backend.subscriptions().await {
        Ok(subscriptions) => judge_push(&Summary::of(&subscriptions), backend.base_url().is_some()),
        Err(error) => vec![Finding::wrong("push", format!("{error:#}"))],
    }
}

/// That a hub fails is its own matter, unless none of them gets through to us.
fn judge_push(subscriptions: &Summary, is_on: bool) -> Vec<Finding> {
    if subscriptions.is_empty() {
        let none = || Finding::fine("push", "no subscription: no feed names a hub yet");
        return is_on.then(none).into_iter().collect();
    }
    let unheard = |hub: &FailingHub| hub.last_error == NOT_VERIFIED;
    let states = format!("{}; pushes: {}", subscriptions.states(), subscriptions.pushes());
    let state = if subscriptions.active() == 0 && subscriptions.failing.iter().any(unheard) {
        let advice = "hubs accept, but do not get through to this server: look at base_url from outside";
        Finding::wrong("push", format!("{states}; {advice}"))
    } else {
        Finding::fine("push", states)
    };
    let hubs = subscriptions.failing.iter().take(HUBS_MAX).map(|hub| Finding::noted("hub", hub.in_words()));
    let more = subscriptions.failing.len().saturating_sub(HUBS_MAX);
    let more = (more > 0).then(|| Finding::noted("hub", format!("{more} others fail: `pirssonite status` lists them")));
    std::iter::once(state).chain(hubs).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn judged(subscriptions: &[Value]) -> Vec<(Severity, String)> {
        let findings = judge_push(&Summary::of(subscriptions), true);
        findings.into_iter().map(|finding| (finding.severity, finding.says)).collect()
    }

    #[test]
    fn w9_blocked_hubs_differ_from_failing_ones() {
        let unheard = json!({ "hubUrl": "https://a.org/", "state": "pending", "lastError": NOT_VERIFIED });
        let active = json!({ "hubUrl": "https://b.org/", "state": "active", "isActive": true });
        let alone = judged(std::slice::from_ref(&unheard));
        assert!(alone[0].0 == Severity::Wrong && alone[0].1.contains("do not get through"), "{}", alone[0].1);
        let both = judged(&[unheard, active]);
        assert!(both.len() == 2 && both[0].0 == Severity::Fine && both[1].0 == Severity::Noted);
        assert!(both[1].1.contains("https://a.org/"), "{}", both[1].1);
    }

    #[test]
    fn w9_listed_failing_hubs_are_bounded() {
        let hub = |number: usize| json!({ "hubUrl": number.to_string(), "state": "inactive", "lastError": "no" });
        let many = judged(&(0..HUBS_MAX + 2).map(hub).collect::<Vec<_>>());
        assert_eq!((many.len(), many[HUBS_MAX + 1].1.starts_with("2 others fail")), (HUBS_MAX + 2, true));
        assert!(judge_push(&Summary::of(&[]), false).is_empty() && judged(&[])[0].0 == Severity::Fine);
    }

    #[test]
    fn w3_nodes_stand_in_for_each_other() {
        let severity =
            |reached, server, is_shared, hints: &str| judge("https://e.org", &reached, server, is_shared, hints);
        let here = Some("the server at http://127.0.0.1:3000");
        for (reached, server, is_shared, hints, expect) in [
            (ProbeResult::ThisServer, here, false, "", Severity::Fine),
            (ProbeResult::ThisServer, here, false, "; but", Severity::Noted),
            (ProbeResult::OtherServer, here, true, "", Severity::Fine),
            (ProbeResult::OtherServer, here, false, "", Severity::Wrong),
            (ProbeResult::UnknownInstance, here, false, "", Severity::Noted),
            (ProbeResult::NotPirssonite("it answers 404".to_owned()), here, true, "", Severity::Wrong),
            (ProbeResult::Unreachable("refused".to_owned()), here, true, "", Severity::Wrong),
            (ProbeResult::Unreachable("refused".to_owned()), None, true, "", Severity::Noted),
        ] {
            let finding = severity(reached, server, is_shared, hints);
            assert!(finding.severity == expect && finding.says.contains("https://e.org"), "{}", finding.says);
        }
    }
}
