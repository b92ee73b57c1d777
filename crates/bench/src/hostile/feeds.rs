//! Entries and values that cost more than they weigh: short markup that becomes long lists, values that are looked for
//! in such lists, texts that grow, and a base URL that every short link is made longer by.

use super::{CHANNEL_CLOSE, CHANNEL_OPEN, Case, RSS_CLOSE, RSS_OPEN, filled, join};

pub(super) const CASES: [Case; 29] = [
    Case { name: "items-10k-guids.xml", make: || items(10_000, |n| format!("<item><guid>{n}</guid></item>")) },
    Case { name: "items-10k-one-of-each.xml", make: || items(10_000, one_of_each) },
    Case { name: "items-10k-categories-1k.xml", make: || items(10_000, |n| categories(n, 1000)) },
    Case { name: "items-categories-256.xml", make: || items(2_600, |n| categories(n, 256)) },
    Case { name: "items-10k-keywords-256.xml", make: || items(10_000, keywords) },
    Case { name: "items-unclosed.xml", make: || filled(CHANNEL_OPEN, "<item><guid>1", "") },
    Case { name: "items-in-items.xml", make: || filled("", "<item>", "") },
    Case { name: "keywords-flood.xml", make: keywords_flood },
    Case { name: "categories-flood.xml", make: || values(600_000, |n| format!("<category>{n}</category>")) },
    Case { name: "authors-flood.xml", make: || values(500_000, |n| format!("<dc:creator>{n}</dc:creator>")) },
    Case { name: "hubs-100k.xml", make: || items(100_000, |n| format!("<link rel=\"hub\" href=\"http://h/{n}\"/>")) },
    Case { name: "links-flood.xml", make: || filled(&item(""), "<link rel=\"alternate\" type=\"x\" href=\"y\"/>", "") },
    Case { name: "links-empty-flood.xml", make: || filled(&item(""), "<link/>", "") },
    Case { name: "enclosures-flood.xml", make: || filled(&item(""), "<enclosure url=\"a\"/>", "") },
    Case { name: "media-flood.xml", make: || filled(&item(""), "<media:content url='a'/>", "") },
    Case { name: "dates-bad.xml", make: || values(350_000, |n| format!("<pubDate>32 Foo 2004 {n}:99 XYZ</pubDate>")) },
    Case {
        name: "dates-long.xml",
        make: || filled(&item(""), "<pubDate>12 January 2004 10:00 (Europe/Paris X) Y</pubDate>", ""),
    },
    Case { name: "guids-4MB-links.xml", make: guids_4mb },
    Case { name: "attributes-6x.xml", make: attributes_growing },
    Case { name: "xhtml-cdata-6x.xml", make: xhtml_cdata },
    Case { name: "text-full-then-more.xml", make: text_full_then_more },
    Case { name: "text-in-pieces.xml", make: || filled(RSS_OPEN, "x<b/>", RSS_CLOSE) },
    Case { name: "base-1MB-per-entry.xml", make: base_per_entry },
    Case { name: "base-8KB-links.xml", make: base_links },
    Case { name: "base-8KB-links-in-html.xml", make: base_links_in_html },
    Case { name: "base-at-every-element.xml", make: || filled(&item("<x>"), "<a xml:base='b/'/>", "") },
    Case { name: "references-numeric.xml", make: || filled(RSS_OPEN, "&#1;", RSS_CLOSE) },
    Case { name: "references-cut.xml", make: || filled(RSS_OPEN, "&#", RSS_CLOSE) },
    Case { name: "controls.xml", make: || filled(RSS_OPEN, "\u{1}&lt;", RSS_CLOSE) },
];

/// A feed whose first entry is open.
fn item(more: &str) -> String {
    format!("{CHANNEL_OPEN}<item><guid>1</guid>{more}")
}

/// Values in one entry, each another.
fn values(count: usize, value: impl Fn(usize) -> String) -> Vec<u8> {
    let values: String = (0..count).map(value).collect();
    join(&[&item(""), &values, "</item>", CHANNEL_CLOSE])
}

fn items(count: usize, item: impl Fn(usize) -> String) -> Vec<u8> {
    let items: String = (0..count).map(item).collect();
    join(&[CHANNEL_OPEN, &items, CHANNEL_CLOSE])
}

/// One value for every list that an entry has.
fn one_of_each(n: usize) -> String {
    format!(
        "<item><guid>{n}</guid><link>a</link><author>a</author><contributor>a</contributor><category>a</category>\
         <enclosure url='a'/><media:content url='a'/><media:thumbnail url='a'/><content>a</content></item>"
    )
}

fn categories(entry: usize, count: usize) -> String {
    let categories: String = (0..count).map(|n| format!("<category>{n}</category>")).collect();
    format!("<item><guid>{entry}</guid>{categories}</item>")
}

fn words() -> String {
    (0..256).map(|n| format!("{n:02x}")).collect::<Vec<_>>().join(",")
}

fn keywords(entry: usize) -> String {
    format!("<item><guid>{entry}</guid><itunes:keywords>{}</itunes:keywords></item>", words())
}

/// A full list of tags, and then words that are not in it.
fn keywords_flood() -> Vec<u8> {
    let first = format!("<itunes:keywords>{}</itunes:keywords>", words());
    let more = format!("<itunes:keywords>{}</itunes:keywords>", "z,".repeat(256));
    filled(&item(&first), &more, CHANNEL_CLOSE)
}

fn guids_4mb() -> Vec<u8> {
    let long = "x".repeat((4 << 20) - 100);
    items(3, |n| format!("<item><guid>http://e/{n}{long}</guid></item>"))
}

/// Attributes of markup in a text, whose quotes are written as references.
fn attributes_growing() -> Vec<u8> {
    let quotes = "\"".repeat(4_000_000);
    items(4, |n| format!("<item><guid>{n}</guid><description><b a='{quotes}'>x</b>y</description></item>"))
}

fn xhtml_cdata() -> Vec<u8> {
    let open = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry><id>1</id><content type=\"xhtml\"><![CDATA[";
    filled(open, "\"", "]]></content></entry></feed>")
}

/// End tags, and text, after a value that has reached its limit.
fn text_full_then_more() -> Vec<u8> {
    let open = format!("{RSS_OPEN}{}{}", "<b>".repeat(100), "x".repeat(5 << 20));
    join(&[&open, &"</b>y".repeat(100), RSS_CLOSE])
}

fn base(bytes: usize) -> String {
    format!("http://e/{}", "a/".repeat(bytes / 2))
}

/// Each entry has a base of its own, as long as that of the feed.
fn base_per_entry() -> Vec<u8> {
    let entries: String =
        (0..10_000).map(|n| format!("<entry xml:base='{n}'><id>{n}</id><title>x</title></entry>")).collect();
    join(&["<feed xml:base='", &base(1_000_000), "'>", &entries, "</feed>"])
}

fn base_links() -> Vec<u8> {
    let entries: String = (0..500)
        .map(|n| format!("<entry><id>{n}</id>{}</entry>", "<link rel='related' href='a'/>".repeat(256)))
        .collect();
    join(&["<feed xml:base='", &base(8_000), "'>", &entries, "</feed>"])
}

fn base_links_in_html() -> Vec<u8> {
    let open = format!("<rss xml:base='{}'><channel><item><guid>1</guid><description><![CDATA[", base(8_000));
    join(&[&open, &"<a href=b>c</a>".repeat(200_000), "]]>", RSS_CLOSE])
}
