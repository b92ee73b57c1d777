//! Accounts, sessions and tokens.

use std::time::Duration;

use async_trait::async_trait;

use super::{Conflict, StoreResult};
use crate::{
    account::{
        Account, AccountPatch, Credentials, Login, NewAccount, NewSession, NewToken, PageSettings, PageSettingsPatch,
        SecretHash, Session, Token,
    },
    ids::{AccountId, SessionId, TokenId},
};

/// What became of a change of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountOutcome {
    /// Done: this is how it is, or was before it was removed.
    Done(Box<Account>),
    NotFound,
    /// Another account has this name. Nothing was changed.
    Conflict,
    /// There would be no administrator left. Nothing was changed.
    LastAdministrator,
}

impl AccountOutcome {
    /// Why a change of an account that is there cannot be made, if so: because its new name is taken, or because it would be
    /// an administrator no longer and is the last. Whoever asks for both is told of the name.
    pub fn refused(is_name_taken: bool, is_last_admin: bool) -> Option<Self> {
        match (is_name_taken, is_last_admin) {
            (true, _) => Some(Self::Conflict),
            (false, true) => Some(Self::LastAdministrator),
            (false, false) => None,
        }
    }
}

/// Who may come in. A removed account is gone at once for everybody; what it had goes in pieces.
#[async_trait]
pub trait AccountStore: Send + Sync + std::fmt::Debug {
    /// All accounts, by id.
    async fn accounts(&self) -> StoreResult<Vec<Account>>;
    async fn account(&self, id: AccountId) -> StoreResult<Option<Account>>;
    /// The account of this name, without regard to case, with what its login is checked against.
    async fn credentials(&self, name: &str) -> StoreResult<Option<Credentials>>;
    /// Whether any account has a password: then nobody comes in without a login.
    async fn has_passwords(&self) -> StoreResult<bool>;
    async fn create_account(&self, new: NewAccount) -> StoreResult<Result<Account, Conflict>>;
    async fn update_account(&self, id: AccountId, patch: AccountPatch) -> StoreResult<AccountOutcome>;
    /// What an account wants of pages; `None` if there is no such account.
    async fn page_settings(&self, id: AccountId) -> StoreResult<Option<PageSettings>>;
    /// Changes that, and leaves alone what a later version may have put there.
    async fn patch_page_settings(&self, id: AccountId, patch: PageSettingsPatch) -> StoreResult<Option<PageSettings>>;
    /// Removes an account with its follows, marks, folders, webhooks, sessions and tokens.
    async fn delete_account(&self, id: AccountId) -> StoreResult<AccountOutcome>;

    /// Keeps a login that was checked against these credentials; `None` if they are no longer the account's. What there is
    /// of the same secret, and is not pruned yet, begins anew.
    async fn create_session(&self, checked: &Credentials, new: NewSession) -> StoreResult<Option<Session>>;
    /// The session with this secret, if it was used within this time; that it is used now is noted, once a minute at most.
    async fn session(&self, secret: SecretHash, lifetime: Duration) -> StoreResult<Option<(Account, Session)>>;
    /// An account's sessions that were used within this time, the last used first.
    async fn sessions(&self, account: AccountId, lifetime: Duration) -> StoreResult<Vec<Session>>;
    /// Ends a session. If it is one of apps, it is counted, so that no later login gives its secret again.
    async fn delete_session(&self, account: AccountId, id: SessionId) -> StoreResult<bool>;

    async fn create_token(&self, account: AccountId, new: NewToken) -> StoreResult<Token>;
    /// The token with this secret, or this key of Fever's, if it has not expired; that it is used now is noted, once a minute
    /// at most.
    async fn token(&self, secret: SecretHash) -> StoreResult<Option<(Account, Token)>>;
    /// An account's tokens, by id.
    async fn tokens(&self, account: AccountId) -> StoreResult<Vec<Token>>;
    async fn delete_token(&self, account: AccountId, id: TokenId) -> StoreResult<bool>;

    /// Those of these logins that still hold, with their accounts: sessions that were used within this time, tokens that have
    /// not expired, accounts that are there. That they are used is not noted.
    async fn live_logins(&self, logins: &[Login], session_lifetime: Duration) -> StoreResult<Vec<(Login, Account)>>;

    /// Removes sessions that were not used within this time, tokens that have expired for as long, and a piece of what
    /// removed accounts had, feeds that nobody follows any more among it; returns how many rows. Zero when nothing is left.
    async fn prune_accounts(&self, session_lifetime: Duration, limit: u32) -> StoreResult<u64>;
}
