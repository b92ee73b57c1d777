//! From an event to the webhooks that want it.

use std::{borrow::Borrow, collections::HashMap, hash::BuildHasher};

use super::{
    event::{EventType, PayloadData, PayloadDelivery, PayloadEntry, PayloadFeed, PayloadWebhook, public_id},
    outbox::AttemptOutcome,
    webhook::{EventScope, Follow, Webhook},
};
use crate::{
    entry::Entry,
    ids::{AccountId, EntryId, FeedId, WebhookId},
    push::{Subscription, SubscriptionState, SubscriptionView},
};

/// Something that happened. It is written down in the transaction of what it reports, if anybody wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DomainEvent {
    /// An entry is new.
    EntryCreated {
        entry: Box<Entry>,
        /// It was there when the feed was first fetched.
        is_backlog: bool,
    },
    /// An entry was there when this account began to follow its feed.
    EntryFollowed(AccountId, Box<Entry>),
    /// An entry has changed.
    EntryUpdated(Box<Entry>),
    /// A feed is failing, has recovered, or is gone.
    Feed(EventType, FeedId),
    /// A hub pushes a feed from now on, or no longer.
    Subscription(FeedId, Box<SubscriptionView>),
    /// A webhook of this account was disabled, or is tried.
    Webhook(EventType, AccountId, PayloadWebhook),
    /// A delivery to this webhook of this account was given up.
    DeliveryFailed(AccountId, PayloadWebhook, Box<PayloadDelivery>),
}

impl DomainEvent {
    /// What kind of event it is.
    pub fn kind(&self) -> EventType {
        match self {
            Self::EntryCreated { .. } | Self::EntryFollowed(..) => EventType::EntryCreated,
            Self::EntryUpdated(_) => EventType::EntryUpdated,
            Self::Feed(kind, _) | Self::Webhook(kind, ..) => *kind,
            Self::Subscription(_, subscription) if subscription.is_active => EventType::SubscriptionActivated,
            Self::Subscription(..) => EventType::SubscriptionDeactivated,
            Self::DeliveryFailed(..) => EventType::DeliveryFailed,
        }
    }

    /// The feed that it is about.
    pub fn feed_id(&self) -> Option<FeedId> {
        match self {
            Self::EntryCreated { entry, .. } | Self::EntryFollowed(_, entry) | Self::EntryUpdated(entry) => {
                Some(entry.feed_id)
            }
            Self::Feed(_, feed) | Self::Subscription(feed, _) => Some(*feed),
            Self::Webhook(..) | Self::DeliveryFailed(..) => None,
        }
    }

    /// The account whose webhooks alone are told.
    pub fn account_id(&self) -> Option<AccountId> {
        match self {
            Self::EntryFollowed(account, _) | Self::Webhook(_, account, _) | Self::DeliveryFailed(account, ..) => {
                Some(*account)
            }
            _ => None,
        }
    }

    /// The entry that it is about.
    pub fn entry_id(&self) -> Option<EntryId> {
        self.entry().map(|entry| entry.id)
    }

    fn entry(&self) -> Option<&Entry> {
        match self {
            Self::EntryCreated { entry, .. } | Self::EntryFollowed(_, entry) | Self::EntryUpdated(entry) => Some(entry),
            _ => None,
        }
    }

    fn scope(&self) -> EventScope {
        EventScope {
            kind: self.kind(),
            feed_id: self.feed_id(),
            account_id: self.account_id(),
            is_backlog: matches!(self, Self::EntryCreated { is_backlog: true, .. } | Self::EntryFollowed(..)),
            webhook_id: self.webhook().map(|webhook| webhook.id),
        }
    }

    fn webhook(&self) -> Option<&PayloadWebhook> {
        match self {
            Self::Webhook(.., webhook) | Self::DeliveryFailed(_, webhook, _) => Some(webhook),
            _ => None,
        }
    }

    /// That a hub pushes a feed from now on, or no longer; nothing if that stays as it was.
    pub fn subscription_changed(before: &Subscription, after: Option<&Subscription>) -> Option<Self> {
        let is_active = after.is_some_and(Subscription::is_active);
        let feed = before.feed_id.filter(|_| is_active != before.is_active())?;
        let mut view = SubscriptionView::from(after.unwrap_or(before));
        if after.is_none() {
            (view.state, view.is_active) = (SubscriptionState::Inactive, false);
        }
        Some(Self::Subscription(feed, Box::new(view)))
    }

    /// That a delivery was given up, with the id that it has in this installation, by the nonce of its event. That one of
    /// such an event was given up is no event: two receivers that are dead would tell each other for ever.
    pub fn delivery_failed(
        account: AccountId,
        finished: &AttemptOutcome,
        installation: &str,
        nonce: i64,
    ) -> Option<Self> {
        if finished.kind == EventType::DeliveryFailed {
            return None;
        }
        let delivery = PayloadDelivery {
            id: public_id("dlv", installation, finished.id.0, nonce),
            event_id: public_id("evt", installation, finished.event.0, nonce),
            event_type: finished.kind,
            attempts: finished.attempt.number,
            last_status_code: finished.attempt.status_code,
            last_error: finished.attempt.error.clone(),
        };
        let webhook = PayloadWebhook::new(finished.webhook_id, &finished.url, None);
        Some(Self::DeliveryFailed(account, webhook, Box::new(delivery)))
    }
}

/// An event to be stored, with the webhooks it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// What decided who gets it; kept, so that a replay can decide anew.
    pub scope: EventScope,
    /// The entry that it is about, for the marks that a follower has made in it.
    pub entry_id: Option<EntryId>,
    /// The feed, as the server has it; what a follower calls it is put in when it is sent.
    pub feed: Option<String>,
    /// What else it is about, as it is stored.
    pub data: String,
    /// The webhooks it is for: at least one.
    pub to: Vec<WebhookId>,
}

/// Who follows the feeds of events, of the accounts that have webhooks.
pub type Follows = HashMap<(FeedId, AccountId), Follow>;

/// Whether any webhook wants such an event: cheaper than to make it first.
pub fn is_wanted(webhooks: &[impl Borrow<Webhook>], follows: &Follows, scope: &EventScope) -> bool {
    let mut webhooks = webhooks.iter().map(Borrow::borrow);
    webhooks.any(|webhook| webhook.wants(scope, follow_of(follows, webhook, scope)))
}

fn follow_of(follows: &Follows, webhook: &Webhook, scope: &EventScope) -> Option<Follow> {
    follows.get(&(scope.feed_id?, webhook.account_id)).copied()
}

/// Which webhooks get which event. What none wants is no event; nor is what happened to a feed that is not there.
pub fn fan_out<S: BuildHasher>(
    webhooks: &[impl Borrow<Webhook>],
    follows: &Follows,
    feeds: &HashMap<FeedId, PayloadFeed, S>,
    events: &[DomainEvent],
) -> Vec<Outgoing> {
    let one = |event: &DomainEvent| {
        let feed = match event.feed_id() {
            Some(id) => Some(feeds.get(&id)?),
            None => None,
        };
        let scope = event.scope();
        let wants_it = |webhook: &&Webhook| webhook.wants(&scope, follow_of(follows, webhook, &scope));
        let to: Vec<WebhookId> =
            webhooks.iter().map(Borrow::borrow).filter(wants_it).map(|webhook| webhook.id).collect();
        if to.is_empty() {
            return None;
        }
        let data = PayloadData {
            entry: event.entry().map(PayloadEntry::from),
            subscription: match event {
                DomainEvent::Subscription(_, subscription) => Some(subscription),
                _ => None,
            },
            webhook: event.webhook(),
            delivery: match event {
                DomainEvent::DeliveryFailed(.., delivery) => Some(delivery),
                _ => None,
            },
        };
        let (entry_id, feed) = (event.entry_id(), feed.map(PayloadFeed::to_json));
        Some(Outgoing { scope, entry_id, feed, data: data.to_json(), to })
    };
    events.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        delivery::{AttemptEnd, AttemptLog, Verdict},
        ids::{DeliveryId, EventId},
        lease::Lease,
    };

    fn webhook(id: i64, kinds: Option<Vec<EventType>>) -> Webhook {
        Webhook {
            id: WebhookId(id),
            account_id: AccountId(1),
            url: "https://r.org/".into(),
            description: None,
            enabled: true,
            event_types: kinds,
            feed_ids: None,
            folder_ids: None,
            headers: vec![],
            include_content: true,
            backlog: false,
            rate_per_second: None,
            consecutive_failures: 0,
            is_breaker_open: false,
            held_until: None,
            disabled_reason: None,
            created_at: jiff::Timestamp::UNIX_EPOCH,
            secrets: vec![],
        }
    }

    #[test]
    fn d2_one_event_for_all_who_want_it_and_none_for_nobody() {
        let webhooks = [webhook(1, None), webhook(2, Some(vec![EventType::FeedGone])), webhook(3, Some(vec![]))];
        let feed = PayloadFeed { id: FeedId(5), url: "https://e.org/".into(), title: None, trace: None };
        let feeds = HashMap::from([(FeedId(5), feed)]);
        let follows = Follows::from([((FeedId(5), AccountId(1)), Follow::default())]);
        let happened = [
            DomainEvent::Feed(EventType::FeedGone, FeedId(5)),
            DomainEvent::Feed(EventType::FeedFailing, FeedId(5)),
            DomainEvent::Feed(EventType::FeedGone, FeedId(6)),
        ];
        let recipients: Vec<_> = fan_out(&webhooks, &follows, &feeds, &happened)
            .into_iter()
            .map(|event| (event.scope.kind, event.to))
            .collect();
        assert_eq!(
            recipients,
            [(EventType::FeedGone, vec![WebhookId(1), WebhookId(2)]), (EventType::FeedFailing, vec![WebhookId(1)]),]
        );
        assert_eq!(fan_out(&webhooks[2..], &follows, &feeds, &happened), []);
        assert_eq!(fan_out(&[] as &[Webhook], &follows, &feeds, &happened), []);
    }

    #[test]
    fn d2_a_webhook_that_was_disabled_is_in_its_event_and_no_feed() {
        let about = PayloadWebhook::new(WebhookId(2), "https://d.org:8443/secret?key=1", Some("410".into()));
        let events = fan_out(
            &[webhook(1, None), webhook(2, None)],
            &Follows::new(),
            &HashMap::new(),
            &[
                DomainEvent::Webhook(EventType::WebhookDisabled, AccountId(1), about.clone()),
                DomainEvent::Webhook(EventType::WebhookTest, AccountId(1), about),
            ],
        );
        assert_eq!(events.iter().map(|event| event.to.clone()).collect::<Vec<_>>(), [[WebhookId(1)], [WebhookId(2)]]);
        assert_eq!(events[0].data, r#"{"webhook":{"id":2,"url":"https://d.org:8443","disabledReason":"410"}}"#);
    }

    #[test]
    fn d2_delivery_failed_goes_to_others_and_never_about_itself() {
        let failed = |kind| AttemptOutcome {
            id: DeliveryId(9),
            lease: Lease { owner: "w".into(), fence: 1 },
            webhook_id: WebhookId(2),
            event: EventId(7),
            kind,
            url: "https://d.org/secret".into(),
            verdict: Verdict::Failed,
            ended: AttemptEnd::Answered { status: 500, retry_after: None },
            is_probe: false,
            tries: 15,
            attempt: AttemptLog {
                number: 16,
                status_code: Some(500),
                error: Some("no".into()),
                ..AttemptLog::default()
            },
        };
        let happened = DomainEvent::delivery_failed(AccountId(1), &failed(EventType::EntryCreated), "key", 1).unwrap();
        let events = fan_out(&[webhook(1, None), webhook(2, None)], &Follows::new(), &HashMap::new(), &[happened]);
        assert_eq!(events.iter().map(|event| event.to.clone()).collect::<Vec<_>>(), [[WebhookId(1)]]);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&events[0].data).unwrap(),
            serde_json::json!({
                "webhook": {"id": 2, "url": "https://d.org", "disabledReason": null},
                "delivery": {
                    "id": "dlv_key000000000009000000000001", "eventId": "evt_key000000000007000000000001",
                    "eventType": "entry.created",
                    "attempts": 16, "lastStatusCode": 500, "lastError": "no",
                },
            })
        );
        assert_eq!(DomainEvent::delivery_failed(AccountId(1), &failed(EventType::DeliveryFailed), "key", 1), None);
    }
}
