//! What lasts no longer goes: sessions, tokens, and what removed accounts had, a piece at a time.

use std::time::Duration;

use deadpool_postgres::Client;
use domain::{AccountId, FeedId, account::REMOVED_ACCOUNT_KEPT, changes::ChangeLog};
use tokio_postgres::Error;

use crate::postgres::{
    PostgresStore,
    accounts::account_rows::delete_small,
    execute,
    feeds::follows,
    figures, now_ms, query, query_opt,
    shared::values::{millis, u64_to_i64},
};

const SESSIONS: &str = include_str!("sql/account_prune_sessions.sql");

const TOKENS: &str = include_str!("sql/account_prune_tokens.sql");

const REMOVED: &str = "SELECT id FROM accounts WHERE deleted_at IS NOT NULL AND id > $1 ORDER BY id LIMIT 1";

const FOLLOWS: &str = "SELECT feed_id FROM follows WHERE account_id = $1 ORDER BY feed_id LIMIT $2";

const FOLDERS: &str = include_str!("sql/account_prune_folders.sql");

const REMOVE: &str = include_str!("sql/account_prune_remove.sql");

pub(crate) async fn prune(
    store: &PostgresStore,
    client: &mut Client,
    session_lifetime: Duration,
    limit: u32,
) -> Result<u64, Error> {
    let (now, limit) = (now_ms(client).await?, u64::from(limit));
    let unused_since = now - millis(session_lifetime);
    let mut removed = 0;
    for sql in [SESSIONS, TOKENS] {
        removed += execute(client, sql, &[&unused_since, &u64_to_i64(limit.saturating_sub(removed))]).await?;
    }
    // Those that are empty and kept for a while yet take no place of those behind them.
    let mut after = 0;
    while removed < limit
        && let Some(account) = next_removed(client, after).await?
    {
        removed += prune_account(store, client, account, limit - removed).await?;
        removed += execute(client, REMOVE, &[&account.0, &(now - millis(REMOVED_ACCOUNT_KEPT))]).await?;
        after = account.0;
    }
    Ok(removed)
}

async fn next_removed(client: &Client, after: i64) -> Result<Option<AccountId>, Error> {
    Ok(query_opt(client, REMOVED, &[&after]).await?.map(|row| AccountId(row.get(0))))
}

/// A piece of what a removed account had: each feed is left by itself, as by one who stops to follow it, but for what is too
/// much at once.
async fn prune_account(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    limit: u64,
) -> Result<u64, Error> {
    let mut removed = 0;
    for row in query(client, FOLLOWS, &[&account.0, &u64_to_i64(limit)]).await? {
        if removed >= limit {
            return Ok(removed);
        }
        let left = limit - removed;
        removed += follows::leave(store, client, account, FeedId(row.get(0)), Some(left)).await?.unwrap_or(0);
    }
    let left = u64_to_i64(limit.saturating_sub(removed));
    removed += execute(client, FOLDERS, &[&account.0, &left]).await?;
    removed += figures::forget(client, account, limit.saturating_sub(removed)).await?;
    Ok(removed + delete_late(store, client, account).await?)
}

/// What was made while the account was removed, by whoever had been let in before.
async fn delete_late(store: &PostgresStore, client: &mut Client, account: AccountId) -> Result<u64, Error> {
    let (transaction, mut log) = (client.transaction().await?, ChangeLog::default());
    let removed = delete_small(&transaction, account, &mut log).await?;
    store.commit(transaction, log).await?;
    Ok(removed)
}
