//! What a document or a push brings, inside the transaction that holds the lock of its feed's row: new, changed and
//! known entries told apart, and a few statements for all of them together.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use deadpool_postgres::{GenericClient, Transaction};
use domain::{
    EntryId, FeedId,
    changes::ChangeLog,
    delivery::DomainEvent,
    feed_state::FeedStateChange,
    figures::FigureLog,
    follow::LastDocument,
    ingest::{
        Arrival, Arrivals, Document, EntryKey, Hash, IncomingEntry, KNOWN_OF_IDENTITY_MAX, Known, KnownEntries,
        KnownEntry, Stored, Traits, is_present, shared,
    },
};
use tokio_postgres::{Error, Row, types::ToSql};

use crate::postgres::{
    both,
    entries::entry_rows,
    execute,
    feeds::feed_rows,
    figures,
    outbox::{entry_events, events::Listeners},
    push::discovery::{self, PushState},
    query,
    shared::values::{hash, time},
};
use crate::target::Target;

pub(crate) const KNOWN: &str = include_str!("sql/ingest_known.sql");

pub(crate) const KNOWN_BY_SUBSCRIPTION: &str = include_str!("sql/ingest_known_by_subscription.sql");

const FORGET: &str = include_str!("sql/ingest_forget.sql");

const PRUNED: &str = include_str!("sql/ingest_pruned.sql");

const LAST_DOCUMENT: &str = include_str!("sql/ingest_last_document.sql");

const REMOVE_KEPT: &str = "DELETE FROM entries WHERE id = ANY ($1)";

const FORGET_THESE: &str = include_str!("sql/ingest_forget_these.sql");

/// Incoming entries, told apart.
#[derive(Debug, Default)]
pub(crate) struct Sorted<'d> {
    /// In the order of their ids to be. Owned if it is stored with another guid than it came with.
    pub(crate) new: Vec<Cow<'d, IncomingEntry>>,
    /// With their ids: those that have changed, and those that had been pushed with nothing in them.
    renewed: Vec<(i64, &'d IncomingEntry)>,
    /// Of these, the former.
    pub(crate) changed: Vec<(i64, &'d IncomingEntry)>,
    pub(crate) stored: Stored,
    /// Something was left as it is because that is newer.
    pub(crate) has_passed_over: bool,
}

/// What became of a document, its events, and what it changed.
pub(crate) type StoredDocument = (Stored, Vec<DomainEvent>, ChangeLog);

/// Stores a document's entries, follows what it says about push, and writes the state of its feed. Returns also what of
/// that is an event to whoever listens.
pub(crate) async fn store_document(
    transaction: &Transaction<'_>,
    target: Target,
    change: FeedStateChange,
    push: &PushState,
    document: &Document,
    known: &KnownEntries,
    listeners: &Listeners,
) -> Result<StoredDocument, Error> {
    let sorted = sort_out(document, known, target.claimed_at);
    let of_feed = async {
        let followed = discovery::follow(transaction, target, push, document.found.as_ref(), &sorted.new).await?;
        // Last: only now is it known whether the feed is pushed, and whether it is to be polled again at once.
        let state = feed_rows::write_state(transaction, target, change, push, document, &sorted);
        both(state, both(forget(transaction, target, document), remember(transaction, target, document))).await?;
        Ok(followed)
    };
    // In one round trip, if there is nothing new about push.
    let parts = [(target, &sorted)];
    let mut counted = FigureLog::default();
    counted.document(sorted.stored);
    let of_feed = both(figures::write(transaction, counted), of_feed);
    let stored = Box::pin(both(store_entries(transaction, target.now, &parts), of_feed));
    let (ids, ((), (mut events, mut log))) = stored.await?;
    events.extend(entry_events::of_entries(transaction, listeners, target.now, &parts, &ids).await?);
    note(&mut log, &parts, &ids);
    Ok((sorted.stored, events, log))
}

/// That entries of several feeds came or changed: of those that are new with the ids that they were given, in the order
/// given.
pub(crate) fn note(log: &mut ChangeLog, parts: &[(Target, &Sorted<'_>)], ids: &[i64]) {
    let mut ids = ids.iter().copied();
    for (target, sorted) in parts {
        let new = ids.by_ref().take(sorted.new.len());
        let written = new.chain(sorted.renewed.iter().map(|(id, _)| *id)).map(EntryId).collect();
        log.entries(FeedId(target.feed_id), written);
    }
}

/// Stores entries of several feeds that were told apart; returns the ids of those that are new, in the order given.
pub(crate) async fn store_entries(
    transaction: &Transaction<'_>,
    now: i64,
    parts: &[(Target, &Sorted<'_>)],
) -> Result<Vec<i64>, Error> {
    let new = parts.iter().flat_map(|(target, sorted)| sorted.new.iter().map(move |entry| (*target, entry.as_ref())));
    let new: Vec<(Target, &IncomingEntry)> = new.collect();
    let renewed: Vec<_> = parts.iter().flat_map(|(_, sorted)| sorted.renewed.iter().copied()).collect();
    let written = both(entry_rows::insert(transaction, now, &new), entry_rows::update(transaction, now, &renewed));
    // Boxed, because each holds the next, twice.
    let (ids, ()) = entry_rows::count_then(transaction, &new, Box::pin(written)).await?;
    Ok(ids)
}

/// How these identities are known in a feed.
pub(crate) async fn known(client: &impl GenericClient, id: i64, identities: &[Hash]) -> Result<KnownEntries, Error> {
    if identities.is_empty() {
        return Ok(KnownEntries::new());
    }
    let identities: Vec<&[u8]> = identities.iter().map(|identity| identity.0.as_slice()).collect();
    let rows = query(client, KNOWN, &[&id, &identities, &i64::from(KNOWN_OF_IDENTITY_MAX)]).await?;
    Ok(by_identity(&rows))
}

fn by_identity(rows: &[Row]) -> KnownEntries {
    let mut known = KnownEntries::new();
    for row in rows {
        if let (Some(identity), Some(entry)) = (hash(row.get(0)), known_of(row)) {
            known.entry(identity).or_default().push(entry);
        }
    }
    known
}

/// How these entries are known in the feeds of these subscriptions, by the latter's ids.
pub(crate) async fn known_by_subscription(
    client: &impl GenericClient,
    entries: &[(i64, &[IncomingEntry])],
) -> Result<HashMap<i64, KnownEntries>, Error> {
    let given = entries.iter().flat_map(|(id, entries)| entries.iter().map(|entry| (*id, entry.identity.0.as_slice())));
    let given: HashSet<(i64, &[u8])> = given.collect();
    let (ids, identities): (Vec<i64>, Vec<&[u8]>) = given.into_iter().unzip();
    let mut known: HashMap<i64, KnownEntries> = HashMap::new();
    if ids.is_empty() {
        return Ok(known);
    }
    let params: &[&(dyn ToSql + Sync)] = &[&ids, &identities, &i64::from(KNOWN_OF_IDENTITY_MAX)];
    for row in query(client, KNOWN_BY_SUBSCRIPTION, params).await? {
        if let (Some(identity), Some(how)) = (hash(row.get(0)), known_of(&row)) {
            known.entry(row.get(8)).or_default().entry(identity).or_default().push(how);
        }
    }
    Ok(known)
}

fn known_of(row: &Row) -> Option<Known> {
    let (traits, fingerprint) = (Traits { link: row.get(1), title: row.get(2) }, hash(row.get(3))?);
    Some(match row.get::<_, Option<i64>>(4) {
        Some(id) => Known::Entry(KnownEntry {
            id: EntryId(id),
            traits,
            fingerprint,
            updated_at: row.get::<_, Option<i64>>(5).map(time),
            changed_at: time(row.get(6)),
            is_thin: row.get(7),
        }),
        None => Known::Pruned(traits, fingerprint),
    })
}

/// The identities of entries, each once.
pub(crate) fn identities_of(entries: &[IncomingEntry]) -> Vec<Hash> {
    entries.iter().map(|entry| entry.identity).collect::<HashSet<_>>().into_iter().collect()
}

/// Tells a document's entries apart.
pub(crate) fn sort_out<'d>(document: &'d Document, known: &KnownEntries, claimed_at: i64) -> Sorted<'d> {
    let Arrivals { entries, stored, has_passed_over } = document.arrivals(known, time(claimed_at));
    let mut sorted = Sorted { stored, has_passed_over, ..Sorted::default() };
    for (index, arrival) in entries {
        let entry = &document.entries[index];
        match arrival {
            Arrival::New => sorted.new.push(match entry.guid_beside(known) {
                None => Cow::Borrowed(entry),
                Some(guid) => Cow::Owned(IncomingEntry { guid, ..entry.clone() }),
            }),
            Arrival::Known | Arrival::PassedOver => {}
            Arrival::Completed(id) => sorted.renewed.push((id.0, entry)),
            Arrival::Changed(id) => {
                sorted.renewed.push((id.0, entry));
                sorted.changed.push((id.0, entry));
            }
        }
    }
    sorted
}

/// What is in the document, for whoever begins to follow the feed.
async fn remember(transaction: &Transaction<'_>, target: Target, document: &Document) -> Result<(), Error> {
    let identities = LastDocument::to_bytes(&document.present);
    execute(transaction, LAST_DOCUMENT, &[&target.feed_id, &identities, &target.now]).await.map(drop)
}

/// A document that was read whole tells which pruned entries will not come again.
async fn forget(transaction: &Transaction<'_>, target: Target, document: &Document) -> Result<(), Error> {
    if !document.is_complete {
        return Ok(());
    }
    let present: Vec<&[u8]> = document.present.iter().map(|key| key.identity.0.as_slice()).collect();
    let kept = query(transaction, FORGET, &[&target.feed_id, &present]).await?;
    let shared = shared(&document.present);
    remove_kept(transaction, &kept, &present, &shared).await?;
    if shared.is_empty() {
        return Ok(());
    }
    let identities: Vec<&[u8]> = shared.keys().map(|identity| identity.0.as_slice()).collect();
    let pruned = by_identity(&query(transaction, PRUNED, &[&target.feed_id, &identities]).await?);
    let gone = pruned.iter().flat_map(|(identity, pruned)| {
        let gone = pruned.iter().filter(|pruned| !is_present(pruned, &shared[identity]));
        gone.map(|gone| (identity.0.to_vec(), gone.version()))
    });
    let (mut identities, mut links, mut titles, mut fingerprints) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (identity, (traits, fingerprint)) in gone {
        identities.push(identity);
        links.push(traits.link);
        titles.push(traits.title);
        fingerprints.push(fingerprint.0.to_vec());
    }
    if identities.is_empty() {
        return Ok(());
    }
    let params: &[&(dyn ToSql + Sync)] = &[&target.feed_id, &identities, &links, &titles, &fingerprints];
    execute(transaction, FORGET_THESE, params).await.map(drop)
}

/// The same of entries that are kept although nobody has them: they go.
async fn remove_kept(
    transaction: &Transaction<'_>,
    kept: &[Row],
    present: &[&[u8]],
    shared: &HashMap<Hash, Vec<EntryKey>>,
) -> Result<(), Error> {
    let is_there = |row: &Row| {
        let (identity, fingerprint) = (hash(row.get(0)), hash(row.get(3)));
        let (Some(identity), Some(fingerprint)) = (identity, fingerprint) else { return false };
        let known = Known::Pruned(Traits { link: row.get(1), title: row.get(2) }, fingerprint);
        match shared.get(&identity) {
            Some(keys) => is_present(&known, keys),
            None => present.contains(&identity.0.as_slice()),
        }
    };
    let gone: Vec<i64> = kept.iter().filter(|row| !is_there(row)).map(|row| row.get(4)).collect();
    if gone.is_empty() {
        return Ok(());
    }
    execute(transaction, REMOVE_KEPT, &[&gone]).await.map(drop)
}
