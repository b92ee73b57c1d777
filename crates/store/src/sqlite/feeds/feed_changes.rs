//! Feeds: kept, changed, and what that means for their subscriptions.

use domain::{
    AccountId, Feed, FeedId, FeedPatch, FeedSeed, NewFeed,
    feed_state::{FeedAddress, FeedStateChange},
    follow::FollowSettings,
    found_by::{AddressChange, FoundBy},
    ports::{NewFeedOutcome, UpdateOutcome},
    schedule::ADAPTIVE_FIRST,
};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    entries::ingest,
    feeds::{folders, follows, id_of, one},
    push::{discovery::PushState, subscription_changes::end_all},
    shared::writer::WriteTx,
};
use crate::target::Target;
use crate::values::{millis, optional, text, url_hash};

const INSERT: &str = include_str!("sql/feed_changes_insert.sql");

const ADDRESS: &str = "SELECT url, credentials FROM feeds WHERE id = ?";

pub(crate) const UPDATE: &str = include_str!("sql/feed_changes_update.sql");

pub(crate) const MOVE: &str = include_str!("sql/feed_changes_move.sql");

const READDRESS: &str = include_str!("sql/feed_changes_readdress.sql");

pub(crate) fn add(changes: &mut WriteTx<'_>, account: AccountId, feed: &mut NewFeed) -> Result<NewFeedOutcome> {
    let connection = changes.connection;
    if let Some(folder) = feed.folder_id
        && !folders::exists(connection, account, folder)?
    {
        return Ok(NewFeedOutcome::NoSuchFolder);
    }
    if let Some(id) = follows::followed(connection, account, &feed.address.url)?.first() {
        return Ok(NewFeedOutcome::AlreadyThere(*id));
    }
    let (folder_id, custom_title) = (feed.folder_id, feed.custom_title.clone());
    let settings = FollowSettings { folder_id, custom_title, poll_interval: None, push_enabled: true };
    let id = match id_of(connection, &feed.address, account)? {
        Some(known) => {
            let is_fetched = follows::is_fetched(connection, known)?;
            follows::begin(changes, account, known, &settings)?;
            changes.log.feeds(account, Some(known), 1);
            if !is_fetched {
                store_first(changes, known, feed)?;
            }
            known
        }
        None => keep(changes, account, feed, &settings)?,
    };
    let kept = one(connection, account, id)?;
    kept.map(|feed| NewFeedOutcome::Added(Box::new(feed))).ok_or(rusqlite::Error::QueryReturnedNoRows)
}

/// Keeps a feed that the server has not, with what was fetched.
fn keep(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    feed: &mut NewFeed,
    settings: &FollowSettings,
) -> Result<FeedId> {
    let now = changes.now();
    let seed = FeedSeed::new(feed.address.clone());
    let id = insert(changes.connection, account, &seed, now, now + millis(feed.next_check_in))?;
    follows::insert(changes.connection, account, id, settings, now)?;
    changes.log.feeds(account, Some(id), 1);
    store_first(changes, id, feed)?;
    Ok(id)
}

/// Keeps a feed that was not fetched yet, due at once, with its first follower.
pub(crate) fn insert_followed(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    seed: &FeedSeed,
    settings: &FollowSettings,
) -> Result<FeedId> {
    let now = changes.now();
    let id = insert(changes.connection, account, seed, now, now)?;
    follows::insert(changes.connection, account, id, settings, now)?;
    Ok(id)
}

fn insert(
    connection: &Connection,
    account: AccountId,
    seed: &FeedSeed,
    now: i64,
    next_check_at: i64,
) -> Result<FeedId> {
    let row = (
        text(&seed.address.url),
        url_hash(&seed.address, account),
        optional(seed.address.credentials.as_ref()),
        optional(seed.title.as_ref()),
        optional(seed.site_url.as_ref()),
        next_check_at,
        adaptive_first(),
        now,
        seed.poll_interval,
        seed.push_enabled,
    );
    connection.prepare_cached(INSERT)?.query_row(row, |row| row.get(0)).map(FeedId)
}

/// Stores what was fetched of a feed that was not before, and has its followers. Whoever polls it just now has lost the lease.
fn store_first(changes: &mut WriteTx<'_>, id: FeedId, feed: &mut NewFeed) -> Result<()> {
    let now = changes.now();
    let target = Target { feed_id: id.0, claimed_at: now, is_backlog: true, now, trace: None };
    let change = FeedStateChange::of_new_feed(feed.next_check_in);
    ingest::store_document(changes, target, change, &PushState::new(&feed.address.url), &mut feed.document).map(drop)
}

/// What cannot be done is found out before anything is changed.
pub(crate) fn update(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    id: FeedId,
    patch: &FeedPatch,
) -> Result<UpdateOutcome<Feed>> {
    let connection = changes.connection;
    let Some(before) = one(connection, account, id)? else { return Ok(UpdateOutcome::NotFound) };
    if let Some(folder) = patch.folder_id.flatten()
        && !folders::exists(connection, account, folder)?
    {
        return Ok(UpdateOutcome::NoSuchFolder);
    }
    let mut id = id;
    if let Some(address) = patch.address_of(&before) {
        let others = follows::followed(connection, account, &address.url)?;
        if let Some(other) = others.into_iter().find(|other| *other != id) {
            return Ok(UpdateOutcome::Conflict(Some(other)));
        }
        id = readdress(changes, account, &before, address)?;
    }
    apply(changes, account, id, patch)?;
    if let Some(folder) = patch.folder_id
        && folder != before.folder_id
    {
        connection.prepare_cached(MOVE)?.execute((id.0, account.0, folder.map(|folder| folder.0)))?;
    }
    let after = one(connection, account, id)?;
    if after.as_ref() != Some(&before) {
        changes.log.follow(account, id);
    }
    Ok(after.map_or(UpdateOutcome::NotFound, |feed| UpdateOutcome::Updated(Box::new(feed))))
}

/// Gives an account's feed another address. Returns the feed that it follows from now on: where others follow the old one,
/// or the server has one there, another.
fn readdress(changes: &mut WriteTx<'_>, account: AccountId, before: &Feed, address: FeedAddress) -> Result<FeedId> {
    let connection = changes.connection;
    let mut known = connection.prepare_cached(ADDRESS)?;
    let known = known.query_row([before.id.0], |row| Ok(FeedAddress { url: row.get(0)?, credentials: row.get(1)? }))?;
    let address = address.after(&known);
    let there = id_of(connection, &address, account)?;
    let is_alone = follows::is_alone(connection, account, before.id)?;
    match AddressChange::of(before.id, &address, there, is_alone, account) {
        AddressChange::Rewritten(found) => {
            write_address(connection, before.id, &address, found, changes.now())?;
            end_all(changes, before.id)?;
            Ok(before.id)
        }
        AddressChange::Unchanged => Ok(before.id),
        AddressChange::Another(there) => switch(changes, account, before, address, there),
    }
}

fn write_address(connection: &Connection, id: FeedId, address: &FeedAddress, found: FoundBy, now: i64) -> Result<()> {
    let credentials = optional(address.credentials.as_ref());
    let row = (id.0, text(&address.url), found.hash(&address.url).0, credentials, now);
    connection.prepare_cached(READDRESS)?.execute(row).map(drop)
}

/// Leaves a feed and follows another, in the same folder and under the same name.
fn switch(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    before: &Feed,
    address: FeedAddress,
    there: Option<FeedId>,
) -> Result<FeedId> {
    let settings = FollowSettings::of(before);
    let seed = FeedSeed::instead_of(before, &settings, address);
    follows::end(changes, account, before.id)?;
    let id = match there {
        Some(there) => {
            follows::begin(changes, account, there, &settings)?;
            there
        }
        None => insert_followed(changes, account, &seed, &settings)?,
    };
    changes.log.feeds(account, Some(id), 1);
    Ok(id)
}

fn apply(changes: &mut WriteTx<'_>, account: AccountId, id: FeedId, patch: &FeedPatch) -> Result<()> {
    let row = (
        id.0,
        account.0,
        patch.custom_title.is_some(),
        patch.custom_title.as_ref().and_then(|title| optional(title.as_ref())),
        patch.folder_id.is_some(),
        patch.folder_id.flatten().map(|folder| folder.0),
        patch.poll_interval.is_some(),
        patch.poll_interval.flatten(),
        patch.push_enabled,
    );
    changes.connection.prepare_cached(UPDATE)?.execute(row)?;
    follows::settle(changes, id, patch.poll_interval.flatten())
}

fn adaptive_first() -> i64 {
    i64::try_from(ADAPTIVE_FIRST.as_secs()).unwrap_or(i64::MAX)
}
