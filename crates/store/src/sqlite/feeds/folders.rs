//! Folders: few, and changed by people.

use async_trait::async_trait;
use domain::{
    AccountId, Folder, FolderId,
    folder::new_order,
    ports::{Conflict, FolderStore, StoreResult, UpdateOutcome},
};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::sqlite::{
    SqliteStore,
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{text, usize_to_i64};

const ALL: &str = "SELECT id, name FROM folders WHERE account_id = ? ORDER BY position, id";

const CREATE: &str = include_str!("sql/folders_create.sql");

pub(crate) const EMPTY: &str = include_str!("sql/folders_empty.sql");

#[async_trait]
impl FolderStore for SqliteStore {
    async fn folders(&self, account: AccountId) -> StoreResult<Vec<Folder>> {
        self.readers.read(move |connection| all(connection, account)).await
    }

    async fn create_folder(
        &self,
        account: AccountId,
        name: &str,
    ) -> StoreResult<std::result::Result<Folder, Conflict>> {
        let name = text(name).into_owned();
        let made = self.writer.write(Priority::Usual, move |changes| create(changes, account, &name)).await?;
        Ok(made.ok_or(Conflict))
    }

    async fn rename_folder(&self, account: AccountId, id: FolderId, name: &str) -> StoreResult<UpdateOutcome<Folder>> {
        let name = text(name).into_owned();
        self.writer.write(Priority::Usual, move |changes| rename(changes, account, id, name)).await
    }

    async fn delete_folder(&self, account: AccountId, id: FolderId) -> StoreResult<bool> {
        self.writer.write(Priority::Usual, move |changes| delete(changes, account, id)).await
    }

    async fn reorder_folders(&self, account: AccountId, ids: &[FolderId]) -> StoreResult<Option<Vec<Folder>>> {
        let ids = ids.to_vec();
        self.writer.write(Priority::Usual, move |changes| reorder(changes, account, &ids)).await
    }
}

/// The folder of this name, made last in the order if it is not there.
pub(crate) fn find_or_create(changes: &mut WriteTx<'_>, account: AccountId, name: &str) -> Result<FolderId> {
    let mut find = changes.connection.prepare_cached("SELECT id FROM folders WHERE account_id = ? AND name = ?")?;
    if let Some(id) = find.query_row((account.0, name), |row| row.get(0)).optional()? {
        return Ok(FolderId(id));
    }
    changes.log.feeds(account, None, 0);
    changes.connection.prepare_cached(CREATE)?.query_row((account.0, name), |row| row.get(0)).map(FolderId)
}

/// Whether the account has such a folder.
pub(crate) fn exists(connection: &Connection, account: AccountId, id: FolderId) -> Result<bool> {
    connection.prepare_cached("SELECT 1 FROM folders WHERE id = ? AND account_id = ?")?.exists((id.0, account.0))
}

fn all(connection: &Connection, account: AccountId) -> Result<Vec<Folder>> {
    let mut statement = connection.prepare_cached(ALL)?;
    let rows = statement.query_map([account.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.enumerate()
        .map(|(place, row)| row.map(|(id, name)| Folder { id: FolderId(id), name, order: usize_to_i64(place) }))
        .collect()
}

fn one(connection: &Connection, account: AccountId, id: FolderId) -> Result<Option<Folder>> {
    Ok(all(connection, account)?.into_iter().find(|folder| folder.id == id))
}

/// `None` if there is one of this name.
fn create(changes: &mut WriteTx<'_>, account: AccountId, name: &str) -> Result<Option<Folder>> {
    let connection = changes.connection;
    let id = connection.prepare_cached(CREATE)?.query_row((account.0, name), |row| row.get(0)).optional()?;
    match id {
        Some(id) => {
            changes.log.feeds(account, None, 0);
            one(connection, account, FolderId(id))
        }
        None => Ok(None),
    }
}

fn rename(changes: &mut WriteTx<'_>, account: AccountId, id: FolderId, name: String) -> Result<UpdateOutcome<Folder>> {
    let connection = changes.connection;
    let Some(folder) = one(connection, account, id)? else { return Ok(UpdateOutcome::NotFound) };
    let mut taken = connection.prepare_cached("SELECT 1 FROM folders WHERE account_id = ? AND name = ? AND id <> ?")?;
    if taken.exists((account.0, &name, id.0))? {
        return Ok(UpdateOutcome::Conflict(None));
    }
    if name != folder.name {
        connection.prepare_cached("UPDATE folders SET name = ? WHERE id = ?")?.execute((&name, id.0))?;
        changes.log.feeds(account, None, 0);
    }
    Ok(UpdateOutcome::Updated(Box::new(Folder { name, ..folder })))
}

fn delete(changes: &mut WriteTx<'_>, account: AccountId, id: FolderId) -> Result<bool> {
    let connection = changes.connection;
    if !exists(connection, account, id)? {
        return Ok(false);
    }
    connection.prepare_cached(EMPTY)?.execute((account.0, id.0))?;
    connection.prepare_cached("UPDATE follows SET folder_id = NULL WHERE folder_id = ?")?.execute([id.0])?;
    connection.prepare_cached("DELETE FROM folders WHERE id = ?")?.execute([id.0])?;
    changes.log.feeds(account, None, 0);
    Ok(true)
}

fn reorder(changes: &mut WriteTx<'_>, account: AccountId, wanted: &[FolderId]) -> Result<Option<Vec<Folder>>> {
    let connection = changes.connection;
    let before = all(connection, account)?;
    let Some(order) = new_order(&before, wanted) else { return Ok(None) };
    let mut place_at = connection.prepare_cached("UPDATE folders SET position = ? WHERE id = ?")?;
    for (place, id) in order.iter().enumerate() {
        place_at.execute((usize_to_i64(place), id.0))?;
    }
    if !before.iter().map(|folder| folder.id).eq(order) {
        changes.log.feeds(account, None, 0);
    }
    all(connection, account).map(Some)
}
