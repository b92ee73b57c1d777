//! Folders: few, and changed by people. The changes of an account's are made one after the other, so that places are exact.

use async_trait::async_trait;
use deadpool_postgres::{GenericClient, Transaction};
use domain::{
    AccountId, Folder, FolderId,
    changes::ChangeLog,
    folder::new_order,
    ports::{Conflict, FolderStore, StoreResult, UpdateOutcome},
};
use tokio_postgres::Error;

use crate::postgres::{
    PostgresStore, execute, query, query_opt,
    shared::{errors::store_error, lending::long_work, values::text},
};

const ALL: &str = include_str!("sql/folders_all.sql");

/// What is in front of the keys of locks on an account's folders: `fo`, and 48 bits of an id.
const KEY: i64 = 0x666f_0000_0000_0000;

/// Holds off other changes of an account's folders, and its imports, but no reader and no feed that is put into a folder.
const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";

const CREATE: &str = include_str!("sql/folders_create.sql");

const LOCK_FOLLOWS: &str = include_str!("sql/folders_lock_follows.sql");

const EMPTY: &str = include_str!("sql/folders_empty.sql");

const REORDER: &str = include_str!("sql/folders_reorder.sql");

#[async_trait]
impl FolderStore for PostgresStore {
    async fn folders(&self, account: AccountId) -> StoreResult<Vec<Folder>> {
        self.read(async |client| all(client, account).await).await
    }

    async fn create_folder(&self, account: AccountId, name: &str) -> StoreResult<Result<Folder, Conflict>> {
        let mut client = self.client().await?;
        let made = async {
            let transaction = client.transaction().await?;
            lock(&transaction, account).await?;
            let Some(row) = query_opt(&transaction, CREATE, &[&account.0, &text(name)]).await? else { return Ok(None) };
            let folder = one(&transaction, account, FolderId(row.get(0))).await?;
            self.commit(transaction, moved(account)).await?;
            Ok(folder)
        };
        Ok(made.await.map_err(store_error)?.ok_or(Conflict))
    }

    async fn rename_folder(&self, account: AccountId, id: FolderId, name: &str) -> StoreResult<UpdateOutcome<Folder>> {
        let mut client = self.client().await?;
        let renamed = async {
            let transaction = client.transaction().await?;
            lock(&transaction, account).await?;
            let (outcome, log) = rename(&transaction, account, id, &text(name)).await?;
            self.commit(transaction, log).await?;
            Ok(outcome)
        };
        renamed.await.map_err(store_error)
    }

    async fn delete_folder(&self, account: AccountId, id: FolderId) -> StoreResult<bool> {
        let mut client = self.client().await?;
        let deleted = async {
            let transaction = client.transaction().await?;
            lock(&transaction, account).await?;
            let is_there = delete(&transaction, account, id).await?;
            self.commit(transaction, if is_there { moved(account) } else { ChangeLog::default() }).await?;
            Ok(is_there)
        };
        deleted.await.map_err(store_error)
    }

    async fn reorder_folders(&self, account: AccountId, ids: &[FolderId]) -> StoreResult<Option<Vec<Folder>>> {
        let mut client = self.client().await?;
        let reordered = async {
            let transaction = client.transaction().await?;
            lock(&transaction, account).await?;
            let before = all(&transaction, account).await?;
            let Some(order) = new_order(&before, ids) else { return Ok(None) };
            let order: Vec<i64> = order.into_iter().map(|id| id.0).collect();
            execute(&transaction, REORDER, &[&order]).await?;
            let folders = all(&transaction, account).await?;
            let is_same = before.iter().map(|folder| folder.id.0).eq(order);
            self.commit(transaction, if is_same { ChangeLog::default() } else { moved(account) }).await?;
            Ok(Some(folders))
        };
        reordered.await.map_err(store_error)
    }
}

fn moved(account: AccountId) -> ChangeLog {
    let mut log = ChangeLog::default();
    log.feeds(account, None, 0);
    log
}

pub(crate) async fn lock(transaction: &Transaction<'_>, account: AccountId) -> Result<(), Error> {
    execute(transaction, LOCK, &[&(KEY + account.0)]).await.map(drop)
}

/// Makes sure of a folder until the transaction ends; false if the account has none such.
pub(crate) async fn hold(transaction: &Transaction<'_>, account: AccountId, id: FolderId) -> Result<bool, Error> {
    let sql = "SELECT id FROM folders WHERE id = $1 AND account_id = $2 FOR KEY SHARE";
    Ok(query_opt(transaction, sql, &[&id.0, &account.0]).await?.is_some())
}

/// Makes the folders of these names that are not there, in this order; the account's folders are locked.
pub(crate) async fn create_missing(
    transaction: &Transaction<'_>,
    account: AccountId,
    names: &[&str],
    log: &mut ChangeLog,
) -> Result<Vec<Folder>, Error> {
    for name in names {
        if query_opt(transaction, CREATE, &[&account.0, &text(name)]).await?.is_some() {
            log.feeds(account, None, 0);
        }
    }
    all(transaction, account).await
}

async fn all(client: &impl GenericClient, account: AccountId) -> Result<Vec<Folder>, Error> {
    let rows = query(client, ALL, &[&account.0]).await?;
    Ok(rows.iter().map(|row| Folder { id: FolderId(row.get(0)), name: row.get(1), order: row.get(2) }).collect())
}

async fn one(client: &impl GenericClient, account: AccountId, id: FolderId) -> Result<Option<Folder>, Error> {
    Ok(all(client, account).await?.into_iter().find(|folder| folder.id == id))
}

async fn rename(
    transaction: &Transaction<'_>,
    account: AccountId,
    id: FolderId,
    name: &str,
) -> Result<(UpdateOutcome<Folder>, ChangeLog), Error> {
    let folders = all(transaction, account).await?;
    let nothing = ChangeLog::default();
    let Some(folder) = folders.iter().find(|folder| folder.id == id) else {
        return Ok((UpdateOutcome::NotFound, nothing));
    };
    if folders.iter().any(|other| other.id != id && other.name == name) {
        return Ok((UpdateOutcome::Conflict(None), nothing));
    }
    execute(transaction, "UPDATE folders SET name = $2 WHERE id = $1", &[&id.0, &name]).await?;
    let log = if folder.name == name { nothing } else { moved(account) };
    Ok((UpdateOutcome::Updated(Box::new(Folder { name: name.to_owned(), ..folder.clone() })), log))
}

async fn delete(transaction: &Transaction<'_>, account: AccountId, id: FolderId) -> Result<bool, Error> {
    // Waits for whoever is putting a feed into it just now.
    let held = "SELECT id FROM folders WHERE id = $1 AND account_id = $2 FOR UPDATE";
    if query_opt(transaction, held, &[&id.0, &account.0]).await?.is_none() {
        return Ok(false);
    }
    long_work(transaction).await?;
    query(transaction, LOCK_FOLLOWS, &[&id.0]).await?;
    execute(transaction, EMPTY, &[&account.0, &id.0]).await?;
    execute(transaction, "UPDATE follows SET folder_id = NULL WHERE folder_id = $1", &[&id.0]).await?;
    Ok(execute(transaction, "DELETE FROM folders WHERE id = $1", &[&id.0]).await? > 0)
}
