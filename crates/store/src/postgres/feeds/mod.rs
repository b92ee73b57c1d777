//! Feeds, as they are read; how they are kept, changed and removed is in `feed_changes`.

pub(crate) mod feed_changes;
pub(crate) mod feed_rows;
pub(crate) mod finish;
pub(crate) mod finish_plain;
pub(crate) mod folders;
pub(crate) mod import;
pub(crate) mod overview;
pub(crate) mod polls;

use async_trait::async_trait;
use deadpool_postgres::GenericClient;
use domain::{
    Feed, FeedId, FeedPatch, FeedSeed, FolderId, NewFeed,
    feed_state::FeedAddress,
    ports::{FeedStore, ImportOutcome, NewFeedOutcome, StoreResult, UpdateOutcome},
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
const VIEW_AT: usize = 15;

#[async_trait]
impl FeedStore for PostgresStore {
    async fn feeds(&self) -> StoreResult<Vec<Feed>> {
        let rows = self.read(async |client| query(client, &select(""), &[]).await).await?;
        let feeds: Result<Vec<Feed>, Error> = rows.iter().map(feed_of).collect();
        let mut feeds = feeds.map_err(store_error)?;
        // Not by the database, whose idea of case depends on its locale.
        feeds.sort_by_cached_key(|feed| {
            let title = feed.custom_title.as_ref().or(feed.title.as_ref()).unwrap_or(&feed.url);
            (title.to_lowercase(), feed.id)
        });
        Ok(feeds)
    }

    async fn feed(&self, id: FeedId) -> StoreResult<Option<Feed>> {
        self.read(async |client| one(client, id.0).await).await
    }

    async fn feed_by_url(&self, url: &str) -> StoreResult<Option<FeedId>> {
        let address = FeedAddress { url: url.to_owned(), credentials: None };
        self.read(async |client| id_of(client, &address).await).await
    }

    async fn add_feed(&self, feed: NewFeed) -> StoreResult<NewFeedOutcome> {
        let mut client = self.client().await?;
        for _ in 0..URL_RACES_MAX {
            if let Some(outcome) = feed_changes::add(self, &mut client, &feed).await.map_err(store_error)? {
                return Ok(outcome);
            }
        }
        Err(races())
    }

    async fn import_feeds(&self, feeds: Vec<FeedSeed>) -> StoreResult<Vec<ImportOutcome>> {
        let mut client = self.client().await?;
        import::import(self, &mut client, &feeds).await.map_err(store_error)
    }

    async fn update_feed(&self, id: FeedId, patch: FeedPatch) -> StoreResult<UpdateOutcome<Feed>> {
        let mut client = self.client().await?;
        for _ in 0..URL_RACES_MAX {
            match feed_changes::update(self, &mut client, id, &patch).await {
                Err(error) if errors::is_unique_violation(&error) => {}
                result => return result.map_err(store_error),
            }
        }
        Err(races())
    }

    async fn delete_feed(&self, id: FeedId) -> StoreResult<bool> {
        let mut client = self.client().await?;
        feed_changes::delete(self, &mut client, id).await.map_err(store_error)
    }
}

fn races() -> domain::ports::StoreError {
    domain::ports::StoreError::Unavailable("others change feeds of the same URL".to_owned())
}

pub(crate) async fn one(client: &impl GenericClient, id: i64) -> Result<Option<Feed>, Error> {
    query_opt(client, &select("WHERE feeds.id = $1"), &[&id]).await?.as_ref().map(feed_of).transpose()
}

pub(crate) async fn id_of(client: &impl GenericClient, address: &FeedAddress) -> Result<Option<FeedId>, Error> {
    let row = query_opt(client, "SELECT id FROM feeds WHERE url_hash = $1", &[&url_hash(address)]).await?;
    Ok(row.map(|row| FeedId(row.get(0))))
}

/// Feeds with their current subscriptions.
fn select(condition: &str) -> String {
    format!(
        "
SELECT feeds.id, feeds.url, feeds.site_url, feeds.title, feeds.custom_title, feeds.folder_id, feeds.last_fetched_at,
       feeds.next_check_at, feeds.failure_count, feeds.last_error, feeds.is_gone, feeds.unread_count,
       feeds.poll_interval_secs, feeds.push_enabled, feeds.credentials IS NOT NULL, {}
FROM feeds
LEFT JOIN subscriptions ON subscriptions.feed_id = feeds.id AND subscriptions.is_current
{condition}",
        subscriptions::VIEW
    )
}

fn feed_of(row: &Row) -> Result<Feed, Error> {
    let id = FeedId(row.get(0));
    Ok(Feed {
        id,
        url: row.get(1),
        has_credentials: row.get(14),
        site_url: row.get(2),
        title: row.get(3),
        custom_title: row.get(4),
        folder_id: row.get::<_, Option<i64>>(5).map(FolderId),
        last_fetched_at: row.get::<_, Option<i64>>(6).map(time),
        next_check_at: time(row.get(7)),
        failure_count: to_u32(row.get(8)),
        last_error: row.get(9),
        is_gone: row.get(10),
        unread_count: count(row.get(11)),
        poll_interval: row.get::<_, Option<i64>>(12).map(to_u32),
        push_enabled: row.get(13),
        subscription: subscriptions::view_of(row, id, VIEW_AT)?,
    })
}
