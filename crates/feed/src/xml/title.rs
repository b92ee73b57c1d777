//! Titles that name a tag: `How to use <div>` is about one, `<b>News</b>` has one.

use memchr::memchr_iter;

use crate::{
    model::TextKind,
    sanitise::{is_block, is_void, looks_like_html},
};

/// Elements that mark up words in a title.
const INLINE: [&str; 31] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "mark", "nobr", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
];

/// Elements whose inside is no text: with an end tag they are never what a title is about.
const HIDDEN: [&str; 6] = ["script", "style", "iframe", "object", "svg", "template"];

/// A title in HTML whose tags are markup, or the title as plain text if it has none.
pub(super) fn classify(title: String) -> (String, TextKind) {
    let mut out = String::with_capacity(title.len());
    let mut rest_from = 0;
    let mut open: Vec<&str> = Vec::new();
    let (mut has_markup, mut has_names) = (false, false);
    // Up to here there is nothing but markup.
    let mut markup_to = 0;
    for at in memchr_iter(b'<', title.as_bytes()) {
        let Some(tag) = Tag::at(&title, at) else { continue };
        // What was opened as markup is closed as such.
        let opened = open.iter().rposition(|name| name.eq_ignore_ascii_case(tag.name));
        let is_markup = if tag.is_end { opened.is_some() } else { tag.is_markup(&title, markup_to) };
        if let Some(opened) = opened.filter(|_| tag.is_end) {
            open.truncate(opened);
        }
        if is_markup {
            has_markup = true;
            markup_to = tag.to;
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

    /// Whether it marks up the title, of which all up to `markup_to` was judged; else the title is about it.
    fn is_markup(&self, title: &str, markup_to: usize) -> bool {
        let is = |list: &[&str]| list.iter().any(|name| name.eq_ignore_ascii_case(self.name));
        let is_apart = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let before = title[..self.from].chars().next_back();
        let after = title[self.to..].chars().next();
        if is(&["br"]) {
            // Between words it breaks a line; with spaces around it is a word.
            return self.has_attributes || self.is_closed || !(is_apart(before) && is_apart(after));
        }
        if is(&["img"]) {
            // Without a picture to show it is a word.
            return self.has_attributes && title[self.from..self.to].to_ascii_lowercase().contains("src");
        }
        let Some(inside) = self.inside(title) else {
            // An end tag may have been cut off, but then words follow at once.
            let goes_on = after.is_some_and(char::is_alphanumeric);
            return self.has_attributes && goes_on && !is_void(self.name) && !is(&HIDDEN);
        };
        if self.has_attributes || is(&HIDDEN) {
            return true;
        }
        let is_first = title.get(markup_to..self.from).is_some_and(|between| between.trim().is_empty());
        let is_around = is_first && self.is_around(title);
        // `Use <b> and </b>` has spaces where markup has none.
        let is_tight = !inside.starts_with(char::is_whitespace) || !inside.ends_with(char::is_whitespace);
        let is_alone = is_around && !inside.contains(&format!("<{}>", self.name));
        if is(&INLINE) {
            return is_tight || is_alone;
        }
        is_around || is_first && is_block(self.name) && is_tight && !inside.is_empty()
    }

    /// What is between it and its end tag, if it has one.
    fn inside(&self, title: &'t str) -> Option<&'t str> {
        let after = &title[self.to..];
        let after = &after[..after.floor_char_boundary(END_TAG_BYTES_MAX)];
        let is_end = |at: usize| {
            let named = &after[at + 2..];
            let is_named = named.get(..self.name.len()).is_some_and(|name| name.eq_ignore_ascii_case(self.name));
            is_named && !named[self.name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
        };
        after.match_indices("</").map(|(at, _)| at).find(|at| is_end(*at)).map(|at| &after[..at])
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
    fn f3_titles_keep_tags_they_name() {
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
            ("Styling <input type=\"range\"> in 2026", "Styling <input type=\"range\"> in 2026"),
            ("The <script type=\"module\"> tag", "The <script type=\"module\"> tag"),
            ("Why <details name=\"x\"> is great", "Why <details name=\"x\"> is great"),
            ("The <a href=\"x\"> of &amp; <em>it</em>", "The <a href=\"x\"> of & it"),
            ("Use <b> and </b> to make bold", "Use <b> and </b> to make bold"),
            ("<b> Loud </b>", "Loud"),
            ("<a> vs <i>x</i>: when <a> wins over </a>", "<a> vs x: when <a> wins over </a>"),
            ("<b>bold</b> title", "bold title"),
            ("<p>one</p><p>two</p>", "one two"),
            ("<h1>one</h1>\n<p>two</p> three", "one two three"),
            ("<div></div> is empty", "<div></div> is empty"),
            ("<span class=x>Cut off", "Cut off"),
            ("<img src=x alt=''> Smile <br class=x>more", "Smile more"),
            ("Use <img loading=\"lazy\"> well", "Use <img loading=\"lazy\"> well"),
            ("Math x<sup>2</sup>", "Math x2"),
            ("<lite-youtube> and <my-el a=\"b\">", "<lite-youtube> and <my-el a=\"b\">"),
        ] {
            let (value, kind) = classify(title.to_owned());
            let plain = if kind == TextKind::Plain { value.clone() } else { plain_text(&value) };
            assert_eq!(plain, shown, "{title} became {value}");
            if kind == TextKind::Html {
                assert_eq!(classify(value.clone()).0, value, "done twice: {title}");
            }
        }
    }
}
