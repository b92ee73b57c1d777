//! The dashboard of push: each hub, and each subscription with its state, its lease and what came of it.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::Uri,
};
use domain::{
    FeedId,
    figures::{Metric, Point},
    ports::Viewer,
    push::{Subscription, SubscriptionState},
};
use jiff::Timestamp;
use maud::{Markup, html};

use super::{
    board::{self, Form, Next, Said, ago, badge, button, confirmed, done, done_with, span, tiles, until},
    layout::{Frame, name_of, shortened},
    plot::{self, PlotSpan},
    problem::PageResult,
    settings::PageSettings,
    view::with_query,
};
use crate::{
    auth::{Actor, Admin},
    error::ApiResult,
    extract::Id,
    query::Parameters,
    routes::websub,
    state::AppState,
};

const PATH: &str = "/push";
/// Subscriptions of one hub on the page of all hubs, and on that of one.
const SHOWN_OF_EACH: usize = 50;
const SHOWN_OF_ONE: usize = 1_000;
/// Hubs on the page of all.
const HUBS_SHOWN: usize = 40;
const NAME_CHARS_MAX: usize = 100;
const ERROR_CHARS_MAX: usize = 300;

/// Which hub is shown, and how much time.
struct Shown {
    hub: Option<String>,
    span: PlotSpan,
}

pub(super) async fn show(State(state): State<AppState>, actor: Actor, settings: PageSettings, uri: Uri) -> PageResult {
    let shown = Shown { hub: Parameters::of(uri.query()).text("hub").ok().flatten(), span: PlotSpan::of(uri.query()) };
    page(&state, actor, settings, shown, Said::of(uri.query())).await
}

/// What its buttons do.
pub(super) async fn act(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    request: Request,
) -> PageResult {
    let form = Form::read(request, &state).await?;
    let next = perform(&state, &actor, &form).await;
    board::answer(next, |said| page(&state, actor, settings, Shown { hub: None, span: PlotSpan::Hour }, said)).await
}

async fn perform(state: &AppState, actor: &Actor, form: &Form) -> ApiResult<Next> {
    let id = || form.id("feed").map(|id| Id(FeedId(id)));
    let state = State(state.clone());
    match form.action() {
        "subscribe" => {
            websub::subscribe(state, actor.clone(), id()?).await?;
            Ok(done(PATH, "subscribing"))
        }
        "unsubscribe" => {
            websub::unsubscribe(state, actor.clone(), id()?).await?;
            Ok(done(PATH, "unsubscribed"))
        }
        "renew" => {
            actor.check_admin()?;
            let summary = websub::renew(state, Admin(actor.clone())).await?.0;
            Ok(done_with(PATH, "renewed", u64::from(summary.renewed) + u64::from(summary.pending)))
        }
        _ => Form::unknown_action(),
    }
}

async fn page(state: &AppState, actor: Actor, settings: PageSettings, shown: Shown, said: Said) -> PageResult {
    let page = state.answers.answer(async {
        let viewer = actor.viewer();
        let pushes = async {
            // What hubs send is the whole server's.
            match viewer {
                Viewer::Server => plot::load(state, viewer, Metric::Pushes, shown.span).await.map(Some),
                Viewer::Account(_) => Ok(None),
            }
        };
        let (frame, subscriptions, pushes) = tokio::try_join!(
            Frame::load(state, actor, settings),
            async { Ok(state.store().subscriptions(viewer).await?) },
            pushes
        )?;
        let content = content(state, &frame, &subscriptions, &shown, pushes.as_deref());
        Ok(board::page(&frame, "Push", PATH, "subscription feed", &said, &content))
    });
    Ok(page.await?)
}

fn content(
    state: &AppState,
    frame: &Frame,
    subscriptions: &[Subscription],
    shown: &Shown,
    pushes: Option<&[Point]>,
) -> Markup {
    let hub = shown.hub.as_deref();
    let mut hubs: BTreeMap<&str, Vec<&Subscription>> = BTreeMap::new();
    for subscription in subscriptions.iter().filter(|one| hub.is_none_or(|hub| one.hub_url == hub)) {
        hubs.entry(&subscription.hub_url).or_default().push(subscription);
    }
    let count = |is: fn(&Subscription) -> bool| subscriptions.iter().filter(|one| is(one)).count().to_string();
    let refused: Vec<_> = frame.feeds.iter().filter(|feed| !feed.push_enabled).collect();
    html! {
        p .lead { "A hub tells this server at once of what a feed publishes (WebSub). A feed is polled as usual until its hub has earned trust, and again when it misses something." }
        @if state.engine.base_url().is_none() {
            p .warning { strong { "Push is off." } " Hubs cannot reach this server: set " code { "base_url" } " to its public address." }
        }
        section #push-state data-part="" {
            (tiles(&[
                ("Hubs", subscriptions.iter().map(|one| &*one.hub_url).collect::<BTreeSet<_>>().len().to_string()),
                ("Active", count(Subscription::is_active)),
                ("Trusted", count(Subscription::is_trusted)),
                ("Failing", count(|one| one.error_count > 0)),
                ("Pushes", subscriptions.iter().map(|one| one.push_count).sum::<u64>().to_string()),
                ("Misses", subscriptions.iter().map(|one| one.miss_count).sum::<u64>().to_string()),
            ]))
        }
        @if frame.actor.check_admin().is_ok() && state.engine.base_url().is_some() && !subscriptions.is_empty() {
            (button(PATH, "renew", "Renew what ends soon", "", &[]))
        }
        @if let Some(pushes) = pushes.filter(|_| hub.is_none()) {
            section #push-plots data-part="" {
                (shown.span.links(PATH))
                (plot::outcomes("plot-pushes", Metric::Pushes, shown.span, pushes))
            }
        }
        section #push-hubs data-part="" {
            @if hubs.is_empty() {
                div .empty { h2 { "No subscriptions yet" } p { "Follow a feed that names a hub, and it is subscribed by itself." } }
            }
            @for (url, of_hub) in hubs.iter().take(HUBS_SHOWN) { (one_hub(frame, url, of_hub, hub.is_some(), state.engine.push_audit())) }
            @if hubs.len() > HUBS_SHOWN { p { "And " (hubs.len() - HUBS_SHOWN) " more hubs: " code { "GET /api/websub/subscriptions" } " lists them all." } }
        }
        @if hub.is_some() { p { a .link href=(PATH) { "All hubs" } } }
        @if !refused.is_empty() {
            section {
                h2 { "Push is turned off for" }
                ul .plain {
                    @for feed in refused.iter().take(SHOWN_OF_ONE) {
                        @let name = shortened(name_of(feed), NAME_CHARS_MAX);
                        li { a .link href=(format!("/feed/{}", feed.id)) dir="auto" { (name) } (button(PATH, "subscribe", "Subscribe", &name, &[("feed", &feed.id.to_string())])) }
                    }
                }
            }
        }
    }
}

fn one_hub(frame: &Frame, url: &str, subscriptions: &[&Subscription], is_alone: bool, audit: Duration) -> Markup {
    let mut sorted = subscriptions.to_vec();
    // What needs a look first: failing, then not trusted, then what ends soonest.
    sorted.sort_by_key(|one| (one.error_count == 0, one.is_trusted(), one.expires_at));
    let shown = if is_alone { SHOWN_OF_ONE } else { SHOWN_OF_EACH };
    let left_out = sorted.len().saturating_sub(shown);
    let active = sorted.iter().filter(|one| one.is_active()).count();
    let trusted = sorted.iter().filter(|one| one.is_trusted()).count();
    let failing = sorted.iter().filter(|one| one.error_count > 0).count();
    // A hub that has fallen silent tells of no error: only what polls find tells of it.
    let is_missing = sorted.iter().any(|one| one.is_active() && !one.is_trusted() && one.miss_count > 0);
    let misses: u64 = sorted.iter().map(|one| one.miss_count).sum();
    let last = sorted.iter().filter_map(|one| one.last_push_at).max();
    html! {
        section .hub aria-label=(url) {
            h2 { (shortened(url, NAME_CHARS_MAX)) }
            p .note {
                @if failing > 0 { (badge("bad", "failing")) }
                @else if is_missing { (badge("fair", "misses pushes")) }
                @else if active == sorted.len() { (badge("good", "working")) }
                @else { (badge("fair", "in part")) }
                " " (active) " of " (sorted.len()) " active, " (trusted) " trusted, " (failing) " failing, "
                @if misses > 0 { (misses) @if misses == 1 { " miss, " } @else { " misses, " } }
                "last push " (ago(last, frame.now)) "."
            }
            div .wide tabindex="0" role="group" aria-label=(format!("Subscriptions at {url}")) {
                table .cards {
                    thead { tr { th scope="col" { "Feed" } th scope="col" { "State" } th scope="col" { "Lease left" } th scope="col" { "Last push" }
                        th scope="col" .number { "Pushes" } th scope="col" .number { "Misses" } th scope="col" { span .sr { "Actions" } } } }
                    tbody { @for one in sorted.iter().take(shown) { (row(frame, one, audit)) } }
                }
            }
            @if left_out > 0 {
                p { a .link href=(with_query(PATH.to_owned(), &[("hub", url)])) { "Show more of this hub (" (left_out) ")" } }
            }
        }
    }
}

fn row(frame: &Frame, one: &Subscription, audit: Duration) -> Markup {
    let feed = one.feed_id.and_then(|id| frame.feed(id));
    let name = feed.map_or_else(|| one.topic_url.clone(), |feed| name_of(feed).to_owned());
    let name = shortened(&name, NAME_CHARS_MAX);
    let (class, word) = state_words(one);
    html! {
        tr {
            th scope="row" {
                @match feed { Some(feed) => a dir="auto" href=(format!("/feed/{}", feed.id)) { (name) }, None => bdi { (name) } }
            }
            td data-name="State" {
                (badge(class, word))
                div .note { (how_it_is_polled(one, audit)) }
                (trouble(one, frame.now))
            }
            td data-name="Lease left" { (lease(one, frame.now)) }
            td data-name="Last push" { (ago(one.last_push_at, frame.now)) }
            td .number data-name="Pushes" { (one.push_count) }
            td .number data-name="Misses" { (one.miss_count) }
            td .actions {
                @if let Some(feed) = feed {
                    @let id = feed.id.to_string();
                    (button(PATH, "subscribe", if one.is_active() { "Renew" } else { "Subscribe" }, &name, &[("feed", &id)]))
                    @if one.state != SubscriptionState::Unsubscribing {
                        (confirmed(PATH, "unsubscribe", "Unsubscribe", &name, "The feed is polled from then on.", &[("feed", &id)]))
                    }
                }
            }
        }
    }
}

/// Why it is not pushed. A hub that refuses is no error in a row: it has answered.
fn trouble(one: &Subscription, now: Timestamp) -> Markup {
    let reason = one.last_error.as_deref().map(|error| shortened(error, ERROR_CHARS_MAX));
    // While the hub has time to verify, the next step is to see whether it has.
    let next = one.next_step_at.filter(|_| one.verify_by.is_none());
    html! {
        @if one.error_count > 0 {
            div .problem-text { (one.error_count) @if one.error_count == 1 { " error" } @else { " errors" }
                @if let Some(reason) = reason { ": " (reason) } }
            @if let Some(at) = next { div .note { "the hub is asked again " (until(at, now)) } }
        } @else if let (false, Some(reason)) = (one.is_active(), reason) {
            div .problem-text { "Reason: " (reason) }
        }
    }
}

/// How a feed is polled beside its push, and why.
fn how_it_is_polled(one: &Subscription, audit: Duration) -> Cow<'static, str> {
    let words = match one.state {
        _ if !one.is_current => "the feed has another subscription",
        SubscriptionState::Active if one.is_trusted() && audit.is_zero() => "not polled",
        SubscriptionState::Active if one.is_trusted() => {
            return format!("polled every {}, as a check", interval(audit)).into();
        }
        SubscriptionState::Active if one.miss_count > 0 => {
            "polled as usual: push is not trusted since it missed something"
        }
        SubscriptionState::Active => "polled as usual: push is not trusted before the first one came",
        SubscriptionState::Pending => "polled as usual until the hub has verified",
        SubscriptionState::Inactive => "polled as usual",
        SubscriptionState::Unsubscribing => "the hub is being told to stop",
    };
    words.into()
}

/// How often something is done, in the largest unit that it is a whole number of.
fn interval(every: Duration) -> String {
    let secs = every.as_secs();
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let (unit, name) = units.into_iter().find(|(unit, _)| secs.is_multiple_of(*unit)).unwrap_or((1, "second"));
    match secs / unit {
        1 => name.to_owned(),
        many => format!("{many} {name}s"),
    }
}

fn state_words(one: &Subscription) -> (&'static str, &'static str) {
    match one.state {
        SubscriptionState::Active if one.is_trusted() => ("good", "active"),
        SubscriptionState::Active => ("fair", "active"),
        SubscriptionState::Pending => ("fair", "pending"),
        SubscriptionState::Inactive => ("bad", "inactive"),
        SubscriptionState::Unsubscribing => ("fair", "unsubscribing"),
    }
}

/// What is left of a lease: in words, and as a bar.
fn lease(one: &Subscription, now: Timestamp) -> Markup {
    let (Some(end), Some(whole)) = (one.expires_at, one.lease_secs) else { return html! { "none" } };
    let left = (end.as_second() - now.as_second()).max(0);
    let percent = (left * 100).checked_div(i64::from(whole)).unwrap_or_default().clamp(0, 100);
    html! {
        span .number { (span(left)) " of " (span(whole.into())) }
        svg .lease viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" {
            rect width="100" height="6" rx="3" {}
            rect .left .low[percent < 20] width=(percent) height="6" rx="3" {}
        }
    }
}
