//! HTML and plain text: which of them something is, and the one made of the other.

use std::cell::LazyCell;

use memchr::{memchr2, memmem};

use super::{
    ends::{implied_ends, is_void},
    policy::{Kept, MATHML, Treatment, treatment},
};
use crate::{
    entity::unescape_html,
    scan::{Dialect, Scanner, Token},
};

/// HTML as plain text: no tags, references resolved, white space folded, nothing that is hidden. For titles and for
/// programs.
pub fn plain_text(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut raw_is_text = false;
    let mut hidden: Option<Hidden<'_>> = None;
    for token in Scanner::new(html, Dialect::Html) {
        if let Some(inside) = &mut hidden {
            if inside.goes_on(&token) {
                continue;
            }
            hidden = None;
        }
        match token {
            Token::Start { name, attributes, closed } => {
                raw_is_text = matches!(treatment(name), Treatment::Unwrap);
                if parts_words(name) || name.eq_ignore_ascii_case("a") {
                    text.push(' ');
                }
                if !closed && !is_void(name) && attributes.get("hidden").is_some() {
                    hidden = Some(Hidden { name, inside: Vec::new() });
                }
            }
            Token::End { name } if parts_words(name) => text.push(' '),
            Token::Text(raw) => text.push_str(&unescape_html(raw)),
            Token::Raw(raw) if raw_is_text => text.push_str(raw),
            _ => {}
        }
    }
    with_single_spaces(text)
}

/// A text without white space around it, and one space where there was any in it.
fn with_single_spaces(text: String) -> String {
    if !text.is_ascii() {
        return text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let mut bytes = text.into_bytes();
    let mut after_space = true;
    bytes.retain_mut(|byte| {
        let is_space = matches!(byte, b'\t'..=b'\r' | b' ');
        let stays = !(is_space && after_space);
        after_space = is_space;
        if is_space {
            *byte = b' ';
        }
        stays
    });
    if bytes.last() == Some(&b' ') {
        bytes.pop();
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Whether a browser begins a new line or box at the tags of an element, so that no word goes on across them.
fn parts_words(name: &str) -> bool {
    const INLINE: [&str; 8] = ["blink", "data", "label", "nobr", "output", "rb", "rtc", "slot"];
    match treatment(name) {
        Treatment::Keep(_) => {
            is_block(name) || ["br", "caption"].iter().any(|parting| parting.eq_ignore_ascii_case(name))
        }
        // Word writes `<o:p>` into its lines.
        Treatment::Unwrap => !name.contains(':') && !INLINE.iter().any(|inline| inline.eq_ignore_ascii_case(name)),
        Treatment::Drop | Treatment::Frame => true,
    }
}

/// Whether an element begins a line of its own.
pub(crate) fn is_block(name: &str) -> bool {
    !implied_ends(name).0.is_empty() && !name.eq_ignore_ascii_case("a")
}

/// Blocks that are looked at inside what is hidden.
const HIDDEN_DEPTH_MAX: usize = 256;

/// Inside an element that no browser shows.
struct Hidden<'a> {
    name: &'a str,
    /// What is open in it: blocks, and elements of its own name.
    inside: Vec<&'a str>,
}

impl<'a> Hidden<'a> {
    /// Whether it goes on behind this token: it ends at its end tag, at what ends it by beginning, and where a block
    /// ends that is around it.
    fn goes_on(&mut self, token: &Token<'a>) -> bool {
        match *token {
            Token::Start { name, closed, .. } => {
                let ended = implied_ends(name).0;
                if self.inside.is_empty() && ended.iter().any(|ended| ended.eq_ignore_ascii_case(self.name)) {
                    return false;
                }
                // A paragraph has no end tag for sure, and nothing around it to end.
                let counts = self.name.eq_ignore_ascii_case(name) || is_block(name) && !name.eq_ignore_ascii_case("p");
                if counts && !closed && !is_void(name) && self.inside.len() < HIDDEN_DEPTH_MAX {
                    self.inside.push(name);
                }
                true
            }
            Token::End { name } => match self.inside.iter().rposition(|open| open.eq_ignore_ascii_case(name)) {
                Some(opened) => {
                    self.inside.truncate(opened);
                    true
                }
                None => !(self.name.eq_ignore_ascii_case(name) || is_block(name) && !name.eq_ignore_ascii_case("p")),
            },
            _ => true,
        }
    }
}

/// Whether a text whose kind nobody states is HTML: it holds a tag or a reference that HTML knows.
pub(crate) fn looks_like_html(text: &str) -> bool {
    let last_end_tag = LazyCell::new(|| memmem::rfind(text.as_bytes(), b"</").unwrap_or_default());
    let mut rest = text;
    while let Some(at) = memchr2(b'<', b'&', rest.as_bytes()) {
        rest = &rest[at..];
        let may_end = || text.len() - rest.len() < *last_end_tag;
        let is_html = if rest.starts_with('&') { starts_with_reference(rest) } else { starts_with_tag(rest, may_end) };
        if is_html {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

fn starts_with_reference(text: &str) -> bool {
    let window = &text.as_bytes()[..text.len().min(34)];
    memchr::memchr(b';', window).is_some_and(|end| match window[1] {
        b'#' => window[2..end].iter().all(u8::is_ascii_alphanumeric) && end > 2,
        _ => htmlize::ENTITIES.contains_key(&window[..=end]),
    })
}

fn starts_with_tag(text: &str, may_end: impl Fn() -> bool) -> bool {
    if text.starts_with("<!--") {
        return true;
    }
    let name = text[1..].trim_start_matches('/');
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != ':').unwrap_or(name.len());
    let (name, after) = name.split_at(end);
    let followed = after.starts_with(|c: char| c == '>' || c == '/' || c.is_ascii_whitespace());
    let is_known = match treatment(name) {
        // A `<none>` or an `<mi>` is rather a word in brackets than a formula.
        Treatment::Keep(kept) => !kept.is_in(MATHML) || kept == Kept::MATH,
        Treatment::Frame if name == "object" => true,
        // "How to write <script>" is about one. Where it has attributes or an end, it is one.
        Treatment::Drop | Treatment::Frame => !after.starts_with('>') || is_void(name) || may_end(),
        Treatment::Unwrap if is_custom(name) => may_end(),
        Treatment::Unwrap => is_void(name) || matches!(name, "form" | "body" | "head" | "html"),
    };
    followed && is_known
}

/// Whether a name is one that pages give to elements of their own.
fn is_custom(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.contains('-') && !name.contains(':')
}
