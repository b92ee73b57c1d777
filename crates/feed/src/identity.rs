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
    /// Of its link, where its identity is a guid and the link no front page.
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
    let is_own = has_guid && !entry.links_to_front_page;
    Traits {
        link: entry.link.as_deref().filter(|_| is_own).map_or(0, |link| hash_of(&[link])),
        title: match (title, date) {
            (None, None) => 0,
            (Some(title), None) => hash_of(&[title]),
            (title, Some(date)) => hash_of(&[title.unwrap_or_default(), &date.to_string()]),
        },
    }
}

/// A name for an entry that no other of its identity has, as far as can be told.
fn variant(entry: &Entry) -> String {
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
pub(crate) fn assign(feed: &mut Feed) {
    // A page that marks up its one post is that post's own.
    let is_page = feed.version == "hfeed";
    let fronts = [feed.head.link.as_deref(), feed.head.self_url.as_deref()].into_iter().flatten();
    let fronts: Vec<String> = fronts.filter(|_| !is_page).filter_map(page).collect();
    for entry in &mut feed.entries {
        entry.identity = of(entry);
        entry.is_shared = is_front_page(&entry.identity, &fronts);
    }
    tracking::strip(feed);
    for entry in &mut feed.entries {
        entry.links_to_front_page = entry.link.as_deref().is_some_and(|link| is_front_page(link, &fronts));
    }
    let mut shared = shared_identities(&feed.entries);
    if !shared.is_empty() {
        drop_duplicates(feed, &shared);
        shared = shared_identities(&feed.entries);
    }
    for entry in feed.entries.iter_mut().filter(|entry| entry.is_shared || shared.contains(&entry.identity)) {
        entry.variant = Some(variant(entry));
    }
}

/// The identities that several entries have. Most documents have none.
fn shared_identities(entries: &[Entry]) -> HashSet<String> {
    let mut seen = HashSet::with_capacity(entries.len());
    let again = entries.iter().filter(|entry| !seen.insert(entry.identity.as_str()));
    again.map(|entry| entry.identity.clone()).collect()
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
/// link (or the front page for one) and another title; else whatever differs in anything. Of two versions the later counts, by their own word, else
/// the first.
fn drop_duplicates(feed: &mut Feed, shared: &HashSet<String>) {
    let before = feed.entries.len();
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
    is_web
        && match PlainAddress::of(address) {
            Some(plain) => plain.is_root() || fronts.iter().any(|front| plain.is_page(front)),
            None => page(address).is_some_and(|page| !page.contains('/') || fronts.contains(&page)),
        }
}

/// Whether an address is a site's own, without any path.
pub(crate) fn is_root(address: &str) -> bool {
    is_front_page(address, &[])
}

/// The parts of an address that has nothing a parser of addresses would change: every entry's is looked at, and nearly all
/// are of this kind. It says the same as [`page`].
struct PlainAddress<'a> {
    host: &'a str,
    /// Without slashes at its end.
    path: &'a str,
    query: &'a str,
    fragment: &'a str,
}

impl<'a> PlainAddress<'a> {
    fn of(address: &'a str) -> Option<Self> {
        let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
        let is_plain = |byte: u8| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'-' | b'_' | b'~' | b'/' | b'?' | b'#' | b'=' | b'&' | b'+' | b',' | b';')
        };
        // A dot may make a segment of a path that leads back.
        let mut before = b'/';
        for byte in rest.bytes() {
            if !(is_plain(byte) || byte == b'.' && !matches!(before, b'/' | b'.')) {
                return None;
            }
            before = byte;
        }
        let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_lower = host.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-'));
        // One that ends in a number is an IPv4 address, and `xn--` is decoded.
        let is_name = host.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_lowercase()));
        let host = host.strip_prefix("www.").unwrap_or(host);
        (is_lower && is_name && !host.contains("--")).then(|| Self {
            host,
            path: path.trim_end_matches('/'),
            query,
            fragment,
        })
    }

    fn is_root(&self) -> bool {
        self.path.is_empty() && self.query.is_empty() && self.fragment.is_empty()
    }

    /// Whether it is this [`page`].
    fn is_page(&self, page: &str) -> bool {
        let mut rest = page.strip_prefix(self.host).and_then(|rest| rest.strip_prefix(self.path));
        for (mark, part) in [("/?", self.query), ("/#", self.fragment)] {
            if !part.is_empty() {
                rest = rest.and_then(|rest| rest.strip_prefix(mark)).and_then(|rest| rest.strip_prefix(part));
            }
        }
        rest.is_some_and(str::is_empty)
    }
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

    #[test]
    fn f3_plain_addresses_match_parsed_ones() {
        let hosts = ["e.org", "www.e.org", "www.www.e.org", "a-b.e.org", "e", "www.e"];
        let paths = ["", "/", "//", "/a", "/a/", "/a//b/", "/a.b/c.d", "/A_~b", "/blog/", "/a;b,c+d", "/a//"];
        let ends = ["", "?", "#", "?#", "?a=1&b=2", "?a/b/", "#x", "#x?y", "?a#b/"];
        let mut compared = 0;
        for (host, path) in hosts.iter().flat_map(|host| paths.map(|path| (host, path))) {
            for end in ends {
                let address = format!("https://{host}{path}{end}");
                let (plain, parsed) = (PlainAddress::of(&address), page(&address).expect("a page"));
                let plain = plain.unwrap_or_else(|| panic!("{address}"));
                assert!(plain.is_page(&parsed), "{address} is {parsed}");
                assert_eq!(plain.is_root(), !parsed.contains('/'), "{address}");
                assert!(!plain.is_page(&format!("{parsed}x")) && !plain.is_page(&parsed[1..]), "{address}");
                compared += 1;
            }
        }
        assert_eq!(compared, 6 * 11 * 9);
        for address in [
            "HTTP://e.org/",
            "http://E.org/",
            "http://e.org/../a",
            "http://e.org/a/./b",
            "http://e.org/a/..",
            "http://e.org/%41",
            "http://e.org:80/",
            "http://u@e.org/",
            "http://127.0.0.1/",
            "http://1.2/",
            "http://xn--e1a.org/",
            "http://e.org/a b",
            "http://e.org/é",
            "http://e.org/\t",
            "http:///a",
            "http://",
        ] {
            assert!(PlainAddress::of(address).is_none(), "{address}");
        }
    }
}
