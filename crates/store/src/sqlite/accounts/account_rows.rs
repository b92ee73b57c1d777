//! The rows of accounts. One that was removed is none.

use domain::{
    Account, AccountId,
    account::{AccountName, AccountPatch, Credentials, NewAccount, PageSettings, PageSettingsPatch, SecretHash},
    ports::AccountOutcome,
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{accounts::sessions, outbox::webhooks, shared::writer::WriteTx};
use crate::values::{text, time};

/// All that is shown of an account, in the order of [`account_of`], and how many columns that is.
macro_rules! columns {
    () => {
        "accounts.id, accounts.name, is_admin, password_hash IS NOT NULL, accounts.created_at"
    };
}
pub(crate) const COLUMNS: usize = 5;
pub(crate) use columns;

const ALL: &str = concat!("SELECT ", columns!(), "\nFROM accounts\nWHERE deleted_at IS NULL\nORDER BY id");

pub(crate) const BY_ID: &str =
    concat!("SELECT ", columns!(), "\nFROM accounts\nWHERE id = ?\n  AND deleted_at IS NULL");

pub(crate) const BY_NAME: &str = concat!(
    "SELECT ",
    columns!(),
    ", password_hash, app_sessions_ended\nFROM accounts\nWHERE name_key = ?\n  AND deleted_at IS NULL"
);

const HAS_PASSWORDS: &str = "SELECT 1 FROM accounts WHERE password_hash IS NOT NULL AND deleted_at IS NULL LIMIT 1";

const NAME_EXISTS: &str = "SELECT 1 FROM accounts WHERE name_key = ? AND deleted_at IS NULL AND id <> ?";

/// Differs from the other store, which locks the rows of all administrators and counts them.
const HAS_OTHER_ADMIN: &str = "SELECT 1 FROM accounts WHERE is_admin = 1 AND deleted_at IS NULL AND id <> ? LIMIT 1";

const INSERT: &str = include_str!("sql/account_rows_insert.sql");

const UPDATE: &str = include_str!("sql/account_rows_update.sql");

const PAGE_SETTINGS: &str = "SELECT page_settings FROM accounts WHERE id = ? AND deleted_at IS NULL";

const DELETE: &str = "UPDATE accounts SET deleted_at = ?2 WHERE id = ?1";

pub(crate) fn all(connection: &Connection) -> Result<Vec<Account>> {
    connection.prepare_cached(ALL)?.query_map([], account_of)?.collect()
}

pub(crate) fn one(connection: &Connection, id: AccountId) -> Result<Option<Account>> {
    connection.prepare_cached(BY_ID)?.query_row([id.0], account_of).optional()
}

pub(crate) fn credentials(connection: &Connection, name_key: &str) -> Result<Option<Credentials>> {
    let found = connection.prepare_cached(BY_NAME)?.query_row([text(name_key)], |row| {
        let (password_hash, app_sessions_ended) = (row.get(COLUMNS)?, row.get(COLUMNS + 1)?);
        Ok(Credentials { account: account_of(row)?, password_hash, app_sessions_ended })
    });
    found.optional()
}

pub(crate) fn has_passwords(connection: &Connection) -> Result<bool> {
    connection.prepare_cached(HAS_PASSWORDS)?.exists([])
}

/// `None` if another has this name.
pub(crate) fn create(changes: &mut WriteTx<'_>, new: &NewAccount) -> Result<Option<Account>> {
    let connection = changes.connection;
    let key = new.name.key();
    if name_exists(connection, &key, AccountId(0))? {
        return Ok(None);
    }
    let row = (text(new.name.as_str()), text(&key), &new.password_hash, new.is_admin, changes.now());
    connection.prepare_cached(INSERT)?.execute(row)?;
    one(connection, AccountId(connection.last_insert_rowid()))
}

/// What cannot be done is found out before anything is changed.
pub(crate) fn update(changes: &mut WriteTx<'_>, id: AccountId, patch: &AccountPatch) -> Result<AccountOutcome> {
    let connection = changes.connection;
    let Some(before) = one(connection, id)? else { return Ok(AccountOutcome::NotFound) };
    let name_key = patch.name.as_ref().map(AccountName::key);
    let name_exists = match &name_key {
        Some(key) => name_exists(connection, key, id)?,
        None => false,
    };
    let is_last = patch.is_admin == Some(false) && is_last_admin(connection, &before)?;
    if let Some(refused) = AccountOutcome::refused(name_exists, is_last) {
        return Ok(refused);
    }
    let name = patch.name.as_ref().map(|name| text(name.as_str()));
    let key = name_key.as_deref().map(text);
    connection.prepare_cached(UPDATE)?.execute((id.0, name, key, patch.is_admin, &patch.password_hash))?;
    if patch.password_hash.is_some() {
        sessions::end_others(connection, id, patch.kept_session)?;
    }
    let after = one(connection, id)?;
    Ok(after.map_or(AccountOutcome::NotFound, |account| AccountOutcome::Done(Box::new(account))))
}

pub(crate) fn page_settings(connection: &Connection, id: AccountId) -> Result<Option<String>> {
    connection.prepare_cached(PAGE_SETTINGS)?.query_row([id.0], |row| row.get(0)).optional()
}

pub(crate) fn patch_page_settings(
    changes: &mut WriteTx<'_>,
    id: AccountId,
    patch: PageSettingsPatch,
) -> Result<Option<PageSettings>> {
    let Some(kept) = page_settings(changes.connection, id)? else { return Ok(None) };
    let kept = patch.applied_to(&kept);
    changes
        .connection
        .prepare_cached("UPDATE accounts SET page_settings = ?2 WHERE id = ?1")?
        .execute((id.0, &kept))?;
    Ok(Some(PageSettings::read(&kept)))
}

/// Nobody finds it from now on. What it had goes later.
pub(crate) fn delete(changes: &mut WriteTx<'_>, id: AccountId) -> Result<AccountOutcome> {
    let (connection, now) = (changes.connection, changes.now());
    let Some(before) = one(connection, id)? else { return Ok(AccountOutcome::NotFound) };
    if is_last_admin(connection, &before)? {
        return Ok(AccountOutcome::LastAdministrator);
    }
    connection.prepare_cached(DELETE)?.execute((id.0, now))?;
    for table in ["sessions", "tokens"] {
        connection.prepare_cached(&format!("DELETE FROM {table} WHERE account_id = ?"))?.execute([id.0])?;
    }
    webhooks::delete_all(changes, id)?;
    Ok(AccountOutcome::Done(Box::new(before)))
}

fn name_exists(connection: &Connection, name_key: &str, but_by: AccountId) -> Result<bool> {
    connection.prepare_cached(NAME_EXISTS)?.exists((text(name_key), but_by.0))
}

fn is_last_admin(connection: &Connection, account: &Account) -> Result<bool> {
    Ok(account.is_admin && !connection.prepare_cached(HAS_OTHER_ADMIN)?.exists([account.id.0])?)
}

pub(crate) fn account_of(row: &Row<'_>) -> Result<Account> {
    Ok(Account {
        id: AccountId(row.get(0)?),
        name: row.get(1)?,
        is_admin: row.get(2)?,
        has_password: row.get(3)?,
        created_at: time(row.get(4)?),
    })
}

/// A secret's hash, for a column.
pub(crate) fn hash(secret: &SecretHash) -> &[u8] {
    &secret.0
}
