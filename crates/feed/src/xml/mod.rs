//! Walks an XML feed from its first tag to its last and hands what it finds to [`Build`].
//!
//! The walk keeps the open elements, so it knows where it is however the tags are nested, and it repairs what is wrong:
//! an end tag closes all that was opened inside it, one that closes nothing is passed over, an entry that begins inside
//! another ends it, and what is open at the end is closed.

mod build;
mod capture;
mod roles;
mod title;
mod values;

use std::sync::Arc;

use url::Url;

use self::{
    build::Build,
    roles::{Role, Scope, begins_entry, begins_feed, role},
};
use crate::{
    entity::{Declared, decode},
    limits::XML_DEPTH_MAX,
    model::{Feed, Warning},
    namespace::{Bindings, Namespace},
    scan::{Attributes, Dialect, Scanner, Token},
};

/// Reads an XML feed, or returns `None` if the document holds none.
pub(crate) fn read(text: &str, base: Option<Arc<Url>>) -> Option<Feed> {
    let mut walk = Walk {
        scanner: Scanner::new(text, Dialect::Xml),
        open: Vec::with_capacity(16),
        overflow: 0,
        bindings: Bindings::default(),
        bases: Vec::new(),
        build: Build::new(base, text.len()),
    };
    walk.run();
    walk.build.finish()
}

struct Walk<'a> {
    scanner: Scanner<'a>,
    open: Vec<Open<'a>>,
    /// How many elements are open beyond the depth limit.
    overflow: usize,
    bindings: Bindings<'a>,
    /// The `xml:base`s in force, innermost last. Without one, links stay as they are until all is read.
    bases: Vec<Arc<Url>>,
    build: Build<'a>,
}

/// An element that has been opened and not closed yet.
struct Open<'a> {
    name: &'a str,
    local: &'a str,
    role: Role,
    outside: Declarations,
}

/// How many namespaces and bases are in force.
#[derive(Debug, Clone, Copy)]
struct Declarations {
    bindings: usize,
    bases: usize,
}

/// An element at its start tag, as [`Build`] sees it.
pub(super) struct Element<'a, 'w> {
    namespace: Namespace,
    local: &'a str,
    attributes: Attributes<'a>,
    base: Option<&'w Arc<Url>>,
}

impl Element<'_, '_> {
    /// An attribute's value, decoded and trimmed, if it is there and not empty.
    fn attribute(&self, declared: &mut Declared, name: &str) -> Option<String> {
        self.attributes.get(name).and_then(|raw| attribute_value(raw, declared))
    }
}

/// The value of an attribute, decoded and trimmed, if it is not empty.
fn attribute_value(raw: &str, declared: &mut Declared) -> Option<String> {
    let value = if memchr::memchr(b'&', raw.as_bytes()).is_none() {
        raw.trim().to_owned()
    } else {
        decode(raw, declared).trim().to_owned()
    };
    (!value.is_empty()).then_some(value)
}

impl<'a> Walk<'a> {
    fn run(&mut self) {
        while let Some(token) = self.scanner.next() {
            match token {
                Token::Start { name, attributes, closed } => {
                    // Cut off inside the tag: the last value may be half a link.
                    let attributes = if self.scanner.truncated() { Attributes::default() } else { attributes };
                    self.start(name, attributes, closed);
                    if self.build.is_full() {
                        self.build.warn(Warning::TooManyEntries);
                        return;
                    }
                }
                Token::End { name } => self.end(name),
                Token::Text(raw) => self.text(raw, false),
                Token::Raw(raw) => self.text(raw, true),
                Token::Doctype(doctype) if self.open.is_empty() => self.build.declared.read(doctype),
                Token::Doctype(_) | Token::Comment => {}
            }
        }
        let is_open = self.open.iter().any(|open| matches!(open.role, Role::Scope(Scope::Feed | Scope::Entry)));
        if self.scanner.truncated() || is_open {
            self.build.warn(Warning::Truncated);
            self.build.cut_off();
        }
        self.close_to(0);
    }

    fn start(&mut self, name: &'a str, attributes: Attributes<'a>, closed: bool) {
        if self.overflow > 0 || self.open.len() >= XML_DEPTH_MAX {
            self.build.warn(Warning::TooDeep);
            self.overflow += usize::from(!closed);
            return;
        }
        let mut outside = self.declarations();
        self.declare(attributes);
        let (namespace, local) = self.bindings.resolve(name);
        let open = self.open.len();
        let role = self.role_at_start(namespace, local);
        if self.open.len() < open {
            // A sibling without an end tag was closed first, and what this element declares went with it.
            outside = self.declarations();
            self.declare(attributes);
        }
        let element = Element { namespace, local, attributes, base: self.bases.last() };
        let role = match role {
            Role::Scope(scope) => {
                self.build.open_scope(scope, &element);
                role
            }
            Role::Field(field) => {
                let is_wanted = self.build.open_field(field, &element);
                if !is_wanted && !closed && self.scanner.skip_value(name) {
                    self.undeclare(outside);
                    return;
                }
                role
            }
            Role::Inline { .. } => Role::Inline { shown: self.build.open_inline(&element) },
            Role::Ignored => role,
        };
        self.open.push(Open { name, local, role, outside });
        if closed {
            self.close_to(self.open.len() - 1);
        }
    }

    fn declarations(&self) -> Declarations {
        Declarations { bindings: self.bindings.len(), bases: self.bases.len() }
    }

    /// Takes note of the namespaces and of the `xml:base` that a tag declares.
    fn declare(&mut self, attributes: Attributes<'a>) {
        if attributes.mention("xml") {
            for (attribute, value) in attributes.iter().filter(|(attribute, _)| attribute.starts_with("xml")) {
                if attribute == "xml:base" {
                    self.bases.extend(self.build.rebase(self.bases.last(), value));
                } else {
                    self.bindings.declare(attribute, value);
                }
            }
        }
    }

    /// Forgets what was declared inside.
    fn undeclare(&mut self, outside: Declarations) {
        self.bindings.truncate(outside.bindings);
        self.bases.truncate(outside.bases);
    }

    /// What an element that begins here means; first closes what it cannot be inside of.
    fn role_at_start(&mut self, namespace: Namespace, local: &str) -> Role {
        let mut lower = [0; 24];
        let lower = lower_case(local, &mut lower);
        if begins_entry(namespace, lower) {
            self.close_unfinished_entry();
        } else if begins_feed(namespace, lower) && !self.in_feed() {
            self.build.discard_entry();
            self.close_to(0);
        }
        match self.open.last().map(|open| open.role) {
            Some(Role::Ignored) => Role::Ignored,
            Some(Role::Inline { .. }) => Role::Inline { shown: false },
            Some(Role::Field(field)) => {
                let as_sibling = role(self.scope(), namespace, lower);
                // `<guid>1<pubDate>...`: a value without markup that meets its sibling has lost its end tag.
                let forgotten_end = match as_sibling {
                    Role::Ignored => false,
                    _ if field.holds_markup() => matches!(lower, "pubdate" | "guid" | "description" | "encoded"),
                    _ => true,
                };
                if forgotten_end && namespace != Namespace::Xhtml {
                    self.close_to(self.open.len() - 1);
                    self.build.warn(Warning::MismatchedTags);
                    return as_sibling;
                }
                Role::Inline { shown: false }
            }
            Some(Role::Scope(_)) | None => role(self.scope(), namespace, lower),
        }
    }

    fn in_feed(&self) -> bool {
        self.open.iter().any(|open| open.role == Role::Scope(Scope::Feed))
    }

    /// Before an entry begins: ends the one before it if that is still open, and anything in the head that is.
    fn close_unfinished_entry(&mut self) {
        let feed = self.open.iter().rposition(|open| open.role == Role::Scope(Scope::Feed));
        if let Some(feed) = feed
            && feed + 1 < self.open.len()
        {
            self.build.warn(Warning::MismatchedTags);
            self.close_to(feed + 1);
        }
    }

    fn end(&mut self, name: &str) {
        let closes = |open: &Open<'_>| open.name.eq_ignore_ascii_case(name);
        if self.overflow > 0 {
            let outer = self
                .open
                .iter()
                .rposition(|open| !matches!(open.role, Role::Inline { .. } | Role::Ignored) && closes(open));
            match outer {
                None => self.overflow -= 1,
                Some(outer) => {
                    self.overflow = 0;
                    self.close_to(outer);
                }
            }
            return;
        }
        // Nearly every end tag is that of the element on top, to the letter.
        let is_on_top = self.open.last().is_some_and(|open| open.name == name);
        let found = if is_on_top { Some(self.open.len() - 1) } else { self.open.iter().rposition(closes) };
        match found {
            Some(found) => {
                if found + 1 < self.open.len() {
                    self.build.warn(Warning::MismatchedTags);
                }
                self.close_to(found);
            }
            None => self.build.warn(Warning::MismatchedTags),
        }
    }

    /// Closes the innermost elements until `length` are open.
    fn close_to(&mut self, length: usize) {
        while self.open.len() > length {
            let Some(open) = self.open.pop() else { return };
            self.undeclare(open.outside);
            match open.role {
                Role::Scope(scope) => self.build.close_scope(scope),
                Role::Field(_) => {
                    let scope = self.scope();
                    self.build.close_field(scope);
                }
                Role::Inline { shown: true } => self.build.close_inline(open.local),
                Role::Inline { shown: false } | Role::Ignored => {}
            }
        }
    }

    fn text(&mut self, raw: &str, is_cdata: bool) {
        match self.open.last().map(|open| open.role) {
            Some(Role::Field(_)) => self.build.text(raw, is_cdata, false),
            Some(Role::Inline { .. }) => self.build.text(raw, is_cdata, true),
            Some(Role::Scope(scope)) if scope.keeps_loose_text() => self.build.loose_text(raw, is_cdata),
            _ => {}
        }
    }

    /// The innermost scope that counts.
    fn scope(&self) -> Scope {
        self.open
            .iter()
            .rev()
            .find_map(|open| match open.role {
                Role::Scope(scope) if !scope.is_transparent() => Some(scope),
                _ => None,
            })
            .unwrap_or(Scope::Document)
    }
}

/// A name in lower case without an allocation; one that is longer than any known name is known by no name.
fn lower_case<'b>(name: &'b str, buffer: &'b mut [u8]) -> &'b str {
    if !name.bytes().fold(false, |found, byte| found | byte.is_ascii_uppercase()) {
        return name;
    }
    let Some(buffer) = buffer.get_mut(..name.len()) else { return "" };
    buffer.copy_from_slice(name.as_bytes());
    buffer.make_ascii_lowercase();
    std::str::from_utf8(buffer).unwrap_or_default()
}
