//! WebSub links in documents (requirement W1): every hub in order, and self, from the feed's head only.

use feed::{Head, Hints, parse};

use crate::fixtures;

fn head(document: &str) -> Head {
    let hints = Hints { url: Some("https://e.org/dir/feed"), ..Hints::default() };
    parse(document.as_bytes(), &hints).expect("it is a feed").head
}

fn check(document: &str, hubs: &[&str], topic: Option<&str>) {
    let head = head(document);
    assert_eq!(head.hubs, hubs, "{document}");
    assert_eq!(head.self_url.as_deref(), topic, "{document}");
}

#[test]
fn w1_hubs_in_order_in_every_format() {
    for (name, hubs, topic) in [
        (
            "websub-rss.xml",
            &["https://hub-1.example/", "https://harbour.example/hub-2", "https://hub-3.example/"][..],
            "https://Harbour.example/RSS?a=1&b=%7E",
        ),
        (
            "websub-atom.xml",
            &["https://harbour.example/feeds/both", "https://hub-2.example/"],
            "https://harbour.example/feeds/both",
        ),
        (
            "websub-json.json",
            &["https://hub-1.example/", "https://harbour.example/hub-2"],
            "https://harbour.example/feed.json?a=1",
        ),
        (
            "websub-html.html",
            &["https://hub-1.example/", "https://harbour.example/hub-2"],
            "https://harbour.example/notes?a=1&b=2",
        ),
    ] {
        let fixture = fixtures::one(name);
        let head = parse(&fixture.bytes, &fixture.hints()).expect("it is a feed").head;
        assert_eq!(head.hubs, hubs, "{name}");
        assert_eq!(head.self_url.as_deref(), Some(topic), "{name}");
    }
}

#[test]
fn w1_links_outside_head_ignored() {
    let hub =
        "<atom:link rel='hub' href='https://evil.example/'/><atom:link rel='self' href='https://evil.example/s'/>";
    for inside in [
        format!("<item><guid>1</guid>{hub}</item>"),
        format!("<item><guid>1</guid><author>{hub}</author><source url='x'>{hub}</source></item>"),
        format!("<item><guid>1</guid><title>never closed{hub}<item><guid>2</guid>{hub}"),
        format!("<!-- {hub} -->"),
        format!("<![CDATA[{hub}]]>"),
        format!("<description><![CDATA[{hub}]]></description>"),
        format!("<item><description><![CDATA[x</description></item>{hub}<item><![CDATA[]]></description></item>"),
        format!("<item><description><![CDATA[never closed</description></item>{hub}"),
        format!("<item><description>{}</description></item>", format!("</item>{hub}").replace('<', "&lt;")),
        format!("<description>{hub}</description>"),
        format!("<description>{}</description>", hub.replace('<', "&lt;")),
        format!("<image><url>x</url>{hub}</image><textInput>{hub}</textInput>"),
        format!("<unknown>{hub}</unknown>"),
    ] {
        check(&format!("<rss><channel><title>t</title>{inside}</channel></rss>"), &[], None);
    }
}

#[test]
fn w1_links_in_page_body_ignored() {
    let (link, post) = ("<link rel=hub href=/h><link rel=self href=/s>", "<p class=h-entry>x</p>");
    for (page, found) in [
        (format!("<html><head>{link}</head><body>{post}"), true),
        (format!("<html>{link}<title>t</title>{post}"), true),
        (format!("<html><head></head>{link}<body>{post}"), false),
        (format!("<html><body>{link}{post}"), false),
        (format!("<html><p>{link}</p>{post}"), false),
        (format!("<html><head><!-- {link} --><title>{link}</title><script>'{link}'</script></head>{post}"), false),
        (format!("<html><head><style>{link}</style></head><div class='h-feed'>{link}{post}"), false),
    ] {
        let (hubs, topic) = if found { (&["https://e.org/h"][..], Some("https://e.org/s")) } else { (&[][..], None) };
        check(&page, hubs, topic);
    }
}

#[test]
fn w1_relations_match_in_any_case() {
    for (link, is_hub, is_self) in [
        ("<atom:link rel='hub' href='/x'/>", true, false),
        ("<atom:link REL='Hub' HREF='/x'/>", true, false),
        ("<atom:link rel=' self\n hub ' href='/x'/>", true, true),
        ("<link xmlns='http://www.w3.org/2005/Atom' rel='self' href='/x'/>", false, true),
        ("<atom10:link rel='hub' href='/x'/>", true, false),
        ("<atom:link rel='github' href='/x'/>", false, false),
        ("<atom:link rel='hub'/>", false, false),
        ("<atom:link rel='hub' href=' '/>", false, false),
        ("<atom:link rel='hub' href='javascript:x'/>", false, false),
    ] {
        let x = "https://e.org/x";
        let hubs = if is_hub { &[x][..] } else { &[] };
        check(&format!("<rss><channel>{link}</channel></rss>"), hubs, is_self.then_some(x));
    }
}

/// The topic is a string: a subscription compares it to the letter.
#[test]
fn w1_absolute_topics_kept_verbatim() {
    for href in ["HTTP://E.org:80/%7e/../a?b", "https://e.org", "https://e.org/a b"] {
        check(&format!("<feed><link rel='self' href='{href}'/></feed>"), &[], Some(href));
        check(
            &format!("{{\"version\": \"https://jsonfeed.org/version/1\", \"items\": [], \"feed_url\": \"{href}\"}}"),
            &[],
            Some(href),
        );
    }
}
