//! Makes HTML from strangers fit to be shown: only known elements and attributes come out, every text and value is
//! escaped, links are absolute and lead somewhere, and all that is opened is closed.
//!
//! It works on tags, not on a tree. Rebuilding a tree as browsers do is quadratic in depth, and thirty kilobytes of
//! unclosed `<font>` before many paragraphs become a hundred megabytes, because each paragraph opens all of them again.
//! Here time and memory are linear in the input. That is safe because of what [`policy`] keeps: no element that comes
//! out changes how a browser reads the text behind it, so a browser sees the same tags that were written, and no others.

mod policy;
mod text;

use url::Url;

use self::policy::{Fate, Kept, Value, attribute, fate, implied_end_sets, is_void_kept, may_embed, may_follow};
pub use self::text::plain_text;
pub(crate) use self::{
    policy::{implied_ends, is_void},
    text::looks_like_html,
};
use crate::{
    limits::{HTML_DEPTH_MAX, URL_BYTES_MAX},
    model::{Entry, Head, Text, TextKind},
    resolve::{self, Room},
    scan::{Attributes, Dialect, Scanner, Token},
    tracking::without_tracking,
};

/// HTML that is safe to show on a page of its own or as part of another. Relative links become absolute by `base`.
///
/// Done twice it changes nothing more.
///
/// ```
/// assert_eq!(feed::sanitise("<p onclick=x>Hi<script>alert(1)</script>", None), "<p>Hi</p>");
/// ```
pub fn sanitise(html: &str, base: Option<&Url>) -> String {
    let mut sanitiser = Sanitiser {
        out: String::with_capacity(html.len() + html.len() / 16),
        open: Vec::new(),
        counts: [0; 128],
        set: 0,
        overflow: 0,
        dropping: None,
        base,
        room: Room::of(html.len()),
    };
    let mut raw_is_text = false;
    for token in Scanner::new(html, Dialect::Html) {
        match token {
            Token::Start { name, attributes, closed } => {
                let fate = fate(name);
                raw_is_text = matches!(fate, Fate::Unwrap);
                sanitiser.start(name, fate, attributes, closed);
            }
            Token::End { name } => sanitiser.end(name),
            Token::Text(raw) => sanitiser.text(raw),
            // `<xmp>` and `<plaintext>` show what is in them; scripts and styles do not.
            Token::Raw(raw) if raw_is_text && sanitiser.dropping.is_none() => escape_into(raw, &mut sanitiser.out),
            Token::Raw(_) | Token::Doctype(_) | Token::Comment => {}
        }
    }
    sanitiser.close_to(0);
    sanitiser.out
}

struct Sanitiser<'b> {
    out: String,
    /// What is open in the output, innermost last.
    open: Vec<Kept>,
    /// How often each is open, and the set of those that are.
    counts: [u8; 128],
    set: u128,
    /// How many elements are open beyond the depth limit.
    overflow: usize,
    /// Inside an element that goes with all that is in it: its name, and how often it is open.
    dropping: Option<(String, usize)>,
    base: Option<&'b Url>,
    /// What making links absolute may still add.
    room: Room,
}

impl Sanitiser<'_> {
    fn start(&mut self, name: &str, fate: Fate, attributes: Attributes<'_>, closed: bool) {
        if let Some((dropped, depth)) = &mut self.dropping {
            if dropped.eq_ignore_ascii_case(name) {
                *depth += usize::from(!closed);
                return;
            }
            // Browsers leave a drawing or a formula at the first block: so that one left open does not hide the rest.
            let breaks_out = matches!(fate, Fate::Keep(kept) if implied_end_sets(kept).0 != 0 && kept.name() != "a");
            if !breaks_out {
                return;
            }
            self.dropping = None;
        }
        match fate {
            Fate::Unwrap => {}
            Fate::Drop if is_void(name) || closed || name.eq_ignore_ascii_case("frame") => {}
            Fate::Drop => self.dropping = Some((name.to_ascii_lowercase(), 1)),
            Fate::Frame => self.frame(attributes),
            Fate::Keep(kept) => self.keep(kept, attributes),
        }
    }

    fn keep(&mut self, kept: Kept, attributes: Attributes<'_>) {
        self.imply_ends(kept);
        let name = kept.name();
        let void = is_void_kept(kept);
        if !void && self.is_full() {
            self.overflow += 1;
            return;
        }
        if name == "img" && is_tracking_pixel(attributes) {
            return;
        }
        let before = self.out.len();
        self.out.push('<');
        self.out.push_str(name);
        let has_source = self.attributes(name, attributes);
        let has_words = name == "img" && self.has_attribute("alt");
        if matches!(name, "img" | "source" | "track") && !has_source && !has_words {
            // There is nothing to show but a broken picture.
            self.out.truncate(before);
            return;
        }
        self.out.push('>');
        if !void {
            self.open.push(kept);
            self.counts[kept.index()] += 1;
            self.set |= kept.set();
        }
    }

    /// Writes the attributes that may stay; returns whether one of them is a file to show.
    fn attributes(&mut self, element: &'static str, attributes: Attributes<'_>) -> bool {
        let mut written = Vec::new();
        let mut has_source = false;
        let mut has_controls = false;
        for (name, raw) in attributes.iter() {
            let Some((name, check)) = attribute(element, name) else { continue };
            // The first of two counts, as in browsers.
            if written.contains(&name) {
                continue;
            }
            let value = htmlize::unescape_attribute(raw);
            if let Some(value) = self.checked(check, &value) {
                written.push(name);
                has_source |= matches!(check, Value::Resource | Value::ResourceSet) && name != "poster";
                has_controls |= name == "controls";
                self.attribute(name, &value);
            }
        }
        if element == "img" && !has_source {
            has_source = self.lazy_source(attributes);
        }
        if matches!(element, "audio" | "video") && !has_controls {
            self.attribute("controls", "");
        }
        has_source
    }

    fn has_attribute(&self, name: &str) -> bool {
        let tag = self.out.rfind('<').map_or("", |at| &self.out[at..]);
        tag.contains(&format!(" {name}=\""))
    }

    /// Pictures that a script would have loaded later.
    fn lazy_source(&mut self, attributes: Attributes<'_>) -> bool {
        let lazy = ["data-src", "data-lazy-src", "data-original"].into_iter().find_map(|name| attributes.get(name));
        let url = lazy.and_then(|raw| self.checked(Value::Resource, &htmlize::unescape_attribute(raw)));
        if let Some(url) = &url {
            self.attribute("src", url);
        }
        url.is_some()
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        escape_into(value, &mut self.out);
        self.out.push('"');
    }

    /// A value that may stand, as it may stand.
    fn checked(&self, check: Value, value: &str) -> Option<String> {
        match check {
            Value::Text => Some(value.to_owned()),
            Value::Flag => Some(String::new()),
            Value::Number => {
                let value = value.trim();
                let digits = value.trim_end_matches("px").trim_end_matches('%');
                (!digits.is_empty()
                    && digits.len() < 10
                    && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
                .then(|| value.to_owned())
            }
            Value::Link => self.url(value, may_follow).map(|url| without_tracking(&url).into_owned()),
            Value::Resource if may_embed(&resolve::strip(value)) => Some(resolve::strip(value).into_owned()),
            Value::Resource => {
                self.url(value, |scheme| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
            }
            Value::ResourceSet => self.source_set(value),
        }
    }

    fn url(&self, value: &str, allowed: fn(&str) -> bool) -> Option<String> {
        let value = resolve::strip(value);
        if value.is_empty() || value.len() > URL_BYTES_MAX {
            return None;
        }
        match resolve::scheme(&value) {
            Some(scheme) => allowed(scheme).then(|| value.into_owned()),
            None => match self.base {
                Some(base) => self.room.join(base, &value).filter(|url| allowed(url.scheme())).map(String::from),
                None => Some(value.into_owned()),
            },
        }
    }

    /// `small.jpg 1x, large.jpg 2x`, each checked for itself.
    fn source_set(&self, value: &str) -> Option<String> {
        let sources: Vec<String> = value
            .split(", ")
            .flat_map(|part| part.split(",\n"))
            .filter_map(|part| {
                let mut words = part.trim().trim_matches(',').split_ascii_whitespace();
                let url = self.checked(Value::Resource, words.next()?)?;
                let size =
                    words.next().filter(|size| size.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.'));
                Some(size.map_or(url.clone(), |size| format!("{url} {size}")))
            })
            .collect();
        (!sources.is_empty()).then(|| sources.join(", "))
    }

    fn frame(&mut self, attributes: Attributes<'_>) {
        let url = attributes.get("src").and_then(|raw| self.checked(Value::Link, &htmlize::unescape_attribute(raw)));
        if let Some(url) = url.filter(|url| !is_tracking_pixel(attributes) && url.starts_with("http")) {
            if let Fate::Keep(a) = fate("a") {
                self.imply_ends(a);
            }
            if self.is_full() {
                escape_into(&url, &mut self.out);
                return;
            }
            self.out.push_str("<a");
            self.attribute("href", &url);
            self.out.push('>');
            escape_into(&url, &mut self.out);
            self.out.push_str("</a>");
        }
    }

    /// Whether there is no room for one more open element.
    fn is_full(&self) -> bool {
        self.overflow > 0 || self.open.len() >= HTML_DEPTH_MAX
    }

    fn imply_ends(&mut self, kept: Kept) {
        let (ended, bounds) = implied_end_sets(kept);
        // A caption may stand in a body: a new body ends both.
        while self.set & ended != 0
            && let Some(found) = self.open.iter().rposition(|open| open.set() & (ended | bounds) != 0)
            && self.open[found].set() & ended != 0
        {
            self.close_to(found);
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((dropped, depth)) = &mut self.dropping {
            if dropped.eq_ignore_ascii_case(name) {
                *depth -= 1;
                if *depth == 0 {
                    self.dropping = None;
                }
            }
            return;
        }
        let Fate::Keep(kept) = fate(name) else { return };
        if is_void_kept(kept) {
            return;
        }
        if self.overflow > 0 {
            self.overflow -= 1;
            return;
        }
        if self.set & kept.set() == 0 {
            return;
        }
        if let Some(found) = self.open.iter().rposition(|open| *open == kept) {
            self.close_to(found);
        }
    }

    fn close_to(&mut self, length: usize) {
        for kept in self.open.drain(length..).rev() {
            self.counts[kept.index()] -= 1;
            if self.counts[kept.index()] == 0 {
                self.set &= !kept.set();
            }
            self.out.push_str("</");
            self.out.push_str(kept.name());
            self.out.push('>');
        }
    }

    fn text(&mut self, raw: &str) {
        if self.dropping.is_none() {
            escape_into(&htmlize::unescape(raw), &mut self.out);
        }
    }
}

/// One pixel, or none: it is there to be counted, not to be seen.
fn is_tracking_pixel(attributes: Attributes<'_>) -> bool {
    let size = |name| attributes.get(name).map(|value| value.trim().trim_end_matches("px"));
    let tiny = |value: Option<&str>| matches!(value, Some("0" | "1"));
    tiny(size("width")) && tiny(size("height"))
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
        out.push_str(&text[from..at]);
        out.push_str(escaped);
        from = at + 1;
    }
    out.push_str(&text[from..]);
}

impl Text {
    /// Makes the text fit to be shown: HTML is sanitised, plain text stays as it is and must be escaped where shown.
    pub fn sanitise(&mut self) {
        if self.kind != TextKind::Plain {
            self.value = sanitise(&self.value, self.base.as_deref());
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
        let Self { title, summary, content, subtitle, rights, .. } = self;
        title.iter_mut().chain(summary).chain(content).chain(subtitle).chain(rights).for_each(Text::sanitise);
        if let Some(title) = self.source.as_mut().and_then(|source| source.title.as_mut()) {
            title.sanitise();
        }
    }
}

impl Head {
    /// Makes all its texts fit to be shown.
    pub fn sanitise(&mut self) {
        let Self { title, subtitle, rights, .. } = self;
        title.iter_mut().chain(subtitle).chain(rights).for_each(Text::sanitise);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expect: &str) {
        let base = Url::parse("http://e.org/a/").ok();
        let once = sanitise(html, base.as_ref());
        assert_eq!(once, expect, "{html}");
        assert_eq!(sanitise(&once, base.as_ref()), once, "twice: {html}");
    }

    #[test]
    fn active_content_goes() {
        check("a<script>alert(1)</script>b", "ab");
        check("<p onclick=alert(1) style='x:y'>x</p>", "<p>x</p>");
        check("<a href='javascript:x'>x</a>", "<a>x</a>");
        check("<a href=' jav&#x09;ascript:x'>x</a>", "<a>x</a>");
        check("<style>p{}</style><form><input>x</form>", "x");
        check("<svg><script>x</script><text>y</text></svg>z", "z");
        check("<svg><text>y<p>z", "<p>z</p>");
        check("<object data=x><p>y</object>", "<p>y</p>");
        check("<img src=data:image/svg+xml,x>", "");
        check("<b <script>alert(1)</script>", "<b>alert(1)</b>");
    }

    #[test]
    fn frames_become_links_and_pixels_vanish() {
        check("<iframe src='https://v.org/1'>x</iframe>", "<a href=\"https://v.org/1\">https://v.org/1</a>");
        check("<img src=x width=1 height=1>", "");
        check("<img src=x width='1px' height=0>", "");
        check("<img src=x width=1 height=20>", "<img src=\"http://e.org/a/x\" width=\"1\" height=\"20\">");
    }

    #[test]
    fn media_and_links_stay_and_are_absolute() {
        check("<video src=v.mp4 autoplay>", "<video src=\"http://e.org/a/v.mp4\" controls=\"\"></video>");
        check("<a href='../b?x=1&amp;y=2'>b</a>", "<a href=\"http://e.org/b?x=1&amp;y=2\">b</a>");
        check("<img data-src=/i.png src=''>", "<img src=\"http://e.org/i.png\">");
        check("<img srcset='a.png 1x, /b.png 2x'>", "<img srcset=\"http://e.org/a/a.png 1x, http://e.org/b.png 2x\">");
        check("<a href=mailto:x@e.org>x", "<a href=\"mailto:x@e.org\">x</a>");
    }

    #[test]
    fn what_is_opened_is_closed_and_what_is_text_is_escaped() {
        check("<p>a<p>b", "<p>a</p><p>b</p>");
        check("<ul><li>a<li>b<ul><li>c</ul></ul>", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>");
        check("<b>a<i>b</b>c</i>", "<b>a<i>b</i></b>c");
        check("1 < 2 &amp; \"3\" &nbsp;", "1 &lt; 2 &amp; &quot;3&quot; \u{a0}");
        check("<p title='a\"b<c>'>x", "<p title=\"a&quot;b&lt;c&gt;\">x</p>");
        check(
            "<table><tr><td>a<td>b<tr><td>c</table>",
            "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
        );
        check("<tbody><caption><tbody>x", "<tbody><caption></caption></tbody><tbody>x</tbody>");
        check("</p></div>x\u{1}\0", "x");
    }

    #[test]
    fn depth_is_bounded() {
        let deep = sanitise(&"<div>".repeat(100_000), None);
        assert_eq!(deep.matches("<div>").count(), HTML_DEPTH_MAX);
        let fonts: String = (0..1000).map(|n| format!("<font size={n}>")).collect();
        let wide = sanitise(&format!("<p>{fonts}{}", "<p>x".repeat(4000)), None);
        assert!(wide.len() < 200_000, "{}", wide.len());
    }

    #[test]
    fn plain_text_is_what_a_person_reads() {
        assert_eq!(plain_text("<p>A &amp; <b>B</b></p><p>C<script>x</script>"), "A & B C");
        assert!(looks_like_html("a <b>c</b>") && looks_like_html("&eacute;") && looks_like_html("x<br>"));
        assert!(!looks_like_html("a < b & c") && !looks_like_html("<foo> AT&T;"));
        assert!(!looks_like_html("How to write <script>") && looks_like_html("<script>x</script>"));
    }
}
