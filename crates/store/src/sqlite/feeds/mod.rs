//! Feeds as the API shows them, with the subscription that each has; and the port that keeps, imports, changes and removes
//! them.

pub(crate) mod feed_changes;
pub(crate) mod feed_rows;
pub(crate) mod finish;
pub(crate) mod finish_plain;
pub(crate) mod folders;
pub(crate) mod follows;
pub(crate) mod import;
pub(crate) mod overview;
pub(crate) mod polls;

use async_trait::async_trait;
use domain::{
    AccountId, Feed, FeedId, FeedPatch, FeedSeed, FolderId, IconId, NewFeed,
    feed_state::FeedAddress,
    follow::NewFollow,
    ports::{FeedStore, FollowOutcome, ImportOutcome, NewFeedOutcome, StoreResult, UpdateOutcome},
    push::{SubscriptionState, SubscriptionView},
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{SqliteStore, entries::ingest, shared::queue::Priority};
use crate::values::{count, state_of, time, to_u32, url_hash};

pub(crate) const ALL: &str = concat!(include_str!("sql/select.sql"), include_str!("sql/followed.sql"));

pub(crate) const ONE: &str =
    concat!(include_str!("sql/select.sql"), include_str!("sql/followed.sql"), "  AND follows.feed_id = ?2");

pub(crate) const POLLED: &str = concat!(include_str!("sql/select.sql"), include_str!("sql/polled.sql"));

#[async_trait]
impl FeedStore for SqliteStore {
    async fn feeds(&self, account: AccountId) -> StoreResult<Vec<Feed>> {
        let mut feeds = self.readers.read(move |connection| all(connection, account)).await?;
        // Not by the database, which knows the case of ASCII letters only.
        feeds.sort_by_cached_key(|feed| {
            let title = feed.custom_title.as_ref().or(feed.title.as_ref()).unwrap_or(&feed.url);
            (title.to_lowercase(), feed.id)
        });
        Ok(feeds)
    }

    async fn feed(&self, account: AccountId, id: FeedId) -> StoreResult<Option<Feed>> {
        self.readers.read(move |connection| one(connection, account, id)).await
    }

    async fn feed_by_url(&self, account: AccountId, url: &str) -> StoreResult<Option<FeedId>> {
        let url = url.to_owned();
        let found = self.readers.read(move |connection| follows::followed(connection, account, &url)).await?;
        Ok(found.first().copied())
    }

    async fn follow(&self, account: AccountId, new: NewFollow) -> StoreResult<FollowOutcome> {
        self.writer.write(Priority::Usual, move |changes| follows::follow(changes, account, &new)).await
    }

    async fn add_feed(&self, account: AccountId, mut feed: NewFeed) -> StoreResult<NewFeedOutcome> {
        ingest::prepare(&mut feed.document);
        self.writer.write(Priority::Usual, move |changes| feed_changes::add(changes, account, &mut feed)).await
    }

    async fn import_feeds(&self, account: AccountId, feeds: Vec<FeedSeed>) -> StoreResult<Vec<ImportOutcome>> {
        self.writer.write(Priority::Usual, move |changes| import::import(changes, account, &feeds)).await
    }

    async fn update_feed(&self, account: AccountId, id: FeedId, patch: FeedPatch) -> StoreResult<UpdateOutcome<Feed>> {
        self.writer.write(Priority::Usual, move |changes| feed_changes::update(changes, account, id, &patch)).await
    }

    async fn delete_feed(&self, account: AccountId, id: FeedId) -> StoreResult<bool> {
        self.writer.write(Priority::Usual, move |changes| follows::end(changes, account, id)).await
    }
}

fn all(connection: &Connection, account: AccountId) -> Result<Vec<Feed>> {
    connection.prepare_cached(ALL)?.query_map([account.0], feed_of)?.collect()
}

/// One that the account follows.
pub(crate) fn one(connection: &Connection, account: AccountId, id: FeedId) -> Result<Option<Feed>> {
    connection.prepare_cached(ONE)?.query_row((account.0, id.0), feed_of).optional()
}

/// As the server has it, whoever follows it.
pub(crate) fn polled(connection: &Connection, id: FeedId) -> Result<Option<Feed>> {
    connection.prepare_cached(POLLED)?.query_row([id.0], feed_of).optional()
}

/// The feed at an address: the one that all share or, if it has a user and password, the account's own.
pub(crate) fn id_of(connection: &Connection, address: &FeedAddress, account: AccountId) -> Result<Option<FeedId>> {
    let mut statement = connection.prepare_cached("SELECT id FROM feeds WHERE url_hash = ?")?;
    statement.query_row([url_hash(address, account)], |row| row.get(0).map(FeedId)).optional()
}

fn feed_of(row: &Row<'_>) -> Result<Feed> {
    Ok(Feed {
        id: FeedId(row.get(0)?),
        url: row.get(1)?,
        has_credentials: row.get(24)?,
        site_url: row.get(2)?,
        title: row.get(3)?,
        custom_title: row.get(4)?,
        folder_id: row.get::<_, Option<i64>>(5)?.map(FolderId),
        last_fetched_at: row.get::<_, Option<i64>>(6)?.map(time),
        next_check_at: time(row.get(7)?),
        failure_count: to_u32(row.get(8)?),
        last_error: row.get(9)?,
        is_gone: row.get(10)?,
        unread_count: count(row.get(11)?),
        poll_interval: row.get::<_, Option<i64>>(12)?.map(to_u32),
        push_enabled: row.get(13)?,
        subscription: subscription_of(row)?,
        icon_id: row.get::<_, Option<i64>>(25)?.map(IconId),
    })
}

/// The current one, if there is one.
fn subscription_of(row: &Row<'_>) -> Result<Option<SubscriptionView>> {
    let Some(hub_url) = row.get(14)? else { return Ok(None) };
    // One of a later version.
    let Ok(state) = state_of(row.get_ref(16)?.as_str()?) else { return Ok(None) };
    Ok(Some(SubscriptionView {
        feed_id: Some(FeedId(row.get(0)?)),
        hub_url,
        topic_url: row.get(15)?,
        state,
        is_active: state == SubscriptionState::Active,
        lease_seconds: row.get::<_, Option<i64>>(17)?.map(to_u32),
        expires_at: row.get::<_, Option<i64>>(18)?.map(time),
        error_count: to_u32(row.get(19)?),
        last_error: row.get(20)?,
        last_push_at: row.get::<_, Option<i64>>(21)?.map(time),
        push_count: count(row.get(22)?),
        miss_count: count(row.get(23)?),
    }))
}
