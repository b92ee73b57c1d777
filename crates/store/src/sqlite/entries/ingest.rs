//! What a document brings: new, changed and known entries told apart, and only what is new or changed written.

use std::collections::HashSet;

use domain::{
    EntryId, FeedId,
    ingest::{
        Arrival, Document, Hash, IncomingEntry, KNOWN_OF_IDENTITY_MAX, Known, KnownEntries, KnownEntry, Mark, Stored,
        Traits, Validators, arrival, is_present, shared,
    },
};
use jiff::Timestamp;
use rusqlite::{Connection, Result};

use crate::sqlite::{
    entries::entry_rows,
    outbox::events::{self, EntryEvent},
    push::discovery::{self, PushState},
    shared::writer::WriteTx,
};
use crate::values::{optional, time};

pub(crate) const KNOWN: &str = include_str!("sql/ingest_known.sql");

const PRUNED: &str = include_str!("sql/ingest_pruned.sql");

const FORGET: &str = include_str!("sql/ingest_forget.sql");

const STATE: &str = include_str!("sql/ingest_state.sql");

const COUNT: &str = include_str!("sql/ingest_count.sql");

/// Where a document goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) feed_id: i64,
    pub(crate) folder_id: Option<i64>,
    /// What was changed after this is newer than the document.
    pub(crate) claimed_at: i64,
    /// What is new in it is no news: the feed was never fetched before.
    pub(crate) is_backlog: bool,
    pub(crate) now: i64,
}

/// When its feed is polled next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) next_check_at: i64,
    /// The same if a hub is trusted to push it.
    pub(crate) next_audit_at: i64,
    pub(crate) adaptive_secs: i64,
}

/// What became of a document's entries.
#[derive(Debug, Default)]
pub(crate) struct Ingested {
    pub(crate) stored: Stored,
    /// When the new ones were published.
    published: Vec<Option<Timestamp>>,
    /// What somebody is told of.
    news: Vec<EntryEvent>,
    /// Something newer is there than the document has.
    passed_over: bool,
}

/// Does what needs no database, so that the one writer need not.
pub(crate) fn prepare(document: &mut Document) {
    for entry in &mut document.entries {
        entry.search_text = domain::words::words_of(&entry.search_text);
    }
    // Of what is there twice the first counts.
    let mut seen = HashSet::new();
    document.entries.retain(|entry| seen.insert(entry.mark()));
    // Ids rise from the last in the document to the first: of entries of the same time the first is the newest.
    document.entries.reverse();
}

/// Stores a prepared document's entries, the state of its feed, and what it says about push.
pub(crate) fn store_document(
    changes: &mut WriteTx<'_>,
    target: Target,
    schedule: Schedule,
    push: &PushState,
    document: &mut Document,
) -> Result<Stored> {
    let (connection, feed) = (changes.connection, FeedId(target.feed_id));
    let has_pruned = has_pruned(connection, target.feed_id)?;
    let Ingested { stored, published, news, passed_over } = store_entries(changes, target, document, has_pruned)?;
    if passed_over {
        // Something newer is there, or older: the next poll asks for the whole again, and will see.
        document.validators = Validators::default();
    }
    if push.is_pushed && !published.is_empty() {
        discovery::count_misses(changes, feed, published, target.now)?;
    }
    if let Some(found) = &document.found {
        discovery::follow(changes, feed, push, found, target.now)?;
    }
    // Last: only now is it known whether it is pushed, and whether it is to be polled again at once.
    write_state(connection, target, schedule, document, stored.new)?;
    if has_pruned && document.is_complete {
        forget(connection, target.feed_id, &document.present)?;
    }
    // With the title that it has now.
    events::tell_entries(changes, target, &news)?;
    Ok(stored)
}

/// Stores what a push brings, and nothing of its feed but the counts.
pub(crate) fn store_pushed(changes: &mut WriteTx<'_>, target: Target, document: &mut Document) -> Result<Stored> {
    if document.entries.is_empty() {
        return Ok(Stored { applied: true, ..Stored::default() });
    }
    let has_pruned = has_pruned(changes.connection, target.feed_id)?;
    let Ingested { stored, news, .. } = store_entries(changes, target, document, has_pruned)?;
    if stored.new > 0 {
        changes.connection.prepare_cached(COUNT)?.execute((target.feed_id, stored.new))?;
    }
    events::tell_entries(changes, target, &news)?;
    Ok(stored)
}

fn store_entries(
    changes: &mut WriteTx<'_>,
    target: Target,
    document: &mut Document,
    has_pruned: bool,
) -> Result<Ingested> {
    let connection = changes.connection;
    let identities: HashSet<Hash> = document.entries.iter().map(|entry| entry.identity).collect();
    let known = known(connection, target.feed_id, &identities, has_pruned)?;
    // Copied, because the words of an entry are taken out of it.
    let recognised: Vec<Option<Known>> =
        document.recognise(&known).into_iter().map(|(_, known)| known.copied()).collect();
    let interest = events::interest(changes, target)?;
    let mut ingested = Ingested { stored: Stored { applied: true, ..Stored::default() }, ..Ingested::default() };
    for (entry, known_as) in document.entries.iter_mut().zip(recognised) {
        match arrival(entry, known_as.as_ref(), time(target.claimed_at)) {
            Arrival::New => {
                if let Some(guid) = entry.guid_beside(&known) {
                    entry.guid = guid;
                }
                let id = entry_rows::insert(connection, target, entry)?;
                changes.words.add(id, std::mem::take(&mut entry.search_text));
                ingested.published.push(entry.published_at.or(entry.updated_at));
                ingested.stored.new += 1;
                if interest.in_created {
                    ingested.news.push(EntryEvent::Created(id));
                }
            }
            Arrival::Known => {}
            Arrival::PassedOver => ingested.passed_over = true,
            Arrival::Completed(id) => {
                replace(changes, id.0, target.now, entry)?;
                ingested.stored.completed += 1;
            }
            Arrival::Changed(id) => {
                replace(changes, id.0, target.now, entry)?;
                ingested.stored.changed += 1;
                if interest.in_updated {
                    ingested.news.push(EntryEvent::Updated(id.0));
                }
            }
        }
    }
    Ok(ingested)
}

fn replace(changes: &mut WriteTx<'_>, id: i64, now: i64, entry: &mut IncomingEntry) -> Result<()> {
    entry_rows::update(changes.connection, id, now, entry)?;
    changes.words.replace(id, std::mem::take(&mut entry.search_text));
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
            Ok(Known::Entry(KnownEntry {
                id: EntryId(row.get(0)?),
                traits: Traits { link: row.get(1)?, title: row.get(2)? },
                fingerprint: Hash(row.get(3)?),
                updated_at: row.get::<_, Option<i64>>(4)?.map(time),
                changed_at: time(row.get(5)?),
                is_thin: row.get(6)?,
            }))
        })?;
        let mut of_identity = rows.collect::<Result<Vec<_>>>()?;
        of_identity.reverse();
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

fn write_state(
    connection: &Connection,
    target: Target,
    schedule: Schedule,
    document: &Document,
    new: u32,
) -> Result<()> {
    let row = (
        target.feed_id,
        optional(document.title.as_ref()),
        optional(document.site_url.as_ref()),
        optional(document.validators.etag.as_ref()),
        optional(document.validators.last_modified.as_ref()),
        document.validators.body_hash.map(|hash| hash.0),
        target.now,
        new,
        schedule.next_check_at,
        schedule.next_audit_at,
        schedule.adaptive_secs,
        document.asks.ttl_mins,
        document.asks.skips.hours,
        document.asks.skips.days,
    );
    connection.prepare_cached(STATE)?.execute(row).map(drop)
}

/// A document that was read whole tells which pruned entries will not come again.
fn forget(connection: &Connection, feed_id: i64, present: &[Mark]) -> Result<()> {
    let identities: HashSet<[u8; 16]> = present.iter().map(|mark| mark.identity.0).collect();
    let mut pruned_ids = connection.prepare_cached("SELECT DISTINCT identity FROM pruned_entries WHERE feed_id = ?")?;
    let pruned_ids: Vec<[u8; 16]> = pruned_ids.query_map([feed_id], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut forget_all = connection.prepare_cached("DELETE FROM pruned_entries WHERE feed_id = ? AND identity = ?")?;
    for identity in pruned_ids.iter().filter(|identity| !identities.contains(*identity)) {
        forget_all.execute((feed_id, identity))?;
    }
    let mut forget = connection.prepare_cached(FORGET)?;
    for (identity, marks) in shared(present) {
        for gone in pruned(connection, feed_id, identity)?.iter().filter(|pruned| !is_present(pruned, &marks)) {
            let (traits, fingerprint) = gone.version();
            forget.execute((feed_id, identity.0, traits.link, traits.title, fingerprint.0))?;
        }
    }
    Ok(())
}
