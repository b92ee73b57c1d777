//! A hub asks whether we want what it was asked for, or says that it will not (WebSub, sections 5.2 and 5.3).

use domain::{
    SubscriptionId,
    ports::{Changed, Claim, StoreResult},
    push::{Mode, PushTarget, SubscriptionEvent},
};

use super::{Pusher, TimeLeft};
use crate::measure;

/// Subscriptions of one topic that are looked at where a hub does not say which it means.
pub(super) const SAME_TOPIC_MAX: u32 = 100;

/// Bytes of a challenge: it is sent back as it came.
const CHALLENGE_BYTES_MAX: usize = 4096;

/// What a hub asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    pub mode: Option<String>,
    pub topic: Option<String>,
    pub challenge: Option<String>,
    pub lease_secs: Option<String>,
    pub reason: Option<String>,
}

/// What it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifyAnswer {
    /// Yes: its challenge.
    Confirmed(String),
    Noted,
    NotWanted,
    /// It asks too often.
    TooMany,
    /// The question makes no sense, because of this.
    Bad(&'static str),
}

/// Answers a hub, with a token or without. `admits` is asked whether one more question may come for a subscription, or
/// for none that is known by its token.
pub(crate) async fn verify(
    pusher: &Pusher,
    token: Option<&str>,
    asked: Verification,
    admits: &(dyn Fn(Option<SubscriptionId>) -> bool + Sync),
    time: &mut TimeLeft,
) -> StoreResult<VerifyAnswer> {
    let (event, topic, answer) = match read(asked, token.is_none()) {
        Ok(question) => question,
        Err(reason) => return Ok(VerifyAnswer::Bad(reason)),
    };
    let store = &pusher.context.deps.store;
    let known = match token {
        Some(token) => pusher.target(token, time).await?,
        None => None,
    };
    if !admits(known.as_ref().map(|target| target.subscription.id)) {
        return Ok(VerifyAnswer::TooMany);
    }
    let targets = match token {
        Some(_) => known.into_iter().collect(),
        None => time.ask(store.push_targets(&topic, SAME_TOPIC_MAX)).await?,
    };
    // Without a token only what was just asked for counts: of the others nothing is even written.
    let is_meant = |target: &&PushTarget| {
        target.subscription.topic_url == topic && (token.is_some() || target.subscription.asked.is_some())
    };
    for target in targets.iter().filter(is_meant) {
        let change = pusher.change(target.subscription.id, Claim::None, event.clone());
        if let Changed::Done(_) = time.ask(change).await? {
            measure::hub_verified(&event, true);
            return Ok(answer);
        }
    }
    measure::hub_verified(&event, false);
    let by_token = targets.first().filter(|_| token.is_some());
    if let Some(target) = by_token {
        let feed_id = target.subscription.feed_id.map(|id| id.0);
        tracing::info!(feed_id, event = ?event, "hub verification rejected");
    } else {
        // Anybody can ask so, as often as the rate allows.
        tracing::debug!(event = ?event, known = targets.len(), "hub verification rejected");
    }
    Ok(VerifyAnswer::NotWanted)
}

/// What happens if it is wanted, of which topic, and what the hub is told then.
fn read(asked: Verification, only_if_asked: bool) -> Result<(SubscriptionEvent, String, VerifyAnswer), &'static str> {
    let mode = asked.mode.filter(|mode| !mode.is_empty()).ok_or("hub.mode is missing")?;
    let topic = asked.topic.filter(|topic| !topic.is_empty()).ok_or("hub.topic is missing")?;
    if mode == "denied" {
        return Ok((SubscriptionEvent::Denied { reason: asked.reason, only_if_asked }, topic, VerifyAnswer::Noted));
    }
    let mode = Mode::by_name(&mode).ok_or("hub.mode is none of subscribe, unsubscribe and denied")?;
    let challenge = asked.challenge.filter(|challenge| !challenge.is_empty()).ok_or("hub.challenge is missing")?;
    if challenge.len() > CHALLENGE_BYTES_MAX {
        return Err("hub.challenge is too long");
    }
    let lease_secs = asked.lease_secs.as_deref().and_then(lease);
    Ok((SubscriptionEvent::Verified { mode, lease_secs, only_if_asked }, topic, VerifyAnswer::Confirmed(challenge)))
}

/// A number of seconds; one that is too large to count is as large as can be, and nonsense is none.
fn lease(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(mode: &str, topic: &str, challenge: Option<&str>) -> Verification {
        Verification {
            mode: Some(mode.to_owned()),
            topic: Some(topic.to_owned()),
            challenge: challenge.map(str::to_owned),
            ..Verification::default()
        }
    }

    #[test]
    fn w4_missing_parameters_are_named() {
        let error = |asked| read(asked, false).unwrap_err();
        assert_eq!(error(Verification::default()), "hub.mode is missing");
        assert_eq!(error(asked("subscribe", "", None)), "hub.topic is missing");
        assert_eq!(error(asked("subscribe", "t", None)), "hub.challenge is missing");
        assert_eq!(error(asked("unsubscribe", "t", Some(""))), "hub.challenge is missing");
        assert!(error(asked("publish", "t", Some("c"))).starts_with("hub.mode is none of"));
        assert_eq!(error(asked("subscribe", "t", Some(&"c".repeat(5000)))), "hub.challenge is too long");
        assert!(read(asked("denied", "t", None), false).is_ok(), "it carries no challenge");
    }

    #[test]
    fn w4_leases_are_numbers_or_nothing() {
        let cases = [("60", Some(60)), (" 60 ", Some(60)), ("0", Some(0)), ("-1", None), ("", None), ("1.5", None)];
        for (text, secs) in cases {
            assert_eq!(lease(text), secs, "{text}");
        }
        assert_eq!(lease("99999999999999999999999"), Some(u64::MAX));
    }
}
