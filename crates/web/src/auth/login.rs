//! Logging in with a name and a password.

use std::net::{IpAddr, Ipv4Addr};

use axum::{
    extract::FromRequestParts,
    http::{Extensions, HeaderMap, HeaderValue, header, request::Parts},
};
use domain::account::{
    ACCOUNT_NAME_CHARS_MAX, Account, AccountName, Credentials, NewSession, SESSION_LIFETIME, SecretHash,
    new_session_secret, session_hash,
};
use tokio::time::Instant;

use super::{
    Actor, cookie,
    identify::{client_of, is_https},
    password::Reputation,
};
use crate::{
    error::{ApiError, ApiResult},
    state::AppState,
};

/// Where sessions are made and ended.
pub(super) const SESSION_PATH: &str = "/api/session";

/// Bytes of a login, by whichever interface: a name, a password of a kilobyte, each written with three characters a byte,
/// and where to go. Anybody can send one.
pub(crate) const LOGIN_BYTES_MAX: usize = 16 * 1024;

/// Characters of a browser's name that are kept.
const USER_AGENT_CHARS_MAX: usize = 200;

/// Where a login comes from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    address: IpAddr,
    user_agent: Option<String>,
    pub(crate) is_https: bool,
    /// The session that its browser had before.
    before: Option<SecretHash>,
}

impl FromRequestParts<AppState> for Origin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> ApiResult<Self> {
        Ok(Self::of(&parts.extensions, &parts.headers, state))
    }
}

impl Origin {
    fn of(extensions: &Extensions, headers: &HeaderMap, state: &AppState) -> Self {
        let client = client_of(extensions, headers, state);
        let is_https = is_https(client.as_ref(), state);
        Self {
            address: client.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |client| client.address),
            user_agent: user_agent_of(headers),
            is_https,
            before: cookie::read(headers, is_https).and_then(session_hash),
        }
    }

    /// The cookie that takes the session away.
    pub(crate) fn no_cookie(&self) -> HeaderValue {
        cookie::taken(self.is_https)
    }
}

/// The name of a browser or an app, as far as it is kept.
pub(super) fn user_agent_of(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
    text.map(|text| text.chars().take(USER_AGENT_CHARS_MAX).collect())
}

/// Logs somebody in: the account, and the cookie of the new session.
pub(crate) async fn log_in(
    state: &AppState,
    origin: &Origin,
    name: &str,
    password: String,
) -> ApiResult<(Account, HeaderValue)> {
    let checked = verify(state, origin.address, name, password).await?;
    end_session(state, origin).await?;
    let secret = new_session_secret(state.auth.ids);
    let new = NewSession {
        secret: SecretHash::of(&secret),
        is_app: false,
        address: Some(origin.address.to_string()),
        user_agent: origin.user_agent.clone(),
    };
    // Another password may have been set meanwhile: then this one is wrong.
    state.store().create_session(&checked, new).await?.ok_or(ApiError::Unauthorized)?;
    let account = checked.account;
    tracing::info!(account = %account.id, address = %origin.address, "logged in");
    Ok((account, cookie::given(&secret, origin.is_https)))
}

/// Ends the session that a browser has, if it has one.
pub(crate) async fn end_session(state: &AppState, origin: &Origin) -> ApiResult<()> {
    let Some(before) = origin.before else { return Ok(()) };
    if let Some((account, session)) = state.store().session(before, SESSION_LIFETIME).await? {
        state.store().delete_session(account.id, session.id).await?;
    }
    state.auth.forget();
    Ok(())
}

/// Whether whoever asks knows the account's password. One without a password has none to know.
pub(crate) async fn verify_own(state: &AppState, origin: &Origin, actor: &Actor, password: String) -> ApiResult<()> {
    verify(state, origin.address, &actor.name, password).await.map(drop)
}

/// The account of this name and password. It takes the same time whatever is wrong.
pub(super) async fn verify(state: &AppState, address: IpAddr, name: &str, password: String) -> ApiResult<Credentials> {
    let (guesses, key, now) = (&state.auth.guesses, AccountName::key_of(name), Instant::now());
    // Before this one counts.
    let reputation = if guesses.has_failed(&key, address, now) { Reputation::HasFailed } else { Reputation::Good };
    let guess = guesses.begin(&key, address, now).map_err(ApiError::TooManyAttempts)?;
    match check(state, name, password, reputation).await {
        Ok(Some(credentials)) => {
            guesses.succeeded(guess);
            Ok(credentials)
        }
        Ok(None) => {
            // Not the name: some type their password there.
            tracing::warn!(%address, "login failed");
            Err(ApiError::Unauthorized)
        }
        Err(error) => {
            guesses.undo(guess);
            Err(error)
        }
    }
}

async fn check(
    state: &AppState,
    name: &str,
    password: String,
    reputation: Reputation,
) -> ApiResult<Option<Credentials>> {
    let credentials = if may_be_name(name) { state.store().credentials(name).await? } else { None };
    let hash = credentials.as_ref().and_then(|credentials| credentials.password_hash.clone());
    let is_right = state.auth.passwords.verify(hash, password, reputation).await?;
    Ok(credentials.filter(|_| is_right))
}

/// Whether a text is short enough to be looked for among the names.
pub(super) fn may_be_name(text: &str) -> bool {
    text.chars().take(2 * ACCOUNT_NAME_CHARS_MAX).count() < 2 * ACCOUNT_NAME_CHARS_MAX
}
