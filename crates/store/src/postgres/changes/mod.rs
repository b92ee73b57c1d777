//! The change stream. Rows are the last that a transaction writes: see [`commit`](PostgresStore::commit). Whoever waits is
//! told after it, by [hints].
//!
//! Many write at once, and a smaller number may become visible after a larger one. A reader stops before the first
//! number that is not settled: each writer holds a lock for the last number that was taken before its own, from before it
//! takes them until they are visible. So a reader asks, in this order: which number was the last to be taken; which locks
//! are held; which rows are there. A number that was taken before the first question and whose lock is not held at the
//! second is visible at the third, or never.
//!
//! Reading up to `pg_snapshot_xmin` would do without locks. But that is held back by every transaction of the whole
//! server that has written anything, also in other databases and by others, for as long as it runs; here only those
//! count that are about to commit.

pub(crate) mod hints;

use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Client, GenericClient};
use domain::{
    AccountId, EntryId, FeedId,
    changes::{Change, ChangeKind, ChangeNumber, ChangesPage, NewChange, is_known, prune_to},
    ports::{ChangeStore, StoreResult},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, PostgresStore, execute, now_ms, query, query_then,
    shared::{
        errors::store_error,
        values::{count, millis, time, u64_to_i64},
    },
};

/// What is in front of the keys of writers' locks: `ch`, and 48 bits of a number.
const KEY: i64 = 0x6368_0000_0000_0000;

const WRITE: &str = include_str!("sql/write.sql");

const LAST: &str = "SELECT last_value FROM changes_number_seq";

const UNSETTLED: &str = include_str!("sql/unsettled.sql");

const AFTER: &str = include_str!("sql/after.sql");

/// Others may prune too.
const LOCK_FLOOR: &str = "SELECT number FROM change_floor FOR UPDATE";

const OLDEST: &str = "SELECT number, at FROM changes ORDER BY number LIMIT $1";

#[async_trait]
impl ChangeStore for PostgresStore {
    async fn last_change(&self) -> StoreResult<ChangeNumber> {
        let client = self.client().await?;
        last(&client).await.map_err(store_error)
    }

    async fn changes_after(&self, after: ChangeNumber, limit: u32) -> StoreResult<ChangesPage> {
        let client = self.client().await?;
        read(&client, after, limit.max(1)).await.map_err(store_error)
    }

    async fn changed_since(&self, seen: u64) -> u64 {
        self.hints.changed_since(seen).await
    }

    async fn prune_changes(&self, older_than: Duration, limit: u32) -> StoreResult<u64> {
        let mut client = self.client_for_long().await?;
        prune(&mut client, older_than, limit).await.map_err(store_error)
    }
}

/// Writes what a transaction has changed. It has to be the last that it does: from here on it holds up readers.
pub(crate) async fn write(client: &impl GenericClient, changes: &[NewChange]) -> Result<(), Error> {
    if changes.is_empty() {
        return Ok(());
    }
    let kinds: Vec<&str> = changes.iter().map(|change| change.kind.name()).collect();
    let accounts: Vec<Option<i64>> = changes.iter().map(|change| change.account_id.map(|account| account.0)).collect();
    let feeds: Vec<Option<i64>> = changes.iter().map(|change| change.feed_id.map(|feed| feed.0)).collect();
    let counts: Vec<i64> = changes.iter().map(|change| u64_to_i64(change.count)).collect();
    let entries: Vec<String> = changes.iter().map(|change| array_of(&change.entries)).collect();
    execute(client, WRITE, &[&KEY, &kinds, &accounts, &feeds, &counts, &entries]).await.map(drop)
}

/// As text, because lists of lists are all of one length.
fn array_of(entries: &[EntryId]) -> String {
    let ids: Vec<String> = entries.iter().map(ToString::to_string).collect();
    format!("{{{}}}", ids.join(","))
}

/// All numbers up to this are settled.
async fn last(client: &Client) -> Result<ChangeNumber, Error> {
    let (taken, unsettled) = query_then(client, LAST, &[], query(client, UNSETTLED, &[&KEY])).await?;
    Ok(settled(&taken, &unsettled))
}

fn settled(taken: &[Row], unsettled: &[Row]) -> ChangeNumber {
    let taken = taken.first().map_or(0, |row| row.get(0));
    let unsettled = unsettled.first().and_then(|row| row.get(0));
    ChangeNumber(unsettled.map_or(taken, |unsettled: i64| unsettled.min(taken)))
}

async fn read(client: &Client, after: ChangeNumber, limit: u32) -> Result<ChangesPage, Error> {
    // One round trip, in this order; and each sees what is there when its turn comes.
    let (limit, params) = (i64::from(limit), after.0);
    let wanted: Params<'_> = &[&params, &limit];
    let rows = query_then(client, UNSETTLED, &[&KEY], query(client, AFTER, wanted));
    let (taken, (unsettled, rows)) = query_then(client, LAST, &[], rows).await?;
    let taken_last = ChangeNumber(taken.first().map_or(0, |row| row.get(0)));
    let pruned_to = ChangeNumber(rows.first().map_or(0, |row| row.get(0)));
    let last = settled(&taken, &unsettled);
    if !is_known(after, pruned_to, taken_last) {
        return Ok(ChangesPage::reset(last.max(pruned_to)));
    }
    let mut page = ChangesPage { next: after, ..ChangesPage::default() };
    let mut found = 0;
    for row in &rows {
        // A row of nothing but what was pruned.
        let Some(number) = row.get::<_, Option<i64>>(1).map(ChangeNumber) else { continue };
        found += 1;
        if number > last {
            page.has_more = true;
            break;
        }
        page.next = number;
        page.changes.extend(change_of(row, number));
    }
    page.has_more |= found == limit;
    Ok(page)
}

/// `None` of a kind that nobody here knows.
fn change_of(row: &Row, number: ChangeNumber) -> Option<Change> {
    Some(Change {
        number,
        kind: ChangeKind::by_name(row.get(2))?,
        account_id: row.get::<_, Option<i64>>(3).map(AccountId),
        feed_id: row.get::<_, Option<i64>>(4).map(FeedId),
        count: count(row.get(5)),
        entries: row.get::<_, Vec<i64>>(6).into_iter().map(EntryId).collect(),
        at: time(row.get(7)),
    })
}

async fn prune(client: &mut Client, older_than: Duration, limit: u32) -> Result<u64, Error> {
    let transaction = client.transaction().await?;
    query(&transaction, LOCK_FLOOR, &[]).await?;
    let kept_since = time(now_ms(&transaction).await? - millis(older_than));
    let last = query(&transaction, LAST, &[]).await?.first().map_or(0, |row| row.get(0));
    let oldest = query(&transaction, OLDEST, &[&i64::from(limit)]).await?;
    let oldest: Vec<_> = oldest.iter().map(|row| (ChangeNumber(row.get(0)), time(row.get(1)))).collect();
    let Some(to) = prune_to(&oldest, ChangeNumber(last), kept_since) else { return Ok(0) };
    let removed = execute(&transaction, "DELETE FROM changes WHERE number <= $1", &[&to.0]).await?;
    // A smaller number may become visible after a larger one was pruned: the floor does not go back to it.
    execute(&transaction, "UPDATE change_floor SET number = greatest(number, $1)", &[&to.0]).await?;
    transaction.commit().await?;
    Ok(removed)
}
