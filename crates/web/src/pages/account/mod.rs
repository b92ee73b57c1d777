//! The settings: how pages look, the account, what it comes in with, and for administrators all accounts.

mod apps;
mod manage;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Uri, header},
};
use domain::{
    AccountId, SessionId, TokenId,
    account::{Account, SESSION_LIFETIME, Session, Token, TokenScope},
};
use maud::{Markup, html};

use super::{
    board::{self, Form, Next, Said, ago, badge, button, confirmed, done, until},
    layout::{Frame, shortened},
    list::{choice, on},
    problem::PageResult,
    settings::{ORDERS, PageSettings, REACHES, SIZES, THEMES},
};
use crate::{
    auth::{Actor, Admin, Origin, log_in},
    error::{ApiError, ApiResult},
    extract::{Id, Json},
    origin::own_address,
    routes::{accounts, sessions, tokens},
    state::AppState,
    views::ScopeView,
};

const PATH: &str = "/settings";
/// Sessions and accounts on the page.
const SHOWN_MAX: usize = 500;
const AGENT_CHARS_MAX: usize = 120;

pub(super) async fn show(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    origin: Origin,
    headers: HeaderMap,
    uri: Uri,
) -> PageResult {
    let address = own_address(&state.settings, &headers, origin.is_https);
    page(&state, actor, settings, Said::of(uri.query()), &address).await
}

/// What its forms do.
pub(super) async fn act(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    origin: Origin,
    request: Request,
) -> PageResult {
    let address = own_address(&state.settings, request.headers(), origin.is_https);
    let form = Form::read(request, &state).await?;
    let next = perform(&state, &actor, origin.clone(), &form).await;
    // From now on a login is needed: whoever was here without one has it by what they have just typed.
    let is_first = next.is_ok() && form.action() == "password" && actor.login.is_none();
    let login = if is_first {
        log_in(&state, &origin, &actor.name, form.text("newPassword").to_owned()).await.ok()
    } else {
        None
    };
    let mut response = board::answer(next, |said| page(&state, actor, settings, said, &address)).await?;
    if let Some((_, cookie)) = login {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

async fn perform(state: &AppState, actor: &Actor, origin: Origin, form: &Form) -> ApiResult<Next> {
    let (app, who) = (State(state.clone()), actor.clone());
    match form.action() {
        "rename" => {
            let body = accounts::OwnPatchBody { name: form.some("name"), password: None, new_password: None };
            drop(accounts::patch_own(app, who, origin, Json(body)).await?);
            Ok(done(PATH, "renamed"))
        }
        "password" => {
            let new = form.text("newPassword");
            if new != form.text("again") {
                return Err(ApiError::BadRequest("the new password was written in two ways".to_owned()));
            }
            let body = accounts::OwnPatchBody {
                name: None,
                password: Some(form.text("password").to_owned()),
                new_password: Some(new.to_owned()),
            };
            drop(accounts::patch_own(app, who, origin, Json(body)).await?);
            Ok(done(PATH, "password"))
        }
        "end-session" => {
            sessions::delete(app, who, Id(SessionId(form.id("id")?))).await?;
            Ok(done(PATH, "ended"))
        }
        "token" => {
            let body = tokens::CreateBody {
                name: form.text("name").to_owned(),
                scope: scope(form.text("scope"))?,
                // A day ends when it does, not when it begins.
                expires_at: form.some("end").map(|day| format!("{day}T23:59:59Z")),
            };
            let (_, secret) = tokens::make(state, actor, body).await?;
            Ok(Next::Secret("The token.", secret))
        }
        "revoke" => {
            tokens::delete(app, who, Id(TokenId(form.id("id")?))).await?;
            Ok(done(PATH, "revoked"))
        }
        "add-account" => {
            actor.check_admin()?;
            let body = accounts::CreateBody {
                name: form.text("name").to_owned(),
                password: form.text("password").to_owned(),
                is_admin: form.text("isAdmin") == "true",
            };
            accounts::create(app, Admin(who), Json(body)).await?;
            Ok(done(PATH, "account"))
        }
        action @ ("set-password" | "admin" | "no-admin") => {
            actor.check_admin()?;
            let password = (action == "set-password").then(|| form.text("password").to_owned());
            let is_admin = (action != "set-password").then_some(action == "admin");
            let body = accounts::PatchBody { name: None, password, is_admin };
            drop(accounts::patch(app, Admin(who), Id(AccountId(form.id("id")?)), Json(body)).await?);
            Ok(done(PATH, "saved"))
        }
        "remove-account" => {
            actor.check_admin()?;
            accounts::delete(app, Admin(who), Id(AccountId(form.id("id")?))).await?;
            Ok(done(PATH, "removed"))
        }
        _ => Form::unknown_action(),
    }
}

fn scope(name: &str) -> ApiResult<ScopeView> {
    match name {
        "read" => Ok(ScopeView::Read),
        "write" => Ok(ScopeView::Write),
        "admin" => Ok(ScopeView::Admin),
        _ => Err(ApiError::field("scope", "expected `read`, `write` or `admin`")),
    }
}

async fn page(state: &AppState, actor: Actor, settings: PageSettings, said: Said, address: &str) -> PageResult {
    let page = state.answers.answer(async {
        let (store, id, is_admin) = (state.store(), actor.account, actor.check_admin().is_ok());
        let all = async { if is_admin { Ok(store.accounts().await?) } else { Ok(Vec::new()) } };
        let (frame, own, sessions, tokens, all) = tokio::try_join!(
            Frame::load(state, actor, settings),
            async { store.account(id).await?.ok_or(ApiError::Unauthorized) },
            async { Ok(store.sessions(id, SESSION_LIFETIME).await?) },
            async { Ok(store.tokens(id).await?) },
            all,
        )?;
        let content = html! {
            (looks(frame.settings))
            (account(&own))
            (sessions_section(&frame, &sessions))
            (apps::section(address, &own.name))
            (tokens_section(&frame, &tokens, is_admin))
            @if is_admin { (manage::accounts(&frame, &all)) }
        };
        Ok(board::page(&frame, "Settings", PATH, "", &said, &content))
    });
    Ok(page.await?)
}

fn looks(settings: PageSettings) -> Markup {
    html! {
        section #looks {
            h2 { "How pages look" }
            p .note { "It follows you to your other browsers. Theme and text size can be set for this one alone." }
            form .fields method="post" action="/preferences" {
                input type="hidden" name="back" value="/settings?done=saved";
                div .pair {
                    (choice("Theme", "theme", &THEMES, settings.theme))
                    (choice("Text size", "size", &SIZES, settings.size))
                    (choice("Theme and size", "reach", &REACHES, settings.reach()))
                    (choice("Order", "order", &ORDERS, settings.order.name()))
                    (choice("Lists", "excerpts", &[("on", "With summaries"), ("off", "Titles only")], on(settings.has_excerpts)))
                    (choice("Mark as read", "scroll", &[("off", "When opened"), ("on", "Also when scrolled past")], on(settings.marks_on_scroll)))
                    (choice("Single keys", "keys", &[("on", "On"), ("off", "Off")], on(settings.has_keys)))
                }
                button .button { "Save" }
            }
        }
    }
}

fn account(own: &Account) -> Markup {
    html! {
        section #account {
            h2 { "Account" }
            form .fields method="post" action=(PATH) {
                label { "Name" input type="text" name="name" value=(own.name) required maxlength="64" autocomplete="username"; }
                p .note { "With another name, apps that come in by Fever need another token." }
                button .button .quiet name="do" value="rename" { "Rename" }
            }
            form .fields method="post" action=(PATH) {
                h3 { "Password" }
                // For programs that keep passwords.
                input type="text" name="username" value=(own.name) autocomplete="username" hidden;
                @if own.has_password {
                    label { "Password until now" input type="password" name="password" required maxlength="1024" autocomplete="current-password"; }
                } @else {
                    p .note { "There is none. The first password turns the login on, for the page and for programs." }
                }
                label { "New password (8 characters or more)" input type="password" name="newPassword" required minlength="8" maxlength="1024" autocomplete="new-password"; }
                label { "Once more" input type="password" name="again" required minlength="8" maxlength="1024" autocomplete="new-password"; }
                button .button .quiet name="do" value="password" { "Change the password" }
            }
        }
    }
}

fn sessions_section(frame: &Frame, sessions: &[Session]) -> Markup {
    html! {
        section #sessions {
            h2 { "Sessions" }
            @if sessions.is_empty() { p .note { "Nobody has logged in with a password." } }
            @else {
                div .wide tabindex="0" role="group" aria-label="Sessions" {
                    table .cards {
                        thead { tr { th scope="col" { "Browser" } th scope="col" { "Address" } th scope="col" { "Last used" } th scope="col" { "Begun" } th scope="col" { span .sr { "Actions" } } } }
                        tbody { @for session in sessions.iter().take(SHOWN_MAX) {
                            @let agent = shortened(session.user_agent.as_deref().unwrap_or("unknown"), AGENT_CHARS_MAX);
                            tr {
                                th scope="row" .words { (agent) @if frame.actor.session == Some(session.id) { " " (badge("good", "this one")) } }
                                td data-name="Address" { (session.address.as_deref().unwrap_or("unknown")) }
                                td data-name="Last used" { (ago(Some(session.last_used_at), frame.now)) }
                                td data-name="Begun" { (ago(Some(session.created_at), frame.now)) }
                                td .actions { (button(PATH, "end-session", "End", &agent, &[("id", &session.id.to_string())])) }
                            }
                        } }
                    }
                }
            }
        }
    }
}

fn tokens_section(frame: &Frame, tokens: &[Token], is_admin: bool) -> Markup {
    html! {
        section #tokens {
            h2 { "Tokens for programs" }
            p .note { "A program sends one as " code { "Authorization: Bearer pir_…" } ". Apps that ask for a name and a password take one in the place of the password." }
            @if !tokens.is_empty() {
                div .wide tabindex="0" role="group" aria-label="Tokens" {
                    table .cards {
                        thead { tr { th scope="col" { "Name" } th scope="col" { "For" } th scope="col" { "Last used" } th scope="col" { "Made" } th scope="col" { "Ends" } th scope="col" { span .sr { "Actions" } } } }
                        tbody { @for token in tokens {
                            tr {
                                th scope="row" dir="auto" { (token.name) }
                                td data-name="For" { (scope_words(token.scope)) }
                                td data-name="Last used" { (ago(token.last_used_at, frame.now)) }
                                td data-name="Made" { (ago(Some(token.created_at), frame.now)) }
                                td data-name="Ends" {
                                    @match token.expires_at {
                                        Some(end) if end <= frame.now => (badge("bad", "ended")),
                                        Some(end) => (until(end, frame.now)),
                                        None => "never",
                                    }
                                }
                                td .actions { (confirmed(PATH, "revoke", "Revoke", &token.name, "Programs that use it are let in no more.", &[("id", &token.id.to_string())])) }
                            }
                        } }
                    }
                }
            }
            form .fields method="post" action=(PATH) {
                h3 { "New token" }
                div .pair {
                    label { "What it is for" input type="text" name="name" required maxlength="100" placeholder="Phone"; }
                    label { "What it may do"
                        select name="scope" {
                            option value="read" { "Read" }
                            option value="write" selected { "Read and write" }
                            @if is_admin { option value="admin" { "Administration" } }
                        }
                    }
                    label { "Last day (empty: no end)" input type="date" name="end"; }
                }
                button .button .quiet name="do" value="token" { "Make a token" }
            }
        }
    }
}

fn scope_words(scope: TokenScope) -> &'static str {
    match scope {
        TokenScope::Read => "reading",
        TokenScope::Write => "reading and writing",
        TokenScope::Admin => "administration",
    }
}
