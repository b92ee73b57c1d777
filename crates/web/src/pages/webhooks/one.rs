//! One webhook: how it stands, what can be done with it, and its deliveries.

use axum::{
    extract::{Request, State},
    http::Uri,
};
use domain::{
    WebhookId,
    delivery::{Delivery, DeliveryFilter, DeliveryPage, DeliveryStatus, Webhook, number_of},
    entry::PAGE_ENTRIES_DEFAULT,
};
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use serde_json::json;

use super::{
    super::{
        board::{self, Form, Next, Said, ago, badge, button, confirmed, done, done_with, tiles, until},
        layout::{Frame, shortened},
        problem::{Named, PageResult},
        settings::PageSettings,
        view::with_query,
    },
    NOTE_CHARS_MAX, PATH, URL_CHARS_MAX,
    fields::{self, Values},
    state_of,
};
use crate::{
    auth::Actor,
    error::{ApiError, ApiResult},
    extract::{self, Id},
    query::Parameters,
    routes::{outbox, webhooks},
    state::AppState,
};

/// What is counted of a webhook is looked at one by one, so far and no further.
const COUNTED_MAX: u32 = 100;
/// How far back a replay can go, in hours.
const REPLAYS: [(i64, &str); 5] = [
    (1, "the last hour"),
    (6, "the last 6 hours"),
    (24, "the last day"),
    (7 * 24, "the last week"),
    (30 * 24, "the last 30 days"),
];

/// Which of its deliveries are shown.
#[derive(Debug, Default)]
struct Wanted {
    status: Option<DeliveryStatus>,
    cursor: Option<String>,
}

impl Wanted {
    fn of(query: Option<&str>, installation: &str) -> Self {
        let mut given = Parameters::of(query);
        let mut text = |name: &str| given.text(name).ok().flatten();
        let cursor = text("cursor").filter(|text| number_of("dlv", installation, text).is_some());
        Self { status: text("status").and_then(|name| DeliveryStatus::by_name(&name)), cursor }
    }
}

pub(crate) async fn show(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    Named(Id(id)): Named<Id<WebhookId>>,
    uri: Uri,
) -> PageResult {
    let wanted = Wanted::of(uri.query(), state.store().installation());
    page(&state, actor, settings, id, wanted, Said::of(uri.query()), None).await
}

/// What its buttons do.
pub(crate) async fn act(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    Named(Id(id)): Named<Id<WebhookId>>,
    request: Request,
) -> PageResult {
    let form = Form::read(request, &state).await?;
    let next = perform(&state, &actor, id, &form).await;
    let refused = (next.is_err() && form.action() == "change").then(|| Values::typed(&form));
    board::answer(next, |said| page(&state, actor, settings, id, Wanted::default(), said, refused)).await
}

async fn perform(state: &AppState, actor: &Actor, id: WebhookId, form: &Form) -> ApiResult<Next> {
    let here = format!("{PATH}/{id}");
    let (app, who) = (State(state.clone()), actor.clone());
    let patch = async |body| webhooks::patch(State(state.clone()), actor.clone(), Id(id), extract::Json(body)).await;
    match form.action() {
        "change" => {
            let stored = state.store().webhook(actor.account, id).await?.ok_or(ApiError::NotFound("webhook"))?;
            drop(patch(fields::body(form, Some(&stored))?).await?);
            Ok(done(&here, "saved"))
        }
        action @ ("enable" | "disable") => {
            let is_enabled = action == "enable";
            let body = serde_json::from_value(json!({ "enabled": is_enabled }));
            drop(patch(body.map_err(|error| ApiError::Internal(error.to_string()))?).await?);
            Ok(done(&here, if is_enabled { "enabled" } else { "disabled" }))
        }
        "test" => {
            webhooks::test(app, who, Id(id)).await?;
            Ok(done(&here, "tested"))
        }
        "rotate" => {
            let webhook = state.engine.rotate_secret(actor.account, id).await?.ok_or(ApiError::NotFound("webhook"))?;
            Ok(Next::Secret(
                "The new secret. For a day requests are signed with the old one, too.",
                webhooks::newest_secret(&webhook)?,
            ))
        }
        "replay" => {
            let hours = form.id("hours")?;
            if !REPLAYS.iter().any(|(known, _)| *known == hours) {
                return Err(ApiError::field("hours", "not a time that can be chosen"));
            }
            let since = state.engine.now() - SignedDuration::from_hours(hours);
            Ok(done_with(&here, "replayed", webhooks::queue_again(state, actor, id, since, None).await?))
        }
        "requeue" => {
            let body = outbox::RequeueBody { webhook_id: id };
            Ok(done_with(&here, "requeued", outbox::requeue_failed(app, who, extract::Json(body)).await?.0.requeued))
        }
        "remove" => {
            webhooks::delete(app, who, Id(id)).await?;
            Ok(done(PATH, "removed"))
        }
        _ => Form::unknown_action(),
    }
}

async fn page(
    state: &AppState,
    actor: Actor,
    settings: PageSettings,
    id: WebhookId,
    wanted: Wanted,
    said: Said,
    refused: Option<Values>,
) -> PageResult {
    let page = state.answers.answer(async {
        let (store, account) = (state.store(), actor.account);
        let webhook = store.webhook(account, id).await?.ok_or(ApiError::NotFound("webhook"))?;
        let of = |status| DeliveryFilter { status, webhook_id: Some(id) };
        let (frame, page, pending, failed) = tokio::try_join!(
            Frame::load(state, actor, settings),
            async {
                let after = wanted.cursor.as_deref();
                Ok(store.deliveries(account, of(wanted.status), PAGE_ENTRIES_DEFAULT, after).await?)
            },
            async { Ok(store.deliveries(account, of(Some(DeliveryStatus::Pending)), COUNTED_MAX, None).await?) },
            async { Ok(store.deliveries(account, of(Some(DeliveryStatus::Failed)), COUNTED_MAX, None).await?) },
        )?;
        let content = html! {
            p .lead { code { (webhook.url) } @if let Some(note) = &webhook.description { br; (note) } }
            (standing(&frame, &webhook, &pending, &failed))
            (actions(&webhook, !failed.deliveries.is_empty()))
            (deliveries(&frame, &webhook, &page, &wanted))
            details .form open[refused.is_some()] {
                summary { h2 { "Change" } }
                form .fields method="post" action=(format!("{PATH}/{id}")) {
                    (fields::fields(&frame, &refused.unwrap_or_else(|| Values::stored(&webhook))))
                    button .button name="do" value="change" { "Save" }
                }
            }
        };
        Ok(board::page(&frame, &format!("Webhook {id}"), PATH, "delivery", &said, &content))
    });
    Ok(page.await?)
}

fn standing(frame: &Frame, webhook: &Webhook, pending: &DeliveryPage, failed: &DeliveryPage) -> Markup {
    let counted = |page: &DeliveryPage| {
        let more = if page.next_cursor.is_some() { "+" } else { "" };
        format!("{}{more}", page.deliveries.len())
    };
    html! {
        section #webhook-state data-part="" {
            div { (state_of(webhook, frame.now)) }
            (tiles(&[
                ("Backlog", counted(pending)),
                ("Failed", counted(failed)),
                ("Failures in a row", webhook.consecutive_failures.to_string()),
            ]))
        }
    }
}

fn actions(webhook: &Webhook, has_failed: bool) -> Markup {
    let here = format!("{PATH}/{}", webhook.id);
    html! {
        div .actions role="group" aria-label="What can be done" {
            @if webhook.enabled {
                (button(&here, "test", "Send a test", "", &[]))
                (button(&here, "disable", "Disable", "", &[]))
            } @else {
                (button(&here, "enable", "Enable", "", &[]))
            }
            (confirmed(&here, "rotate", "Rotate the secret", "", "Requests are signed with both for a day; then with the new one alone.", &[]))
            @if has_failed { (button(&here, "requeue", "Queue what failed again", "", &[])) }
            @if webhook.enabled {
                form .inline method="post" action=(here) {
                    label { span .sr { "Replay" } select name="hours" { @for (hours, words) in REPLAYS { option value=(hours) selected[hours == 24] { (words) } } } }
                    button .button .quiet .small name="do" value="replay" { "Replay" }
                }
            }
            (confirmed(&here, "remove", "Remove", "", "It goes with all that was still to be sent to it.", &[]))
        }
    }
}

fn deliveries(frame: &Frame, webhook: &Webhook, page: &DeliveryPage, wanted: &Wanted) -> Markup {
    let address = |status: Option<DeliveryStatus>, cursor: Option<&str>| {
        let query: Vec<(&str, &str)> =
            status.map(|status| ("status", status.name())).into_iter().chain(cursor.map(|at| ("cursor", at))).collect();
        with_query(format!("{PATH}/{}", webhook.id), &query)
    };
    let statuses =
        std::iter::once((None, "All")).chain(DeliveryStatus::ALL.map(|status| (Some(status), status.name())));
    html! {
        section #webhook-deliveries data-part="" {
            h2 { "Deliveries" }
            nav .tabs aria-label="Which deliveries" {
                @for (status, name) in statuses {
                    a href=(address(status, None)) aria-current=[(status == wanted.status).then_some("page")] { (name) }
                }
            }
            @if page.deliveries.is_empty() { p .note { "There are none." } }
            @else {
                div .wide tabindex="0" role="group" aria-label="Deliveries" {
                    table .cards {
                        thead { tr { th scope="col" { "Event" } th scope="col" { "State" } th scope="col" .number { "Attempts" } th scope="col" { "Queued" } th scope="col" { "Last answer" } th scope="col" { "Next attempt" } } }
                        tbody { @for delivery in &page.deliveries { (row(delivery, frame.now)) } }
                    }
                }
            }
            @if let Some(next) = &page.next_cursor { p { a .link rel="next" href=(address(wanted.status, Some(next))) { "Older deliveries" } } }
        }
    }
}

fn row(delivery: &Delivery, now: Timestamp) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(format!("/deliveries/{}", delivery.id)) { (shortened(&delivery.event_type, URL_CHARS_MAX)) } }
            td data-name="State" { (status_badge(delivery.delivery_status)) }
            td .number data-name="Attempts" { (delivery.attempts) }
            td data-name="Queued" { (ago(Some(delivery.created_at), now)) }
            td data-name="Last answer" .words { (last_answer(delivery)) }
            td data-name="Next attempt" { @match delivery.next_attempt_at { Some(at) if delivery.delivery_status == DeliveryStatus::Pending => (until(at, now)), _ => "none" } }
        }
    }
}

pub(super) fn status_badge(status: DeliveryStatus) -> Markup {
    let class = match status {
        DeliveryStatus::Delivered => "good",
        DeliveryStatus::Pending | DeliveryStatus::Cancelled => "fair",
        DeliveryStatus::Failed => "bad",
    };
    badge(class, status.name())
}

/// What the receiver said last, in few words.
pub(super) fn last_answer(delivery: &Delivery) -> String {
    let status = delivery.last_status_code.map(|code| code.to_string());
    let error = delivery.last_error.as_deref().map(|error| shortened(error, NOTE_CHARS_MAX));
    match (status, error) {
        (Some(status), Some(error)) if !error.contains(&status) => format!("{status}: {error}"),
        (_, Some(error)) => error,
        (Some(status), None) => status,
        (None, None) => "none yet".to_owned(),
    }
}
