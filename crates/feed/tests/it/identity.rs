//! By what an entry is known again (requirement F3): guid, else link, else a hash, the same in every parse.

use std::collections::HashSet;

use feed::{
    Feed, Hints, Warning,
    identity::{fingerprint, traits},
    parse,
};
use jiff::Timestamp;

use crate::fixtures;

fn read(document: &str) -> Feed {
    parse(document.as_bytes(), &Hints::default()).expect("it is a feed")
}

/// A feed of RSS with these items.
fn rss(items: &str) -> Feed {
    read(&format!("<rss version='2.0'><channel><title>Feed</title>{items}</channel></rss>"))
}

fn identities(feed: &Feed) -> Vec<&str> {
    feed.entries.iter().map(|entry| entry.identity.as_str()).collect()
}

/// By what entries are told apart that have one identity.
fn variants(feed: &Feed) -> HashSet<(&str, Option<&str>)> {
    feed.entries.iter().map(|entry| (entry.identity.as_str(), entry.variant.as_deref())).collect()
}

/// The identity of a single item with these elements.
fn identity(elements: &str) -> String {
    rss(&format!("<item>{elements}</item>")).entries.remove(0).identity
}

#[test]
fn f3_the_same_bytes_give_the_same_ids() {
    for fixture in fixtures::all() {
        let [first, second] = [(); 2].map(|()| parse(&fixture.bytes, &fixture.hints()));
        assert_eq!(first, second, "{}", fixture.name);
    }
}

#[test]
fn f3_every_identity_of_a_feed_is_its_own() {
    for fixture in fixtures::all() {
        let Ok(feed) = parse(&fixture.bytes, &fixture.hints()) else { continue };
        assert_eq!(variants(&feed).len(), feed.entries.len(), "{}", fixture.name);
        assert!(!identities(&feed).contains(&""), "{}", fixture.name);
    }
}

#[test]
fn f3_identity_is_guid_link_or_hash() {
    let (guid, link) = ("<guid isPermaLink='false'>g</guid>", "<link>http://e.org/1</link>");
    let (title, body) = ("<title>T</title>", "<description>D</description>");
    for (elements, expect) in [
        (format!("{title}{link}{guid}{body}"), "g"),
        (format!("{link}{title}{body}"), "http://e.org/1"),
        (format!("<guid> </guid>{link}{title}"), "http://e.org/1"),
        ("<guid>http://e.org/2</guid>".to_owned(), "http://e.org/2"),
        (format!("<guid>\n g \n</guid>{title}"), "g"),
    ] {
        assert_eq!(identity(&elements), expect, "{elements}");
    }
    assert!(identity(&format!("{title}{body}")).starts_with("sha256:"));
}

#[test]
fn f3_edits_keep_identity_of_linked_entries() {
    for stable in ["<link>http://e.org/1</link>", "<guid>urn:1</guid>", "<guid>urn:1</guid><link>http://e.org/1</link>"]
    {
        let before = rss(&format!("<item><title>Old</title>{stable}<description>a</description></item>"));
        let after = rss(&format!("<item><title>New</title>{stable}<description>b</description></item>"));
        assert_eq!(identities(&before), identities(&after), "{stable}");
        assert_ne!(fingerprint(&before.entries[0]), fingerprint(&after.entries[0]), "an edit is seen: {stable}");
    }
}

#[test]
fn f3_text_is_identity_of_last_resort() {
    let of = |title: &str, body: &str| identity(&format!("<title>{title}</title><description>{body}</description>"));
    assert_eq!(of("a", "b"), of("a", "b"));
    assert_ne!(of("a", "b"), of("a", "c"));
    assert_ne!(of("a", "b"), of("c", "b"));
    assert_ne!(of("ab", "c"), of("a", "bc"));
    let dated = |date: &str| identity(&format!("<title>a</title><pubDate>{date}</pubDate>"));
    assert_eq!(dated("Tue, 05 Mar 2024 08:00:00 GMT"), dated("Wed, 06 Mar 2024 08:00:00 GMT"));
}

#[test]
fn f3_identity_and_change_are_judged_before_sanitising() {
    let mut feed = rss("<item><title>T</title><description>&lt;p onclick=x&gt;a&lt;/p&gt;</description></item>");
    let entry = &mut feed.entries[0];
    let before = (entry.identity.clone(), fingerprint(entry));
    entry.sanitise();
    assert_eq!(entry.identity, before.0);
    assert_ne!(fingerprint(entry), before.1, "the fingerprint is of the text as received: take it first");
}

#[test]
fn f3_same_guid_and_link_or_title_deduplicated() {
    let item = |guid: &str, title: &str, link: &str, text: &str| {
        format!(
            "<item><guid isPermaLink='false'>{guid}</guid><title>{title}</title><link>http://e.org/{link}</link>\
             <description>{text}</description></item>"
        )
    };
    for (second, expect) in [
        (item("1", "first", "b", "y"), 2),
        (item("1", "second", "a", "y"), 2),
        (item("1", "first", "a", "x"), 2),
        (item("1", "second", "b", "x"), 3),
    ] {
        let feed = rss(&[item("1", "first", "a", "x"), item("2", "first", "a", "x"), second.clone()].concat());
        assert_eq!(feed.entries.len(), expect, "{second}");
        assert_eq!(feed.warnings.contains(&Warning::DuplicateIdentity), expect == 2, "{second}");
        assert_eq!(feed.entries[0].title.as_ref().map(|title| title.value.as_str()), Some("first"));
        assert!(feed.is_complete());
    }
}

#[test]
fn f3_later_version_in_document_wins() {
    let entry = |updated: &str, text: &str| {
        format!("<entry><id>urn:1</id><title>T</title><updated>{updated}</updated><summary>{text}</summary></entry>")
    };
    for (versions, expect) in [
        ([("2026-03-01T00:00:00Z", "old"), ("2026-03-02T00:00:00Z", "new")], "new"),
        ([("2026-03-02T00:00:00Z", "new"), ("2026-03-01T00:00:00Z", "old")], "new"),
        ([("", "first"), ("2026-03-01T00:00:00Z", "second")], "first"),
    ] {
        let entries: String = versions.iter().map(|(updated, text)| entry(updated, text)).collect();
        let feed = read(&format!("<feed xmlns='http://www.w3.org/2005/Atom'>{entries}</feed>"));
        let texts: Vec<&str> =
            feed.entries.iter().filter_map(|entry| Some(entry.summary.as_ref()?.value.as_str())).collect();
        assert_eq!(texts, [expect]);
    }
}

/// The day on which the entry of this number was published, of 28.
fn dated(n: usize) -> String {
    format!("<pubDate>2026-03-{:02}</pubDate>", n % 28 + 1)
}

#[test]
fn f3_no_entry_lost_to_shared_identity() {
    type Item = fn(usize) -> String;
    let kinds: [(&str, Item); 12] = [
        ("the front page", |n| format!("<title>Post {n}</title><link>http://e.org/</link>")),
        ("the front page, by its text", |n| format!("<link>http://e.org/</link><description>{n}</description>")),
        ("the front page, with one title", |n| {
            format!("<title>T</title><link>http://e.org/</link><description>{n}</description>")
        }),
        ("the front page as guid and link", |n| {
            format!("<title>Post {n}</title><link>http://e.org/</link><guid>http://e.org/</guid>")
        }),
        ("a link", |n| format!("<title>Post {n}</title><link>http://e.org/news</link>")),
        ("a guid", |n| format!("<title>Post {n}</title><link>http://e.org/{n}</link><guid>0</guid>")),
        ("a guid and the front page", |n| {
            format!("<title>Post {n}</title><link>http://www.e.org</link><guid>0</guid><description>{n}</description>")
        }),
        ("a guid and the front page, with tracking", |n| {
            format!("<title>Post {n}</title><link>http://e.org/?utm_source=rss&amp;utm_term={n}</link><guid>0</guid>")
        }),
        ("a text", |n| format!("<title>T</title>{}", dated(n))),
        ("a text without a title", |n| format!("<description>D</description>{}", dated(n))),
        ("a link, without a title", |n| {
            format!("<link>http://e.org/news</link><description>D</description>{}", dated(n))
        }),
        ("the front page, without a title", |n| {
            format!("<link>http://e.org/</link><description>D</description>{}", dated(n))
        }),
    ];
    for (kind, item) in kinds {
        let count = if item(0).contains("pubDate") { 28 } else { 99 };
        let items = |numbers: &mut dyn Iterator<Item = usize>| -> String {
            numbers.map(|n| format!("<item>{}</item>", item(n))).collect()
        };
        let feed = rss(&items(&mut (0..count)));
        assert_eq!((feed.entries.len(), variants(&feed).len()), (count, count), "{kind}");
        let again = rss(&items(&mut (0..count).rev()));
        assert_eq!(variants(&again), variants(&feed), "{kind}: whatever the order");
        let twice = rss(&items(&mut (0..count).chain(0..count)));
        assert_eq!(twice.entries.len(), count, "{kind}: what is twice the same counts once");
    }
}

/// What else stands in a document makes no difference to what an entry is known by.
#[test]
fn f3_identity_depends_on_entry_alone() {
    let titled = |n: usize| format!("<item><title>Post {n}</title><link>http://e.org/news</link></item>");
    let untitled = |n: usize| format!("<item><description>All is well</description>{}</item>", dated(n));
    let marks = |feed: &Feed| -> Vec<_> {
        feed.entries.iter().map(|entry| (entry.identity.clone(), traits(entry), fingerprint(entry))).collect()
    };
    for item in [&titled as &dyn Fn(usize) -> String, &untitled] {
        let alone: Vec<_> = (0..5).flat_map(|n| marks(&rss(&item(n)))).collect();
        for first in 0..5 {
            for last in first..5 {
                let window = rss(&(first..=last).map(item).collect::<String>());
                assert_eq!(marks(&window), alone[first..=last], "{first} to {last}");
            }
        }
    }
}

#[test]
fn f3_thousand_entries_without_guid_stay_apart() {
    type Item = fn(usize) -> String;
    let kinds: [(&str, Item); 4] = [
        ("titles", |n| format!("<item><title>Post {n}</title></item>")),
        ("descriptions", |n| format!("<item><title>Post</title><description>Words {n}</description></item>")),
        ("links", |n| format!("<item><title>Post</title><link>http://e.org/{n}</link></item>")),
        ("enclosures", |n| format!("<item><enclosure url='http://e.org/{n}.mp3' type='audio/mpeg'/></item>")),
    ];
    for (kind, item) in kinds {
        let feed = rss(&(0..1000).map(item).collect::<String>());
        let distinct: HashSet<&str> = identities(&feed).into_iter().collect();
        assert_eq!((feed.entries.len(), distinct.len()), (1000, 1000), "{kind}");
        let again = rss(&(0..1000).rev().map(item).collect::<String>());
        assert_eq!(identities(&again).into_iter().collect::<HashSet<_>>(), distinct, "{kind}: whatever the order");
    }
}

#[test]
fn f3_truncated_entries_need_whole_identity() {
    let whole = "<rss><channel><item><guid>1</guid><link>http://e.org/1</link></item>";
    let whole_without_guid = "<rss><channel><item><link>http://e.org/1</link></item>";
    for (head, tail, expect) in [
        (whole, "<item><guid>2</guid><title>Ha", &["1", "2"][..]),
        (whole, "<item><title>T</title><guid>2</guid><link>http://e.or", &["1", "2"]),
        // Half a guid, or none yet where the others have one.
        (whole, "<item><link>http://e.org/2</link><guid>2", &["1"]),
        (whole, "<item><link>http://e.org/2</link><guid isPermaLink='fal", &["1"]),
        (whole, "<item><link>http://e.org/2</link><title>T</title>", &["1"]),
        (whole, "<item><title>T</title><description>D", &["1"]),
        (whole_without_guid, "<item><link>http://e.org/2</link><title>Ha", &["http://e.org/1", "http://e.org/2"]),
        (whole_without_guid, "<item><title>T</title><link>http://e.org/2", &["http://e.org/1"]),
        (whole_without_guid, "<item><title>T</title><link>http://e.org/2</lin", &["http://e.org/1"]),
        (whole_without_guid, "<item><link>http://e.org/2</link><guid>2", &["http://e.org/1"]),
        (whole_without_guid, "<item><title>T</title>", &["http://e.org/1"]),
    ] {
        let feed = read(&format!("{head}{tail}"));
        assert_eq!(identities(&feed), expect, "{tail}");
        assert!(!feed.is_complete(), "{tail}");
    }
}

/// Cut anywhere, a feed has no entry that the whole feed has not. Only of a first entry with a link can nobody know
/// whether a guid was to follow.
#[test]
fn f3_truncation_never_invents_identities() {
    for name in ["rss-20.xml", "atom-10.xml", "rss-10-rdf.xml", "json-10.json", "json-11.json", "youtube-like-atom.xml"]
    {
        let fixture = fixtures::one(name);
        let whole = parse(&fixture.bytes, &fixture.hints()).expect("it is a feed");
        for end in 0..fixture.bytes.len() {
            let Ok(cut) = parse(&fixture.bytes[..end], &fixture.hints()) else { continue };
            for (index, entry) in cut.entries.iter().enumerate() {
                let is_first = index == 0 && whole.entries[0].link.as_ref() == Some(&entry.identity);
                let is_known = whole.entries.iter().any(|known| known.identity == entry.identity);
                assert!(is_known || is_first, "{name} cut at {end}: {}", entry.identity);
            }
        }
    }
}

#[test]
fn f3_sort_time_never_after_first_seen() {
    let at = |text: &str| text.parse::<Timestamp>().expect("an instant");
    let now = at("2024-03-05T12:00:00Z");
    for (elements, sort_at, published) in [
        ("<pubDate>Tue, 05 Mar 2024 08:00:00 GMT</pubDate>", "2024-03-05T08:00:00Z", Some("2024-03-05T08:00:00Z")),
        ("<pubDate>Fri, 01 Jan 2999 00:00:00 GMT</pubDate>", "2024-03-05T12:00:00Z", Some("2999-01-01T00:00:00Z")),
        ("<dc:date>2024-03-01</dc:date>", "2024-03-01T00:00:00Z", None),
        ("", "2024-03-05T12:00:00Z", None),
    ] {
        let feed = rss(&format!("<item><guid>1</guid>{elements}</item>"));
        assert_eq!(feed.entries[0].sort_at(now), at(sort_at), "{elements}");
        assert_eq!(feed.entries[0].published, published.map(at), "{elements}");
    }
}
