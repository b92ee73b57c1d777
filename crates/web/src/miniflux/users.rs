//! Who asks. Others are not there, and nothing about an account is changed here: what is not known to these clients (the
//! old password, the last administrator) is the page's.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::IntoResponse,
};
use domain::{account::AccountName, ports::MarkRead};
use serde_json::json;

use super::{
    error::{Answer, Refused},
    feeds::mark_read,
    no_content, views,
};
use crate::{auth::Actor, state::AppState};

/// The version of Miniflux whose API this is: clients ask for it to know what they may call.
const MINIFLUX_VERSION: &str = "2.2.13";

pub(super) async fn me(actor: Actor) -> Answer {
    Ok(Json(views::user(&actor)).into_response())
}

pub(super) async fn list(actor: Actor) -> Answer {
    Ok(Json([views::user(&actor)]).into_response())
}

/// By id or by name: only oneself.
pub(super) async fn get(actor: Actor, Path(user): Path<String>) -> Answer {
    check_own(&actor, &user)?;
    me(actor).await
}

fn check_own(actor: &Actor, user: &str) -> Answer<()> {
    let is_own = match user.parse::<i64>() {
        Ok(id) => id == actor.account.0,
        Err(_) => AccountName::key_of(user) == AccountName::key_of(&actor.name),
    };
    if is_own { Ok(()) } else { Err(Refused::none()) }
}

/// Settings of Miniflux's own page: there are none of them here.
pub(super) async fn update(actor: Actor, Path(user): Path<String>) -> Answer {
    check_own(&actor, &user)?;
    Ok((StatusCode::CREATED, Json(views::user(&actor))).into_response())
}

pub(super) async fn refuse(_: Actor) -> Answer {
    Err(Refused::forbidden("accounts are managed in the page and by the command line"))
}

pub(super) async fn mark_all_read(State(state): State<AppState>, actor: Actor, Path(user): Path<String>) -> Answer {
    check_own(&actor, &user)?;
    mark_read(&state, &actor, MarkRead::default()).await?;
    Ok(no_content())
}

pub(super) async fn version(State(state): State<AppState>, _: Actor) -> Answer {
    let version = json!({
        "version": MINIFLUX_VERSION,
        "commit": format!("piRSSonite {}", state.version),
        "build_date": "",
        "go_version": "",
        "compiler": "",
        "arch": std::env::consts::ARCH,
        "os": std::env::consts::OS,
    });
    Ok(Json(version).into_response())
}

pub(super) async fn integrations(_: Actor) -> Answer {
    Ok(Json(json!({ "has_integrations": false })).into_response())
}
