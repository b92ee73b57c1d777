//! Feeds: kept, changed, removed, and what that means for their subscriptions.

use std::{borrow::Cow, collections::HashMap};

use deadpool_postgres::{Client, Transaction};
use domain::{
    Feed, FeedId, FeedPatch, FolderId, NewFeed,
    changes::ChangeLog,
    feed_state::{FeedAddress, FeedStateChange},
    ports::{NewFeedOutcome, UpdateOutcome},
    schedule::ADAPTIVE_FIRST,
};
use tokio_postgres::Error;

use crate::postgres::{
    LONG_WORK, Params, PostgresStore, both,
    entries::ingest,
    execute,
    feeds::{id_of, one},
    outbox::{
        events::{self, Audience, payload_feed},
        webhooks,
    },
    push::{discovery::PushState, subscription_changes::Decisions, subscriptions},
    query_opt, query_then,
    shared::values::{millis, optional, text, url_hash},
};
use crate::target::Target;

const INSERT: &str = include_str!("sql/feed_changes_insert.sql");

const LOCK: &str = include_str!("sql/feed_changes_lock.sql");

const LOCK_TO_DELETE: &str = include_str!("sql/feed_changes_lock_to_delete.sql");

const UPDATE: &str = include_str!("sql/feed_changes_update.sql");

const READDRESS: &str = include_str!("sql/feed_changes_readdress.sql");

/// `None` if a feed of this URL was there and went in the same moment.
pub(crate) async fn add(
    store: &PostgresStore,
    client: &mut Client,
    feed: &NewFeed,
) -> Result<Option<NewFeedOutcome>, Error> {
    let transaction = client.transaction().await?;
    if let Some(folder) = feed.folder_id
        && !has_folder(&transaction, folder).await?
    {
        return Ok(Some(NewFeedOutcome::NoSuchFolder));
    }
    let (inserted, webhooks) = both(insert(&transaction, feed), webhooks::enabled(&transaction)).await?;
    let Some((id, now)) = inserted else {
        return Ok(id_of(&transaction, &feed.address).await?.map(NewFeedOutcome::AlreadyThere));
    };
    let folder_id = feed.folder_id.map(|folder| folder.0);
    let target = Target { feed_id: id, folder_id, claimed_at: now, is_backlog: true, now };
    let change = FeedStateChange::of_new_feed(feed.next_check_in);
    let push = PushState::new(&feed.address.url);
    let nothing = HashMap::new();
    let (_, news, mut log) =
        ingest::store_document(&transaction, target, change, &push, &feed.document, &nothing, &webhooks).await?;
    log.feeds(Some(FeedId(id)), 1);
    let title = feed.custom_title.as_ref().or(feed.document.title.as_ref());
    let shown = payload_feed(target, push.url, optional(title).map(Cow::into_owned));
    log.deliveries_if(Audience { webhooks: &webhooks, feed: shown }.tell(&transaction, &news, now).await?);
    let kept = one(&transaction, id).await?;
    store.commit(transaction, log).await?;
    Ok(kept.map(|feed| NewFeedOutcome::Added(Box::new(feed))))
}

/// The new id, and when it was given.
async fn insert(transaction: &Transaction<'_>, feed: &NewFeed) -> Result<Option<(i64, i64)>, Error> {
    let folder_id = feed.folder_id.map(|folder| folder.0);
    let row = query_opt(
        transaction,
        INSERT,
        &[
            &text(&feed.address.url),
            &url_hash(&feed.address),
            &optional(feed.address.credentials.as_ref()),
            &folder_id,
            &optional(feed.custom_title.as_ref()),
            &millis(feed.next_check_in),
            &adaptive_first(),
        ],
    )
    .await?;
    Ok(row.map(|row| (row.get(0), row.get(1))))
}

pub(crate) async fn update(
    store: &PostgresStore,
    client: &mut Client,
    id: FeedId,
    patch: &FeedPatch,
) -> Result<UpdateOutcome<Feed>, Error> {
    let transaction = client.transaction().await?;
    let no_folder = match patch.folder_id.flatten() {
        Some(folder) => !has_folder(&transaction, folder).await?,
        None => false,
    };
    let Some(row) = query_opt(&transaction, LOCK, &[&id.0]).await? else { return Ok(UpdateOutcome::NotFound) };
    if no_folder {
        return Ok(UpdateOutcome::NoSuchFolder);
    }
    let before = one(&transaction, id.0).await?;
    if let Some(address) = &patch.address {
        match id_of(&transaction, address).await? {
            Some(other) if other != id => return Ok(UpdateOutcome::Conflict(Some(other))),
            _ => {
                let before = FeedAddress { url: row.get(2), credentials: row.get(3) };
                readdress(&transaction, id, &address.clone().after(&before)).await?;
            }
        }
    }
    apply(&transaction, id, patch).await?;
    let mut log = ChangeLog::default();
    if patch.address.is_some() || patch.push_enabled == Some(false) {
        log = end_subscriptions(&transaction, id, row.get(0)).await?;
    }
    if let Some(folder) = patch.folder_id.map(|folder| folder.map(|folder| folder.0))
        && folder != row.get(1)
    {
        transaction.batch_execute(LONG_WORK).await?;
        execute(&transaction, "UPDATE entries SET folder_id = $2 WHERE feed_id = $1", &[&id.0, &folder]).await?;
    }
    let feed = one(&transaction, id.0).await?;
    if feed != before {
        log.feed(id);
    }
    store.commit(transaction, log).await?;
    Ok(feed.map_or(UpdateOutcome::NotFound, |feed| UpdateOutcome::Updated(Box::new(feed))))
}

async fn readdress(transaction: &Transaction<'_>, id: FeedId, address: &FeedAddress) -> Result<(), Error> {
    let credentials = optional(address.credentials.as_ref());
    execute(transaction, READDRESS, &[&id.0, &text(&address.url), &url_hash(address), &credentials]).await.map(drop)
}

async fn apply(transaction: &Transaction<'_>, id: FeedId, patch: &FeedPatch) -> Result<(), Error> {
    let title = patch.custom_title.as_ref().and_then(|title| optional(title.as_ref()));
    let folder_id = patch.folder_id.flatten().map(|folder| folder.0);
    let interval = patch.poll_interval.flatten().map(i64::from);
    execute(
        transaction,
        UPDATE,
        &[
            &id.0,
            &patch.custom_title.is_some(),
            &title,
            &patch.folder_id.is_some(),
            &folder_id,
            &patch.poll_interval.is_some(),
            &interval,
            &patch.push_enabled,
        ],
    )
    .await
    .map(drop)
}

async fn end_subscriptions(transaction: &Transaction<'_>, id: FeedId, now: i64) -> Result<ChangeLog, Error> {
    let mut decisions = Decisions::new(subscriptions::lock_of_feeds(transaction, &[id.0]).await?, now);
    decisions.end_all();
    decisions.write(transaction).await?;
    let (news, mut log) = decisions.into_news();
    log.deliveries_if(events::tell(transaction, &news, now).await?);
    Ok(log)
}

/// The subscriptions are told first that they are not wanted; what is left of them lives on without the feed.
pub(crate) async fn delete(store: &PostgresStore, client: &mut Client, id: FeedId) -> Result<bool, Error> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(LONG_WORK).await?;
    let (which, feeds): (Params<'_>, _) = (&[&id.0], [id.0]);
    let known = subscriptions::lock_of_feeds(&transaction, &feeds);
    let (held, known) = query_then(&transaction, LOCK_TO_DELETE, which, known).await?;
    let Some(held) = held.into_iter().next() else { return Ok(false) };
    let now = held.get(0);
    let mut decisions = Decisions::new(known, now);
    decisions.end_all();
    decisions.write_subscriptions(&transaction).await?;
    // While there is a feed that can be shown.
    let (news, mut log) = decisions.into_news();
    log.deliveries_if(events::tell(&transaction, &news, now).await?);
    let deleted = execute(&transaction, "DELETE FROM feeds WHERE id = $1", &[&id.0]).await?;
    log.feeds(Some(id), 1);
    store.commit(transaction, log).await?;
    Ok(deleted > 0)
}

/// Makes sure of a folder until the transaction ends.
async fn has_folder(transaction: &Transaction<'_>, id: FolderId) -> Result<bool, Error> {
    let sql = "SELECT id FROM folders WHERE id = $1 FOR KEY SHARE";
    Ok(query_opt(transaction, sql, &[&id.0]).await?.is_some())
}

pub(crate) fn adaptive_first() -> i64 {
    i64::try_from(ADAPTIVE_FIRST.as_secs()).unwrap_or(i64::MAX)
}
