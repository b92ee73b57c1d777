//! HTML and plain text: which of them something is, and the one made of the other.

use std::cell::LazyCell;

use memchr::{memchr2, memmem};

use super::{
    ends::{implied_ends, is_void},
    policy::{Fate, Kept, MATHML, fate},
};
use crate::scan::{Dialect, Scanner, Token};

/// HTML as plain text: no tags, references resolved, white space folded. For titles and for programs.
pub fn plain_text(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut raw_is_text = false;
    for token in Scanner::new(html, Dialect::Html) {
        match token {
            Token::Start { name, .. } => {
                raw_is_text = matches!(fate(name), Fate::Unwrap);
                if !implied_ends(name).0.is_empty() || name.eq_ignore_ascii_case("br") {
                    text.push(' ');
                }
            }
            Token::Text(raw) => text.push_str(&htmlize::unescape(raw)),
            Token::Raw(raw) if raw_is_text => text.push_str(raw),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text whose kind nobody states is HTML: it holds a tag or a reference that HTML knows.
pub(crate) fn looks_like_html(text: &str) -> bool {
    let last_end_tag = LazyCell::new(|| memmem::rfind(text.as_bytes(), b"</").unwrap_or_default());
    let mut rest = text;
    while let Some(at) = memchr2(b'<', b'&', rest.as_bytes()) {
        rest = &rest[at..];
        let may_end = || text.len() - rest.len() <= *last_end_tag;
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
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let (name, after) = name.split_at(end);
    let followed = after.starts_with(|c: char| c == '>' || c == '/' || c.is_ascii_whitespace());
    let is_known = match fate(name) {
        // A `<none>` or an `<mi>` is rather a word in brackets than a formula.
        Fate::Keep(kept) => !kept.is_in(MATHML) || kept == Kept::MATH,
        Fate::Frame if name == "object" => true,
        // "How to write <script>" is about one. Where it has attributes or an end, it is one.
        Fate::Drop | Fate::Frame => !after.starts_with('>') || is_void(name) || may_end(),
        Fate::Unwrap => is_void(name) || matches!(name, "form" | "body" | "head" | "html"),
    };
    followed && is_known
}
