//! By what an entry is known again, and whether it has changed: both judged on the text as received, before it is
//! sanitised, so that a better sanitiser never makes old entries look new.
//!
//! The identity is the guid, else the link, else a hash of title and content. It says nothing of what else the document
//! holds, and so it is the same in every parse; but some feeds give it to several entries. What tells those apart are
//! their [`Traits`], and who compares documents with what is stored needs both.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};
use url::Url;

use crate::{
    model::{Entry, Feed, Text, Warning},
    tracking,
};

/// What tells entries of one identity apart: hashes, 0 for what an entry has not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Traits {
    /// Of its link, where its identity is a guid.
    pub link: i64,
    /// Of its title; and of its date as well, where it has no guid.
    pub title: i64,
}

/// What tells an entry from others of its identity.
pub fn traits(entry: &Entry) -> Traits {
    let has_guid = guid(entry).is_some();
    let title = entry.title.as_ref().map(|title| title.value.trim()).filter(|title| !title.is_empty());
    let date = || entry.published.or(entry.created).or(entry.updated).map(jiff::Timestamp::as_second);
    let date = if has_guid { None } else { date() };
    // What all have tells nobody apart.
    let is_own = |link: &&str| has_guid && !(entry.is_shared && page(link) == page(&entry.identity));
    Traits {
        link: entry.link.as_deref().filter(is_own).map_or(0, |link| hash_of(&[link])),
        title: title.map_or(0, |title| match date {
            None => hash_of(&[title]),
            Some(date) => hash_of(&[title, &date.to_string()]),
        }),
    }
}

/// A name for an entry that no other of its identity has, as far as can be told.
pub fn variant(entry: &Entry) -> String {
    let Traits { link, title } = traits(entry);
    let mut hash = Fingerprint::default();
    hash.0.update(link.to_le_bytes());
    hash.0.update(title.to_le_bytes());
    hash.0.update(fingerprint(entry));
    hash.hex()[..16].to_owned()
}

/// A hash of all that a reader sees of an entry. Another hash means that the entry has changed.
pub fn fingerprint(entry: &Entry) -> [u8; 32] {
    let mut hash = Fingerprint::default();
    hash.text(entry.title.as_ref());
    hash.part(entry.link.as_deref().unwrap_or_default());
    hash.body(entry);
    hash.attachments(entry);
    hash.0.finalize().into()
}

/// Gives every entry its identity, takes from links what only follows people, and names those that share an identity. An
/// entry that stands twice in the document is kept once.
pub(crate) fn settle(feed: &mut Feed) {
    // A page that marks up its one post is that post's own.
    let is_page = feed.version == "hfeed";
    let fronts = [feed.head.link.as_deref(), feed.head.self_url.as_deref()].into_iter().flatten();
    let fronts: Vec<String> = fronts.filter(|_| !is_page).filter_map(page).collect();
    let mut counts: HashMap<String, usize> = HashMap::with_capacity(feed.entries.len());
    for entry in &mut feed.entries {
        entry.identity = of(entry);
        entry.is_shared = is_front_page(&entry.identity, &fronts);
        *counts.entry(entry.identity.clone()).or_default() += 1;
    }
    tracking::strip(feed);
    if counts.len() < feed.entries.len() {
        drop_doubles(feed, &mut counts);
    }
    let shares = |entry: &Entry| entry.is_shared || counts.get(&entry.identity).is_some_and(|count| *count > 1);
    for entry in feed.entries.iter_mut().filter(|entry| shares(entry)) {
        entry.variant = Some(variant(entry));
    }
}

/// The identity of an entry within its feed: its guid, else its link, else a hash of its title and content.
fn of(entry: &Entry) -> String {
    let link = entry.link.as_deref().filter(|link| !link.trim().is_empty());
    if let Some(stated) = guid(entry).or(link) {
        return stated.to_owned();
    }
    let mut hash = Fingerprint::default();
    hash.text(entry.title.as_ref());
    hash.body(entry);
    if entry.title.is_none() && entry.content.is_empty() && entry.summary.is_none() {
        // A picture or a file with no word to it.
        hash.attachments(entry);
    }
    format!("sha256:{}", hash.hex())
}

fn guid(entry: &Entry) -> Option<&str> {
    entry.guid.as_deref().filter(|guid| !guid.trim().is_empty())
}

/// Of entries that share an identity, keeps those that are another entry: under a guid of its own, whatever has another
/// link and another title; else whatever differs in anything. Of two versions the later counts, by their own word, else
/// the first.
fn drop_doubles(feed: &mut Feed, counts: &mut HashMap<String, usize>) {
    let before = feed.entries.len();
    let shared: HashSet<String> =
        counts.iter().filter(|(_, count)| **count > 1).map(|(identity, _)| identity.clone()).collect();
    let mut kept: Vec<Entry> = Vec::with_capacity(before);
    let mut seen: HashMap<(String, Trait), usize> = HashMap::new();
    for entry in feed.entries.drain(..) {
        if !shared.contains(&entry.identity) {
            kept.push(entry);
            continue;
        }
        let keys: Vec<(String, Trait)> =
            traits_in_document(&entry).into_iter().map(|it| (entry.identity.clone(), it)).collect();
        let first = keys.iter().find_map(|key| seen.get(key)).copied();
        for key in keys {
            seen.entry(key).or_insert(first.unwrap_or(kept.len()));
        }
        match first {
            None => kept.push(entry),
            Some(first) => {
                *counts.entry(entry.identity.clone()).or_default() -= 1;
                if entry.updated > kept[first].updated && kept[first].updated.is_some() {
                    kept[first] = entry;
                }
            }
        }
    }
    feed.entries = kept;
    if feed.entries.len() < before {
        feed.warnings.push(Warning::DuplicateIdentity);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Trait {
    Link(i64),
    Title(i64),
    All(Traits, [u8; 32]),
}

/// By which of its traits an entry is the same as another of its identity in one document.
fn traits_in_document(entry: &Entry) -> Vec<Trait> {
    let traits = traits(entry);
    let mut found = vec![Trait::All(traits, fingerprint(entry))];
    if guid(entry).is_some() && !entry.is_shared {
        found.extend((traits.link != 0).then_some(Trait::Link(traits.link)));
        found.extend((traits.title != 0).then_some(Trait::Title(traits.title)));
    }
    found
}

/// Whether an address is a front page: that of the feed's site or of any other.
fn is_front_page(address: &str, fronts: &[String]) -> bool {
    let is_web = address.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("http"));
    is_web && page(address).is_some_and(|page| !page.contains('/') || fronts.contains(&page))
}

/// Whether an address is a site's own, without any path.
pub(crate) fn is_root(address: &str) -> bool {
    is_front_page(address, &[])
}

/// A page's address without what makes no difference: the scheme, `www.`, a slash at its end.
fn page(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let host = url.host_str()?;
    let mut page = host.strip_prefix("www.").unwrap_or(host).to_owned();
    if let Some(port) = url.port() {
        page.push(':');
        page.push_str(&port.to_string());
    }
    page.push_str(url.path().trim_end_matches('/'));
    for (mark, part) in [("/?", url.query()), ("/#", url.fragment())] {
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            page.push_str(mark);
            page.push_str(part);
        }
    }
    Some(page)
}

/// A quarter of a hash, odd and so never 0.
fn hash_of(parts: &[&str]) -> i64 {
    let mut hash = Fingerprint::default();
    for part in parts {
        hash.part(part);
    }
    let mut short = [0; 8];
    short.copy_from_slice(&hash.0.finalize()[..8]);
    i64::from_le_bytes(short) | 1
}

#[derive(Default)]
struct Fingerprint(Sha256);

impl Fingerprint {
    /// Each part with its length, so that "ab" + "c" and "a" + "bc" differ.
    fn part(&mut self, part: &str) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn text(&mut self, text: Option<&Text>) {
        self.part(text.map_or("", |text| text.value.as_str()));
    }

    fn body(&mut self, entry: &Entry) {
        self.text(entry.summary.as_ref());
        for content in &entry.content {
            self.part(&content.value);
        }
    }

    fn attachments(&mut self, entry: &Entry) {
        for enclosure in &entry.enclosures {
            self.part(&enclosure.href);
        }
        for media in &entry.media_content {
            self.part(&media.url);
        }
    }

    fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_which_addresses_are_front_pages() {
        let fronts = [page("https://www.e.org/blog/").expect("a page")];
        for (address, expect) in [
            ("https://e.org", true),
            ("http://e.org/", true),
            ("https://other.example/", true),
            ("http://e.org/blog", true),
            ("https://e.org/blog/", true),
            ("https://e.org/blog/#post-1", false),
            ("https://e.org/?p=1", false),
            ("https://e.org/blog/1", false),
            ("https://e.org:8080/blog", false),
            ("urn:1", false),
            ("http", false),
            ("", false),
        ] {
            assert_eq!(is_front_page(address, &fronts), expect, "{address}");
        }
    }
}
