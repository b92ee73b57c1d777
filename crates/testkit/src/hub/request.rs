//! What a subscriber asks of a hub, and what the hub holds for it afterwards.

use std::sync::Arc;

use url::form_urlencoded;

use super::Behaviour;
use crate::Request;

/// A request to subscribe or to unsubscribe. Text fields that were not sent are empty.
#[derive(Debug, Clone)]
pub struct HubRequest {
    pub mode: String,
    pub topic: String,
    pub callback: String,
    pub secret: Option<String>,
    pub lease_seconds: Option<String>,
    /// All fields of the form, in the order in which they came.
    pub fields: Vec<(String, String)>,
    /// The request itself: path, headers and the bytes of the form.
    pub http: Request,
    /// What the hub does with it.
    pub(super) behaviour: Arc<Behaviour>,
}

impl HubRequest {
    pub(super) fn new(http: Request, behaviour: Arc<Behaviour>) -> Self {
        let fields: Vec<(String, String)> = form_urlencoded::parse(&http.body).into_owned().collect();
        let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        Self {
            mode: field("hub.mode").unwrap_or_default(),
            topic: field("hub.topic").unwrap_or_default(),
            callback: field("hub.callback").unwrap_or_default(),
            secret: field("hub.secret"),
            lease_seconds: field("hub.lease_seconds"),
            fields,
            http,
            behaviour,
        }
    }

    /// The subscription that it asks for, also if it was never verified.
    pub fn subscription(&self) -> HubSubscription {
        let Self { topic, callback, secret, .. } = self.clone();
        HubSubscription { topic, callback, secret }
    }

    /// What every hub has to refuse with 400.
    pub(super) fn complaint(&self) -> Option<&'static str> {
        const SECRET_BYTES_MAX: usize = 199;
        let kind = self.http.header("content-type").unwrap_or_default();
        let lease_is_positive = |lease: &String| lease.parse::<u64>().is_ok_and(|secs| secs > 0);
        let complaints = [
            (self.http.method != "POST", "send a POST"),
            (
                !kind.starts_with("application/x-www-form-urlencoded"),
                "send a form as application/x-www-form-urlencoded",
            ),
            (!["subscribe", "unsubscribe"].contains(&self.mode.as_str()), "hub.mode is subscribe or unsubscribe"),
            (self.topic.is_empty(), "hub.topic is missing"),
            (!self.callback.starts_with("http"), "hub.callback is no URL"),
            (self.secret.as_ref().is_some_and(|secret| secret.len() > SECRET_BYTES_MAX), "hub.secret is too long"),
            (!self.lease_seconds.iter().all(lease_is_positive), "hub.lease_seconds is no positive number"),
        ];
        complaints.into_iter().find_map(|(is_so, text)| is_so.then_some(text))
    }
}

/// A subscription that a hub has verified. Its topic and its callback are its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubSubscription {
    pub topic: String,
    pub callback: String,
    /// What its pushes are signed with.
    pub secret: Option<String>,
}

impl HubSubscription {
    pub(super) fn is_of(&self, request: &HubRequest) -> bool {
        self.topic == request.topic && self.callback == request.callback
    }
}
