//! Titles that name a tag: `How to use <div>` is about one, `<b>News</b>` has one.

use memchr::memchr_iter;

use crate::{
    model::TextKind,
    sanitise::{is_void, looks_like_html},
};

/// Elements that mark up words in a title.
const INLINE: [&str; 31] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "mark", "nobr", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
];

/// Elements whose inside is no text: with an end tag they are never what a title is about.
const HIDDEN: [&str; 6] = ["script", "style", "iframe", "object", "svg", "template"];

/// A title in HTML whose tags are markup, or the title as plain text if it has none.
pub(super) fn settle(title: String) -> (String, TextKind) {
    let mut out = String::with_capacity(title.len());
    let mut rest_from = 0;
    let mut open: Vec<&str> = Vec::new();
    let (mut has_markup, mut has_names) = (false, false);
    for at in memchr_iter(b'<', title.as_bytes()) {
        let Some(tag) = Tag::at(&title, at) else { continue };
        // What was opened as markup is closed as such.
        let opened = open.iter().rposition(|name| name.eq_ignore_ascii_case(tag.name));
        let is_markup = if tag.is_end { opened.is_some() } else { tag.is_markup(&title) };
        if let Some(opened) = opened.filter(|_| tag.is_end) {
            open.truncate(opened);
        }
        if is_markup {
            has_markup = true;
            if !tag.is_end && !is_void(tag.name) && open.len() < OPEN_MAX {
                open.push(tag.name);
            }
        } else {
            has_names = true;
            out.push_str(&title[rest_from..at]);
            out.push_str("&lt;");
            rest_from = at + 1;
        }
    }
    if !has_names {
        return (title, TextKind::Html);
    }
    if !has_markup && !looks_like_html(&title.replace('<', " ")) {
        return (title, TextKind::Plain);
    }
    out.push_str(&title[rest_from..]);
    (out, TextKind::Html)
}

/// Elements that are open in a title; what is opened beyond them is closed by nothing.
const OPEN_MAX: usize = 16;

/// How far the end tag of an element is looked for: no title that is meant to be read is longer.
const END_TAG_BYTES_MAX: usize = 1024;

struct Tag<'t> {
    name: &'t str,
    is_end: bool,
    has_attributes: bool,
    is_closed: bool,
    from: usize,
    to: usize,
}

impl<'t> Tag<'t> {
    /// The tag that begins here, if one does.
    fn at(title: &'t str, from: usize) -> Option<Self> {
        let after = &title[from + 1..];
        let is_end = after.starts_with('/');
        let inside = after.strip_prefix('/').unwrap_or(after);
        let name_end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(inside.len());
        let (name, tail) = inside.split_at(name_end);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let tail = &tail[..tail.floor_char_boundary(END_TAG_BYTES_MAX)];
        let end = tail.find('>')?;
        let attributes = tail[..end].trim();
        let to = from + 1 + usize::from(is_end) + name_end + end + 1;
        let is_closed = attributes.ends_with('/');
        Some(Self { name, is_end, has_attributes: attributes.contains('='), is_closed, from, to })
    }

    fn is_markup(&self, title: &str) -> bool {
        let is = |list: &[&str]| list.iter().any(|name| name.eq_ignore_ascii_case(self.name));
        if self.has_attributes {
            return true;
        }
        if is(&["br"]) {
            // Between words it breaks a line; with spaces around it is a word.
            let is_apart = |c: Option<char>| c.is_none_or(char::is_whitespace);
            let before = title[..self.from].chars().next_back();
            return self.is_closed || !(is_apart(before) && is_apart(title[self.to..].chars().next()));
        }
        let ends = self.ends(title);
        ends && (is(&INLINE) || is(&HIDDEN) || title[..self.from].trim().is_empty() && self.is_around(title))
    }

    /// Whether it has an end tag.
    fn ends(&self, title: &str) -> bool {
        let after = &title[self.to..];
        let after = &after[..after.floor_char_boundary(END_TAG_BYTES_MAX)];
        after.match_indices("</").any(|(at, _)| {
            after[at + 2..].get(..self.name.len()).is_some_and(|name| name.eq_ignore_ascii_case(self.name))
        })
    }

    /// Whether its end tag is the end of the title.
    fn is_around(&self, title: &str) -> bool {
        let last = title.trim_end().strip_suffix('>').and_then(|title| title.rsplit("</").next());
        last.is_some_and(|name| name.trim().eq_ignore_ascii_case(self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitise::plain_text;

    #[test]
    fn f3_a_title_keeps_the_tags_that_it_names() {
        for (title, shown) in [
            ("How to use <div>", "How to use <div>"),
            ("The <br> element", "The <br> element"),
            ("One<br>two<br/>three", "One two three"),
            ("<b>News</b> of <i>today</i>", "News of today"),
            ("<p>Wrapped</p>", "Wrapped"),
            ("Use <div> and </div> well", "Use <div> and </div> well"),
            ("<div> or <span>?", "<div> or <span>?"),
            ("&lt;b&gt; &amp; <em>more</em> of <table>", "<b> & more of <table>"),
            ("<code>&lt;a&gt;</code> and <a>", "<a> and <a>"),
            ("<a href='x'>Link</a>", "Link"),
            ("Vec<T> &amp; <strong>Box</strong>", "Vec<T> & Box"),
            ("x<script>alert(1)</script>", "x"),
            ("How to write <script>", "How to write <script>"),
            ("1 < 2 <3", "1 < 2 <3"),
            ("a <", "a <"),
            ("</b> closes", "</b> closes"),
        ] {
            let (value, kind) = settle(title.to_owned());
            let plain = if kind == TextKind::Plain { value.clone() } else { plain_text(&value) };
            assert_eq!(plain, shown, "{title} became {value}");
            if kind == TextKind::Html {
                assert_eq!(settle(value.clone()).0, value, "done twice: {title}");
            }
        }
    }
}
