//! The feeds and folders with their unread counts, and the ways to everything else.

use domain::{Feed, FolderId};
use maud::{Markup, html};

use super::{
    icons::{self, icon},
    layout::{Frame, name_of, shortened},
};

/// Characters of a feed's name beside the list.
const NAME_CHARS_MAX: usize = 120;

/// Characters of the reason why a feed fails.
const REASON_CHARS_MAX: usize = 300;

/// Pages that stand at the foot: path, name and icon.
const PAGES: [(&str, &str, &str); 4] = [
    ("/push", "Push", icons::PUSH),
    ("/webhooks", "Webhooks", icons::HOOK),
    ("/status", "Status", icons::PULSE),
    ("/settings", "Settings", icons::GEAR),
];

/// The column beside every page. On a narrow screen it is a popover, which needs no script to open.
pub(super) fn sidebar(frame: &Frame, current: &str) -> Markup {
    let feeds_in = |folder: Option<FolderId>| frame.feeds.iter().filter(move |feed| feed.folder_id == folder);
    html! {
        nav #side .side popover aria-label="Feeds" {
            div .brand {
                a href="/unread" { (mark()) "piRSSonite" }
                button .icon .js type="button" data-do="add" aria-label="Add a feed" title="Add a feed (a)" { (icon(icons::PLUS)) }
            }
            form .search role="search" action="/search" {
                input #q type="search" name="q" placeholder="Search" aria-label="Search entries" maxlength="1000"
                    autocomplete="off" enterkeyhint="search" value=[frame.searched.as_deref()];
            }
            ul .places {
                (place("/unread", "Unread", icons::INBOX, frame.counts.total, current))
                (place("/all", "All", icons::STACK, 0, current))
                (place("/starred", "Starred", icons::STAR, frame.counts.starred, current))
            }
            div .tree {
                @for folder in &frame.folders {
                    @let path = format!("/folder/{}", folder.id);
                    @let unread = frame.counts.by_folder.get(&folder.id).copied().unwrap_or_default();
                    div .folder data-folder=(folder.id) {
                        a .name href=(path) dir="auto" data-n=(shown(unread)) aria-current=[is(current == path)] { (folder.name) }
                        details open {
                            summary { span .sr { "Feeds in " (folder.name) } }
                            ul { @for feed in feeds_in(Some(folder.id)) { (row(feed, current)) } }
                        }
                    }
                }
                div .folder data-folder="" {
                    @if !frame.folders.is_empty() && feeds_in(None).next().is_some() { p .name { "No folder" } }
                    ul { @for feed in feeds_in(None) { (row(feed, current)) } }
                }
                @if frame.feeds.is_empty() {
                    p .hint { "No feeds yet." }
                }
            }
            div .foot {
                ul {
                    @for (path, name, drawing) in PAGES {
                        li { a href=(path) aria-current=[is(current == path)] { (icon(drawing)) (name) } }
                    }
                    li .js { button type="button" data-do="opml" { (icon(icons::FILES)) "Import and export" } }
                    li .js { button type="button" data-do="help" { (icon(icons::KEYBOARD)) "Keyboard" } }
                }
                @if frame.actor.session.is_some() {
                    form method="post" action="/logout" {
                        button { (icon(icons::LEAVE)) "Log out " (frame.actor.name) }
                    }
                }
            }
        }
    }
}

fn place(path: &str, name: &str, drawing: &str, count: u64, current: &str) -> Markup {
    html! {
        li { a href=(path) data-n=(shown(count)) data-count=(name.to_lowercase()) aria-current=[is(current == path)] { (icon(drawing)) (name) } }
    }
}

fn row(feed: &Feed, current: &str) -> Markup {
    let path = format!("/feed/{}", feed.id);
    let problem = problem_of(feed);
    html! {
        li data-feed=(feed.id) data-letter=(letter_of(name_of(feed))) {
            a href=(path) draggable="true" dir="auto" data-n=(shown(feed.unread_count)) class=[problem.as_ref().map(|_| "failing")]
                title=[problem] aria-current=[is(current == path)] {
                (shortened(name_of(feed), NAME_CHARS_MAX))
            }
        }
    }
}

/// What stands for a feed that has no icon.
fn letter_of(name: &str) -> String {
    name.chars().find(|c| c.is_alphanumeric()).map(|first| first.to_uppercase().collect()).unwrap_or_default()
}

/// Why a feed brings nothing, if that is so.
pub(super) fn problem_of(feed: &Feed) -> Option<String> {
    if feed.is_gone {
        return Some("Its server says that it is gone for good.".to_owned());
    }
    let error = feed.last_error.as_deref().filter(|_| feed.failure_count > 0)?;
    Some(sentence(&shortened(error, REASON_CHARS_MAX)))
}

/// With a capital and a full stop, as it stands by itself on a page.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let begin: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    format!("{begin}{}{end}", letters.as_str())
}

/// A count as it is shown: none is nothing.
fn shown(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

fn is(condition: bool) -> Option<&'static str> {
    condition.then_some("page")
}

/// The program's sign; drawn here, because a picture of its own would be a request more.
fn mark() -> Markup {
    html! {
        svg .sign viewBox="0 0 64 64" aria-hidden="true" {
            rect width="64" height="64" rx="14" {}
            path d="M18 30a16 16 0 0 1 16 16M18 17a29 29 0 0 1 29 29" {}
            circle cx="20" cy="44" r="4.5" {}
        }
    }
}
