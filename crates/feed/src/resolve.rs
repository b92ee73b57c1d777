//! Links: made absolute, and refused where they would run instead of lead somewhere.

use std::{borrow::Cow, cell::Cell, sync::Arc};

use url::Url;

use crate::limits::{RESOLVED_BYTES_MIN, RESOLVED_FACTOR_MAX, URL_BYTES_MAX};

/// Schemes that do something rather than name something. None of them leaves the parser.
const ACTIVE_SCHEMES: [&str; 7] = ["javascript", "vbscript", "livescript", "mocha", "data", "file", "blob"];

/// What making links absolute may still add to a document or a text.
#[derive(Debug)]
pub(crate) struct LinkBudget(Cell<usize>);

impl LinkBudget {
    /// The room for the links in a text of so many bytes.
    pub(crate) fn of(text_bytes: usize) -> Self {
        Self(Cell::new(text_bytes.saturating_mul(RESOLVED_FACTOR_MAX).saturating_add(RESOLVED_BYTES_MIN)))
    }

    /// A relative URL made absolute, while there is room for it.
    pub(crate) fn join(&self, base: &Url, href: &str) -> Option<Url> {
        self.0.set(self.0.get().checked_sub(base.as_str().len())?);
        base.join(href).ok()
    }
}

/// A base URL as a document states it, relative to the one around it. `None` if it makes no sense, cannot have
/// relatives, is too long or of an active scheme, which all that is relative to it would have.
pub(crate) fn base(outer: Option<&Url>, stated: &str, budget: &LinkBudget) -> Option<Url> {
    let stated = strip(stated);
    let url = match outer {
        Some(outer) => budget.join(outer, &stated),
        None => Url::parse(&stated).ok(),
    };
    url.filter(|url| !url.cannot_be_a_base() && url.as_str().len() <= URL_BYTES_MAX && !is_active(url.scheme()))
}

/// A page that links can be relative to.
pub(crate) fn page(link: &str) -> Option<Arc<Url>> {
    base(None, link, &LinkBudget::of(0)).map(Arc::new)
}

/// A link as a feed states it, made absolute. One that is absolute stays as it is written, to the letter: it may be a
/// WebSub topic or an identity. `None` if it is empty, too long or of an active scheme.
pub(crate) fn link(base: Option<&Url>, href: &str, budget: &LinkBudget) -> Option<String> {
    let href = strip(href);
    if href.is_empty() || href.len() > URL_BYTES_MAX {
        return None;
    }
    match scheme(&href) {
        Some(scheme) if is_active(scheme) => None,
        Some(_) => Some(href.into_owned()),
        None => match base {
            Some(base) => budget.join(base, &href).map(String::from),
            None => Some(href.into_owned()),
        },
    }
}

fn is_active(scheme: &str) -> bool {
    ACTIVE_SCHEMES.iter().any(|active| scheme.eq_ignore_ascii_case(active))
}

/// Whether an identity is the address of a page, too. A relative one is if it looks so, or if its publisher says so.
pub(crate) fn is_page(guid: &str, says_so: bool) -> bool {
    let ends_word = |byte: u8| byte.is_ascii_whitespace() || byte == b'<';
    let is_word = !guid.bytes().any(ends_word) && (guid.is_ascii() || !guid.contains(char::is_whitespace));
    let looks_relative = || ["/", "./", "../", "?"].iter().any(|start| guid.starts_with(start));
    is_word
        && match scheme(guid) {
            Some(scheme) => {
                let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
                is_web && guid[scheme.len()..].starts_with("://")
            }
            None => says_so || looks_relative(),
        }
}

/// Whether a link leads to somebody's mail: an entry's page it is not.
pub(crate) fn is_mail(link: &str) -> bool {
    scheme(link).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto"))
}

/// Removes what browsers remove from a URL: white space and control characters around it, tabs and line ends inside.
pub(crate) fn strip(href: &str) -> Cow<'_, str> {
    // Most have nothing around them, which is seen at once.
    let is_bare = matches!(href.as_bytes(), [first, .., last] if *first > b' ' && *last > b' ');
    let href = if is_bare { href } else { href.trim_matches(|c: char| c <= ' ') };
    // The least of all is found many bytes at a time.
    if href.bytes().min().is_some_and(|least| least < b' ') {
        Cow::Owned(href.chars().filter(|c| *c >= ' ').collect())
    } else {
        Cow::Borrowed(href)
    }
}

/// What stands before the first `:`, if that comes before any `/`, `?` or `#`.
pub(crate) fn scheme(href: &str) -> Option<&str> {
    let end = href.bytes().position(|byte| matches!(byte, b':' | b'/' | b'?' | b'#'))?;
    (href.as_bytes()[end] == b':').then(|| &href[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_links_are_absolute_and_passive() {
        let base = Url::parse("http://e.org/a/b").ok();
        for (href, expect) in [
            ("c", Some("http://e.org/a/c")),
            ("//f.org/", Some("http://f.org/")),
            ("?q", Some("http://e.org/a/b?q")),
            (" http://E.org/%7e \n", Some("http://E.org/%7e")),
            ("tag:e.org,2004:1", Some("tag:e.org,2004:1")),
            ("javascript:alert(1)", None),
            (" java\nscript:alert(1)", None),
            ("", None),
        ] {
            assert_eq!(link(base.as_ref(), href, &LinkBudget::of(0)).as_deref(), expect, "{href}");
        }
        assert_eq!(link(None, "c", &LinkBudget::of(0)).as_deref(), Some("c"));
    }

    #[test]
    fn f2_link_budget_bounds_long_bases() {
        let long = Url::parse(&format!("http://e.org/{}/", "x".repeat(1000))).ok();
        let budget = LinkBudget::of(1000);
        let added: usize = (0..1000).filter_map(|_| link(long.as_ref(), "a", &budget)).map(|href| href.len()).sum();
        assert!((4000..9000).contains(&added), "{added}");
        assert_eq!(link(long.as_ref(), "http://f.org/", &budget).as_deref(), Some("http://f.org/"));
    }

    #[test]
    fn f3_base_urls_resolve_and_are_bounded() {
        let outer = Url::parse("http://e.org/a/b").ok();
        for (stated, expect) in [
            ("c/", Some("http://e.org/a/c/")),
            ("http://f.org", Some("http://f.org/")),
            ("mailto:x@e.org", None),
            ("http://[", None),
            ("javascript://e.org/%0aalert(1)", None),
            ("\0File:///etc/", None),
        ] {
            let found = base(outer.as_ref(), stated, &LinkBudget::of(0));
            assert_eq!(found.as_ref().map(Url::as_str), expect, "{stated}");
        }
        assert_eq!(base(None, &format!("http://e.org/{}", "x".repeat(URL_BYTES_MAX)), &LinkBudget::of(0)), None);
    }
}
