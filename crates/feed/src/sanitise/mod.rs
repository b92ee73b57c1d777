//! Makes HTML from strangers fit to be shown: only known elements and attributes come out, every text and value is
//! escaped, links are absolute and lead somewhere, and all that is opened is closed.
//!
//! It works on tags, not on a tree. Rebuilding a tree as browsers do is quadratic in depth, and thirty kilobytes of
//! unclosed `<font>` before many paragraphs become a hundred megabytes, because each paragraph opens all of them again.
//! Here time and memory are linear in the input. That is safe because of what [`policy`] keeps and where [`nesting`]
//! lets it stand: a browser builds just the tree that the tags say, so it sees what was written, in the box it was
//! written into, and nothing else.

mod anchors;
mod attributes;
mod ends;
mod formula;
mod frames;
mod nesting;
mod picture;
mod players;
mod policy;
mod text;
mod value;

use url::Url;

use self::{
    anchors::Anchors,
    attributes::{Value, attribute},
    ends::{implied_end_sets, is_void_kept},
    formula::{Fence, PREVIEW, Preview, is_fenced, is_tex},
    frames::{Frame, MARK, PendingObject},
    picture::{Lazy, Picture, is_tracking_pixel},
    policy::{Kept, MATH_EMPTY, MATHML, Treatment, treatment},
    value::unescaped,
};
pub use self::{anchors::Scope, text::plain_text};
pub(crate) use self::{
    ends::is_void,
    policy::Kinds,
    text::{is_block, looks_like_html},
};
use crate::{
    entity::unescape_html,
    limits::TEXT_BYTES_MAX,
    model::{Entry, Head, Text, TextKind},
    resolve::{self, LinkBudget},
    scan::{Attributes, Dialect, Scanner, Token},
};

/// HTML that is safe to show on a page of its own or as part of another. Relative links become absolute by `base`.
///
/// Done twice it changes nothing more.
///
/// ```
/// assert_eq!(feed::sanitise("<p onclick=x>Hi<script>alert(1)</script>", None), "<p>Hi</p>");
/// ```
pub fn sanitise(html: &str, base: Option<&Url>) -> String {
    sanitise_in(html, base, Scope::default())
}

/// HTML that is safe to show beside that of other entries: its ids, and the links to them, are the scope's own.
pub fn sanitise_in(html: &str, base: Option<&Url>, scope: Scope) -> String {
    let mut sanitiser = Sanitiser {
        out: String::with_capacity(html.len() + html.len() / 16),
        is_cut: false,
        open: Vec::new(),
        counts: [0; 128],
        set: 0,
        overflow: 0,
        dropping: None,
        raw: Raw::Nothing,
        fences: Vec::new(),
        preview: None,
        pending_frame: None,
        objects: Vec::new(),
        shown: 0,
        in_noscript: false,
        in_attribute: false,
        last: Last::Text,
        anchors: Anchors::new(scope),
        base,
        budget: LinkBudget::of(html.len()),
    };
    Scanner::new(html, Dialect::Html).for_each(|token| sanitiser.token(token));
    sanitiser.close_to(0);
    sanitiser.anchors.finish(sanitiser.out)
}

struct Sanitiser<'b> {
    out: String,
    /// There is no room for what comes next, and so for nothing behind it.
    is_cut: bool,
    /// What is open in the output, innermost last.
    open: Vec<Kept>,
    /// How often each is open, and the set of those that are.
    counts: [u8; 128],
    set: u128,
    /// How many elements are open beyond the depth limit.
    overflow: usize,
    dropping: Option<Dropping>,
    /// What is in the element just opened, if that is no markup.
    raw: Raw,
    /// The `<mfenced>`s that are open, innermost last.
    fences: Vec<Fence>,
    /// The last preview of a formula.
    preview: Option<Preview>,
    pending_frame: Option<Frame>,
    /// The `<object>`s that are open, innermost last.
    objects: Vec<PendingObject>,
    /// How many texts, pictures and players were written.
    shown: usize,
    in_noscript: bool,
    /// What is read stood in an attribute.
    in_attribute: bool,
    last: Last,
    anchors: Anchors,
    base: Option<&'b Url>,
    /// What making links absolute may still add.
    budget: LinkBudget,
}

/// Inside an element that goes with all that is in it.
struct Dropping {
    name: String,
    /// How often it is open.
    depth: usize,
    /// Browsers leave a drawing at the first block: so that one left open does not hide the rest.
    ends_at_block: bool,
    /// It ends where a block ends that is around it.
    ends_with_block: bool,
}

impl Dropping {
    fn all(name: &str) -> Self {
        Self { name: name.to_ascii_lowercase(), depth: 1, ends_at_block: false, ends_with_block: false }
    }

    fn until_block(name: &str) -> Self {
        Self { ends_at_block: true, ..Self::all(name) }
    }

    fn in_block(name: &str) -> Self {
        Self { ends_with_block: true, ..Self::until_block(name) }
    }
}

/// What an element holds whose inside is no markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Raw {
    /// Nothing to show: a script, a style.
    Nothing,
    /// What is shown as it is (`<xmp>`, `<plaintext>`).
    Text,
    /// A formula in TeX.
    Tex,
}

/// What a person sees right before the place that is written at.
#[derive(Debug, PartialEq, Eq)]
enum Last {
    Text,
    Picture(Picture),
    /// What stands in for a frame, by where it leads.
    Frame(String),
    Math,
}

impl Sanitiser<'_> {
    fn token(&mut self, token: Token<'_>) {
        self.is_cut |= self.out.len() > TEXT_BYTES_MAX;
        match token {
            _ if self.is_cut => {}
            Token::Start { name, attributes, closed } => {
                let treatment = treatment(name);
                self.raw = if treatment == Treatment::Unwrap { Raw::Text } else { Raw::Nothing };
                self.start(name, treatment, attributes, closed);
            }
            Token::End { name } => self.end(name),
            Token::Text(raw) if self.dropping.is_none() => self.write_text(&unescape_html(raw)),
            Token::Raw(raw) if self.pending_frame.is_some() => self.frame_inside(raw),
            Token::Raw(raw) if self.raw == Raw::Tex => self.tex(raw),
            Token::Raw(raw) if self.raw == Raw::Text && self.dropping.is_none() => self.write_text(raw),
            Token::Text(_) | Token::Raw(_) | Token::Doctype(_) | Token::Comment => {}
        }
    }

    fn start(&mut self, name: &str, treatment: Treatment, attributes: Attributes<'_>, closed: bool) {
        if let Some(dropping) = &mut self.dropping {
            if dropping.name.eq_ignore_ascii_case(name) {
                dropping.depth += usize::from(!closed);
                return;
            }
            let is_block =
                matches!(treatment, Treatment::Keep(kept) if implied_end_sets(kept).0 != 0 && kept != Kept::A);
            if !is_block || !dropping.ends_at_block {
                return;
            }
            self.dropping = None;
        }
        let is_again = self.is_formula_again(name, attributes);
        if is_again || is_hidden(treatment, attributes) {
            if !closed && !is_void(name) {
                self.dropping = Some(if is_again { Dropping::in_block(name) } else { Dropping::all(name) });
            }
            return;
        }
        match treatment {
            Treatment::Unwrap => self.in_noscript |= name.eq_ignore_ascii_case("noscript"),
            // Beside a formula it says the same again.
            Treatment::Drop if self.last != Last::Math && !self.in_attribute && is_tex(name, attributes) => {
                self.raw = Raw::Tex;
            }
            Treatment::Drop if is_void(name) || closed || name.eq_ignore_ascii_case("frame") => {}
            Treatment::Drop => self.dropping = Some(Dropping::until_block(name)),
            Treatment::Frame => self.frame(name, attributes, closed),
            Treatment::Keep(Kept::A) if attributes.mention(MARK) && self.marked_link(attributes) => {}
            Treatment::Keep(Kept::MROW) if is_fenced(name) => self.fenced(attributes, closed),
            Treatment::Keep(kept) => self.keep(kept, attributes, closed),
        }
    }

    fn keep(&mut self, kept: Kept, attributes: Attributes<'_>, closed: bool) {
        if kept == Kept::MATH {
            self.drop_preview();
        }
        if !self.make_way(kept) {
            return;
        }
        let void = is_void_kept(kept);
        if !void && self.is_full(kept) {
            self.overflow += 1;
            return;
        }
        if kept.is_in(MATHML) {
            self.separate();
        }
        let before = self.out.len();
        self.out.push('<');
        self.out.push_str(kept.name());
        match kept.name() {
            "img" => return self.picture(before, attributes),
            name => {
                let has_source = self.attributes(name, attributes);
                if matches!(name, "source" | "track") && (!has_source || self.is_cut) {
                    return self.out.truncate(before);
                }
            }
        }
        self.out.push('>');
        self.shown += usize::from(matches!(kept.name(), "audio" | "video"));
        if !void {
            if attributes.mention(PREVIEW) {
                self.preview = Some(Preview::new(before, self.open.len(), self.shown));
            }
            self.opened(kept);
            // What holds nothing is closed at once, however it is written, as is `<mrow/>` in a formula.
            if kept.is_in(MATH_EMPTY) || closed && kept.is_in(MATHML) {
                self.close_to(self.open.len() - 1);
            }
        }
    }

    /// Writes the rest of a picture whose tag begins at `from`, unless there is nothing to show or it stands already.
    fn picture(&mut self, from: usize, attributes: Attributes<'_>) {
        let has_source = self.attributes("img", attributes);
        let has_words = attributes.get("alt").is_some();
        if is_tracking_pixel(attributes) || self.is_cut {
            return self.out.truncate(from);
        }
        if !has_source && !has_words {
            // There is nothing to show but a broken picture.
            self.last = Last::Text;
            return self.out.truncate(from);
        }
        self.out.push('>');
        let url = written(&self.out[from..], "src").unwrap_or_default().to_owned();
        let mut picture = Picture {
            from,
            to: self.out.len(),
            is_placeholder: url.starts_with("data:") && written(&self.out[from..], "srcset").is_none(),
            url,
            is_lazy: attributes.mention("data-"),
            in_noscript: self.in_noscript,
        };
        if self.is_shown_already(&picture) {
            return self.out.truncate(from);
        }
        let tag_bytes = picture.to - picture.from;
        picture.to = self.out.len();
        picture.from = picture.to - tag_bytes;
        self.last = Last::Picture(picture);
        self.shown += 1;
    }

    /// Writes the attributes that may stay; returns whether one of them is a file to show.
    fn attributes(&mut self, element: &'static str, attributes: Attributes<'_>) -> bool {
        let mut written = Vec::new();
        let mut has_source = false;
        let is_media = matches!(element, "img" | "source" | "audio" | "video");
        let mut lazy = if is_media { self.lazy(element, attributes) } else { Lazy::default() };
        let has_id = element == "a" && attributes.get("id").is_some();
        for (name, raw) in attributes.iter() {
            // Before there were ids, links led to names.
            let name = if element == "a" && !has_id && name.eq_ignore_ascii_case("name") { "id" } else { name };
            let Some((name, check)) = attribute(element, name) else { continue };
            // The first of two counts, as in browsers.
            if written.contains(&name) {
                continue;
            }
            let value = unescaped(raw);
            if name == "href" && element == "a" && self.defer_link(&value) {
                written.push(name);
                continue;
            }
            let better = lazy.better(name);
            if better.is_none() && name == "srcset" && lazy.is_found && value.trim_start().starts_with("data:") {
                continue;
            }
            if let Some(value) = better.or_else(|| self.checked(check, &value)) {
                written.push(name);
                has_source |= matches!(check, Value::Resource | Value::ResourceSet) && name != "poster";
                self.attribute(name, &value);
            }
        }
        for (name, value) in [("src", lazy.src), ("srcset", lazy.srcset)] {
            if let Some(value) = value.filter(|_| attribute(element, name).is_some() && !written.contains(&name)) {
                has_source = true;
                self.attribute(name, &value);
            }
        }
        if matches!(element, "audio" | "video") && !written.contains(&"controls") {
            self.attribute("controls", "");
        }
        has_source
    }

    /// Puts a link off that may lead to a place in this text; whether it did.
    fn defer_link(&mut self, href: &str) -> bool {
        let href = resolve::strip(href);
        self.anchors.defer(self.out.len(), &href, self.base, &self.budget)
    }

    fn attribute(&mut self, name: &str, value: &str) {
        let before = self.out.len();
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        if self.escape(value) {
            self.out.push('"');
        } else {
            // Half a link is a wrong link.
            self.out.truncate(before);
        }
    }

    /// Writes a text or a value as far as there is room; whether that is all of it.
    fn escape(&mut self, text: &str) -> bool {
        let is_whole = escape_up_to(TEXT_BYTES_MAX, text, &mut self.out);
        self.is_cut |= !is_whole;
        is_whole
    }

    fn end(&mut self, name: &str) {
        if let Some(dropping) = &mut self.dropping {
            if dropping.name.eq_ignore_ascii_case(name) {
                dropping.depth -= 1;
                if dropping.depth == 0 {
                    self.dropping = None;
                }
                return;
            }
            if !(dropping.ends_with_block && is_block(name)) {
                return;
            }
            self.dropping = None;
        }
        match treatment(name) {
            Treatment::Keep(kept) if !is_void_kept(kept) && !kept.is_in(MATH_EMPTY) => self.end_kept(kept),
            Treatment::Frame if name.eq_ignore_ascii_case("object") => self.object_ended(),
            Treatment::Unwrap if name.eq_ignore_ascii_case("noscript") => self.in_noscript = false,
            _ => {}
        }
    }
}

/// A form or an element of a script that is hidden has nothing to show before somebody presses something.
fn is_hidden(treatment: Treatment, attributes: Attributes<'_>) -> bool {
    treatment == Treatment::Unwrap && attributes.get("hidden").is_some()
}

/// The value of an attribute in a tag that was written here.
fn written<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let (_, value) = tag.split_once(&format!(" {name}=\""))?;
    value.split('"').next()
}

/// Whether there are characters that no page shows. Looked for in blocks without a way out of them, which the compiler
/// turns into a few wide instructions.
pub(crate) fn has_control_characters(bytes: &[u8]) -> bool {
    bytes.chunks(256).any(|block| block.iter().fold(false, |found, byte| found | is_control(*byte)))
}

pub(crate) fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t' && byte != b'\n' && byte != b'\r') || byte == 0x7f
}

/// Appends a text so that HTML reads it as just that. Control characters, which no page shows, go.
pub(crate) fn escape_into(text: &str, out: &mut String) {
    escape_up_to(usize::MAX, text, out);
}

/// The same until there are so many bytes; false if not all of it was written.
fn escape_up_to(bytes_max: usize, text: &str, out: &mut String) -> bool {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escaped = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            _ if is_control(byte) => "",
            _ => continue,
        };
        if out.len() + (at - from) + escaped.len() > bytes_max {
            push_up_to(bytes_max, &text[from..at], out);
            return false;
        }
        out.push_str(&text[from..at]);
        out.push_str(escaped);
        from = at + 1;
    }
    push_up_to(bytes_max, &text[from..], out)
}

/// Appends a text until there are so many bytes; false if not all of it was written.
fn push_up_to(bytes_max: usize, text: &str, out: &mut String) -> bool {
    let end = text.floor_char_boundary(bytes_max.saturating_sub(out.len()));
    out.push_str(&text[..end]);
    end == text.len()
}

impl Text {
    /// Makes the text fit to be shown: HTML is sanitised, plain text stays as it is and must be escaped where shown.
    fn sanitise(&mut self, base: Option<&Url>, scope: Scope) {
        if self.kind != TextKind::Plain {
            self.value = sanitise_in(&self.value, self.base.as_deref().or(base), scope);
        }
    }

    /// The text without markup, for titles and for programs.
    pub fn to_plain(&self) -> String {
        match self.kind {
            TextKind::Plain => self.value.split_whitespace().collect::<Vec<_>>().join(" "),
            TextKind::Html | TextKind::Xhtml => plain_text(&self.value),
        }
    }
}

impl Entry {
    /// Makes all its texts fit to be shown.
    pub fn sanitise(&mut self) {
        let (base, scope) = (self.base_of(&Text::default()), self.scope());
        let Self { title, summary, content, subtitle, rights, source, .. } = self;
        let boxed = subtitle.iter_mut().chain(rights).map(AsMut::as_mut);
        let source = source.iter_mut().filter_map(|source| source.title.as_mut());
        let texts = title.iter_mut().chain(summary).chain(content).chain(boxed).chain(source);
        texts.for_each(|text| text.sanitise(base.as_deref(), scope));
    }
}

impl Head {
    /// Makes all its texts fit to be shown.
    pub fn sanitise(&mut self) {
        let Self { title, subtitle, rights, .. } = self;
        title.iter_mut().chain(subtitle).chain(rights).for_each(|text| text.sanitise(None, Scope::default()));
    }
}

#[cfg(test)]
mod tests;
