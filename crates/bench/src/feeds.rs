//! Feeds as the web publishes them, made from a seed: the same in every run and on every machine.
//!
//! Each [`Kind`] imitates one family of publishers, in its choice of elements and in how it writes HTML. Sizes go from
//! 50 KB to 2 MB, languages from ASCII to three bytes a character.

mod atom;
mod html;
mod random;
mod rss;
mod words;

use encoding_rs::{Encoding, UTF_8, UTF_16LE, WINDOWS_1252};

use self::{
    random::Random,
    words::{LANGUAGES, Language},
};

/// Where the feeds say that they are from.
pub(crate) const FEED_URL: &str = "https://example.org/blog/feed.xml";

/// The sizes that each kind is made in.
const SIZES_BYTES: [usize; 4] = [50_000, 180_000, 600_000, 2_000_000];

/// A feed that was made.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(crate) kind: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) encoding: &'static Encoding,
    /// How many entries are in it.
    pub(crate) entries: usize,
}

/// A family of publishers.
struct Kind {
    name: &'static str,
    encoding: &'static Encoding,
    head: fn(&mut Draft),
    entry: fn(&mut Draft),
    tail: &'static str,
}

const KINDS: [Kind; 10] = [
    Kind { name: "RSS, HTML escaped", encoding: UTF_8, head: rss::head, entry: rss::escaped, tail: rss::TAIL },
    Kind { name: "RSS, CDATA, dc, wfw", encoding: UTF_8, head: rss::head, entry: rss::weblog, tail: rss::TAIL },
    Kind {
        name: "RSS podcast, itunes",
        encoding: UTF_8,
        head: rss::podcast_head,
        entry: rss::episode,
        tail: rss::TAIL,
    },
    Kind { name: "RSS news, media", encoding: UTF_8, head: rss::head, entry: rss::news, tail: rss::TAIL },
    Kind { name: "RDF, dc, content", encoding: UTF_8, head: rss::rdf_head, entry: rss::rdf_item, tail: rss::RDF_TAIL },
    Kind { name: "Atom, type=html", encoding: UTF_8, head: atom::head, entry: atom::html, tail: atom::TAIL },
    Kind { name: "Atom, type=xhtml", encoding: UTF_8, head: atom::head, entry: atom::xhtml, tail: atom::TAIL },
    Kind { name: "Atom videos, media:group", encoding: UTF_8, head: atom::head, entry: atom::video, tail: atom::TAIL },
    Kind { name: "RSS in windows-1252", encoding: WINDOWS_1252, head: rss::head, entry: rss::escaped, tail: rss::TAIL },
    Kind { name: "RSS in UTF-16", encoding: UTF_16LE, head: rss::head, entry: rss::weblog, tail: rss::TAIL },
];

/// Every kind in every size; the narrow and the wide encoding, which are rare, only in the two middle ones.
pub(crate) fn generate() -> Vec<Generated> {
    let mut feeds = Vec::new();
    for (kind_index, kind) in KINDS.iter().enumerate() {
        let sizes = if kind.encoding == UTF_8 { &SIZES_BYTES[..] } else { &SIZES_BYTES[1..3] };
        for (size_index, size_bytes) in sizes.iter().enumerate() {
            let seed = (kind_index * SIZES_BYTES.len() + size_index) as u64;
            feeds.push(make(kind, *size_bytes, seed));
        }
    }
    feeds
}

/// A weblog in RSS with so many entries; fifty of them are about 92 KB.
pub(crate) fn weblog(entries: usize, seed: u64) -> Vec<u8> {
    const TEXT_BYTES: usize = 900;
    let language = &LANGUAGES[0];
    let mut draft = Draft { out: String::new(), random: Random::new(seed), language, entries: 0, declared: "UTF-8" };
    rss::head(&mut draft);
    for _ in 0..entries {
        draft.entries += 1;
        rss::escaped_of(&mut draft, TEXT_BYTES);
    }
    draft.out.push_str(rss::TAIL);
    draft.out.into_bytes()
}

/// What a hub sends of a topic: an Atom document of a KB and a half with one entry, which no other number has.
pub(crate) fn pushed(number: usize, topic: &str, hub: &str) -> Vec<u8> {
    let (language, random) = (&LANGUAGES[0], Random::new(number as u64));
    let mut draft = Draft { out: String::new(), random, language, entries: 0, declared: "UTF-8" };
    atom::pushed(&mut draft, number, topic, hub);
    draft.out.into_bytes()
}

fn make(kind: &Kind, size_bytes: usize, seed: u64) -> Generated {
    let mut random = Random::new(seed);
    let narrow = kind.encoding == WINDOWS_1252;
    let languages: Vec<&Language> = LANGUAGES.iter().filter(|language| !narrow || language.is_western).collect();
    let language = languages[random.below(languages.len())];
    let mut draft = Draft { out: String::new(), random, language, entries: 0, declared: declared(kind.encoding) };
    (kind.head)(&mut draft);
    let units = if kind.encoding == UTF_16LE { 2 } else { 1 };
    while draft.out.len() * units < size_bytes {
        draft.entries += 1;
        (kind.entry)(&mut draft);
    }
    draft.out.push_str(kind.tail);
    Generated {
        kind: kind.name,
        bytes: encode(&draft.out, kind.encoding),
        encoding: kind.encoding,
        entries: draft.entries,
    }
}

fn declared(encoding: &'static Encoding) -> &'static str {
    if encoding == UTF_16LE { "UTF-16" } else { encoding.name() }
}

fn encode(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    if encoding == UTF_16LE {
        return std::iter::once('\u{feff}' as u16).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    }
    encoding.encode(text).0.into_owned()
}

/// A feed while it is being made.
struct Draft {
    out: String,
    random: Random,
    language: &'static Language,
    entries: usize,
    /// The encoding that its declaration names.
    declared: &'static str,
}

impl Draft {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// When the entry was published: going back a few hours with each, from a fixed day.
    fn published(&self) -> jiff::Timestamp {
        const NEWEST_SECS: i64 = 1_735_689_600;
        let back_secs = i64::try_from(self.entries).unwrap_or(0) * 20_387;
        jiff::Timestamp::from_second(NEWEST_SECS - back_secs).expect("a time of this century")
    }

    fn rfc822(&self) -> String {
        self.published().strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
    }

    fn title(&mut self) -> String {
        let count = self.random.between(3, 10);
        let mut title = words::phrase(self.language, &mut self.random, count);
        if self.random.one_in(6) {
            title.push_str(" & ");
            title.push_str(&words::phrase(self.language, &mut self.random, 2));
        }
        title
    }

    fn slug(&self) -> String {
        format!("https://example.org/blog/{}/entry-{}", self.published().strftime("%Y/%m"), 100_000 - self.entries)
    }
}

/// Escapes a text for XML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Escapes a text for XML as those programs do that escape quotes too.
fn escape_all(text: &str) -> String {
    escape(text).replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_feeds_have_fixed_count_and_sizes() {
        let feeds = generate();
        assert!(feeds.len() >= 30);
        for (feed, again) in feeds.iter().zip(generate()) {
            assert!(feed.bytes == again.bytes, "{}", feed.kind);
            assert!((50_000..2_100_000).contains(&feed.bytes.len()), "{}: {}", feed.kind, feed.bytes.len());
        }
    }

    #[test]
    fn each_push_brings_one_entry_of_its_own() {
        let read = |number| {
            let bytes = pushed(number, FEED_URL, "https://hub.example.org/");
            assert!((1000..4000).contains(&bytes.len()), "{}", bytes.len());
            let feed = feed::parse(&bytes, &feed::Hints { url: Some(FEED_URL), ..feed::Hints::default() }).unwrap();
            assert_eq!(feed.head.self_url.as_deref(), Some(FEED_URL));
            let [entry] = feed.entries.as_slice() else { panic!("{} entries", feed.entries.len()) };
            assert!(!entry.content.is_empty() && entry.title.is_some());
            entry.guid.clone()
        };
        assert_ne!(read(1), read(2));
    }
}
