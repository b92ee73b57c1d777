//! What a hub sends to a callback when a topic has changed.

use domain::push::{Algorithm, sign};

use super::{HubSubscription, Param};

/// A push: a full feed, a diff, a page, or a ping with nothing in it.
#[derive(Debug, Clone)]
pub struct HubPush {
    content_type: Option<String>,
    body: Vec<u8>,
    signed: Signed,
    link: Param,
    headers: Vec<(String, String)>,
}

/// How a push is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// With the secret of the subscription, if it has one, by the hub's algorithm.
    Right,
    /// The same, by this algorithm.
    By(Algorithm),
    With(String),
    /// With a secret that nobody was told.
    Wrong,
    /// Rightly, with four digits too many, as the W3C's test suite does it.
    TooLong,
    /// With this text as the header.
    Raw(String),
    Missing,
}

impl HubPush {
    /// A push of this document, rightly signed and linked.
    pub fn new(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let (signed, link) = (Signed::Right, Param::Right);
        Self { content_type: Some(content_type.to_owned()), body: body.into(), signed, link, headers: Vec::new() }
    }

    /// A thin ping: that something has changed, but not what.
    pub fn ping() -> Self {
        Self { content_type: None, ..Self::new("", "") }
    }

    #[must_use]
    pub fn signed(mut self, signed: Signed) -> Self {
        self.signed = signed;
        self
    }

    /// With this `Link` header. The right one names the hub and the topic.
    #[must_use]
    pub fn link(mut self, link: Param) -> Self {
        self.link = link;
        self
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// All its headers when it is sent for a subscription by this hub.
    pub(super) fn headers(&self, to: &HubSubscription, hub: &str, algorithm: Algorithm) -> Vec<(String, String)> {
        let link = format!(r#"<{hub}>; rel="hub", <{}>; rel="self""#, to.topic);
        let stated = [
            ("Content-Type", self.content_type.clone()),
            ("Link", self.link.or_right(&link)),
            ("X-Hub-Signature", self.signature(to.secret.as_deref(), algorithm)),
        ];
        let stated = stated.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        stated.chain(self.headers.iter().cloned()).collect()
    }

    fn signature(&self, secret: Option<&str>, algorithm: Algorithm) -> Option<String> {
        let with = |secret: &str| sign(algorithm, &self.body, secret);
        match &self.signed {
            Signed::Right => secret.map(with),
            Signed::By(other) => secret.map(|secret| sign(*other, &self.body, secret)),
            Signed::With(other) => Some(with(other)),
            Signed::Wrong => Some(with("nobody was told this secret")),
            Signed::TooLong => secret.map(|secret| with(secret) + "ffff"),
            Signed::Raw(header) => Some(header.clone()),
            Signed::Missing => None,
        }
    }
}
