//! The kept counts of several accounts, in one read.

use std::collections::BTreeMap;

use domain::{
    AccountId, FeedId, FolderId,
    entry::{AccountCounts, FollowCount},
};
use rusqlite::{Connection, Result, Row};

use crate::values::count;

const STARRED: &str = include_str!("sql/account_counts_starred.sql");

pub(crate) const OF_ALL: &str = include_str!("sql/account_counts_of_all.sql");

pub(crate) const OF_FEEDS: &str = include_str!("sql/account_counts_of_feeds.sql");

/// Whose counts, and of which feeds, as JSON arrays.
pub(crate) struct Wanted {
    accounts: String,
    feeds: Option<String>,
}

impl Wanted {
    pub(crate) fn new(accounts: &[AccountId], feeds: Option<&[FeedId]>) -> Self {
        let feeds = feeds.map(|feeds| json(feeds.iter().map(|feed| feed.0)));
        Self { accounts: json(accounts.iter().map(|account| account.0)), feeds }
    }
}

fn json(ids: impl Iterator<Item = i64>) -> String {
    format!("[{}]", ids.map(|id| id.to_string()).collect::<Vec<_>>().join(","))
}

pub(crate) fn read(connection: &Connection, wanted: &Wanted) -> Result<Vec<AccountCounts>> {
    let mut found = BTreeMap::new();
    let mut starred = connection.prepare_cached(STARRED)?;
    let mut rows = starred.query([&wanted.accounts])?;
    while let Some(row) = rows.next()? {
        let account_id = AccountId(row.get(0)?);
        let counts = AccountCounts { account_id, starred: count(row.get(1)?), follows: Vec::new() };
        found.insert(account_id, counts);
    }
    let mut follows = connection.prepare_cached(if wanted.feeds.is_some() { OF_FEEDS } else { OF_ALL })?;
    let mut rows = match &wanted.feeds {
        Some(feeds) => follows.query((&wanted.accounts, feeds))?,
        None => follows.query([&wanted.accounts])?,
    };
    while let Some(row) = rows.next()? {
        if let Some(counts) = found.get_mut(&AccountId(row.get(0)?)) {
            counts.follows.push(follow_of(row)?);
        }
    }
    Ok(found.into_values().collect())
}

fn follow_of(row: &Row<'_>) -> Result<FollowCount> {
    let folder_id = row.get::<_, Option<i64>>(2)?.map(FolderId);
    Ok(FollowCount { feed_id: FeedId(row.get(1)?), folder_id, unread: count(row.get(3)?) })
}
