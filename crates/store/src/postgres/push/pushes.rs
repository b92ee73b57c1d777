//! What hubs bring, stored: many pushes in one transaction, a few statements over sets of rows each.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::Client;
use domain::{
    FeedId,
    delivery::PayloadFeed,
    figures::FigureLog,
    ingest::{IncomingEntry, KnownEntries},
    push::{Push, PushStored, RenewalRules, SubscriptionEvent},
};
use tokio_postgres::Error;

use crate::postgres::{
    PostgresStore, both,
    entries::ingest::{self, Sorted},
    figures,
    outbox::{
        entry_events,
        events::{Listeners, payload_feed},
    },
    push::{
        batches::{Job, LockedRows, Locks, Lookup, Outcome},
        subscription_changes::Decisions,
        subscriptions::OfFeeds,
    },
    shared::values::{millis, usize_to_i64},
};
use crate::target::Target;

/// How these entries are known, by the subscription that they come by.
type KnownBy = HashMap<i64, KnownEntries>;

/// What is decided about a batch, before it is written.
#[derive(Debug)]
struct Batch<'p> {
    held: LockedRows,
    known: KnownBy,
    decisions: Decisions,
    /// Feeds that a push of the batch is about.
    feeds: HashSet<i64>,
    taken: Vec<(Target, Sorted<'p>)>,
}

impl Job for Push {
    type Answer = PushStored;

    fn subscription_id(&self) -> i64 {
        self.subscription_id.0
    }

    /// Two round trips between the beginning and the end, three if an event is recorded: this is to be done thousands of times
    /// in a second.
    async fn store(
        store: &PostgresStore,
        client: &mut Client,
        jobs: &[&Self],
        locks: Locks,
    ) -> Result<Vec<Outcome<PushStored>>, Error> {
        let ids: Vec<i64> = jobs.iter().map(|push| push.subscription_id.0).collect();
        let entries: Vec<(i64, &[IncomingEntry])> =
            jobs.iter().map(|push| (push.subscription_id.0, push.document.entries.as_slice())).collect();
        let transaction = client.transaction().await?;
        let known = ingest::known_by_subscription(&transaction, &entries);
        let reads = both(known, Listeners::of_subscriptions(&transaction, &ids));
        let (held, (known, listeners)) = LockedRows::lock_then(&transaction, locks, &ids, reads).await?;
        let now = held.now;
        let decisions = Decisions::new(OfFeeds::default(), now);
        let mut batch = Batch { held, known, decisions, feeds: HashSet::new(), taken: Vec::new() };
        let outcomes: Vec<Outcome<PushStored>> = jobs.iter().map(|push| batch.take(push)).collect();
        let Batch { mut held, decisions, taken, .. } = batch;
        if taken.is_empty() {
            return Ok(outcomes);
        }
        let parts: Vec<(Target, &Sorted<'_>)> = taken.iter().map(|(target, sorted)| (*target, sorted)).collect();
        let stored = ingest::store_entries(&transaction, now, &parts);
        let mut counted = FigureLog::default();
        for (_, sorted) in &parts {
            counted.push(sorted.stored);
        }
        let written = both(decisions.write(&transaction), figures::write(&transaction, counted));
        let (new, _) = both(stored, written).await?;
        let (mut events, mut log) = decisions.into_events();
        ingest::note(&mut log, &parts, &new);
        events.extend(entry_events::of_entries(&transaction, &listeners, now, &parts, &new).await?);
        if !events.is_empty() {
            let shown = parts.iter().filter_map(|(target, _)| shown(*target, &mut held));
            let feeds: HashMap<FeedId, PayloadFeed> = shown.map(|feed| (feed.id, feed)).collect();
            log.deliveries_if(listeners.record(&transaction, &feeds, &events, now).await?);
        }
        store.commit(transaction, log).await?;
        Ok(outcomes)
    }
}

/// A feed as payloads show it.
fn shown(target: Target, held: &mut LockedRows) -> Option<PayloadFeed> {
    let feed = held.feeds.remove(&target.feed_id)?;
    Some(payload_feed(target, feed.url, feed.title))
}

impl<'p> Batch<'p> {
    /// Decides about one push; what it brings is not written yet.
    fn take(&mut self, push: &'p Push) -> Outcome<PushStored> {
        let id = push.subscription_id;
        let subscription = match self.held.find(id.0)? {
            Lookup::Held(held) => held.subscription,
            Lookup::None => return Ok(Some(PushStored::NotActive)),
            Lookup::Locked => return Ok(None),
        };
        let held = subscription.feed_id.filter(|feed| self.held.feeds.contains_key(&feed.0));
        let Some(feed) = held else { return Ok(Some(PushStored::NoFeed)) };
        if !self.feeds.insert(feed.0) {
            // What is known of the feed is from before the other push for it.
            return Ok(None);
        }
        let now = self.held.now;
        // A poll that was claimed before now cannot undo it.
        let target = Target { feed_id: feed.0, claimed_at: now, is_backlog: false, now, trace: push.document.trace };
        self.decisions.know(subscription);
        let pushed = SubscriptionEvent::Pushed { secret: push.secret.clone() };
        if self.decisions.decide(id, &pushed, RenewalRules::default()).is_none() {
            return Ok(Some(PushStored::NotActive));
        }
        let known = self.known.remove(&id.0).unwrap_or_default();
        let sorted = ingest::sort_out(&push.document, &known, target.claimed_at);
        if !sorted.new.is_empty() {
            self.decisions.effects(feed).new_entries = usize_to_i64(sorted.new.len());
        }
        if let Some(delay) = push.poll_in {
            self.decisions.effects(feed).poll_in = Some(millis(delay));
        }
        let stored = sorted.stored;
        self.taken.push((target, sorted));
        Ok(Some(PushStored::Stored(stored)))
    }
}
