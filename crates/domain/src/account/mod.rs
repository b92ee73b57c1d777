//! Accounts: who reads, and how they and their programs prove it.

mod name;
mod page_settings;
mod password;
mod secret;

use std::time::Duration;

use jiff::Timestamp;

pub use self::{
    name::{ACCOUNT_NAME_CHARS_MAX, AccountName, BadName},
    page_settings::{PageSettings, PageSettingsPatch, TextSize, Theme},
    password::{BadPassword, PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN, check_password},
    secret::{SESSION_LIFETIME, TOKEN_PREFIX, fever_key_hash, new_session_secret, new_token, session_hash, token_hash},
};
use crate::ids::{AccountId, SessionId, TokenId};

/// The account that a new server has. It has no password, and on loopback it is used without a login.
pub const READER: AccountId = AccountId(1);

/// Its name, unless it is given another.
pub const READER_NAME: &str = "reader";

/// How long the row of a removed account is kept, for whoever was let in before that and adds something yet, which goes
/// with it: a request may take a quarter of an hour.
pub const REMOVED_ACCOUNT_KEPT: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub id: AccountId,
    pub name: String,
    /// Manages accounts, and sees how the whole server stands.
    pub is_admin: bool,
    pub has_password: bool,
    pub created_at: Timestamp,
}

/// What a login is checked against.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub account: Account,
    /// Argon2id, in the PHC format.
    pub password_hash: Option<String>,
    /// How often a session of its apps was ended. What a login gives an app is made of this too: what was ended is not
    /// given again.
    pub app_sessions_ended: i64,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Credentials").field("account", &self.account).finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct NewAccount {
    pub name: AccountName,
    pub password_hash: Option<String>,
    pub is_admin: bool,
}

/// What is to be changed about an account. What is not named stays.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AccountPatch {
    pub name: Option<AccountName>,
    pub is_admin: Option<bool>,
    /// Another password ends all sessions but the one that is kept.
    pub password_hash: Option<String>,
    pub kept_session: Option<SessionId>,
}

/// What a token may do. Each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenScope {
    Read,
    Write,
    Admin,
}

impl TokenScope {
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// The SHA-256 of a secret that was made by chance: a guess is as hopeless against it as against the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretHash(pub [u8; 32]);

/// What somebody is known by, for as long as that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Login {
    Session(SecretHash),
    Token(SecretHash),
    /// By another's word: as long as there is such an account.
    Account(AccountId),
}

/// A login of a browser, or of all apps that come in with the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub created_at: Timestamp,
    pub last_used_at: Timestamp,
    /// Where it was made from, and by which program, as far as that is known.
    pub address: Option<String>,
    pub user_agent: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    pub secret: SecretHash,
    /// Its secret is the same at each login.
    pub is_app: bool,
    pub address: Option<String>,
    pub user_agent: Option<String>,
}

/// What a program proves itself with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub name: String,
    pub scope: TokenScope,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    pub name: String,
    pub scope: TokenScope,
    pub expires_at: Option<Timestamp>,
    pub secret: SecretHash,
    /// The hash of what Fever's clients send, which is made of the account's name and the token.
    pub fever_key: SecretHash,
}
