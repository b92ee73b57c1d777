//! The tree that a browser builds of sanitised HTML inside a page, judged by html5ever's tree builder: just the tags as
//! they were written, inside the box that they were written into, and nothing outside it.

use std::cell::{Cell, RefCell};

use html5ever::{
    tendril::StrTendril,
    tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
};

use crate::corpus::tree::{Handle, Kind, fragment};

/// Boxes that a page may show an entry in, from the outside in: an end tag too many would close one of them.
const BOXES: [&[&str]; 2] = [
    &["main", "article", "div"],
    &["table", "tr", "td", "ul", "li", "details", "section", "article", "blockquote", "div", "span", "b"],
];

/// What is wrong with the tree; nothing if all is well.
pub(crate) fn faults(html: &str) -> Vec<String> {
    let written = written(html);
    BOXES.iter().filter_map(|names| faults_in(names, html, &written)).collect()
}

fn faults_in(names: &[&str], html: &str, written: &str) -> Option<String> {
    let open: String = names.iter().map(|name| format!("<{name}>")).collect();
    let close: String = names.iter().rev().map(|name| format!("</{name}>")).collect();
    let page = |inside: &str| format!("{open}<i>|</i>{inside}<i>|</i>{close}<i>after</i>");
    let (tree, expected) = (built(&page(html)), page(written));
    (tree != expected).then(|| format!("in {names:?}:\nbuilt    {tree}\nexpected {expected}"))
}

/// The tags and texts of some HTML as they are written, without what browsers add (`<tbody>`, `<colgroup>`).
fn written(html: &str) -> String {
    let tokenizer =
        Tokenizer::new(Written::default(), TokenizerOpts { discard_bom: false, ..TokenizerOpts::default() });
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.shown.into_inner()
}

const VOID: &str = " br col hr img source track wbr ";

/// Parts of a table that may be left out: they are there whether they are written or not.
const IMPLIED: &str = " tbody colgroup ";

#[derive(Default)]
struct Written {
    shown: RefCell<String>,
    /// The last tag was `<pre>`: a browser leaves out the line end behind it.
    after_pre: Cell<bool>,
}

impl TokenSink for Written {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut shown = self.shown.borrow_mut();
        match token {
            Token::TagToken(Tag { kind, name, .. }) => {
                self.after_pre.set(kind == TagKind::StartTag && *name == *"pre");
                if !IMPLIED.contains(&format!(" {name} ")) {
                    shown.push_str(if kind == TagKind::StartTag { "<" } else { "</" });
                    shown.push_str(&name);
                    shown.push('>');
                }
            }
            Token::CharacterTokens(text) => {
                let text = if self.after_pre.take() { text.strip_prefix('\n').unwrap_or(&text) } else { &text };
                show_text(text, &mut shown);
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// Texts as they are; `<` in them cannot be mistaken for a tag.
fn show_text(text: &str, shown: &mut String) {
    shown.push_str(&text.replace('<', "&lt;"));
}

/// The tree of a part of a page, written as tags.
fn built(html: &str) -> String {
    let mut shown = String::new();
    fragment(html).children.borrow().iter().for_each(|node| show(node, &mut shown));
    shown
}

fn show(node: &Handle, shown: &mut String) {
    let name = match &node.kind {
        Kind::Element { name, .. } => &*name.local,
        Kind::Text(text) => return show_text(&text.borrow(), shown),
        Kind::Root | Kind::Comment(_) => "unexpected",
    };
    let is_shown = !IMPLIED.contains(&format!(" {name} "));
    if is_shown {
        shown.extend(["<", name, ">"]);
    }
    node.children.borrow().iter().for_each(|child| show(child, shown));
    if is_shown && !VOID.contains(&format!(" {name} ")) {
        shown.extend(["</", name, ">"]);
    }
}

/// The judge itself: it has to see what it is there for.
#[test]
fn f3_judge_detects_escapes_from_container() {
    for html in [
        "<table><article><table></table></article></table><p>x</p>",
        "</article>",
        "<table>x<tr><td>y</td></tr></table>",
        "<p>a<p>b</p></p>",
        "<p><ul><li>x</li></ul></p>",
        "<h1>a<h2>b</h2></h1>",
        "<a>x<a>y</a></a>",
        "<td>x</td>",
        "<math><mrow><p>y</p></mrow></math>",
        "<b><p>x</b>y</p>",
    ] {
        assert!(!faults(html).is_empty(), "{html}");
    }
    for html in [
        "a <p>b</p><ul><li>c</li></ul>",
        "<table><caption>x</caption><col><tr><td><table><tr><td>y</td></tr></table></td></tr></table>",
        "<math><mfrac><mi>x</mi><mn>2</mn></mfrac></math>z",
        "<pre>\n\nx</pre><b><b><b><b><p>x</p></b></b></b></b>",
    ] {
        assert_eq!(faults(html), Vec::<String>::new(), "{html}");
    }
}
