//! The rows of accounts. One that was removed is none.

use deadpool_postgres::{Client, GenericClient, Transaction};
use domain::{
    AccountId,
    account::{Account, AccountName, AccountPatch, Credentials, NewAccount, PageSettings, PageSettingsPatch},
    changes::ChangeLog,
    ports::AccountOutcome,
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    PostgresStore,
    accounts::sessions,
    execute, query, query_opt,
    shared::values::{optional, text, time},
};

/// All that is shown of an account, in the order of [`account_of`], and how many columns that is.
macro_rules! columns {
    () => {
        "accounts.id, accounts.name, accounts.is_admin, accounts.password_hash IS NOT NULL, accounts.created_at"
    };
}
pub(crate) const COLUMNS: usize = 5;
pub(crate) use columns;

const ALL: &str = concat!("SELECT ", columns!(), "\nFROM accounts\nWHERE deleted_at IS NULL\nORDER BY id");

const BY_ID: &str = concat!("SELECT ", columns!(), "\nFROM accounts\nWHERE id = $1\n  AND deleted_at IS NULL");

const BY_NAME: &str = concat!(
    "SELECT ",
    columns!(),
    ", accounts.password_hash, accounts.app_sessions_ended\nFROM accounts\nWHERE name_key = $1\n  AND deleted_at IS NULL"
);

const HAS_PASSWORDS: &str =
    "SELECT EXISTS (SELECT FROM accounts WHERE password_hash IS NOT NULL AND deleted_at IS NULL)";

const NAME_EXISTS: &str = "SELECT FROM accounts WHERE name_key = $1 AND deleted_at IS NULL AND id <> $2";

const INSERT: &str = concat!(
    "
INSERT INTO accounts (name, name_key, password_hash, is_admin, created_at)
VALUES ($1, $2, $3, $4, (SELECT pirssonite_now_ms()))
ON CONFLICT (name_key) WHERE deleted_at IS NULL DO NOTHING
RETURNING ",
    columns!()
);

const LOCK_ADMINS: &str = include_str!("sql/account_rows_lock_admins.sql");

const UPDATE: &str = concat!(
    "
UPDATE accounts
SET name = coalesce($2, name),
    name_key = coalesce($3, name_key),
    is_admin = coalesce($4, is_admin),
    password_hash = coalesce($5, password_hash)
WHERE id = $1
  AND deleted_at IS NULL
RETURNING ",
    columns!()
);

const PAGE_SETTINGS: &str = "SELECT page_settings FROM accounts WHERE id = $1 AND deleted_at IS NULL";

const DELETE: &str = concat!(
    "
UPDATE accounts
SET deleted_at = (SELECT pirssonite_now_ms())
WHERE id = $1
  AND deleted_at IS NULL
RETURNING ",
    columns!()
);

const DELETE_WEBHOOKS: &str = include_str!("sql/account_rows_delete_webhooks.sql");

pub(crate) async fn all(client: &Client) -> Result<Vec<Account>, Error> {
    Ok(query(client, ALL, &[]).await?.iter().map(account_of).collect())
}

pub(crate) async fn one(client: &impl GenericClient, id: AccountId) -> Result<Option<Account>, Error> {
    Ok(query_opt(client, BY_ID, &[&id.0]).await?.map(|row| account_of(&row)))
}

pub(crate) async fn credentials(client: &Client, name_key: &str) -> Result<Option<Credentials>, Error> {
    let row = query_opt(client, BY_NAME, &[&text(name_key)]).await?;
    Ok(row.map(|row| {
        let (password_hash, app_sessions_ended) = (row.get(COLUMNS), row.get(COLUMNS + 1));
        Credentials { account: account_of(&row), password_hash, app_sessions_ended }
    }))
}

pub(crate) async fn has_passwords(client: &Client) -> Result<bool, Error> {
    Ok(query_opt(client, HAS_PASSWORDS, &[]).await?.is_some_and(|row| row.get(0)))
}

/// `None` if another has this name.
pub(crate) async fn create(client: &Client, new: &NewAccount) -> Result<Option<Account>, Error> {
    let (name, key) = (text(new.name.as_str()), new.name.key());
    let password = optional(new.password_hash.as_ref());
    let row = query_opt(client, INSERT, &[&name, &text(&key), &password, &new.is_admin]).await?;
    Ok(row.map(|row| account_of(&row)))
}

/// What cannot be done is found out before anything is changed.
pub(crate) async fn update(client: &mut Client, id: AccountId, patch: &AccountPatch) -> Result<AccountOutcome, Error> {
    let transaction = client.transaction().await?;
    let is_last = patch.is_admin == Some(false) && is_last_admin(&transaction, id).await?;
    if one(&transaction, id).await?.is_none() {
        return Ok(AccountOutcome::NotFound);
    }
    let key = patch.name.as_ref().map(AccountName::key);
    let name_exists = match &key {
        Some(key) => name_exists(&transaction, key, id).await?,
        None => false,
    };
    if let Some(refused) = AccountOutcome::refused(name_exists, is_last) {
        return Ok(refused);
    }
    let name = patch.name.as_ref().map(|name| text(name.as_str()));
    let (key, password) = (key.as_deref().map(text), optional(patch.password_hash.as_ref()));
    let row = query_opt(&transaction, UPDATE, &[&id.0, &name, &key, &patch.is_admin, &password]).await?;
    let Some(account) = row.map(|row| account_of(&row)) else { return Ok(AccountOutcome::NotFound) };
    if patch.password_hash.is_some() {
        sessions::end_others(&transaction, id, patch.kept_session).await?;
    }
    transaction.commit().await?;
    Ok(AccountOutcome::Done(Box::new(account)))
}

pub(crate) async fn page_settings(client: &Client, id: AccountId) -> Result<Option<String>, Error> {
    Ok(query_opt(client, PAGE_SETTINGS, &[&id.0]).await?.map(|row| row.get(0)))
}

pub(crate) async fn patch_page_settings(
    client: &mut Client,
    id: AccountId,
    patch: PageSettingsPatch,
) -> Result<Option<PageSettings>, Error> {
    let transaction = client.transaction().await?;
    let held = format!("{PAGE_SETTINGS} FOR NO KEY UPDATE");
    let Some(row) = query_opt(&transaction, &held, &[&id.0]).await? else { return Ok(None) };
    let kept = patch.applied_to(row.get(0));
    execute(&transaction, "UPDATE accounts SET page_settings = $2 WHERE id = $1", &[&id.0, &kept]).await?;
    transaction.commit().await?;
    Ok(Some(PageSettings::read(&kept)))
}

/// Sessions, tokens and webhooks go at once.
pub(crate) async fn delete(store: &PostgresStore, client: &mut Client, id: AccountId) -> Result<AccountOutcome, Error> {
    let transaction = client.transaction().await?;
    if is_last_admin(&transaction, id).await? {
        return Ok(AccountOutcome::LastAdministrator);
    }
    let row = query_opt(&transaction, DELETE, &[&id.0]).await?;
    let Some(account) = row.map(|row| account_of(&row)) else { return Ok(AccountOutcome::NotFound) };
    let mut log = ChangeLog::default();
    delete_small(&transaction, id, &mut log).await?;
    store.commit(transaction, log).await?;
    Ok(AccountOutcome::Done(Box::new(account)))
}

/// Removes an account's sessions, tokens and webhooks; returns how many.
pub(crate) async fn delete_small(
    transaction: &Transaction<'_>,
    id: AccountId,
    log: &mut ChangeLog,
) -> Result<u64, Error> {
    let mut removed = 0;
    for table in ["sessions", "tokens"] {
        removed += execute(transaction, &format!("DELETE FROM {table} WHERE account_id = $1"), &[&id.0]).await?;
    }
    let webhooks = execute(transaction, DELETE_WEBHOOKS, &[&id.0]).await?;
    if webhooks > 0 {
        log.webhooks(id);
    }
    Ok(removed + webhooks)
}

async fn name_exists(transaction: &Transaction<'_>, name_key: &str, but_by: AccountId) -> Result<bool, Error> {
    Ok(query_opt(transaction, NAME_EXISTS, &[&text(name_key), &but_by.0]).await?.is_some())
}

/// Whether it is the only administrator. The rows of all administrators are locked: of two that would go at once one stays.
async fn is_last_admin(transaction: &Transaction<'_>, id: AccountId) -> Result<bool, Error> {
    let admins = query(transaction, LOCK_ADMINS, &[]).await?;
    Ok(matches!(admins.as_slice(), [only] if only.get::<_, i64>(0) == id.0))
}

pub(crate) fn account_of(row: &Row) -> Account {
    Account {
        id: AccountId(row.get(0)),
        name: row.get(1),
        is_admin: row.get(2),
        has_password: row.get(3),
        created_at: time(row.get(4)),
    }
}
