//! What a document brings: new, changed and known entries told apart, and only what is new or changed written.

use std::collections::{HashMap, HashSet};

use domain::ingest::{Document, Hash, Stored, Validators};
use rusqlite::{Connection, OptionalExtension, Result};

use super::{entry_rows, writer::Changes};
use crate::{
    values::{optional, small},
    words::words_of,
};

pub(super) const KNOWN: &str = "
SELECT id, fingerprint, changed_at
FROM entries
WHERE feed_id = ?
  AND identity = ?";

const STATE: &str = "
UPDATE feeds
SET title = coalesce(?2, title),
    site_url = coalesce(?3, site_url),
    etag = ?4,
    last_modified = ?5,
    body_hash = ?6,
    last_fetched_at = ?7,
    failure_count = 0,
    last_error = NULL,
    is_gone = 0,
    unread_count = unread_count + ?8,
    entry_count = entry_count + ?8,
    next_check_at = ?9,
    adaptive_secs = ?10,
    ttl_mins = ?11,
    skip_hours = ?12,
    skip_days = ?13,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ?1";

/// Where a document goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) feed_id: i64,
    pub(super) folder_id: Option<i64>,
    /// What was changed after this is newer than the document.
    pub(super) claimed_at: i64,
    pub(super) now: i64,
    pub(super) next_check_at: i64,
    pub(super) adaptive_secs: i64,
}

/// How an identity is known.
#[derive(Debug, Clone, Copy)]
enum Known {
    Entry { id: i64, fingerprint: Hash, changed_at: i64 },
    Pruned,
}

/// Does what needs no database, so that the one writer need not.
pub(super) fn prepare(document: &mut Document) {
    for entry in &mut document.entries {
        entry.search_text = words_of(&entry.search_text);
    }
    // Of an identity that is there twice the first counts.
    let mut seen = HashSet::new();
    document.entries.retain(|entry| seen.insert(entry.identity));
    // Ids rise from the last in the document to the first: of entries of the same time the first is the newest.
    document.entries.reverse();
}

/// Stores a prepared document's entries, and the state of its feed with them.
pub(super) fn store_document(changes: &mut Changes<'_>, target: Target, document: &mut Document) -> Result<Stored> {
    let connection = changes.connection;
    let has_pruned = has_pruned(connection, target.feed_id)?;
    let (mut new, mut renewed) = (0, 0);
    let mut passed_over = false;
    for entry in &mut document.entries {
        match known(connection, target.feed_id, entry.identity, has_pruned)? {
            None => {
                let id = entry_rows::insert(connection, target, entry)?;
                changes.words.add(id, std::mem::take(&mut entry.search_text));
                new += 1;
            }
            Some(Known::Entry { id, fingerprint, changed_at })
                if fingerprint != entry.fingerprint && changed_at <= target.claimed_at =>
            {
                entry_rows::update(connection, id, target.now, entry)?;
                changes.words.replace(id, std::mem::take(&mut entry.search_text));
                renewed += 1;
            }
            Some(Known::Entry { fingerprint, .. }) if fingerprint != entry.fingerprint => passed_over = true,
            Some(Known::Entry { .. } | Known::Pruned) => {}
        }
    }
    if passed_over {
        // Something newer is there, or older: the next poll asks for the whole again, and will see.
        document.validators = Validators::default();
    }
    write_state(connection, target, document, new)?;
    if has_pruned && document.is_complete {
        forget(connection, target.feed_id, &document.present)?;
    }
    Ok(Stored { applied: true, new: small(new), changed: renewed, completed: 0 })
}

/// How these identities are known: the fingerprint of the entry, or none of one that was pruned.
pub(super) fn known_entries(
    connection: &Connection,
    feed_id: i64,
    identities: &[Hash],
) -> Result<HashMap<Hash, Option<Hash>>> {
    let has_pruned = has_pruned(connection, feed_id)?;
    let mut entries = HashMap::with_capacity(identities.len());
    for identity in identities {
        match known(connection, feed_id, *identity, has_pruned)? {
            Some(Known::Entry { fingerprint, .. }) => drop(entries.insert(*identity, Some(fingerprint))),
            Some(Known::Pruned) => drop(entries.insert(*identity, None)),
            None => {}
        }
    }
    Ok(entries)
}

fn known(connection: &Connection, feed_id: i64, identity: Hash, has_pruned: bool) -> Result<Option<Known>> {
    let entry = connection.prepare_cached(KNOWN)?.query_row((feed_id, identity.0), |row| {
        Ok(Known::Entry { id: row.get(0)?, fingerprint: Hash(row.get(1)?), changed_at: row.get(2)? })
    });
    let entry = entry.optional()?;
    if entry.is_some() || !has_pruned {
        return Ok(entry);
    }
    let mut pruned = connection.prepare_cached("SELECT 1 FROM pruned_entries WHERE feed_id = ? AND identity = ?")?;
    Ok(pruned.exists((feed_id, identity.0))?.then_some(Known::Pruned))
}

fn has_pruned(connection: &Connection, feed_id: i64) -> Result<bool> {
    connection.prepare_cached("SELECT 1 FROM pruned_entries WHERE feed_id = ?")?.exists([feed_id])
}

fn write_state(connection: &Connection, target: Target, document: &Document, new: i64) -> Result<()> {
    let row = (
        target.feed_id,
        optional(document.title.as_ref()),
        optional(document.site_url.as_ref()),
        optional(document.validators.etag.as_ref()),
        optional(document.validators.last_modified.as_ref()),
        document.validators.body_hash.map(|hash| hash.0),
        target.now,
        new,
        target.next_check_at,
        target.adaptive_secs,
        document.asks.ttl_mins,
        document.asks.skips.hours,
        document.asks.skips.days,
    );
    connection.prepare_cached(STATE)?.execute(row).map(drop)
}

/// A document that was read whole tells which pruned entries will not come again.
fn forget(connection: &Connection, feed_id: i64, present: &[Hash]) -> Result<()> {
    let present: HashSet<[u8; 16]> = present.iter().map(|identity| identity.0).collect();
    let mut pruned = connection.prepare_cached("SELECT identity FROM pruned_entries WHERE feed_id = ?")?;
    let pruned: Vec<[u8; 16]> = pruned.query_map([feed_id], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut forget = connection.prepare_cached("DELETE FROM pruned_entries WHERE feed_id = ? AND identity = ?")?;
    for identity in pruned.iter().filter(|identity| !present.contains(*identity)) {
        forget.execute((feed_id, identity))?;
    }
    Ok(())
}
