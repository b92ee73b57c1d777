//! JSON Feed 1.0 and 1.1. Read value by value, so that one bad field never loses an item, and one bad item never the
//! feed.

mod mend;

use std::sync::Arc;

use serde_json::{Map, Value};
use url::Url;

use crate::{
    date,
    limits::{ENTRIES_MAX, LIST_MAX, TEXT_BYTES_MAX},
    model::{Enclosure, Entry, Feed, Head, Image, Link, Person, Tag, Text, TextKind, Warning},
    parse::Error,
    resolve,
};

/// Reads a JSON Feed.
pub(crate) fn read(text: &str, base: Option<Arc<Url>>) -> Result<Feed, Error> {
    let mut warnings = Vec::new();
    let document = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) => {
            let mended = mend::mend(text);
            warnings.push(Warning::MendedJson);
            warnings.extend(mended.truncated.then_some(Warning::Truncated));
            serde_json::from_str(&mended.text).map_err(|_| Error::Json(error.to_string()))?
        }
    };
    let Value::Object(document) = document else { return Err(Error::NotAFeed) };
    let says_so = string(&document, "version").is_some_and(|version| version.contains("jsonfeed.org"));
    let Some(Value::Array(items)) = document.get("items").filter(|_| says_so || document.contains_key("title")) else {
        return Err(Error::Json("it has no list of items".to_owned()));
    };
    let base = base.or_else(|| string(&document, "home_page_url").and_then(|link| Url::parse(link).ok()).map(Arc::new));
    if items.len() > ENTRIES_MAX {
        warnings.push(Warning::TooManyEntries);
    }
    let entries =
        items.iter().take(ENTRIES_MAX).filter_map(Value::as_object).map(|item| entry(item, base.as_ref())).collect();
    let version = match string(&document, "version") {
        Some(version) if version.ends_with("1.1") => "json11",
        _ => "json10",
    };
    Ok(Feed { version, head: head(&document, base.as_ref()), entries, warnings, ..Feed::default() })
}

fn head(document: &Map<String, Value>, base: Option<&Arc<Url>>) -> Head {
    let link_to = |name| link(document, name, base);
    let links = [("alternate", "home_page_url"), ("self", "feed_url")]
        .into_iter()
        .filter_map(|(rel, name)| Some(Link { rel: rel.to_owned(), href: link_to(name)?, ..Link::default() }))
        .collect();
    let hubs = objects(document, "hubs").filter_map(|hub| link(hub, "url", base)).take(LIST_MAX).collect();
    Head {
        title: text(document, "title", TextKind::Plain, base),
        subtitle: text(document, "description", TextKind::Plain, base),
        link: link_to("home_page_url"),
        links,
        id: link_to("feed_url"),
        language: string(document, "language").map(str::to_owned),
        icon: link_to("favicon"),
        logo: link_to("icon"),
        image: link_to("icon").map(|href| Image { href: Some(href), ..Image::default() }),
        authors: authors(document, base),
        hubs,
        self_url: link_to("feed_url"),
        ..Head::default()
    }
}

fn entry(item: &Map<String, Value>, base: Option<&Arc<Url>>) -> Entry {
    let guid = match item.get("id") {
        Some(Value::String(id)) => Some(id.trim().to_owned()),
        // 1.0 asks for a string, 1.1 for readers to take a number all the same.
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    };
    let time = |name| string(item, name).and_then(date::parse);
    let content = [("content_html", TextKind::Html), ("content_text", TextKind::Plain)];
    let external = link(item, "external_url", base);
    let tags = item.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let own_link = link(item, "url", base);
    let links = [("alternate", own_link.clone()), ("related", external.clone())]
        .into_iter()
        .filter_map(|(rel, href)| Some(Link { rel: rel.to_owned(), href: href?, ..Link::default() }))
        .collect();
    Entry {
        guid: guid.filter(|guid| !guid.is_empty()),
        title: text(item, "title", TextKind::Plain, base),
        link: own_link.or(external),
        links,
        summary: text(item, "summary", TextKind::Plain, base),
        content: content.into_iter().filter_map(|(name, kind)| text(item, name, kind, base)).collect(),
        published: time("date_published"),
        updated: time("date_modified"),
        language: string(item, "language").map(str::to_owned),
        authors: authors(item, base),
        tags: tags.take(LIST_MAX).map(|term| Tag { term: Some(term.to_owned()), ..Tag::default() }).collect(),
        enclosures: objects(item, "attachments").filter_map(|file| enclosure(file, base)).take(LIST_MAX).collect(),
        image: link(item, "image", base)
            .or_else(|| link(item, "banner_image", base))
            .map(|href| Image { href: Some(href), ..Image::default() }),
        ..Entry::default()
    }
}

fn authors(object: &Map<String, Value>, base: Option<&Arc<Url>>) -> Vec<Person> {
    let one = object.get("author").and_then(Value::as_object);
    objects(object, "authors")
        .chain(one)
        .map(|author| Person {
            name: string(author, "name").map(str::to_owned),
            email: None,
            url: link(author, "url", base),
        })
        .filter(|person| *person != Person::default())
        .take(LIST_MAX)
        .collect()
}

fn enclosure(file: &Map<String, Value>, base: Option<&Arc<Url>>) -> Option<Enclosure> {
    Some(Enclosure {
        href: link(file, "url", base)?,
        mime: string(file, "mime_type").map(str::to_owned),
        length: file.get("size_in_bytes").and_then(Value::as_number).map(ToString::to_string),
    })
}

fn string<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str).map(str::trim).filter(|value| !value.is_empty())
}

fn objects<'a>(object: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Map<String, Value>> {
    object.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn link(object: &Map<String, Value>, name: &str, base: Option<&Arc<Url>>) -> Option<String> {
    resolve::link(base.map(AsRef::as_ref), string(object, name)?)
}

fn text(object: &Map<String, Value>, name: &str, kind: TextKind, base: Option<&Arc<Url>>) -> Option<Text> {
    let value = string(object, name)?;
    let value = &value[..value.floor_char_boundary(TEXT_BYTES_MAX)];
    Some(Text { value: value.replace('\0', ""), kind, base: base.cloned() })
}
