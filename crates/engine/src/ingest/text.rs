//! Texts from strangers: bounded, without what no store takes, and plain ones as HTML.

use feed::{Entry, Text, TextKind};
use url::Url;

/// A plain text without control characters, trimmed and bounded; `None` if nothing is left.
pub(super) fn clean(text: &str, chars_max: usize) -> Option<String> {
    if text.len() <= chars_max && text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'..=b'\r')) {
        // Nothing in it is to go, as in nearly all.
        let text = text.trim();
        return (!text.is_empty()).then(|| text.to_owned());
    }
    let kept: String = text.chars().filter(|c| !c.is_control() || c.is_whitespace()).take(chars_max).collect();
    let kept = kept.trim();
    (!kept.is_empty()).then(|| kept.to_owned())
}

/// The length of the longest start of a text that has at most so many bytes and ends between two characters.
pub(super) fn cut(text: &str, bytes_max: usize) -> usize {
    if text.len() <= bytes_max {
        return text.len();
    }
    (0..=bytes_max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A text of an entry as sanitised HTML; `None` if there is nothing to show.
pub(super) fn html(entry: &Entry, text: &Text) -> Option<String> {
    let html = match text.kind {
        TextKind::Plain => plain_to_html(&text.value),
        TextKind::Html | TextKind::Xhtml => {
            feed::sanitise_in(&text.value, entry.base_of(text).as_deref(), entry.scope())
        }
    };
    (!html.trim().is_empty()).then_some(html)
}

/// Plain text as HTML that looks the same: lines stay lines, and empty lines part paragraphs.
fn plain_to_html(text: &str) -> String {
    let text = text.trim().replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.split('\n').map(str::trim).collect();
    let paragraphs: Vec<String> = lines
        .split(|line| line.is_empty())
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("<br>"))
        .collect();
    match paragraphs.as_slice() {
        [only] => only.clone(),
        several => several.iter().map(|paragraph| format!("<p>{paragraph}</p>")).collect(),
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && c != '\t' => {}
            c => out.push(c),
        }
    }
    out
}

/// An address that a page may link to. Scripts have addresses too.
pub(super) fn link_url(url: &str) -> Option<String> {
    checked_url(url, &["http", "https", "ftp", "gemini", "gopher", "mailto", "magnet"])
}

/// An address that a file may have.
pub(super) fn file_url(url: &str) -> Option<String> {
    checked_url(url, &["http", "https", "ftp", "magnet"])
}

/// The address of a page.
pub(super) fn web_url(url: &str) -> Option<String> {
    checked_url(url, &["http", "https"])
}

/// The address as it was written, if it has one of these schemes.
fn checked_url(url: &str, schemes: &[&str]) -> Option<String> {
    let text = clean(url, feed::limits::URL_BYTES_MAX)?;
    let is_fit = match plain_scheme(&text) {
        Some(scheme) => schemes.contains(&scheme),
        None => Url::parse(&text).is_ok_and(|parsed| schemes.contains(&parsed.scheme())),
    };
    is_fit.then_some(text)
}

/// The scheme of an address of the plainest kind, which nearly all are: with a host of names alone there is nothing that
/// could be wrong with it. To read the whole would take longer than all else that is done with it.
fn plain_scheme(url: &str) -> Option<&'static str> {
    let (scheme, rest) = match url.strip_prefix("https://") {
        Some(rest) => ("https", rest),
        None => ("http", url.strip_prefix("http://")?),
    };
    let host = rest.split(['/', '?', '#']).next()?;
    let is_name = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(u8::is_ascii_lowercase)
            && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
            && !label.starts_with("xn--")
    };
    (host.len() < 254 && host.split('.').all(is_name)).then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_keeps_its_lines() {
        for (text, expect) in [
            ("a", "a"),
            ("a\nb", "a<br>b"),
            ("a\r\n\r\n\r\nb\rc\n", "<p>a</p><p>b<br>c</p>"),
            ("<script>\"&\u{1}", "&lt;script&gt;&quot;&amp;"),
            ("", ""),
        ] {
            assert_eq!(plain_to_html(text), expect, "{text:?}");
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((cut("aä", 2), cut("aä", 3), cut("aä", 9), cut("", 0)), (1, 3, 3, 0));
        assert_eq!(clean(" a\0b\u{1}c ", 9).as_deref(), Some("abc"));
        assert_eq!(clean(" a\tb c\n", 9).as_deref(), Some("a\tb c"));
        assert_eq!(clean("  abc", 3).as_deref(), Some("a"));
        assert_eq!(clean("äöü", 2).as_deref(), Some("äö"));
        assert_eq!(clean("\0 ", 9), None);
    }

    #[test]
    fn plain_addresses_are_what_they_are_when_read() {
        for (url, expect) in [
            ("https://example.org/blog/1?a=b#c", Some("https")),
            ("http://e.org", Some("http")),
            ("http://e.org?q", Some("http")),
            ("https://a-b.c1/ä %", Some("https")),
            ("https://localhost/", Some("https")),
            ("http://e.org:80/", None),
            ("http://1.2.3.4/", None),
            ("http://a.1/", None),
            ("http://a..b/", None),
            ("http:///a", None),
            ("http://u@e.org/", None),
            ("http://E.org/", None),
            ("http://xn--a/", None),
            ("HTTP://e.org/", None),
            ("ftp://e.org/", None),
        ] {
            assert_eq!(plain_scheme(url), expect, "{url}");
            if let Some(scheme) = expect {
                assert_eq!(Url::parse(url).unwrap().scheme(), scheme, "{url}");
            }
        }
    }

    #[test]
    fn only_addresses_that_lead_somewhere_are_kept() {
        for (url, link, file, web) in [
            ("https://e.org/a b", true, true, true),
            ("mailto:a@e.org", true, false, false),
            ("javascript:x", false, false, false),
            ("data:text/html,x", false, false, false),
            ("/relative", false, false, false),
        ] {
            assert_eq!(
                (link_url(url).is_some(), file_url(url).is_some(), web_url(url).is_some()),
                (link, file, web),
                "{url}"
            );
        }
    }
}
