//! API keys: the account's tokens. A token makes no other, unless it is for administration: whoever revokes it would not
//! know of that one.

use axum::{
    Json,
    extract::{Request, State},
    http::StatusCode,
    response::IntoResponse,
};
use domain::{
    TokenId,
    account::{Login, Token, TokenScope},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    error::{Answer, Refused},
    input::{self, PathId},
    no_content,
};
use crate::{auth::Actor, error::ApiResult, routes::tokens, state::AppState};

#[derive(Debug, Deserialize)]
struct KeyBody {
    #[serde(default)]
    description: String,
}

pub(super) async fn list(State(state): State<AppState>, actor: Actor) -> Answer {
    let tokens = state.store().tokens(actor.account).await?;
    Ok(Json(tokens.iter().map(|token| view(&actor, token, "")).collect::<Vec<_>>()).into_response())
}

/// The secret is shown once.
pub(super) async fn create(State(state): State<AppState>, actor: Actor, request: Request) -> Answer {
    let body: KeyBody = input::json(&state, request).await?;
    let (token, secret) = tokens::make_for_app(&state, &by_person(actor.clone())?, body.description).await?;
    Ok((StatusCode::CREATED, Json(view(&actor, &token, &secret))).into_response())
}

pub(super) async fn delete(State(state): State<AppState>, actor: Actor, PathId(id): PathId) -> Answer {
    let actor = by_person(actor)?;
    let is_there = state.store().delete_token(actor.account, TokenId(id)).await?;
    state.auth.forget();
    if is_there { Ok(no_content()) } else { Err(Refused::none()) }
}

/// Whoever came with the password may do as a person does; with a token, as the token may.
fn by_person(actor: Actor) -> ApiResult<Actor> {
    if matches!(actor.login, Some(Login::Token(_))) {
        actor.check_person()?;
        return Ok(actor);
    }
    Ok(Actor { scope: TokenScope::Admin, ..actor })
}

fn view(actor: &Actor, token: &Token, secret: &str) -> Value {
    json!({
        "id": token.id,
        "user_id": actor.account,
        "token": secret,
        "description": token.name,
        "last_used_at": token.last_used_at,
        "created_at": token.created_at,
    })
}

#[cfg(test)]
mod tests {
    use domain::{AccountId, account::SecretHash};

    use super::*;

    #[test]
    fn a5_a_token_makes_no_other() {
        let actor = |login, scope| Actor {
            account: AccountId(1),
            name: "ann".to_owned(),
            is_admin: false,
            scope,
            session: None,
            login,
        };
        let token = || Some(Login::Token(SecretHash([0; 32])));
        for (login, scope, expect) in [
            (token(), TokenScope::Write, false),
            (token(), TokenScope::Admin, true),
            (Some(Login::Account(AccountId(1))), TokenScope::Write, true),
            (None, TokenScope::Write, true),
        ] {
            let may = by_person(actor(login, scope));
            assert_eq!(may.is_ok(), expect, "{login:?} {scope:?}");
            assert!(may.is_ok_and(|actor| actor.scope == TokenScope::Admin) || !expect);
        }
    }
}
