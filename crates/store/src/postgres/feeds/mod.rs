//! Feeds, as they are read; how they are kept, changed and removed is in `feed_changes` and `follows`.

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
use deadpool_postgres::GenericClient;
use domain::{
    AccountId, Feed, FeedId, FeedPatch, FeedSeed, FolderId, IconId, NewFeed,
    feed_state::FeedAddress,
    follow::NewFollow,
    ports::{FeedStore, FollowOutcome, ImportOutcome, NewFeedOutcome, StoreResult, UpdateOutcome},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    PostgresStore,
    push::subscriptions,
    query, query_opt,
    shared::{
        errors,
        errors::store_error,
        values::{count, time, to_u32, url_hash},
    },
};

/// Times a change is tried again because another took the same URL in the same moment.
const URL_RACES_MAX: u32 = 3;

/// Where in a row its current subscription begins.
const VIEW_AT: usize = 16;

#[async_trait]
impl FeedStore for PostgresStore {
    async fn feeds(&self, account: AccountId) -> StoreResult<Vec<Feed>> {
        let rows = self.read(async |client| query(client, &followed_sql(""), &[&account.0]).await).await?;
        let mut feeds: Vec<Feed> = rows.iter().map(feed_of).collect();
        // Not by the database, whose idea of case depends on its locale.
        feeds.sort_by_cached_key(|feed| {
            let title = feed.custom_title.as_ref().or(feed.title.as_ref()).unwrap_or(&feed.url);
            (title.to_lowercase(), feed.id)
        });
        Ok(feeds)
    }

    async fn feed(&self, account: AccountId, id: FeedId) -> StoreResult<Option<Feed>> {
        self.read(async |client| one(client, account, id).await).await
    }

    async fn feed_by_url(&self, account: AccountId, url: &str) -> StoreResult<Option<FeedId>> {
        let followed = self.read(async |client| follows::followed(client, account, url).await).await?;
        Ok(followed.first().copied())
    }

    async fn follow(&self, account: AccountId, new: NewFollow) -> StoreResult<FollowOutcome> {
        let mut client = self.client().await?;
        for _ in 0..URL_RACES_MAX {
            if let Some(outcome) = follows::follow(self, &mut client, account, &new).await.map_err(store_error)? {
                return Ok(outcome);
            }
        }
        Err(races())
    }

    async fn add_feed(&self, account: AccountId, feed: NewFeed) -> StoreResult<NewFeedOutcome> {
        let mut client = self.client().await?;
        for _ in 0..URL_RACES_MAX {
            if let Some(outcome) = feed_changes::add(self, &mut client, account, &feed).await.map_err(store_error)? {
                return Ok(outcome);
            }
        }
        Err(races())
    }

    async fn import_feeds(&self, account: AccountId, feeds: Vec<FeedSeed>) -> StoreResult<Vec<ImportOutcome>> {
        let mut client = self.client_for_long().await?;
        for _ in 0..URL_RACES_MAX {
            let imported = import::import(self, &mut client, account, &feeds).await;
            if let Some(outcomes) = imported.map_err(store_error)? {
                return Ok(outcomes);
            }
        }
        Err(races())
    }

    async fn update_feed(&self, account: AccountId, id: FeedId, patch: FeedPatch) -> StoreResult<UpdateOutcome<Feed>> {
        let mut client = self.client().await?;
        for _ in 0..URL_RACES_MAX {
            match feed_changes::update(self, &mut client, account, id, &patch).await {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => {}
                Err(error) if errors::is_unique_violation(&error) => {}
                Err(error) => return Err(store_error(error)),
            }
        }
        Err(races())
    }

    async fn delete_feed(&self, account: AccountId, id: FeedId) -> StoreResult<bool> {
        let mut client = self.client().await?;
        let left = follows::leave(self, &mut client, account, id, None).await.map_err(store_error)?;
        Ok(left.is_some())
    }
}

fn races() -> domain::ports::StoreError {
    domain::ports::StoreError::Unavailable("others change feeds of the same URL".to_owned())
}

/// One that the account follows.
pub(crate) async fn one(client: &impl GenericClient, account: AccountId, id: FeedId) -> Result<Option<Feed>, Error> {
    let row = query_opt(client, &followed_sql("\n  AND follows.feed_id = $2"), &[&account.0, &id.0]).await?;
    Ok(row.as_ref().map(feed_of))
}

/// As the server has it, whoever follows it.
pub(crate) async fn polled(client: &impl GenericClient, id: FeedId) -> Result<Option<Feed>, Error> {
    let sql = format!(
        "
SELECT {}, NULL::text, NULL::bigint, 0::bigint, feeds.poll_interval_secs, feeds.push_enabled, {}
FROM feeds
LEFT JOIN subscriptions ON subscriptions.feed_id = feeds.id AND subscriptions.is_current
WHERE feeds.id = $1",
        COLUMNS,
        subscriptions::VIEW
    );
    Ok(query_opt(client, &sql, &[&id.0]).await?.as_ref().map(feed_of))
}

/// The feed at an address: the one that all share or, if it has a user and password, the account's own.
pub(crate) async fn id_of(
    client: &impl GenericClient,
    address: &FeedAddress,
    account: AccountId,
) -> Result<Option<FeedId>, Error> {
    let row = query_opt(client, "SELECT id FROM feeds WHERE url_hash = $1", &[&url_hash(address, account)]).await?;
    Ok(row.map(|row| FeedId(row.get(0))))
}

/// What all who follow a feed see of it.
const COLUMNS: &str = "
feeds.id, feeds.url, feeds.site_url, feeds.title, feeds.last_fetched_at, feeds.next_check_at, feeds.failure_count,
feeds.last_error, feeds.is_gone, coalesce(feeds.credentials, '') <> '',
(SELECT icon_id FROM feed_icons WHERE feed_icons.feed_id = feeds.id)";

/// The feeds that an account follows, with their current subscriptions.
fn followed_sql(condition: &str) -> String {
    format!(
        "
SELECT {COLUMNS}, follows.custom_title, follows.folder_id, follows.unread_count, follows.poll_interval_secs,
       follows.push_enabled, {}
FROM follows
JOIN feeds ON feeds.id = follows.feed_id
LEFT JOIN subscriptions ON subscriptions.feed_id = feeds.id AND subscriptions.is_current
WHERE follows.account_id = $1{condition}",
        subscriptions::VIEW
    )
}

fn feed_of(row: &Row) -> Feed {
    let id = FeedId(row.get(0));
    Feed {
        id,
        url: row.get(1),
        has_credentials: row.get(9),
        site_url: row.get(2),
        title: row.get(3),
        custom_title: row.get(11),
        folder_id: row.get::<_, Option<i64>>(12).map(FolderId),
        last_fetched_at: row.get::<_, Option<i64>>(4).map(time),
        next_check_at: time(row.get(5)),
        failure_count: to_u32(row.get(6)),
        last_error: row.get(7),
        is_gone: row.get(8),
        unread_count: count(row.get(13)),
        poll_interval: row.get::<_, Option<i64>>(14).map(to_u32),
        push_enabled: row.get(15),
        subscription: subscriptions::view_of(row, id, VIEW_AT),
        icon_id: row.get::<_, Option<i64>>(10).map(IconId),
    }
}
