//! Pictures: which of the addresses of one is the picture, which is there to be counted, and which stands twice.
//!
//! A picture that a script would load has a placeholder for its address and its own beside it, and often a copy in
//! `<noscript>` for readers without scripts, as this one is.

use super::{
    Last, Sanitiser,
    value::{candidates, is_web, unescaped},
};
use crate::scan::Attributes;

/// Where scripts find the address of a picture.
const LAZY_SOURCES: [&str; 11] = [
    "data-src",
    "data-lazy-src",
    "data-original",
    "data-orig-src",
    "data-original-src",
    "data-actualsrc",
    "data-cfsrc",
    "data-ezsrc",
    "data-lazy",
    "data-echo",
    "data-image",
];

/// Where scripts find its candidates.
const LAZY_SOURCE_SETS: [&str; 3] = ["data-srcset", "data-lazy-srcset", "data-ezsrcset"];

/// What a script would have put into `src` and `srcset`.
#[derive(Debug, Default)]
pub(super) struct Lazy {
    pub(super) src: Option<String>,
    pub(super) srcset: Option<String>,
    pub(super) is_found: bool,
}

impl Lazy {
    /// What stands in for an attribute, once.
    pub(super) fn better(&mut self, name: &str) -> Option<String> {
        match name {
            "src" => self.src.take(),
            "srcset" => self.srcset.take(),
            _ => None,
        }
    }
}

/// A picture that was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Picture {
    /// Where its tag begins and ends.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) url: String,
    /// A script would have loaded it.
    pub(super) is_lazy: bool,
    /// It has only a placeholder.
    pub(super) is_placeholder: bool,
    pub(super) in_noscript: bool,
}

impl Sanitiser<'_> {
    /// The addresses that scripts would load, where they are better than those that stand.
    pub(super) fn lazy(&self, element: &str, attributes: Attributes<'_>) -> Lazy {
        if !attributes.mention("data-") {
            return Lazy::default();
        }
        let get = |name: &&str| attributes.get(name).map(unescaped);
        let web = |url: String| Some(url).filter(|url| !url.starts_with("data:"));
        let srcset = LAZY_SOURCE_SETS.iter().filter_map(get).find_map(|value| self.source_set(&value).and_then(web));
        let looks_like_file = |value: &str| {
            value.contains(['/', '.']) && !value.trim().contains(|c: char| c.is_whitespace() || matches!(c, '{' | '<'))
        };
        let src = LAZY_SOURCES
            .iter()
            .filter_map(get)
            .filter(|value| looks_like_file(value))
            .find_map(|value| self.url(&value, is_web));
        let first = || srcset.as_deref().and_then(|set| candidates(set).next()).map(|(url, _)| url.to_owned());
        let src = if element == "img" { src.or_else(first) } else { src };
        Lazy { is_found: src.is_some(), src, srcset }
    }

    /// Whether a picture about to be written stands already, on the other side of a `<noscript>`. A placeholder that
    /// stands there makes way for it.
    pub(super) fn is_shown_already(&mut self, picture: &Picture) -> bool {
        let Last::Picture(last) = &self.last else { return false };
        match (last.in_noscript, picture.in_noscript) {
            (false, true) if last.is_placeholder => {
                let is_alone = self.out[last.to..picture.from].trim().is_empty();
                if is_alone {
                    let from = last.from;
                    self.out.replace_range(from..picture.from, "");
                }
                false
            }
            (false, true) => last.is_lazy || is_same_file(&last.url, &picture.url),
            (true, false) => picture.is_placeholder || is_same_file(&last.url, &picture.url),
            _ => false,
        }
    }
}

/// One pixel, or none: it is there to be counted, not to be seen.
pub(super) fn is_tracking_pixel(attributes: Attributes<'_>) -> bool {
    let size = |name| attributes.get(name).map(|value| value.trim().trim_end_matches("px"));
    let tiny = |value: Option<&str>| matches!(value, Some("0" | "1"));
    tiny(size("width")) && tiny(size("height"))
}

/// Whether two addresses are those of one picture, perhaps in two sizes.
fn is_same_file(one: &str, other: &str) -> bool {
    let file = |url: &str| url.split(['?', '#']).next().map(str::to_owned);
    file(one) == file(other)
}
