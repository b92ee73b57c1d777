//! Cuts a document into tags and text, XML or HTML, and never fails.
//!
//! What feeds contain is not XML but what people believe XML to be, so this scanner has no errors: a `<` that opens
//! nothing is text, a tag ends where the next one begins, and what is still open at the end is reported as truncation.
//! Every byte is looked at a bounded number of times: a search that found nothing is never repeated.
//!
//! Nothing is copied and nothing decoded here: tokens are slices of the document.

mod attributes;

use memchr::{memchr, memmem};

pub(crate) use self::attributes::Attributes;

/// A piece of a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    Start {
        name: &'a str,
        attributes: Attributes<'a>,
        /// Written as `<name/>`.
        closed: bool,
    },
    End {
        name: &'a str,
    },
    /// Text with its references (`&amp;`) still in it.
    Text(&'a str),
    /// Text without references: a CDATA section, or the inside of `<script>` and its like.
    Raw(&'a str),
    /// The inside of `<!DOCTYPE ...>`.
    Doctype(&'a str),
    /// A comment or a processing instruction.
    Comment,
}

/// Whose rules a document follows where they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Xml,
    Html,
}

/// Hands out the tokens of a document in order.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each remembers one search that need not be repeated")]
pub(crate) struct Scanner<'a> {
    source: &'a str,
    at: usize,
    dialect: Dialect,
    /// In HTML, the element whose inside is raw text, just opened.
    raw_until: Option<&'a str>,
    /// The document ended inside a tag, a comment or a CDATA section.
    truncated: bool,
    /// A quote of this kind was searched for and there is none any more.
    no_double_quote: bool,
    no_single_quote: bool,
    /// A DTD was searched for its end and had none.
    no_doctype_end: bool,
    instruction_end: NextPlace,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(source: &'a str, dialect: Dialect) -> Self {
        Self {
            source,
            at: 0,
            dialect,
            raw_until: None,
            truncated: false,
            no_double_quote: false,
            no_single_quote: false,
            no_doctype_end: false,
            instruction_end: NextPlace { text: b"?>", next: None, searched: false },
        }
    }

    /// Where the next token begins.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn truncated(&self) -> bool {
        self.truncated
    }

    /// Passes over the rest of an element just opened if only text stands in it; whether it did.
    pub(crate) fn skip_value(&mut self, name: &str) -> bool {
        let rest = &self.source[self.at..];
        let Some(text_to) = memchr(b'<', rest.as_bytes()) else { return false };
        let end_tag = rest[text_to..].strip_prefix("</").and_then(|rest| rest.strip_prefix(name));
        let is_ended = end_tag.is_some_and(|rest| rest.starts_with('>'));
        if is_ended {
            self.at += text_to + name.len() + "</>".len();
        }
        is_ended
    }

    fn bytes(&self) -> &'a [u8] {
        self.source.as_bytes()
    }

    fn take(&mut self, end: usize) -> &'a str {
        let piece = &self.source[self.at..end];
        self.at = end;
        piece
    }

    fn take_rest(&mut self) -> &'a str {
        self.truncated = true;
        self.take(self.source.len())
    }

    /// Text up to the next `<` that opens a tag.
    fn text(&mut self) -> Token<'a> {
        let bytes = self.bytes();
        let mut end = self.at;
        loop {
            match memchr(b'<', &bytes[end..]) {
                None => break end = bytes.len(),
                Some(offset) if opens_markup(&bytes[end + offset..]) => break end += offset,
                Some(offset) => end += offset + 1,
            }
        }
        Token::Text(self.take(end))
    }

    /// The inside of an HTML element that holds no markup, up to its end tag.
    fn raw_text(&mut self, name: &str) -> Token<'a> {
        let bytes = self.bytes();
        let mut from = self.at;
        while let Some(offset) = memmem::find(&bytes[from..], b"</") {
            let candidate = from + offset + 2;
            let end = candidate + name.len();
            if bytes.get(candidate..end).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())) {
                return Token::Raw(self.take(from + offset));
            }
            from = candidate;
        }
        Token::Raw(self.take_rest())
    }

    fn start_tag(&mut self) -> Token<'a> {
        let name_from = self.at + 1;
        let name_to = name_from + name_length(&self.bytes()[name_from..]);
        let attributes_to = self.tag_end(name_to);
        if self.truncated && self.dialect == Dialect::Html {
            // Browsers drop it: half a link is a wrong link.
            return Token::Comment;
        }
        let name = &self.source[name_from..name_to];
        let mut inside = &self.source[name_to..attributes_to];
        let closed = inside.ends_with('/');
        if closed {
            inside = &inside[..inside.len() - 1];
        }
        if self.dialect == Dialect::Html && is_raw_text_element(name) {
            self.raw_until = Some(name);
        }
        Token::Start { name, attributes: Attributes::new(inside), closed }
    }

    fn end_tag(&mut self) -> Token<'a> {
        let name_from = self.at + 2;
        let name_to = name_from + name_length(&self.bytes()[name_from..]);
        self.tag_end(name_to);
        Token::End { name: &self.source[name_from..name_to] }
    }

    /// Moves behind the tag and returns where its inside ends. A tag that is never closed ends before the next `<`.
    fn tag_end(&mut self, from: usize) -> usize {
        let bytes = self.bytes();
        let mut at = from;
        let mut after_equals = false;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'>' => {
                    self.at = at + 1;
                    return at;
                }
                // In HTML `<p <b>` is one odd tag; in XML a tag inside a tag is a forgotten `>`.
                b'<' if self.dialect == Dialect::Xml => {
                    self.at = at;
                    return at;
                }
                b'=' => after_equals = true,
                b'"' | b'\'' if after_equals => {
                    after_equals = false;
                    at = self.quote_end(at, byte).unwrap_or(at);
                }
                byte if byte.is_ascii_whitespace() => {}
                _ => after_equals = false,
            }
            at += 1;
        }
        self.truncated = true;
        self.at = bytes.len();
        bytes.len()
    }

    /// Where the quote that opens at `at` closes, unless it is a lone one.
    fn quote_end(&mut self, at: usize, quote: u8) -> Option<usize> {
        let known_missing = if quote == b'"' { &mut self.no_double_quote } else { &mut self.no_single_quote };
        if *known_missing {
            return None;
        }
        let rest = &self.source.as_bytes()[at + 1..];
        let found = match self.dialect {
            Dialect::Html => memchr(quote, rest),
            // XML allows no `<` in a value: a quote left open must not swallow the tags behind it.
            Dialect::Xml => memchr::memchr2(quote, b'<', rest),
        };
        match found {
            None => {
                *known_missing = true;
                None
            }
            Some(offset) if rest[offset] == quote => Some(at + 1 + offset),
            Some(_) => None,
        }
    }

    fn comment(&mut self) -> Token<'a> {
        let inside = &self.bytes()[self.at + 4..];
        let length = match self.dialect {
            Dialect::Xml => memmem::find(inside, b"-->").map(|offset| offset + 3),
            Dialect::Html => html_comment_length(inside),
        };
        match length {
            Some(length) => self.at += 4 + length,
            None => drop(self.take_rest()),
        }
        Token::Comment
    }

    /// A section that never ends goes to the end of the document, whatever seems to follow it: one could write an entry's
    /// content so that it ends there, and what comes next would count as the feed's.
    fn cdata(&mut self) -> Token<'a> {
        self.at += CDATA_OPEN.len();
        match memmem::find(&self.bytes()[self.at..], b"]]>") {
            Some(offset) => {
                let inside = self.take(self.at + offset);
                self.at += 3;
                Token::Raw(inside)
            }
            None => Token::Raw(self.take_rest()),
        }
    }

    fn doctype(&mut self) -> Token<'a> {
        if self.no_doctype_end {
            self.skip_past_bracket();
            return Token::Comment;
        }
        let bytes = self.bytes();
        let from = self.at + 2;
        let mut depth = 0usize;
        let mut quote = None;
        for (offset, &byte) in bytes[from..].iter().enumerate() {
            match (byte, quote) {
                (byte, Some(open)) => quote = Some(open).filter(|open| *open != byte),
                (b'"' | b'\'', None) if depth > 0 => quote = Some(byte),
                (b'[', None) => depth += 1,
                (b']', None) => depth = depth.saturating_sub(1),
                (b'>', None) if depth == 0 => {
                    self.at = from + offset + 1;
                    return Token::Doctype(&self.source[from..from + offset]);
                }
                _ => {}
            }
        }
        // A subset that never ends: only its first line is skipped, so that the feed behind it is still read.
        self.no_doctype_end = true;
        self.skip_past_bracket();
        Token::Comment
    }

    fn instruction(&mut self) -> Token<'a> {
        let end = self.instruction_end.find(self.source, self.at).filter(|_| self.dialect == Dialect::Xml);
        match end {
            Some(end) if !self.is_tag_before(end) => self.at = end + 2,
            _ => self.skip_past_bracket(),
        }
        Token::Comment
    }

    /// Whether what begins here ends like a tag, and another tag begins behind it: `<?xml version="1.0"><rss>`.
    fn is_tag_before(&self, end: usize) -> bool {
        let inside = &self.bytes()[self.at + 1..end];
        memchr(b'>', inside).is_some_and(|closed| memchr(b'<', inside).is_some_and(|opened| closed < opened))
    }

    fn skip_past_bracket(&mut self) {
        match memchr(b'>', &self.bytes()[self.at..]) {
            Some(offset) => self.at += offset + 1,
            None => drop(self.take_rest()),
        }
    }

    fn bang(&mut self) -> Token<'a> {
        let rest = &self.bytes()[self.at..];
        if rest.starts_with(b"<!--") {
            self.comment()
        } else if self.dialect == Dialect::Xml && rest.starts_with(CDATA_OPEN) {
            self.cdata()
        } else if rest.get(2..9).is_some_and(|word| word.eq_ignore_ascii_case(b"doctype")) {
            self.doctype()
        } else {
            self.skip_past_bracket();
            Token::Comment
        }
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if let Some(name) = self.raw_until.take() {
            return Some(self.raw_text(name));
        }
        let rest = &self.bytes()[self.at..];
        if rest.is_empty() {
            return None;
        }
        if !opens_markup(rest) {
            return Some(self.text());
        }
        Some(match rest[1] {
            b'!' => self.bang(),
            b'?' => self.instruction(),
            b'/' => self.end_tag(),
            _ => self.start_tag(),
        })
    }
}

const CDATA_OPEN: &[u8] = b"<![CDATA[";

/// The next place of a text. Once found, it is not searched for again until it has been passed.
#[derive(Debug)]
struct NextPlace {
    text: &'static [u8],
    next: Option<usize>,
    searched: bool,
}

impl NextPlace {
    /// The first place from `from` on, which never goes back.
    fn find(&mut self, source: &str, from: usize) -> Option<usize> {
        if !self.searched || self.next.is_some_and(|next| next < from) {
            self.next = memmem::find(&source.as_bytes()[from..], self.text).map(|offset| from + offset);
            self.searched = true;
        }
        self.next
    }
}

/// Whether these bytes begin with `<` and something that makes it a tag.
fn opens_markup(bytes: &[u8]) -> bool {
    match bytes {
        // `<!` and `<?` before anything else are what someone wrote about a feed, not in it.
        [b'<', b'!', byte, ..] => byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'['),
        [b'<', b'?', byte, ..] => byte.is_ascii_alphabetic(),
        [b'<', b'/', byte, ..] | [b'<', byte, ..] => starts_name(*byte),
        _ => false,
    }
}

/// How long the rest of a comment is in HTML, behind its `<!--`: `<!-->` is a whole one, and `--!>` ends one too.
fn html_comment_length(inside: &[u8]) -> Option<usize> {
    match inside {
        [b'>', ..] => return Some(1),
        [b'-', b'>', ..] => return Some(2),
        _ => {}
    }
    let mut ends = memmem::find_iter(inside, b"--").map(|at| (at + 2, &inside[at + 2..]));
    let end_of = |(at, rest): (usize, &[u8])| match rest {
        [b'>', ..] => Some(at + 1),
        // The places found do not overlap: `--->` ends as well.
        [b'!' | b'-', b'>', ..] => Some(at + 2),
        [b'-', b'!', b'>', ..] => Some(at + 3),
        _ => None,
    };
    ends.find_map(end_of)
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b':' || byte >= 0x80
}

fn name_length(bytes: &[u8]) -> usize {
    /// Looked up and not compared: every byte of every name is asked.
    const ENDS_NAME: [bool; 256] = {
        let mut ends = [false; 256];
        let enders = b" \t\n\r\x0c>/<=\"'";
        let mut at = 0;
        while at < enders.len() {
            ends[enders[at] as usize] = true;
            at += 1;
        }
        ends
    };
    bytes.iter().position(|byte| ENDS_NAME[usize::from(*byte)]).unwrap_or(bytes.len())
}

/// Elements whose inside HTML does not parse as markup.
fn is_raw_text_element(name: &str) -> bool {
    const RAW: [&str; 9] =
        ["script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp", "plaintext"];
    (3..=9).contains(&name.len()) && RAW.iter().any(|raw| raw.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(source: &str, dialect: Dialect) -> String {
        Scanner::new(source, dialect)
            .map(|token| match token {
                Token::Start { name, attributes, closed } => {
                    let list: String = attributes.iter().map(|(name, value)| format!(" {name}={value}")).collect();
                    format!("<{name}{list}{}>", if closed { "/" } else { "" })
                }
                Token::End { name } => format!("</{name}>"),
                Token::Text(text) => format!("[{text}]"),
                Token::Raw(text) => format!("{{{text}}}"),
                Token::Doctype(text) => format!("!{text}!"),
                Token::Comment => "#".to_owned(),
            })
            .collect()
    }

    #[test]
    fn f2_xml_tokens_of_malformed_documents() {
        for (source, expect) in [
            ("<a b='1' c=\"2\">x</a>", "<a b=1 c=2>[x]</a>"),
            ("<a/><b />", "<a/><b/>"),
            ("1 < 2 <b>&lt;</b>", "[1 < 2 ]<b>[&lt;]</b>"),
            ("<<<", "[<<<]"),
            ("<a><![CDATA[<b>]]>y</a>", "<a>{<b>}[y]</a>"),
            ("<a><![CDATA[<b>", "<a>{<b>}"),
            ("<a><!-- <b> -->y", "<a>#[y]"),
            ("<a><!--> --!> -->y", "<a>#[y]"),
            ("<?xml version='1.0'?><a>", "#<a>"),
            ("<!DOCTYPE r [<!ENTITY a \"]>\">]><r>", "!DOCTYPE r [<!ENTITY a \"]>\">]!<r>"),
            ("<![if x]>y", "#[y]"),
            ("<?xml v='1'><a>?>", "#<a>[?>]"),
            ("<?php $a->b ?><a>", "#<a>"),
            ("<a><![CDATA[</item><![CDATA[x]]>y", "<a>{</item><![CDATA[x}[y]"),
            ("<br <p>x", "<br><p>[x]"),
            ("<a href=\"x>y</a><b c=\"d\">", "<a href=x>[y]</a><b c=d>"),
            ("<a b=c/d e>", "<a b=c/d e=>"),
            ("<a b='it''s'>", "<a b=it 's'=>"),
            ("<a =x>y", "<a =x=>[y]"),
            ("x<", "[x<]"),
            ("</>y", "[</>y]"),
        ] {
            assert_eq!(show(source, Dialect::Xml), expect, "{source}");
        }
    }

    #[test]
    fn f3_html_tokens_differ_from_xml() {
        for (source, expect) in [
            ("<script>a<b</SCRIPT>c", "<script>{a<b}</SCRIPT>[c]"),
            ("<title>a<b", "<title>{a<b}"),
            ("<img alt='a<b'>", "<img alt=a<b>"),
            ("<![CDATA[x]]>y", "#[y]"),
            ("<p <b>", "<p <b=>"),
            ("x<a href='http://e", "[x]#"),
            ("<!-->a-->b", "#[a-->b]"),
            ("<!--->a", "#[a]"),
            ("<!---->a", "#[a]"),
            ("<!-- a --!>b", "#[b]"),
            ("<!-- a --->b<!-- c ---!>d", "#[b]#[d]"),
            ("<!-- a -- b --! c > --> d", "#[ d]"),
            ("<!-- a ->b", "#"),
        ] {
            assert_eq!(show(source, Dialect::Html), expect, "{source}");
        }
    }

    #[test]
    fn f2_truncation_detected() {
        for (source, expect) in
            [("<a>", false), ("<a", true), ("<!-- x", true), ("<![CDATA[x", true), ("x", false), ("<a b='", true)]
        {
            let mut scanner = Scanner::new(source, Dialect::Xml);
            while scanner.next().is_some() {}
            assert_eq!(scanner.truncated(), expect, "{source}");
        }
    }
}
