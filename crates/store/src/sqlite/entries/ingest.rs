//! What a document brings: new, changed and known entries told apart, and only what is new or changed written.

use std::{borrow::Cow, collections::HashSet};

use domain::{
    EntryId, FeedId,
    feed_state::FeedStateChange,
    follow::LastDocument,
    ingest::{
        Arrival, Arrivals, Document, EntryKey, Hash, IncomingEntry, KNOWN_OF_IDENTITY_MAX, Known, KnownEntries,
        KnownEntry, Stored, Traits, is_present, shared,
    },
    push::PUSH_MAY_TAKE,
};
use jiff::Timestamp;
use rusqlite::{Connection, Result};

use crate::sqlite::{
    entries::{entry_rows, entry_states},
    feeds::feed_rows,
    outbox::entry_events::{self, EntryEvent, Interest},
    push::discovery::{self, PushState},
    shared::writer::WriteTx,
};
use crate::target::Target;
use crate::values::time;

pub(crate) const KNOWN: &str = include_str!("sql/ingest_known.sql");

const PRUNED: &str = include_str!("sql/ingest_pruned.sql");

pub(crate) const KEPT: &str = include_str!("sql/ingest_kept.sql");

const FORGET: &str = include_str!("sql/ingest_forget.sql");

const LAST_DOCUMENT: &str = include_str!("sql/ingest_last_document.sql");

/// What became of a document's entries.
#[derive(Debug, Default)]
pub(crate) struct Ingested {
    pub(crate) stored: Stored,
    /// When the new ones were published.
    published: Vec<Option<Timestamp>>,
    /// Those that are new or not as they were.
    written: Vec<EntryId>,
    /// Those that a webhook wants.
    events: Vec<EntryEvent>,
    /// Something newer is there than the document has.
    has_passed_over: bool,
}

/// Does what needs no database, so that the one writer need not.
pub(crate) fn prepare(document: &mut Document) {
    for entry in &mut document.entries {
        entry.search_text = domain::words::words_of(&entry.search_text);
    }
}

/// Stores a prepared document's entries, the state of its feed, and what it says about push.
pub(crate) fn store_document(
    changes: &mut WriteTx<'_>,
    target: Target,
    change: FeedStateChange,
    push: &PushState,
    document: &mut Document,
) -> Result<Stored> {
    let (connection, feed) = (changes.connection, FeedId(target.feed_id));
    let has_pruned = has_pruned(connection, target.feed_id)?;
    let interest = entry_events::interest(changes, target)?;
    let Ingested { stored, published, written, events, has_passed_over } =
        store_entries(changes, target, document, has_pruned, &interest)?;
    changes.log.entries(feed, written);
    changes.figures.document(stored);
    document.validators = document.validators_after(has_passed_over);
    if push.is_pushed && !published.is_empty() {
        let push_may_take = document.found.as_ref().map_or(PUSH_MAY_TAKE, |found| found.push_may_take);
        discovery::count_misses(changes, feed, published, push_may_take, target.now)?;
    }
    if let Some(found) = &document.found {
        discovery::follow(changes, feed, push, found, target.now)?;
    }
    // Last: only now is it known whether it is pushed, and whether it is to be polled again at once.
    feed_rows::write_state(connection, target, change, document, stored.new)?;
    let present = LastDocument::to_bytes(&document.present);
    connection.prepare_cached(LAST_DOCUMENT)?.execute((target.feed_id, present, target.now))?;
    if document.is_complete {
        if has_pruned {
            forget(connection, target.feed_id, &document.present)?;
        }
        remove_kept(changes, target.feed_id, &document.present)?;
    }
    // With the title that it has now.
    entry_events::record_entries(changes, target, &interest, &events)?;
    Ok(stored)
}

/// Stores what a push brings, and nothing of its feed but the counts.
pub(crate) fn store_pushed(changes: &mut WriteTx<'_>, target: Target, document: &Document) -> Result<Stored> {
    if document.entries.is_empty() {
        return Ok(Stored { applied: true, ..Stored::default() });
    }
    let has_pruned = has_pruned(changes.connection, target.feed_id)?;
    let interest = entry_events::interest(changes, target)?;
    let Ingested { stored, written, events, .. } = store_entries(changes, target, document, has_pruned, &interest)?;
    changes.log.entries(FeedId(target.feed_id), written);
    if stored.new > 0 {
        feed_rows::add_entries(changes.connection, target.feed_id, stored.new)?;
    }
    entry_events::record_entries(changes, target, &interest, &events)?;
    Ok(stored)
}

fn store_entries(
    changes: &mut WriteTx<'_>,
    target: Target,
    document: &Document,
    has_pruned: bool,
    interest: &Interest,
) -> Result<Ingested> {
    let connection = changes.connection;
    let identities: HashSet<Hash> = document.entries.iter().map(|entry| entry.identity).collect();
    let known = known(connection, target.feed_id, &identities, has_pruned)?;
    let Arrivals { entries, stored, has_passed_over } = document.arrivals(&known, time(target.claimed_at));
    let mut ingested = Ingested { stored, has_passed_over, ..Ingested::default() };
    let mut new: Option<(i64, i64)> = None;
    for (index, arrival) in entries {
        let entry = &document.entries[index];
        match arrival {
            Arrival::New => {
                let entry = match entry.guid_beside(&known) {
                    None => Cow::Borrowed(entry),
                    Some(guid) => Cow::Owned(IncomingEntry { guid, ..entry.clone() }),
                };
                let id = entry_rows::insert(connection, target, &entry)?;
                changes.words.add(&entry.search_text);
                // Nobody else writes meanwhile: they are in a row.
                new = Some((new.map_or(id, |(first, _)| first), id));
                ingested.published.push(entry.published_at.or(entry.updated_at));
                ingested.written.push(EntryId(id));
                if interest.in_created {
                    ingested.events.push(EntryEvent::Created(id));
                }
            }
            Arrival::Known | Arrival::PassedOver => {}
            Arrival::Completed(id) => {
                replace(changes, id.0, target.now, entry)?;
                ingested.written.push(id);
            }
            Arrival::Changed(id) => {
                replace(changes, id.0, target.now, entry)?;
                ingested.written.push(id);
                if interest.in_updated {
                    ingested.events.push(EntryEvent::Updated(id.0));
                }
            }
        }
    }
    if let Some((first, last)) = new {
        entry_states::fan_out(connection, target.feed_id, first, last, stored.new)?;
    }
    Ok(ingested)
}

fn replace(changes: &mut WriteTx<'_>, id: i64, now: i64, entry: &IncomingEntry) -> Result<()> {
    entry_rows::update(changes.connection, id, now, entry)?;
    entry_states::touch(changes.connection, id, now)?;
    changes.words.replace(id, entry.search_text.clone());
    Ok(())
}

/// What is known of these identities, also of entries that were pruned.
pub(crate) fn known_entries(connection: &Connection, feed_id: i64, identities: &HashSet<Hash>) -> Result<KnownEntries> {
    known(connection, feed_id, identities, has_pruned(connection, feed_id)?)
}

fn known(connection: &Connection, feed_id: i64, identities: &HashSet<Hash>, has_pruned: bool) -> Result<KnownEntries> {
    let mut entries = connection.prepare_cached(KNOWN)?;
    let mut known = KnownEntries::with_capacity(identities.len());
    for identity in identities {
        let rows = entries.query_map((feed_id, identity.0, KNOWN_OF_IDENTITY_MAX), |row| {
            let (traits, fingerprint) = (Traits { link: row.get(1)?, title: row.get(2)? }, Hash(row.get(3)?));
            if row.get(7)? {
                return Ok(Known::Pruned(traits, fingerprint));
            }
            Ok(Known::Entry(KnownEntry {
                id: EntryId(row.get(0)?),
                traits,
                fingerprint,
                updated_at: row.get::<_, Option<i64>>(4)?.map(time),
                changed_at: time(row.get(5)?),
                is_thin: row.get(6)?,
            }))
        })?;
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let (mut of_identity, kept): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|known| matches!(known, Known::Entry(_)));
        of_identity.reverse();
        of_identity.extend(kept);
        if has_pruned {
            of_identity.extend(pruned(connection, feed_id, *identity)?);
        }
        if !of_identity.is_empty() {
            known.insert(*identity, of_identity);
        }
    }
    Ok(known)
}

fn pruned(connection: &Connection, feed_id: i64, identity: Hash) -> Result<Vec<Known>> {
    let mut pruned = connection.prepare_cached(PRUNED)?;
    let rows = pruned.query_map((feed_id, identity.0, KNOWN_OF_IDENTITY_MAX), |row| {
        Ok(Known::Pruned(Traits { link: row.get(0)?, title: row.get(1)? }, Hash(row.get(2)?)))
    })?;
    rows.collect()
}

fn has_pruned(connection: &Connection, feed_id: i64) -> Result<bool> {
    connection.prepare_cached("SELECT 1 FROM pruned_entries WHERE feed_id = ?")?.exists([feed_id])
}

/// A document that was read whole tells which pruned entries will not come again.
fn forget(connection: &Connection, feed_id: i64, present: &[EntryKey]) -> Result<()> {
    let identities: HashSet<[u8; 16]> = present.iter().map(|key| key.identity.0).collect();
    let mut pruned_ids = connection.prepare_cached("SELECT DISTINCT identity FROM pruned_entries WHERE feed_id = ?")?;
    let pruned_ids: Vec<[u8; 16]> = pruned_ids.query_map([feed_id], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut forget_all = connection.prepare_cached("DELETE FROM pruned_entries WHERE feed_id = ? AND identity = ?")?;
    for identity in pruned_ids.iter().filter(|identity| !identities.contains(*identity)) {
        forget_all.execute((feed_id, identity))?;
    }
    let mut forget = connection.prepare_cached(FORGET)?;
    for (identity, keys) in shared(present) {
        for gone in pruned(connection, feed_id, identity)?.iter().filter(|pruned| !is_present(pruned, &keys)) {
            let (traits, fingerprint) = gone.version();
            forget.execute((feed_id, identity.0, traits.link, traits.title, fingerprint.0))?;
        }
    }
    Ok(())
}

/// The same of entries that are kept although nobody has them: they go.
fn remove_kept(changes: &mut WriteTx<'_>, feed_id: i64, present: &[EntryKey]) -> Result<()> {
    let mut kept = changes.connection.prepare_cached(KEPT)?;
    let kept = kept.query_map([feed_id], |row| {
        let known = Known::Pruned(Traits { link: row.get(2)?, title: row.get(3)? }, Hash(row.get(4)?));
        Ok((row.get::<_, i64>(0)?, Hash(row.get(1)?), known))
    })?;
    let kept: Vec<(i64, Hash, Known)> = kept.collect::<Result<_>>()?;
    if kept.is_empty() {
        return Ok(());
    }
    let (identities, shared) = (present.iter().map(|key| key.identity).collect::<HashSet<_>>(), shared(present));
    for (id, identity, known) in kept {
        let is_there = match shared.get(&identity) {
            Some(keys) => is_present(&known, keys),
            None => identities.contains(&identity),
        };
        if !is_there {
            changes.connection.prepare_cached("DELETE FROM entries WHERE id = ?")?.execute([id])?;
            changes.words.remove(id);
        }
    }
    Ok(())
}
