//! Webhooks: where events go, and which.

use jiff::Timestamp;

use super::{
    event::EventType,
    header::{WebhookHeaders, unmask_headers},
    rate::Rate,
    sign::WebhookSecret,
};
use crate::ids::{AccountId, FeedId, FolderId, WebhookId};

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column")]
pub struct Webhook {
    pub id: WebhookId,
    pub account_id: AccountId,
    /// Where events are sent.
    pub url: String,
    /// What the user notes about it.
    pub description: Option<String>,
    /// Whether events are sent.
    pub enabled: bool,
    /// Which; null for all.
    pub event_types: Option<Vec<EventType>>,
    /// Of which feeds; null for all.
    pub feed_ids: Option<Vec<FeedId>>,
    /// Of the feeds in which folders; null for all.
    pub folder_ids: Option<Vec<FolderId>>,
    /// Headers that are sent along. Their values are secrets.
    pub headers: WebhookHeaders,
    /// Whether entries are sent with their content and summary.
    pub include_content: bool,
    /// Whether the entries that a feed holds when it is first fetched are sent.
    pub backlog: bool,
    /// Requests a second that it is sent at most; null for no such limit.
    pub rate_per_second: Option<Rate>,
    /// Failures in a row. Answers of 4xx, but for 408, 410, 425 and 429, speak of an event and are none.
    pub consecutive_failures: u32,
    /// It has failed too often in a row: one request at a time is sent, until one succeeds.
    pub is_breaker_open: bool,
    /// It has asked to be sent nothing until then; null if that is over.
    pub held_until: Option<Timestamp>,
    /// Why it was disabled by itself.
    pub disabled_reason: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// What its requests are signed with, the newest first. Shown once, when it is made.
    pub secrets: Vec<WebhookSecret>,
}

/// A webhook to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// Where events are sent.
    pub url: String,
    /// What the user notes about it.
    pub description: Option<String>,
    /// Whether events are sent.
    pub enabled: bool,
    /// Which; `None` for all.
    pub event_types: Option<Vec<EventType>>,
    /// Of which feeds; `None` for all.
    pub feed_ids: Option<Vec<FeedId>>,
    /// Of the feeds in which folders; `None` for all.
    pub folder_ids: Option<Vec<FolderId>>,
    /// Headers that are sent along.
    pub headers: WebhookHeaders,
    /// Whether entries are sent with their content and summary.
    pub include_content: bool,
    /// Whether the entries that a feed holds when it is first fetched are sent.
    pub backlog: bool,
    /// Requests a second that it is sent at most.
    pub rate_per_second: Option<Rate>,
    /// What its requests are signed with.
    pub secret: WebhookSecret,
}

impl NewWebhook {
    /// A webhook that gets every event, with content, from now on: what it is unless somebody says otherwise.
    pub fn to(url: impl Into<String>, secret: WebhookSecret) -> Self {
        Self {
            url: url.into(),
            description: None,
            enabled: true,
            event_types: None,
            feed_ids: None,
            folder_ids: None,
            headers: Vec::new(),
            include_content: true,
            backlog: false,
            rate_per_second: None,
            secret,
        }
    }
}

/// What is to be changed of what a [`NewWebhook`] says. What may be null is an option in an option.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookPatch {
    pub url: Option<String>,
    pub description: Option<Option<String>>,
    /// One that was disabled and is enabled is well: its failures, and why it was disabled, are forgotten.
    pub enabled: Option<bool>,
    pub event_types: Option<Option<Vec<EventType>>>,
    pub feed_ids: Option<Option<Vec<FeedId>>>,
    pub folder_ids: Option<Option<Vec<FolderId>>>,
    /// See [`NewWebhook`]. A masked value keeps the stored one: see [`unmasked`](Self::unmasked).
    pub headers: Option<WebhookHeaders>,
    pub include_content: Option<bool>,
    pub backlog: Option<bool>,
    pub rate_per_second: Option<Option<Rate>>,
}

impl WebhookPatch {
    /// Whether the stored headers are needed to tell which it has afterwards.
    pub fn has_masked_headers(&self) -> bool {
        self.headers.iter().flatten().any(|(_, value)| value.is_masked())
    }

    /// Whether what waits for a webhook is sent at once after this: it is enabled by it, or has another URL. What waited for
    /// the old receiver does not wait for the new one.
    pub fn sends_what_waits(&self, was_enabled: bool, before: Option<&Webhook>) -> bool {
        let is_enabling = self.enabled == Some(true) && !was_enabled;
        let is_redirected = self.url.as_ref().zip(before).is_some_and(|(url, before)| *url != before.url);
        is_enabling || is_redirected
    }

    /// The same with the stored values in the place of masked ones.
    #[must_use]
    pub fn unmasked(mut self, stored: &WebhookHeaders) -> Self {
        self.headers = self.headers.map(|wanted| unmask_headers(&wanted, stored));
        self
    }
}

/// What an account has to do with the feed of an event: the folder that it keeps it in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Follow {
    pub folder_id: Option<FolderId>,
}

/// What decides which webhooks get an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventScope {
    pub kind: EventType,
    /// In which feed, if in one: only its followers get it.
    pub feed_id: Option<FeedId>,
    /// Only this account gets it.
    pub account_id: Option<AccountId>,
    /// It was there when the feed was first fetched, or when the account began to follow it.
    pub is_backlog: bool,
    /// The webhook that it is about, if it is about one.
    pub webhook_id: Option<WebhookId>,
}

impl EventScope {
    /// Of an entry of a feed. What the feed held when it was first fetched is backlog (D1); an update never is: it happened
    /// just now.
    pub fn of_entry(kind: EventType, feed: FeedId, is_first_document: bool) -> Self {
        let is_backlog = is_first_document && kind == EventType::EntryCreated;
        Self { kind, feed_id: Some(feed), account_id: None, is_backlog, webhook_id: None }
    }
}

impl Webhook {
    /// Whether it gets such an event, whose feed its account follows so, or not. A disabled one keeps what it has and
    /// gets nothing new.
    pub fn wants(&self, scope: &EventScope, follow: Option<Follow>) -> bool {
        let concerns_account = scope.account_id.is_none_or(|account| account == self.account_id)
            && (scope.feed_id.is_none() || follow.is_some());
        if !self.enabled || !concerns_account {
            return false;
        }
        match scope.kind {
            // Only itself is tried.
            EventType::WebhookTest => return scope.webhook_id == Some(self.id),
            // Others get it.
            EventType::WebhookDisabled | EventType::DeliveryFailed if scope.webhook_id == Some(self.id) => {
                return false;
            }
            _ => {}
        }
        let kind_fits = self.event_types.as_ref().is_none_or(|kinds| kinds.contains(&scope.kind));
        kind_fits && (self.backlog || !scope.is_backlog) && self.is_of(scope, follow)
    }

    /// Whether a replay sends it such an event once more. A test is made anew, not repeated.
    pub fn replays(&self, scope: &EventScope, follow: Option<Follow>) -> bool {
        scope.kind != EventType::WebhookTest && self.wants(scope, follow)
    }

    /// Whether it is of a feed or a folder that is wanted: of either, where both are named.
    fn is_of(&self, scope: &EventScope, follow: Option<Follow>) -> bool {
        let Some(feed) = scope.feed_id else { return true };
        if self.feed_ids.is_none() && self.folder_ids.is_none() {
            return true;
        }
        let by_feed = self.feed_ids.as_ref().is_some_and(|wanted| wanted.contains(&feed));
        let folder = follow.and_then(|follow| follow.folder_id);
        let in_folder = |wanted: &Vec<FolderId>| folder.is_some_and(|folder| wanted.contains(&folder));
        by_feed || self.folder_ids.as_ref().is_some_and(in_folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::HeaderValue;

    fn webhook() -> Webhook {
        Webhook {
            id: WebhookId(1),
            account_id: AccountId(1),
            url: "https://r.org/".into(),
            description: None,
            enabled: true,
            event_types: None,
            feed_ids: None,
            folder_ids: None,
            headers: vec![("X-A".into(), HeaderValue::new("b"))],
            include_content: true,
            backlog: false,
            rate_per_second: None,
            consecutive_failures: 0,
            is_breaker_open: false,
            held_until: None,
            disabled_reason: None,
            created_at: Timestamp::UNIX_EPOCH,
            secrets: vec![WebhookSecret::parse("whsec_b2xk").unwrap()],
        }
    }

    #[test]
    fn d9_which_changes_send_what_waits() {
        let before = webhook();
        for (url, enabled, was_enabled, expect) in [
            (None, None, true, false),
            (None, None, false, false),
            (None, Some(true), true, false),
            (None, Some(true), false, true),
            (None, Some(false), true, false),
            (Some("https://r.org/"), None, true, false),
            (Some("https://r.org/new"), None, true, true),
            (Some("https://r.org/new"), Some(false), true, true),
        ] {
            let patch = WebhookPatch { url: url.map(str::to_owned), enabled, ..WebhookPatch::default() };
            let sends = patch.sends_what_waits(was_enabled, Some(&before));
            assert_eq!(sends, expect, "{url:?} {enabled:?} {was_enabled}");
        }
        let unreadable = WebhookPatch { url: Some("https://r.org/new".into()), ..WebhookPatch::default() };
        assert!(!unreadable.sends_what_waits(true, None));
    }

    fn scope(feed: i64) -> EventScope {
        EventScope::of_entry(EventType::EntryCreated, FeedId(feed), false)
    }

    fn in_folder(folder: Option<i64>) -> Follow {
        Follow { folder_id: folder.map(FolderId) }
    }

    #[test]
    fn d1_null_means_all_an_empty_list_none_and_both_either() {
        let (feeds, folders) = (
            |ids: &[i64]| Some(ids.iter().copied().map(FeedId).collect::<Vec<_>>()),
            |ids: &[i64]| Some(ids.iter().copied().map(FolderId).collect::<Vec<_>>()),
        );
        for (feed_ids, folder_ids, event, wanted) in [
            (None, None, (1, None), true),
            (feeds(&[1]), None, (1, None), true),
            (feeds(&[1]), None, (2, Some(9)), false),
            (feeds(&[]), None, (1, Some(9)), false),
            (None, folders(&[9]), (1, Some(9)), true),
            (None, folders(&[9]), (1, None), false),
            (None, folders(&[]), (1, Some(9)), false),
            (feeds(&[1]), folders(&[9]), (1, None), true),
            (feeds(&[1]), folders(&[9]), (2, Some(9)), true),
            (feeds(&[1]), folders(&[9]), (2, Some(8)), false),
            (feeds(&[]), folders(&[]), (1, Some(9)), false),
        ] {
            let webhook = Webhook { feed_ids, folder_ids, ..webhook() };
            let (feed, folder) = event;
            assert_eq!(webhook.wants(&scope(feed), Some(in_folder(folder))), wanted, "{webhook:?} {event:?}");
        }
    }

    #[test]
    fn d1_an_update_is_never_backlog() {
        for (kind, is_first_document, is_backlog) in [
            (EventType::EntryCreated, true, true),
            (EventType::EntryCreated, false, false),
            (EventType::EntryUpdated, true, false),
            (EventType::EntryUpdated, false, false),
        ] {
            let scope = EventScope::of_entry(kind, FeedId(1), is_first_document);
            assert_eq!(scope.is_backlog, is_backlog, "{kind:?} {is_first_document}");
            assert_eq!((scope.kind, scope.feed_id, scope.account_id), (kind, Some(FeedId(1)), None));
        }
    }

    #[test]
    fn d1_kinds_backlog_and_being_enabled_count() {
        let (event, follow) = (scope(1), Some(in_folder(None)));
        assert!(!Webhook { enabled: false, ..webhook() }.wants(&event, follow));
        assert!(!Webhook { event_types: Some(vec![]), ..webhook() }.wants(&event, follow));
        assert!(Webhook { event_types: Some(vec![EventType::EntryCreated]), ..webhook() }.wants(&event, follow));
        let backlog = EventScope { is_backlog: true, ..event };
        assert!(!webhook().wants(&backlog, follow));
        assert!(Webhook { backlog: true, ..webhook() }.wants(&backlog, follow));
    }

    #[test]
    fn a2_events_go_to_followers_and_the_account_concerned() {
        let of = |account_id| EventScope { account_id, ..scope(1) };
        for (scope, follow, wanted) in [
            (of(None), Some(in_folder(None)), true),
            (of(None), None, false),
            (of(Some(AccountId(1))), Some(in_folder(None)), true),
            (of(Some(AccountId(2))), Some(in_folder(None)), false),
        ] {
            assert_eq!(webhook().wants(&scope, follow), wanted, "{scope:?} {follow:?}");
        }
    }

    #[test]
    fn d2_tests_go_to_their_webhook_and_disabling_to_others() {
        let about = |kind, id| EventScope {
            kind,
            feed_id: None,
            account_id: Some(AccountId(1)),
            is_backlog: false,
            webhook_id: Some(WebhookId(id)),
        };
        assert!(Webhook { event_types: Some(vec![]), ..webhook() }.wants(&about(EventType::WebhookTest, 1), None));
        assert!(!webhook().wants(&about(EventType::WebhookTest, 2), None));
        assert!(webhook().wants(&about(EventType::WebhookDisabled, 2), None));
        assert!(!webhook().wants(&about(EventType::WebhookDisabled, 1), None));
        let one_feed = Webhook { feed_ids: Some(vec![FeedId(1)]), ..webhook() };
        assert!(one_feed.wants(&about(EventType::WebhookDisabled, 2), None));
    }

    #[test]
    fn d10_a_replay_repeats_what_is_wanted_but_no_tests() {
        let about = |kind, id| EventScope { kind, feed_id: None, webhook_id: Some(WebhookId(id)), ..scope(1) };
        let backlog = EventScope { is_backlog: true, ..scope(1) };
        for (webhook, event, is_repeated) in [
            (webhook(), scope(1), true),
            (Webhook { enabled: false, ..webhook() }, scope(1), false),
            (Webhook { feed_ids: Some(vec![FeedId(2)]), ..webhook() }, scope(1), false),
            (webhook(), backlog, false),
            (Webhook { backlog: true, ..webhook() }, backlog, true),
            (webhook(), about(EventType::WebhookTest, 1), false),
            (webhook(), about(EventType::WebhookDisabled, 2), true),
            (webhook(), about(EventType::DeliveryFailed, 1), false),
        ] {
            assert_eq!(webhook.replays(&event, Some(in_folder(None))), is_repeated, "{webhook:?} {event:?}");
        }
    }
}
