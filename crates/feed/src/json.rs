//! JSON Feed 1.0 and 1.1. Read value by value, so that one bad field never loses an item, and one bad item never the
//! feed.

mod repair;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};
use url::Url;

use crate::{
    date,
    encoding::without_c1,
    entity::{self, Declared},
    limits::{DATE_WARNINGS_MAX, ENTRIES_MAX, JSON_VALUES_MAX, LIST_MAX, TEXT_BYTES_MAX},
    model::{Enclosure, Entry, Feed, Head, Image, Link, Person, Tag, Text, TextKind, Warning},
    parse::Error,
    relative,
    resolve::{self, LinkBudget},
};

/// About how many values a document has, counted by what stands between them.
fn values(text: &str) -> usize {
    let mut in_string = false;
    let mut escaped = false;
    let mut count = 0;
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// Reads a JSON Feed.
pub(crate) fn read(text: &str, base: Option<&Arc<Url>>) -> Result<Feed, Error> {
    if values(text) > JSON_VALUES_MAX {
        return Err(Error::Json(format!("it has more than {JSON_VALUES_MAX} values")));
    }
    let mut warnings = Vec::new();
    let mut cut_in_item = false;
    let document = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) => {
            let repaired = repair::repair(text);
            warnings.push(Warning::MendedJson);
            warnings.extend(repaired.truncated.then_some(Warning::Truncated));
            cut_in_item = repaired.cut_in_item;
            serde_json::from_str(&repaired.text).map_err(|_| Error::Json(error.to_string()))?
        }
    };
    let Value::Object(document) = document else { return Err(Error::NotAFeed) };
    let says_so = string(&document, "version").is_some_and(|version| version.contains("jsonfeed.org"));
    let Some(Value::Array(items)) = document.get("items").filter(|_| says_so || document.contains_key("title")) else {
        return Err(Error::Json("it has no list of items".to_owned()));
    };
    let budget = LinkBudget::of(text.len());
    let mut reader = Reader { budget, warnings };
    if items.len() > ENTRIES_MAX {
        reader.warn(Warning::TooManyEntries);
    }
    let mut entries: Vec<Entry> =
        items.iter().take(ENTRIES_MAX).filter_map(Value::as_object).map(|item| reader.entry(item)).collect();
    if cut_in_item {
        drop_uncertain(&mut entries);
    }
    entries.retain(|entry| *entry != Entry::default());
    let version = match string(&document, "version") {
        Some(version) if version.ends_with("1.1") => "json11",
        _ => "json10",
    };
    let head = reader.head(&document);
    let mut feed = Feed { version, head, entries, warnings: reader.warnings, ..Feed::default() };
    relative::resolve(&mut feed, base, &reader.budget);
    Ok(feed)
}

/// Drops an entry that was cut off before its identity, because it would come back under another one.
fn drop_uncertain(entries: &mut Vec<Entry>) {
    let Some(mut last) = entries.pop() else { return };
    last.is_cut = true;
    let others_have_guids = entries.iter().any(|entry| entry.guid.is_some());
    if last.guid.is_some() || last.link.is_some() && !others_have_guids {
        entries.push(last);
    }
}

/// What is known besides the object that is being read.
struct Reader {
    /// What making links absolute may still add.
    budget: LinkBudget,
    warnings: Vec<Warning>,
}

impl Reader {
    fn head(&mut self, document: &Map<String, Value>) -> Head {
        let links = [("alternate", "home_page_url"), ("self", "feed_url")]
            .into_iter()
            .filter_map(|(rel, name)| {
                Some(Link { rel: rel.to_owned(), href: self.link(document, name)?, ..Link::default() })
            })
            .collect();
        let icon = self.link(document, "icon");
        Head {
            title: self.title(document),
            subtitle: self.text(document, "description", TextKind::Plain),
            link: self.link(document, "home_page_url"),
            links,
            id: self.link(document, "feed_url"),
            language: string(document, "language").map(str::to_owned),
            icon: self.link(document, "favicon"),
            image: icon.clone().map(|href| Image { href: Some(href), ..Image::default() }),
            logo: icon,
            authors: self.authors(document),
            hubs: self.hubs(document),
            self_url: self.link(document, "feed_url"),
            ..Head::default()
        }
    }

    /// The WebSub hubs, in order, each once. A hub of another protocol says so by its type.
    fn hubs(&self, document: &Map<String, Value>) -> Vec<String> {
        let mut hubs = Vec::new();
        for hub in objects(document, "hubs").take(LIST_MAX) {
            let speaks_websub = string(hub, "type").is_none_or(|kind| kind.eq_ignore_ascii_case("websub"));
            if let Some(url) = self.link(hub, "url").filter(|url| speaks_websub && !hubs.contains(url)) {
                hubs.push(url);
            }
        }
        hubs
    }

    fn entry(&mut self, item: &Map<String, Value>) -> Entry {
        let content = [("content_html", TextKind::Html), ("content_text", TextKind::Plain)];
        let external = self.link(item, "external_url");
        let tags = item.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let own_link = self.link(item, "url");
        let links = [("alternate", own_link.clone()), ("related", external.clone())]
            .into_iter()
            .filter_map(|(rel, href)| Some(Link { rel: rel.to_owned(), href: href?, ..Link::default() }))
            .collect();
        let image = self.link(item, "image").or_else(|| self.link(item, "banner_image"));
        let guid = guid(item);
        let guid_link = || guid.as_deref().filter(|guid| resolve::is_page(guid, false)).map(str::to_owned);
        Entry {
            link: match own_link.or(external) {
                Some(link) if !resolve::is_mail(&link) => Some(link),
                link => guid_link().or(link),
            },
            title: self.title(item),
            links,
            summary: self.text(item, "summary", TextKind::Plain),
            content: content.into_iter().filter_map(|(name, kind)| self.text(item, name, kind)).collect(),
            published: self.time(item, "date_published"),
            updated: self.time(item, "date_modified"),
            language: string(item, "language").map(str::to_owned),
            authors: self.authors(item),
            tags: tags.take(LIST_MAX).map(|term| Tag { term: Some(plain(term.trim())), ..Tag::default() }).collect(),
            enclosures: objects(item, "attachments").filter_map(|file| self.enclosure(file)).take(LIST_MAX).collect(),
            image: image.map(|href| Box::new(Image { href: Some(href), ..Image::default() })),
            guid,
            ..Entry::default()
        }
    }

    fn authors(&self, object: &Map<String, Value>) -> Vec<Person> {
        let one = object.get("author").and_then(Value::as_object);
        objects(object, "authors")
            .chain(one)
            .map(|author| Person {
                name: string(author, "name").map(plain),
                email: None,
                url: self.link(author, "url"),
            })
            .filter(|person| *person != Person::default())
            .take(LIST_MAX)
            .collect()
    }

    fn enclosure(&self, file: &Map<String, Value>) -> Option<Enclosure> {
        Some(Enclosure {
            href: self.link(file, "url")?,
            mime: string(file, "mime_type").map(str::to_owned),
            length: file.get("size_in_bytes").and_then(Value::as_number).map(ToString::to_string),
            duration_secs: file.get("duration_in_seconds").and_then(seconds),
        })
    }

    fn time(&mut self, object: &Map<String, Value>, name: &str) -> Option<Timestamp> {
        let text = string(object, name)?;
        let time = date::parse(text);
        if time.is_none() && self.warnings.len() < DATE_WARNINGS_MAX {
            self.warn(Warning::BadDate(text.chars().take(64).collect()));
        }
        time
    }

    fn link(&self, object: &Map<String, Value>, name: &str) -> Option<String> {
        resolve::link(None, string(object, name)?, &self.budget)
    }

    fn text(&mut self, object: &Map<String, Value>, name: &str, kind: TextKind) -> Option<Text> {
        let value = string(object, name)?;
        if value.len() > TEXT_BYTES_MAX {
            self.warn(Warning::TextCut);
        }
        let value = &value[..value.floor_char_boundary(TEXT_BYTES_MAX)];
        // JSON escapes what the document itself does not hold.
        let value = if value.contains(is_control) { without_c1(&value.replace('\0', "")) } else { value.to_owned() };
        Some(Text { value, kind, base: None })
    }

    /// Plain text by the standard; but many write it as HTML, and no title means `&amp;`.
    fn title(&mut self, object: &Map<String, Value>) -> Option<Text> {
        let title = self.text(object, "title", TextKind::Plain)?;
        Some(Text { value: plain(&title.value), ..title })
    }

    fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// 1.1 says seconds; some write them as a text or with a fraction.
fn seconds(value: &Value) -> Option<u32> {
    let secs = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    (0.0..1e9).contains(&secs).then_some(secs as u32)
}

fn guid(item: &Map<String, Value>) -> Option<String> {
    let guid = match item.get("id")? {
        Value::String(id) => id.trim().to_owned(),
        // 1.0 asks for a string, 1.1 for readers to take a number all the same.
        Value::Number(id) => id.to_string(),
        _ => return None,
    };
    (!guid.is_empty()).then_some(guid)
}

/// What no text means: NUL, and the control characters that are windows-1252.
fn is_control(c: char) -> bool {
    c == '\0' || ('\u{80}'..='\u{9f}').contains(&c)
}

/// A word or a line with its references resolved.
fn plain(text: &str) -> String {
    entity::decode(text, &mut Declared::none())
}

fn string<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str).map(str::trim).filter(|value| !value.is_empty())
}

fn objects<'a>(object: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Map<String, Value>> {
    object.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}
