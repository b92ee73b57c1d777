//! Who may come in: accounts, the sessions of their browsers, and the tokens of their programs. A removed account is passed
//! over everywhere at once; what it had goes in pieces (`account_prune`).

pub(crate) mod account_prune;
pub(crate) mod account_rows;
pub(crate) mod live_logins;
pub(crate) mod sessions;
pub(crate) mod tokens;

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    Account, AccountId, SessionId, TokenId,
    account::{
        AccountName, AccountPatch, Credentials, Login, NewAccount, NewSession, NewToken, PageSettings,
        PageSettingsPatch, SecretHash, Session, Token,
    },
    ports::{AccountOutcome, AccountStore, Conflict, StoreResult},
};
use jiff::Timestamp;

use crate::sqlite::{
    SqliteStore,
    shared::{queue::Priority, writer::WriteTx},
};
use crate::values::{millis, time};

/// That something is used is noted no more often than this.
const USE_NOTED_EVERY_MS: i64 = 60_000;

#[async_trait]
impl AccountStore for SqliteStore {
    async fn accounts(&self) -> StoreResult<Vec<Account>> {
        self.readers.read(account_rows::all).await
    }

    async fn account(&self, id: AccountId) -> StoreResult<Option<Account>> {
        self.readers.read(move |connection| account_rows::one(connection, id)).await
    }

    async fn credentials(&self, name: &str) -> StoreResult<Option<Credentials>> {
        let key = AccountName::key_of(name);
        self.readers.read(move |connection| account_rows::credentials(connection, &key)).await
    }

    async fn has_passwords(&self) -> StoreResult<bool> {
        self.readers.read(account_rows::has_passwords).await
    }

    async fn create_account(&self, new: NewAccount) -> StoreResult<Result<Account, Conflict>> {
        let made = self.writer.write(Priority::Usual, move |changes| account_rows::create(changes, &new)).await?;
        Ok(made.ok_or(Conflict))
    }

    async fn update_account(&self, id: AccountId, patch: AccountPatch) -> StoreResult<AccountOutcome> {
        self.writer.write(Priority::Usual, move |changes| account_rows::update(changes, id, &patch)).await
    }

    async fn page_settings(&self, id: AccountId) -> StoreResult<Option<PageSettings>> {
        let kept = self.readers.read(move |connection| account_rows::page_settings(connection, id)).await?;
        Ok(kept.as_deref().map(PageSettings::read))
    }

    async fn patch_page_settings(&self, id: AccountId, patch: PageSettingsPatch) -> StoreResult<Option<PageSettings>> {
        self.writer.write(Priority::Usual, move |changes| account_rows::patch_page_settings(changes, id, patch)).await
    }

    async fn delete_account(&self, id: AccountId) -> StoreResult<AccountOutcome> {
        self.writer.write(Priority::Usual, move |changes| account_rows::delete(changes, id)).await
    }

    async fn create_session(&self, checked: &Credentials, new: NewSession) -> StoreResult<Option<Session>> {
        let checked = checked.clone();
        self.writer.write(Priority::Usual, move |changes| sessions::create(changes, &checked, &new)).await
    }

    async fn session(&self, secret: SecretHash, lifetime: Duration) -> StoreResult<Option<(Account, Session)>> {
        let now = self.now();
        let unused_since = now - millis(lifetime);
        let found = self.readers.read(move |connection| sessions::by_secret(connection, secret, unused_since)).await?;
        let Some((account, mut session)) = found else { return Ok(None) };
        if session.last_used_at.as_millisecond() <= now - USE_NOTED_EVERY_MS {
            let id = session.id;
            session.last_used_at =
                self.writer.write(Priority::Usual, move |tx| note_use(tx, sessions::NOTE_USE, id.0)).await?;
        }
        Ok(Some((account, session)))
    }

    async fn sessions(&self, account: AccountId, lifetime: Duration) -> StoreResult<Vec<Session>> {
        let unused_since = self.now() - millis(lifetime);
        self.readers.read(move |connection| sessions::of_account(connection, account, unused_since)).await
    }

    async fn delete_session(&self, account: AccountId, id: SessionId) -> StoreResult<bool> {
        self.writer.write(Priority::Usual, move |changes| sessions::delete(changes, account, id)).await
    }

    async fn create_token(&self, account: AccountId, new: NewToken) -> StoreResult<Token> {
        self.writer.write(Priority::Usual, move |changes| tokens::create(changes, account, &new)).await
    }

    async fn token(&self, secret: SecretHash) -> StoreResult<Option<(Account, Token)>> {
        let now = self.now();
        let found = self.readers.read(move |connection| tokens::by_secret(connection, secret, now)).await?;
        let Some((account, mut token)) = found else { return Ok(None) };
        if token.last_used_at.is_none_or(|at| at.as_millisecond() <= now - USE_NOTED_EVERY_MS) {
            let id = token.id;
            let noted = self.writer.write(Priority::Usual, move |tx| note_use(tx, tokens::NOTE_USE, id.0)).await?;
            token.last_used_at = Some(noted);
        }
        Ok(Some((account, token)))
    }

    async fn tokens(&self, account: AccountId) -> StoreResult<Vec<Token>> {
        self.readers.read(move |connection| tokens::of_account(connection, account)).await
    }

    async fn delete_token(&self, account: AccountId, id: TokenId) -> StoreResult<bool> {
        self.writer.write(Priority::Usual, move |changes| tokens::delete(changes, account, id)).await
    }

    async fn live_logins(&self, logins: &[Login], session_lifetime: Duration) -> StoreResult<Vec<(Login, Account)>> {
        let (now, logins) = (self.now(), logins.to_vec());
        self.readers
            .read(move |connection| live_logins::read(connection, &logins, now, now - millis(session_lifetime)))
            .await
    }

    async fn prune_accounts(&self, session_lifetime: Duration, limit: u32) -> StoreResult<u64> {
        let work = move |changes: &mut WriteTx<'_>| account_prune::prune(changes, session_lifetime, limit);
        self.writer.write(Priority::Usual, work).await
    }
}

/// Notes that a session or a token is used now.
fn note_use(changes: &mut WriteTx<'_>, statement: &str, id: i64) -> rusqlite::Result<Timestamp> {
    let now = changes.now();
    changes.connection.prepare_cached(statement)?.execute((id, now))?;
    Ok(time(now))
}
