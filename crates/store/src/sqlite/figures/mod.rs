//! The figures behind the plots. Rows are written at the end of each transaction of the writer: however many deliveries or
//! pushes it holds, a few rows are added to.

use async_trait::async_trait;
use domain::{
    AccountId,
    figures::{FigureLog, FigureQuery, Point, hours_end, minutes_end},
    ports::{FigureStore, StoreResult, Viewer},
};
use rusqlite::{Connection, Result};

use crate::sqlite::{
    SqliteStore,
    shared::{errors::unfit, queue::Priority, writer::WriteTx},
};
use crate::values::{count, figure_account, series_of, time, u64_to_i64, usize_to_i64};

const WRITE: &str = include_str!("sql/write.sql");

pub(crate) const READ: &str = include_str!("sql/read.sql");

pub(crate) const OLD: &str = include_str!("sql/old.sql");

const ADD_HOUR: &str = include_str!("sql/add_hour.sql");

const REMOVE_MINUTE: &str = include_str!("sql/remove_minute.sql");

pub(crate) const REMOVE_HOURS: &str = include_str!("sql/remove_hours.sql");

const FORGET_MINUTES: &str = include_str!("sql/forget_minutes.sql");

const FORGET_HOURS: &str = include_str!("sql/forget_hours.sql");

#[async_trait]
impl FigureStore for SqliteStore {
    async fn figures(&self, viewer: Viewer, figures: FigureQuery) -> StoreResult<Vec<Point>> {
        self.readers.read(move |connection| read(connection, viewer, &figures)).await
    }

    async fn prune_figures(&self, limit: u32) -> StoreResult<u64> {
        self.writer.write(Priority::Usual, move |changes| prune(changes, limit)).await
    }
}

/// Adds what a transaction has counted to the rows of its minute.
pub(crate) fn write(connection: &Connection, log: &mut FigureLog, now: i64) -> Result<()> {
    if log.is_empty() {
        return Ok(());
    }
    let (minute, mut statement) = (domain::figures::minute_of(time(now)), connection.prepare_cached(WRITE)?);
    for figure in log.take() {
        let account = figure_account(figure.account_id);
        statement.execute((account, figure.series.number(), minute, u64_to_i64(figure.count)))?;
    }
    Ok(())
}

fn read(connection: &Connection, viewer: Viewer, figures: &FigureQuery) -> Result<Vec<Point>> {
    let series = serde_json::to_string(&series_of(figures.metric)).map_err(unfit)?;
    let ((minute, minute_end), (hour, hour_end)) = (figures.minutes(), figures.hours());
    let account = figure_account(viewer.account());
    let wanted = (account, series, figures.step.minutes(), minute, minute_end, hour, hour_end);
    let mut statement = connection.prepare_cached(READ)?;
    let rows = statement.query_map(wanted, |row| Ok((row.get(0)?, row.get(1)?, count(row.get(2)?))))?;
    Ok(figures.points(rows.collect::<Result<Vec<_>>>()?))
}

fn prune(changes: &mut WriteTx<'_>, limit: u32) -> Result<u64> {
    let (connection, now) = (changes.connection, time(changes.now()));
    let mut old = connection.prepare_cached(OLD)?;
    let old = old.query_map((minutes_end(now), limit), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
    })?;
    let old = old.collect::<Result<Vec<_>>>()?;
    let (mut add, mut remove) = (connection.prepare_cached(ADD_HOUR)?, connection.prepare_cached(REMOVE_MINUTE)?);
    for (account, series, minute, count) in &old {
        add.execute((account, series, minute / 60, count))?;
        remove.execute((account, series, minute))?;
    }
    let left = usize_to_i64(usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(old.len()));
    let removed = connection.prepare_cached(REMOVE_HOURS)?.execute((hours_end(now), left))?;
    Ok(count(usize_to_i64(old.len() + removed)))
}

/// Removes so many figures of an account; returns how many.
pub(crate) fn forget(connection: &Connection, account: AccountId, limit: u64) -> Result<u64> {
    let mut removed = 0;
    for sql in [FORGET_MINUTES, FORGET_HOURS] {
        let left = u64_to_i64(limit.saturating_sub(removed));
        let went = connection.prepare_cached(sql)?.execute((account.0, left))?;
        removed += count(usize_to_i64(went));
    }
    Ok(removed)
}
