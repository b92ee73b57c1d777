//! The kept counts of several accounts, in one round trip.

use std::collections::BTreeMap;

use deadpool_postgres::Client;
use domain::{
    AccountId, FeedId, FolderId,
    entry::{AccountCounts, FollowCount},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{Params, query, shared::values::count};

const STARRED: &str = include_str!("sql/account_counts_starred.sql");

const OF_ALL: &str = include_str!("sql/account_counts_of_all.sql");

const OF_FEEDS: &str = include_str!("sql/account_counts_of_feeds.sql");

pub(crate) async fn read(
    client: &Client,
    accounts: &[AccountId],
    feeds: Option<&[FeedId]>,
) -> Result<Vec<AccountCounts>, Error> {
    let accounts: Vec<i64> = accounts.iter().map(|account| account.0).collect();
    let feeds: Option<Vec<i64>> = feeds.map(|feeds| feeds.iter().map(|feed| feed.0).collect());
    let (of_all, of_feeds): (Params<'_>, Params<'_>) = (&[&accounts], &[&accounts, &feeds]);
    let (statement, params) = if feeds.is_some() { (OF_FEEDS, of_feeds) } else { (OF_ALL, of_all) };
    let (starred, follows) = tokio::try_join!(query(client, STARRED, of_all), query(client, statement, params))?;
    let mut found: BTreeMap<AccountId, AccountCounts> = starred.iter().map(counts_of).collect();
    for row in &follows {
        if let Some(counts) = found.get_mut(&AccountId(row.get(0))) {
            counts.follows.push(follow_of(row));
        }
    }
    Ok(found.into_values().collect())
}

fn counts_of(row: &Row) -> (AccountId, AccountCounts) {
    let account_id = AccountId(row.get(0));
    (account_id, AccountCounts { account_id, starred: count(row.get(1)), follows: Vec::new() })
}

fn follow_of(row: &Row) -> FollowCount {
    let folder_id = row.get::<_, Option<i64>>(2).map(FolderId);
    FollowCount { feed_id: FeedId(row.get(1)), folder_id, unread: count(row.get(3)) }
}
