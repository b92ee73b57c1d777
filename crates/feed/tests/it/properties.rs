//! What holds for every document (requirements F2, F3, W1), not only for those somebody thought of: nothing panics,
//! the same bytes give the same feed, sanitised HTML is safe and stays as it is.

use feed::{Feed, Hints, Scope, discover, parse, plain_text, sanitise_in};
use proptest::{collection::vec, prelude::*, sample::select};
use url::Url;

use crate::{browser, fixtures, nesting};

/// Documents of nothing but pieces like these, between the bars, get further into the parser than arbitrary ones.
const FEED_PIECES: &str = "<rss version='2.0'>¦</rss>¦<channel>¦</channel>¦<item>¦</item>¦<item/>¦<ITEM href='x'>¦<rdf:RDF>¦\
    <feed xmlns='http://www.w3.org/2005/Atom'>¦</feed>¦<entry xml:base='a/'>¦<entry xml:base='javascript://e.org/%0a'>¦\
    <link href='ttps://e.org/1'/>¦</entry>¦<title>¦</title>¦\
    <title type='html'>¦<link>¦</link>¦<link rel='hub' href='h'/>¦\
    <atom:link rel='self' href=\"http://e.org/\"/>¦<guid isPermaLink='false'>¦</guid>¦<id>¦</id>¦<description>¦\
    </description>¦<content:encoded>¦</content:encoded>¦\
    <content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>¦</div></content>¦<content mode='base64'>¦\
    PHA+¦</content>¦<pubDate>¦Tue, 05 Mar 2024 08:00:00 GMT¦2024-03-05¦</pubDate>¦<author>¦a@b.org (A)¦\
    </author>¦<name>¦</name>¦<media:group>¦</media:group>¦<media:content url='m'>¦</media:content>¦\
    <enclosure url='e' length='1'/>¦<image>¦<url>¦</image>¦<skipHours><hour>24</hour></skipHours>¦\
    <itunes:category text='t'>¦<source url='s'>¦</source>¦<![CDATA[¦]]>¦<!--¦-->¦\
    <?xml version='1.0' encoding='koi8-r'?>¦<!DOCTYPE r [<!ENTITY e 'x&e;'>]>¦&e;¦&amp;lt;¦&#x92;¦&¦<¦>¦'¦\"¦\
    <html><body class='h-feed'>¦<p class='h-entry p-name'>¦<a class='u-url p-author h-card' href='u'>¦</a>";

/// The same of JSON Feed.
const JSON_PIECES: &str = "{¦}¦[¦]¦,¦:¦\"¦\\¦\\u¦\n¦\"version\": \"https://jsonfeed.org/version/1.1\"¦\"items\": [¦\"id\": ¦\"1\"¦1¦\
    1e999¦-0¦\"url\": \"/a\"¦\"title\": ¦\"content_html\": \"<p>\"¦\"tags\": [\"a\"]¦\
    \"attachments\": [{\"url\": \"x\"}]¦\"date_published\": \"2024-03-05\"¦\"hubs\": ¦null¦true¦{\"id\": \"2\"}";

/// Pieces of HTML that sanitisers have been broken with.
const HTML_PIECES: &str = "<p>¦</p>¦<p/>¦<b>¦</b>¦<i>¦</i>¦<div>¦</div>¦<a>¦<a href=x>¦</a>¦<li>¦<ul>¦</ul>¦<br>¦</br>¦<hr>¦<h1>¦<dl>¦\
    <dt>¦<dd>¦<table>¦<tr>¦<td>¦<th>¦<tbody>¦<caption>¦<colgroup>¦<col>¦</table>¦</td>¦<pre>\n¦<ruby><rt>¦\
    <font color=red>¦<script>¦</script>¦</script¦<script src=x>¦<style>¦</style>¦<textarea>¦</textarea>¦<title>¦\
    </title>¦<iframe src='http://e.org/\"<>&'>¦<iframe srcdoc='<script>'>¦</iframe>¦<xmp>¦</xmp>¦<plaintext>¦\
    <noscript>¦</noscript>¦<noembed>¦</noembed>¦<noframes>¦<template>¦</template>¦<select>¦<option>¦</select>¦\
    <thead>¦<tfoot>¦</tr>¦</tbody>¦</caption>¦<article>¦</article>¦<section>¦</section>¦<summary>¦<details>¦<h2>¦</h1>¦</li>¦\
    <rp>¦</ruby>¦<center>¦</center>¦<span class='language-x page'>¦</span>¦<p id=a>¦<li id='fn:1'>¦<a href='#a'>¦\
    <a href='#fn%3A1'>¦<a href='http://e.org/a/b?c#a'>¦<a href='/a/b/?c#a'>¦<a name=a>¦<i id='e0000000000000000-a'>¦<b hidden>¦<form hidden>¦\
    <math display=block>¦<mi>¦</mi>¦<mo stretchy=false>¦<mrow>¦</mrow>¦<msup>¦<mfrac/>¦<mspace width='1em'/>¦\
    <mspace width=9999em>¦<mtd>¦<mtr>¦<mtable>¦<semantics>¦<annotation>¦<mml:math>¦<mml:mi>¦<mfenced>¦<malignmark>¦<none>¦\
    <mfenced open='<' separators=';&'>¦</mfenced>¦<mfenced close=''/>¦<script type='math/tex'>¦<span aria-hidden=true>¦\
    <span class=katex-html aria-hidden=true>¦<span class=MathJax_Preview>¦<span data-mathml='<math><mi>x'>¦<nobr aria-hidden=true>¦\
    <iframe data-src='https://www.youtube.com/embed/abcdefghijk?start=3' title=' a \u{1} b '></iframe>¦\
    <lite-youtube videoid=abcdefghijk>¦</lite-youtube>¦<object data='https://player.vimeo.com/video/1'>¦</object>¦\
    <param name=movie value='//www.youtube.com/v/abcdefghijk&x'>¦<embed src='https://e.org/videos/embed/x'>¦\
    <a href=x data-player='https://www.youtube.com/embed/abcdefghijk'>¦<a data-player=javascript:x>¦<p data-player=x>¦\
    <img data-src=b.png src='data:image/gif;base64,x'>¦<img src='data:image/gif,x'>¦<picture>¦</picture>¦\
    <source data-srcset='a 1x,b 2x'>¦\
    <svg>¦</svg>¦<svg/onload=x>¦<math>¦</math>¦<mtext>¦<mglyph>¦<annotation-xml encoding='text/html'>¦\
    <foreignObject>¦<desc>¦<object data=x>¦<embed src=x>¦<form action=x>¦<input value=x>¦<button>¦\
    <base href=//evil.example>¦<meta http-equiv=refresh content='0;url=x'>¦<link rel=stylesheet href=x>¦\
    <frameset>¦<body onload=x>¦<html>¦<head>¦<image src=x>¦<custom-element>¦<img src=x onerror=alert(1)>¦\
    <img src=x width=1 height=1>¦<img srcset='a 1x, javascript:b 2x, data:text/html,c'>¦<img alt='¦\
    <video src=x poster=javascript:x autoplay>¦<audio>¦<source src=x>¦<track src=x>¦\
    <a href=javascript:alert(1)>¦<a href='&#106;avascript:x'>¦<a href=' java\tscript:x'>¦\
    <a href='data:text/html,<script>'>¦<a href='vbscript:x' style='x' title='\">'>¦ onclick=x¦ x='¦\"¦'¦=¦/¦`¦\
    <!--¦-->¦--!>¦<!-->¦<![CDATA[¦]]>¦<?php¦?>¦<!doctype html>¦</¦<¦>";

/// Pieces of texts: references, and characters that are read in several ways.
const TEXT_PIECES: &str = "&¦&amp;¦&lt;¦&lt¦&gt;¦&quot;¦&#60;¦&#x3c;script&#x3e;¦&#0;¦&#xD800;¦&#9999999999;¦&nbsp;¦&notit;¦&amp;lt;¦\
    &colon;¦&Tab;¦&NewLine;¦\0¦\u{b}¦\u{85}¦\u{2028}¦\u{feff}¦\r\n¦ ¦words¦é";

fn pieces(pieces: &'static str) -> impl Strategy<Value = &'static str> {
    select(pieces.split('¦').collect::<Vec<_>>())
}

fn html() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => pieces(HTML_PIECES).prop_map(str::to_owned),
        2 => pieces(TEXT_PIECES).prop_map(str::to_owned),
        1 => "[a-z<>&\"'=/! \n-]{0,6}",
    ];
    // Some often enough to go past the depth limit.
    let times = prop_oneof![19 => Just(1usize), 1 => 1..200usize];
    vec((piece, times), 0..40).prop_map(|pieces| pieces.iter().map(|(piece, times)| piece.repeat(*times)).collect())
}

/// A feed that was touched: bytes changed, left out, repeated, or taken from another.
fn mutated_fixtures() -> impl Strategy<Value = Vec<u8>> {
    let documents: Vec<Vec<u8>> = fixtures::all().into_iter().map(|fixture| fixture.bytes).collect();
    let mutation = (0..6u8, any::<prop::sample::Index>(), 0..64usize, any::<u8>(), select(documents.clone()));
    (select(documents), vec(mutation, 1..8)).prop_map(|(mut bytes, mutations)| {
        for (kind, at, length, byte, other) in mutations {
            let from = at.index(bytes.len() + 1);
            let to = (from + length).min(bytes.len());
            match kind {
                0 => bytes[from..to].iter_mut().take(1).for_each(|changed| *changed = byte),
                1 => bytes[from..to].iter_mut().take(1).for_each(|changed| *changed ^= 1 << (byte % 8)),
                2 => drop(bytes.drain(from..to)),
                3 => bytes.truncate(from),
                4 => bytes.extend_from_within(from..to),
                _ => {
                    let piece = &other[other.len().min(length)..other.len().min(length * 9)];
                    bytes.splice(from..to, piece.iter().copied());
                }
            }
        }
        bytes
    })
}

fn hints() -> Hints<'static> {
    Hints { url: Some("http://e.org/a/feed"), ..Hints::default() }
}

/// All that may be done with a document; the feed after sanitising.
fn exercise(bytes: &[u8]) -> Result<Option<Feed>, TestCaseError> {
    discover(bytes, &hints());
    let found = parse(bytes, &hints());
    prop_assert_eq!(&found, &parse(bytes, &hints()), "parsing is deterministic");
    let Ok(mut feed) = found else { return Ok(None) };
    let mut identities: Vec<_> =
        feed.entries.iter().map(|entry| (entry.identity.clone(), entry.variant.clone())).collect();
    identities.sort_unstable();
    prop_assert!(identities.windows(2).all(|pair| pair[0] != pair[1]), "no two entries are the same");
    feed.head.sanitise();
    feed.entries.iter_mut().for_each(feed::Entry::sanitise);
    Ok(Some(feed))
}

/// Every text of a sanitised feed that is HTML, with the scope of its ids.
fn html_texts(feed: &Feed) -> impl Iterator<Item = (&str, Scope)> {
    let head = [&feed.head.title, &feed.head.subtitle, &feed.head.rights].into_iter().flatten();
    let entries = feed.entries.iter().flat_map(|entry| {
        let boxed = [&entry.subtitle, &entry.rights].into_iter().flatten().map(AsRef::as_ref);
        let single = [&entry.title, &entry.summary].into_iter().flatten().chain(boxed);
        single.chain(&entry.content).map(|text| (text, entry.scope()))
    });
    let texts = head.map(|text| (text, Scope::default())).chain(entries);
    texts.filter(|(text, _)| text.kind != feed::TextKind::Plain).map(|(text, scope)| (text.value.as_str(), scope))
}

/// Every link of a feed that a page may lead to, but those in its texts.
fn links(feed: &Feed) -> impl Iterator<Item = &String> {
    let head = feed.head.link.iter().chain(feed.head.links.iter().map(|link| &link.href));
    let entries = feed.entries.iter().flat_map(|entry| {
        let listed = entry.links.iter().map(|link| &link.href).chain(entry.enclosures.iter().map(|file| &file.href));
        let media = entry.media_content.iter().chain(&entry.media_thumbnail).map(|media| &media.url);
        let people = entry.authors.iter().filter_map(|person| person.url.as_ref());
        entry.link.iter().chain(&entry.comments).chain(listed).chain(media).chain(people)
    });
    head.chain(entries)
}

fn check_feed(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Some(feed) = exercise(bytes)? else { return Ok(()) };
    for link in links(&feed) {
        prop_assert!(!browser::is_script(link), "{}", link);
    }
    for (html, scope) in html_texts(&feed) {
        prop_assert_eq!(browser::faults(html), Vec::<String>::new(), "{}", html);
        prop_assert_eq!(nesting::faults(html), Vec::<String>::new(), "{}", html);
        prop_assert_eq!(sanitise_in(html, None, scope), html, "sanitised again it is unchanged");
    }
    Ok(())
}

/// The most that sanitising may make of a byte: a quote in the address of a frame is escaped in six, twice.
const GROWTH_MAX: usize = 16;

fn check_html(html: &str) -> Result<(), TestCaseError> {
    let base = Url::parse("http://e.org/a/b?c").expect("it is a URL");
    for (base, scope) in [(None, Scope::default()), (Some(&base), Scope::of(None, "1", None))] {
        let once = sanitise_in(html, base, scope);
        prop_assert_eq!(browser::faults(&once), Vec::<String>::new(), "{}", once);
        prop_assert_eq!(nesting::faults(&once), Vec::<String>::new(), "{}", once);
        prop_assert_eq!(&sanitise_in(&once, base, scope), &once, "sanitised again it is unchanged");
        let allowed = html.len() * GROWTH_MAX + feed::limits::RESOLVED_BYTES_MIN;
        prop_assert!(once.len() <= allowed, "{} bytes of {}", once.len(), html.len());
    }
    plain_text(html);
    Ok(())
}

proptest! {
    // `PROPTEST_CASES` asks for more; these are cheap.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 4, ..ProptestConfig::default() })]

    #[test]
    fn f2_arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..1024)) {
        exercise(&bytes)?;
    }

    #[test]
    fn f2_arbitrary_bytes_behind_a_beginning_never_panic(
        beginning in select(&["<rss><channel><item>", "{\"items\": [", "\u{feff}<feed>", "<html class=h-entry>", "<\0r\0s\0s\0>\0"][..]),
        bytes in vec(any::<u8>(), 0..256),
    ) {
        exercise(&[beginning.as_bytes(), &bytes].concat())?;
    }

    #[test]
    fn f2_f3_w1_feeds_of_pieces_are_read_the_same_and_safe(
        pieces in vec(prop_oneof![4 => pieces(FEED_PIECES), 1 => pieces(HTML_PIECES), 1 => pieces(TEXT_PIECES)], 0..48),
    ) {
        check_feed(pieces.concat().as_bytes())?;
    }

    #[test]
    fn f2_json_of_pieces_never_panics(
        pieces in vec(prop_oneof![5 => pieces(JSON_PIECES), 1 => pieces(HTML_PIECES)], 0..48),
        separator in select(&["", ", ", "\n"][..]),
    ) {
        check_feed(format!("{{{}", pieces.join(separator)).as_bytes())?;
    }

    #[test]
    fn f2_f3_mutated_fixtures_deterministic_and_safe(bytes in mutated_fixtures()) {
        check_feed(&bytes)?;
    }

    #[test]
    fn f3_sanitised_html_is_safe_whatever_the_text(html in any::<String>()) {
        check_html(&html)?;
    }

    #[test]
    fn f3_sanitised_html_is_safe_however_nasty(html in html()) {
        check_html(&html)?;
    }
}
