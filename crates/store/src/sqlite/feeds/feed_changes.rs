//! Feeds: kept, changed, removed, and what that means for their subscriptions.

use domain::{
    Feed, FeedId, FeedPatch, NewFeed,
    feed_state::{FeedAddress, FeedStateChange},
    ports::{NewFeedOutcome, UpdateOutcome},
    schedule::ADAPTIVE_FIRST,
};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    entries::ingest,
    feeds::{folders, id_of, one},
    push::{discovery::PushState, subscription_changes::end_all},
    shared::writer::WriteTx,
};
use crate::target::Target;
use crate::values::{millis, optional, text, url_hash};

const INSERT: &str = include_str!("sql/feed_changes_insert.sql");

const ADDRESS: &str = "SELECT url, credentials FROM feeds WHERE id = ?";

const UPDATE: &str = include_str!("sql/feed_changes_update.sql");

const READDRESS: &str = include_str!("sql/feed_changes_readdress.sql");

pub(crate) fn add(changes: &mut WriteTx<'_>, feed: &mut NewFeed) -> Result<NewFeedOutcome> {
    if let Some(folder) = feed.folder_id
        && !folders::exists(changes.connection, folder)?
    {
        return Ok(NewFeedOutcome::NoSuchFolder);
    }
    if let Some(id) = id_of(changes.connection, &feed.address)? {
        return Ok(NewFeedOutcome::AlreadyThere(id));
    }
    let now = changes.now();
    let next_check_at = now + millis(feed.next_check_in);
    let target = Target {
        feed_id: insert(changes.connection, feed, now, next_check_at)?,
        folder_id: feed.folder_id.map(|folder| folder.0),
        claimed_at: now,
        is_backlog: true,
        now,
    };
    let change = FeedStateChange::of_new_feed(feed.next_check_in);
    let push = PushState::new(&feed.address.url);
    changes.log.feeds(Some(FeedId(target.feed_id)), 1);
    ingest::store_document(changes, target, change, &push, &mut feed.document)?;
    let kept = one(changes.connection, FeedId(target.feed_id))?;
    kept.map(|feed| NewFeedOutcome::Added(Box::new(feed))).ok_or(rusqlite::Error::QueryReturnedNoRows)
}

fn insert(connection: &Connection, feed: &NewFeed, now: i64, next_check_at: i64) -> Result<i64> {
    let row = (
        text(&feed.address.url),
        url_hash(&feed.address),
        optional(feed.address.credentials.as_ref()),
        feed.folder_id.map(|folder| folder.0),
        optional(feed.custom_title.as_ref()),
        next_check_at,
        adaptive_first(),
        now,
    );
    connection.prepare_cached(INSERT)?.query_row(row, |row| row.get(0))
}

/// What cannot be done is found out before anything is changed.
pub(crate) fn update(changes: &mut WriteTx<'_>, id: FeedId, patch: &FeedPatch) -> Result<UpdateOutcome<Feed>> {
    let connection = changes.connection;
    let Some(before) = one(connection, id)? else { return Ok(UpdateOutcome::NotFound) };
    if let Some(folder) = patch.folder_id.flatten()
        && !folders::exists(connection, folder)?
    {
        return Ok(UpdateOutcome::NoSuchFolder);
    }
    if let Some(address) = &patch.address {
        match id_of(connection, address)? {
            Some(other) if other != id => return Ok(UpdateOutcome::Conflict(Some(other))),
            _ => readdress(connection, id, address.clone(), changes.now())?,
        }
    }
    if patch.address.is_some() || patch.push_enabled == Some(false) {
        end_all(changes, id)?;
    }
    apply(connection, changes.now(), id, patch)?;
    if let Some(folder) = patch.folder_id
        && folder != before.folder_id
    {
        let mut follow = connection.prepare_cached("UPDATE entries SET folder_id = ? WHERE feed_id = ?")?;
        follow.execute((folder.map(|folder| folder.0), id.0))?;
    }
    let after = one(connection, id)?;
    if after.as_ref() != Some(&before) {
        changes.log.feed(id);
    }
    Ok(after.map_or(UpdateOutcome::NotFound, |feed| UpdateOutcome::Updated(Box::new(feed))))
}

fn readdress(connection: &Connection, id: FeedId, address: FeedAddress, now: i64) -> Result<()> {
    let mut before = connection.prepare_cached(ADDRESS)?;
    let before = before.query_row([id.0], |row| Ok(FeedAddress { url: row.get(0)?, credentials: row.get(1)? }))?;
    let address = address.after(&before);
    let credentials = optional(address.credentials.as_ref());
    let row = (id.0, text(&address.url), url_hash(&address), credentials, now);
    connection.prepare_cached(READDRESS)?.execute(row).map(drop)
}

fn apply(connection: &Connection, now: i64, id: FeedId, patch: &FeedPatch) -> Result<()> {
    let row = (
        id.0,
        patch.custom_title.is_some(),
        patch.custom_title.as_ref().and_then(|title| optional(title.as_ref())),
        patch.folder_id.is_some(),
        patch.folder_id.flatten().map(|folder| folder.0),
        patch.poll_interval.is_some(),
        patch.poll_interval.flatten(),
        patch.push_enabled,
        now,
    );
    connection.prepare_cached(UPDATE)?.execute(row).map(drop)
}

pub(crate) fn delete(changes: &mut WriteTx<'_>, id: FeedId) -> Result<bool> {
    let mut entries = changes.connection.prepare_cached("SELECT id FROM entries WHERE feed_id = ?")?;
    for entry in entries.query_map([id.0], |row| row.get(0))? {
        changes.words.remove(entry?);
    }
    // They live on without it, until their hubs have been told.
    end_all(changes, id)?;
    let is_deleted = changes.connection.prepare_cached("DELETE FROM feeds WHERE id = ?")?.execute([id.0])? > 0;
    if is_deleted {
        changes.log.feeds(Some(id), 1);
    }
    Ok(is_deleted)
}

pub(crate) fn adaptive_first() -> i64 {
    i64::try_from(ADAPTIVE_FIRST.as_secs()).unwrap_or(i64::MAX)
}
