//! Turns character references into characters: XML's five, numbers, HTML's two thousand names, and those a document
//! declares itself.
//!
//! A reference that means nothing stays as it stands, so `AT&T` and `?a=1&b=2` survive. External entities are never
//! looked at, and declared ones have a budget, so that a small document cannot become a large text.

use std::{borrow::Cow, collections::HashMap};

use memchr::memchr;

use crate::{
    encoding::misread_utf8,
    limits::{ENTITIES_MAX, ENTITY_BYTES_MAX, ENTITY_EXPANSION_BYTES_MAX},
};

/// The longest name that HTML knows is 31 characters; declared ones are given some room.
const NAME_BYTES_MAX: usize = 64;

/// The entities that a document declares in its DTD, and what they may still add to it.
#[derive(Debug)]
pub(crate) struct Declared {
    entities: HashMap<String, String>,
    budget: usize,
    /// A DTD has been read. There can be only one.
    is_read: bool,
}

impl Declared {
    pub(crate) fn none() -> Self {
        Self { entities: HashMap::new(), budget: ENTITY_EXPANSION_BYTES_MAX, is_read: false }
    }

    /// Reads the `<!ENTITY name "value">` declarations of a DTD's internal subset.
    pub(crate) fn read(&mut self, doctype: &str) {
        if std::mem::replace(&mut self.is_read, true) {
            return;
        }
        for declaration in doctype.split("<!ENTITY").skip(1).take(ENTITIES_MAX) {
            if let Some((name, value)) = split_declaration(declaration) {
                // Only what was declared before is resolved: no entity can contain itself.
                let mut text = String::new();
                decode_into(value, self, &mut text);
                if text.len() <= ENTITY_BYTES_MAX {
                    self.entities.entry(name.to_owned()).or_insert(text);
                }
            }
        }
        self.budget = ENTITY_EXPANSION_BYTES_MAX;
    }

    /// What a declared entity stands for, while the budget lasts.
    fn expand(&mut self, name: &str) -> Option<&str> {
        let value = self.entities.get(name)?;
        self.budget = self.budget.checked_sub(value.len())?;
        Some(value)
    }
}

/// `name "value"`, but not `% name` and not `name SYSTEM "..."`.
fn split_declaration(declaration: &str) -> Option<(&str, &str)> {
    let (name, rest) = declaration.trim_start().split_once(char::is_whitespace)?;
    let rest = rest.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (value, _) = rest[1..].split_once(quote)?;
    Some((name, value))
}

/// Appends `raw` with its references resolved.
pub(crate) fn decode_into(raw: &str, declared: &mut Declared, out: &mut String) {
    let mut rest = raw;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = reference(rest, declared, out);
        if length == 0 {
            out.push('&');
            rest = &rest[1..];
        } else {
            rest = &rest[length..];
        }
    }
    out.push_str(rest);
}

/// `raw` with its references resolved.
pub(crate) fn decode(raw: &str, declared: &mut Declared) -> String {
    let mut out = String::with_capacity(raw.len());
    decode_into(raw, declared, &mut out);
    out
}

/// The references of HTML resolved, as browsers do; but bytes of UTF-8 are taken for their letter.
pub(crate) fn unescape_html(raw: &str) -> Cow<'_, str> {
    let mut joined = String::new();
    let (mut kept, mut from) = (0, 0);
    while let Some(at) = memchr(b'&', &raw.as_bytes()[from..]).map(|at| from + at) {
        from = at + 1;
        if let Some((letter, length)) = escaped_utf8(&raw[at..]) {
            joined.push_str(&raw[kept..at]);
            joined.push(letter);
            (kept, from) = (at + length, at + length);
        }
    }
    if kept == 0 {
        return htmlize::unescape(raw);
    }
    joined.push_str(&raw[kept..]);
    Cow::Owned(htmlize::unescape(joined).into_owned())
}

/// A letter whose bytes were each escaped: `&#226;&#128;&#166;`, `&acirc;&#128;&brvbar;`. Returns it with its length.
fn escaped_utf8(text: &str) -> Option<(char, usize)> {
    // Nearly all references are others.
    if !["&#2", "&#x", "&#X", "&acirc;", "&eth;"].iter().any(|start| text.starts_with(start)) {
        return None;
    }
    let (first, mut length) = escaped_byte(text)?;
    let next = || {
        let (byte, taken) = escaped_byte(text.get(length..)?)?;
        length += taken;
        Some(byte)
    };
    let letter = misread_utf8(first, next)?;
    Some((letter, length))
}

/// The character of Latin-1 that a reference at the start of `text` stands for, with the reference's length.
fn escaped_byte(text: &str) -> Option<(u8, usize)> {
    let bytes = text.as_bytes();
    let window = &bytes[..bytes.len().min(NAME_BYTES_MAX)];
    if window.starts_with(b"&#") {
        let (code, length) = code(window)?;
        return Some((u8::try_from(code).ok()?, length));
    }
    let end = memchr(b';', window)?;
    let value = std::str::from_utf8(htmlize::ENTITIES.get(&bytes[..=end])?).ok()?;
    let mut characters = value.chars();
    let byte = u8::try_from(u32::from(characters.next()?)).ok()?;
    characters.next().is_none().then_some((byte, end + 1))
}

/// Resolves the reference at the start of `text` into `out`; returns its length, or 0 if it is none.
fn reference(text: &str, declared: &mut Declared, out: &mut String) -> usize {
    let bytes = text.as_bytes();
    // The ones that make up nearly all of a feed, without a search.
    for (escape, plain) in [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"'), ("&#39;", '\'')] {
        if bytes.starts_with(escape.as_bytes()) && declared.entities.is_empty() {
            out.push(plain);
            return escape.len();
        }
    }
    let window = &bytes[..bytes.len().min(NAME_BYTES_MAX)];
    if declared.entities.is_empty()
        && let Some((letter, length)) = escaped_utf8(text)
    {
        out.push(letter);
        return length;
    }
    if let Some(b'#') = bytes.get(1) {
        return number(window, out);
    }
    let Some(end) = memchr(b';', window) else { return 0 };
    let Some(name) = text.get(1..end) else { return 0 };
    if let Some(value) = declared.expand(name) {
        out.push_str(value);
        return end + 1;
    }
    let known = htmlize::ENTITIES.get(&bytes[..=end]).and_then(|value| std::str::from_utf8(value).ok());
    match known {
        Some(value) => {
            out.push_str(value);
            end + 1
        }
        None => 0,
    }
}

/// `&#8217;`, `&#x2019;`, and `&#146;` as windows-1252, which is what those who write it mean.
fn number(bytes: &[u8], out: &mut String) -> usize {
    let Some((code, length)) = code(bytes) else { return 0 };
    out.push(match code {
        0x80..=0x9f => windows_1252(code),
        0x09 | 0x0a | 0x0d => char::from_u32(code).unwrap_or(' '),
        // XML allows no other control characters, escaped or not.
        0..=0x1f => ' ',
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    });
    length
}

/// The number of a reference that begins with `&#`, and the reference's length.
fn code(bytes: &[u8]) -> Option<(u32, usize)> {
    let (radix, digits_from) = if matches!(bytes.get(2), Some(b'x' | b'X')) { (16, 3) } else { (10, 2) };
    let digits = bytes.get(digits_from..)?.iter().take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let digits_to = digits_from + digits;
    let code = u32::from_str_radix(std::str::from_utf8(&bytes[digits_from..digits_to]).ok()?, radix).ok()?;
    Some((code, digits_to + usize::from(bytes.get(digits_to) == Some(&b';'))))
}

/// The character that windows-1252 has at a code from 0x80 to 0x9f.
pub(crate) fn windows_1252(code: u32) -> char {
    let byte = [u8::try_from(code).unwrap_or(b'?')];
    encoding_rs::WINDOWS_1252.decode_without_bom_handling(&byte).0.chars().next().unwrap_or('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f2_references_resolved_other_ampersands_kept() {
        for (raw, expect) in [
            ("a &lt;b&gt; &amp;amp; &quot;c&quot; &#39;", "a <b> &amp; \"c\" '"),
            ("&eacute;&nbsp;&hellip;", "é\u{a0}…"),
            ("AT&T &nosuchname; ?a=1&b=2", "AT&T &nosuchname; ?a=1&b=2"),
            ("&#8217;&#x2019;&#146;&#x92;", "’’’’"),
            ("&#0;&#xD800;&#99999999999;", " \u{fffd}&#99999999999;"),
            ("&", "&"),
            ("&#;&#x;&;", "&#;&#x;&;"),
            ("&#65 B", "A B"),
            ("&é;", "&é;"),
        ] {
            assert_eq!(decode(raw, &mut Declared::none()), expect, "{raw}");
        }
    }

    /// What libraries make of a page whose encoding they were not told.
    #[test]
    fn f2_escaped_bytes_of_utf_8_are_their_letter() {
        for (raw, expect) in [
            ("it&#226;&#128;&#153;s", "it’s"),
            ("it&#xE2;&#x80;&#x99;s &amp; &#226;&#128;&#166;", "it’s & …"),
            ("it&acirc;&#128;&#153;s &acirc;&#128;&brvbar;", "it’s …"),
            ("&#240;&#159;&#152;&#128;&eth;&#159;&#152;&#128;", "😀😀"),
            ("&#226;&#128; &#226;&#128;", "â€ â€"),
            ("&acirc;&#128;&#8217;", "â€’"),
            ("&acirc;&euro;&trade; &#226; &#201;&#133;", "â€™ â É…"),
        ] {
            assert_eq!(decode(raw, &mut Declared::none()), expect, "{raw}");
            assert_eq!(unescape_html(raw), expect, "{raw}");
        }
    }

    #[test]
    fn f2_declared_entities_bounded_and_never_external() {
        let mut declared = Declared::none();
        declared.read("DOCTYPE r [<!ENTITY a \"x&amp;\"><!ENTITY b '&a;&a;'><!ENTITY f SYSTEM \"file:///etc/passwd\">");
        assert_eq!(decode("&a; &b; &f;", &mut declared), "x& x&x& &f;");

        let mut bomb = Declared::none();
        let chain: String =
            (1..10).map(|n| format!("<!ENTITY a{n} \"{}\">", format!("&a{};", n - 1).repeat(10))).collect();
        bomb.read(&format!("[<!ENTITY a0 \"lol\">{chain}]"));
        assert!(decode("&a9;", &mut bomb).len() <= ENTITY_BYTES_MAX);
        let text = decode(&"&a3;".repeat(10_000), &mut bomb);
        assert!(text.len() <= ENTITY_EXPANSION_BYTES_MAX + 40_000, "{}", text.len());
    }
}
