//! What happens to subscriptions, inside the transaction of whoever makes it happen: the domain decides, this writes it
//! down, and what it means for the feed with it.

use std::time::Duration;

use domain::{
    FeedId, SubscriptionId,
    changes::alters_subscription,
    delivery::DomainEvent,
    ports::{Changed, Claim},
    push::{
        self, DesiredPush, Offer, PlannedChange, RenewalRules, Subscription, SubscriptionEvent, SubscriptionState,
        Transition,
    },
};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    feeds::feed_rows,
    outbox::events,
    push::{subscription_claims, subscription_rows, subscriptions},
    shared::writer::WriteTx,
};
use crate::values::{as_kept, time};

/// Something happens to one subscription, under a claim or not.
pub(crate) fn change_one(
    changes: &mut WriteTx<'_>,
    id: SubscriptionId,
    claim: &Claim,
    event: &SubscriptionEvent,
    rules: RenewalRules,
) -> Result<Changed> {
    let connection = changes.connection;
    let before = match claim {
        Claim::None => subscriptions::one(connection, id)?,
        Claim::Under(lease) | Claim::Ends(lease) => subscriptions::held(connection, id, lease)?,
    };
    let Some(before) = before else { return Ok(Changed::NotFound) };
    let now = changes.now();
    let transition = change(changes, before, event, rules, now)?;
    if let Claim::Ends(lease) = claim {
        // Whatever was decided.
        subscription_claims::release(changes, &[(id, lease.clone())])?;
    }
    Ok(transition.map_or(Changed::Refused, |transition| Changed::Done(Box::new(transition))))
}

/// What an event makes of a subscription and of its feed; `None` if it was refused, and nothing changed.
pub(crate) fn change(
    changes: &mut WriteTx<'_>,
    before: Subscription,
    event: &SubscriptionEvent,
    rules: RenewalRules,
    now: i64,
) -> Result<Option<Transition>> {
    let connection = changes.connection;
    let decision = push::apply(&before, event, rules, time(now));
    let Some((after, poll_now)) = decision.outcome(&before) else { return Ok(None) };
    let after = after.map(as_kept);
    match &after {
        Some(after) if *after == before => {}
        Some(after) => subscription_rows::update(connection, &before, after)?,
        None => subscription_rows::delete(connection, before.id)?,
    }
    follow_trust(connection, &before, after.as_ref())?;
    if let Some(feed) = before.feed_id.filter(|_| poll_now) {
        feed_rows::poll_soon(connection, feed, Duration::ZERO, now)?;
    }
    if alters_subscription(&before, after.as_ref()) {
        changes.log.subscription(before.feed_id);
    }
    events::record(changes, DomainEvent::subscription_changed(&before, after.as_ref()).as_slice())?;
    Ok(Some(Transition { before, after }))
}

/// Keeps `is_pushed` of the feed equal to the trust in its current subscription.
pub(crate) fn follow_trust(connection: &Connection, before: &Subscription, after: Option<&Subscription>) -> Result<()> {
    let is_trusted = after.is_some_and(Subscription::is_trusted);
    match before.feed_id {
        Some(feed) if is_trusted != before.is_trusted() => feed_rows::set_pushed(connection, feed, is_trusted),
        _ => Ok(()),
    }
}

/// Makes, changes and ends subscriptions of a feed until they are what is wanted. False if they were, or if a later version
/// sees to them.
pub(crate) fn reconcile(
    changes: &mut WriteTx<'_>,
    feed: FeedId,
    wanted: DesiredPush<'_>,
    offer: &Offer,
    now: i64,
) -> Result<bool> {
    let known: Option<Vec<_>> = subscriptions::of_feed(changes.connection, feed.0)?.into_iter().collect();
    let Some(known) = known else { return Ok(false) };
    let plan = push::reconcile(wanted, &known, time(now));
    for PlannedChange { id, event } in &plan.changes {
        // No plan changes the same one twice.
        if let Some(subscription) = known.iter().find(|subscription| subscription.id == *id) {
            change(changes, subscription.clone(), event, RenewalRules::default(), now)?;
        }
    }
    if let Some(hub) = &plan.subscribe_at {
        // The id is the database's.
        let new = Subscription::new(SubscriptionId(0), feed, hub, wanted.topic, offer, time(now));
        subscription_rows::insert(changes.connection, &new, now)?;
        changes.log.subscription(Some(feed));
    }
    Ok(!plan.is_empty())
}

/// No subscription of the feed is wanted any more.
pub(crate) fn end_all(changes: &mut WriteTx<'_>, feed: FeedId) -> Result<()> {
    let now = changes.now();
    for subscription in subscriptions::of_feed(changes.connection, feed.0)?.into_iter().flatten() {
        if subscription.state != SubscriptionState::Unsubscribing {
            change(changes, subscription, &SubscriptionEvent::Unwanted, RenewalRules::default(), now)?;
        }
    }
    Ok(())
}
