//! How the apps that people already use come in: with a name and the account's password or one of its tokens, or with what
//! their interface makes of these. Cookies do not count here, so no web page can act for whoever is logged in.
//!
//! Some send name and password with every request. That a password was right is remembered for a while, together with the
//! hash that it was right for. What it is compared with is never older than half a second: another password ends it on all
//! nodes as it ends a session.

use std::time::Duration;

use axum::{extract::FromRequestParts, http::request::Parts};
use domain::{
    account::{AccountName, Credentials, Login, NewSession, SESSION_LIFETIME, SecretHash, TokenScope, token_hash},
    ports::Ids,
};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{
    Actor, Client,
    identify::{Kept, by_secret, by_token, client_of, credentials_of, is_https},
    login::{may_be_name, user_agent_of, verify},
    lookups::Lookups,
};
use crate::{
    error::{ApiError, ApiResult},
    origin::names_its_page,
    state::AppState,
};

/// How long a password that was right needs no hashing again.
const CHECKED_FOR: Duration = Duration::from_mins(10);
/// How often a login is checked anew if the account was changed meanwhile.
const LOGIN_TRIES: u32 = 2;
/// Bytes of the key that this process remembers passwords under.
const KEY_BYTES: usize = 32;
/// Hexadecimal digits of what Fever's clients make of name and token.
const FEVER_KEY_DIGITS: usize = 32;

/// What an app sends that was let in without a login. It opens nothing that is not open.
const OPEN_SESSION: &str = "open";

/// Paths of the interfaces of other readers, and all below them. They are no pages: each lets in by itself.
const APP_PATHS: [&str; 8] =
    ["api/greader.php", "greader", "accounts", "reader", "api/fever.php", "fever", "fever.php", "v1"];

/// Whether a path belongs to an interface of another reader. Some clients write two slashes for one.
pub(crate) fn is_app_path(path: &str) -> bool {
    let path = path.trim_start_matches('/');
    let is_at = |prefix: &&str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    APP_PATHS.iter().any(is_at)
}

/// A path of such an interface, and the same after two slashes: users type the server's address with one at its end, and
/// apps add the path with one at its beginning.
pub(crate) fn with_two_slashes(path: &str) -> [String; 2] {
    [path.to_owned(), format!("/{path}")]
}

/// What an app comes in with.
#[derive(Clone, Copy)]
pub(crate) enum AppKey<'a> {
    /// A name, and the account's password or one of its tokens.
    Named { name: &'a str, secret: &'a str },
    /// A token by itself.
    Token(&'a str),
    /// The hexadecimal MD5 of `name:token`.
    Fever(&'a str),
    /// What [`app_session`] gave: the token itself, or what stands for the password.
    Session(&'a str),
}

/// Where an app asks from.
#[derive(Debug, Clone)]
pub(crate) struct AppClient {
    client: Client,
    /// A page in somebody's browser, which must not be let in by being on this machine.
    is_page: bool,
    user_agent: Option<String>,
}

impl FromRequestParts<AppState> for AppClient {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> ApiResult<Self> {
        let client = client_of(&parts.extensions, &parts.headers, state).ok_or(ApiError::Unauthorized)?;
        let (is_page, user_agent) = (names_its_page(&parts.headers), user_agent_of(&parts.headers));
        Ok(Self { client, is_page, user_agent })
    }
}

impl AppClient {
    /// Whether it speaks https to us, or to the proxy before us.
    pub(crate) fn is_https(&self, state: &AppState) -> bool {
        is_https(Some(&self.client), state)
    }
}

/// Whom an app acts for: 401 or 429 as at every other door. That a token for reading changes nothing is for the routes to
/// check ([`Actor::check_write`]).
pub(crate) async fn app_actor(state: &AppState, from: &AppClient, key: AppKey<'_>) -> ApiResult<Actor> {
    match key {
        AppKey::Token(token) => by_token(token, &from.client, state).await,
        AppKey::Fever(key) => by_secret(fever_hash(key), Kept::Token, &from.client, state).await,
        AppKey::Session(secret) if token_hash(secret).is_some() => by_token(secret, &from.client, state).await,
        AppKey::Session(secret) => by_app_session(state, from, secret).await,
        AppKey::Named { name, secret } if token_hash(secret).is_some() => by_own_token(state, from, name, secret).await,
        AppKey::Named { name, secret } => match open_actor(state, from).await? {
            Some(actor) => Ok(actor),
            None => by_password(state, from, name, secret).await.map(|credentials| actor_of(&credentials)),
        },
    }
}

/// What an app may send from now on in the place of name and secret. It is the same at each login: the token itself, or
/// what is derived of the password. It holds until the token or the password does not, until somebody ends it (then what
/// is derived is another), or until it was not used for as long as a session.
pub(crate) async fn app_session(
    state: &AppState,
    from: &AppClient,
    name: &str,
    secret: &str,
) -> ApiResult<(Actor, String)> {
    if token_hash(secret).is_some() {
        return Ok((by_own_token(state, from, name, secret).await?, secret.to_owned()));
    }
    if let Some(actor) = open_actor(state, from).await? {
        return Ok((actor, OPEN_SESSION.to_owned()));
    }
    // What is known of the account may be half a second old, and may change meanwhile.
    for _ in 0..LOGIN_TRIES {
        let credentials = by_password(state, from, name, secret).await?;
        let derived = state.auth.passwords.derive(&credentials, secret.to_owned()).await?;
        if keep_session(state, from, &credentials, session_hash_of(&derived)).await? {
            return Ok((actor_of(&credentials), derived));
        }
    }
    Err(ApiError::Unavailable("the account is being changed; try again later"))
}

/// Keeps a session of an app like those of browsers: listed, revocable, ended by another password. False if these are not
/// the account's credentials any more.
async fn keep_session(
    state: &AppState,
    from: &AppClient,
    credentials: &Credentials,
    secret: SecretHash,
) -> ApiResult<bool> {
    if state.store().session(secret, SESSION_LIFETIME).await?.is_some() {
        return Ok(true);
    }
    let (address, user_agent) = (Some(from.client.address.to_string()), from.user_agent.clone());
    let new = NewSession { secret, is_app: true, address, user_agent };
    let kept = state.store().create_session(credentials, new).await?;
    state.auth.forget();
    Ok(kept.is_some())
}

async fn by_app_session(state: &AppState, from: &AppClient, secret: &str) -> ApiResult<Actor> {
    if secret == OPEN_SESSION
        && let Some(actor) = open_actor(state, from).await?
    {
        return Ok(actor);
    }
    let hash = domain::account::session_hash(secret).map(|_| session_hash_of(secret));
    let actor = by_secret(hash, Kept::Session, &from.client, state).await?;
    Ok(Actor { scope: TokenScope::Write, session: None, ..actor })
}

/// What is kept of an app's session: nothing that a browser could send as its cookie.
fn session_hash_of(secret: &str) -> SecretHash {
    SecretHash::of(&format!("app {secret}"))
}

async fn by_own_token(state: &AppState, from: &AppClient, name: &str, token: &str) -> ApiResult<Actor> {
    let actor = by_token(token, &from.client, state).await?;
    let is_own = AccountName::key_of(name) == AccountName::key_of(&actor.name);
    is_own.then_some(actor).ok_or(ApiError::Unauthorized)
}

/// Whoever is let in without a login, as long as no account has a password.
async fn open_actor(state: &AppState, from: &AppClient) -> ApiResult<Option<Actor>> {
    if from.is_page || !(from.client.is_local || state.settings.no_auth) {
        return Ok(None);
    }
    let account = state.auth.open_account(state.store()).await?;
    Ok(account.map(|account| Actor::new(&account, TokenScope::Write, None, None)))
}

fn actor_of(credentials: &Credentials) -> Actor {
    let account = &credentials.account;
    Actor::new(account, TokenScope::Write, None, Some(Login::Account(account.id)))
}

/// The account of this name and password, hashed only if that was not done lately.
async fn by_password(state: &AppState, from: &AppClient, name: &str, password: &str) -> ApiResult<Credentials> {
    let (checked, now) = (&state.auth.checked, Instant::now());
    let key = checked.key(name, password);
    if let Some(hash) = checked.right_for.get(&key, now).filter(|_| may_be_name(name))
        && let Some(credentials) = credentials_of(name, state).await?
        && credentials.password_hash.as_ref() == Some(&hash)
    {
        return Ok(credentials);
    }
    let credentials = verify(state, from.client.address, name, password.to_owned()).await?;
    if let Some(hash) = &credentials.password_hash {
        checked.right_for.put(key, now, hash.clone());
    }
    Ok(credentials)
}

fn fever_hash(key: &str) -> Option<SecretHash> {
    let is_key = key.len() == FEVER_KEY_DIGITS && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_key.then(|| SecretHash::of(&key.to_ascii_lowercase()))
}

/// Passwords that were right, each with the hash that it was right for. What is kept of one is worth nothing without the
/// key of this process.
#[derive(Debug)]
pub(super) struct CheckedPasswords {
    key: [u8; KEY_BYTES],
    right_for: Lookups<SecretHash, String>,
}

impl CheckedPasswords {
    pub(super) fn new(ids: &dyn Ids) -> Self {
        let mut key = [0; KEY_BYTES];
        ids.fill(&mut key);
        Self { key, right_for: Lookups::fresh_for(CHECKED_FOR) }
    }

    fn key(&self, name: &str, password: &str) -> SecretHash {
        let name = AccountName::key_of(name);
        let hash = Sha256::new().chain_update(self.key).chain_update(name.len().to_be_bytes());
        SecretHash(hash.chain_update(name).chain_update(password).finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_paths_of_apps_let_in_by_themselves() {
        for (path, expect) in [
            ("/api/greader.php", true),
            ("/api/greader.php/accounts/ClientLogin", true),
            ("/api/greader.php//reader/api/0/token", true),
            ("//reader/api/0/token", true),
            ("/greader/reader/api/0/token", true),
            ("/accounts/ClientLogin", true),
            ("/fever/", true),
            ("/fever.php", true),
            ("/api/fever.php/", true),
            ("/v1/me", true),
            ("/api/greader.phpx", false),
            ("/api/accounts", false),
            ("/readers", false),
            ("/api/feeds", false),
            ("/v10", false),
            ("/", false),
        ] {
            assert_eq!(is_app_path(path), expect, "{path}");
        }
    }

    #[test]
    fn a5_only_32_digits_are_a_key_of_fevers() {
        let key = "0123456789abcdefABCDEF0123456789";
        assert_eq!(fever_hash(key), Some(SecretHash::of(&key.to_lowercase())));
        for bad in ["", &key[1..], "0123456789abcdefABCDEF012345678g"] {
            assert_eq!(fever_hash(bad), None, "{bad}");
        }
    }
}
