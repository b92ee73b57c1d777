//! Who asks, and what they may do.
//!
//! Every request passes [`require`]: what is [open](access) goes on, all else needs somebody who is known. One is known by a
//! token, by what a trusted proxy says, by the cookie of a session, or, as long as no account has a password, by being on
//! this machine. Routes take an [`Actor`], and never ask how it came in.
//!
//! The interfaces of other readers let in by themselves, each as its clients know it, through [`apps`].
//!
//! Whatever is wrong with what one comes in with, the answer is the same 401.

mod access;
mod actor;
mod apps;
mod client;
pub(crate) mod cookie;
mod guesses;
mod identify;
mod login;
mod lookups;
mod password;
mod viewer;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use domain::{
    SessionId,
    account::{Account, Credentials, READER, SecretHash, TokenScope, new_token},
    ports::{Ids, Store, StoreResult},
};
use tokio::time::Instant;

pub use self::password::{HashError, hash_password};
pub(crate) use self::{
    access::{ASSETS_PREFIX, require},
    actor::{Actor, Admin},
    apps::{AppClient, AppKey, app_actor, app_session, is_app_path, with_two_slashes},
    client::{Client, Peer},
    guesses::WAIT_FIRST,
    identify::{InProcess, identify},
    login::{LOGIN_BYTES_MAX, Origin, end_session, log_in, verify_own},
};
use self::{apps::CheckedPasswords, guesses::Guesses, lookups::Lookups, password::Passwords};

/// An account that is known, and what it may do by the way it is.
#[derive(Debug, Clone)]
struct Known {
    account: Account,
    scope: TokenScope,
    session: Option<SessionId>,
}

/// What the process remembers of logins.
#[derive(Debug)]
pub(crate) struct Auth {
    pub(crate) ids: &'static dyn Ids,
    pub(crate) passwords: Passwords,
    guesses: Guesses,
    secrets: Lookups<SecretHash, Option<Known>>,
    names: Lookups<String, Option<Credentials>>,
    checked: CheckedPasswords,
    /// Who is let in without a login, if anybody is.
    open: Lookups<(), Option<Account>>,
    /// The token of this process, for the commands on this machine.
    server_token: String,
    is_unknown_name_logged: AtomicBool,
}

impl Auth {
    pub(crate) fn new(ids: &'static dyn Ids, guess_wait: Duration) -> Self {
        Self {
            ids,
            passwords: Passwords::new(),
            guesses: Guesses::new(guess_wait),
            secrets: Lookups::default(),
            names: Lookups::default(),
            checked: CheckedPasswords::new(ids),
            open: Lookups::default(),
            server_token: new_token(ids),
            is_unknown_name_logged: AtomicBool::new(false),
        }
    }

    pub(crate) fn server_token(&self) -> &str {
        &self.server_token
    }

    /// An account, a session or a token was changed: here it holds at once.
    pub(crate) fn forget(&self) {
        self.secrets.clear();
        self.names.clear();
        self.open.clear();
    }

    /// Whom this machine acts for without a login: the reader or, if it was removed, the first administrator.
    async fn local_account(store: &Arc<dyn Store>) -> StoreResult<Option<Account>> {
        if let Some(reader) = store.account(READER).await? {
            return Ok(Some(reader));
        }
        Ok(store.accounts().await?.into_iter().find(|account| account.is_admin))
    }

    /// Who is let in without a login: the local account, as long as no account has a password.
    pub(crate) async fn open_account(&self, store: &Arc<dyn Store>) -> StoreResult<Option<Account>> {
        let now = Instant::now();
        if let Some(account) = self.open.get(&(), now) {
            return Ok(account);
        }
        let account = if store.has_passwords().await? { None } else { Self::local_account(store).await? };
        self.open.put((), now, account.clone());
        Ok(account)
    }

    /// Whether any account has a password.
    pub(crate) async fn has_passwords(&self, store: &Arc<dyn Store>) -> StoreResult<bool> {
        Ok(self.open_account(store).await?.is_none())
    }
}
