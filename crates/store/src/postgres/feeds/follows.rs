//! Who follows a feed: begun, ended, and what the followers want of it together. Whoever is here holds the lock of the feed's
//! row.

use std::borrow::Cow;

use deadpool_postgres::{Client, GenericClient, Transaction};
use domain::{
    AccountId, FeedId, FolderId,
    changes::ChangeLog,
    delivery::{DomainEvent, EventScope, EventType, is_wanted},
    feed_state::FeedAddress,
    follow::{FollowSettings, LastDocument, NewFollow},
    ports::FollowOutcome,
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, PostgresStore,
    entries::{self, prune},
    execute,
    feeds::{feed_changes, folders, id_of, one},
    outbox::events::{self, Listeners},
    push::{subscription_changes::Decisions, subscriptions},
    query, query_opt, query_then,
    shared::{
        lending::long_work,
        values::{hash, optional, time, u64_to_i64},
    },
};

/// Entries whose events are recorded at once: their texts are in memory.
const BACKLOG_CHUNK: usize = 100;

const BY_URL: &str = include_str!("sql/follows_by_url.sql");

const INSERT: &str = include_str!("sql/follows_insert.sql");

const LOCK: &str = include_str!("sql/follows_lock.sql");

const SETTLE: &str = include_str!("sql/follows_settle.sql");

const IS_FETCHED: &str = "SELECT FROM feeds WHERE id = $1 AND last_fetched_at IS NOT NULL";

/// Of a feed that was never fetched only what somebody's file calls it is known, and the site that it names: they are not for
/// whoever follows it later.
const FORGET_SEED: &str = include_str!("sql/follows_forget_seed.sql");

const LAST_DOCUMENT: &str = "SELECT identities, stored_at FROM last_documents WHERE feed_id = $1";

const HELD: &str = include_str!("sql/follows_held.sql");

const HAND_OVER: &str = include_str!("sql/follows_hand_over.sql");

const BACKLOG: &str = include_str!("sql/follows_backlog.sql");

const FORGET: &str = include_str!("sql/follows_forget.sql");

const END: &str = "DELETE FROM follows WHERE feed_id = $1 AND account_id = $2";

const IS_SHARED: &str = "SELECT account_id FROM follows WHERE feed_id = $1 AND account_id <> $2 LIMIT 1";

/// Follows a feed that the server has. `None` if it changed in the same moment.
pub(crate) async fn follow(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    new: &NewFollow,
) -> Result<Option<FollowOutcome>, Error> {
    let transaction = client.transaction().await?;
    if let Some(folder) = new.folder_id
        && !folders::hold(&transaction, account, folder).await?
    {
        return Ok(Some(FollowOutcome::NoSuchFolder));
    }
    if let Some(id) = followed(&transaction, account, &new.address.url).await?.first() {
        return Ok(Some(FollowOutcome::AlreadyThere(*id)));
    }
    let Some(id) = id_of(&transaction, &new.address, account).await? else {
        return Ok(Some(FollowOutcome::NotKnown));
    };
    if !is_fetched(&transaction, id).await? {
        return Ok(Some(FollowOutcome::NotKnown));
    }
    let (folder_id, custom_title) = (new.folder_id, new.custom_title.clone());
    let settings = FollowSettings { folder_id, custom_title, poll_interval: None, push_enabled: true };
    let Some(mut log) = begin_at(&transaction, account, id, &new.address, &settings).await? else { return Ok(None) };
    log.feeds(account, Some(id), 1);
    let feed = one(&transaction, account, id).await?;
    store.commit(transaction, log).await?;
    Ok(feed.map(|feed| FollowOutcome::Followed(Box::new(feed))))
}

/// The feeds that an account follows at a URL, with a user and password or without.
pub(crate) async fn followed(client: &impl GenericClient, account: AccountId, url: &str) -> Result<Vec<FeedId>, Error> {
    let rows = followed_at(client, account, &hashes_of(account, url)).await?;
    Ok(rows.iter().map(|row| FeedId(row.get(0))).collect())
}

/// The same by such hashes; of each its id and its hash.
pub(crate) async fn followed_at(
    client: &impl GenericClient,
    account: AccountId,
    hashes: &[Vec<u8>],
) -> Result<Vec<Row>, Error> {
    query(client, BY_URL, &[&account.0, &hashes]).await
}

/// What a feed with this URL may be found by, for this account.
pub(crate) fn hashes_of(account: AccountId, url: &str) -> [Vec<u8>; 3] {
    crate::values::url_hashes(url, account).map(Vec::from)
}

/// Whether a feed has been fetched, and not only imported.
pub(crate) async fn is_fetched(client: &impl GenericClient, feed: FeedId) -> Result<bool, Error> {
    Ok(query_opt(client, IS_FETCHED, &[&feed.0]).await?.is_some())
}

/// Whether nobody else follows a feed.
pub(crate) async fn is_alone(client: &impl GenericClient, account: AccountId, feed: FeedId) -> Result<bool, Error> {
    Ok(query_opt(client, IS_SHARED, &[&feed.0, &account.0]).await?.is_none())
}

/// Locks what an account wants of a feed; none if it does not follow it.
pub(crate) async fn lock(
    transaction: &Transaction<'_>,
    account: AccountId,
    feed: FeedId,
) -> Result<Option<FollowSettings>, Error> {
    let row = query_opt(transaction, LOCK, &[&feed.0, &account.0]).await?;
    Ok(row.map(|row| FollowSettings {
        folder_id: row.get::<_, Option<i64>>(0).map(FolderId),
        custom_title: row.get(1),
        poll_interval: row.get::<_, Option<i64>>(2).and_then(|secs| u32::try_from(secs).ok()),
        push_enabled: row.get(3),
    }))
}

/// The first follower of feeds that are new.
pub(crate) async fn insert(
    transaction: &Transaction<'_>,
    account: AccountId,
    follows: &[(FeedId, FollowSettings)],
    now: i64,
) -> Result<(), Error> {
    let feeds: Vec<i64> = follows.iter().map(|(feed, _)| feed.0).collect();
    let folders: Vec<Option<i64>> = follows.iter().map(|(_, settings)| settings.folder_id.map(|id| id.0)).collect();
    let titles: Vec<Option<Cow<'_, str>>> =
        follows.iter().map(|(_, settings)| optional(settings.custom_title.as_ref())).collect();
    let intervals: Vec<Option<i64>> =
        follows.iter().map(|(_, settings)| settings.poll_interval.map(i64::from)).collect();
    let pushes: Vec<bool> = follows.iter().map(|(_, settings)| settings.push_enabled).collect();
    let values: Params<'_> = &[&account.0, &now, &feeds, &folders, &titles, &intervals, &pushes];
    execute(transaction, INSERT, values).await.map(drop)
}

/// Locks a feed that was found at an address, and follows it. `None` if it is no longer there.
pub(crate) async fn begin_at(
    transaction: &Transaction<'_>,
    account: AccountId,
    id: FeedId,
    address: &FeedAddress,
    settings: &FollowSettings,
) -> Result<Option<ChangeLog>, Error> {
    let Some(now) = feed_changes::lock(transaction, &[id]).await? else { return Ok(None) };
    if id_of(transaction, address, account).await? != Some(id) || lock(transaction, account, id).await?.is_some() {
        return Ok(None);
    }
    begin(transaction, account, id, settings, now).await.map(Some)
}

/// One more follower of a feed: what the feed holds is there for it at once, and backlog for its webhooks.
pub(crate) async fn begin(
    transaction: &Transaction<'_>,
    account: AccountId,
    feed: FeedId,
    settings: &FollowSettings,
    now: i64,
) -> Result<ChangeLog, Error> {
    insert(transaction, account, &[(feed, settings.clone())], now).await?;
    execute(transaction, FORGET_SEED, &[&feed.0]).await?;
    let mut log = settle(transaction, feed, settings.poll_interval, now).await?;
    let unread = hand_over(transaction, account, feed, now).await?;
    log.deliveries_if(record_backlog(transaction, account, feed, &unread, now).await?);
    Ok(log)
}

/// Gives an account all entries of a feed. Returns those that it has not read, the first first.
async fn hand_over(
    transaction: &Transaction<'_>,
    account: AccountId,
    feed: FeedId,
    now: i64,
) -> Result<Vec<i64>, Error> {
    let which: Params<'_> = &[&feed.0];
    let (last, entries) = query_then(transaction, LAST_DOCUMENT, which, query(transaction, HELD, which)).await?;
    let last = last.first().map(|row| LastDocument::from_bytes(row.get(0), time(row.get(1)))).unwrap_or_default();
    let is_unread = |row: &&Row| hash(row.get(1)).is_some_and(|identity| last.is_unread(identity, time(row.get(2))));
    let unread: Vec<i64> = entries.iter().filter(is_unread).map(|row| row.get(0)).collect();
    if !entries.is_empty() {
        long_work(transaction).await?;
        execute(transaction, HAND_OVER, &[&feed.0, &account.0, &now, &unread]).await?;
        prune::end_keeping(transaction, feed).await?;
    }
    Ok(unread)
}

/// What an account has unread of a feed that it begins to follow is backlog for its webhooks. True if a delivery was queued.
async fn record_backlog(
    transaction: &Transaction<'_>,
    account: AccountId,
    feed: FeedId,
    unread: &[i64],
    now: i64,
) -> Result<bool, Error> {
    let listeners = Listeners::of_feeds(transaction, &[feed.0]).await?;
    let scope = EventScope {
        kind: EventType::EntryCreated,
        feed_id: Some(feed),
        account_id: Some(account),
        is_backlog: true,
        webhook_id: None,
    };
    if !is_wanted(&listeners.webhooks, &listeners.follows, &scope) {
        return Ok(false);
    }
    for ids in unread.chunks(BACKLOG_CHUNK) {
        let rows = query(transaction, BACKLOG, &[&ids]).await?;
        let followed = |row: &Row| DomainEvent::EntryFollowed(account, Box::new(entries::entry_of(row)));
        events::record(transaction, &rows.iter().map(followed).collect::<Vec<_>>(), now).await?;
    }
    Ok(!unread.is_empty())
}

/// What the followers want together, now that one of them wants something else. An interval that one has just asked for holds
/// at once. If nobody wants push any more, no subscription is wanted.
pub(crate) async fn settle(
    transaction: &Transaction<'_>,
    feed: FeedId,
    interval: Option<u32>,
    now: i64,
) -> Result<ChangeLog, Error> {
    let row = query_opt(transaction, SETTLE, &[&feed.0, &interval.map(i64::from), &now]).await?;
    if row.is_none_or(|row| row.get(0)) {
        return Ok(ChangeLog::default());
    }
    end_subscriptions(transaction, feed, now).await
}

/// No subscription of a feed is wanted any more.
pub(crate) async fn end_subscriptions(
    transaction: &Transaction<'_>,
    feed: FeedId,
    now: i64,
) -> Result<ChangeLog, Error> {
    let mut decisions = Decisions::new(subscriptions::lock_of_feeds(transaction, &[feed.0]).await?, now);
    decisions.end_all();
    decisions.write(transaction).await?;
    let (events, mut log) = decisions.into_events();
    log.deliveries_if(events::record(transaction, &events, now).await?);
    Ok(log)
}

/// Ends a follow, or a piece of so many rows of it, in a transaction of its own: how many rows went; none if the account does
/// not follow the feed.
pub(crate) async fn leave(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    id: FeedId,
    limit: Option<u64>,
) -> Result<Option<u64>, Error> {
    let transaction = client.transaction().await?;
    let Some(now) = feed_changes::lock_to_delete(&transaction, &[id]).await? else { return Ok(None) };
    if lock(&transaction, account, id).await?.is_none() {
        return Ok(None);
    }
    let (log, rows) = end(&transaction, account, id, now, limit).await?;
    store.commit(transaction, log).await?;
    Ok(Some(rows))
}

/// Ends a follow whose row is locked; the feed's is so that it can be removed. With its last follower a feed goes. Returns
/// also how many rows went; if as many as this, the follow goes on.
pub(crate) async fn end(
    transaction: &Transaction<'_>,
    account: AccountId,
    feed: FeedId,
    now: i64,
    limit: Option<u64>,
) -> Result<(ChangeLog, u64), Error> {
    long_work(transaction).await?;
    let is_alone = is_alone(transaction, account, feed).await?;
    let mut log = ChangeLog::default();
    let gone = query(transaction, FORGET, &[&feed.0, &account.0, &limit.map(u64_to_i64)]).await?;
    let is_piece = limit.is_some_and(|limit| gone.len() as u64 >= limit);
    // They are remembered, or kept: no poll brings them back.
    if !is_alone {
        prune::remove_entries(transaction, &gone).await?;
    } else if is_piece {
        prune::remove_all_entries(transaction, &gone).await?;
    }
    if is_piece {
        return Ok((log, gone.len() as u64));
    }
    if is_alone {
        // While there is a feed that can be shown, and somebody who follows it. They live on without it, until their hubs
        // have been told.
        log.add(end_subscriptions(transaction, feed, now).await?);
        execute(transaction, "DELETE FROM feeds WHERE id = $1", &[&feed.0]).await?;
    } else {
        execute(transaction, END, &[&feed.0, &account.0]).await?;
        log.add(settle(transaction, feed, None, now).await?);
    }
    log.feeds(account, Some(feed), 1);
    Ok((log, gone.len() as u64 + 1))
}
