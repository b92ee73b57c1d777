//! Webhooks in the page: made, changed, tried, removed; what waits for them, and what became of it.

mod deliveries;
mod fields;
mod one;

use axum::{
    extract::{Request, State},
    http::Uri,
};
use domain::{
    delivery::{Overview, Webhook},
    figures::Metric,
    ports::Viewer,
};
use jiff::Timestamp;
use maud::{Markup, html};

use self::fields::Values;
pub(super) use self::{
    deliveries::{act as act_delivery, show as show_delivery},
    one::{act as act_one, show as show_one},
};
use super::{
    board::{self, Form, Next, Said, badge, span, tiles, until},
    layout::{Frame, shortened},
    plot::{self, PlotSpan},
    problem::PageResult,
    settings::PageSettings,
};
use crate::{auth::Actor, error::ApiResult, routes::webhooks, state::AppState};

const PATH: &str = "/webhooks";
const URL_CHARS_MAX: usize = 120;
const NOTE_CHARS_MAX: usize = 200;
const SECRET: &str = "The secret that its requests are signed with.";

pub(super) async fn show(State(state): State<AppState>, actor: Actor, settings: PageSettings, uri: Uri) -> PageResult {
    page(&state, actor, settings, PlotSpan::of(uri.query()), Said::of(uri.query()), None).await
}

pub(super) async fn create(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    request: Request,
) -> PageResult {
    let form = Form::read(request, &state).await?;
    let next = make(&state, &actor, &form).await;
    let refused = next.is_err().then(|| Values::typed(&form));
    board::answer(next, |said| page(&state, actor, settings, PlotSpan::Hour, said, refused)).await
}

async fn make(state: &AppState, actor: &Actor, form: &Form) -> ApiResult<Next> {
    let webhook = webhooks::make(state, actor, fields::body(form, None)?).await?;
    Ok(Next::Secret(SECRET, webhooks::newest_secret(&webhook)?))
}

async fn page(
    state: &AppState,
    actor: Actor,
    settings: PageSettings,
    span: PlotSpan,
    said: Said,
    refused: Option<Values>,
) -> PageResult {
    let page = state.answers.answer(async {
        let (account, viewer) = (actor.account, actor.viewer());
        let (frame, webhooks, overview, deliveries, latency) = tokio::try_join!(
            Frame::load(state, actor, settings),
            async { Ok(state.store().webhooks(account).await?) },
            async { Ok(state.store().outbox_overview(viewer).await?) },
            plot::load(state, viewer, Metric::Deliveries, span),
            plot::load(state, viewer, Metric::Latency, span),
        )?;
        let content = html! {
            p .lead { "A webhook is told what happens here, by signed requests, at least once: a new entry, a feed that fails, a subscription that ends." }
            (figures(&overview, viewer))
            section #webhooks-plots data-part="" {
                (span.links(PATH))
                div .plots {
                    (plot::outcomes("plot-deliveries", Metric::Deliveries, span, &deliveries))
                    (plot::latency("plot-latency", span, &latency))
                }
            }
            (table(&frame, &webhooks))
            details .form open[webhooks.is_empty() || refused.is_some()] {
                summary { h2 { "New webhook" } }
                form .fields method="post" action=(PATH) { (fields::fields(&frame, &refused.unwrap_or_else(Values::blank))) button .button { "Make it" } }
            }
        };
        Ok(board::page(&frame, "Webhooks", PATH, "delivery", &said, &content))
    });
    Ok(page.await?)
}

fn figures(overview: &Overview, viewer: Viewer) -> Markup {
    let age = overview.oldest_pending_age.map_or("none".to_owned(), |secs| span(secs.try_into().unwrap_or(i64::MAX)));
    html! {
        section #webhooks-figures data-part="" {
            h2 { @if viewer == Viewer::Server { "Outbox of the whole server" } @else { "Outbox" } }
            (tiles(&[
                ("Backlog", overview.pending.to_string()),
                ("Due", overview.ready.to_string()),
                ("Being sent", overview.in_flight.to_string()),
                ("Failed", overview.failed.to_string()),
                ("Oldest waits for", age),
            ]))
        }
    }
}

fn table(frame: &Frame, webhooks: &[Webhook]) -> Markup {
    html! {
        section #webhooks-list data-part="" {
            h2 { "Your webhooks" }
            @if webhooks.is_empty() { p .note { "There are none yet." } }
            @else {
                div .wide tabindex="0" role="group" aria-label="Your webhooks" {
                    table .cards {
                        thead { tr { th scope="col" { "Sent to" } th scope="col" { "State" } th scope="col" { "Events" } th scope="col" .number { "Failures in a row" } } }
                        tbody { @for webhook in webhooks {
                            tr {
                                th scope="row" {
                                    a href=(format!("{PATH}/{}", webhook.id)) { (shortened(&webhook.url, URL_CHARS_MAX)) }
                                    @if let Some(note) = &webhook.description { div .note dir="auto" { (shortened(note, NOTE_CHARS_MAX)) } }
                                }
                                td data-name="State" { (state_of(webhook, frame.now)) }
                                td data-name="Events" .words { (events(webhook)) }
                                td .number data-name="Failures in a row" { (webhook.consecutive_failures) }
                            }
                        } }
                    }
                }
            }
        }
    }
}

/// Whether it is sent to, and if not, why.
fn state_of(webhook: &Webhook, now: Timestamp) -> Markup {
    html! {
        @if !webhook.enabled {
            (badge("bad", "disabled"))
            @if let Some(reason) = &webhook.disabled_reason { div .problem-text { (shortened(reason, NOTE_CHARS_MAX)) } }
        } @else if webhook.is_breaker_open {
            (badge("bad", "failing")) div .note { "one request at a time, until one succeeds" }
        } @else if let Some(end) = webhook.held_until.filter(|end| *end > now) {
            (badge("fair", "held")) div .note { "it asked to be sent nothing; goes on " (until(end, now)) }
        } @else if webhook.consecutive_failures > 0 {
            (badge("fair", "enabled")) div .note { "the last attempts failed" }
        } @else {
            (badge("good", "enabled"))
        }
    }
}

fn events(webhook: &Webhook) -> String {
    match &webhook.event_types {
        None => "all".to_owned(),
        Some(kinds) => kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "),
    }
}
