//! What a web page says of itself in its head: its links, its base, its title, its language.

use std::sync::Arc;

use url::Url;

use crate::{
    entity::unescape_html,
    limits::LIST_MAX,
    resolve::{self, LinkBudget},
    scan::{Dialect, Scanner, Token},
};

#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    pub(crate) language: Option<String>,
    /// What links are relative to: `<base>`, else where the page was.
    pub(crate) base: Option<Arc<Url>>,
    pub(crate) links: Vec<PageLink>,
}

#[derive(Debug)]
pub(crate) struct PageLink {
    rel: String,
    pub(crate) href: String,
    pub(crate) mime: String,
    pub(crate) title: Option<String>,
    /// Of an icon: `16x16 32x32`, or `any`.
    pub(crate) sizes: String,
    /// It stands where links belong. One in the body may come from a reader's comment.
    pub(crate) in_head: bool,
}

impl PageLink {
    pub(crate) fn is(&self, wanted: &str) -> bool {
        self.rel.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case(wanted))
    }
}

/// Reads what a page says of itself. Comments and scripts say nothing.
pub(crate) fn read(html: &str, url: Option<Arc<Url>>) -> Page {
    const OF_THE_HEAD: [&str; 10] =
        ["html", "head", "title", "meta", "link", "base", "script", "style", "noscript", "template"];
    let budget = LinkBudget::of(html.len());
    let mut page = Page { base: url, ..Page::default() };
    let mut has_base = false;
    let mut in_head = true;
    let mut in_title = false;
    for token in Scanner::new(html, Dialect::Html) {
        match token {
            Token::Start { name, attributes, .. } => {
                let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
                let value =
                    |wanted| attributes.get(wanted).map(|raw| htmlize::unescape_attribute(raw).trim().to_owned());
                in_head &= OF_THE_HEAD.iter().any(|known| is(known));
                in_title = in_head && is("title") && page.title.is_none();
                if is("html") {
                    page.language = value("lang").filter(|language| !language.is_empty());
                } else if is("base") && in_head && !has_base {
                    // Only the first counts, as in browsers.
                    let stated = value("href").and_then(|href| resolve::base(page.base.as_deref(), &href, &budget));
                    has_base = stated.is_some();
                    page.base = stated.map(Arc::new).or(page.base);
                } else if is("link") && page.links.len() < LIST_MAX {
                    let of = |wanted| value(wanted).unwrap_or_default();
                    page.links.push(PageLink {
                        rel: of("rel"),
                        href: of("href"),
                        mime: of("type"),
                        title: value("title"),
                        sizes: of("sizes"),
                        in_head,
                    });
                }
            }
            Token::Raw(raw) if std::mem::take(&mut in_title) => {
                let title = unescape_html(raw).split_whitespace().collect::<Vec<_>>().join(" ");
                page.title = (!title.is_empty()).then_some(title);
            }
            Token::End { name } if name.eq_ignore_ascii_case("head") => in_head = false,
            _ => {}
        }
    }
    page.resolve_links(&budget);
    page
}

impl Page {
    /// Makes the links absolute, once it is known by what.
    fn resolve_links(&mut self, budget: &LinkBudget) {
        let base = self.base.clone();
        self.links.retain_mut(|link| match resolve::link(base.as_deref(), &link.href, budget) {
            Some(href) => {
                link.href = href;
                true
            }
            None => false,
        });
    }
}
