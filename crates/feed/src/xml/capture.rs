//! One value while it is being read: its text, the markup in it, and what its attributes say of it.

use std::{borrow::Cow, sync::Arc};

use base64::Engine;
use url::Url;

use super::{Element, roles::Field, title};
use crate::{
    entity::{Declared, decode, decode_into},
    limits::TEXT_BYTES_MAX,
    model::{Text, TextKind},
    namespace::Namespace,
    resolve::{self, LinkBudget},
    sanitise::{escape_into, has_control_characters, is_control, is_void, looks_like_html},
};

/// A value while it is being read.
#[derive(Debug)]
pub(super) struct Capture<'a> {
    pub(super) field: Field,
    pub(super) value: String,
    pub(super) declared: Kind,
    pub(super) namespace: Namespace,
    /// The attributes that some values have: `href`, `url`, `isPermaLink`, `term`, ...
    pub(super) attributes: Vec<(&'static str, Cow<'a, str>)>,
    pub(super) base: Option<Arc<Url>>,
    /// Elements stood in it.
    has_markup: bool,
    /// It was longer than allowed.
    pub(super) cut: bool,
}

/// What values were written into that are done with: an entry has ten or twenty of them, one after the other.
#[derive(Debug, Default)]
pub(super) struct Buffers<'a> {
    value: String,
    attributes: Vec<(&'static str, Cow<'a, str>)>,
}

impl<'a> Buffers<'a> {
    /// Takes back what a value was written into, unless that has become large.
    pub(super) fn reclaim(&mut self, capture: Capture<'a>) {
        let Capture { mut value, mut attributes, .. } = capture;
        attributes.clear();
        self.attributes = attributes;
        if (1..=BUFFER_BYTES_MAX).contains(&value.capacity()) {
            value.clear();
            self.value = value;
        }
    }
}

/// Bytes of a value whose place is used again.
const BUFFER_BYTES_MAX: usize = 4096;

/// What a value says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: what it looks like decides.
    Unsaid,
    Plain,
    Html,
    /// Markup as elements of the feed itself.
    Xhtml,
    Base64,
    /// A kind of data that is no text.
    Binary,
}

impl Kind {
    /// By Atom's `type` and, in Atom 0.3, `mode`.
    fn declared(kind: Option<&str>, mode: Option<&str>) -> Self {
        let kind = kind.map(|kind| kind.trim().to_ascii_lowercase());
        match mode.map(str::to_ascii_lowercase).as_deref() {
            Some("base64") => return Self::Base64,
            Some("xml") if kind.as_deref() != Some("text/plain") => return Self::Xhtml,
            _ => {}
        }
        match kind.as_deref() {
            None | Some("") => Self::Unsaid,
            Some("text" | "plain" | "text/plain") => Self::Plain,
            Some("html" | "text/html") => Self::Html,
            Some("xhtml" | "application/xhtml+xml" | "text/xhtml") => Self::Xhtml,
            Some(other) if other.starts_with("text/") => Self::Plain,
            Some(other) if other.ends_with("+xml") || other.ends_with("/xml") => Self::Xhtml,
            Some(other) if other.contains('/') => Self::Binary,
            Some(_) => Self::Unsaid,
        }
    }
}

/// What a text may have beyond twice its bytes without being moved to a place of its size.
const SPARE_BYTES_MAX: usize = 256;

/// The attributes that a value may have; others are not read.
const ATTRIBUTES: [&str; 18] = [
    "href",
    "url",
    "rel",
    "type",
    "title",
    "hreflang",
    "length",
    "term",
    "scheme",
    "label",
    "domain",
    "ispermalink",
    "src",
    "medium",
    "width",
    "height",
    "text",
    "resource",
];

impl<'a> Capture<'a> {
    pub(super) fn new(
        field: Field,
        element: &Element<'a, '_>,
        declared: &mut Declared,
        buffers: &mut Buffers<'a>,
    ) -> Self {
        let mut attributes = std::mem::take(&mut buffers.attributes);
        attributes.extend(element.attributes.iter().filter_map(|(name, raw)| {
            let local = name.bytes().rposition(|byte| byte == b':').map_or(name, |colon| &name[colon + 1..]);
            let known = ATTRIBUTES.iter().find(|known| known.eq_ignore_ascii_case(local))?;
            let value = match memchr::memchr(b'&', raw.as_bytes()) {
                None => Cow::Borrowed(raw.trim()),
                Some(_) => Cow::Owned(decode(raw, declared).trim().to_owned()),
            };
            Some((*known, value))
        }));
        let declared = match element.namespace {
            Namespace::Xhtml => Kind::Xhtml,
            _ if element.attributes.is_empty() || !field.holds_markup() => Kind::Unsaid,
            _ => Kind::declared(element.attributes.get("type"), element.attributes.get("mode")),
        };
        Self {
            field,
            // A text keeps what it is written into.
            value: if field.holds_markup() { String::new() } else { std::mem::take(&mut buffers.value) },
            declared,
            namespace: element.namespace,
            attributes,
            base: element.base.cloned(),
            has_markup: false,
            cut: false,
        }
    }

    /// An attribute's value, if it is there and not empty.
    pub(super) fn attribute(&self, wanted: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| value.as_ref())
            .filter(|value| !value.is_empty())
    }

    /// A link in it, made absolute.
    pub(super) fn link(&self, href: &str, budget: &LinkBudget) -> Option<String> {
        resolve::link(self.base.as_deref(), href, budget)
    }

    /// Adds text. Inside inline markup it stays escaped, because there an escaped `<` is a character and no tag.
    pub(super) fn push(&mut self, raw: &str, is_cdata: bool, in_markup: bool, declared: &mut Declared) {
        let before = self.value.len();
        // End tags are written even where there is no more room.
        let budget = TEXT_BYTES_MAX.saturating_sub(before);
        // An escaped character takes up to ten times the room that it needs decoded; CDATA has none.
        let raw = bounded(raw, if is_cdata { budget } else { budget.saturating_mul(10) }, &mut self.cut);
        match (is_cdata, self.declared == Kind::Xhtml, in_markup) {
            (true, true, _) => escape_into(raw, &mut self.value),
            (true, false, _) | (false, true, _) | (false, false, true) => self.value.push_str(raw),
            (false, false, false) => {
                self.value.reserve(raw.len());
                decode_into(raw, declared, &mut self.value);
            }
        }
        if self.value.len() > TEXT_BYTES_MAX {
            let end = self.value.floor_char_boundary(TEXT_BYTES_MAX);
            self.value.truncate(end);
            self.cut = true;
        }
    }

    /// Takes an element over as HTML; false if there is no room.
    pub(super) fn open_tag(&mut self, element: &Element<'_, '_>) -> bool {
        self.has_markup = true;
        let before = self.value.len();
        let is_whole = self.write_tag(element);
        if !is_whole {
            self.value.truncate(before);
            self.cut = true;
        }
        is_whole
    }

    /// Writes a start tag; false if it is too long, and then not all of it.
    fn write_tag(&mut self, element: &Element<'_, '_>) -> bool {
        self.value.push('<');
        self.value.push_str(element.local);
        for (name, value) in element.attributes.iter().filter(|(name, _)| !name.starts_with("xmlns")) {
            self.value.push(' ');
            self.value.push_str(name);
            self.value.push_str("=\"");
            // Only a value in single quotes can hold double ones.
            for (index, part) in value.split('"').enumerate() {
                if self.value.len() + part.len() > TEXT_BYTES_MAX {
                    return false;
                }
                self.value.push_str(if index > 0 { "&quot;" } else { "" });
                self.value.push_str(part);
            }
            self.value.push('"');
        }
        self.value.push('>');
        self.value.len() <= TEXT_BYTES_MAX
    }

    pub(super) fn close_tag(&mut self, local: &str) {
        if !is_void(local) {
            self.value.push_str("</");
            self.value.push_str(local);
            self.value.push('>');
        }
    }

    /// The value as one line of plain text: names, dates, links.
    pub(super) fn word(&self) -> Option<&str> {
        let value = self.value.trim();
        (!value.is_empty()).then_some(value)
    }

    /// The value as a text with its kind, or `None` if it is empty. It is gone afterwards.
    pub(super) fn take_text(&mut self) -> Option<Text> {
        if matches!(self.declared, Kind::Base64 | Kind::Binary) {
            self.decode_base64()?;
        }
        // Atom's titles are plain unless they say otherwise (RFC 4287, 3.1.1), and `<b>` may be what one is about. Its
        // contents are too, but there whoever forgets the type means HTML.
        if self.declared == Kind::Unsaid && self.namespace == Namespace::Atom && self.field == Field::Title {
            self.declared = Kind::Plain;
        }
        let kind = match self.declared {
            Kind::Plain if !self.has_markup => TextKind::Plain,
            Kind::Html => TextKind::Html,
            Kind::Xhtml => TextKind::Xhtml,
            _ if self.has_markup || looks_like_html(&self.value) => TextKind::Html,
            _ => TextKind::Plain,
        };
        if kind == TextKind::Xhtml {
            self.strip_wrapper();
        }
        if kind == TextKind::Html && !self.has_markup {
            unescape_twice_escaped(&mut self.value);
        }
        let is_title = matches!(self.field, Field::Title | Field::OtherTitle);
        let (value, kind) = match tidy(std::mem::take(&mut self.value)) {
            title if is_title && kind == TextKind::Html && !self.has_markup => title::classify(title),
            value => (value, kind),
        };
        (!value.is_empty()).then_some(Text { value, kind, base: self.base.take() })
    }

    fn decode_base64(&mut self) -> Option<()> {
        let compact: String = self.value.split_ascii_whitespace().collect();
        let bytes = base64::engine::general_purpose::STANDARD_NO_PAD.decode(compact.trim_end_matches('=')).ok()?;
        self.value = String::from_utf8(bytes).ok()?;
        self.declared = Kind::Unsaid;
        Some(())
    }

    /// Atom wraps XHTML in a `<div>` that is no part of it.
    fn strip_wrapper(&mut self) {
        let inside = self.value.trim().strip_prefix("<div>").and_then(|rest| rest.strip_suffix("</div>"));
        if let Some(inside) = inside.filter(|inside| !inside.contains("<div")) {
            self.value = inside.to_owned();
        }
    }
}

/// As much of a text as still has room.
fn bounded<'a>(raw: &'a str, end: usize, cut: &mut bool) -> &'a str {
    if raw.len() <= end {
        return raw;
    }
    *cut = true;
    &raw[..raw.floor_char_boundary(end)]
}

/// `&lt;p&gt;...&lt;/p&gt;` where `<p>...</p>` is meant: HTML that was escaped once too often.
fn unescape_twice_escaped(value: &mut String) {
    let trimmed = value.trim();
    let wrapped = trimmed.starts_with("&lt;") && trimmed.ends_with("&gt;") && !trimmed.contains('<');
    if wrapped {
        let mut once = String::with_capacity(value.len());
        decode_into(trimmed, &mut Declared::none(), &mut once);
        if once.contains("</") || once.ends_with("/>") {
            *value = once;
        }
    }
}

/// Takes the white space around a text, and the control characters in it: XML has none, and PostgreSQL takes no NUL.
fn tidy(mut value: String) -> String {
    value.truncate(value.trim_end().len());
    let leading = value.len() - value.trim_start().len();
    if leading > 0 {
        value.drain(..leading);
    }
    if has_control_characters(value.as_bytes()) {
        value.retain(|c| !c.is_ascii() || !is_control(c as u8));
    }
    // Kept as long as its entry is, and so is what it was given and did not need.
    if value.capacity() > 2 * value.len() + SPARE_BYTES_MAX {
        value.shrink_to_fit();
    }
    value
}
