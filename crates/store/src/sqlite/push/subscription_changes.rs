//! What happens to subscriptions, inside the transaction of whoever makes it happen: the domain decides, this writes it
//! down, and what it means for the feed with it.

use std::time::Duration;

use domain::{
    FeedId, SubscriptionId,
    changes::alters_subscription,
    ports::{Changed, Claim},
    push::{self, Change, Decision, Event, Offer, Rules, Subscription, SubscriptionState, Transition, Wanted},
};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    outbox::events,
    push::{subscription_claims, subscription_rows, subscriptions},
    shared::writer::WriteTx,
};
use crate::values::{millis, time};

const TRUST: &str = include_str!("sql/subscription_changes_trust.sql");

pub(crate) const MAKE_DUE: &str = include_str!("sql/subscription_changes_make_due.sql");

/// Something happens to one subscription, under a claim or not.
pub(crate) fn change_one(
    changes: &mut WriteTx<'_>,
    id: SubscriptionId,
    claim: &Claim,
    event: &Event,
    rules: Rules,
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
    event: &Event,
    rules: Rules,
    now: i64,
) -> Result<Option<Transition>> {
    let connection = changes.connection;
    let (after, poll_now) = match push::apply(&before, event, rules, time(now)) {
        Decision::Refuse => return Ok(None),
        Decision::Become { subscription, poll_now } => (Some(subscription_rows::as_kept(*subscription)), poll_now),
        // Push ends with a subscription that was active.
        Decision::Forget => (None, before.is_active()),
    };
    match &after {
        Some(after) if *after == before => {}
        Some(after) => subscription_rows::update(connection, after)?,
        None => subscription_rows::delete(connection, before.id)?,
    }
    follow_trust(connection, &before, after.as_ref())?;
    if let Some(feed) = before.feed_id.filter(|_| poll_now) {
        make_due(connection, feed, Duration::ZERO, now)?;
    }
    if alters_subscription(&before, after.as_ref()) {
        changes.log.subscription(before.feed_id);
    }
    events::tell_push(changes, &before, after.as_ref())?;
    Ok(Some(Transition { before, after }))
}

/// Keeps `is_pushed` of the feed equal to the trust in its current subscription.
pub(crate) fn follow_trust(connection: &Connection, before: &Subscription, after: Option<&Subscription>) -> Result<()> {
    let is_trusted = after.is_some_and(Subscription::is_trusted);
    match before.feed_id {
        Some(feed) if is_trusted != before.is_trusted() => {
            connection.prepare_cached(TRUST)?.execute((feed.0, is_trusted)).map(drop)
        }
        _ => Ok(()),
    }
}

/// Makes a feed due after this delay, unless it is due sooner.
pub(crate) fn make_due(connection: &Connection, feed: FeedId, delay: Duration, now: i64) -> Result<()> {
    connection.prepare_cached(MAKE_DUE)?.execute((feed.0, now, millis(delay))).map(drop)
}

/// Makes, changes and ends subscriptions of a feed until they are what is wanted. False if they were.
pub(crate) fn reconcile(
    changes: &mut WriteTx<'_>,
    feed: FeedId,
    wanted: Wanted<'_>,
    offer: &Offer,
    now: i64,
) -> Result<bool> {
    let known = subscriptions::of_feed(changes.connection, feed.0)?;
    let plan = push::reconcile(wanted, &known, time(now));
    for Change { id, event } in &plan.changes {
        // No plan changes the same one twice.
        if let Some(subscription) = known.iter().find(|subscription| subscription.id == *id) {
            change(changes, subscription.clone(), event, Rules::default(), now)?;
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
    for subscription in subscriptions::of_feed(changes.connection, feed.0)? {
        if subscription.state != SubscriptionState::Unsubscribing {
            change(changes, subscription, &Event::Unwanted, Rules::default(), now)?;
        }
    }
    Ok(())
}
