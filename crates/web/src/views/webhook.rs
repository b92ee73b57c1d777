//! Webhooks: without their secrets, and without the values of their headers.

use domain::{
    FeedId, FolderId, WebhookId,
    delivery::{EventType, MASK, Rate, Webhook},
};
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use super::ids;

/// A webhook.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Webhook)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the API")]
pub(crate) struct WebhookView {
    /// Its id.
    #[schema(value_type = ids::WebhookId)]
    id: WebhookId,
    /// Where events are sent.
    url: String,
    /// What the user notes about it.
    description: Option<String>,
    /// Whether events are sent.
    enabled: bool,
    /// Which; null for all.
    #[schema(value_type = Option<Vec<String>>)]
    event_types: Option<Vec<EventType>>,
    /// Of which feeds; null for all.
    #[schema(value_type = Option<Vec<ids::FeedId>>)]
    feed_ids: Option<Vec<FeedId>>,
    /// Of the feeds in which folders; null for all.
    #[schema(value_type = Option<Vec<ids::FolderId>>)]
    folder_ids: Option<Vec<FolderId>>,
    /// Headers that are sent along. Their values are secrets: each is shown as `***`.
    #[serde(serialize_with = "masked")]
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    headers: Vec<String>,
    /// Whether entries are sent with their content and summary.
    include_content: bool,
    /// Whether the entries that a feed holds when it is first fetched are sent.
    backlog: bool,
    /// Requests a second that it is sent at most; null for no such limit.
    #[schema(value_type = Option<f64>)]
    rate_per_second: Option<RateView>,
    /// Failures in a row. Answers of 4xx, but for 408, 410, 425 and 429, speak of an event and are none.
    consecutive_failures: u32,
    /// It has failed too often in a row: one request at a time is sent, until one succeeds.
    #[serde(rename = "breakerOpen")]
    is_breaker_open: bool,
    /// It has asked to be sent nothing until then; null if that is over.
    #[schema(value_type = Option<String>, format = DateTime)]
    held_until: Option<Timestamp>,
    /// Why it was disabled by itself.
    disabled_reason: Option<String>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<Webhook> for WebhookView {
    fn from(webhook: Webhook) -> Self {
        let Webhook {
            id,
            url,
            description,
            enabled,
            event_types,
            feed_ids,
            folder_ids,
            headers,
            include_content,
            backlog,
            rate_per_second,
            consecutive_failures,
            is_breaker_open,
            held_until,
            disabled_reason,
            created_at,
            ..
        } = webhook;
        Self {
            id,
            url,
            description,
            enabled,
            event_types,
            feed_ids,
            folder_ids,
            headers: headers.into_iter().map(|(name, _)| name).collect(),
            include_content,
            backlog,
            rate_per_second: rate_per_second.map(RateView::from),
            consecutive_failures,
            is_breaker_open,
            held_until,
            disabled_reason,
            created_at,
        }
    }
}

/// Names with the mask in the place of their values.
fn masked<S: Serializer>(names: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(names.iter().map(|name| (name, MASK)))
}

/// A rate as it was set: a whole number where it is one.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum RateView {
    Whole(u32),
    Fraction(f64),
}

impl From<Rate> for RateView {
    fn from(rate: Rate) -> Self {
        let thousandths = rate.thousandths();
        if thousandths.is_multiple_of(1000) {
            Self::Whole(thousandths / 1000)
        } else {
            Self::Fraction(f64::from(thousandths) / 1000.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::delivery::{HeaderValue, WebhookSecret};

    use super::*;

    #[test]
    fn d1_webhook_is_shown_without_secrets() {
        let webhook = Webhook {
            account_id: domain::account::READER,
            id: WebhookId(1),
            url: "https://e.org/".to_owned(),
            description: None,
            enabled: true,
            event_types: None,
            feed_ids: None,
            folder_ids: None,
            headers: vec![("X-B".to_owned(), HeaderValue::new("b2xk")), ("X-A".to_owned(), HeaderValue::new("b2xk"))],
            include_content: true,
            backlog: false,
            rate_per_second: None,
            consecutive_failures: 0,
            is_breaker_open: false,
            held_until: None,
            disabled_reason: None,
            created_at: Timestamp::UNIX_EPOCH,
            secrets: vec![WebhookSecret::parse("whsec_b2xk").unwrap()],
        };
        let shown = serde_json::to_string(&WebhookView::from(webhook)).unwrap();
        assert!(shown.contains(r#""headers":{"X-B":"***","X-A":"***"}"#), "{shown}");
        assert!(!shown.contains("secret") && !shown.contains("b2xk"), "{shown}");
    }

    #[test]
    fn d1_rate_is_shown_as_set() {
        for (set, shown) in [(5.0, "5"), (0.5, "0.5"), (0.001, "0.001"), (10_000.0, "10000")] {
            let rate = Rate::per_second(set).unwrap();
            assert_eq!(serde_json::to_string(&RateView::from(rate)).unwrap(), shown);
        }
    }
}
