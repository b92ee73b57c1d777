//! How feeds stand, and for administrators the server.

use axum::{
    extract::{Request, State},
    http::Uri,
};
use domain::{Feed, FeedId, figures::Metric, overview::FeedOverview, ports::Viewer, push::Subscription};
use maud::{Markup, html};

use super::{
    board::{self, Form, Next, Said, ago, badge, button, done, tiles, until},
    layout::{Frame, name_of, shortened},
    plot::{self, PlotSpan},
    problem::PageResult,
    settings::PageSettings,
    sidebar::problem_of,
};
use crate::{auth::Actor, error::ApiResult, extract::Id, routes::refresh, state::AppState};

const PATH: &str = "/status";
/// Feeds that fail on the page.
const SHOWN_MAX: usize = 500;
const NAME_CHARS_MAX: usize = 100;

pub(super) async fn show(State(state): State<AppState>, actor: Actor, settings: PageSettings, uri: Uri) -> PageResult {
    page(&state, actor, settings, PlotSpan::of(uri.query()), Said::of(uri.query())).await
}

/// Asks for a feed again.
pub(super) async fn act(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    request: Request,
) -> PageResult {
    let form = Form::read(request, &state).await?;
    let next = perform(&state, &actor, &form).await;
    board::answer(next, |said| page(&state, actor, settings, PlotSpan::Hour, said)).await
}

async fn perform(state: &AppState, actor: &Actor, form: &Form) -> ApiResult<Next> {
    match form.action() {
        "refresh" => {
            let id = Id(FeedId(form.id("feed")?));
            drop(refresh::feed(State(state.clone()), actor.clone(), id).await?);
            Ok(done(PATH, "fetched"))
        }
        _ => Form::unknown_action(),
    }
}

async fn page(state: &AppState, actor: Actor, settings: PageSettings, span: PlotSpan, said: Said) -> PageResult {
    let page = state.answers.answer(async {
        let (account, is_admin) = (actor.account, actor.check_admin().is_ok());
        let server = async {
            if !is_admin {
                return Ok(None);
            }
            let (overview, polls, entries) = tokio::try_join!(
                async { Ok(state.store().feed_overview().await?) },
                plot::load(state, Viewer::Server, Metric::Polls, span),
                plot::load(state, Viewer::Server, Metric::Entries, span),
            )?;
            Ok(Some((overview, polls, entries)))
        };
        let (frame, subscriptions, server) = tokio::try_join!(
            Frame::load(state, actor, settings),
            async { Ok(state.store().subscriptions(Viewer::Account(account)).await?) },
            server
        )?;
        let content = html! {
            (feeds(&frame, &subscriptions))
            @if let Some((overview, polls, entries)) = &server {
                (whole_server(state, overview))
                section #status-plots data-part="" {
                    (span.links(PATH))
                    div .plots {
                        (plot::outcomes("plot-polls", Metric::Polls, span, polls))
                        (plot::outcomes("plot-entries", Metric::Entries, span, entries))
                    }
                }
            }
        };
        Ok(board::page(&frame, "Status", PATH, "feed", &said, &content))
    });
    Ok(page.await?)
}

/// How the reader's own feeds stand.
fn feeds(frame: &Frame, subscriptions: &[Subscription]) -> Markup {
    let gone = frame.feeds.iter().filter(|feed| feed.is_gone).count();
    let due = frame.feeds.iter().filter(|feed| !feed.is_gone && feed.next_check_at <= frame.now).count();
    let mut failing: Vec<&Feed> = frame.feeds.iter().filter(|feed| problem_of(feed).is_some()).collect();
    failing.sort_by_key(|feed| std::cmp::Reverse((feed.is_gone, feed.failure_count)));
    html! {
        section #status-feeds data-part="" {
            h2 { "Your feeds" }
            (tiles(&[
                ("Feeds", frame.feeds.len().to_string()),
                ("Due", due.to_string()),
                ("Failing", (failing.len() - gone).to_string()),
                ("Pushed", subscriptions.iter().filter(|one| one.is_trusted()).count().to_string()),
                ("Gone", gone.to_string()),
            ]))
            @if failing.is_empty() {
                p .note { @if frame.feeds.is_empty() { "There are no feeds yet." } @else { "All feeds can be fetched." } }
            } @else {
                h3 { "What cannot be fetched, and why" }
                div .wide tabindex="0" role="group" aria-label="Feeds that cannot be fetched" {
                    table .cards {
                        thead { tr { th scope="col" { "Feed" } th scope="col" { "State" } th scope="col" { "Why" }
                            th scope="col" { "Last fetched" } th scope="col" { "Tried next" } th scope="col" { span .sr { "Actions" } } } }
                        tbody { @for feed in failing.iter().take(SHOWN_MAX) { (row(frame, feed)) } }
                    }
                }
                @if failing.len() > SHOWN_MAX { p { "And " (failing.len() - SHOWN_MAX) " more." } }
            }
        }
    }
}

fn row(frame: &Frame, feed: &Feed) -> Markup {
    let name = shortened(name_of(feed), NAME_CHARS_MAX);
    html! {
        tr {
            th scope="row" { a dir="auto" href=(format!("/feed/{}", feed.id)) { (name) } }
            td data-name="State" {
                @if feed.is_gone { (badge("bad", "gone")) }
                @else { (badge("bad", "failing")) " " (feed.failure_count) @if feed.failure_count == 1 { " time" } @else { " times" } }
            }
            td data-name="Why" .words { (problem_of(feed).unwrap_or_default()) }
            td data-name="Last fetched" { (ago(feed.last_fetched_at, frame.now)) }
            td data-name="Tried next" { @if feed.is_gone { "never" } @else { (until(feed.next_check_at, frame.now)) } }
            td .actions { (button(PATH, "refresh", "Try now", &name, &[("feed", &feed.id.to_string())])) }
        }
    }
}

/// How the whole server stands, for administrators.
fn whole_server(state: &AppState, overview: &FeedOverview) -> Markup {
    let outage = state.engine.outage();
    let number = |number: u64| number.to_string();
    let subscriptions: u64 = overview.subscriptions.iter().map(|(_, count)| count).sum();
    let lease = overview
        .lease_left_min
        .map_or("none".to_owned(), |left| board::span(left.as_secs().try_into().unwrap_or(i64::MAX)));
    html! {
        section #status-server data-part="" {
            h2 { "The whole server" }
            @if let Some(outage) = outage {
                p .warning { strong { "This node polls nothing." } " " (outage.reason) ", since " (ago(Some(outage.since), state.engine.now())) ". No feed is blamed for it." }
            }
            (tiles(&[
                ("Feeds", number(overview.all)),
                ("Due", number(overview.due)),
                ("Failing", number(overview.failing)),
                ("Pushed", number(overview.pushed)),
                ("Gone", number(overview.gone)),
                ("Subscriptions", number(subscriptions)),
                ("First lease ends in", lease),
            ]))
            p .note { "Version " (state.version) ", on " (state.store().kind()) ". " a .link href="/metrics" { "Metrics" } ", " a .link href="/readyz" { "readiness" } "." }
        }
    }
}
