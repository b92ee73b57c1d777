//! Accounts: one's own, and for administrators all of them.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    AccountId,
    account::{Account, AccountName, AccountPatch, NewAccount, check_password},
    ports::{AccountOutcome, Conflict},
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    auth::{Actor, Admin, Origin, verify_own},
    error::{ApiError, ApiResult, ErrorBody},
    extract::{self, Id},
    state::AppState,
    views::{AccountView, ids},
};

/// What is to be changed about one's own account.
#[derive(Deserialize, ToSchema)]
#[schema(as = OwnAccountPatch)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OwnPatchBody {
    /// Another name. Clients that log in by Fever need another token then: their keys are made of the name.
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f\ufffe\uffff][^\u0000-\u001f\u007f-\u009f]*$"
    )]
    pub(crate) name: Option<String>,
    /// The password until now, if there is one: needed for another.
    #[schema(format = Password)]
    pub(crate) password: Option<String>,
    /// Another password, of 8 characters to 1024 bytes. It ends all other sessions.
    #[schema(format = Password, min_length = 8)]
    pub(crate) new_password: Option<String>,
}

/// An account to be made.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewAccount)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateBody {
    /// Its name, which no other account has, whatever the case of its letters.
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f\ufffe\uffff][^\u0000-\u001f\u007f-\u009f]*$"
    )]
    pub(crate) name: String,
    /// Its password, of 8 characters to 1024 bytes.
    #[schema(format = Password, min_length = 8)]
    pub(crate) password: String,
    /// Whether it manages accounts, and sees how the whole server stands.
    #[serde(default)]
    pub(crate) is_admin: bool,
}

/// What is to be changed about an account.
#[derive(Deserialize, ToSchema)]
#[schema(as = AccountPatch)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PatchBody {
    /// Another name.
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f\ufffe\uffff][^\u0000-\u001f\u007f-\u009f]*$"
    )]
    pub(crate) name: Option<String>,
    /// Another password. It ends the account's sessions. In a session one's own is changed by `PATCH /api/account`.
    #[schema(format = Password, min_length = 8)]
    pub(crate) password: Option<String>,
    /// Whether it is an administrator.
    pub(crate) is_admin: Option<bool>,
}

/// Whose account it is that asks.
#[utoipa::path(
    get, path = "/api/account", tag = "accounts", operation_id = "getOwnAccount",
    responses((status = 200, description = "The account.", body = AccountView))
)]
pub(crate) async fn get_own(State(state): State<AppState>, actor: Actor) -> ApiResult<Json<AccountView>> {
    Ok(Json(own(&state, &actor).await?.into()))
}

async fn own(state: &AppState, actor: &Actor) -> ApiResult<Account> {
    state.store().account(actor.account).await?.ok_or(ApiError::Unauthorized)
}

/// Changes one's own name or password.
#[utoipa::path(
    patch, path = "/api/account", tag = "accounts", operation_id = "updateOwnAccount", request_body = OwnPatchBody,
    responses(
        (status = 200, description = "The account as it is now.", body = AccountView),
        (status = 400, description = "The name or the new password is not fit to be one.", body = ErrorBody),
        (status = 401, description = "The password is not the account's.", body = ErrorBody),
        (status = 409, description = "Another account has this name.", body = ErrorBody),
        (status = 429, description = "Too many attempts: `Retry-After` says when the next may be.", body = ErrorBody),
    )
)]
pub(crate) async fn patch_own(
    State(state): State<AppState>,
    actor: Actor,
    origin: Origin,
    extract::Json(body): extract::Json<OwnPatchBody>,
) -> ApiResult<Json<AccountView>> {
    actor.check_person()?;
    let OwnPatchBody { name, password, new_password } = body;
    let name = name.as_deref().map(checked_name).transpose()?;
    if let Some(new_password) = &new_password {
        check_password(new_password).map_err(|error| ApiError::field("newPassword", error))?;
        if own(&state, &actor).await?.has_password {
            let password = password.ok_or_else(|| ApiError::field("password", "is needed for another password"))?;
            verify_own(&state, &origin, &actor, password).await?;
        }
    }
    let password_hash = hashed(&state, new_password).await?;
    let patch = AccountPatch { name, is_admin: None, password_hash, kept_session: actor.session };
    update(&state, actor.account, patch).await
}

/// All accounts, by id.
#[utoipa::path(
    get, path = "/api/accounts", tag = "accounts", operation_id = "listAccounts",
    responses(
        (status = 200, description = "The accounts.", body = Vec<AccountView>),
        (status = 403, description = "This is for administrators.", body = ErrorBody),
    )
)]
pub(crate) async fn list(State(state): State<AppState>, _: Admin) -> ApiResult<Json<Vec<AccountView>>> {
    let accounts = state.store().accounts().await?;
    Ok(Json(accounts.into_iter().map(AccountView::from).collect()))
}

/// Makes an account.
#[utoipa::path(
    post, path = "/api/accounts", tag = "accounts", operation_id = "createAccount", request_body = CreateBody,
    responses(
        (status = 201, description = "The account.", body = AccountView),
        (status = 400, description = "The name or the password is not fit to be one.", body = ErrorBody),
        (status = 403, description = "This is for administrators.", body = ErrorBody),
        (status = 409, description = "Another account has this name.", body = ErrorBody),
    )
)]
pub(crate) async fn create(
    State(state): State<AppState>,
    _: Admin,
    extract::Json(body): extract::Json<CreateBody>,
) -> ApiResult<Response> {
    let CreateBody { name, password, is_admin } = body;
    let name = checked_name(&name)?;
    check_password(&password).map_err(|error| ApiError::field("password", error))?;
    let password_hash = hashed(&state, Some(password)).await?;
    let made = state.store().create_account(NewAccount { name, password_hash, is_admin }).await?;
    let account = made.map_err(|Conflict| taken())?;
    state.auth.forget();
    let location = format!("/api/accounts/{}", account.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(AccountView::from(account))).into_response())
}

/// One account.
#[utoipa::path(
    get, path = "/api/accounts/{id}", tag = "accounts", operation_id = "getAccount",
    params(("id" = ids::AccountId, Path)),
    responses(
        (status = 200, description = "The account.", body = AccountView),
        (status = 403, description = "This is for administrators.", body = ErrorBody),
        (status = 404, description = "There is no such account.", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    State(state): State<AppState>,
    _: Admin,
    Id(id): Id<AccountId>,
) -> ApiResult<Json<AccountView>> {
    Ok(Json(state.store().account(id).await?.ok_or(ApiError::NotFound("account"))?.into()))
}

/// Changes an account.
#[utoipa::path(
    patch, path = "/api/accounts/{id}", tag = "accounts", operation_id = "updateAccount",
    params(("id" = ids::AccountId, Path)), request_body = PatchBody,
    responses(
        (status = 200, description = "The account as it is now.", body = AccountView),
        (status = 400, description = "The name or the password is not fit to be one.", body = ErrorBody),
        (status = 403, description = "This is for administrators.", body = ErrorBody),
        (status = 404, description = "There is no such account.", body = ErrorBody),
        (status = 409, description = "Another account has this name, or there would be no administrator left.", body = ErrorBody),
    )
)]
pub(crate) async fn patch(
    State(state): State<AppState>,
    Admin(actor): Admin,
    Id(id): Id<AccountId>,
    extract::Json(body): extract::Json<PatchBody>,
) -> ApiResult<Json<AccountView>> {
    let PatchBody { name, password, is_admin } = body;
    let name = name.as_deref().map(checked_name).transpose()?;
    if let Some(password) = &password {
        check_password(password).map_err(|error| ApiError::field("password", error))?;
        // Whoever finds a browser that somebody left logged in takes no account by it.
        if actor.session.is_some() && actor.account == id && own(&state, &actor).await?.has_password {
            let told = "is your own: `PATCH /api/account` changes it, with the one until now";
            return Err(ApiError::field("password", told));
        }
    }
    let password_hash = hashed(&state, password).await?;
    let kept_session = actor.session.filter(|_| actor.account == id);
    update(&state, id, AccountPatch { name, is_admin, password_hash, kept_session }).await
}

/// Removes an account with all that is its own.
#[utoipa::path(
    delete, path = "/api/accounts/{id}", tag = "accounts", operation_id = "deleteAccount",
    params(("id" = ids::AccountId, Path)),
    responses(
        (status = 204, description = "It is gone."),
        (status = 403, description = "This is for administrators.", body = ErrorBody),
        (status = 404, description = "There is no such account.", body = ErrorBody),
        (status = 409, description = "It is the last administrator.", body = ErrorBody),
    )
)]
pub(crate) async fn delete(State(state): State<AppState>, _: Admin, Id(id): Id<AccountId>) -> ApiResult<StatusCode> {
    let outcome = state.engine.delete_account(id).await?;
    state.auth.forget();
    done(outcome).map(|_| StatusCode::NO_CONTENT)
}

async fn update(state: &AppState, id: AccountId, patch: AccountPatch) -> ApiResult<Json<AccountView>> {
    let outcome = state.store().update_account(id, patch).await?;
    state.auth.forget();
    Ok(Json(done(outcome)?.into()))
}

fn done(outcome: AccountOutcome) -> ApiResult<Account> {
    match outcome {
        AccountOutcome::Done(account) => Ok(*account),
        AccountOutcome::NotFound => Err(ApiError::NotFound("account")),
        AccountOutcome::Conflict => Err(taken()),
        AccountOutcome::LastAdministrator => {
            Err(ApiError::Conflict("there would be no administrator left".to_owned(), None))
        }
    }
}

fn taken() -> ApiError {
    ApiError::Conflict("another account has this name already".to_owned(), None)
}

fn checked_name(text: &str) -> ApiResult<AccountName> {
    AccountName::parse(text).map_err(|error| ApiError::field("name", error))
}

async fn hashed(state: &AppState, password: Option<String>) -> ApiResult<Option<String>> {
    match password {
        Some(password) => state.auth.passwords.hash(password, state.auth.ids).await.map(Some),
        None => Ok(None),
    }
}
