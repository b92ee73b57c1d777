//! Documents that no parser of XML would take (requirement F2): one bad entry never loses the others.

use feed::{Error, Hints, Warning, parse};

/// What may stand in the middle of a feed, and must not touch the entries before and after it.
const BAD_ITEMS: [&str; 27] = [
    "<item></item>",
    "<item/>",
    "<item",
    "<item><title>never closed",
    "<item><title>crossed</item></title>",
    "<item><guid>2</title></guid></description>",
    "<item><link>http://[::1</link><pubDate>32 Foo 2024</pubDate></item>",
    "<item><enclosure url=><enclosure url=\"><media:content url='></item>",
    "<item><title attribute=\"never closed>x</title></item>",
    "<item><title attribute='it's>x</title></item>",
    "<item><description><p><b><table><tr><td></description></item>",
    "<item><description>&lt;script&gt;never closed</description></item>",
    "<item><description>&nosuch; &#xD800; &#99999999999; & &; &#;</description></item>",
    "<item><description>\u{0}\u{1}\u{8}\u{b}\u{fffe}\u{ffff}</description></item>",
    "<item><description><![CDATA[<b>]]]]></description></item>",
    "<item><description>]]></description></item>",
    "<item><?never closed></item>",
    "<item><?php echo 1 ?><? ?><!ELEMENT x><!></item>",
    "<item xmlns='http://nowhere.example/' xmlns:x=''><x:title>t</x:title></item>",
    "<item><content:encoded><div><item></div></content:encoded></item>",
    "<item><media:group><media:content><media:thumbnail></item>",
    "<item><author><name>A</author></name></item>",
    "<item><source><title>S</item>",
    "<entry><id>e</id></entry>",
    "</item></item></item>",
    "<<<>>> < > </ > <1> <a<b<c>",
    "<item><skipHours><hour>x</hour></skipHours></item></skipHours>",
];

fn titles(document: &str) -> Vec<String> {
    let feed = parse(document.as_bytes(), &Hints::default()).expect("it is a feed");
    feed.entries.iter().filter_map(|entry| entry.title.as_ref()).map(|title| title.value.clone()).collect()
}

#[test]
fn f2_bad_rss_entry_loses_no_other() {
    let good = |title: &str| format!("<item><guid>{title}</guid><title>{title}</title></item>\n");
    for bad in BAD_ITEMS {
        let items = format!("{}{bad}\n{}{}", good("before"), good("after"), good("last"));
        let found = titles(&format!("<rss version='2.0'><channel><title>t</title>{items}</channel></rss>"));
        for title in ["before", "after", "last"] {
            assert_eq!(found.iter().filter(|found| *found == title).count(), 1, "{title} around {bad}: {found:?}");
        }
    }
}

#[test]
fn f2_bad_atom_entry_loses_no_other() {
    let good = |title: &str| format!("<entry><id>{title}</id><title>{title}</title></entry>\n");
    for bad in BAD_ITEMS {
        let bad = bad.replace("item", "entry").replace("guid", "id");
        let entries = format!("{}{bad}\n{}{}", good("before"), good("after"), good("last"));
        let found = titles(&format!("<feed xmlns='http://www.w3.org/2005/Atom'>{entries}</feed>"));
        for title in ["before", "after", "last"] {
            assert_eq!(found.iter().filter(|found| *found == title).count(), 1, "{title} around {bad}: {found:?}");
        }
    }
}

#[test]
fn f2_bad_json_item_loses_no_other() {
    for bad in [
        "null",
        "7",
        "\"x\"",
        "[]",
        "{}",
        "{\"id\": null}",
        "{\"id\": \"2\", \"title\": {}, \"tags\": 7, \"authors\": \"x\", \"attachments\": [[]]}",
    ] {
        let found = titles(&format!(
            "{{\"version\": \"https://jsonfeed.org/version/1.1\", \"items\": [{{\"id\": \"1\", \"title\": \"before\"}}, {bad}, {{\"id\": \"3\", \"title\": \"after\"}}]}}"
        ));
        assert_eq!(found, ["before", "after"], "{bad}");
    }
}

/// Where a feed is cut, all entries that were whole before it are still there.
#[test]
fn f2_truncated_documents_give_what_was_read() {
    let item = |n: usize| format!("<item><guid>{n}</guid><title>Post {n}</title></item>");
    let document = format!("<rss><channel><title>t</title>{}</channel></rss>", (0..5).map(item).collect::<String>());
    for end in "<rss><channel>".len()..document.len() {
        let cut = &document[..end];
        let feed = parse(cut.as_bytes(), &Hints::default()).expect("it is a feed");
        assert!(feed.entries.len() >= cut.matches("</item>").count(), "{cut}");
        let is_whole = end >= document.len() - 1;
        assert_eq!(feed.warnings.contains(&Warning::Truncated), !is_whole || end < document.len(), "{cut}");
    }
}

#[test]
fn f2_non_feeds_fail_with_their_kind() {
    for (document, expect) in [
        ("", Error::Empty),
        (" \n\u{feff}\0", Error::Empty),
        ("just words", Error::NotAFeed),
        ("<sitemap><url/></sitemap>", Error::NotAFeed),
        ("<html><body>words</body></html>", Error::WebPage),
        ("<!DOCTYPE html><p>words", Error::WebPage),
        ("[1, 2]", Error::NotAFeed),
    ] {
        assert_eq!(parse(document.as_bytes(), &Hints::default()), Err(expect), "{document}");
    }
    for document in ["{}", "{\"items\": []}", "{\"title\": \"x\", \"items\": 7}", "{\"a\"", "{{{{"] {
        let found = parse(document.as_bytes(), &Hints::default());
        assert!(matches!(found, Err(Error::Json(_))), "{document}: {found:?}");
    }
}
