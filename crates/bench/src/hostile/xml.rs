//! Markup against the scanner, which must never look twice for what is not there, and against the walk, which looks
//! through its open elements, prefixes and entities.

use super::{CHANNEL_CLOSE, CHANNEL_OPEN, Case, RSS_CLOSE, RSS_OPEN, filled, join};

pub(super) const CASES: [Case; 26] = [
    Case { name: "quotes-unclosed.xml", make: || filled(RSS_OPEN, "<a b=\"c d='e ", RSS_CLOSE) },
    Case { name: "quotes-unclosed-one-tag.xml", make: || filled(&open("<a "), "b=\"c d='e f=", RSS_CLOSE) },
    Case { name: "quotes-and-lt.xml", make: || filled(CHANNEL_OPEN, "<item a='<", CHANNEL_CLOSE) },
    Case { name: "tags-unclosed.xml", make: || filled(RSS_OPEN, "<a ", RSS_CLOSE) },
    Case { name: "end-tags-unmatched-at-depth.xml", make: || filled(&deep("b"), "</x>", RSS_CLOSE) },
    Case { name: "end-tags-too-deep.xml", make: || filled(&deep_and_deeper(), "</x>", RSS_CLOSE) },
    Case { name: "end-tags-alike.xml", make: end_tags_alike },
    Case { name: "end-tags-after-warnings.xml", make: end_tags_after_warnings },
    Case { name: "tags-alternating.xml", make: || filled(RSS_OPEN, "<b></i>", RSS_CLOSE) },
    Case { name: "doctypes-unclosed.xml", make: || filled("", "<!DOCTYPE [>", CHANNEL_OPEN) },
    Case { name: "doctypes-quoted.xml", make: || filled("", "<!DOCTYPE ['>", CHANNEL_OPEN) },
    Case { name: "doctypes-inside.xml", make: || filled(RSS_OPEN, "<!DOCTYPE [\"> ", RSS_CLOSE) },
    Case { name: "doctypes-with-entities.xml", make: doctypes_with_entities },
    Case { name: "doctypes-with-long-entities.xml", make: doctypes_with_long_entities },
    Case { name: "entities-256-referred-to.xml", make: entities_referred_to },
    Case { name: "instructions-unclosed.xml", make: || filled(RSS_OPEN, "<?x ", RSS_CLOSE) },
    Case { name: "comments.xml", make: || filled(RSS_OPEN, "<!---->", RSS_CLOSE) },
    Case { name: "comments-nearly-closed.xml", make: || filled(RSS_OPEN, "<!--->", RSS_CLOSE) },
    Case { name: "cdata-empty.xml", make: || filled(RSS_OPEN, "<![CDATA[]]>", RSS_CLOSE) },
    Case { name: "sections-unknown.xml", make: || filled(RSS_OPEN, "<![x[", RSS_CLOSE) },
    Case { name: "xmlns-at-every-depth.xml", make: namespaces_at_every_depth },
    Case { name: "prefixes-256-looked-up.xml", make: prefixes_looked_up },
    Case { name: "prefixes-long-looked-up.xml", make: prefixes_long },
    Case { name: "transparent-at-depth.xml", make: || filled(&"<a>".repeat(120), "<b/>", CHANNEL_OPEN) },
    Case { name: "names-16MB.xml", make: || filled(&open("<"), "a", RSS_CLOSE) },
    Case { name: "elements-empty.xml", make: || filled(CHANNEL_OPEN, "<a/>", CHANNEL_CLOSE) },
];

fn open(more: &str) -> String {
    format!("{RSS_OPEN}{more}")
}

/// As many open elements as are kept.
fn deep(name: &str) -> String {
    open(&format!("<{name}>").repeat(128))
}

fn deep_and_deeper() -> String {
    open(&"<b>".repeat(4_000_000))
}

/// Names that differ only in their last letter from those of the open elements.
fn end_tags_alike() -> Vec<u8> {
    let alike = "a".repeat(1000);
    filled(&deep(&format!("{alike}b")), &format!("</{alike}c>"), RSS_CLOSE)
}

fn end_tags_after_warnings() -> Vec<u8> {
    let dates: String = (0..31).map(|n| format!("<pubDate>no date {n}</pubDate>")).collect();
    filled(&format!("{CHANNEL_OPEN}{dates}<item><guid>1</guid>"), "</x>", CHANNEL_CLOSE)
}

fn doctypes_with_entities() -> Vec<u8> {
    let doctypes: String = (0..450_000).map(|n| format!("<!DOCTYPE r[<!ENTITY e{n} \"x\">]>")).collect();
    join(&[&doctypes, CHANNEL_OPEN, "<item><guid>1</guid></item>", CHANNEL_CLOSE])
}

/// Each stands for as much as an entity may, at the price of a reference.
fn doctypes_with_long_entities() -> Vec<u8> {
    let doctypes: String = (0..20_000).map(|n| format!("<!DOCTYPE r[<!ENTITY e{n} \"&a;\">]>")).collect();
    let first = format!("<!DOCTYPE r[<!ENTITY a \"{}\">]>", "x".repeat(4000));
    join(&[&first, &doctypes, CHANNEL_OPEN, "<item><guid>1</guid></item>", CHANNEL_CLOSE])
}

fn entities_referred_to() -> Vec<u8> {
    let entities: String = (0..256).map(|n| format!("<!ENTITY {n:02x} \"y\">")).collect();
    filled(&format!("<!DOCTYPE r[{entities}]>{RSS_OPEN}"), "&zz;", RSS_CLOSE)
}

fn namespaces_at_every_depth() -> Vec<u8> {
    let opened: String = (0..128).map(|n| format!("<n{n}:a xmlns:n{n}=\"http://e/{n}\">")).collect();
    let closed: String = (0..128).rev().map(|n| format!("</n{n}:a>")).collect();
    let item = format!("<item><guid>1</guid>{opened}{closed}</item>");
    join(&[CHANNEL_OPEN, &item.repeat(2000), CHANNEL_CLOSE])
}

fn prefixes_looked_up() -> Vec<u8> {
    let prefixes: String = (0..256).map(|n| format!(" xmlns:{n:02x}=\"http://e/\"")).collect();
    filled(&format!("<rss{prefixes}><channel><item><guid>1</guid>"), "<zz:a/>", CHANNEL_CLOSE)
}

/// Prefixes that differ only in their last letters.
fn prefixes_long() -> Vec<u8> {
    let long = "p".repeat(1000);
    let prefixes: String = (0..256).map(|n| format!(" xmlns:{long}{n:02x}=\"http://e/\"")).collect();
    filled(&format!("<rss{prefixes}><channel><item><guid>1</guid>"), &format!("<{long}zz:a/>"), CHANNEL_CLOSE)
}
