//! What dashboards and settings share: what a page says first, its forms, and how figures and times are shown.

use axum::{
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use maud::{Markup, html};

use super::{
    forms,
    icons::{self, icon},
    layout::Frame,
    problem::{PageResult, Problem},
    view::with_query,
    when,
};
use crate::{
    error::{ApiError, ApiResult},
    extract::WHOLE_NUMBER,
    query::Parameters,
    state::AppState,
};

/// What was done, by the word that an address has for it: no page says what its address makes up.
const DONE: [(&str, &str); 18] = [
    ("saved", "Saved."),
    ("removed", "Removed."),
    ("renamed", "The account has another name now."),
    ("password", "The password was changed. All other sessions have ended."),
    ("ended", "The session has ended."),
    ("revoked", "The token is worth nothing now."),
    ("account", "The account was made."),
    ("subscribing", "The hub is being asked."),
    ("unsubscribed", "Push is off for this feed: it is polled."),
    ("renewed", "Subscriptions whose leases end soon were renewed:"),
    ("tested", "A test was queued: it is sent next, and shows below."),
    ("enabled", "The webhook is enabled: what waits for it is sent."),
    ("disabled", "The webhook is disabled: it is sent nothing."),
    ("replayed", "Deliveries that were queued once more:"),
    ("requeued", "Failed deliveries that were queued again:"),
    ("queued", "The delivery was queued again."),
    ("cancelled", "The delivery was cancelled."),
    ("fetched", "The feed was asked for again."),
];

/// What is older is told by its date.
const WEEK_SECS: i64 = 7 * 24 * 60 * 60;

/// What a page says before all else.
#[derive(Debug)]
pub(super) enum Said {
    Nothing,
    Done(String),
    /// Why what was asked for was not done.
    Wrong(ApiError),
    /// What is shown this once: what it is, and the secret.
    Secret(&'static str, String),
}

impl Said {
    /// What an address says that was done.
    pub(super) fn of(query: Option<&str>) -> Self {
        let mut given = Parameters::of(query);
        let done = given.text("done").ok().flatten();
        let Some((_, words)) = DONE.iter().find(|(name, _)| done.as_deref() == Some(name)) else {
            return Self::Nothing;
        };
        match given.parsed::<u64>("count", WHOLE_NUMBER).ok().flatten() {
            Some(count) => Self::Done(format!("{words} {count}.")),
            None => Self::Done((*words).to_owned()),
        }
    }

    /// That something could not be done, if the page can go on with that.
    pub(super) fn wrong(error: ApiError) -> Result<Self, Problem> {
        match error {
            ApiError::Internal(_) | ApiError::StoreUnavailable(_) | ApiError::Unavailable(_) => Err(error.into()),
            error => Ok(Self::Wrong(error)),
        }
    }

    fn shown(&self) -> Markup {
        html! {
            @match self {
                Self::Nothing => {},
                Self::Done(words) => p .said role="status" { (words) },
                Self::Wrong(error) => p .warning role="alert" { strong { "That did not work." } " " (sentence(error)) },
                Self::Secret(what, secret) => {
                    div .said role="status" {
                        p { strong { (what) } " It is shown this once: keep it now." }
                        p { code .secret { (secret) } }
                    }
                },
            }
        }
    }
}

fn sentence(error: &ApiError) -> String {
    match error {
        ApiError::Unauthorized => "The password is not the account's.".to_owned(),
        error => {
            let text = error.for_people();
            let mut chars = text.chars();
            let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
            format!("{first}{}.", chars.as_str())
        }
    }
}

/// Where a form leads: to a page, or to a secret that is shown this once.
#[derive(Debug)]
pub(super) enum Next {
    Page(String),
    Secret(&'static str, String),
}

/// The page at this path, which says this.
pub(super) fn done(path: &str, what: &str) -> Next {
    Next::Page(with_query(path.to_owned(), &[("done", what)]))
}

/// The same with a number.
pub(super) fn done_with(path: &str, what: &str, count: u64) -> Next {
    Next::Page(with_query(path.to_owned(), &[("done", what), ("count", &count.to_string())]))
}

/// Answers a form: goes where it leads, or shows its page again with what is wrong.
pub(super) async fn answer<F>(next: ApiResult<Next>, show: impl FnOnce(Said) -> F) -> PageResult
where
    F: Future<Output = PageResult>,
{
    match next {
        Ok(Next::Page(path)) => Ok(forms::see_other(&path)),
        Ok(Next::Secret(what, secret)) => show(Said::Secret(what, secret)).await,
        Err(error) => show(Said::wrong(error)?).await,
    }
}

/// The fields of a form.
#[derive(Debug)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    pub(super) async fn read(request: Request, state: &AppState) -> ApiResult<Self> {
        Ok(Self(forms::read(request, state).await?))
    }

    /// A field as it is; empty if it is not there.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// A field that holds something.
    pub(super) fn some(&self, name: &str) -> Option<String> {
        Some(self.text(name).to_owned()).filter(|text| !text.is_empty())
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn id(&self, name: &str) -> ApiResult<i64> {
        self.text(name).parse().map_err(|_| ApiError::field(name, format_args!("expected {WHOLE_NUMBER}")))
    }

    /// What its button says is to be done.
    pub(super) fn action(&self) -> &str {
        self.text("do")
    }

    pub(super) fn unknown_action<T>() -> ApiResult<T> {
        Err(ApiError::field("do", "nothing that can be done here"))
    }
}

/// A page of one column. `live` names the kinds of events after which its parts are looked at anew.
pub(super) fn page(frame: &Frame, title: &str, path: &str, live: &str, said: &Said, content: &Markup) -> Response {
    let body = html! {
        main #main .single tabindex="-1" data-live=(live) {
            div .line {
                button .icon .menu type="button" popovertarget="side" aria-label="Feeds and menu" { (icon(icons::MENU)) }
                h1 { (title) }
            }
            (said.shown())
            (content)
        }
    };
    let status = if let Said::Wrong(error) = said { error.status() } else { StatusCode::OK };
    (status, frame.page(title, path, &body)).into_response()
}

/// Figures, each with its name.
pub(super) fn tiles(figures: &[(&str, String)]) -> Markup {
    html! {
        dl .tiles {
            @for (name, figure) in figures { div { dt { (name) } dd { (figure) } } }
        }
    }
}

/// How long ago something was.
pub(super) fn ago(at: Option<Timestamp>, now: Timestamp) -> Markup {
    let Some(at) = at else { return html! { "never" } };
    let is_span = (60..WEEK_SECS).contains(&(now.as_second() - at.as_second()));
    html! { time datetime=(at) title=(when::long(at)) { (when::short(at, now)) @if is_span { " ago" } } }
}

/// How long it is until then.
pub(super) fn until(at: Timestamp, now: Timestamp) -> Markup {
    let text = span(at.as_second() - now.as_second());
    html! { time datetime=(at) title=(when::long(at)) { @if at <= now { "now" } @else { "in " (text) } } }
}

/// So many seconds, in the largest unit that they fill.
pub(super) fn span(secs: i64) -> String {
    match secs {
        ..60 => format!("{} s", secs.max(0)),
        60..3_600 => format!("{} min", secs / 60),
        3_600..86_400 => format!("{} h", secs / 3_600),
        _ => format!("{} d", secs / 86_400),
    }
}

/// A state in a word, coloured as it is good, bad or neither.
pub(super) fn badge(class: &str, text: &str) -> Markup {
    html! { span .badge .(class) { (text) } }
}

/// A button that does one thing.
pub(super) fn button(path: &str, action: &str, label: &str, name: &str, hidden: &[(&str, &str)]) -> Markup {
    html! {
        form method="post" action=(path) {
            @for (name, value) in hidden { input type="hidden" name=(name) value=(value); }
            button .button .quiet .small name="do" value=(action) {
                (label) @if !name.is_empty() { span .sr { " " (name) } }
            }
        }
    }
}

/// A button behind a second one, for what cannot be undone.
pub(super) fn confirmed(
    path: &str,
    action: &str,
    label: &str,
    name: &str,
    warning: &str,
    hidden: &[(&str, &str)],
) -> Markup {
    html! {
        details .confirm {
            summary .button .quiet .small { (label) "…" @if !name.is_empty() { span .sr { " " (name) } } }
            form method="post" action=(path) {
                @for (name, value) in hidden { input type="hidden" name=(name) value=(value); }
                p { (warning) }
                button .button .bad .small name="do" value=(action) { (label) @if !name.is_empty() { span .sr { " " (name) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u3_pages_say_only_what_they_know() {
        let shown = |query: &str| Said::of(Some(query)).shown().into_string();
        assert_eq!(shown("done=saved"), "<p class=\"said\" role=\"status\">Saved.</p>");
        assert!(shown("done=replayed&count=12").contains("once more: 12."));
        for nothing in ["", "done=<b>", "done=x&count=1", "count=1", "done=saved&done=saved"] {
            assert_eq!(shown(nothing), "", "{nothing}");
        }
    }

    #[test]
    fn u3_times_are_told_in_few_words() {
        let now: Timestamp = "2026-11-18T09:30:00Z".parse().unwrap();
        let told = |at: &str| {
            let at = at.parse().unwrap();
            let text =
                |html: Markup| html.into_string().split('>').nth(1).unwrap().split('<').next().unwrap().to_owned();
            (text(ago(Some(at), now)), text(until(at, now)))
        };
        assert_eq!(told("2026-11-18T09:29:50Z"), ("now".to_owned(), "now".to_owned()));
        assert_eq!(told("2026-11-18T09:20:00Z").0, "10 min ago");
        assert_eq!(told("2026-11-16T09:20:00Z").0, "2 d ago");
        assert_eq!(told("2026-11-01T09:20:00Z").0, "1 Nov");
        assert_eq!(told("2026-11-18T12:30:00Z").1, "in 3 h");
        assert_eq!(told("2026-11-28T12:30:00Z").1, "in 10 d");
        assert_eq!((span(59), span(-4)), ("59 s".to_owned(), "0 s".to_owned()));
    }
}
