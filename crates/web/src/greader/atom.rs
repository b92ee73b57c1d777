//! A stream as Atom, which newsboat's `feedhq` reads: the id of an entry is the item's, and whether it is read stands in a
//! category.

use domain::Entry;
use maud::{Markup, PreEscaped, html};

use super::{
    contents::Form,
    ids::long_id,
    item::Origins,
    reading,
    refusal::{Answer, Refusal},
    request::Call,
    stream::Stream,
};

/// What names the categories that are states.
const SCHEME: &str = "http://www.google.com/reader/";

/// What stands after all entries.
pub(super) const END: &str = "</feed>";

pub(super) async fn feed(call: &Call, named: &str) -> Answer {
    let stream = Stream::parse(named).ok_or(Refusal::BadRequest)?;
    let origins = Origins::of(call).await?;
    let title = match stream {
        Stream::Feed(id) => origins.title(id).ok_or(Refusal::NotFound)?.to_owned(),
        _ => named.to_owned(),
    };
    reading::sent_stream(call, &stream, Form::Atom { named: named.to_owned(), title }, origins).await
}

/// What stands before all entries.
pub(super) fn head(id: &str, title: &str, now: jiff::Timestamp) -> String {
    let empty = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"))
        feed xmlns="http://www.w3.org/2005/Atom" {
            id { "tag:google.com,2005:reader/" (xml(id)) }
            title { (xml(title)) }
            updated { (now) }
        }
    };
    empty.into_string().trim_end_matches(END).to_owned()
}

pub(super) fn entry(entry: &Entry, origins: &Origins) -> String {
    entry_of(entry, origins).into_string()
}

fn entry_of(entry: &Entry, origins: &Origins) -> Markup {
    let text = entry.content.as_deref().or(entry.summary.as_deref()).unwrap_or_default();
    html! {
        entry {
            id { (long_id(entry.id)) }
            title type="text" { (xml(entry.title.as_deref().unwrap_or_default())) }
            published { (entry.sort_at) }
            updated { (entry.updated_at.unwrap_or(entry.sort_at)) }
            @if let Some(url) = &entry.url { (link("alternate", "text/html", url)) }
            @for file in &entry.enclosures { (link("enclosure", file.mime.as_deref().unwrap_or_default(), &file.url)) }
            @if let Some(author) = &entry.author { author { name { (xml(author)) } } }
            category term=(state(entry.is_read)) scheme=(SCHEME) label=(state(entry.is_read)) {}
            @if entry.is_starred { category term="starred" scheme=(SCHEME) label="starred" {} }
            @if let Some(title) = origins.title(entry.feed_id) {
                source {
                    id { "tag:google.com,2005:reader/feed/" (entry.feed_id) }
                    title { (xml(title)) }
                    (link("alternate", "text/html", origins.html_url(entry.feed_id).unwrap_or_default()))
                }
            }
            content type="html" { (xml(text)) }
        }
    }
}

fn state(is_read: bool) -> &'static str {
    if is_read { "read" } else { "fresh" }
}

fn link(rel: &str, kind: &str, href: &str) -> Markup {
    html! { link rel=(rel) type=(xml(kind)) href=(xml(href)) {} }
}

/// What XML can hold of a text.
fn xml(text: &str) -> String {
    let is_xml =
        |c: &char| !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    text.chars().filter(is_xml).collect()
}
