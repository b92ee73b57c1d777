//! Who asks: the account, and what it may do by the way it came in.

use axum::{extract::FromRequestParts, http::request::Parts};
use domain::{
    AccountId, SessionId,
    account::{Account, Login, TokenScope},
};

use crate::error::{ApiError, ApiResult};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) account: AccountId,
    pub(crate) name: String,
    /// Whether the account is an administrator; what may be done is [`Actor::check_admin`].
    pub(crate) is_admin: bool,
    /// What may be done: of a token, what it is for; of a person, everything.
    pub(crate) scope: TokenScope,
    /// The session that it came by, if any.
    pub(crate) session: Option<SessionId>,
    /// What it is known by; `None`: by being here, as long as no account has a password.
    pub(crate) login: Option<Login>,
}

impl Actor {
    pub(crate) fn new(account: &Account, scope: TokenScope, session: Option<SessionId>, login: Option<Login>) -> Self {
        Self { account: account.id, name: account.name.clone(), is_admin: account.is_admin, scope, session, login }
    }

    /// Refuses whoever may not manage the server: a token needs the scope, and its account must be an administrator.
    pub(crate) fn check_admin(&self) -> ApiResult<()> {
        if self.is_admin && self.scope >= TokenScope::Admin {
            return Ok(());
        }
        Err(ApiError::Forbidden("this is for administrators"))
    }

    /// Refuses tokens that are only for reading.
    pub(crate) fn check_write(&self) -> ApiResult<()> {
        if self.scope >= TokenScope::Write {
            return Ok(());
        }
        Err(ApiError::Forbidden("this token is only for reading"))
    }

    /// Refuses tokens that could make themselves others: what one comes in with is changed by whoever has logged in, or by
    /// a token for administration.
    pub(crate) fn check_person(&self) -> ApiResult<()> {
        if self.scope >= TokenScope::Admin {
            return Ok(());
        }
        Err(ApiError::Forbidden("this needs a login, or a token for administration"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Actor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        parts.extensions.get::<Self>().cloned().ok_or(ApiError::Unauthorized)
    }
}

/// The same for what is only for administrators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Admin(pub(crate) Actor);

impl<S: Send + Sync> FromRequestParts<S> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let actor = Actor::from_request_parts(parts, state).await?;
        actor.check_admin()?;
        Ok(Self(actor))
    }
}
