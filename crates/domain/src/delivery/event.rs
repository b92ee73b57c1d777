//! Events, as webhooks see them.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::{
    entry::{Entry, File},
    ids::{EntryId, FeedId, FolderId, WebhookId},
    push::SubscriptionView,
    trace::TraceContext,
};

/// Failures in a row after which a feed is said to be failing.
pub const FAILING_AFTER: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventType {
    /// An entry is new.
    EntryCreated,
    /// An entry has changed.
    EntryUpdated,
    /// A feed has failed three times in a row.
    FeedFailing,
    /// A feed that was failing has answered.
    FeedRecovered,
    /// A feed is gone for good.
    FeedGone,
    /// A hub pushes a feed.
    SubscriptionActivated,
    /// A hub pushes a feed no longer.
    SubscriptionDeactivated,
    /// A webhook was disabled.
    WebhookDisabled,
    /// A delivery was given up.
    DeliveryFailed,
    /// Somebody tries a webhook.
    WebhookTest,
}

impl EventType {
    pub const ALL: [Self; 10] = [
        Self::EntryCreated,
        Self::EntryUpdated,
        Self::FeedFailing,
        Self::FeedRecovered,
        Self::FeedGone,
        Self::SubscriptionActivated,
        Self::SubscriptionDeactivated,
        Self::WebhookDisabled,
        Self::DeliveryFailed,
        Self::WebhookTest,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::EntryCreated => "entry.created",
            Self::EntryUpdated => "entry.updated",
            Self::FeedFailing => "feed.failing",
            Self::FeedRecovered => "feed.recovered",
            Self::FeedGone => "feed.gone",
            Self::SubscriptionActivated => "subscription.activated",
            Self::SubscriptionDeactivated => "subscription.deactivated",
            Self::WebhookDisabled => "webhook.disabled",
            Self::DeliveryFailed => "delivery.failed",
            Self::WebhookTest => "webhook.test",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Serialize for EventType {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A feed, as it is stored for payloads: once, whoever follows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadFeed {
    pub id: FeedId,
    /// Where it is polled.
    pub url: String,
    /// What it calls itself.
    pub title: Option<String>,
    /// The trace that the event belongs to. It is stored here, and shown to nobody.
    #[serde(rename = "traceparent", default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

impl PayloadFeed {
    #[expect(clippy::missing_panics_doc, reason = "nothing in it can fail to be written down")]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a feed of a payload can always be serialised")
    }
}

/// What an account has of the feed and the entry of an event, when the event is sent to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowerView {
    /// What it calls the feed.
    pub custom_title: Option<String>,
    /// Where it keeps the feed.
    pub folder_id: Option<FolderId>,
    pub is_read: bool,
    pub is_starred: bool,
}

/// A feed, as a payload shows it to a follower.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FollowedFeed<'f> {
    id: FeedId,
    url: &'f str,
    title: Option<&'f str>,
    folder_id: Option<FolderId>,
}

/// An entry, as a payload shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadEntry<'e> {
    id: EntryId,
    feed_id: FeedId,
    guid: &'e str,
    url: Option<&'e str>,
    title: Option<&'e str>,
    author: Option<&'e str>,
    summary: Option<&'e str>,
    content: Option<&'e str>,
    published_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    sort_at: Timestamp,
    is_read: bool,
    is_starred: bool,
    categories: &'e [String],
    enclosures: &'e [File],
}

impl<'e> From<&'e Entry> for PayloadEntry<'e> {
    fn from(entry: &'e Entry) -> Self {
        Self {
            id: entry.id,
            feed_id: entry.feed_id,
            guid: &entry.guid,
            url: entry.url.as_deref(),
            title: entry.title.as_deref(),
            author: entry.author.as_deref(),
            summary: entry.summary.as_deref(),
            content: entry.content.as_deref(),
            published_at: entry.published_at,
            updated_at: entry.updated_at,
            sort_at: entry.sort_at,
            is_read: entry.is_read,
            is_starred: entry.is_starred,
            categories: &entry.categories,
            enclosures: &entry.enclosures,
        }
    }
}

/// A webhook, as a payload shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadWebhook {
    pub(super) id: WebhookId,
    /// The scheme and the host of its URL.
    url: String,
    /// Why it was disabled.
    disabled_reason: Option<String>,
}

impl PayloadWebhook {
    /// As events about it show it. Of its URL they learn where that leads, not the rest: it is often all that somebody needs
    /// to send there.
    pub fn new(id: WebhookId, url: &str, disabled_reason: Option<String>) -> Self {
        let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
        Self { id, url: origin.unwrap_or_default(), disabled_reason }
    }
}

/// A delivery that was given up, as a payload shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadDelivery {
    pub id: String,
    /// The id of the event that did not arrive.
    pub event_id: String,
    pub event_type: EventType,
    /// Attempts that were made.
    pub attempts: u32,
    /// The status of the last answer.
    pub last_status_code: Option<u16>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
}

/// What an event is about, besides its feed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadData<'d> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<PayloadEntry<'d>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription: Option<&'d SubscriptionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<&'d PayloadWebhook>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<&'d PayloadDelivery>,
}

impl PayloadData<'_> {
    /// As it is stored: once, with all there is, however many receive it.
    #[expect(clippy::missing_panics_doc, reason = "nothing in it can fail to be written down")]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("what an event is about can always be written down")
    }
}

/// The body that is sent: the event, and what it is about as it was stored.
pub fn payload(id: &str, kind: EventType, at: Timestamp, data: &str) -> String {
    // None of the three has a character that would have to be escaped.
    format!(r#"{{"id":"{id}","type":"{}","timestamp":"{at}","data":{data}}}"#, kind.name())
}

/// What an event is about, as it is sent to a follower: with the feed as that knows it, with its marks, and without content
/// and summary of the entry where they are not wanted.
pub fn data_for(feed: Option<&str>, data: &str, view: &FollowerView, include_content: bool) -> String {
    let is_as_stored = include_content && !view.is_read && !view.is_starred;
    let data = if is_as_stored { Cow::Borrowed(data) } else { Cow::Owned(edited(data, view, include_content)) };
    let Some(feed) = feed.and_then(|feed| serde_json::from_str::<PayloadFeed>(feed).ok()) else {
        return data.into_owned();
    };
    let title = view.custom_title.as_deref().or(feed.title.as_deref());
    let shown = FollowedFeed { id: feed.id, url: &feed.url, title, folder_id: view.folder_id };
    let Ok(shown) = serde_json::to_string(&shown) else { return data.into_owned() };
    match data.strip_prefix('{') {
        Some("}") => format!(r#"{{"feed":{shown}}}"#),
        Some(rest) => format!(r#"{{"feed":{shown},{rest}"#),
        None => data.into_owned(),
    }
}

fn edited(data: &str, view: &FollowerView, include_content: bool) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(data) else { return data.to_owned() };
    if let Some(entry) = value.pointer_mut("/entry").and_then(Value::as_object_mut) {
        entry.insert("isRead".to_owned(), view.is_read.into());
        entry.insert("isStarred".to_owned(), view.is_starred.into());
        if !include_content {
            entry.shift_remove("content");
            entry.shift_remove("summary");
        }
    }
    value.to_string()
}

/// Digits of a number in such an id at least, and of a nonce.
const ID_DIGITS: usize = 12;

/// The text of an id of an event or a delivery: what it is of, which installation, its number there, and the event's nonce.
/// It says by itself where the row is. Nobody else has the same, not even a database that has forgotten what it gave that
/// number to before: chance does not repeat itself. An event without a nonce is from before there were any.
pub fn public_id(prefix: &str, installation: &str, number: i64, nonce: i64) -> String {
    let nonce = if nonce == 0 { String::new() } else { format!("{nonce:0ID_DIGITS$x}") };
    format!("{prefix}_{installation}{number:0ID_DIGITS$x}{nonce}")
}

/// The number in such an id. Whether it is of that row, only its nonce shows.
pub fn number_of(prefix: &str, installation: &str, id: &str) -> Option<i64> {
    let digits = id.strip_prefix(prefix)?.strip_prefix('_')?.strip_prefix(installation)?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if !digits.bytes().all(is_digit) {
        return None;
    }
    let has_nonce = digits.len() >= 2 * ID_DIGITS;
    let digits = if has_nonce { &digits[..digits.len() - ID_DIGITS] } else { digits };
    let number = i64::from_str_radix(digits, 16).ok()?;
    (format!("{number:0ID_DIGITS$x}") == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            id: EntryId(7),
            feed_id: FeedId(3),
            guid: "g".into(),
            url: Some("https://e.org/7".into()),
            title: Some("Seven".into()),
            author: None,
            summary: Some("short".into()),
            content: Some("<p>long</p>".into()),
            published_at: None,
            updated_at: None,
            sort_at: Timestamp::UNIX_EPOCH,
            received_at: Timestamp::UNIX_EPOCH,
            is_read: false,
            is_starred: false,
            categories: vec![],
            enclosures: Vec::<File>::new(),
        }
    }

    #[test]
    fn d2_a_payload_has_the_shape_of_the_specification() {
        let feed = PayloadFeed { id: FeedId(3), url: "https://e.org/".into(), title: Some("Own".into()), trace: None }
            .to_json();
        let entry = entry();
        let data = PayloadData { entry: Some(PayloadEntry::from(&entry)), ..PayloadData::default() }.to_json();
        let view = FollowerView { folder_id: Some(FolderId(2)), ..FollowerView::default() };
        let sent = data_for(Some(&feed), &data, &view, true);
        let body = payload("evt_1", EventType::EntryCreated, Timestamp::UNIX_EPOCH, &sent);
        let value: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(value["id"], "evt_1");
        assert_eq!(value["type"], "entry.created");
        assert_eq!(value["timestamp"], "1970-01-01T00:00:00Z");
        assert_eq!(
            value["data"]["feed"],
            serde_json::json!({"id": 3, "url": "https://e.org/", "title": "Own", "folderId": 2})
        );
        assert_eq!(value["data"]["entry"]["content"], "<p>long</p>");
        assert_eq!(value["data"]["entry"]["isRead"], false);
        assert_eq!(value["data"].as_object().unwrap().len(), 2);
        assert_eq!(data_for(Some(&feed), "{}", &view, true), format!(r#"{{"feed":{}}}"#, value["data"]["feed"]));
    }

    #[test]
    fn a2_a_payload_is_as_its_follower_has_it() {
        let feed = PayloadFeed { id: FeedId(3), url: "https://e.org/".into(), title: Some("Own".into()), trace: None }
            .to_json();
        let data = PayloadData { entry: Some(PayloadEntry::from(&entry())), ..PayloadData::default() }.to_json();
        let view = FollowerView { custom_title: Some("Mine".into()), is_read: true, ..FollowerView::default() };
        for include_content in [true, false] {
            let sent: Value = serde_json::from_str(&data_for(Some(&feed), &data, &view, include_content)).unwrap();
            assert_eq!(sent["feed"]["title"], "Mine");
            assert_eq!((&sent["entry"]["isRead"], &sent["entry"]["isStarred"]), (&true.into(), &false.into()));
            assert_eq!(sent["entry"]["title"], "Seven");
            for text in ["content", "summary"] {
                assert_eq!(sent["entry"].get(text).is_some(), include_content, "{text}");
            }
        }
        assert_eq!(data_for(None, "nonsense", &view, false), "nonsense");
    }

    #[test]
    fn d2_every_kind_has_its_name() {
        for kind in EventType::ALL {
            assert_eq!(EventType::by_name(kind.name()), Some(kind));
        }
        assert_eq!(EventType::by_name("entry"), None);
    }

    #[test]
    fn d10_an_id_says_where_its_row_is_and_no_other_text_does() {
        let id = public_id("evt", "a1b2c3d4", 1_000_000, 0);
        assert_eq!(id, "evt_a1b2c3d40000000f4240");
        assert_eq!(number_of("evt", "a1b2c3d4", &id), Some(1_000_000));
        let with_nonce = public_id("evt", "a1b2c3d4", 1_000_000, 0xff);
        assert_eq!(with_nonce, "evt_a1b2c3d40000000f42400000000000ff");
        assert_eq!(number_of("evt", "a1b2c3d4", &with_nonce), Some(1_000_000));
        for other in [
            "",
            "evt_",
            "dlv_a1b2c3d40000000f4240",
            "evt_ffffffff0000000f4240",
            "evt_a1b2c3d4f4240",
            "evt_a1b2c3d40000000f42400000000000f",
            "evt_a1b2c3d4+000000f4240",
            &id.to_uppercase(),
        ] {
            assert_eq!(number_of("evt", "a1b2c3d4", other), None, "{other}");
        }
        for nonce in [0, 1, 0xffff_ffff_ffff] {
            let largest = public_id("evt", "a", i64::MAX, nonce);
            assert_eq!(number_of("evt", "a", &largest), Some(i64::MAX), "{nonce}");
        }
    }
}
