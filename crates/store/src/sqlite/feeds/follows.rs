//! Who follows a feed: begun, ended, and what the followers want of it together.

use domain::{
    AccountId, FeedId,
    follow::{FollowSettings, LastDocument, NewFollow},
    ingest::Hash,
    ports::FollowOutcome,
};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::sqlite::{
    entries::prune,
    feeds::{folders, id_of, one},
    outbox::entry_events,
    push::subscription_changes::end_all,
    shared::writer::WriteTx,
};
use crate::values::{optional, time, url_hashes, usize_to_i64};

pub(crate) const BY_URL: &str = include_str!("sql/follows_by_url.sql");

const INSERT: &str = include_str!("sql/follows_insert.sql");

pub(crate) const SETTLE: &str = include_str!("sql/follows_settle.sql");

const IS_FETCHED: &str = "SELECT 1 FROM feeds WHERE id = ? AND last_fetched_at IS NOT NULL";

/// Of a feed that was never fetched only what somebody's file calls it is known, and the site that it names: they are not for
/// whoever follows it later.
const FORGET_SEED: &str = include_str!("sql/follows_forget_seed.sql");

const LAST_DOCUMENT: &str = "SELECT identities, stored_at FROM last_documents WHERE feed_id = ?";

pub(crate) const HELD: &str = include_str!("sql/follows_held.sql");

pub(crate) const HAND_OVER: &str = include_str!("sql/follows_hand_over.sql");

const COUNT: &str = "UPDATE follows SET unread_count = ?3 WHERE feed_id = ?1 AND account_id = ?2";

pub(crate) const UNSTAR: &str = include_str!("sql/follows_unstar.sql");

pub(crate) const FORGET: &str = include_str!("sql/follows_forget.sql");

pub(crate) const ORPHANS: &str = include_str!("sql/follows_orphans.sql");

const END: &str = "DELETE FROM follows WHERE feed_id = ? AND account_id = ?";

const IS_FOLLOWED: &str = "SELECT 1 FROM follows WHERE feed_id = ? AND account_id = ?";

const IS_SHARED: &str = "SELECT 1 FROM follows WHERE feed_id = ? AND account_id <> ?";

/// Follows a feed that the server has.
pub(crate) fn follow(changes: &mut WriteTx<'_>, account: AccountId, new: &NewFollow) -> Result<FollowOutcome> {
    let connection = changes.connection;
    if let Some(folder) = new.folder_id
        && !folders::exists(connection, account, folder)?
    {
        return Ok(FollowOutcome::NoSuchFolder);
    }
    if let Some(id) = followed(connection, account, &new.address.url)?.first() {
        return Ok(FollowOutcome::AlreadyThere(*id));
    }
    let known = id_of(connection, &new.address, account)?;
    let Some(feed) = known else { return Ok(FollowOutcome::NotKnown) };
    if !is_fetched(connection, feed)? {
        return Ok(FollowOutcome::NotKnown);
    }
    let (folder_id, custom_title) = (new.folder_id, new.custom_title.clone());
    begin(
        changes,
        account,
        feed,
        &FollowSettings { folder_id, custom_title, poll_interval: None, push_enabled: true },
    )?;
    changes.log.feeds(account, Some(feed), 1);
    let followed = one(connection, account, feed)?;
    followed.map(|feed| FollowOutcome::Followed(Box::new(feed))).ok_or(rusqlite::Error::QueryReturnedNoRows)
}

/// The feeds that an account follows at a URL, with a user and password or without.
pub(crate) fn followed(connection: &Connection, account: AccountId, url: &str) -> Result<Vec<FeedId>> {
    let [shared, own, moved] = url_hashes(url, account);
    let values = (account.0, shared, own, moved);
    connection.prepare_cached(BY_URL)?.query_map(values, |row| row.get(0).map(FeedId))?.collect()
}

/// Whether a feed has been fetched, and not only imported.
pub(crate) fn is_fetched(connection: &Connection, feed: FeedId) -> Result<bool> {
    connection.prepare_cached(IS_FETCHED)?.exists([feed.0])
}

/// Whether nobody else follows a feed.
pub(crate) fn is_alone(connection: &Connection, account: AccountId, feed: FeedId) -> Result<bool> {
    Ok(!connection.prepare_cached(IS_SHARED)?.exists((feed.0, account.0))?)
}

/// The first follower of a feed that is new.
pub(crate) fn insert(
    connection: &Connection,
    account: AccountId,
    feed: FeedId,
    settings: &FollowSettings,
    now: i64,
) -> Result<()> {
    let row = (
        feed.0,
        account.0,
        settings.folder_id.map(|folder| folder.0),
        optional(settings.custom_title.as_ref()),
        settings.poll_interval,
        settings.push_enabled,
        now,
    );
    connection.prepare_cached(INSERT)?.execute(row).map(drop)
}

/// One more follower of a feed: what the feed holds is there for it at once, and backlog for its webhooks.
pub(crate) fn begin(
    changes: &mut WriteTx<'_>,
    account: AccountId,
    feed: FeedId,
    settings: &FollowSettings,
) -> Result<()> {
    insert(changes.connection, account, feed, settings, changes.now())?;
    changes.connection.prepare_cached(FORGET_SEED)?.execute([feed.0])?;
    settle(changes, feed, settings.poll_interval)?;
    let unread = hand_over(changes.connection, account, feed, changes.now())?;
    entry_events::record_backlog(changes, account, feed, &unread)
}

/// Gives an account all entries of a feed. Returns those that it has not read, the first first.
fn hand_over(connection: &Connection, account: AccountId, feed: FeedId, now: i64) -> Result<Vec<i64>> {
    let last = last_document(connection, feed)?;
    let (mut unread, mut statement) = (Vec::new(), connection.prepare_cached(HELD)?);
    let mut rows = statement.query([feed.0])?;
    while let Some(row) = rows.next()? {
        if last.is_unread(Hash(row.get(1)?), time(row.get(2)?)) {
            unread.push(row.get(0)?);
        }
    }
    unread.sort_unstable();
    let ids = serde_json::Value::from(unread.as_slice()).to_string();
    if connection.prepare_cached(HAND_OVER)?.execute((feed.0, account.0, now, ids))? > 0 {
        connection.prepare_cached(COUNT)?.execute((feed.0, account.0, usize_to_i64(unread.len())))?;
        prune::end_keeping(connection, feed)?;
    }
    Ok(unread)
}

fn last_document(connection: &Connection, feed: FeedId) -> Result<LastDocument> {
    let last = connection
        .prepare_cached(LAST_DOCUMENT)?
        .query_row([feed.0], |row| Ok(LastDocument::from_bytes(row.get_ref(0)?.as_blob()?, time(row.get(1)?))));
    Ok(last.optional()?.unwrap_or_default())
}

/// What the followers want together, now that one of them wants something else. An interval that one has just asked for
/// holds at once. If nobody wants push any more, no subscription is wanted.
pub(crate) fn settle(changes: &mut WriteTx<'_>, feed: FeedId, interval: Option<u32>) -> Result<()> {
    let mut statement = changes.connection.prepare_cached(SETTLE)?;
    let is_push_wanted = statement.query_row((feed.0, interval, changes.now()), |row| row.get(0))?;
    if is_push_wanted { Ok(()) } else { end_all(changes, feed) }
}

/// Ends a follow; false if there is none. With its last follower a feed goes.
pub(crate) fn end(changes: &mut WriteTx<'_>, account: AccountId, feed: FeedId) -> Result<bool> {
    let connection = changes.connection;
    if !connection.prepare_cached(IS_FOLLOWED)?.exists((feed.0, account.0))? {
        return Ok(false);
    }
    connection.prepare_cached(UNSTAR)?.execute((account.0, feed.0))?;
    if is_alone(connection, account, feed)? {
        remove_feed(changes, feed)?;
    } else {
        connection.prepare_cached(FORGET)?.execute((account.0, feed.0))?;
        prune::remove_entries(changes, orphans(connection, feed)?)?;
        drop_row(changes, account, feed)?;
    }
    changes.log.feeds(account, Some(feed), 1);
    Ok(true)
}

fn orphans(connection: &Connection, feed: FeedId) -> Result<Vec<i64>> {
    connection.prepare_cached(ORPHANS)?.query_map([feed.0], |row| row.get(0))?.collect()
}

/// The row alone, where others follow the feed too.
pub(crate) fn drop_row(changes: &mut WriteTx<'_>, account: AccountId, feed: FeedId) -> Result<()> {
    changes.connection.prepare_cached(END)?.execute((feed.0, account.0))?;
    settle(changes, feed, None)
}

/// Removes a feed with all that is of it.
pub(crate) fn remove_feed(changes: &mut WriteTx<'_>, feed: FeedId) -> Result<()> {
    let mut entries = changes.connection.prepare_cached("SELECT id FROM entries WHERE feed_id = ?")?;
    for entry in entries.query_map([feed.0], |row| row.get(0))? {
        changes.words.remove(entry?);
    }
    // They live on without it, until their hubs have been told.
    end_all(changes, feed)?;
    changes.connection.prepare_cached("DELETE FROM feeds WHERE id = ?")?.execute([feed.0]).map(drop)
}
