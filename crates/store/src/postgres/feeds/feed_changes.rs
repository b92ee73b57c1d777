//! Feeds: kept, changed, and what that means for their subscriptions.

use std::borrow::Cow;

use deadpool_postgres::{Client, Transaction};
use domain::{
    AccountId, Feed, FeedId, FeedPatch, FeedSeed, NewFeed,
    changes::ChangeLog,
    feed_state::{FeedAddress, FeedStateChange},
    follow::FollowSettings,
    found_by::{AddressChange, FoundBy},
    ingest::KnownEntries,
    ports::{NewFeedOutcome, UpdateOutcome},
    schedule::ADAPTIVE_FIRST,
};
use tokio_postgres::Error;

use crate::postgres::{
    PostgresStore,
    entries::ingest,
    execute,
    feeds::{folders, follows, id_of, import, one},
    now_ms,
    outbox::events::{Listeners, payload_feed},
    push::discovery::PushState,
    query_opt,
    shared::{
        lending::long_work,
        values::{millis, optional, text, url_hash},
    },
};
use crate::target::Target;

const INSERT: &str = include_str!("sql/feed_changes_insert.sql");

const LOCK: &str = include_str!("sql/feed_changes_lock.sql");

const LOCK_TO_DELETE: &str = include_str!("sql/feed_changes_lock_to_delete.sql");

const ADDRESS: &str = include_str!("sql/feed_changes_address.sql");

const UPDATE: &str = include_str!("sql/feed_changes_update.sql");

const MOVE: &str = include_str!("sql/feed_changes_move.sql");

const READDRESS: &str = include_str!("sql/feed_changes_readdress.sql");

/// `None` if a feed of this URL was there and went in the same moment.
pub(crate) async fn add(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    feed: &NewFeed,
) -> Result<Option<NewFeedOutcome>, Error> {
    let transaction = client.transaction().await?;
    if let Some(folder) = feed.folder_id
        && !folders::hold(&transaction, account, folder).await?
    {
        return Ok(Some(NewFeedOutcome::NoSuchFolder));
    }
    if let Some(id) = follows::followed(&transaction, account, &feed.address.url).await?.first() {
        return Ok(Some(NewFeedOutcome::AlreadyThere(*id)));
    }
    let (folder_id, custom_title) = (feed.folder_id, feed.custom_title.clone());
    let settings = FollowSettings { folder_id, custom_title, poll_interval: None, push_enabled: true };
    let (id, mut log) = if let Some((id, now)) = insert(&transaction, account, feed).await? {
        follows::insert(&transaction, account, &[(id, settings)], now).await?;
        (id, store_first(&transaction, id, feed, now).await?)
    } else {
        let Some(id) = id_of(&transaction, &feed.address, account).await? else { return Ok(None) };
        let begun = follows::begin_at(&transaction, account, id, &feed.address, &settings).await?;
        let Some(mut log) = begun else { return Ok(None) };
        if !follows::is_fetched(&transaction, id).await? {
            let now = now_ms(&transaction).await?;
            log.add(store_first(&transaction, id, feed, now).await?);
        }
        (id, log)
    };
    log.feeds(account, Some(id), 1);
    let kept = one(&transaction, account, id).await?;
    store.commit(transaction, log).await?;
    Ok(kept.map(|feed| NewFeedOutcome::Added(Box::new(feed))))
}

/// The new id, and when it was given; none if the server has the feed.
async fn insert(
    transaction: &Transaction<'_>,
    account: AccountId,
    feed: &NewFeed,
) -> Result<Option<(FeedId, i64)>, Error> {
    let row = query_opt(
        transaction,
        INSERT,
        &[
            &text(&feed.address.url),
            &url_hash(&feed.address, account),
            &optional(feed.address.credentials.as_ref()),
            &millis(feed.next_check_in),
            &adaptive_first(),
        ],
    )
    .await?;
    Ok(row.map(|row| (FeedId(row.get(0)), row.get(1))))
}

/// Stores what was fetched of a feed that was not before, and has its followers. Whoever polls it just now has lost the lease.
async fn store_first(transaction: &Transaction<'_>, id: FeedId, feed: &NewFeed, now: i64) -> Result<ChangeLog, Error> {
    let target = Target { feed_id: id.0, claimed_at: now, is_backlog: true, now, trace: None };
    let (change, push) = (FeedStateChange::of_new_feed(feed.next_check_in), PushState::new(&feed.address.url));
    let (nothing, listeners) = (KnownEntries::new(), Listeners::of_feeds(transaction, &[id.0]).await?);
    let (_, events, mut log) =
        ingest::store_document(transaction, target, change, &push, &feed.document, &nothing, &listeners).await?;
    let title = optional(feed.document.title.as_ref()).map(Cow::into_owned);
    log.deliveries_if(
        listeners.record_for_feed(transaction, payload_feed(target, push.url, title), &events, now).await?,
    );
    Ok(log)
}

/// `None` if something of what is to be changed became another meanwhile.
pub(crate) async fn update(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    id: FeedId,
    patch: &FeedPatch,
) -> Result<Option<UpdateOutcome<Feed>>, Error> {
    let transaction = client.transaction().await?;
    let Some(seen) = one(&transaction, account, id).await? else { return Ok(Some(UpdateOutcome::NotFound)) };
    if let Some(folder) = patch.folder_id.flatten()
        && !folders::hold(&transaction, account, folder).await?
    {
        return Ok(Some(UpdateOutcome::NoSuchFolder));
    }
    let moved = match &patch.address_of(&seen) {
        None => lock(&transaction, &[id]).await?.map(|now| (id, now, ChangeLog::default())),
        Some(address) => match readdress(&transaction, account, &seen, address).await? {
            Readdressed::Done(id, now, log) => Some((id, now, log)),
            Readdressed::Conflict(other) => return Ok(Some(UpdateOutcome::Conflict(Some(other)))),
            Readdressed::Raced => None,
        },
    };
    let Some((id, now, mut log)) = moved else { return Ok(None) };
    let Some(settings) = follows::lock(&transaction, account, id).await? else { return Ok(None) };
    log.add(apply(&transaction, account, id, patch, now).await?);
    if let Some(folder) = patch.folder_id
        && folder != settings.folder_id
    {
        long_work(&transaction).await?;
        execute(&transaction, MOVE, &[&id.0, &account.0, &folder.map(|folder| folder.0)]).await?;
    }
    let feed = one(&transaction, account, id).await?;
    if feed.as_ref() != Some(&seen) {
        log.follow(account, id);
    }
    store.commit(transaction, log).await?;
    Ok(Some(feed.map_or(UpdateOutcome::NotFound, |feed| UpdateOutcome::Updated(Box::new(feed)))))
}

/// What became of a change of an address.
enum Readdressed {
    /// The account follows this feed at it, whose row is locked since then.
    Done(FeedId, i64, ChangeLog),
    /// It follows another there.
    Conflict(FeedId),
    /// Somebody else changed something of that in the same moment.
    Raced,
}

/// Gives an account's feed another address: where others follow the old one, or the server has one there, it is another feed.
/// All rows that this may concern are locked first: the folder, then both feeds in their order.
async fn readdress(
    transaction: &Transaction<'_>,
    account: AccountId,
    before: &Feed,
    address: &FeedAddress,
) -> Result<Readdressed, Error> {
    let others = follows::followed(transaction, account, &address.url).await?;
    if let Some(other) = others.into_iter().find(|other| *other != before.id) {
        return Ok(Readdressed::Conflict(other));
    }
    if let Some(folder) = before.folder_id
        && !folders::hold(transaction, account, folder).await?
    {
        return Ok(Readdressed::Raced);
    }
    let Some((address, there)) = destination(transaction, account, before, address).await? else {
        return Ok(Readdressed::Raced);
    };
    let rows: Vec<FeedId> = [before.id].into_iter().chain(there.filter(|there| *there != before.id)).collect();
    let Some(now) = lock_to_delete(transaction, &rows).await? else { return Ok(Readdressed::Raced) };
    let settings = follows::lock(transaction, account, before.id).await?;
    let again = destination(transaction, account, before, &address).await?;
    let Some(settings) = settings.filter(|settings| settings.folder_id == before.folder_id) else {
        return Ok(Readdressed::Raced);
    };
    if again != Some((address.clone(), there)) {
        return Ok(Readdressed::Raced);
    }
    let is_alone = follows::is_alone(transaction, account, before.id).await?;
    match AddressChange::of(before.id, &address, there, is_alone, account) {
        AddressChange::Rewritten(found) => write_address(transaction, before.id, &address, found, now).await,
        AddressChange::Unchanged => Ok(Readdressed::Done(before.id, now, ChangeLog::default())),
        AddressChange::Another(there) => switch(transaction, account, before, address, there, settings, now).await,
    }
}

/// The address with the user and password that are known, and the feed that the server has there. `None` if the feed is gone
/// or no longer where it was.
async fn destination(
    transaction: &Transaction<'_>,
    account: AccountId,
    before: &Feed,
    address: &FeedAddress,
) -> Result<Option<(FeedAddress, Option<FeedId>)>, Error> {
    let Some(row) = query_opt(transaction, ADDRESS, &[&before.id.0]).await? else { return Ok(None) };
    let known = FeedAddress { url: row.get(0), credentials: row.get(1) };
    if known.url != before.url {
        return Ok(None);
    }
    let address = address.clone().after(&known);
    let there = id_of(transaction, &address, account).await?;
    Ok(Some((address, there)))
}

async fn write_address(
    transaction: &Transaction<'_>,
    id: FeedId,
    address: &FeedAddress,
    found: FoundBy,
    now: i64,
) -> Result<Readdressed, Error> {
    let hash = found.hash(&address.url).0.to_vec();
    let credentials = optional(address.credentials.as_ref());
    execute(transaction, READDRESS, &[&id.0, &text(&address.url), &hash, &credentials]).await?;
    let log = follows::end_subscriptions(transaction, id, now).await?;
    Ok(Readdressed::Done(id, now, log))
}

/// Leaves a feed and follows another, in the same folder and under the same name.
async fn switch(
    transaction: &Transaction<'_>,
    account: AccountId,
    before: &Feed,
    address: FeedAddress,
    there: Option<FeedId>,
    settings: FollowSettings,
    now: i64,
) -> Result<Readdressed, Error> {
    let mut log = ChangeLog::default();
    let id = if let Some(there) = there {
        log.add(follows::begin(transaction, account, there, &settings, now).await?);
        there
    } else {
        let seed = FeedSeed::instead_of(before, &settings, address);
        let inserted = import::insert_seeds(transaction, account, &[&seed]).await?;
        let Some(id) = inserted.into_values().next() else { return Ok(Readdressed::Raced) };
        follows::insert(transaction, account, &[(id, settings)], now).await?;
        id
    };
    let (left, _) = follows::end(transaction, account, before.id, now, None).await?;
    log.add(left);
    log.feeds(account, Some(id), 1);
    Ok(Readdressed::Done(id, now, log))
}

async fn apply(
    transaction: &Transaction<'_>,
    account: AccountId,
    id: FeedId,
    patch: &FeedPatch,
    now: i64,
) -> Result<ChangeLog, Error> {
    let title = patch.custom_title.as_ref().and_then(|title| optional(title.as_ref()));
    let folder_id = patch.folder_id.flatten().map(|folder| folder.0);
    let interval = patch.poll_interval.flatten();
    execute(
        transaction,
        UPDATE,
        &[
            &id.0,
            &account.0,
            &patch.custom_title.is_some(),
            &title,
            &patch.folder_id.is_some(),
            &folder_id,
            &patch.poll_interval.is_some(),
            &interval.map(i64::from),
            &patch.push_enabled,
        ],
    )
    .await?;
    if patch.poll_interval.is_none() && patch.push_enabled.is_none() {
        return Ok(ChangeLog::default());
    }
    follows::settle(transaction, id, interval, now).await
}

/// Locks the rows of feeds, in their order; when that was, or none if one of them is gone.
pub(crate) async fn lock(transaction: &Transaction<'_>, feeds: &[FeedId]) -> Result<Option<i64>, Error> {
    locked(transaction, LOCK, feeds).await
}

/// The same, as strong as a removal needs it: whoever asked for more later might deadlock.
pub(crate) async fn lock_to_delete(transaction: &Transaction<'_>, feeds: &[FeedId]) -> Result<Option<i64>, Error> {
    locked(transaction, LOCK_TO_DELETE, feeds).await
}

async fn locked(transaction: &Transaction<'_>, sql: &str, feeds: &[FeedId]) -> Result<Option<i64>, Error> {
    let ids: Vec<i64> = feeds.iter().map(|feed| feed.0).collect();
    let row = query_opt(transaction, sql, &[&ids]).await?;
    let is_whole = |count: i64| usize::try_from(count).is_ok_and(|count| count == ids.len());
    Ok(row.filter(|row| is_whole(row.get(1))).map(|row| row.get(0)))
}

pub(crate) fn adaptive_first() -> i64 {
    i64::try_from(ADAPTIVE_FIRST.as_secs()).unwrap_or(i64::MAX)
}
