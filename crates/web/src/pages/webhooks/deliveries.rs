//! One delivery with its attempts.

use axum::{
    extract::{Request, State},
    http::Uri,
};
use domain::delivery::{Attempt, Delivery};
use jiff::Timestamp;
use maud::{Markup, html};

use super::{
    super::{
        board::{self, Form, Next, Said, ago, button, done, tiles, until},
        layout::{Frame, shortened},
        problem::{Named, PageResult},
        settings::PageSettings,
    },
    PATH,
    one::{last_answer, status_badge},
};
use crate::{
    auth::Actor,
    error::{ApiError, ApiResult},
    extract,
    routes::outbox::{self, CancelBody, DeliveryRef},
    state::AppState,
};

const ERROR_CHARS_MAX: usize = 500;

pub(crate) async fn show(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    Named(DeliveryRef(id)): Named<DeliveryRef>,
    uri: Uri,
) -> PageResult {
    page(&state, actor, settings, id, Said::of(uri.query())).await
}

/// Queues it again, or calls it off.
pub(crate) async fn act(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    Named(DeliveryRef(id)): Named<DeliveryRef>,
    request: Request,
) -> PageResult {
    let form = Form::read(request, &state).await?;
    let next = perform(&state, &actor, &id, &form).await;
    board::answer(next, |said| page(&state, actor, settings, id, said)).await
}

async fn perform(state: &AppState, actor: &Actor, id: &str, form: &Form) -> ApiResult<Next> {
    let (app, who, which) = (State(state.clone()), actor.clone(), DeliveryRef(id.to_owned()));
    let here = format!("/deliveries/{id}");
    match form.action() {
        "requeue" => {
            drop(outbox::requeue(app, who, which).await?);
            Ok(done(&here, "queued"))
        }
        "cancel" => {
            let body = CancelBody { reason: form.some("reason") };
            drop(outbox::cancel(app, who, which, extract::JsonOrNothing(body)).await?);
            Ok(done(&here, "cancelled"))
        }
        _ => Form::unknown_action(),
    }
}

async fn page(state: &AppState, actor: Actor, settings: PageSettings, id: String, said: Said) -> PageResult {
    let page = state.answers.answer(async {
        let account = actor.account;
        let (frame, found) = tokio::try_join!(Frame::load(state, actor, settings), async {
            Ok(state.store().delivery(account, &id).await?)
        })?;
        let (delivery, attempts) = found.ok_or(ApiError::NotFound("delivery"))?;
        let content = html! {
            p { a .link href=(format!("{PATH}/{}", delivery.webhook_id)) { "All deliveries of webhook " (delivery.webhook_id) } }
            (standing(&delivery, state.engine.attempts_max(), frame.now))
            (actions(&delivery))
            (log(&attempts, frame.now))
        };
        let title = shortened(&delivery.event_type, ERROR_CHARS_MAX);
        Ok(board::page(&frame, &title, PATH, "delivery", &said, &content))
    });
    Ok(page.await?)
}

fn standing(delivery: &Delivery, attempts_max: u32, now: Timestamp) -> Markup {
    html! {
        section #delivery-state data-part="" {
            p { (status_badge(delivery.delivery_status)) " " @if let Some(reason) = &delivery.reason { "because: " (shortened(reason, ERROR_CHARS_MAX)) } }
            (tiles(&[("Attempts", format!("{} of {attempts_max}", delivery.attempts)), ("Last answer", last_answer(delivery))]))
            p .note { "Event " code { (delivery.event_id) } ", queued " (ago(Some(delivery.created_at), now))
                @if let Some(at) = delivery.delivered_at { ", arrived " (ago(Some(at), now)) }
                @if let Some(at) = delivery.next_attempt_at { ", next attempt " (until(at, now)) } "."
            }
        }
    }
}

fn actions(delivery: &Delivery) -> Markup {
    let here = format!("/deliveries/{}", delivery.id);
    html! {
        div .actions role="group" aria-label="What can be done" {
            @if delivery.delivery_status.can_requeue() { (button(&here, "requeue", "Queue it again", "", &[])) }
            @if delivery.delivery_status.can_cancel() {
                form .inline method="post" action=(here) {
                    label { span .sr { "Why it is cancelled" } input type="text" name="reason" maxlength="500" placeholder="Why (if you like)"; }
                    button .button .quiet .small name="do" value="cancel" { "Cancel it" }
                }
            }
        }
    }
}

fn log(attempts: &[Attempt], now: Timestamp) -> Markup {
    html! {
        section #delivery-attempts data-part="" {
            h2 { "Attempts" }
            @if attempts.is_empty() { p .note { "None yet." } }
            @else {
                div .wide tabindex="0" role="group" aria-label="Attempts" {
                    table .cards {
                        thead { tr { th scope="col" { "Attempt" } th scope="col" { "When" } th scope="col" .number { "Took" } th scope="col" { "Answer" } th scope="col" { "Problem" } } }
                        tbody { @for attempt in attempts {
                            tr {
                                th scope="row" { (attempt.number) }
                                td data-name="When" { (ago(Some(attempt.at), now)) }
                                td .number data-name="Took" { (attempt.duration_ms) " ms" }
                                td data-name="Answer" .words {
                                    @match attempt.status_code { Some(code) => (code), None => "none" }
                                    @if let Some(answer) = attempt.answer.as_deref().filter(|answer| !answer.trim().is_empty()) {
                                        details { summary { "What it said" } pre { (answer) } }
                                    }
                                }
                                td data-name="Problem" .words { @match &attempt.error { Some(error) => (shortened(error, ERROR_CHARS_MAX)), None => "none" } }
                            }
                        } }
                    }
                }
            }
        }
    }
}
