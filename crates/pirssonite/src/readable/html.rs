//! Cuts HTML into texts and tags. It has no errors: what is no tag is text.

use std::borrow::Cow;

/// Attributes of a tag that are read.
const ATTRIBUTES_MAX: usize = 32;

pub(super) enum Token<'h> {
    Text(Cow<'h, str>),
    /// A tag with its attributes, names in lower case.
    Start(String, Vec<(String, String)>),
    End(String),
}

pub(super) struct Scanner<'h> {
    rest: &'h str,
}

impl<'h> Scanner<'h> {
    pub(super) fn new(html: &'h str) -> Self {
        Self { rest: html }
    }

    fn text_until(&mut self, end: usize) -> Token<'h> {
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        Token::Text(htmlize::unescape(text))
    }
}

impl<'h> Iterator for Scanner<'h> {
    type Item = Token<'h>;

    fn next(&mut self) -> Option<Token<'h>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let Some(inside) = self.rest.strip_prefix('<') else {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                return Some(self.text_until(end));
            };
            if inside.starts_with('!') || inside.starts_with('?') {
                self.rest = after_comment(inside);
                continue;
            }
            let (is_end, name) = inside.strip_prefix('/').map_or((false, inside), |name| (true, name));
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                // A sign of its own, as in `1 < 2`.
                let end = inside.find('<').map_or(self.rest.len(), |at| at + 1);
                return Some(self.text_until(end));
            }
            let end = name.find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/').unwrap_or(name.len());
            let (name, after) = name.split_at(end);
            let (attributes, rest) = attributes(after);
            self.rest = rest;
            let name = name.to_ascii_lowercase();
            return Some(if is_end { Token::End(name) } else { Token::Start(name, attributes) });
        }
    }
}

fn after_comment(text: &str) -> &str {
    let end = if text.starts_with("!--") { "-->" } else { ">" };
    text.find(end).map_or("", |at| &text[at + end.len()..])
}

/// The attributes of a tag, and what follows it.
fn attributes(text: &str) -> (Vec<(String, String)>, &str) {
    let (mut all, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return (all, after);
        }
        if rest.is_empty() {
            return (all, rest);
        }
        let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/');
        // A stray `=` is a name of its own.
        let end = rest.char_indices().skip(1).find(|(_, c)| is_end(*c)).map_or(rest.len(), |(at, _)| at);
        let (name, after) = rest.split_at(end);
        let (value, after) = value(after);
        if all.len() < ATTRIBUTES_MAX {
            all.push((name.to_ascii_lowercase(), htmlize::unescape_attribute(value).into_owned()));
        }
        rest = after;
    }
}

/// The value of an attribute, and what follows it.
fn value(text: &str) -> (&str, &str) {
    let Some(after) = text.trim_start().strip_prefix('=') else { return ("", text) };
    let after = after.trim_start();
    for quote in ['"', '\''] {
        if let Some(quoted) = after.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or((quoted, ""));
        }
    }
    let end = after.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(after.len());
    after.split_at(end)
}
