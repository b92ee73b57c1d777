//! The icons of feeds: kept once for all that have the same, handed to who follows them, and looked for when due.

use std::{collections::BTreeSet, time::Duration};

use async_trait::async_trait;
use deadpool_postgres::Client;
use domain::{
    AccountId, FeedId, IconId,
    changes::ChangeLog,
    icon::{FeedIcons, ICONS_BYTES_MAX, ICONS_MAX, Icon, IconJob, IconLook},
    ports::{IconStore, StoreResult},
    raster::RasterKind,
};
use tokio_postgres::{Error, Row};

use crate::icons::{ORPHAN_KEPT, handed_out};
use crate::postgres::{
    PostgresStore, execute, query, query_opt,
    shared::{
        errors::store_error,
        values::{count, millis, to_u32},
    },
};

const OF_FEED: &str = include_str!("sql/of_feed.sql");

const BY_ID: &str = include_str!("sql/by_id.sql");

const BY_FEED: &str = include_str!("sql/by_feed.sql");

const SOME: &str = "SELECT id, mime, bytes FROM icons WHERE id = ANY($1) ORDER BY id";

const CLAIM: &str = include_str!("sql/claim.sql");

const KEEP: &str = include_str!("sql/keep.sql");

const HELD: &str = "SELECT icon_id FROM feed_icons WHERE feed_id = $1 FOR UPDATE";

const FINISH: &str = include_str!("sql/finish.sql");

const NEXT: &str = "SELECT due_at - pirssonite_now_ms() FROM feed_icons ORDER BY due_at LIMIT 1";

const PRUNE: &str = include_str!("sql/prune.sql");

#[async_trait]
impl IconStore for PostgresStore {
    async fn feed_icon(&self, account: AccountId, feed: FeedId) -> StoreResult<Option<Icon>> {
        self.read(async |client| one(client, OF_FEED, account, feed.0).await).await
    }

    async fn icon(&self, account: AccountId, id: IconId) -> StoreResult<Option<Icon>> {
        self.read(async |client| one(client, BY_ID, account, id.0).await).await
    }

    async fn feed_icons(&self, account: AccountId) -> StoreResult<FeedIcons> {
        self.read(async |client| all(client, account).await).await
    }

    async fn claim_due_icons(&self, limit: u32, lease: Duration) -> StoreResult<Vec<IconJob>> {
        let client = self.client().await?;
        let rows = query(&client, CLAIM, &[&i64::from(limit), &millis(lease)]).await.map_err(store_error)?;
        Ok(rows.iter().map(job_of).collect())
    }

    async fn finish_icon(&self, job: &IconJob, look: IconLook) -> StoreResult<()> {
        let mut client = self.client().await?;
        finish(self, &mut client, job, &look).await.map_err(store_error)
    }

    async fn next_icon_in(&self) -> StoreResult<Option<Duration>> {
        let client = self.client().await?;
        let row = query_opt(&client, NEXT, &[]).await.map_err(store_error)?;
        Ok(row.map(|row| Duration::from_millis(count(row.get(0)))))
    }

    async fn prune_icons(&self, limit: u32) -> StoreResult<u64> {
        let client = self.client().await?;
        execute(&client, PRUNE, &[&i64::from(limit), &millis(ORPHAN_KEPT)]).await.map_err(store_error)
    }
}

async fn one(client: &Client, sql: &str, account: AccountId, id: i64) -> Result<Option<Icon>, Error> {
    Ok(query_opt(client, sql, &[&account.0, &id]).await?.as_ref().and_then(icon_of))
}

async fn all(client: &Client, account: AccountId) -> Result<FeedIcons, Error> {
    let rows = query(client, BY_FEED, &[&account.0, &i64::from(ICONS_MAX)]).await?;
    let listed: Vec<(FeedId, IconId, u64)> =
        rows.iter().map(|row| (FeedId(row.get(0)), IconId(row.get(1)), count(row.get::<_, i32>(2).into()))).collect();
    let by_feed = handed_out(&listed, ICONS_BYTES_MAX);
    let ids: BTreeSet<IconId> = by_feed.iter().map(|(_, icon)| *icon).collect();
    let ids: Vec<i64> = ids.into_iter().map(|id| id.0).collect();
    let icons = query(client, SOME, &[&ids]).await?.iter().filter_map(icon_of).collect();
    Ok(FeedIcons { by_feed, icons })
}

/// `None` for a kind that only a later version knows.
fn icon_of(row: &Row) -> Option<Icon> {
    Some(Icon { id: IconId(row.get(0)), kind: RasterKind::of_mime(row.get(1))?, bytes: row.get(2) })
}

fn job_of(row: &Row) -> IconJob {
    IconJob {
        feed: FeedId(row.get(0)),
        url: row.get(1),
        site_url: row.get(2),
        icon_url: row.get(3),
        logo_url: row.get(4),
        failures: to_u32(row.get(5)),
    }
}

async fn finish(store: &PostgresStore, client: &mut Client, job: &IconJob, look: &IconLook) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    let icon: Option<i64> = match look {
        IconLook::Found(new) => {
            let (hash, mime) = (new.hash.0.as_slice(), new.kind.mime());
            query_opt(&transaction, KEEP, &[&hash, &mime, &new.bytes]).await?.map(|row| row.get(0))
        }
        IconLook::None | IconLook::Failed => None,
    };
    let (again_in, has_failed) = (millis(look.again_in(job.failures)), *look == IconLook::Failed);
    let failures = i64::from(look.failures(job.failures));
    let held: Option<Option<i64>> = query_opt(&transaction, HELD, &[&job.feed.0]).await?.map(|row| row.get(0));
    execute(&transaction, FINISH, &[&job.feed.0, &icon, &failures, &again_in, &has_failed]).await?;
    let mut log = ChangeLog::default();
    if !has_failed && held.is_some_and(|held| held != icon) {
        log.feed(job.feed);
    }
    store.commit(transaction, log).await
}
