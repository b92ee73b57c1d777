//! A stream as Atom, which newsboat's `feedhq` reads: the id of an entry is the item's, and whether it is read stands in a
//! category.

use axum::{http::header, response::IntoResponse};
use domain::Entry;
use maud::{Markup, PreEscaped, html};

use super::{
    ids::long_id,
    item::Origins,
    reading::limit,
    refusal::{Answer, Refusal},
    request::Call,
    stream::Stream,
};

/// Entries in a document.
const ENTRIES_MAX: u32 = 500;
/// What names the categories that are states.
const SCHEME: &str = "http://www.google.com/reader/";

pub(super) async fn feed(call: &Call, named: &str) -> Answer {
    let stream = Stream::parse(named).ok_or(Refusal::BadRequest)?;
    let origins = Origins::of(call).await?;
    let title = match stream {
        Stream::Feed(id) => origins.title(id).ok_or(Refusal::NotFound)?.to_owned(),
        _ => named.to_owned(),
    };
    let (filter, after) = (call.filter(&stream).await?, call.continuation()?);
    let make = async {
        let limit = limit(&call.params, ENTRIES_MAX);
        let entries = match &filter {
            Some(filter) => call.state.store().entries(call.actor.account, filter, limit, after).await?.entries,
            None => Vec::new(),
        };
        let document = document(named, &title, call.state.engine.now(), &entries, &origins);
        Ok(([(header::CONTENT_TYPE, "application/atom+xml; charset=utf-8")], document.into_string()).into_response())
    };
    Ok(call.state.answers.answer(make).await?)
}

fn document(id: &str, title: &str, now: jiff::Timestamp, entries: &[Entry], origins: &Origins) -> Markup {
    html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"))
        feed xmlns="http://www.w3.org/2005/Atom" {
            id { "tag:google.com,2005:reader/" (xml(id)) }
            title { (xml(title)) }
            updated { (now) }
            @for entry in entries { (entry_of(entry, origins)) }
        }
    }
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
