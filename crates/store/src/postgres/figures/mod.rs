//! The figures behind the plots. They are added to in the transactions that are written anyway, by one statement for each,
//! sent with others; ends of polls without a document and marks of deliveries add theirs in their own statements.
//!
//! Each connection has rows of its own (`backend`), which no other transaction touches: nobody waits for another's count, and
//! a node that is frozen in its transaction holds up nobody.

use async_trait::async_trait;
use deadpool_postgres::{Client, GenericClient};
use domain::{
    AccountId,
    figures::{FigureLog, FigureQuery, Point, hours_end, minutes_end},
    ports::{FigureStore, StoreResult, Viewer},
};
use tokio_postgres::Error;

use crate::postgres::{
    Params, PostgresStore, execute, now_ms, query, query_opt,
    shared::{
        errors::store_error,
        values::{count, figure_account, series_of, time, u64_to_i64},
    },
};

const WRITE: &str = include_str!("sql/write.sql");

const READ: &str = include_str!("sql/read.sql");

const GATHER: &str = include_str!("sql/gather.sql");

const REMOVE_HOURS: &str = include_str!("sql/remove_hours.sql");

const FORGET_MINUTES: &str = include_str!("sql/forget_minutes.sql");

const FORGET_HOURS: &str = include_str!("sql/forget_hours.sql");

#[async_trait]
impl FigureStore for PostgresStore {
    async fn figures(&self, viewer: Viewer, figures: FigureQuery) -> StoreResult<Vec<Point>> {
        self.read(async |client| read(client, viewer, &figures).await).await
    }

    async fn prune_figures(&self, limit: u32) -> StoreResult<u64> {
        let client = self.client().await?;
        prune(&client, limit).await.map_err(store_error)
    }
}

/// Adds what a transaction has counted to the rows of its minute.
pub(crate) async fn write(client: &impl GenericClient, mut log: FigureLog) -> Result<(), Error> {
    if log.is_empty() {
        return Ok(());
    }
    let figures = log.take();
    let accounts: Vec<i64> = figures.iter().map(|figure| figure_account(figure.account_id)).collect();
    let series: Vec<i64> = figures.iter().map(|figure| figure.series.number()).collect();
    let counts: Vec<i64> = figures.iter().map(|figure| u64_to_i64(figure.count)).collect();
    execute(client, WRITE, &[&accounts, &series, &counts]).await.map(drop)
}

async fn read(client: &Client, viewer: Viewer, figures: &FigureQuery) -> Result<Vec<Point>, Error> {
    let (account, series, step) = (figure_account(viewer.account()), series_of(figures.metric), figures.step.minutes());
    let ((minute, minute_end), (hour, hour_end)) = (figures.minutes(), figures.hours());
    let wanted: Params<'_> = &[&account, &series, &step, &minute, &minute_end, &hour, &hour_end];
    let rows = query(client, READ, wanted).await?;
    Ok(figures.points(rows.iter().map(|row| (row.get(0), row.get(1), count(row.get(2))))))
}

async fn prune(client: &Client, limit: u32) -> Result<u64, Error> {
    let now = time(now_ms(client).await?);
    let gathered = query_opt(client, GATHER, &[&minutes_end(now), &i64::from(limit)]).await?;
    let gathered: i64 = gathered.map_or(0, |row| row.get(0));
    let left = i64::from(limit) - gathered;
    Ok(count(gathered) + execute(client, REMOVE_HOURS, &[&hours_end(now), &left]).await?)
}

/// Removes so many figures of an account; returns how many.
pub(crate) async fn forget(client: &Client, account: AccountId, limit: u64) -> Result<u64, Error> {
    let mut removed = 0;
    for sql in [FORGET_MINUTES, FORGET_HOURS] {
        let left = u64_to_i64(limit.saturating_sub(removed));
        removed += execute(client, sql, &[&account.0, &left]).await?;
    }
    Ok(removed)
}
