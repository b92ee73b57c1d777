//! Links: made absolute, and refused where they would run instead of lead somewhere.

use std::borrow::Cow;

use url::Url;

use crate::limits::URL_BYTES_MAX;

/// Schemes that do something rather than name something. None of them leaves the parser.
const ACTIVE_SCHEMES: [&str; 7] = ["javascript", "vbscript", "livescript", "mocha", "data", "file", "blob"];

/// A link as a feed states it, made absolute. One that is absolute stays as it is written, to the letter: it may be a
/// WebSub topic or an identity. `None` if it is empty, too long or of an active scheme.
pub(crate) fn link(base: Option<&Url>, href: &str) -> Option<String> {
    let href = strip(href);
    if href.is_empty() || href.len() > URL_BYTES_MAX {
        return None;
    }
    match scheme(&href) {
        Some(scheme) if ACTIVE_SCHEMES.iter().any(|active| scheme.eq_ignore_ascii_case(active)) => None,
        Some(_) => Some(href.into_owned()),
        None => match base {
            Some(base) => base.join(&href).ok().map(String::from),
            None => Some(href.into_owned()),
        },
    }
}

/// Removes what browsers remove from a URL: white space and control characters around it, tabs and line ends inside.
pub(crate) fn strip(href: &str) -> Cow<'_, str> {
    let href = href.trim_matches(|c: char| c <= ' ');
    if href.bytes().any(|byte| byte < b' ') {
        Cow::Owned(href.chars().filter(|c| *c >= ' ').collect())
    } else {
        Cow::Borrowed(href)
    }
}

/// What stands before the first `:`, if that comes before any `/`, `?` or `#`.
pub(crate) fn scheme(href: &str) -> Option<&str> {
    let end = href.find([':', '/', '?', '#'])?;
    href[end..].starts_with(':').then(|| &href[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_absolute_and_passive() {
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
            assert_eq!(link(base.as_ref(), href).as_deref(), expect, "{href}");
        }
        assert_eq!(link(None, "c").as_deref(), Some("c"));
    }
}
