//! Feeds: kept, imported, changed, removed.

use async_trait::async_trait;
use deadpool_postgres::{Client, GenericClient, Transaction};
use domain::{
    Feed, FeedId, FeedPatch, FeedSeed, FolderId, NewFeed,
    feed_state::FeedAddress,
    ports::{FeedStore, ImportOutcome, NewFeedOutcome, StoreResult, UpdateOutcome},
    schedule::ADAPTIVE_FIRST,
};
use tokio_postgres::{Error, Row};

use super::{
    LONG_WORK, PostgresStore, errors,
    errors::store_error,
    execute, import,
    ingest::{self, Target},
    now_ms, query, query_opt,
    values::{count, millis, optional, small, text, time, url_hash},
};

/// Times a change is tried again because another took the same URL in the same moment.
const URL_RACES_MAX: u32 = 3;

const COLUMNS: &str = "
id, url, site_url, title, custom_title, folder_id, last_fetched_at, next_check_at, failure_count, last_error, is_gone,
unread_count, poll_interval_secs, push_enabled";

const INSERT: &str = "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
INSERT INTO feeds (url, url_hash, credentials, folder_id, custom_title, next_check_at, adaptive_secs, created_at)
SELECT $1, $2, $3, $4, $5, now.ms + $6, $7, now.ms
FROM now
ON CONFLICT (url_hash) DO NOTHING
RETURNING id";

const UPDATE: &str = "
UPDATE feeds
SET custom_title = CASE WHEN $2 THEN $3 ELSE custom_title END,
    folder_id = CASE WHEN $4 THEN $5 ELSE folder_id END,
    poll_interval_secs = CASE WHEN $6 THEN $7 ELSE poll_interval_secs END,
    push_enabled = coalesce($8, push_enabled)
WHERE id = $1";

/// Another address is another document: nothing that was learnt at the old one holds, and whoever polls that just now
/// has lost the lease.
const READDRESS: &str = "
UPDATE feeds
SET url = $2,
    url_hash = $3,
    credentials = $4,
    etag = NULL,
    last_modified = NULL,
    body_hash = NULL,
    failure_count = 0,
    last_error = NULL,
    is_gone = false,
    next_check_at = (SELECT pirssonite_now_ms()),
    lease_owner = NULL,
    lease_until = 0
WHERE id = $1";

#[async_trait]
impl FeedStore for PostgresStore {
    async fn feeds(&self) -> StoreResult<Vec<Feed>> {
        let client = self.client().await?;
        let rows = query(&client, &format!("SELECT {COLUMNS} FROM feeds"), &[]).await.map_err(store_error)?;
        let mut feeds: Vec<Feed> = rows.iter().map(feed_of).collect();
        // Not by the database, whose idea of case depends on its locale.
        feeds.sort_by_cached_key(|feed| {
            let title = feed.custom_title.as_ref().or(feed.title.as_ref()).unwrap_or(&feed.url);
            (title.to_lowercase(), feed.id)
        });
        Ok(feeds)
    }

    async fn feed(&self, id: FeedId) -> StoreResult<Option<Feed>> {
        let client = self.client().await?;
        one(&client, id.0).await.map_err(store_error)
    }

    async fn feed_by_url(&self, url: &str) -> StoreResult<Option<FeedId>> {
        let client = self.client().await?;
        let address = FeedAddress { url: url.to_owned(), credentials: None };
        id_of(&client, &address).await.map_err(store_error)
    }

    async fn add_feed(&self, feed: NewFeed) -> StoreResult<NewFeedOutcome> {
        let mut client = self.client().await?;
        for _ in 0..URL_RACES_MAX {
            if let Some(outcome) = add(&mut client, &feed).await.map_err(store_error)? {
                return Ok(outcome);
            }
        }
        Err(races())
    }

    async fn import_feeds(&self, feeds: Vec<FeedSeed>) -> StoreResult<Vec<ImportOutcome>> {
        let mut client = self.client().await?;
        import::import(&mut client, &feeds).await.map_err(store_error)
    }

    async fn update_feed(&self, id: FeedId, patch: FeedPatch) -> StoreResult<UpdateOutcome<Feed>> {
        let mut client = self.client().await?;
        for _ in 0..URL_RACES_MAX {
            match update(&mut client, id, &patch).await {
                Err(error) if errors::is_taken(&error) => {}
                result => return result.map_err(store_error),
            }
        }
        Err(races())
    }

    async fn delete_feed(&self, id: FeedId) -> StoreResult<bool> {
        let mut client = self.client().await?;
        let deleted = async {
            let transaction = client.transaction().await?;
            transaction.batch_execute(LONG_WORK).await?;
            let deleted = execute(&transaction, "DELETE FROM feeds WHERE id = $1", &[&id.0]).await?;
            transaction.commit().await?;
            Ok(deleted > 0)
        };
        deleted.await.map_err(store_error)
    }
}

fn races() -> domain::ports::StoreError {
    domain::ports::StoreError::Unavailable("others change feeds of the same URL".to_owned())
}

async fn one(client: &impl GenericClient, id: i64) -> Result<Option<Feed>, Error> {
    let row = query_opt(client, &format!("SELECT {COLUMNS} FROM feeds WHERE id = $1"), &[&id]).await?;
    Ok(row.as_ref().map(feed_of))
}

async fn id_of(client: &impl GenericClient, address: &FeedAddress) -> Result<Option<FeedId>, Error> {
    let row = query_opt(client, "SELECT id FROM feeds WHERE url_hash = $1", &[&url_hash(address)]).await?;
    Ok(row.map(|row| FeedId(row.get(0))))
}

/// Makes sure of a folder until the transaction ends.
async fn has_folder(transaction: &Transaction<'_>, id: FolderId) -> Result<bool, Error> {
    let sql = "SELECT id FROM folders WHERE id = $1 FOR KEY SHARE";
    Ok(query_opt(transaction, sql, &[&id.0]).await?.is_some())
}

/// `None` if a feed of this URL was there and went in the same moment.
async fn add(client: &mut Client, feed: &NewFeed) -> Result<Option<NewFeedOutcome>, Error> {
    let transaction = client.transaction().await?;
    if let Some(folder) = feed.folder_id
        && !has_folder(&transaction, folder).await?
    {
        return Ok(Some(NewFeedOutcome::NoSuchFolder));
    }
    let Some(id) = insert(&transaction, feed).await? else {
        return Ok(id_of(&transaction, &feed.address).await?.map(NewFeedOutcome::AlreadyThere));
    };
    let now = now_ms(&transaction).await?;
    let target = Target {
        feed_id: id,
        folder_id: feed.folder_id.map(|folder| folder.0),
        claimed_at: now,
        now,
        next_check_at: now + millis(feed.next_check_in),
        adaptive_secs: adaptive_first(),
    };
    ingest::store_document(&transaction, target, &feed.document).await?;
    let kept = one(&transaction, id).await?;
    transaction.commit().await?;
    Ok(kept.map(|feed| NewFeedOutcome::Added(Box::new(feed))))
}

async fn insert(transaction: &Transaction<'_>, feed: &NewFeed) -> Result<Option<i64>, Error> {
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
    Ok(row.map(|row| row.get(0)))
}

async fn update(client: &mut Client, id: FeedId, patch: &FeedPatch) -> Result<UpdateOutcome<Feed>, Error> {
    let transaction = client.transaction().await?;
    let no_folder = match patch.folder_id.flatten() {
        Some(folder) => !has_folder(&transaction, folder).await?,
        None => false,
    };
    let sql = "SELECT folder_id FROM feeds WHERE id = $1 FOR NO KEY UPDATE";
    let Some(row) = query_opt(&transaction, sql, &[&id.0]).await? else { return Ok(UpdateOutcome::NotFound) };
    if no_folder {
        return Ok(UpdateOutcome::NoSuchFolder);
    }
    if let Some(address) = &patch.address {
        match id_of(&transaction, address).await? {
            Some(other) if other != id => return Ok(UpdateOutcome::Conflict(Some(other))),
            _ => readdress(&transaction, id, address).await?,
        }
    }
    apply(&transaction, id, patch).await?;
    if let Some(folder) = patch.folder_id.map(|folder| folder.map(|folder| folder.0))
        && folder != row.get(0)
    {
        transaction.batch_execute(LONG_WORK).await?;
        execute(&transaction, "UPDATE entries SET folder_id = $2 WHERE feed_id = $1", &[&id.0, &folder]).await?;
    }
    let feed = one(&transaction, id.0).await?;
    transaction.commit().await?;
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

fn feed_of(row: &Row) -> Feed {
    Feed {
        id: FeedId(row.get(0)),
        url: row.get(1),
        site_url: row.get(2),
        title: row.get(3),
        custom_title: row.get(4),
        folder_id: row.get::<_, Option<i64>>(5).map(FolderId),
        last_fetched_at: row.get::<_, Option<i64>>(6).map(time),
        next_check_at: time(row.get(7)),
        failure_count: small(row.get(8)),
        last_error: row.get(9),
        is_gone: row.get(10),
        unread_count: count(row.get(11)),
        poll_interval: row.get::<_, Option<i64>>(12).map(small),
        push_enabled: row.get(13),
        subscription: None,
    }
}

pub(super) fn adaptive_first() -> i64 {
    i64::try_from(ADAPTIVE_FIRST.as_secs()).unwrap_or(i64::MAX)
}
