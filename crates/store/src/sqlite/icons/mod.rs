//! The icons of feeds: kept once for all that have the same, handed to who follows them, and looked for when due.

use std::{collections::BTreeSet, time::Duration};

use async_trait::async_trait;
use domain::{
    AccountId, FeedId, IconId,
    icon::{FeedIcons, ICONS_BYTES_MAX, ICONS_MAX, Icon, IconJob, IconLook},
    ports::{IconStore, StoreResult},
    raster::RasterKind,
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::icons::{ORPHAN_KEPT, handed_out};
use crate::sqlite::{
    SqliteStore,
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{count, millis, to_u32, usize_to_i64};

const OF_FEED: &str = include_str!("sql/of_feed.sql");

const BY_ID: &str = include_str!("sql/by_id.sql");

const BY_FEED: &str = include_str!("sql/by_feed.sql");

const ONE: &str = "SELECT id, mime, bytes FROM icons WHERE id = ?";

pub(crate) const CLAIM: &str = include_str!("sql/claim.sql");

const JOB: &str = include_str!("sql/job.sql");

const KEEP: &str = include_str!("sql/keep.sql");

const HELD: &str = "SELECT icon_id FROM feed_icons WHERE feed_id = ?1";

const FINISH: &str = include_str!("sql/finish.sql");

const NEXT: &str = "SELECT due_at FROM feed_icons ORDER BY due_at LIMIT 1";

const PRUNE: &str = include_str!("sql/prune.sql");

#[async_trait]
impl IconStore for SqliteStore {
    async fn feed_icon(&self, account: AccountId, feed: FeedId) -> StoreResult<Option<Icon>> {
        self.readers.read(move |connection| one(connection, OF_FEED, account, feed.0)).await
    }

    async fn icon(&self, account: AccountId, id: IconId) -> StoreResult<Option<Icon>> {
        self.readers.read(move |connection| one(connection, BY_ID, account, id.0)).await
    }

    async fn feed_icons(&self, account: AccountId) -> StoreResult<FeedIcons> {
        self.readers.read(move |connection| all(connection, account)).await
    }

    async fn claim_due_icons(&self, limit: u32, lease: Duration) -> StoreResult<Vec<IconJob>> {
        self.writer.write(Priority::Usual, move |changes| claim(changes, limit, lease)).await
    }

    async fn finish_icon(&self, job: &IconJob, look: IconLook) -> StoreResult<()> {
        let (feed, failures) = (job.feed, job.failures);
        self.writer.write(Priority::Usual, move |changes| finish(changes, feed, failures, &look)).await
    }

    async fn next_icon_in(&self) -> StoreResult<Option<Duration>> {
        let now = self.now();
        let next: Option<i64> =
            self.readers.read(|connection| connection.query_row(NEXT, [], |row| row.get(0)).optional()).await?;
        Ok(next.map(|at| Duration::from_millis(count(at - now))))
    }

    async fn prune_icons(&self, limit: u32) -> StoreResult<u64> {
        self.writer.write(Priority::Usual, move |changes| prune(changes, limit)).await
    }
}

fn one(connection: &Connection, sql: &str, account: AccountId, id: i64) -> Result<Option<Icon>> {
    Ok(connection.prepare_cached(sql)?.query_row((account.0, id), icon_of).optional()?.flatten())
}

fn all(connection: &Connection, account: AccountId) -> Result<FeedIcons> {
    let mut listed = connection.prepare_cached(BY_FEED)?;
    let listed = listed
        .query_map((account.0, ICONS_MAX), |row| Ok((FeedId(row.get(0)?), IconId(row.get(1)?), count(row.get(2)?))))?;
    let by_feed = handed_out(&listed.collect::<Result<Vec<_>>>()?, ICONS_BYTES_MAX);
    let ids: BTreeSet<IconId> = by_feed.iter().map(|(_, icon)| *icon).collect();
    let mut statement = connection.prepare_cached(ONE)?;
    let mut icons = Vec::new();
    for id in ids {
        icons.extend(statement.query_row([id.0], icon_of).optional()?.flatten());
    }
    Ok(FeedIcons { by_feed, icons })
}

/// `None` for a kind that only a later version knows.
fn icon_of(row: &Row<'_>) -> Result<Option<Icon>> {
    let Some(kind) = RasterKind::of_mime(row.get_ref(1)?.as_str()?) else { return Ok(None) };
    Ok(Some(Icon { id: IconId(row.get(0)?), kind, bytes: row.get(2)? }))
}

fn claim(changes: &mut WriteTx<'_>, limit: u32, lease: Duration) -> Result<Vec<IconJob>> {
    let (connection, now) = (changes.connection, changes.now());
    let mut statement = connection.prepare_cached(CLAIM)?;
    let claimed = statement.query_map((now, limit, millis(lease)), |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))?;
    let mut jobs = Vec::new();
    for (feed, failures) in claimed.collect::<Result<Vec<(i64, i64)>>>()? {
        jobs.extend(connection.prepare_cached(JOB)?.query_row([feed], |row| job_of(feed, failures, row)).optional()?);
    }
    Ok(jobs)
}

fn job_of(feed: i64, failures: i64, row: &Row<'_>) -> Result<IconJob> {
    Ok(IconJob {
        feed: FeedId(feed),
        url: row.get(0)?,
        site_url: row.get(1)?,
        icon_url: row.get(2)?,
        logo_url: row.get(3)?,
        failures: to_u32(failures),
    })
}

fn finish(changes: &mut WriteTx<'_>, feed: FeedId, failures: u32, look: &IconLook) -> Result<()> {
    let (connection, now) = (changes.connection, changes.now());
    let icon: Option<i64> = match look {
        IconLook::Found(new) => {
            let row = (new.hash.0, new.kind.mime(), &new.bytes, now);
            Some(connection.prepare_cached(KEEP)?.query_row(row, |row| row.get(0))?)
        }
        IconLook::None | IconLook::Failed => None,
    };
    let (again_in, has_failed) = (millis(look.again_in(failures)), *look == IconLook::Failed);
    let row = (feed.0, icon, look.failures(failures), again_in, has_failed, now);
    let held: Option<Option<i64>> =
        connection.prepare_cached(HELD)?.query_row([feed.0], |row| row.get(0)).optional()?;
    connection.prepare_cached(FINISH)?.execute(row)?;
    if !has_failed && held.is_some_and(|held| held != icon) {
        changes.log.feed(feed);
    }
    Ok(())
}

fn prune(changes: &mut WriteTx<'_>, limit: u32) -> Result<u64> {
    let found_before = changes.now() - millis(ORPHAN_KEPT);
    let gone = changes.connection.prepare_cached(PRUNE)?.execute((limit, found_before))?;
    Ok(count(usize_to_i64(gone)))
}
