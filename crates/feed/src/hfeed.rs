//! Web pages that mark their posts up as h-entry (microformats2), as the IndieWeb does.
//!
//! One pass over the page, without a tree: each open element knows which properties it is, each open item gathers
//! those of the elements inside it, and both are settled when the element closes.

use std::sync::Arc;

use url::Url;

use crate::{
    date,
    entity::unescape_html,
    limits::{ENTRIES_MAX, HTML_DEPTH_MAX, PROPERTIES_MAX, TAG_BYTES_MAX, TEXT_BYTES_MAX},
    lists::ListBudget,
    model::{Enclosure, Entry, Feed, Head, Image, Link, Person, Tag, Text, TextKind, Warning},
    page::{self, Page},
    resolve::{self, LinkBudget},
    sanitise::{Kinds, is_void, plain_text},
    scan::{Attributes, Dialect, Scanner, Token},
};

/// Reads a page's posts, or returns `None` if it marks up none.
pub(crate) fn read(html: &str, url: Option<&Arc<Url>>) -> Option<Feed> {
    // Most pages mark up nothing, and need no more than this to know.
    memchr::memmem::find(html.as_bytes(), b"h-entry").or_else(|| memchr::memmem::find(html.as_bytes(), b"h-feed"))?;
    let page = page::read(html, url.cloned());
    let mut reader = Reader {
        source: html,
        base: page.base.clone(),
        open: Vec::new(),
        overflow: 0,
        items: Vec::new(),
        text: String::new(),
        entries: Vec::new(),
        feed: None,
        truncated: false,
        too_many: false,
        budget: LinkBudget::of(html.len()),
        lists: ListBudget::default(),
    };
    reader.run();
    reader.finish(page, url.map(AsRef::as_ref))
}

struct Reader<'a> {
    source: &'a str,
    base: Option<Arc<Url>>,
    open: Vec<Open<'a>>,
    /// How many elements are open beyond the depth limit.
    overflow: usize,
    /// The items that are open, innermost last.
    items: Vec<Item>,
    /// The text of the open items, of which each element's is a part.
    text: String,
    /// The posts, each with whether it stands in an h-feed.
    entries: Vec<(bool, Entry)>,
    feed: Option<Head>,
    truncated: bool,
    too_many: bool,
    /// What making links absolute may still add.
    budget: LinkBudget,
    lists: ListBudget,
}

/// An element that has been opened and not closed yet.
struct Open<'a> {
    name: &'a str,
    /// Where its inside begins in the source.
    inside_from: usize,
    /// Where its text begins in the gathered text.
    text_from: usize,
    properties: Vec<Property<'a>>,
    /// It begins an item.
    is_item: bool,
    /// Which element it is, and which are open with it.
    kind: Kinds,
    kinds_around: Kinds,
}

/// A class such as `p-name`, with the value that the element's attributes give it.
#[derive(Clone)]
struct Property<'a> {
    prefix: &'a str,
    name: &'a str,
    value: Option<String>,
}

/// A thing that a page marks up.
enum Item {
    Entry(Box<Entry>),
    Card(Person),
    Feed(Box<Head>),
    /// A reply's quote, an event: its properties are not those of what is around it.
    Other,
}

impl<'a> Reader<'a> {
    fn run(&mut self) {
        let mut scanner = Scanner::new(self.source, Dialect::Html);
        loop {
            let token_at = scanner.position();
            let Some(token) = scanner.next() else { break };
            match token {
                Token::Start { name, attributes, closed } => {
                    self.start(name, attributes, closed, scanner.position(), token_at);
                    if self.is_full() {
                        break;
                    }
                }
                Token::End { name } => self.end(name, token_at),
                Token::Text(raw) if !self.items.is_empty() && self.text.len() + raw.len() <= TEXT_BYTES_MAX => {
                    self.text.push_str(&unescape_html(raw));
                }
                _ => {}
            }
        }
        let is_cut = |open: &Open<'_>| open.is_item && !may_stay_open(open.name);
        self.too_many = self.is_full();
        self.truncated = !self.too_many && (scanner.truncated() || self.open.iter().any(is_cut));
        self.close_to(0, self.source.len());
        self.entries.truncate(ENTRIES_MAX);
    }

    /// Whether a post has begun that is one more than allowed.
    fn is_full(&self) -> bool {
        self.entries.len() >= ENTRIES_MAX && matches!(self.items.last(), Some(Item::Entry(_)))
    }

    fn start(&mut self, name: &'a str, attributes: Attributes<'a>, closed: bool, inside_from: usize, token_at: usize) {
        let kind = Kinds::of(name);
        self.imply_ends(kind, token_at);
        let stays_open = !closed && !is_void(name);
        if self.overflow > 0 || self.open.len() >= HTML_DEPTH_MAX {
            self.overflow += usize::from(stays_open);
            return;
        }
        let properties = self.properties(name, attributes);
        let item = self.item_of(name, attributes);
        let open = Open {
            name,
            inside_from,
            text_from: self.text.len(),
            properties,
            is_item: item.is_some(),
            kind,
            kinds_around: self.open_kinds().and(kind),
        };
        if !self.items.is_empty() && name.eq_ignore_ascii_case("br") {
            self.text.push('\n');
        }
        self.items.extend(item);
        self.open.push(open);
        if !stays_open {
            self.close_to(self.open.len() - 1, inside_from);
        }
    }

    /// Closes what this element closes by beginning. That nothing is open that it could close is seen at once.
    fn imply_ends(&mut self, kind: Kinds, token_at: usize) {
        let (ended, bounds) = kind.implied_ends();
        if !self.open_kinds().meets(ended) {
            return;
        }
        let found = self.open.iter().rposition(|open| open.kind.meets(ended) || open.kind.meets(bounds));
        if let Some(found) = found.filter(|found| self.open[*found].kind.meets(ended)) {
            self.close_to(found, token_at);
        }
    }

    fn open_kinds(&self) -> Kinds {
        self.open.last().map_or(Kinds::default(), |open| open.kinds_around)
    }

    /// The properties that an element is of the item around it.
    fn properties(&self, name: &str, attributes: Attributes<'a>) -> Vec<Property<'a>> {
        if self.items.is_empty() {
            return Vec::new();
        }
        let mut properties: Vec<Property<'a>> = Vec::new();
        for class in attributes.get("class").unwrap_or_default().split_ascii_whitespace() {
            let Some((prefix, property)) = class.split_once('-') else { continue };
            let is_known = properties.iter().any(|known| (known.prefix, known.name) == (prefix, property));
            if matches!(prefix, "p" | "u" | "dt" | "e") && !is_known && properties.len() < PROPERTIES_MAX {
                properties.push(Property { prefix, name: property, value: attribute_value(prefix, name, attributes) });
            }
        }
        properties
    }

    /// The item that an element begins by its class. One that is a link as a whole has its address from there.
    fn item_of(&self, name: &str, attributes: Attributes<'_>) -> Option<Item> {
        let class = attributes.get("class")?.split_ascii_whitespace().find(|class| class.starts_with("h-"))?;
        let href = || attribute_value("u", name, attributes).filter(|_| name.eq_ignore_ascii_case("a"));
        let link = || href().and_then(|href| self.link(&href));
        Some(match class {
            "h-entry" => Item::Entry(Box::new(Entry { link: link(), ..Entry::default() })),
            "h-card" => Item::Card(Person { url: link(), ..Person::default() }),
            "h-feed" => Item::Feed(Box::default()),
            _ => Item::Other,
        })
    }

    fn link(&self, href: &str) -> Option<String> {
        resolve::link(self.base.as_deref(), href, &self.budget)
    }

    fn end(&mut self, name: &str, token_at: usize) {
        if self.overflow > 0 {
            self.overflow -= 1;
            return;
        }
        if let Some(found) = self.open.iter().rposition(|open| open.name.eq_ignore_ascii_case(name)) {
            self.close_to(found, token_at);
        }
    }

    /// Closes the innermost elements until `length` are open; their inside ends at `inside_to`.
    fn close_to(&mut self, length: usize, inside_to: usize) {
        while self.open.len() > length {
            let Some(open) = self.open.pop() else { return };
            // Lent and not copied: it may be long, and all that is open around it ends with the same text.
            let mut gathered = std::mem::take(&mut self.text);
            let text = gathered.get(open.text_from..).unwrap_or_default().trim();
            let item = if open.is_item { self.items.pop() } else { None };
            match item {
                Some(item) => self.close_item(item, &open, text),
                None => {
                    for property in &open.properties {
                        self.close_property(property, text, &self.source[open.inside_from.min(inside_to)..inside_to]);
                    }
                }
            }
            if self.items.is_empty() {
                gathered.clear();
            }
            self.text = gathered;
        }
    }

    fn close_item(&mut self, item: Item, open: &Open<'_>, text: &str) {
        let in_entry = self.items.iter().any(|item| matches!(item, Item::Entry(_) | Item::Other));
        match item {
            // A post inside a post is a comment or a quote.
            // One that was cut off before its address would come back under another identity.
            Item::Entry(entry) if self.truncated && entry.link.is_none() && entry.guid.is_none() => {}
            Item::Entry(entry) if !in_entry => {
                let in_feed = self.items.iter().any(|item| matches!(item, Item::Feed(_)));
                self.entries.push((in_feed, Entry { is_cut: self.truncated, ..finish_entry(*entry, text) }));
            }
            Item::Card(mut person) => {
                let value = open.properties.iter().find_map(|property| property.value.clone());
                person.url = person.url.or_else(|| value.and_then(|href| self.link(&href)));
                person.name = person.name.or_else(|| (!text.is_empty()).then(|| short(text)));
                let is_author = open.properties.iter().any(|property| property.name == "author");
                match self.items.last_mut() {
                    Some(Item::Entry(entry)) if is_author => self.lists.push(&mut entry.authors, person),
                    Some(Item::Feed(head)) if is_author => self.lists.push(&mut head.authors, person),
                    _ => {}
                }
            }
            Item::Feed(head) => {
                self.feed.get_or_insert(*head);
            }
            Item::Entry(_) | Item::Other => {}
        }
    }

    fn close_property(&mut self, property: &Property<'_>, text: &str, inside: &str) {
        let value = property.value.as_deref().unwrap_or(text);
        let link = || resolve::link(self.base.as_deref(), value, &self.budget);
        match self.items.last_mut() {
            Some(Item::Entry(entry)) => {
                entry_property(entry, property, value, link, inside, self.base.as_ref(), &mut self.lists);
            }
            Some(Item::Card(person)) => match (property.prefix, property.name) {
                ("p", "name") => person.name = Some(short(value)),
                ("u", "url") => person.url = person.url.take().or_else(link),
                ("u" | "p", "email") => person.email = Some(value.trim_start_matches("mailto:").to_owned()),
                _ => {}
            },
            Some(Item::Feed(head)) => match (property.prefix, property.name) {
                ("p", "name") if head.title.is_none() => head.title = plain(value),
                ("p", "summary") if head.subtitle.is_none() => head.subtitle = plain(value),
                ("p", "author") if self.lists.has_capacity(&head.authors) => {
                    self.lists.push(&mut head.authors, Person { name: Some(short(value)), ..Person::default() });
                }
                ("u", "url") => head.link = head.link.take().or_else(link),
                ("u", "photo") => head.image = link().map(|href| Image { href: Some(href), ..Image::default() }),
                _ => {}
            },
            Some(Item::Other) | None => {}
        }
    }

    fn finish(mut self, page: Page, url: Option<&Url>) -> Option<Feed> {
        if self.entries.is_empty() && self.feed.is_none() {
            return None;
        }
        // A page with an h-feed says which posts are its own; one without means all of them.
        if self.entries.iter().any(|(in_feed, _)| *in_feed) {
            self.entries.retain(|(in_feed, _)| *in_feed);
        }
        let mut head = self.feed.unwrap_or_default();
        head.title = head.title.or_else(|| page.title.as_deref().and_then(plain));
        head.link = head.link.or_else(|| url.map(|url| url.as_str().to_owned()));
        head.language = page.language;
        // Links in the body may come from anyone who can write a comment.
        let in_head = || page.links.iter().filter(|link| link.in_head);
        for hub in in_head().filter(|link| link.is("hub")) {
            if !head.hubs.contains(&hub.href) {
                head.hubs.push(hub.href.clone());
            }
        }
        head.self_url = in_head().find(|link| link.is("self")).map(|link| link.href.clone());
        head.icon = in_head().find(|link| link.is("icon")).map(|link| link.href.clone());
        let warnings = self.truncated.then_some(Warning::Truncated).into_iter();
        let too_many = self.too_many.then_some(Warning::TooManyEntries);
        Some(Feed {
            version: "hfeed",
            head,
            entries: self.entries.into_iter().map(|(_, entry)| entry).collect(),
            warnings: warnings.chain(too_many).collect(),
            ..Feed::default()
        })
    }
}

/// Elements whose end tag HTML lets one leave out: open at the end of the page, they do not say that it was cut off.
fn may_stay_open(name: &str) -> bool {
    ["html", "body", "li", "p", "dd", "dt", "td", "tr"].iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The value that an element's attributes give a property, after the parsing rules of microformats2.
fn attribute_value(prefix: &str, name: &str, attributes: Attributes<'_>) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let attribute = match (prefix, name.as_str()) {
        ("u", "a" | "area" | "link") => "href",
        ("u", "img" | "audio" | "video" | "source" | "iframe") => "src",
        ("u", "object") => "data",
        ("dt", "time" | "ins" | "del") => "datetime",
        ("p" | "dt" | "u", "abbr") => "title",
        ("p" | "dt" | "u", "data" | "input") => "value",
        ("p", "img" | "area") => "alt",
        _ => return None,
    };
    attributes.get(attribute).map(|raw| htmlize::unescape_attribute(raw).trim().to_owned())
}

fn entry_property(
    entry: &mut Entry,
    property: &Property<'_>,
    value: &str,
    link: impl Fn() -> Option<String>,
    inside: &str,
    base: Option<&Arc<Url>>,
    lists: &mut ListBudget,
) {
    match (property.prefix, property.name) {
        ("p", "name") if entry.title.is_none() => entry.title = plain(value),
        ("p", "summary") if entry.summary.is_none() => entry.summary = plain(value),
        ("e", "content") if lists.has_capacity(&entry.content) => {
            // One content may stand in another, and each is a text of its own.
            let taken: usize = entry.content.iter().map(|content| content.value.len()).sum();
            let inside = inside[..inside.floor_char_boundary(TEXT_BYTES_MAX.saturating_sub(taken))].trim();
            if !inside.is_empty() {
                let content = Text { value: inside.to_owned(), kind: TextKind::Html, base: base.cloned() };
                lists.push(&mut entry.content, content);
            }
        }
        ("p", "content") if entry.content.is_empty() => entry.content.extend(plain(value)),
        ("dt", "published") => entry.published = entry.published.or_else(|| date::parse(value)),
        ("dt", "updated") => entry.updated = entry.updated.or_else(|| date::parse(value)),
        ("p" | "u", "category") if lists.has_capacity(&entry.tags) => {
            lists.push(&mut entry.tags, Tag { term: Some(short(value)), ..Tag::default() });
        }
        ("p", "author") if lists.has_capacity(&entry.authors) => {
            lists.push(&mut entry.authors, Person { name: Some(short(value)), ..Person::default() });
        }
        ("u", "uid") => entry.guid = entry.guid.take().or_else(link),
        ("u", "url") if lists.has_capacity(&entry.links) || entry.link.is_none() => {
            if let Some(href) = link().filter(|href| entry.links.iter().all(|link| link.href != *href)) {
                entry.link.get_or_insert_with(|| href.clone());
                lists.push(&mut entry.links, Link { rel: "alternate".to_owned(), href, ..Link::default() });
            }
        }
        ("u", "photo" | "video" | "audio") if lists.has_capacity(&entry.enclosures) => {
            if let Some(href) = link() {
                lists.push(&mut entry.enclosures, Enclosure { href, ..Enclosure::default() });
            }
        }
        _ => {}
    }
}

/// A post after its last property: a note has no title, whatever its first words.
fn finish_entry(mut entry: Entry, text: &str) -> Entry {
    if entry.title.is_none() && entry.content.is_empty() && entry.summary.is_none() {
        entry.title = plain(text);
    }
    if let (Some(title), Some(content)) = (&entry.title, entry.content.first()) {
        let content = plain_text(&content.value);
        if content.starts_with(&title.value) && title.value.len() > 80_usize.min(content.len() - 1) {
            entry.title = None;
        }
    }
    if entry.link.is_none() {
        entry.link = entry.guid.clone().filter(|guid| resolve::is_page(guid, false));
    }
    entry
}

fn plain(value: &str) -> Option<Text> {
    let value = one_line(value);
    (!value.is_empty()).then_some(Text { value, ..Text::default() })
}

/// A name or a category, where the element may hold the whole page.
fn short(value: &str) -> String {
    one_line(&value[..value.floor_char_boundary(TAG_BYTES_MAX)])
}

/// The words of a text with a space between each two.
fn one_line(value: &str) -> String {
    let mut line = String::new();
    for word in value.split_whitespace() {
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    line
}
