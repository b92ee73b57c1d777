//! What hubs bring, stored.

use domain::{
    changes::alters_subscription,
    push::{self, Decision, Push, PushStored, RenewalRules, SubscriptionEvent},
};
use rusqlite::Result;

use crate::sqlite::{
    entries::ingest,
    feeds::feed_rows,
    push::{subscription_changes::follow_trust, subscription_rows, subscriptions},
    shared::writer::WriteTx,
};
use crate::target::Target;
use crate::values::time;

/// Few statements: this is to be done thousands of times in a second.
pub(crate) fn store(changes: &mut WriteTx<'_>, push: &Push) -> Result<PushStored> {
    let (connection, now) = (changes.connection, changes.now());
    let Push { subscription_id, secret, document, poll_in } = push;
    let Some(before) = subscriptions::one(connection, *subscription_id)? else { return Ok(PushStored::NotActive) };
    let Some(feed) = before.feed_id else { return Ok(PushStored::NoFeed) };
    let decision =
        push::apply(&before, &SubscriptionEvent::Pushed { secret: secret.clone() }, RenewalRules::default(), time(now));
    let Decision::Become { subscription: after, .. } = decision else { return Ok(PushStored::NotActive) };
    // A poll that was claimed before now cannot undo it.
    let target = Target { feed_id: feed.0, claimed_at: now, is_backlog: false, now, trace: document.trace };
    let stored = ingest::store_pushed(changes, target, document)?;
    changes.figures.push(stored);
    subscription_rows::update_pushed(connection, &before, &after)?;
    follow_trust(connection, &before, Some(&after))?;
    if alters_subscription(&before, Some(&after)) {
        changes.log.subscription(Some(feed));
    }
    if let Some(delay) = poll_in {
        feed_rows::poll_soon(connection, feed, *delay, now)?;
    }
    Ok(PushStored::Stored(stored))
}
