//! Every bound of the parser holds, and says so where something is left out (requirement F2).

use std::fmt::Write as _;

use feed::{
    Entry, Error, Feed, Hints, Warning,
    limits::{
        ATTRIBUTES_MAX, DATE_WARNINGS_MAX, DOCUMENT_BYTES_MAX, ENTRIES_MAX, HTML_DEPTH_MAX, LIST_ITEMS_MAX, LIST_MAX,
        TEXT_BYTES_MAX, URL_BYTES_MAX, WARNINGS_MAX, XML_DEPTH_MAX,
    },
    parse, sanitise,
};

fn read(document: &str) -> Feed {
    parse(document.as_bytes(), &Hints::default()).expect("it is a feed")
}

/// A feed of RSS with one item.
fn item(elements: &str) -> Feed {
    read(&format!("<rss><channel><item><guid>1</guid>{elements}</item></channel></rss>"))
}

#[test]
fn f2_oversized_documents_refused() {
    let document = "<rss><channel></channel></rss>";
    let with = |limit| parse(document.as_bytes(), &Hints { document_bytes_max: limit, ..Hints::default() });
    assert!(with(document.len()).is_ok());
    let refused = Error::TooLarge { bytes: document.len(), limit: document.len() - 1 };
    assert_eq!(with(document.len() - 1), Err(refused));
    assert_eq!(Hints::default().document_bytes_max, DOCUMENT_BYTES_MAX);
    let large = vec![b' '; DOCUMENT_BYTES_MAX + 1];
    assert!(matches!(parse(&large, &Hints::default()), Err(Error::TooLarge { .. })));
}

#[test]
fn f2_entries_bounded() {
    type Document = fn(usize) -> String;
    let formats: [(&str, Document); 3] = [
        ("rss", |count| {
            let items: String = (0..count).map(|n| format!("<item><guid>{n}</guid></item>")).collect();
            format!("<rss><channel>{items}<generator>g</generator></channel></rss>")
        }),
        ("json", |count| {
            let items: Vec<String> = (0..count).map(|n| format!("{{\"id\": \"{n}\"}}")).collect();
            format!("{{\"version\": \"https://jsonfeed.org/version/1\", \"items\": [{}]}}", items.join(", "))
        }),
        ("hfeed", |count| {
            let posts: String = (0..count).map(|n| format!("<p class=h-entry>{n}</p>")).collect();
            format!("<html><body>{posts}<hr></body></html>")
        }),
    ];
    for (format, document) in formats {
        for (count, too_many) in [(ENTRIES_MAX, false), (ENTRIES_MAX + 1, true), (ENTRIES_MAX + 500, true)] {
            let feed = read(&document(count));
            assert_eq!(feed.entries.len(), ENTRIES_MAX, "{format}");
            assert_eq!(feed.warnings.contains(&Warning::TooManyEntries), too_many, "{format} {count}");
            assert_eq!(feed.is_complete(), !too_many, "{format} {count}");
        }
    }
}

#[test]
fn f2_texts_bounded() {
    let long = "é".repeat(TEXT_BYTES_MAX / 2 + 10);
    for elements in [
        format!("<description>{long}</description>"),
        format!("<description><![CDATA[{long}]]></description>"),
        format!("<description><p><b>{long}</b></p>more</description>"),
        format!("<description>{}</description>", "&#233;".repeat(long.len() / 2)),
    ] {
        let feed = item(&elements);
        let value = &feed.entries[0].summary.as_ref().expect("the rest is there").value;
        // The tags that are still to be closed come on top.
        assert!((TEXT_BYTES_MAX - 16..=TEXT_BYTES_MAX + 16).contains(&value.len()), "{}", value.len());
        assert!(feed.warnings.contains(&Warning::TextCut), "{elements:.40}");
    }
    let json = format!(
        "{{\"version\": \"https://jsonfeed.org/version/1\", \"items\": [{{\"id\": \"1\", \"content_text\": \"{long}\"}}]}}"
    );
    let feed = read(&json);
    assert_eq!(feed.entries[0].content[0].value.len(), TEXT_BYTES_MAX);
    assert!(feed.warnings.contains(&Warning::TextCut));
}

/// End tags are written even where a text is full: what follows them must not count below zero.
#[test]
fn f2_full_texts_take_only_end_tags() {
    let name = "x".repeat(1000);
    let full = "a".repeat(TEXT_BYTES_MAX - 3100);
    let feed =
        item(&format!("<description>{full}<{name}><{name}><{name}></{name}></{name}></{name}>more</description>"));
    let value = &feed.entries[0].summary.as_ref().expect("the rest is there").value;
    assert!(value.len() <= TEXT_BYTES_MAX + 4 * name.len(), "{}", value.len());
}

#[test]
fn f2_depth_bounded_text_kept() {
    let deep = |tag: &str| format!("{}words", format!("<{tag}>").repeat(10_000));
    let feed = item(&format!("<description>{}</description><title>After</title>", deep("b")));
    assert!(feed.warnings.contains(&Warning::TooDeep));
    let entry = &feed.entries[0];
    let summary = &entry.summary.as_ref().expect("the text is kept").value;
    assert!(summary.contains("words") && summary.matches("<b>").count() < XML_DEPTH_MAX);
    assert_eq!(entry.title.as_ref().map(|title| title.value.as_str()), Some("After"));

    let html = sanitise(&deep("div"), None);
    assert_eq!(html.matches("<div>").count(), HTML_DEPTH_MAX);
    assert!(html.contains("words"));

    let outside = read(&format!("{}<rss><channel><title>t</title>", "<x>".repeat(XML_DEPTH_MAX / 2)));
    assert_eq!(outside.head.title.map(|title| title.value).as_deref(), Some("t"));
}

#[test]
fn f2_attributes_bounded() {
    let many = |count: usize| (0..count).map(|n| format!("a{n}='x' ")).collect::<String>();
    for (before, found) in [(ATTRIBUTES_MAX - 1, true), (ATTRIBUTES_MAX, false), (100_000, false)] {
        let feed = item(&format!("<enclosure {}url='http://e.org/1'/>", many(before)));
        assert_eq!(feed.entries[0].enclosures.len(), usize::from(found), "{before}");
        let html = sanitise(&format!("<a {}href='http://e.org/1'>x</a>", many(before)), None);
        assert_eq!(html.contains("href"), found, "{before}");
    }
}

#[test]
fn f2_lists_and_warnings_bounded() {
    let mut elements = String::new();
    for n in 0..2 * LIST_MAX {
        write!(
            elements,
            "<link rel='related' href='http://e.org/{n}'/><category>{n}</category><author>{n}</author>\
             <enclosure url='http://e.org/{n}'/><media:content url='http://e.org/{n}'/><media:thumbnail url='/{n}'/>\
             <content:encoded>{n}</content:encoded><pubDate>no date {n}</pubDate>"
        )
        .expect("a String takes all");
    }
    let feed = item(&elements);
    let entry = &feed.entries[0];
    for length in [
        entry.links.len(),
        entry.tags.len(),
        entry.authors.len(),
        entry.enclosures.len(),
        entry.media_content.len(),
        entry.media_thumbnail.len(),
        entry.content.len(),
    ] {
        assert_eq!(length, LIST_MAX);
    }
    assert_eq!(feed.warnings.len(), DATE_WARNINGS_MAX);

    let hubs: String = (0..2 * LIST_MAX).map(|n| format!("<atom:link rel='hub' href='http://e.org/{n}'/>")).collect();
    assert_eq!(read(&format!("<rss><channel>{hubs}")).head.hubs.len(), LIST_MAX);
}

#[test]
fn f2_categories_beyond_their_limit_leave_the_rest_alone() {
    let categories: String = (0..LIST_MAX).map(|n| format!("<category>{n}</category>")).collect();
    for beyond in [
        "<category>x</category>",
        "<category/><category></category>",
        "<category xmlns='http://e.org/nothing' xml:base='/b/'>x</category>",
        "<category>x</CATEGORY>",
        "<category>x</category >",
        "<category><b>x</b></category>",
        "<category><![CDATA[</category>]]></category>",
        "<category>x < y</category>",
        "<category>never closed",
        "<media:category>x</media:category><itunes:keywords>a,b</itunes:keywords>",
    ] {
        let feed = item(&format!("{categories}{}<title>T</title><link>/l</link>", beyond.repeat(3)));
        let entry = &feed.entries[0];
        let title = entry.title.as_ref().map(|title| title.value.as_str());
        assert_eq!((entry.tags.len(), title), (LIST_MAX, Some("T")), "{beyond}");
        assert!(entry.link.as_deref().is_some_and(|link| link.ends_with("/l") && !link.contains("/b/")), "{beyond}");
    }
}

/// A short document of keywords must not become a large feed.
#[test]
fn f2_list_items_per_document_bounded() {
    let words: Vec<String> = (0..LIST_MAX).map(|n| n.to_string()).collect();
    let count = LIST_ITEMS_MAX / LIST_MAX + 100;
    let item =
        |n: usize| format!("<item><guid>{n}</guid><itunes:keywords>{}</itunes:keywords></item>", words.join(","));
    let feed = read(&format!("<rss><channel>{}</channel></rss>", (0..count).map(item).collect::<String>()));
    assert_eq!(feed.entries.len(), count);
    assert_eq!(feed.entries.iter().map(|entry| entry.tags.len()).sum::<usize>(), LIST_ITEMS_MAX);
}

/// Nor must a page of many short properties, or one of names inside names.
#[test]
fn f2_list_items_per_page_bounded() {
    let properties: String = (0..LIST_MAX)
        .map(|n| {
            format!(
                "<b class=p-category>{n}</b><b class=p-author>{n}</b><a class=u-url href=/{n}></a><img class=u-photo src=/{n}>"
            )
        })
        .collect();
    let count = LIST_ITEMS_MAX / (4 * LIST_MAX) + 100;
    let post = |n: usize| format!("<p class=h-entry><a class=u-url href=/post/{n}></a>{properties}</p>");
    let feed = read(&format!("<html>{}", (0..count).map(post).collect::<String>()));
    let lists = |entry: &Entry| entry.tags.len() + entry.authors.len() + entry.links.len() + entry.enclosures.len();
    assert_eq!(feed.entries.iter().map(lists).sum::<usize>(), LIST_ITEMS_MAX);
    assert!(feed.entries.len() == count && feed.entries.iter().all(|entry| entry.link.is_some()), "none is lost");

    let nested = "<b class=p-author>".repeat(LIST_MAX);
    let feed = read(&format!("<html><div class=h-entry>{nested}{}</div>", "x ".repeat(10_000)));
    let names = feed.entries[0].authors.iter().filter_map(|author| author.name.as_deref());
    assert_eq!(names.map(|name| name.len() < 1024).collect::<Vec<_>>(), [true; LIST_MAX]);
}

/// Escaping makes a text longer, and so do links made absolute.
#[test]
fn f2_sanitised_texts_bounded() {
    let value = "\"".repeat(TEXT_BYTES_MAX / 2);
    for html in [
        format!("<p>{}", "&amp;<b>x</b>".repeat(TEXT_BYTES_MAX / 8)),
        format!("<p>{}", ">".repeat(TEXT_BYTES_MAX)),
        format!("<p title='{value}'>words</p>more"),
        format!("<table>{}", "<td>a<img src=b alt='>'>".repeat(TEXT_BYTES_MAX / 16)),
        format!("<p>{}<img src='b' alt='{}'>c", "x".repeat(TEXT_BYTES_MAX - 100), ">".repeat(100)),
    ] {
        let base = url::Url::parse("http://e.org/a/b/c/d/").expect("a URL");
        let once = sanitise(&html, Some(&base));
        assert!(once.len() < TEXT_BYTES_MAX + 1024, "{html:.40}: {}", once.len());
        assert!(sanitise(&once, Some(&base)) == once, "done twice: {html:.40}");
    }
}

/// However many dates are bad, a feed that was cut off is never taken for a whole one.
#[test]
fn f2_bad_dates_never_hide_truncation() {
    let items: String =
        (0..2 * WARNINGS_MAX).map(|n| format!("<item><guid>{n}</guid><pubDate>no {n}</pubDate></item>")).collect();
    let feed = read(&format!("<rss><channel>{items}<item>"));
    assert!(!feed.is_complete());
    assert!(feed.warnings.len() <= WARNINGS_MAX);
}

#[test]
fn f2_long_urls_dropped() {
    let of_length = |length: usize| format!("http://e.org/{}", "x".repeat(length - "http://e.org/".len()));
    for (length, kept) in [(URL_BYTES_MAX, true), (URL_BYTES_MAX + 1, false)] {
        let url = of_length(length);
        assert_eq!(item(&format!("<link>{url}</link>")).entries[0].link.is_some(), kept);
        assert_eq!(sanitise(&format!("<a href='{url}'>x</a>"), None).contains("href"), kept);
    }
}

/// A long base before many short links must not turn a small document into a large feed.
#[test]
fn f2_long_bases_do_not_multiply_documents() {
    let base = format!("http://e.org/{}/", "x".repeat(URL_BYTES_MAX - 100));
    let links = |count: usize| "<link rel='related' href='a'/>".repeat(count);
    let entries: String = (0..500)
        .map(|n| {
            format!(
                "<entry><id>{n}</id><content type='html'>{}</content>{}</entry>",
                "&lt;a href=b>".repeat(100),
                links(100)
            )
        })
        .collect();
    let document = format!("<feed xmlns='http://www.w3.org/2005/Atom' xml:base='{base}'>{entries}</feed>");
    let mut feed = read(&document);
    assert_eq!(feed.entries.len(), 500);
    feed.entries.iter_mut().for_each(feed::Entry::sanitise);
    let bytes = serde_json::to_string(&feed).expect("the model is JSON").len();
    assert!(bytes < 12 * document.len(), "{bytes} of {}", document.len());

    let nested: String = (0..100).map(|_| format!("<x xml:base='{}/'>", "y".repeat(1000))).collect();
    assert!(parse(format!("<rss><channel>{nested}").as_bytes(), &Hints::default()).is_ok());
}
