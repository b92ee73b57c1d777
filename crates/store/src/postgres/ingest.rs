//! What a document or a push brings, inside the transaction that holds the lock of its feed's row: new, changed and
//! known entries told apart, and a few statements for all of them together.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::{GenericClient, Transaction};
use domain::{
    EntryId,
    delivery::{News, Webhook},
    ingest::{Arrival, Document, Hash, IncomingEntry, Known, KnownEntry, Stored, arrival},
};
use tokio_postgres::{Error, Row};

use super::{
    both,
    discovery::{self, PushState},
    entry_rows, execute,
    feed_rows::{self, Schedule},
    news, query,
    values::{hash, small, time, total},
};

macro_rules! known {
    ($feed_id:literal) => {
        concat!(
            "
SELECT identity, fingerprint, id, updated_at, changed_at, is_thin
FROM entries
WHERE feed_id = ",
            $feed_id,
            " AND identity = ANY($2)
UNION ALL
SELECT identity, NULL, NULL, NULL, NULL, NULL
FROM pruned_entries
WHERE feed_id = ",
            $feed_id,
            " AND identity = ANY($2)"
        )
    };
}

pub(super) const KNOWN: &str = known!("$1");

/// The same of several, each in the feed of a subscription.
pub(super) const KNOWN_BY_SUBSCRIPTION: &str = "
SELECT entries.identity, fingerprint, entries.id, updated_at, changed_at, is_thin, subscriptions.id
FROM unnest($1::bigint[], $2::bytea[]) AS given (subscription_id, identity)
JOIN subscriptions ON subscriptions.id = given.subscription_id
JOIN entries ON entries.feed_id = subscriptions.feed_id AND entries.identity = given.identity
UNION ALL
SELECT pruned_entries.identity, NULL, NULL, NULL, NULL, NULL, subscriptions.id
FROM unnest($1::bigint[], $2::bytea[]) AS given (subscription_id, identity)
JOIN subscriptions ON subscriptions.id = given.subscription_id
JOIN pruned_entries ON pruned_entries.feed_id = subscriptions.feed_id AND pruned_entries.identity = given.identity";

const FORGET: &str = "
DELETE FROM pruned_entries
WHERE feed_id = $1 AND NOT identity = ANY($2)";

/// Where entries go, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) feed_id: i64,
    pub(super) folder_id: Option<i64>,
    /// What was changed after this is newer than they are.
    pub(super) claimed_at: i64,
    /// What is new is no news: the feed was never fetched before.
    pub(super) is_backlog: bool,
    pub(super) now: i64,
}

/// Incoming entries, told apart.
#[derive(Debug, Default)]
pub(super) struct Sorted<'d> {
    /// In the order of their ids to be.
    pub(super) new: Vec<&'d IncomingEntry>,
    /// With their ids: those that have changed, and those that had been pushed with nothing in them.
    renewed: Vec<(i64, &'d IncomingEntry)>,
    /// Of these, the former.
    pub(super) changed: Vec<(i64, &'d IncomingEntry)>,
    /// Something was left as it is because that is newer.
    pub(super) has_passed_over: bool,
}

impl Sorted<'_> {
    pub(super) fn stored(&self) -> Stored {
        let [new, changed, completed] = [self.new.len(), self.changed.len(), self.renewed.len() - self.changed.len()]
            .map(|count| small(total(count)));
        Stored { applied: true, new, changed, completed }
    }
}

/// Stores a document's entries, follows what it says about push, and writes the state of its feed. Returns also what of
/// that is news to these webhooks.
pub(super) async fn store_document(
    transaction: &Transaction<'_>,
    target: Target,
    schedule: Schedule,
    push: &PushState,
    document: &Document,
    known: &HashMap<Hash, Known>,
    webhooks: &[Webhook],
) -> Result<(Stored, Vec<News>), Error> {
    let sorted = sort_out(&document.entries, known, target.claimed_at);
    let of_feed = async {
        let news = discovery::follow(transaction, target, push, document.found.as_ref(), &sorted.new).await?;
        // Last: only now is it known whether the feed is pushed, and whether it is to be polled again at once.
        let state = feed_rows::write_state(transaction, target, schedule, push, document, &sorted);
        both(state, forget(transaction, target, document)).await?;
        Ok(news)
    };
    // In one round trip, if there is nothing new about push.
    let parts = [(target, &sorted)];
    let (ids, mut news) = both(store_entries(transaction, target.now, &parts), of_feed).await?;
    news.extend(news::of_entries(transaction, webhooks, target.now, &parts, &ids).await?);
    Ok((sorted.stored(), news))
}

/// Stores entries of several feeds that were told apart; returns the ids of those that are new, in the order given.
pub(super) async fn store_entries(
    transaction: &Transaction<'_>,
    now: i64,
    parts: &[(Target, &Sorted<'_>)],
) -> Result<Vec<i64>, Error> {
    let new = parts.iter().flat_map(|(target, sorted)| sorted.new.iter().map(move |entry| (*target, *entry)));
    let new: Vec<(Target, &IncomingEntry)> = new.collect();
    let renewed: Vec<_> = parts.iter().flat_map(|(_, sorted)| sorted.renewed.iter().copied()).collect();
    let inserted = entry_rows::insert(transaction, now, &new);
    let (ids, ()) = both(inserted, entry_rows::update(transaction, now, &renewed)).await?;
    Ok(ids)
}

/// How these identities are known in a feed.
pub(super) async fn known(
    client: &impl GenericClient,
    id: i64,
    identities: &[Hash],
) -> Result<HashMap<Hash, Known>, Error> {
    if identities.is_empty() {
        return Ok(HashMap::new());
    }
    let identities: Vec<&[u8]> = identities.iter().map(|identity| identity.0.as_slice()).collect();
    let rows = query(client, KNOWN, &[&id, &identities]).await?;
    Ok(rows.iter().filter_map(|row| Some((hash(row.get(0))?, known_of(row)?))).collect())
}

/// How these entries are known in the feeds of these subscriptions, by the latter's ids.
pub(super) async fn known_by_subscription(
    client: &impl GenericClient,
    entries: &[(i64, &[IncomingEntry])],
) -> Result<HashMap<i64, HashMap<Hash, Known>>, Error> {
    let given = entries.iter().flat_map(|(id, entries)| entries.iter().map(|entry| (*id, entry.identity.0.as_slice())));
    let (ids, identities): (Vec<i64>, Vec<&[u8]>) = given.unzip();
    let mut known: HashMap<i64, HashMap<Hash, Known>> = HashMap::new();
    if ids.is_empty() {
        return Ok(known);
    }
    for row in query(client, KNOWN_BY_SUBSCRIPTION, &[&ids, &identities]).await? {
        if let (Some(identity), Some(how)) = (hash(row.get(0)), known_of(&row)) {
            known.entry(row.get(6)).or_default().insert(identity, how);
        }
    }
    Ok(known)
}

fn known_of(row: &Row) -> Option<Known> {
    match row.get::<_, Option<&[u8]>>(1) {
        Some(fingerprint) => Some(Known::Entry(KnownEntry {
            id: EntryId(row.get(2)),
            fingerprint: hash(fingerprint)?,
            updated_at: row.get::<_, Option<i64>>(3).map(time),
            changed_at: time(row.get(4)),
            is_thin: row.get(5),
        })),
        None => Some(Known::Pruned),
    }
}

/// The identities of entries.
pub(super) fn identities_of(entries: &[IncomingEntry]) -> Vec<Hash> {
    entries.iter().map(|entry| entry.identity).collect()
}

/// Tells entries apart. Of an identity that is there twice the first counts.
pub(super) fn sort_out<'d>(entries: &'d [IncomingEntry], known: &HashMap<Hash, Known>, claimed_at: i64) -> Sorted<'d> {
    let (mut sorted, mut seen) = (Sorted::default(), HashSet::new());
    for entry in entries.iter().filter(|entry| seen.insert(entry.identity)) {
        match arrival(entry, known.get(&entry.identity), time(claimed_at)) {
            Arrival::New => sorted.new.push(entry),
            Arrival::Known => {}
            Arrival::PassedOver => sorted.has_passed_over = true,
            Arrival::Completed(id) => sorted.renewed.push((id.0, entry)),
            Arrival::Changed(id) => {
                sorted.renewed.push((id.0, entry));
                sorted.changed.push((id.0, entry));
            }
        }
    }
    // Ids rise from the last in the document to the first: of entries of the same time the first is the newest.
    sorted.new.reverse();
    sorted
}

/// A document that was read whole tells which pruned entries will not come again.
async fn forget(transaction: &Transaction<'_>, target: Target, document: &Document) -> Result<(), Error> {
    if !document.is_complete {
        return Ok(());
    }
    let present: Vec<&[u8]> = document.present.iter().map(|identity| identity.0.as_slice()).collect();
    execute(transaction, FORGET, &[&target.feed_id, &present]).await.map(drop)
}
