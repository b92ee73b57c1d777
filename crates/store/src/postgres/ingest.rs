//! What a document brings, inside the transaction that holds the lock of its feed's row: new, changed and known entries
//! told apart, and a few statements for all of them together.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::{GenericClient, Transaction};
use domain::ingest::{Document, Hash, IncomingEntry, Validators};
use tokio_postgres::{Error, Row};

use super::{
    entry_rows, execute, query,
    values::{hash, optional, small, total},
};

const KNOWN: &str = "
SELECT identity, fingerprint, id, changed_at
FROM entries
WHERE feed_id = $1 AND identity = ANY($2)
UNION ALL
SELECT identity, NULL, NULL, NULL
FROM pruned_entries
WHERE feed_id = $1 AND identity = ANY($2)";

const STATE: &str = "
UPDATE feeds
SET title = coalesce($2, title),
    site_url = coalesce($3, site_url),
    etag = $4,
    last_modified = $5,
    body_hash = $6,
    last_fetched_at = $7,
    failure_count = 0,
    last_error = NULL,
    is_gone = false,
    unread_count = unread_count + $8,
    entry_count = entry_count + $8,
    next_check_at = $9,
    adaptive_secs = $10,
    ttl_mins = $11,
    skip_hours = $12,
    skip_days = $13,
    lease_owner = NULL,
    lease_until = 0
WHERE id = $1";

const FORGET: &str = "
DELETE FROM pruned_entries
WHERE feed_id = $1 AND NOT identity = ANY($2)";

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

/// What a document changed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ingested {
    pub(super) new: u32,
    pub(super) changed: u32,
}

/// How an identity is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known {
    Entry { id: i64, fingerprint: Hash, changed_at: i64 },
    Pruned,
}

/// Stores a document's entries, and the state of its feed with them.
pub(super) async fn store_document(
    transaction: &Transaction<'_>,
    target: Target,
    document: &Document,
) -> Result<Ingested, Error> {
    let identities: Vec<Hash> = document.entries.iter().map(|entry| entry.identity).collect();
    let known = known(transaction, target.feed_id, &identities).await?;
    let (new, changed) = sort_out(&document.entries, &known, target.claimed_at);
    entry_rows::insert(transaction, target, &new).await?;
    entry_rows::update(transaction, target.now, &changed).await?;
    let [new, changed] = [new.len(), changed.len()].map(total);
    // One after the other in the database, but in one round trip.
    // Something newer is there: the next poll asks for the whole again, and will see.
    let passed_over = document.entries.iter().any(|entry| is_older(entry, &known, target.claimed_at));
    let validators = if passed_over { Validators::default() } else { document.validators.clone() };
    let state = write_state(transaction, target, document, &validators, new);
    tokio::try_join!(state, forget(transaction, target, document))?;
    Ok(Ingested { new: small(new), changed: small(changed) })
}

/// How these identities are known in a feed.
pub(super) async fn known(
    client: &impl GenericClient,
    feed_id: i64,
    identities: &[Hash],
) -> Result<HashMap<Hash, Known>, Error> {
    if identities.is_empty() {
        return Ok(HashMap::new());
    }
    let identities: Vec<&[u8]> = identities.iter().map(|identity| identity.0.as_slice()).collect();
    let rows = query(client, KNOWN, &[&feed_id, &identities]).await?;
    Ok(rows.iter().filter_map(|row| Some((hash(row.get(0))?, known_of(row)?))).collect())
}

fn known_of(row: &Row) -> Option<Known> {
    match row.get::<_, Option<&[u8]>>(1) {
        Some(fingerprint) => {
            Some(Known::Entry { id: row.get(2), fingerprint: hash(fingerprint)?, changed_at: row.get(3) })
        }
        None => Some(Known::Pruned),
    }
}

/// Whether an entry has been changed since the poll that brings it was claimed.
fn is_older(entry: &IncomingEntry, known: &HashMap<Hash, Known>, claimed_at: i64) -> bool {
    matches!(
        known.get(&entry.identity),
        Some(Known::Entry { fingerprint, changed_at, .. }) if *fingerprint != entry.fingerprint && *changed_at > claimed_at
    )
}

/// New entries and changed ones, with their ids. Of an identity that is there twice the first counts.
fn sort_out<'a>(
    entries: &'a [IncomingEntry],
    known: &HashMap<Hash, Known>,
    claimed_at: i64,
) -> (Vec<&'a IncomingEntry>, Vec<(i64, &'a IncomingEntry)>) {
    let (mut new, mut changed, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for entry in entries.iter().filter(|entry| seen.insert(entry.identity)) {
        match known.get(&entry.identity) {
            None => new.push(entry),
            Some(Known::Pruned) => {}
            Some(Known::Entry { id, fingerprint, changed_at }) => {
                if *fingerprint != entry.fingerprint && *changed_at <= claimed_at {
                    changed.push((*id, entry));
                }
            }
        }
    }
    // Ids rise from the last in the document to the first: of entries of the same time the first is the newest.
    new.reverse();
    (new, changed)
}

async fn write_state(
    transaction: &Transaction<'_>,
    target: Target,
    document: &Document,
    validators: &Validators,
    new: i64,
) -> Result<(), Error> {
    execute(
        transaction,
        STATE,
        &[
            &target.feed_id,
            &optional(document.title.as_ref()),
            &optional(document.site_url.as_ref()),
            &optional(validators.etag.as_ref()),
            &optional(validators.last_modified.as_ref()),
            &validators.body_hash.as_ref().map(|hash| hash.0.as_slice()),
            &target.now,
            &new,
            &target.next_check_at,
            &target.adaptive_secs,
            &document.asks.ttl_mins.map(i64::from),
            &i64::from(document.asks.skips.hours),
            &i64::from(document.asks.skips.days),
        ],
    )
    .await
    .map(drop)
}

/// A document that was read whole tells which pruned entries will not come again.
async fn forget(transaction: &Transaction<'_>, target: Target, document: &Document) -> Result<(), Error> {
    if !document.is_complete {
        return Ok(());
    }
    let present: Vec<&[u8]> = document.present.iter().map(|identity| identity.0.as_slice()).collect();
    execute(transaction, FORGET, &[&target.feed_id, &present]).await.map(drop)
}
