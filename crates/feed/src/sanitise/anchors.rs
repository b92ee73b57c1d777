//! Links within an entry and the places they lead to. Many entries stand on one page, so every id is given the entry's
//! own prefix, and the links to it are too.
//!
//! Whether a link leads to a place in the text shows at its end: links are noted, and written when all is read.

use std::{borrow::Cow, collections::HashSet, fmt::Write as _};

use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};
use url::Url;

use super::{attributes::may_follow, escape_into, value::is_web};
use crate::{
    limits::{ANCHOR_LINKS_MAX, ID_BYTES_MAX, IDS_MAX, URL_BYTES_MAX},
    resolve::{self, LinkBudget},
    tracking::without_tracking,
};

/// What tells the ids of one entry from those of every other on the same page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scope(u64);

impl Scope {
    /// The scope of an entry: of where its feed is, by what it is known there, and what names it among others of that.
    pub fn of(feed_url: Option<&str>, identity: &str, variant: Option<&str>) -> Self {
        let mut hash = Sha256::new();
        let url = feed_url.unwrap_or_default();
        hash.update((url.len() as u64).to_le_bytes());
        hash.update(url);
        hash.update((identity.len() as u64).to_le_bytes());
        hash.update(identity);
        hash.update(variant.unwrap_or_default());
        let bytes: [u8; 32] = hash.finalize().into();
        Self(bytes[..8].iter().fold(0, |scope, byte| scope << 8 | u64::from(*byte)))
    }
}

#[derive(Debug)]
pub(super) struct Anchors {
    prefix: String,
    /// The ids that were written, without the prefix.
    ids: HashSet<String>,
    links: Vec<Link>,
}

/// A link that may lead to a place in the text.
#[derive(Debug)]
struct Link {
    /// Where it is to be written.
    at: usize,
    fragment: String,
    /// Where it leads if there is no such place.
    elsewhere: Option<String>,
}

impl Anchors {
    pub(super) fn new(scope: Scope) -> Self {
        Self { prefix: format!("e{:016x}-", scope.0), ids: HashSet::new(), links: Vec::new() }
    }

    /// An id as it may stand: with the prefix, once. One that stands already counts, as in browsers.
    pub(super) fn id(&mut self, value: &str) -> Option<String> {
        let own = self.own(value);
        let is_fit = !own.is_empty() && own.len() <= ID_BYTES_MAX && !own.contains(|c: char| c <= ' ' || c == '\u{7f}');
        if !is_fit || self.ids.len() >= IDS_MAX || !self.ids.insert(own.to_owned()) {
            return None;
        }
        Some(format!("{}{own}", self.prefix))
    }

    /// Notes a link to be written here later; false if it leads to another page for sure.
    pub(super) fn defer(&mut self, at: usize, href: &str, base: Option<&Url>, budget: &LinkBudget) -> bool {
        let Some((page, fragment)) = href.split_once('#').filter(|(_, fragment)| !fragment.is_empty()) else {
            return false;
        };
        if fragment.len() > ID_BYTES_MAX || self.links.len() >= ANCHOR_LINKS_MAX {
            return false;
        }
        // A place on a page that nobody may follow a link to is none.
        let base = base.filter(|base| may_follow(base.scheme()));
        let elsewhere = if page.is_empty() {
            base.and_then(|base| budget.join(base, &format!("#{}", self.own(fragment)))).map(String::from)
        } else {
            let Some(page) = base.and_then(|base| own_page(page, base, budget)) else { return false };
            Some(format!("{page}#{fragment}"))
        };
        let elsewhere = elsewhere.map(|link| without_tracking(&link).into_owned());
        self.links.push(Link { at, fragment: fragment.to_owned(), elsewhere });
        true
    }

    /// Whether a link stands at this place or behind it.
    pub(super) fn has_link_from(&self, at: usize) -> bool {
        self.links.last().is_some_and(|link| link.at >= at)
    }

    /// The text with its links in it.
    pub(super) fn finish(self, text: String) -> String {
        if self.links.is_empty() {
            return text;
        }
        let mut out = String::with_capacity(text.len() + self.links.len() * 2 * self.prefix.len());
        let mut from = 0;
        for link in &self.links {
            out.push_str(&text[from..link.at]);
            from = link.at;
            out.push_str(" href=\"");
            match (self.place(&link.fragment), &link.elsewhere) {
                (None, Some(elsewhere)) => escape_into(elsewhere, &mut out),
                (place, _) => {
                    write!(out, "#{}", self.prefix).expect("a String takes all");
                    escape_into(place.as_deref().unwrap_or(self.own(&link.fragment)), &mut out);
                }
            }
            out.push('"');
        }
        out.push_str(&text[from..]);
        out
    }

    /// The id that a fragment leads to: as it is written, else with its `%`s resolved, as in browsers.
    fn place(&self, fragment: &str) -> Option<String> {
        let own = self.own(fragment);
        if self.ids.contains(own) {
            return Some(own.to_owned());
        }
        let decoded = percent_decode_str(own).decode_utf8().ok()?;
        self.ids.contains(&*decoded).then(|| decoded.into_owned())
    }

    /// A value without the prefix, which it has if it was written here.
    fn own<'v>(&self, value: &'v str) -> &'v str {
        value.strip_prefix(&self.prefix).unwrap_or(value)
    }
}

/// The address in a link, made absolute, if it is the entry's own. Feeds write that relative as well, by another scheme,
/// or with another slash at its end.
fn own_page<'p>(page: &'p str, base: &Url, budget: &LinkBudget) -> Option<Cow<'p, str>> {
    if without_tracking(page) == without_tracking(without_fragment(base)) {
        return Some(Cow::Borrowed(page));
    }
    // Most links lead elsewhere, which their end tells without being resolved.
    let path = page.split('?').next().unwrap_or_default();
    if page.len() > URL_BYTES_MAX || last_segment(path) != last_segment(base.path()) {
        return None;
    }
    let is_relative = resolve::scheme(page).is_none();
    let url = if is_relative { budget.join(base, page)? } else { Url::parse(page).ok()? };
    if !is_web(url.scheme()) || !is_web(base.scheme()) || plain(&url) != plain(base) {
        return None;
    }
    Some(if is_relative { Cow::Owned(url.into()) } else { Cow::Borrowed(page) })
}

/// An address without what makes no difference to which page it is: scheme, slash at its end, tracking, fragment.
fn plain(url: &Url) -> (String, String) {
    let address = without_tracking(without_fragment(url));
    let address = address.split_once("://").map_or(&*address, |(_, address)| address);
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    (without_slash(path).to_owned(), query.to_owned())
}

fn last_segment(path: &str) -> &str {
    without_slash(path).rsplit('/').next().unwrap_or_default()
}

fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

fn without_fragment(url: &Url) -> &str {
    url.as_str().split('#').next().unwrap_or_default()
}
