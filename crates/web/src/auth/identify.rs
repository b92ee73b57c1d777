//! Finds who asks.

use std::sync::atomic::Ordering;

use axum::http::{Extensions, HeaderMap, header};
use domain::account::{
    AccountName, Credentials, Login, SESSION_LIFETIME, SecretHash, TokenScope, session_hash, token_hash,
};
use tokio::time::Instant;

use super::{Actor, Auth, Client, Known, Peer, cookie};
use crate::{
    error::{ApiError, ApiResult},
    state::AppState,
};

/// A request of this process itself, which has the store and needs no login.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InProcess;

/// How somebody is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Way {
    /// By what only a program sends.
    Token,
    /// By what a browser sends by itself, also for a foreign page.
    Browser,
    /// By being here.
    Open,
}

/// Where a request comes from; `None` if it comes from this process.
pub(crate) fn client_of(extensions: &Extensions, headers: &HeaderMap, state: &AppState) -> Option<Client> {
    let peer = extensions.get::<Peer>()?;
    Some(Client::of(peer.0.ip(), headers, &state.settings.trusted_proxies))
}

/// Whether the browser speaks https to us, or to the proxy before us.
pub(crate) fn is_https(client: Option<&Client>, state: &AppState) -> bool {
    client.is_some_and(|client| client.is_https)
        || state.settings.base_url.as_ref().is_some_and(|url| url.scheme() == "https")
}

/// Who asks, and how that is known.
pub(crate) async fn identify(
    extensions: &Extensions,
    headers: &HeaderMap,
    state: &AppState,
) -> ApiResult<(Actor, Way)> {
    let Some(client) = client_of(extensions, headers, state) else {
        return in_process(extensions, state).await.map(|actor| (actor, Way::Open));
    };
    if let Some(token) = bearer(headers) {
        return by_token(token, &client, state).await.map(|actor| (actor, Way::Token));
    }
    if let Some(name) = name_of_proxy(headers, &client, state)? {
        return by_name(name, state).await.map(|actor| (actor, Way::Browser));
    }
    if let Some(secret) = cookie::read(headers, is_https(Some(&client), state))
        && let Some(actor) = by_session(secret, state).await?
    {
        return Ok((actor, Way::Browser));
    }
    let is_open = client.is_local || state.settings.no_auth;
    match state.auth.open_account(state.store()).await? {
        Some(account) if is_open => Ok((Actor::new(&account, TokenScope::Admin, None, None), Way::Open)),
        _ => Err(ApiError::Unauthorized),
    }
}

async fn in_process(extensions: &Extensions, state: &AppState) -> ApiResult<Actor> {
    extensions.get::<InProcess>().ok_or(ApiError::Unauthorized)?;
    local_actor(state).await
}

/// Whom the commands on this machine act for. They administer whoever that is: where nobody knows a password any more, one
/// is set by them.
async fn local_actor(state: &AppState) -> ApiResult<Actor> {
    let account = Auth::local_account(state.store()).await?.ok_or(ApiError::Unauthorized)?;
    let actor = Actor::new(&account, TokenScope::Admin, None, Some(Login::Account(account.id)));
    Ok(Actor { is_admin: true, ..actor })
}

/// What follows `Bearer`. Other ways of `Authorization` are those of proxies.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (way, token) = value.split_once(' ')?;
    way.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

pub(super) async fn by_token(token: &str, client: &Client, state: &AppState) -> ApiResult<Actor> {
    let hash = token_hash(token);
    if hash == Some(SecretHash::of(state.auth.server_token())) {
        return local_actor(state).await;
    }
    by_secret(hash, Kept::Token, client, state).await
}

/// Which table keeps a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    Token,
    Session,
}

/// Whoever has this secret; `None` is what cannot be one. Wrong ones are counted for their address, and slowed.
pub(super) async fn by_secret(
    hash: Option<SecretHash>,
    kept: Kept,
    client: &Client,
    state: &AppState,
) -> ApiResult<Actor> {
    let (auth, now) = (&state.auth, Instant::now());
    // Looked up in any case: its neighbours' mistakes are not those of a good one.
    let found = match hash {
        Some(hash) => look_up(hash, state, kept).await?.map(|known| (hash, known)),
        None => None,
    };
    let Some((hash, known)) = found else {
        if let Some(wait) = auth.guesses.token_wait(client.address, now) {
            return Err(ApiError::TooManyAttempts(wait));
        }
        auth.guesses.token_failed(client.address, now);
        return Err(ApiError::Unauthorized);
    };
    let login = if kept == Kept::Token { Login::Token(hash) } else { Login::Session(hash) };
    Ok(Actor::new(&known.account, known.scope, known.session, Some(login)))
}

async fn by_session(secret: &str, state: &AppState) -> ApiResult<Option<Actor>> {
    let Some(hash) = session_hash(secret) else { return Ok(None) };
    let known = look_up(hash, state, Kept::Session).await?;
    let login = Some(Login::Session(hash));
    Ok(known.map(|known| Actor::new(&known.account, known.scope, known.session, login)))
}

async fn look_up(hash: SecretHash, state: &AppState, kept: Kept) -> ApiResult<Option<Known>> {
    let now = Instant::now();
    if let Some(known) = state.auth.secrets.get(&hash, now) {
        return Ok(known);
    }
    let known = if kept == Kept::Session {
        let found = state.store().session(hash, SESSION_LIFETIME).await?;
        found.map(|(account, session)| Known { account, scope: TokenScope::Admin, session: Some(session.id) })
    } else {
        let found = state.store().token(hash).await?;
        found.map(|(account, token)| Known { account, scope: token.scope, session: None })
    };
    // A session that is not there may be made the next moment, with the same secret if it is an app's, and on another node.
    if known.is_some() || kept == Kept::Token {
        state.auth.secrets.put(hash, now, known.clone());
    }
    Ok(known)
}

/// The account that a trusted proxy has logged in. From anybody else the header is not looked at.
fn name_of_proxy<'a>(headers: &'a HeaderMap, client: &Client, state: &AppState) -> ApiResult<Option<&'a str>> {
    let Some(header) = state.settings.auth_proxy_header.as_ref().filter(|_| client.is_proxied) else {
        return Ok(None);
    };
    let mut values = headers.get_all(header).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            let name = std::str::from_utf8(value.as_bytes()).map_err(|_| ApiError::Unauthorized)?.trim();
            Ok(Some(name).filter(|name| !name.is_empty()))
        }
        // Which one the proxy has added cannot be told.
        (Some(_), Some(_)) => Err(ApiError::Unauthorized),
    }
}

async fn by_name(name: &str, state: &AppState) -> ApiResult<Actor> {
    let account = credentials_of(name, state).await?.map(|credentials| credentials.account);
    if account.is_none() && !state.auth.is_unknown_name_logged.swap(true, Ordering::Relaxed) {
        tracing::warn!(name, hint = "further ones are not logged", "proxy named unknown account");
    }
    let account = account.ok_or(ApiError::Unauthorized)?;
    Ok(Actor::new(&account, TokenScope::Admin, None, Some(Login::Account(account.id))))
}

/// What a login of this name is checked against, as the store said within the last half second.
pub(super) async fn credentials_of(name: &str, state: &AppState) -> ApiResult<Option<Credentials>> {
    let (key, now) = (AccountName::key_of(name), Instant::now());
    if let Some(credentials) = state.auth.names.get(&key, now) {
        return Ok(credentials);
    }
    let credentials = state.store().credentials(name).await?;
    state.auth.names.put(key, now, credentials.clone());
    Ok(credentials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a5_tokens_follow_bearer() {
        for (value, expect) in [
            ("Bearer pir_x", Some("pir_x")),
            ("bearer  pir_x ", Some("pir_x")),
            ("Bearer", None),
            ("Basic cjpw", None),
            ("pir_x", None),
        ] {
            let headers: HeaderMap = [(header::AUTHORIZATION, value.parse().unwrap())].into_iter().collect();
            assert_eq!(bearer(&headers), expect, "{value}");
        }
    }
}
