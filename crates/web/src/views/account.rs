//! Accounts, and what they come in with: never a password or a secret.

use domain::{
    AccountId, SessionId, TokenId,
    account::{Account, Session, Token, TokenScope},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ids;

/// An account.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Account)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountView {
    /// Its id.
    #[schema(value_type = ids::AccountId)]
    id: AccountId,
    /// Its name, which no other account has, whatever the case of its letters.
    name: String,
    /// Whether it manages accounts, and sees how the whole server stands.
    is_admin: bool,
    /// Whether it can log in with a password. As long as no account can, this machine is let in without one.
    has_password: bool,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<Account> for AccountView {
    fn from(account: Account) -> Self {
        let Account { id, name, is_admin, has_password, created_at } = account;
        Self { id, name, is_admin, has_password, created_at }
    }
}

/// A login of a browser.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Session)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionView {
    /// Its id.
    #[schema(value_type = ids::SessionId)]
    id: SessionId,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it was last used, to the minute. It ends 30 days after that.
    #[schema(value_type = String, format = DateTime)]
    last_used_at: Timestamp,
    /// The address that it was made from.
    address: Option<String>,
    /// What the browser calls itself.
    user_agent: Option<String>,
    /// Whether it is the one that asks.
    is_current: bool,
}

impl SessionView {
    pub(crate) fn new(session: Session, current: Option<SessionId>) -> Self {
        let Session { id, created_at, last_used_at, address, user_agent } = session;
        Self { id, created_at, last_used_at, address, user_agent, is_current: current == Some(id) }
    }
}

/// What a token may do: read, or read and write, or also manage the server if its account may.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[schema(as = TokenScope)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScopeView {
    Read,
    Write,
    Admin,
}

impl From<TokenScope> for ScopeView {
    fn from(scope: TokenScope) -> Self {
        match scope {
            TokenScope::Read => Self::Read,
            TokenScope::Write => Self::Write,
            TokenScope::Admin => Self::Admin,
        }
    }
}

impl From<ScopeView> for TokenScope {
    fn from(scope: ScopeView) -> Self {
        match scope {
            ScopeView::Read => Self::Read,
            ScopeView::Write => Self::Write,
            ScopeView::Admin => Self::Admin,
        }
    }
}

/// A token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Token)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenView {
    /// Its id.
    #[schema(value_type = ids::TokenId)]
    id: TokenId,
    /// What its owner calls it.
    name: String,
    /// What it may do.
    scope: ScopeView,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it was last used, to the minute; null for never.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
    /// When it ends; null for never.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

impl From<Token> for TokenView {
    fn from(token: Token) -> Self {
        let Token { id, name, scope, created_at, last_used_at, expires_at } = token;
        Self { id, name, scope: scope.into(), created_at, last_used_at, expires_at }
    }
}
