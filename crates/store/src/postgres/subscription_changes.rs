//! What happens to subscriptions, inside the transaction of whoever makes it happen: the domain decides, this writes it
//! down, and what it means for the feed with it.
//!
//! Whoever is here holds the lock of the feed's row, if there is a feed. Nobody else changes its subscriptions then but
//! for their leases.

use std::collections::BTreeMap;

use deadpool_postgres::{Client, Transaction};
use domain::{
    FeedId, Lease, SubscriptionId,
    delivery::News,
    ports::{Changed, Claim, StoreResult},
    push::{
        self, Change, Decision, Event, Offer, Rules, Subscription, SubscriptionState, SubscriptionView, Transition,
        Wanted,
    },
};
use tokio_postgres::Error;

use super::{
    Params, PostgresStore, both,
    errors::store_error,
    events,
    feed_rows::{self, Effects},
    prepare, query_opt, subscription_rows,
    subscriptions::{COLUMNS, columns, subscription_of},
    values::time,
};

/// A subscription's feed never changes, it can only go: whoever waits here while that happens finds none, and the
/// subscription without one.
pub(super) const LOCK_FEED: &str = "
SELECT id, folder_id, url, coalesce(custom_title, title)
FROM feeds
WHERE id = (SELECT feed_id FROM subscriptions WHERE id = $1)
FOR NO KEY UPDATE";

/// The time is that after the wait for the lock.
pub(super) const LOCK: &str = concat!(
    "
WITH held AS MATERIALIZED (
    SELECT ",
    columns!(),
    ", lease_owner, lease_fence
    FROM subscriptions
    WHERE id = $1
    FOR NO KEY UPDATE
)
SELECT held.*, pirssonite_now_ms()
FROM held"
);

/// What becomes of subscriptions: decided one after the other, then written.
#[derive(Debug)]
pub(super) struct Decisions {
    now: i64,
    known: Vec<Subscription>,
    writes: Vec<Write>,
    feeds: BTreeMap<i64, Effects>,
    news: Vec<News>,
    ends_leases: bool,
}

#[derive(Debug)]
enum Write {
    Insert(Subscription),
    Update(Subscription),
    Delete(SubscriptionId),
    EndLease(SubscriptionId),
}

impl Decisions {
    /// Nothing decided yet about these.
    pub(super) fn new(known: Vec<Subscription>, now: i64) -> Self {
        Self { now, known, writes: Vec::new(), feeds: BTreeMap::new(), news: Vec::new(), ends_leases: false }
    }

    pub(super) fn known(&self) -> &[Subscription] {
        &self.known
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.feeds.is_empty()
    }

    /// Something happens to one of them; `None` if it does not take such an event.
    pub(super) fn decide(&mut self, id: SubscriptionId, event: &Event, rules: Rules) -> Option<Transition> {
        let place = self.known.iter().position(|known| known.id == id)?;
        let before = self.known[place].clone();
        let (after, poll_now) = match push::apply(&before, event, rules, time(self.now)) {
            Decision::Refuse => return None,
            Decision::Become { subscription, poll_now } => (Some(subscription_rows::as_kept(*subscription)), poll_now),
            // Push ends with a subscription that was active.
            Decision::Forget => (None, before.is_active()),
        };
        match &after {
            Some(after) if *after == before => {}
            Some(after) => {
                self.known[place] = after.clone();
                self.writes.push(Write::Update(after.clone()));
            }
            None => {
                self.known.remove(place);
                self.writes.push(Write::Delete(id));
            }
        }
        self.note_feed(&before, after.as_ref(), poll_now);
        self.note_news(&before, after.as_ref());
        Some(Transition { before, after })
    }

    /// What it means for the feed: `is_pushed` is kept equal to the trust in its current subscription.
    fn note_feed(&mut self, before: &Subscription, after: Option<&Subscription>, poll_now: bool) {
        let Some(feed) = before.feed_id else { return };
        let is_trusted = after.is_some_and(Subscription::is_trusted);
        if is_trusted != before.is_trusted() {
            self.effects(feed).is_pushed = Some(is_trusted);
        }
        if poll_now {
            self.effects(feed).poll_in = Some(0);
        }
    }

    /// That a hub pushes a feed from now on, or no longer.
    fn note_news(&mut self, before: &Subscription, after: Option<&Subscription>) {
        let is_active = after.is_some_and(Subscription::is_active);
        let Some(feed) = before.feed_id.filter(|_| is_active != before.is_active()) else { return };
        let mut view = SubscriptionView::from(after.unwrap_or(before));
        if after.is_none() {
            (view.state, view.is_active) = (SubscriptionState::Inactive, false);
        }
        self.news.push(News::Subscription(feed, Box::new(view)));
    }

    /// What is to be done about a feed besides.
    pub(super) fn effects(&mut self, feed: FeedId) -> &mut Effects {
        self.feeds.entry(feed.0).or_default()
    }

    /// Compares what a feed wants with those that it has. False if nothing is to be done.
    pub(super) fn reconcile(&mut self, feed: FeedId, wanted: Wanted<'_>, offer: &Offer) -> bool {
        let known: Vec<Subscription> = self.known.iter().filter(|known| known.feed_id == Some(feed)).cloned().collect();
        let plan = push::reconcile(wanted, &known, time(self.now));
        for Change { id, event } in &plan.changes {
            self.decide(*id, event, Rules::default());
        }
        if let Some(hub) = &plan.subscribe_at {
            // The id is the database's.
            let new = Subscription::new(SubscriptionId(0), feed, hub, wanted.topic, offer, time(self.now));
            self.writes.push(Write::Insert(new));
        }
        !plan.is_empty()
    }

    /// None of them is wanted any more. Returns how many were.
    pub(super) fn end_all(&mut self) -> u32 {
        let is_living = |known: &&Subscription| known.state != SubscriptionState::Unsubscribing;
        let living: Vec<SubscriptionId> = self.known.iter().filter(is_living).map(|known| known.id).collect();
        for id in &living {
            self.decide(*id, &Event::Unwanted, Rules::default());
        }
        u32::try_from(living.len()).unwrap_or(u32::MAX)
    }

    /// The lease of whoever has claimed it ends, whatever was decided.
    fn end_lease(&mut self, id: SubscriptionId) {
        if self.writes.is_empty() {
            self.writes.push(Write::EndLease(id));
        }
        self.ends_leases = true;
    }

    /// Writes everything. Subscriptions and feeds in one round trip, if there is one of each.
    pub(super) async fn write(&self, transaction: &Transaction<'_>) -> Result<(), Error> {
        both(self.write_subscriptions(transaction), self.write_feeds(transaction)).await.map(drop)
    }

    /// What happened, for those who want to know. Whoever has written the rest writes it last.
    pub(super) fn into_news(self) -> Vec<News> {
        self.news
    }

    /// In the order of the decisions: a feed has one current subscription at every moment.
    pub(super) async fn write_subscriptions(&self, transaction: &Transaction<'_>) -> Result<(), Error> {
        for write in &self.writes {
            match write {
                Write::Insert(new) => subscription_rows::insert(transaction, new, self.now).await?,
                Write::Update(changed) => subscription_rows::update(transaction, changed, self.ends_leases).await?,
                Write::Delete(id) => subscription_rows::delete(transaction, *id).await?,
                Write::EndLease(id) => subscription_rows::end_lease(transaction, *id).await?,
            }
        }
        Ok(())
    }

    async fn write_feeds(&self, transaction: &Transaction<'_>) -> Result<(), Error> {
        for (feed, effects) in &self.feeds {
            feed_rows::write_effects(transaction, *feed, *effects, self.now).await?;
        }
        Ok(())
    }
}

/// Something happens to one subscription, under a claim or not.
pub(super) async fn change_one(
    store: &PostgresStore,
    id: SubscriptionId,
    claim: &Claim,
    event: &Event,
    rules: Rules,
) -> StoreResult<Changed> {
    let mut client = store.client().await?;
    try_change(store, &mut client, id, claim, event, rules).await.map_err(store_error)
}

async fn try_change(
    store: &PostgresStore,
    client: &mut Client,
    id: SubscriptionId,
    claim: &Claim,
    event: &Event,
    rules: Rules,
) -> Result<Changed, Error> {
    let transaction = client.transaction().await?;
    prepare(&transaction, &[LOCK_FEED, LOCK]).await?;
    let which: Params<'_> = &[&id.0];
    let locks = both(query_opt(&transaction, LOCK_FEED, which), query_opt(&transaction, LOCK, which));
    let (_, held) = locks.await?;
    let Some(held) = held else { return Ok(Changed::NotFound) };
    if let Claim::Under(Lease { owner, fence }) | Claim::Ends(Lease { owner, fence }) = claim
        && (held.get::<_, Option<&str>>(COLUMNS), held.get::<_, i64>(COLUMNS + 1)) != (Some(owner), *fence)
    {
        return Ok(Changed::NotFound);
    }
    let now = held.get(COLUMNS + 2);
    let mut decisions = Decisions::new(vec![subscription_of(&held)?], now);
    let transition = decisions.decide(id, event, rules);
    if matches!(claim, Claim::Ends(_)) {
        decisions.end_lease(id);
    }
    if !decisions.is_empty() {
        decisions.write(&transaction).await?;
        let has_queued = events::tell(&transaction, &decisions.into_news(), now).await?;
        store.commit(transaction, has_queued).await?;
    }
    Ok(transition.map_or(Changed::Refused, |transition| Changed::Done(Box::new(transition))))
}
