//! The list of a view: its tools, its rows, and what stands there when there are none.

use domain::{Entry, entry::Order};
use maud::{Markup, html};

use super::{
    icons::{self, icon},
    layout::{Frame, name_of, shortened},
    settings::{ORDERS, REACHES, SIZES, THEMES},
    sidebar::problem_of,
    view::{Place, Show, View},
    when,
};
use crate::excerpt::excerpt;

/// Characters of a title in a list; some publishers put their text there.
const TITLE_CHARS_MAX: usize = 300;
/// Characters of a feed's name in a row.
const FEED_CHARS_MAX: usize = 80;

/// A list as it is shown.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) view: View,
    pub(super) order: Order,
    /// What the view is called.
    pub(super) title: String,
    pub(super) entries: Vec<Entry>,
    /// Where the next page begins.
    pub(super) next: Option<String>,
    /// Whether it is a later page, by a link without scripts.
    pub(super) is_later_page: bool,
}

/// Characters of whatever is in a name.
pub(super) fn title_of(frame: &Frame, view: &View) -> Option<String> {
    Some(match &view.place {
        Place::Everywhere => match view.show {
            Show::Unread => "Unread".to_owned(),
            Show::All => "All entries".to_owned(),
            Show::Starred => "Starred".to_owned(),
        },
        Place::Feed(id) => shortened(name_of(frame.feed(*id)?), FEED_CHARS_MAX),
        Place::Folder(id) => frame.folders.iter().find(|folder| folder.id == *id)?.name.clone(),
        Place::Search(text) if text.trim().is_empty() => "Search".to_owned(),
        Place::Search(text) => format!("Search: {}", shortened(text, FEED_CHARS_MAX)),
    })
}

/// The column of the list.
pub(super) fn column(frame: &Frame, listed: &Listed, here: &str) -> Markup {
    let Listed { view, order, title, entries, next, is_later_page } = listed;
    let address = view.address();
    html! {
        section .list aria-labelledby="list-title" data-list=(address) data-query=(view.api_query(*order))
            data-next=[next.as_deref()] data-now=(frame.now) data-excerpts[frame.settings.has_excerpts]
            data-show=(format!("{:?}", view.show).to_lowercase()) {
            header .top {
                div .line {
                    button .icon .menu type="button" popovertarget="side" aria-label="Feeds and menu" { (icon(icons::MENU)) }
                    h1 #list-title dir="auto" { (title) }
                    (tools(frame, listed))
                    (options(frame, listed, here))
                }
                div .line {
                    (tabs(view))
                    button #news .news type="button" hidden {}
                    span #news-said .sr role="status" {}
                }
                (search_again(view))
                (warning(frame, view))
            }
            div .scroll {
                @if entries.is_empty() { (empty(frame, listed)) }
                div .rows role=[(!entries.is_empty()).then_some("list")] {
                    div .chunk role="none" { @for entry in entries { (row(frame, view, entry)) } }
                }
                p .more {
                    @if let Some(cursor) = next {
                        a rel="next" href=(super::view::with_query(String::new(), &later(view, cursor))) { "Older entries" }
                    } @else if !entries.is_empty() {
                        span { "That is all." }
                    }
                    @if *is_later_page { " " a href=(address) { "Back to the top" } }
                }
            }
            template #row { (blank_row()) }
        }
    }
}

/// The parameters of the next page, after those of the view.
fn later<'a>(view: &'a View, cursor: &'a str) -> Vec<(&'static str, &'a str)> {
    let mut query = Vec::new();
    if let Place::Search(text) = &view.place {
        query.push(("q", text.as_str()));
    }
    if view.place != Place::Everywhere && view.show != Show::All {
        query.push(("show", if view.show == Show::Unread { "unread" } else { "starred" }));
    }
    query.extend(view.order.map(|order| ("order", order.name())));
    query.push(("cursor", cursor));
    query
}

fn tools(frame: &Frame, listed: &Listed) -> Markup {
    let Listed { view, .. } = listed;
    let subject = match &view.place {
        Place::Feed(id) => Some(("feed", id.to_string())),
        Place::Folder(id) => Some(("folder", id.to_string())),
        _ => None,
    };
    html! {
        button .icon .js type="button" data-do="refresh" aria-label="Refresh" title="Refresh (r)" { (icon(icons::REFRESH)) }
        @if !matches!(view.place, Place::Search(_)) {
            form method="post" action="/mark-read" {
                input type="hidden" name="list" value=(view.address());
                input type="hidden" name="before" value=(frame.now);
                button .icon data-do="mark-all" aria-label="Mark all as read" title="Mark all as read (Shift+A)" { (icon(icons::CHECK_ALL)) }
            }
        }
        @if let Some((kind, id)) = subject {
            button .icon .js type="button" data-do=(kind) data-id=(id) aria-label={ "Settings of this " (kind) } title={ "Settings of this " (kind) } {
                (icon(icons::MORE))
            }
        }
    }
}

/// How lists and pages look: a form, so that it works without scripts.
fn options(frame: &Frame, listed: &Listed, here: &str) -> Markup {
    let settings = frame.settings;
    html! {
        button .icon type="button" popovertarget="options" aria-label="How this looks" title="How this looks" { (icon(icons::TUNE)) }
        form #options .options popover method="post" action="/preferences" aria-label="How this looks" {
            input type="hidden" name="back" value=(here);
            (choice("Order", "order", &ORDERS, listed.order.name()))
            (choice("Lists", "excerpts", &[("on", "With summaries"), ("off", "Titles only")], on(settings.has_excerpts)))
            (choice("Theme", "theme", &THEMES, settings.theme))
            (choice("Text size", "size", &SIZES, settings.size))
            (choice("Theme and size", "reach", &REACHES, settings.reach()))
            (choice("Mark as read", "scroll", &[("off", "When opened"), ("on", "Also when scrolled past")], on(settings.marks_on_scroll)))
            (choice("Single keys", "keys", &[("on", "On"), ("off", "Off")], on(settings.has_keys)))
            button .button { "Save" }
        }
    }
}

pub(super) fn choice(label: &str, name: &str, values: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        label { (label)
            select name=(name) {
                @for (value, text) in values { option value=(value) selected[*value == chosen] { (text) } }
            }
        }
    }
}

pub(super) fn on(is: bool) -> &'static str {
    if is { "on" } else { "off" }
}

fn tabs(view: &View) -> Markup {
    html! {
        nav .tabs aria-label="Which entries" {
            @for (show, name) in Show::ALL {
                a href=(view.with_show(show).address()) aria-current=[(show == view.show).then_some("page")] { (name) }
            }
        }
    }
}

/// The search once more, where the column that holds it is not beside the list.
fn search_again(view: &View) -> Markup {
    let Place::Search(text) = &view.place else { return html! {} };
    html! {
        form .search role="search" aria-label="Search again" action="/search" {
            input type="search" name="q" value=(text) placeholder="Search" aria-label="Search entries" maxlength="1000"
                autocomplete="off" enterkeyhint="search";
        }
    }
}

/// Why the feed that is shown brings nothing.
fn warning(frame: &Frame, view: &View) -> Markup {
    let Place::Feed(id) = view.place else { return html! {} };
    let Some(feed) = frame.feed(id) else { return html! {} };
    let Some(problem) = problem_of(feed) else { return html! {} };
    html! {
        p .warning { strong { "This feed cannot be fetched." } " " (problem)
            @if !feed.is_gone { " It is tried again by itself." }
        }
    }
}

fn row(frame: &Frame, view: &View, entry: &Entry) -> Markup {
    let feed = frame.feed(entry.feed_id).map(|feed| shortened(name_of(feed), FEED_CHARS_MAX));
    let text = entry.summary.as_deref().and_then(excerpt).or_else(|| entry.content.as_deref().and_then(excerpt));
    // What has no title begins with its text.
    let (title, text) = match (own_title(entry), text) {
        (None, Some(text)) => (text, None),
        (_, text) => (title(entry), text),
    };
    html! {
        div role="listitem" class=(classes(entry)) #{ "e" (entry.id) } data-at=(entry.sort_at) data-feed=(entry.feed_id) {
            a href=(view.entry_address(entry.id)) dir="auto" { (title) }
            small data-when=(when::short(entry.sort_at, frame.now)) { (feed.unwrap_or_default()) }
            @if frame.settings.has_excerpts { p dir="auto" { (text.unwrap_or_default()) } }
        }
    }
}

fn classes(entry: &Entry) -> &'static str {
    match (entry.is_read, entry.is_starred) {
        (true, false) => "row",
        (true, true) => "row starred",
        (false, false) => "row unread",
        (false, true) => "row unread starred",
    }
}

pub(super) fn title(entry: &Entry) -> String {
    own_title(entry).map_or_else(|| "Untitled".to_owned(), |title| shortened(title, TITLE_CHARS_MAX))
}

/// The title that its publisher gave it.
pub(super) fn own_title(entry: &Entry) -> Option<&str> {
    entry.title.as_deref().filter(|title| !title.trim().is_empty())
}

/// A row for the script to fill.
fn blank_row() -> Markup {
    html! { div .row role="listitem" { a href="" dir="auto" {} small {} p dir="auto" {} } }
}

/// What to do when there is nothing to read.
fn empty(frame: &Frame, listed: &Listed) -> Markup {
    let View { place, show, .. } = &listed.view;
    html! {
        div .empty {
            @match (place, show) {
                _ if frame.feeds.is_empty() => {
                    h2 { "Welcome" }
                    p { "Add the first feed: the address of a site you like to read is enough." }
                    p .js { button .button type="button" data-do="add" { "Add a feed" } }
                    p .js { "Coming from another reader? " button .link type="button" data-do="opml" { "Import its OPML file" } "." }
                    noscript { p { "In a terminal: " code { "pirssonite add example.org" } } }
                }
                (Place::Search(text), _) if text.trim().is_empty() => {
                    h2 { "Search" }
                    p { "All words have to be there. " code { "\"fresh bread\"" } " is a phrase, " code { "conf*" }
                        " any word that begins so, and " code { "-jumps" } " must not be there." }
                }
                (Place::Search(_), _) => {
                    h2 { "Nothing found" }
                    p { "Try fewer words, or the beginning of one: " code { "conf*" } "." }
                }
                (_, Show::Unread) => {
                    h2 { "All read" }
                    p { "New entries appear here by themselves. " a href=(listed.view.with_show(Show::All).address()) { "Show all entries" } }
                }
                (_, Show::Starred) => {
                    h2 { "No stars yet" }
                    p { "Star what you want to keep: " kbd { "s" } ", or the star above an entry." }
                }
                (_, Show::All) => {
                    h2 { "Nothing here yet" }
                    p { "Entries appear when the feed publishes something." }
                }
            }
        }
    }
}
