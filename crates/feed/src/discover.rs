//! Finds the feeds that a web page offers.

use crate::{
    encoding,
    limits::{DISCOVERED_MAX, ICONS_MAX},
    page::{self, PageLink},
    parse::Hints,
};

/// A feed that a page offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    pub url: String,
    /// What the page calls it.
    pub title: Option<String>,
    /// The media type that the page says it has.
    pub mime: String,
}

/// The feeds that a page offers by `<link rel="alternate">` or `<link rel="feed">`, in the page's order, each once.
///
/// ```
/// let html = br#"<html><head><link rel="alternate" type="application/rss+xml" href="/rss"></head></html>"#;
/// let hints = feed::Hints { url: Some("https://example.org/blog"), ..feed::Hints::default() };
/// assert_eq!(feed::discover(html, &hints)[0].url, "https://example.org/rss");
/// ```
pub fn discover(html: &[u8], hints: &Hints<'_>) -> Vec<Discovered> {
    let html = &html[..html.len().min(hints.document_bytes_max)];
    let decoded = encoding::decode(html, hints.content_type.and_then(encoding::charset_of), hints.url);
    let page = page::read(&decoded.text, hints.base_url());
    let mut found: Vec<Discovered> = Vec::new();
    for link in page.links.into_iter().filter(offers_feed) {
        if found.len() < DISCOVERED_MAX && !found.iter().any(|known| known.url == link.href) {
            found.push(Discovered { url: link.href, title: link.title, mime: link.mime });
        }
    }
    found
}

/// The icons that a page names in its head, the one that fits a list best first, each once. SVG is left out: it is a
/// program, and nobody here runs it.
pub fn icons(html: &[u8], hints: &Hints<'_>) -> Vec<String> {
    let html = &html[..html.len().min(hints.document_bytes_max)];
    let decoded = encoding::decode(html, hints.content_type.and_then(encoding::charset_of), hints.url);
    let mut links = page::read(&decoded.text, hints.base_url()).links;
    links.retain(|link| link.in_head && (link.is("icon") || is_large_icon(link)) && !is_svg(link));
    links.sort_by_key(|link| (is_large_icon(link), unfitness(&link.sizes)));
    let mut found: Vec<String> = Vec::new();
    for link in links {
        if found.len() < ICONS_MAX && !found.contains(&link.href) {
            found.push(link.href);
        }
    }
    found
}

/// What phones show on their home screens: good, but larger than is needed.
fn is_large_icon(link: &PageLink) -> bool {
    link.is("apple-touch-icon") || link.is("apple-touch-icon-precomposed")
}

fn is_svg(link: &PageLink) -> bool {
    let path = link.href.split(['?', '#']).next().unwrap_or_default();
    link.mime.to_ascii_lowercase().contains("svg") || path.to_ascii_lowercase().ends_with(".svg")
}

/// How far the nearest of its sizes is from what a list shows on a dense screen. What is too small is worse than what is
/// too large; what does not say may be right.
fn unfitness(sizes: &str) -> u32 {
    const WANTED: u32 = 32;
    const UNKNOWN: u32 = 17;
    let widths = sizes.split_ascii_whitespace().filter_map(|size| size.split(['x', 'X']).next()?.parse::<u32>().ok());
    let penalty = |side: u32| if side < WANTED { (WANTED - side) * 2 } else { side - WANTED };
    widths.map(penalty).min().unwrap_or(UNKNOWN)
}

fn offers_feed(link: &PageLink) -> bool {
    let is_stylesheet = link.is("stylesheet");
    !is_stylesheet && (link.is("alternate") && is_feed_type(&link.mime) || link.is("feed"))
}

/// Whether a feed may be behind a link of this media type; parameters of the type do not matter.
pub fn is_feed_type(mime: &str) -> bool {
    const FEED_TYPES: [&str; 9] = [
        "application/rss+xml",
        "application/atom+xml",
        "application/feed+json",
        "application/rdf+xml",
        "application/x.atom+xml",
        "application/json",
        "application/xml",
        "text/xml",
        "text/mf2+html",
    ];
    let mime = mime.split(';').next().unwrap_or_default().trim();
    FEED_TYPES.iter().any(|known| known.eq_ignore_ascii_case(mime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_discovers_feeds_in_order_once() {
        let html = br#"<!doctype html><head><base href="/b/">
            <!-- <link rel=alternate type=application/rss+xml href=no> -->
            <link rel="Alternate" type="application/atom+xml; charset=utf-8" title="Main &amp; all" href=atom.xml>
            <link rel="alternate" type="application/rss+xml" href="http://f.org/rss">
            <link rel="alternate" hreflang="de" href="/de"><link rel="stylesheet" type="text/css" href="x">
            <LINK REL=alternate TYPE=application/rss+xml HREF=http://f.org/rss></head>
            <body><link rel="feed" href="javascript:x"><link rel=alternate type="application/feed+json" href="f.json">"#;
        let found = discover(html, &Hints { url: Some("http://e.org/a"), ..Hints::default() });
        let urls: Vec<&str> = found.iter().map(|feed| feed.url.as_str()).collect();
        assert_eq!(urls, ["http://e.org/b/atom.xml", "http://f.org/rss", "http://e.org/b/f.json"]);
        assert_eq!(found[0].title.as_deref(), Some("Main & all"));
    }

    #[test]
    fn u1_finds_icons_best_first() {
        let html = br#"<!doctype html><head><base href="/b/">
            <link rel="apple-touch-icon" sizes="180x180" href="/touch.png">
            <link rel="shortcut icon" href="old.ico">
            <link rel="icon" type="image/svg+xml" href="drawn"><link rel=icon href="/drawn.SVG?v=1">
            <link rel="icon" sizes="16x16" href="16.png"><link rel="ICON" sizes="32x32 64x64" href="//cdn.example/32.png">
            <link rel="icon" sizes="192x192" href="192.png"><link rel="mask-icon" href="mask.png">
            <link rel="icon" href="javascript:alert(1)"></head>
            <body><link rel="icon" href="/of-a-comment.png">"#;
        let found = icons(html, &Hints { url: Some("http://e.org/a"), ..Hints::default() });
        assert_eq!(
            found,
            [
                "http://cdn.example/32.png",
                "http://e.org/b/old.ico",
                "http://e.org/b/16.png",
                "http://e.org/b/192.png",
                "http://e.org/touch.png"
            ]
        );
    }
}
