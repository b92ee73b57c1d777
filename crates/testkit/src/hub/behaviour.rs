//! What a hub does with a request: how it answers, when it verifies, and what it asks then.

use super::HubRequest;
use crate::Page;

/// The lease of a well-behaved hub that was asked for none: ten days (WebSub, section 8.2).
const LEASE_SECS_DEFAULT: u64 = 864_000;

/// What a hub does with a request. The default is what the standard asks for.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// What is answered: any [`Page`], so also one that hangs, is reset, or waits behind a gate.
    pub answer: Page,
    /// What is answered instead if it verifies before it answers and the callback did not confirm.
    pub refusal: Option<Page>,
    /// When it verifies, whatever it answers.
    pub verify: Verify,
    /// What it asks the callback then, one after the other.
    pub queries: Vec<Query>,
    /// The lease that it grants.
    pub lease: Lease,
    /// Whether a renewal leaves the secret of the first subscription in use, as some hubs do.
    pub keeps_first_secret: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            answer: Page::status(202),
            refusal: None,
            verify: Verify::AfterAnswer,
            queries: vec![Query::default()],
            lease: Lease::AsAsked,
            keeps_first_secret: false,
        }
    }
}

impl Behaviour {
    /// Answers so and does no more: for errors, redirects, hanging and resetting.
    pub fn only(answer: Page) -> Self {
        Self { answer, verify: Verify::Never, ..Self::default() }
    }

    pub fn verifying(verify: Verify) -> Self {
        Self { verify, ..Self::default() }
    }

    /// Asks these instead of the one right question.
    pub fn asking(queries: impl IntoIterator<Item = Query>) -> Self {
        Self { queries: queries.into_iter().collect(), ..Self::default() }
    }

    /// Accepts, and then denies.
    pub fn denying(reason: Option<&str>) -> Self {
        Self::asking([Query::denied(reason)])
    }

    pub fn leasing(lease: Lease) -> Self {
        Self { lease, ..Self::default() }
    }

    /// The hub of the W3C's test suite: verifies before it answers, 400 if that fails, one day whatever is asked, and
    /// the first secret for ever.
    pub fn of_w3c_suite() -> Self {
        Self {
            refusal: Some(Page::status(400)),
            verify: Verify::BeforeAnswer,
            lease: Lease::Secs(86_400),
            keeps_first_secret: true,
            ..Self::default()
        }
    }
}

/// When a hub verifies a request by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// While the request waits for its answer.
    BeforeAnswer,
    /// Once it has answered.
    AfterAnswer,
    /// Only when the test calls [`Hub::verify`](super::Hub::verify): later, or never.
    Never,
}

/// The lease that a hub grants in its verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lease {
    /// What was asked for, and ten days if nothing was.
    AsAsked,
    /// This, however short or long.
    Secs(u64),
    /// None, although the standard wants one.
    Absent,
    Text(String),
}

impl Lease {
    fn granted(&self, request: &HubRequest) -> Option<String> {
        match self {
            Self::AsAsked => Some(request.lease_seconds.clone().unwrap_or_else(|| LEASE_SECS_DEFAULT.to_string())),
            Self::Secs(secs) => Some(secs.to_string()),
            Self::Absent => None,
            Self::Text(text) => Some(text.clone()),
        }
    }
}

/// A part of what a hub sends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Param {
    /// As it has to be.
    #[default]
    Right,
    /// As it has to be, with this behind it.
    And(String),
    Is(String),
    Absent,
}

impl Param {
    /// What is sent where this would be right.
    pub(super) fn or_right(&self, right: &str) -> Option<String> {
        match self {
            Self::Right => Some(right.to_owned()),
            Self::And(more) => Some(format!("{right}{more}")),
            Self::Is(other) => Some(other.clone()),
            Self::Absent => None,
        }
    }
}

/// What a hub asks a callback. The default is right in all parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    pub mode: Param,
    pub topic: Param,
    /// `hub.challenge`: another one each time, if it is right.
    pub challenge: Param,
    /// `hub.lease_seconds`: if there is none here, then that of the [`Behaviour`], and only to subscribe.
    pub lease: Option<Lease>,
    pub reason: Option<String>,
}

impl Query {
    /// That the subscription is denied: with no challenge, and nothing to confirm.
    pub fn denied(reason: Option<&str>) -> Self {
        Self {
            mode: Param::Is("denied".to_owned()),
            challenge: Param::Absent,
            lease: Some(Lease::Absent),
            reason: reason.map(str::to_owned),
            ..Self::default()
        }
    }

    /// Of another topic than was asked for, as the W3C's test suite does it.
    pub fn invalid_topic() -> Self {
        Self { topic: Param::And("?invalid".to_owned()), ..Self::default() }
    }

    pub fn challenging(challenge: &str) -> Self {
        Self { challenge: Param::Is(challenge.to_owned()), ..Self::default() }
    }

    /// The parameters that it consists of.
    pub(super) fn fields(&self, request: &HubRequest, challenge: &str) -> Vec<(&'static str, String)> {
        let granted = || Some(request.behaviour.lease.clone()).filter(|_| request.mode == "subscribe");
        let lease = self.lease.clone().or_else(granted);
        let fields = [
            ("hub.mode", self.mode.or_right(&request.mode)),
            ("hub.topic", self.topic.or_right(&request.topic)),
            ("hub.challenge", self.challenge.or_right(challenge)),
            ("hub.lease_seconds", lease.and_then(|lease| lease.granted(request))),
            ("hub.reason", self.reason.clone()),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
