//! An entry, to be read.
//!
//! Its HTML stands in a shadow root of its own: none of the page's styles and ids are in reach, and what it holds cannot
//! leave its box or cover a control. Browsers make that root from the markup alone, so it needs no script.

use domain::{Entry, File, picture::PICTURE_PREFIX};
use maud::{Markup, PreEscaped, html};

use super::{
    assets::ASSETS,
    icons::{self, icon},
    layout::{Frame, name_of, shortened},
    view::View,
    when,
};

/// Characters of an entry's title that its pane is called by.
const PANE_CHARS_MAX: usize = 120;
/// Pictures, sounds and films that are shown of one entry.
const FILES_MAX: usize = 20;
/// Categories that are shown of one entry.
const CATEGORIES_MAX: usize = 12;

/// The column of the entry: what is open, or what to do.
pub(super) fn column(frame: &Frame, view: &View, entry: Option<&Entry>) -> Markup {
    html! {
        @let name = entry.map_or("Entry".to_owned(), |entry| shortened(&super::list::title(entry), PANE_CHARS_MAX));
        section .reading aria-label=(name) tabindex="0" {
            @if let Some(entry) = entry { (article(frame, view, entry)) } @else { (nothing_open(frame)) }
        }
        template #article { (blank(view)) }
    }
}

fn nothing_open(frame: &Frame) -> Markup {
    html! {
        div .nothing {
            (icon(icons::INBOX))
            @if frame.feeds.is_empty() {
                p { "Nothing to read yet." }
            } @else {
                p { "Choose an entry to read it here." }
                @if frame.settings.has_keys {
                    p .js { kbd { "j" } " next  " kbd { "k" } " previous  " kbd { "?" } " all keys" }
                }
            }
        }
    }
}

fn article(frame: &Frame, view: &View, entry: &Entry) -> Markup {
    let feed = frame.feed(entry.feed_id).map(name_of).unwrap_or_default();
    let here = view.entry_address(entry.id);
    let at = entry.published_at.unwrap_or(entry.sort_at);
    html! {
        article .entry data-id=(entry.id) data-feed=(entry.feed_id) data-at=(entry.sort_at) data-read[entry.is_read] data-starred[entry.is_starred] {
            (bar(view, &format!("/entry/{}", entry.id), &here, Some(entry)))
            div .page {
                p .from { a .feed href={ "/feed/" (entry.feed_id) } dir="auto" { (feed) } " " time datetime=(at) { (when::long(at)) } }
                // Where there is nothing else, it says at least that, and leads to the original.
                h1 .title .untitled[super::list::own_title(entry).is_none() && holds_something(entry)] dir="auto" {
                    @let title = super::list::title(entry);
                    @if let Some(url) = &entry.url { a href=(url) target="_blank" rel="noopener noreferrer" { (title) } }
                    @else { (title) }
                }
                p .by dir="auto" { (entry.author.as_deref().unwrap_or_default()) }
                div .files { @for file in entry.enclosures.iter().take(FILES_MAX) { (player(file)) } }
                div .body dir="auto" { (shadow(entry)) }
                p .tags { @for category in entry.categories.iter().take(CATEGORIES_MAX) { span dir="auto" { (category) } " " } }
            }
        }
    }
}

/// An article for the script to fill.
fn blank(view: &View) -> Markup {
    html! {
        article .entry {
            (bar(view, "", "", None))
            div .page {
                p .from { a .feed href="" dir="auto" {} " " time {} }
                h1 .title dir="auto" { a href="" target="_blank" rel="noopener noreferrer" {} }
                p .by dir="auto" {}
                div .files {}
                div .body dir="auto" {}
                p .tags {}
            }
        }
    }
}

fn bar(view: &View, action: &str, here: &str, entry: Option<&Entry>) -> Markup {
    let (is_read, is_starred) = entry.map_or((true, false), |entry| (entry.is_read, entry.is_starred));
    html! {
        header .bar {
            a .icon .back href=(view.address()) aria-label="Back to the list" title="Back to the list (Esc)" { (icon(icons::BACK)) }
            form method="post" action=(action) {
                input type="hidden" name="back" value=(here);
                button .icon .star data-do="star" name="isStarred" value=(!is_starred) aria-pressed=(is_starred)
                    aria-label="Star" title="Star (s)" { (icon(icons::STAR)) }
                button .icon .unmark data-do="read" name="isRead" value=(!is_read) aria-pressed=(!is_read)
                    aria-label="Unread" title="Read or unread (m)" { (icon(icons::DOT)) }
            }
            a .icon .original href=[entry.and_then(|entry| entry.url.as_deref())] target="_blank" rel="noopener noreferrer"
                aria-label="Open the original" title="Open the original (v)" { (icon(icons::OUT)) }
            span .gap {}
            button .icon .js type="button" data-do="previous" aria-label="Previous entry" title="Previous (k)" { (icon(icons::UP)) }
            button .icon .js type="button" data-do="next" aria-label="Next entry" title="Next (j)" { (icon(icons::DOWN)) }
        }
    }
}

fn player(file: &File) -> Markup {
    let kind = file.mime.as_deref().unwrap_or_default();
    let name = file.url.split(['?', '#']).next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let length = file.duration_secs.map(when::duration).unwrap_or_default();
    html! {
        @if !is_web(&file.url) && !file.url.starts_with(PICTURE_PREFIX) {
        } @else if kind.starts_with("audio/") {
            figure { audio controls preload="none" src=(file.url) {} (caption(file, name, &length)) }
        } @else if kind.starts_with("video/") {
            figure { video controls preload="none" src=(file.url) {} (caption(file, name, &length)) }
        } @else if kind.starts_with("image/") {
            figure { img src=(file.url) alt="" loading="lazy"; }
        } @else {
            figure { (caption(file, name, &length)) }
        }
    }
}

fn caption(file: &File, name: &str, length: &str) -> Markup {
    html! { figcaption { a href=(file.url) target="_blank" rel="noopener noreferrer" { (name) } " " (length) } }
}

fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

fn html_of(entry: &Entry) -> &str {
    entry.content.as_deref().or(entry.summary.as_deref()).unwrap_or_default()
}

fn holds_something(entry: &Entry) -> bool {
    !html_of(entry).trim().is_empty() || !entry.enclosures.is_empty()
}

/// The entry's own HTML. It was sanitised when it came in; here its links are kept from the page.
fn shadow(entry: &Entry) -> Markup {
    html! {
        template shadowrootmode="open" {
            link rel="stylesheet" href=(ASSETS.entry_css.path());
            div .content dir="auto" { (PreEscaped(guarded(html_of(entry)))) }
        }
    }
}

/// Links that open apart from this page, and pictures that load when they are near and are told of where they cannot be
/// seen. Sanitised HTML has `<` and `>` nowhere but at the ends of its tags, and no such attribute by itself.
fn guarded(html: &str) -> String {
    let html = html.replace("<a ", "<a target=\"_blank\" rel=\"noopener noreferrer\" ");
    let mut pieces = html.split("<img ");
    let mut guarded = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let tag = piece.split('>').next().unwrap_or_default();
        let has_alt = tag.starts_with("alt=") || tag.contains(" alt=");
        guarded.push_str("<img loading=\"lazy\" decoding=\"async\" ");
        guarded.push_str(if has_alt { "" } else { "alt=\"Picture\" " });
        guarded.push_str(piece);
    }
    guarded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1b_links_of_entries_open_apart() {
        assert_eq!(
            guarded(
                "<p title=\"&lt;a x\"><a href=\"https://e.org/\">x</a><img src=\"y\"><img src=\"y\" alt=\"\"><abbr>z</abbr>"
            ),
            "<p title=\"&lt;a x\"><a target=\"_blank\" rel=\"noopener noreferrer\" href=\"https://e.org/\">x</a>\
             <img loading=\"lazy\" decoding=\"async\" alt=\"Picture\" src=\"y\">\
             <img loading=\"lazy\" decoding=\"async\" src=\"y\" alt=\"\"><abbr>z</abbr>"
        );
    }

    #[test]
    fn u1b_only_files_of_the_web_are_played() {
        let file = |url: &str, mime: &str| File {
            url: url.to_owned(),
            mime: Some(mime.to_owned()),
            length: None,
            duration_secs: Some(65),
        };
        let audio = player(&file("https://e.org/a.mp3?x", "audio/mpeg")).into_string();
        assert!(audio.contains("<audio controls") && audio.contains(">a.mp3</a> 1:05"), "{audio}");
        let video = player(&file("https://e.org/a.mp4", "video/mp4")).into_string();
        let shown_video = "<video controls preload=\"none\" src=\"https://e.org/a.mp4\"></video>";
        assert!(video.contains(shown_video) && video.contains(">a.mp4</a> 1:05"), "{video}");
        let picture = player(&file("https://e.org/a.jpg", "image/jpeg")).into_string();
        assert!(picture.contains("<img src=\"https://e.org/a.jpg\" alt=\"\" loading=\"lazy\">"), "{picture}");
        for kind in ["audio/mpeg", "video/mp4", "image/jpeg", ""] {
            assert_eq!(player(&file("javascript:alert(1)", kind)).into_string(), "", "{kind}");
        }
    }
}
