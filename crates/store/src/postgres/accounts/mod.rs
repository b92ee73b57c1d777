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

use crate::postgres::{
    PostgresStore,
    shared::errors::{is_unique_violation, store_error},
};

/// That something is used is noted no more often than this.
const USE_NOTED_EVERY_MS: i64 = 60_000;

#[async_trait]
impl AccountStore for PostgresStore {
    async fn accounts(&self) -> StoreResult<Vec<Account>> {
        let client = self.client().await?;
        account_rows::all(&client).await.map_err(store_error)
    }

    async fn account(&self, id: AccountId) -> StoreResult<Option<Account>> {
        let client = self.client().await?;
        account_rows::one(&client, id).await.map_err(store_error)
    }

    async fn credentials(&self, name: &str) -> StoreResult<Option<Credentials>> {
        let client = self.client().await?;
        let key = AccountName::key_of(name);
        account_rows::credentials(&client, &key).await.map_err(store_error)
    }

    async fn has_passwords(&self) -> StoreResult<bool> {
        let client = self.client().await?;
        account_rows::has_passwords(&client).await.map_err(store_error)
    }

    async fn create_account(&self, new: NewAccount) -> StoreResult<Result<Account, Conflict>> {
        let client = self.client().await?;
        Ok(account_rows::create(&client, &new).await.map_err(store_error)?.ok_or(Conflict))
    }

    async fn update_account(&self, id: AccountId, patch: AccountPatch) -> StoreResult<AccountOutcome> {
        let mut client = self.client().await?;
        match account_rows::update(&mut client, id, &patch).await {
            // Somebody else took the name in the same moment.
            Err(error) if is_unique_violation(&error) => Ok(AccountOutcome::Conflict),
            outcome => outcome.map_err(store_error),
        }
    }

    async fn page_settings(&self, id: AccountId) -> StoreResult<Option<PageSettings>> {
        let kept = self.read(async |client| account_rows::page_settings(client, id).await).await?;
        Ok(kept.as_deref().map(PageSettings::read))
    }

    async fn patch_page_settings(&self, id: AccountId, patch: PageSettingsPatch) -> StoreResult<Option<PageSettings>> {
        let mut client = self.client().await?;
        account_rows::patch_page_settings(&mut client, id, patch).await.map_err(store_error)
    }

    async fn delete_account(&self, id: AccountId) -> StoreResult<AccountOutcome> {
        let mut client = self.client_for_long().await?;
        account_rows::delete(self, &mut client, id).await.map_err(store_error)
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
        tokens::delete(&client, account, id).await.map_err(store_error)
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
