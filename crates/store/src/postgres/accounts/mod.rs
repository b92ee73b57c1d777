//! Accounts: who may come in, and with what. A removed account is passed over by every look-up from then on; what it had goes
//! in pieces (`account_prune`).

pub(crate) mod account_prune;
pub(crate) mod live_logins;
pub(crate) mod sessions;
pub(crate) mod tokens;

use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Client, GenericClient, Transaction};
use domain::{
    AccountId, SessionId, TokenId,
    account::{
        Account, AccountName, AccountPatch, Credentials, Login, NewAccount, NewSession, NewToken, PageSettings,
        PageSettingsPatch, SecretHash, Session, Token,
    },
    changes::ChangeLog,
    ports::{AccountOutcome, AccountStore, Conflict, StoreResult},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    PostgresStore, execute, query, query_opt,
    shared::{
        errors::{is_unique_violation, store_error},
        values::{optional, text, time},
    },
};

/// How long it is taken for granted that a session or a token was used: each use within a minute is not written.
const USE_NOTED_EVERY_MS: i64 = 60_000;

/// Of `accounts`, in the order of [`account_at`].
macro_rules! columns {
    () => {
        "accounts.id, accounts.name, accounts.is_admin, accounts.password_hash IS NOT NULL, accounts.created_at"
    };
}
pub(crate) use columns;

/// How many those are.
pub(crate) const COLUMNS: usize = 5;

const ALL: &str = concat!("SELECT ", columns!(), "\nFROM accounts\nWHERE deleted_at IS NULL\nORDER BY id");

const ONE: &str = concat!("SELECT ", columns!(), "\nFROM accounts\nWHERE id = $1\n  AND deleted_at IS NULL");

const BY_NAME: &str = concat!(
    "SELECT ",
    columns!(),
    ", accounts.password_hash, accounts.app_sessions_ended\nFROM accounts\nWHERE name_key = $1\n  AND deleted_at IS NULL"
);

const HAS_PASSWORDS: &str = include_str!("sql/has_passwords.sql");

const INSERT: &str = concat!(
    "
INSERT INTO accounts (name, name_key, password_hash, is_admin, created_at)
VALUES ($1, $2, $3, $4, (SELECT pirssonite_now_ms()))
ON CONFLICT (name_key) WHERE deleted_at IS NULL DO NOTHING
RETURNING ",
    columns!()
);

const LOCK_ADMINS: &str = include_str!("sql/lock_admins.sql");

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

const DELETE_WEBHOOKS: &str = include_str!("sql/delete_webhooks.sql");

#[async_trait]
impl AccountStore for PostgresStore {
    async fn accounts(&self) -> StoreResult<Vec<Account>> {
        let client = self.client().await?;
        let rows = query(&client, ALL, &[]).await.map_err(store_error)?;
        Ok(rows.iter().map(|row| account_at(row, 0)).collect())
    }

    async fn account(&self, id: AccountId) -> StoreResult<Option<Account>> {
        let client = self.client().await?;
        one(&client, id).await.map_err(store_error)
    }

    async fn credentials(&self, name: &str) -> StoreResult<Option<Credentials>> {
        let client = self.client().await?;
        let key = AccountName::key_of(name);
        let row = query_opt(&client, BY_NAME, &[&text(&key)]).await.map_err(store_error)?;
        Ok(row.map(|row| {
            let (password_hash, app_sessions_ended) = (row.get(COLUMNS), row.get(COLUMNS + 1));
            Credentials { account: account_at(&row, 0), password_hash, app_sessions_ended }
        }))
    }

    async fn has_passwords(&self) -> StoreResult<bool> {
        let client = self.client().await?;
        let row = query_opt(&client, HAS_PASSWORDS, &[]).await.map_err(store_error)?;
        Ok(row.is_some_and(|row| row.get(0)))
    }

    async fn create_account(&self, new: NewAccount) -> StoreResult<Result<Account, Conflict>> {
        let client = self.client().await?;
        let (name, key) = (text(new.name.as_str()), new.name.key());
        let password = optional(new.password_hash.as_ref());
        let row = query_opt(&client, INSERT, &[&name, &text(&key), &password, &new.is_admin]).await;
        Ok(row.map_err(store_error)?.map(|row| account_at(&row, 0)).ok_or(Conflict))
    }

    async fn update_account(&self, id: AccountId, patch: AccountPatch) -> StoreResult<AccountOutcome> {
        let mut client = self.client().await?;
        match update(&mut client, id, &patch).await {
            Err(error) if is_unique_violation(&error) => Ok(AccountOutcome::Conflict),
            outcome => outcome.map_err(store_error),
        }
    }

    async fn page_settings(&self, id: AccountId) -> StoreResult<Option<PageSettings>> {
        let kept = self.read(async |client| query_opt(client, PAGE_SETTINGS, &[&id.0]).await).await?;
        Ok(kept.map(|row| PageSettings::read(row.get(0))))
    }

    async fn patch_page_settings(&self, id: AccountId, patch: PageSettingsPatch) -> StoreResult<Option<PageSettings>> {
        let mut client = self.client().await?;
        patch_page_settings(&mut client, id, patch).await.map_err(store_error)
    }

    async fn delete_account(&self, id: AccountId) -> StoreResult<AccountOutcome> {
        let mut client = self.client_for_long().await?;
        delete(self, &mut client, id).await.map_err(store_error)
    }

    async fn create_session(&self, checked: &Credentials, new: NewSession) -> StoreResult<Option<Session>> {
        let client = self.client().await?;
        sessions::create(&client, checked, &new).await.map_err(store_error)
    }

    async fn session(&self, secret: SecretHash, lifetime: Duration) -> StoreResult<Option<(Account, Session)>> {
        let client = self.client().await?;
        sessions::by_secret(&client, secret, lifetime).await.map_err(store_error)
    }

    async fn sessions(&self, account: AccountId, lifetime: Duration) -> StoreResult<Vec<Session>> {
        let client = self.client().await?;
        sessions::of_account(&client, account, lifetime).await.map_err(store_error)
    }

    async fn delete_session(&self, account: AccountId, id: SessionId) -> StoreResult<bool> {
        let mut client = self.client().await?;
        sessions::delete(&mut client, account, id).await.map_err(store_error)
    }

    async fn create_token(&self, account: AccountId, new: NewToken) -> StoreResult<Token> {
        let client = self.client().await?;
        tokens::create(&client, account, &new).await.map_err(store_error)
    }

    async fn token(&self, secret: SecretHash) -> StoreResult<Option<(Account, Token)>> {
        let client = self.client().await?;
        tokens::by_secret(&client, secret).await.map_err(store_error)
    }

    async fn tokens(&self, account: AccountId) -> StoreResult<Vec<Token>> {
        let client = self.client().await?;
        tokens::of_account(&client, account).await.map_err(store_error)
    }

    async fn delete_token(&self, account: AccountId, id: TokenId) -> StoreResult<bool> {
        let client = self.client().await?;
        let sql = "DELETE FROM tokens WHERE id = $1 AND account_id = $2";
        Ok(execute(&client, sql, &[&id.0, &account.0]).await.map_err(store_error)? > 0)
    }

    async fn live_logins(&self, logins: &[Login], session_lifetime: Duration) -> StoreResult<Vec<(Login, Account)>> {
        let client = self.client().await?;
        live_logins::read(&client, logins, session_lifetime).await.map_err(store_error)
    }

    async fn prune_accounts(&self, session_lifetime: Duration, limit: u32) -> StoreResult<u64> {
        let mut client = self.client_for_long().await?;
        account_prune::prune(self, &mut client, session_lifetime, limit).await.map_err(store_error)
    }
}

async fn one(client: &impl GenericClient, id: AccountId) -> Result<Option<Account>, Error> {
    Ok(query_opt(client, ONE, &[&id.0]).await?.map(|row| account_at(&row, 0)))
}

/// From the columns that begin at this place.
pub(crate) fn account_at(row: &Row, at: usize) -> Account {
    Account {
        id: AccountId(row.get(at)),
        name: row.get(at + 1),
        is_admin: row.get(at + 2),
        has_password: row.get(at + 3),
        created_at: time(row.get(at + 4)),
    }
}

async fn update(client: &mut Client, id: AccountId, patch: &AccountPatch) -> Result<AccountOutcome, Error> {
    let transaction = client.transaction().await?;
    if patch.is_admin == Some(false) && is_last_admin(&transaction, id).await? {
        return Ok(AccountOutcome::LastAdministrator);
    }
    let name = patch.name.as_ref().map(|name| text(name.as_str()));
    let key = patch.name.as_ref().map(AccountName::key);
    let password = optional(patch.password_hash.as_ref());
    let row = query_opt(&transaction, UPDATE, &[&id.0, &name, &key, &patch.is_admin, &password]).await?;
    let Some(account) = row.map(|row| account_at(&row, 0)) else { return Ok(AccountOutcome::NotFound) };
    if patch.password_hash.is_some() {
        sessions::end_others(&transaction, id, patch.kept_session).await?;
    }
    transaction.commit().await?;
    Ok(AccountOutcome::Done(Box::new(account)))
}

async fn patch_page_settings(
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
async fn delete(store: &PostgresStore, client: &mut Client, id: AccountId) -> Result<AccountOutcome, Error> {
    let transaction = client.transaction().await?;
    if is_last_admin(&transaction, id).await? {
        return Ok(AccountOutcome::LastAdministrator);
    }
    let row = query_opt(&transaction, DELETE, &[&id.0]).await?;
    let Some(account) = row.map(|row| account_at(&row, 0)) else { return Ok(AccountOutcome::NotFound) };
    let mut log = ChangeLog::default();
    delete_small(&transaction, id, &mut log).await?;
    store.commit(transaction, log).await?;
    Ok(AccountOutcome::Done(Box::new(account)))
}

/// Removes an account's sessions, tokens and webhooks; returns how many.
async fn delete_small(transaction: &Transaction<'_>, id: AccountId, log: &mut ChangeLog) -> Result<u64, Error> {
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

/// Whether it is the only administrator. The rows of all administrators are locked: of two that would go at once one stays.
async fn is_last_admin(transaction: &Transaction<'_>, id: AccountId) -> Result<bool, Error> {
    let admins = query(transaction, LOCK_ADMINS, &[]).await?;
    Ok(matches!(admins.as_slice(), [only] if only.get::<_, i64>(0) == id.0))
}
