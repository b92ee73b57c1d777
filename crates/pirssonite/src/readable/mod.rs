//! The HTML of an entry as text for a terminal: paragraphs wrapped at words, lists, quotes and code recognisable, links
//! numbered and listed at the end.
//!
//! What it reads was sanitised before it was stored, so there is no script and no style in it; it makes sense of anything
//! else all the same, and nothing that a terminal would take for a command comes out.

mod formula;
mod html;
mod layout;

use self::{
    formula::Formula,
    html::{Scanner, Token},
    layout::Layout,
};
use crate::screen::clean;

/// Links that are listed; those after them keep their text.
const LINKS_MAX: usize = 999;

/// An entry's text, and where its links lead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Readable {
    pub(crate) lines: Vec<String>,
    /// In the order of their numbers, from 1.
    pub(crate) links: Vec<String>,
}

/// Makes HTML readable. In so many cells, or with a line for each paragraph.
pub(crate) fn readable(html: &str, cells: Option<usize>) -> Readable {
    let mut writer = Writer::default();
    for token in Scanner::new(html) {
        match token {
            Token::Text(text) => writer.text(&text),
            Token::Start(name, attributes) => writer.start(&name, &attributes),
            Token::End(name) => writer.end(&name),
        }
    }
    Readable { lines: writer.layout.finish(cells), links: writer.links }
}

#[derive(Default)]
struct Writer {
    layout: Layout,
    links: Vec<String>,
    /// The links that are open: where to, and where their text begins.
    open_links: Vec<(Option<String>, usize)>,
    /// The raised or lowered text that is open, and where it begins.
    open_small: Option<(bool, usize)>,
    /// Elements whose text is not shown that are open.
    hidden: usize,
    /// The name of an element that has `hidden`, and how many of that name are open since it began.
    hidden_in: Option<(String, usize)>,
    /// A `<picture>` is open: its sources are the same picture.
    in_picture: bool,
    formula: Formula,
}

impl Writer {
    fn text(&mut self, text: &str) {
        if self.hidden == 0 && self.hidden_in.is_none() {
            self.layout.text(text);
        }
    }

    fn start(&mut self, name: &str, attributes: &[(String, String)]) {
        let value = |wanted: &str| attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        if let Some((hidden, open)) = &mut self.hidden_in {
            *open += usize::from(hidden == name);
            return;
        }
        if value("hidden").is_some() && !is_void(name) {
            self.hidden_in = Some((name.to_owned(), 1));
            return;
        }
        let before = self.formula.start(name);
        self.text(&before);
        match name {
            "script" | "style" | "template" | "head" | "annotation" | "annotation-xml" => self.hidden += 1,
            "br" => self.layout.line_break(),
            "hr" => self.layout.rule(),
            "a" => self.open_links.push((value("href").map(str::to_owned), self.layout.len())),
            "img" => self.medium("image", value("alt"), value("src")),
            "audio" | "video" | "iframe" | "embed" => self.medium(name, value("title"), value("src")),
            "picture" => self.in_picture = true,
            "source" if self.in_picture => {}
            "source" => self.medium("file", None, value("src")),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name[1..].parse().unwrap_or(1);
                self.layout.heading(level);
            }
            "ul" | "menu" => self.layout.open_list(None),
            "ol" => self.layout.open_list(Some(value("start").and_then(|start| start.parse().ok()).unwrap_or(1))),
            "li" => self.layout.open_item(),
            "dd" => self.layout.open_indent(),
            "blockquote" => self.layout.open_quote(),
            "pre" => self.layout.open_code(),
            "code" | "kbd" | "samp" | "tt" => self.layout.tick(),
            "sup" | "sub" => self.open_small = Some((name == "sup", self.layout.len())),
            "td" | "th" => self.layout.cell(),
            name if is_block(name) => self.layout.end_block(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((hidden, open)) = &mut self.hidden_in {
            *open -= usize::from(hidden == name);
            if *open == 0 {
                self.hidden_in = None;
            }
            return;
        }
        let after = self.formula.end(name);
        self.text(after);
        match name {
            "script" | "style" | "template" | "head" | "annotation" | "annotation-xml" => {
                self.hidden = self.hidden.saturating_sub(1);
            }
            "picture" => self.in_picture = false,
            "a" => self.close_link(),
            "ul" | "ol" | "menu" => self.layout.close_list(),
            "li" | "dd" | "blockquote" => self.layout.close_inner(),
            "pre" => self.layout.close_code(),
            "code" | "kbd" | "samp" | "tt" => self.layout.tick(),
            "sup" | "sub" => self.close_small(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.layout.end_block(),
            name if is_block(name) => self.layout.end_block(),
            _ => {}
        }
    }

    /// A picture or a player: what it is, what it is called, and where it is.
    fn medium(&mut self, what: &str, called: Option<&str>, src: Option<&str>) {
        let called = called.map(str::trim).filter(|called| !called.is_empty());
        self.text(&called.map_or_else(|| format!("[{what}]"), |called| format!("[{what}: {called}]")));
        self.number(src);
    }

    fn close_link(&mut self) {
        let Some((href, begin)) = self.open_links.pop() else { return };
        // An address that is its own text is there already.
        let is_shown = href.as_deref().is_some_and(|href| self.layout.since(begin).is_some_and(|text| text == href));
        if !is_shown {
            self.number(href.as_deref());
        }
    }

    /// Puts the number of a link behind its text. Places within the entry have none.
    fn number(&mut self, to: Option<&str>) {
        let Some(to) = to.map(clean).filter(|to| to.contains(':') && self.hidden == 0) else { return };
        let known = self.links.iter().position(|link| *link == to);
        if known.is_none() && self.links.len() >= LINKS_MAX {
            return;
        }
        let number = known.unwrap_or_else(|| {
            self.links.push(to);
            self.links.len() - 1
        });
        self.layout.text(&format!("[{}]", number + 1));
    }

    /// x² and H₂O, where there are signs for it; else the text as it is.
    fn close_small(&mut self) {
        let Some((is_raised, begin)) = self.open_small.take() else { return };
        let small: Option<String> =
            self.layout.since(begin).and_then(|text| text.chars().map(|c| raised_or_lowered(c, is_raised)).collect());
        if let Some(small) = small {
            self.layout.replace_since(begin, &small);
        }
    }
}

/// Whether an element has no end.
fn is_void(name: &str) -> bool {
    matches!(name, "img" | "br" | "hr" | "source" | "wbr" | "embed" | "track" | "input" | "col" | "area")
}

/// The raised or lowered form of a character.
fn raised_or_lowered(c: char, is_raised: bool) -> Option<char> {
    const PLAIN: &str = "0123456789+-=()n";
    const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ";
    const LOWERED: &str = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙ";
    let at = PLAIN.chars().position(|plain| plain == c)?;
    if is_raised { RAISED } else { LOWERED }.chars().nth(at)
}

fn is_block(name: &str) -> bool {
    const BLOCKS: [&str; 26] = [
        "p",
        "div",
        "article",
        "aside",
        "section",
        "header",
        "footer",
        "nav",
        "main",
        "figure",
        "figcaption",
        "address",
        "details",
        "summary",
        "dl",
        "dt",
        "table",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "caption",
        "center",
        "fieldset",
        "form",
        "hgroup",
    ];
    BLOCKS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str, cells: Option<usize>) -> String {
        readable(html, cells).lines.join("\n")
    }

    #[test]
    fn u5_paragraphs_wrap_on_terminals_only() {
        let html = "<p>One two\n three</p><p>four<br>five</p>six <b>seven</b>";
        assert_eq!(text(html, Some(8)), "One two\nthree\n\nfour\nfive\n\nsix\nseven");
        assert_eq!(text(html, None), "One two three\n\nfour\nfive\n\nsix seven");
    }

    #[test]
    fn u5_blocks_are_separated() {
        for (html, expect) in [
            ("<h2>News</h2><p>x</p>", "## News\n\nx"),
            ("<ul><li>a</li><li>b c d e<ul><li>f</li></ul></li></ul><p>g</p>", "- a\n- b c d e\n  - f\n\ng"),
            ("<ol start=9><li>a</li><li><p>b</p><p>c</p></li></ol>", "9. a\n10. b\n\n    c"),
            ("<blockquote><p>a b c d e</p><p>f</p></blockquote>", "> a b c d\n> e\n\n> f"),
            ("<pre>a  b\n   c is long\n</pre>x", "    a  b\n       c is long\n\nx"),
            ("use <code>a &lt; b</code>", "use `a <\nb`"),
            ("<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>", "a | b\n1 | 2"),
            ("a<hr>b", "a\n\n---\n\nb"),
            ("x<sup>2</sup> H<sub>2</sub>O 1<sup>st</sup>", "x² H₂O\n1st"),
            ("<dl><dt>a</dt><dd>b</dd></dl>", "a\n\n  b"),
            ("a &amp; b &eacute;", "a & b é"),
            ("1 < 2 <3 & <", "1 < 2 <3\n& <"),
        ] {
            assert_eq!(text(html, Some(9)), expect, "{html}");
        }
    }

    #[test]
    fn u5_formulas_keep_their_meaning() {
        for (html, expect) in [
            ("<math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mn>1</mn></math>", "x^2+1"),
            ("<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac></math>", "(a+b)/c"),
            ("<math><msqrt><mi>c</mi></msqrt><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup></math>", "√(c)x_i^2"),
            ("a<p hidden>secret</p><span hidden>s<span>t</span>u</span>b", "ab"),
            (
                "<picture><source srcset=\"https://e.org/a.webp\"><img src=\"https://e.org/a.png\"></picture>",
                "[image][1]",
            ),
        ] {
            assert_eq!(text(html, None), expect, "{html}");
        }
    }

    #[test]
    fn u5_links_and_pictures_are_numbered_and_listed() {
        let html = "<p><a href=\"https://e.org/a\">one</a>, <a href='https://e.org/a'>again</a>, \
                    <a href=\"https://e.org/\">https://e.org/</a>, <a href=\"#fn1\">here</a>, \
                    <img src=\"https://e.org/i.png\" alt=\"A &quot;cat&quot;\"><img src=\"/rel\"></p>";
        let read = readable(html, None);
        assert_eq!(read.lines, ["one[1], again[1], https://e.org/, here, [image: A \"cat\"][2][image]"]);
        assert_eq!(read.links, ["https://e.org/a", "https://e.org/i.png"]);
    }

    #[test]
    fn u5_entries_send_no_terminal_commands() {
        let html = "<p title=\"\u{1b}[1m\">a\u{1b}[2J&#27;[31m&#x9b;0m\u{7}\u{8}\u{202e}b\r</p><pre>c\u{1b}]0;x\u{7}\td</pre>\
                    <a href=\"https://e.org/\u{1b}[2J&#27;\">l</a><img alt=\"&#27;[5m\">";
        let read = readable(html, Some(80));
        let all = read.lines.iter().chain(&read.links).flat_map(|line| line.chars());
        let bad: Vec<char> = all.filter(|c| c.is_control() || *c == '\u{202e}').collect();
        assert!(bad.is_empty(), "{bad:?}");
    }

    #[test]
    fn u5_broken_html_is_read_to_its_end() {
        for html in ["<", "<a", "<a href", "<a href=\"x", "</", "<!--", "<!-- x", "&#", "<p", "<ul><ul>"] {
            readable(html, Some(20));
        }
        let deep = format!("{}x", "<blockquote><ul><li>".repeat(2000));
        assert!(text(&deep, Some(80)).ends_with('x'));
        assert_eq!(text("<style>p{}</style><script>x</script>y", None), "y");
    }
}
