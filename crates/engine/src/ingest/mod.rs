//! From a parsed document to what the store takes: compared with what is known, and only what is new or changed is
//! sanitised and carried on. Pure.
//!
//! Identity and change are judged on the text as received, so that a better sanitiser never makes old entries look new.

mod entry;
mod text;

use std::collections::HashSet;

use domain::ingest::{Document, EntryKey, Hash, Known, KnownEntries, PollHints, Traits, Validators, recognise};
use feed::{Feed, Head, Warning};

use self::text::{clean, web_url};

/// Characters of a feed's title.
const FEED_TITLE_CHARS_MAX: usize = 500;

/// A parsed document with what each entry is recognised by.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) feed: Feed,
    keys: Vec<EntryKey>,
}

impl Parsed {
    /// With the keys of its entries.
    pub(crate) fn new(feed: Feed) -> Self {
        let keys = feed.entries.iter().map(key).collect();
        Self { feed, keys }
    }

    /// The identities of all entries, each once.
    pub(crate) fn identities(&self) -> Vec<Hash> {
        let mut seen = HashSet::with_capacity(self.keys.len());
        self.keys.iter().map(|key| key.identity).filter(|identity| seen.insert(*identity)).collect()
    }
}

fn key(entry: &feed::Entry) -> EntryKey {
    let feed::identity::Traits { link, title } = feed::identity::traits(entry);
    EntryKey {
        identity: Hash::of(entry.identity.as_bytes()),
        traits: Traits { link, title },
        fingerprint: Hash::shorten(feed::identity::fingerprint(entry)),
        is_shared: entry.is_shared,
        is_cut: entry.is_cut,
    }
}

/// What a feed asks of those who poll it.
pub(crate) fn hints_of(head: &Head) -> PollHints {
    PollHints { ttl_mins: head.ttl, skips: head.skips }
}

/// Makes what the store takes, with the validators that belong to it.
pub(crate) fn document(parsed: Parsed, known: &KnownEntries, mut validators: Validators) -> Document {
    let Parsed { feed, keys } = parsed;
    if feed.warnings.contains(&Warning::Truncated) {
        // The server may have broken off: the next time the whole is asked for, not whether it has changed.
        validators.etag = None;
        validators.last_modified = None;
    }
    Document {
        title: feed.head.title.as_ref().and_then(|title| clean(&title.to_plain(), FEED_TITLE_CHARS_MAX)),
        site_url: feed.head.link.as_deref().and_then(web_url),
        icon_url: feed.head.icon.as_deref().and_then(web_url),
        logo_url: logo_of(&feed.head),
        validators,
        hints: hints_of(&feed.head),
        is_complete: feed.is_complete(),
        found: None,
        trace: None,
        entries: entries(feed, &keys, known),
        present: keys,
    }
}

/// Its larger picture: what RSS, Atom and podcasts have.
fn logo_of(head: &Head) -> Option<String> {
    let image = head.image.as_ref().and_then(|image| image.href.as_deref());
    head.logo.as_deref().or(image).and_then(web_url)
}

fn entries(feed: Feed, keys: &[EntryKey], known: &KnownEntries) -> Vec<domain::ingest::IncomingEntry> {
    let Feed { version, head, entries, .. } = feed;
    // Atom and JSON Feed say so: who writes the feed writes its entries. RSS names an editor there.
    let authors = if version.starts_with("rss") { Vec::new() } else { head.authors };
    entries
        .iter()
        .zip(keys)
        .zip(recognise(keys, known))
        .filter(|((_, key), known_as)| is_new_or_changed(key, *known_as))
        .map(|((entry, key), _)| entry::incoming(entry, *key, &authors))
        .collect()
}

/// Whether an entry is new or has changed. One that was pruned is remembered, and does not come back.
fn is_new_or_changed(key: &EntryKey, known: Option<&Known>) -> bool {
    match known {
        None => true,
        Some(Known::Pruned(..)) => false,
        Some(Known::Entry(known)) => known.fingerprint != key.fingerprint && !key.is_cut,
    }
}

#[cfg(test)]
mod tests {
    use domain::{EntryId, ingest::KnownEntry};
    use jiff::Timestamp;

    use super::*;

    const RSS: &str = r#"<rss version="2.0"><channel><title>A &amp;amp; <![CDATA[<b>B</b>]]></title><link>http://e.org/</link>
        <item><guid>1</guid><title>One</title><description>&lt;p onclick=x&gt;Hi&lt;script&gt;x&lt;/script&gt;</description></item>
        <item><guid>2</guid><title>Two</title></item>
        <item><guid>3</guid><title>Three</title></item></channel></rss>"#;

    fn parsed(text: &str) -> Parsed {
        Parsed::new(feed::parse(text.as_bytes(), &feed::Hints::default()).unwrap())
    }

    fn validators() -> Validators {
        Validators { etag: Some("e".into()), last_modified: Some("l".into()), body_hash: Some(Hash::of(b"b")) }
    }

    #[test]
    fn f3_only_new_or_changed_is_prepared() {
        let keys = parsed(RSS).keys;
        let known = |index: usize, fingerprint| {
            let known = KnownEntry {
                id: EntryId(1),
                traits: keys[index].traits,
                fingerprint,
                updated_at: None,
                changed_at: Timestamp::UNIX_EPOCH,
                is_thin: false,
            };
            (keys[index].identity, vec![Known::Entry(known)])
        };
        let known = KnownEntries::from([known(0, keys[0].fingerprint), known(1, Hash::of(b"other"))]);
        let document = document(parsed(RSS), &known, validators());
        let guids: Vec<_> = document.entries.iter().map(|entry| entry.guid.as_str()).collect();
        assert_eq!(guids, ["2", "3"]);
        assert_eq!(document.present.len(), 3);
        assert!(document.is_complete);
        assert_eq!(document.validators, validators());
    }

    #[test]
    fn f7_a_pruned_entry_does_not_come_back() {
        let pruned = |key: &EntryKey| (key.identity, vec![Known::Pruned(key.traits, key.fingerprint)]);
        let known = parsed(RSS).keys.iter().map(pruned).collect();
        let document = document(parsed(RSS), &known, validators());
        assert!(document.entries.is_empty());
        assert_eq!(document.present.len(), 3);
    }

    #[test]
    fn f3_prepared_entries_are_sanitised() {
        let document = document(parsed(RSS), &KnownEntries::new(), validators());
        assert_eq!(document.title.as_deref(), Some("A & B"));
        assert_eq!(document.site_url.as_deref(), Some("http://e.org/"));
        assert_eq!(document.entries[0].summary.as_deref(), Some("<p>Hi</p>"));
    }

    #[test]
    fn f2_cut_off_document_drops_validators() {
        let document = document(parsed(&RSS[..RSS.len() - 30]), &KnownEntries::new(), validators());
        assert!(!document.is_complete);
        assert_eq!(document.validators, Validators { body_hash: Some(Hash::of(b"b")), ..Validators::default() });
    }
}
