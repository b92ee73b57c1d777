//! Tokens for programs: made and shown once, listed, revoked.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    TokenId,
    account::{NewToken, SecretHash, Token, TokenScope, fever_key_hash, new_token},
    folder::one_line,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    auth::Actor,
    error::{ApiError, ApiResult, ErrorBody},
    extract::{self, Id, check_length},
    state::AppState,
    time::time,
    views::{ScopeView, TokenView, ids},
};

/// Characters of a token's name.
const NAME_CHARS_MAX: usize = 100;
/// Tokens of an account.
const TOKENS_MAX: usize = 200;

/// A token to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewToken)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateBody {
    /// What it is for: more than blanks.
    #[schema(min_length = 1, max_length = 100, pattern = r"[^\s\u0000-\u001f\u007f-\u009f\ufffe\uffff]")]
    pub(crate) name: String,
    /// What it may do. Only administrators make tokens for administration.
    pub(crate) scope: ScopeView,
    /// When it ends; null for never.
    #[serde(default)]
    #[schema(format = DateTime)]
    pub(crate) expires_at: Option<String>,
}

/// A token with its secret, which is shown this once.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenWithSecret {
    #[serde(flatten)]
    view: TokenView,
    /// What programs send, as `Authorization: Bearer pir_...`.
    token: String,
}

/// The account's tokens, by id.
#[utoipa::path(
    get, path = "/api/tokens", tag = "accounts", operation_id = "listTokens",
    responses((status = 200, description = "The tokens.", body = Vec<TokenView>))
)]
pub(crate) async fn list(State(state): State<AppState>, actor: Actor) -> ApiResult<Json<Vec<TokenView>>> {
    let tokens = state.store().tokens(actor.account).await?;
    Ok(Json(tokens.into_iter().map(TokenView::from).collect()))
}

/// Makes a token. It is in this answer and in no other.
#[utoipa::path(
    post, path = "/api/tokens", tag = "accounts", operation_id = "createToken", request_body = CreateBody,
    responses(
        (status = 201, description = "The token, with its secret.", body = TokenWithSecret),
        (status = 400, description = "A field is wrong; the sentence says which.", body = ErrorBody),
        (status = 403, description = "It may do more than whoever asks, or a token asks that is not for administration.", body = ErrorBody),
        (status = 409, description = "There are as many as there can be.", body = ErrorBody),
    )
)]
pub(crate) async fn create(
    State(state): State<AppState>,
    actor: Actor,
    extract::Json(body): extract::Json<CreateBody>,
) -> ApiResult<Response> {
    let (made, token) = make(&state, &actor, body).await?;
    let location = format!("/api/tokens/{}", made.id);
    let body = Json(TokenWithSecret { view: made.into(), token });
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], body).into_response())
}

/// Makes a token, whoever asks for it: a program, or a form of the page. Beside it is its secret.
pub(crate) async fn make(state: &AppState, actor: &Actor, body: CreateBody) -> ApiResult<(Token, String)> {
    actor.check_person()?;
    if TokenScope::from(body.scope) == TokenScope::Admin {
        actor.check_admin()?;
    }
    let token = new_token(state.auth.ids);
    let new = checked(body, actor, &token, state)?;
    if state.store().tokens(actor.account).await?.len() >= TOKENS_MAX {
        return Err(ApiError::Conflict(format!("there are {TOKENS_MAX} tokens, and can be no more"), None));
    }
    let made = state.store().create_token(actor.account, new).await?;
    Ok((made, token))
}

/// Makes a token for an app that asks for one itself: to read and write, without an end.
pub(crate) async fn make_for_app(state: &AppState, actor: &Actor, name: String) -> ApiResult<(Token, String)> {
    make(state, actor, CreateBody { name, scope: ScopeView::Write, expires_at: None }).await
}

fn checked(body: CreateBody, actor: &Actor, token: &str, state: &AppState) -> ApiResult<NewToken> {
    check_length("name", &body.name, NAME_CHARS_MAX)?;
    let name = one_line(&body.name);
    if name.is_empty() {
        return Err(ApiError::field("name", "needs at least one character"));
    }
    let expires_at = body.expires_at.map(|text| time("expiresAt", &text)).transpose()?;
    if expires_at.is_some_and(|end| end <= state.engine.now()) {
        return Err(ApiError::field("expiresAt", "is in the past"));
    }
    Ok(NewToken {
        name,
        scope: body.scope.into(),
        expires_at,
        secret: SecretHash::of(token),
        fever_key: fever_key_hash(&actor.name, token),
    })
}

/// Revokes a token.
#[utoipa::path(
    delete, path = "/api/tokens/{id}", tag = "accounts", operation_id = "deleteToken",
    params(("id" = ids::TokenId, Path)),
    responses(
        (status = 204, description = "It is worth nothing now."),
        (status = 404, description = "There is no such token.", body = ErrorBody),
    )
)]
pub(crate) async fn delete(State(state): State<AppState>, actor: Actor, Id(id): Id<TokenId>) -> ApiResult<StatusCode> {
    actor.check_person()?;
    let is_there = state.store().delete_token(actor.account, id).await?;
    state.auth.forget();
    if is_there { Ok(StatusCode::NO_CONTENT) } else { Err(ApiError::NotFound("token")) }
}
