//! What happens to subscriptions, inside the transaction of whoever makes it happen: the domain decides, this writes it
//! down, and what it means for the feed with it.
//!
//! Whoever is here holds the lock of the feed's row, if there is a feed. Nobody else changes its subscriptions then but
//! for their leases.

use std::collections::{BTreeMap, HashSet};

use deadpool_postgres::{Client, Transaction};
use domain::{
    FeedId, Lease, SubscriptionId,
    changes::{ChangeLog, alters_subscription},
    delivery::DomainEvent,
    ports::{Changed, Claim, SubscriptionChange},
    push::{
        self, DesiredPush, Offer, PlannedChange, RenewalRules, Subscription, SubscriptionEvent, SubscriptionState,
        Transition,
    },
};
use tokio_postgres::Error;

use crate::postgres::{
    PostgresStore, both,
    feeds::feed_rows::{self, Effects},
    outbox::events,
    push::{
        batches::{Job, LockedRows, Locks, Lookup, Outcome},
        subscription_rows,
        subscriptions::OfFeeds,
    },
    shared::values::time,
};
use crate::values::as_kept;

/// What becomes of subscriptions: decided one after the other, then written.
#[derive(Debug)]
pub(crate) struct Decisions {
    now: i64,
    known: Vec<Subscription>,
    /// Feeds whose subscriptions a later version sees to.
    foreign: HashSet<FeedId>,
    writes: Vec<Write>,
    feeds: BTreeMap<i64, Effects>,
    events: Vec<DomainEvent>,
    log: ChangeLog,
    /// Those whose leases end.
    ends_leases: HashSet<SubscriptionId>,
}

#[derive(Debug)]
enum Write {
    Insert(Subscription),
    Update(Subscription),
    Delete(SubscriptionId),
}

impl Decisions {
    /// Nothing decided yet about these.
    pub(crate) fn new(OfFeeds { known, foreign }: OfFeeds, now: i64) -> Self {
        let (writes, feeds, events) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { now, known, foreign, writes, feeds, events, log: ChangeLog::default(), ends_leases: HashSet::new() }
    }

    pub(crate) fn known(&self) -> &[Subscription] {
        &self.known
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.feeds.is_empty() && self.ends_leases.is_empty()
    }

    /// Something happens to one of them; `None` if it does not take such an event.
    pub(crate) fn decide(
        &mut self,
        id: SubscriptionId,
        event: &SubscriptionEvent,
        rules: RenewalRules,
    ) -> Option<Transition> {
        let place = self.known.iter().position(|known| known.id == id)?;
        let before = self.known[place].clone();
        let (after, poll_now) = push::apply(&before, event, rules, time(self.now)).outcome(&before)?;
        let after = after.map(as_kept);
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
        self.events.extend(DomainEvent::subscription_changed(&before, after.as_ref()));
        if alters_subscription(&before, after.as_ref()) {
            self.log.subscription(before.feed_id);
        }
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

    /// What is to be done about a feed besides.
    pub(crate) fn effects(&mut self, feed: FeedId) -> &mut Effects {
        self.feeds.entry(feed.0).or_default()
    }

    /// Something happens to one that was found so, under a claim or not; `None` if it is locked.
    fn change(&mut self, change: &SubscriptionChange, found: Lookup) -> Option<Changed> {
        let held = match found {
            Lookup::Held(held) => held,
            Lookup::None => return Some(Changed::NotFound),
            Lookup::Locked => return None,
        };
        if let Claim::Under(Lease { owner, fence }) | Claim::Ends(Lease { owner, fence }) = &change.claim
            && (held.lease_owner.as_ref(), held.lease_fence) != (Some(owner), *fence)
        {
            return Some(Changed::NotFound);
        }
        self.know(held.subscription);
        let transition = self.decide(change.id, &change.event, change.rules);
        if matches!(change.claim, Claim::Ends(_)) {
            self.end_lease(change.id);
        }
        let done = |transition| Changed::Done(Box::new(transition));
        Some(transition.map_or(Changed::Refused, done))
    }

    /// Compares what a feed wants with those that it has. False if nothing is to be done, or if a later version sees to it.
    pub(crate) fn reconcile(&mut self, feed: FeedId, wanted: DesiredPush<'_>, offer: &Offer) -> bool {
        if self.foreign.contains(&feed) {
            return false;
        }
        let known: Vec<Subscription> = self.known.iter().filter(|known| known.feed_id == Some(feed)).cloned().collect();
        let plan = push::reconcile(wanted, &known, time(self.now));
        for PlannedChange { id, event } in &plan.changes {
            self.decide(*id, event, RenewalRules::default());
        }
        if let Some(hub) = &plan.subscribe_at {
            // The id is the database's.
            let new = Subscription::new(SubscriptionId(0), feed, hub, wanted.topic, offer, time(self.now));
            self.writes.push(Write::Insert(new));
            self.log.subscription(Some(feed));
        }
        !plan.is_empty()
    }

    /// None of them is wanted any more. Returns how many were.
    pub(crate) fn end_all(&mut self) -> u32 {
        let is_living = |known: &&Subscription| known.state != SubscriptionState::Unsubscribing;
        let living: Vec<SubscriptionId> = self.known.iter().filter(is_living).map(|known| known.id).collect();
        for id in &living {
            self.decide(*id, &SubscriptionEvent::Unwanted, RenewalRules::default());
        }
        u32::try_from(living.len()).unwrap_or(u32::MAX)
    }

    /// One more that may be decided about.
    pub(crate) fn know(&mut self, subscription: Subscription) {
        self.known.push(subscription);
    }

    /// The lease of whoever has claimed it ends, whatever was decided.
    fn end_lease(&mut self, id: SubscriptionId) {
        self.ends_leases.insert(id);
    }

    /// Writes everything. Subscriptions and feeds in one round trip, if there is one of each.
    pub(crate) async fn write(&self, transaction: &Transaction<'_>) -> Result<(), Error> {
        both(self.write_subscriptions(transaction), self.write_feeds(transaction)).await.map(drop)
    }

    /// What happened, for those who want to know, and what was changed. Whoever has written the rest writes it last.
    pub(crate) fn into_events(self) -> (Vec<DomainEvent>, ChangeLog) {
        (self.events, self.log)
    }

    /// In the order of the decisions: a feed has one current subscription at every moment. Of several feeds, all that
    /// change are one statement.
    pub(crate) async fn write_subscriptions(&self, transaction: &Transaction<'_>) -> Result<(), Error> {
        let mut left = self.ends_leases.clone();
        let mut changed: Vec<&Subscription> = Vec::new();
        for write in &self.writes {
            if let Write::Update(update) = write
                && changed.iter().all(|other| other.id != update.id && !is_of_same_feed(other, update))
            {
                left.remove(&update.id);
                changed.push(update);
                continue;
            }
            self.write_changed(transaction, &mut changed).await?;
            match write {
                Write::Insert(new) => subscription_rows::insert(transaction, new, self.now).await?,
                Write::Update(update) => {
                    left.remove(&update.id);
                    changed.push(update);
                }
                Write::Delete(id) => {
                    left.remove(id);
                    subscription_rows::delete(transaction, *id).await?;
                }
            }
        }
        self.write_changed(transaction, &mut changed).await?;
        if left.is_empty() {
            return Ok(());
        }
        let left: Vec<i64> = left.into_iter().map(|id| id.0).collect();
        subscription_rows::end_leases(transaction, &left).await
    }

    async fn write_changed(
        &self,
        transaction: &Transaction<'_>,
        changed: &mut Vec<&Subscription>,
    ) -> Result<(), Error> {
        let changed = std::mem::take(changed);
        if changed.is_empty() {
            return Ok(());
        }
        subscription_rows::update(transaction, &changed, &self.ends_leases).await
    }

    async fn write_feeds(&self, transaction: &Transaction<'_>) -> Result<(), Error> {
        feed_rows::write_effects(transaction, &self.feeds, self.now).await
    }
}

fn is_of_same_feed(one: &Subscription, other: &Subscription) -> bool {
    one.feed_id.is_some() && one.feed_id == other.feed_id
}

impl Job for SubscriptionChange {
    type Answer = Changed;

    fn subscription_id(&self) -> i64 {
        self.id.0
    }

    async fn store(
        store: &PostgresStore,
        client: &mut Client,
        jobs: &[&Self],
        locks: Locks,
    ) -> Result<Vec<Outcome<Changed>>, Error> {
        let ids: Vec<i64> = jobs.iter().map(|job| job.id.0).collect();
        let transaction = client.transaction().await?;
        let (held, ()) = LockedRows::lock_then(&transaction, locks, &ids, async { Ok(()) }).await?;
        let mut decisions = Decisions::new(OfFeeds::default(), held.now);
        let outcomes = jobs.iter().map(|job| Ok(decisions.change(job, held.find(job.id.0)?))).collect();
        if !decisions.is_empty() {
            decisions.write(&transaction).await?;
            let (events, mut log) = decisions.into_events();
            log.deliveries_if(events::record(&transaction, &events, held.now).await?);
            store.commit(transaction, log).await?;
        }
        Ok(outcomes)
    }
}
