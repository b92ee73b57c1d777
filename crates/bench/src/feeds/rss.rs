//! RSS 2.0 and RDF: weblogs, news, podcasts.

use super::{Draft, FEED_URL, escape, escape_all, html::body, words::sentences};

pub(super) const TAIL: &str = "</channel>\n</rss>\n";
pub(super) const RDF_TAIL: &str = "</rdf:RDF>\n";

pub(super) fn head(draft: &mut Draft) {
    let (title, date) = (escape(&draft.title()), draft.rfc822());
    let (tag, declared) = (draft.language.tag, draft.declared);
    draft.put(&format!(
        r#"<?xml version="1.0" encoding="{declared}"?>
<rss version="2.0"
	xmlns:content="http://purl.org/rss/1.0/modules/content/"
	xmlns:wfw="http://wellformedweb.org/CommentAPI/"
	xmlns:dc="http://purl.org/dc/elements/1.1/"
	xmlns:atom="http://www.w3.org/2005/Atom"
	xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"
	xmlns:slash="http://purl.org/rss/1.0/modules/slash/"
	xmlns:media="http://search.yahoo.com/mrss/">
<channel>
	<title>{title}</title>
	<atom:link href="{FEED_URL}" rel="self" type="application/rss+xml" />
	<atom:link href="https://hub.example.org/" rel="hub" />
	<link>https://example.org/blog/</link>
	<description>{title}</description>
	<lastBuildDate>{date}</lastBuildDate>
	<language>{tag}</language>
	<sy:updatePeriod>hourly</sy:updatePeriod>
	<sy:updateFrequency>1</sy:updateFrequency>
	<generator>https://wordpress.example/?v=6.5</generator>
	<image><url>https://example.org/icon.png</url><title>{title}</title><link>https://example.org/blog/</link></image>
"#
    ));
}

/// The whole text, escaped, in the description.
pub(super) fn escaped(draft: &mut Draft) {
    let size_bytes = draft.random.between(1_500, 9_000);
    escaped_of(draft, size_bytes);
}

/// The same with a text of about so many bytes.
pub(super) fn escaped_of(draft: &mut Draft, size_bytes: usize) {
    let text = body(draft.language, &mut draft.random, size_bytes, false);
    let text = if draft.entries.is_multiple_of(2) { escape(&text) } else { escape_all(&text) };
    let (title, link, date) = (escape(&draft.title()), draft.slug(), draft.rfc822());
    draft.put(&format!(
        "<item>\n<title>{title}</title>\n<link>{link}</link>\n<guid isPermaLink=\"true\">{link}</guid>\n\
         <pubDate>{date}</pubDate>\n<author>jo@example.org (Jo Doe)</author>\n<category>news</category>\n\
         <description>{text}</description>\n</item>\n"
    ));
}

/// An excerpt and the whole text, both in CDATA, and a dozen elements of other vocabularies.
pub(super) fn weblog(draft: &mut Draft) {
    let size_bytes = draft.random.between(2_000, 12_000);
    let text = body(draft.language, &mut draft.random, size_bytes, false);
    let excerpt = sentences(draft.language, &mut draft.random);
    let (title, link, date) = (escape(&draft.title()), draft.slug(), draft.rfc822());
    let number = 100_000 - draft.entries;
    draft.put(&format!(
        "\t<item>\n\t\t<title>{title}</title>\n\t\t<link>{link}/</link>\n\
         \t\t<comments>{link}/#comments</comments>\n\t\t<dc:creator><![CDATA[Jo Doe]]></dc:creator>\n\
         \t\t<pubDate>{date}</pubDate>\n"
    ));
    for category in 0..draft.random.between(1, 5) {
        draft.put(&format!("\t\t<category><![CDATA[Topic {category}]]></category>\n"));
    }
    draft.put(&format!(
        "\t\t<guid isPermaLink=\"false\">https://example.org/blog/?p={number}</guid>\n\n\
         \t\t<description><![CDATA[<p>{excerpt}[&#8230;]</p>\n<p>The post <a href=\"{link}\">{title}</a> appeared \
         first on <a href=\"https://example.org/blog\">Example</a>.</p>\n]]></description>\n\
         \t\t<content:encoded><![CDATA[\n{text}]]></content:encoded>\n\
         \t\t<wfw:commentRss>{link}/feed/</wfw:commentRss>\n\t\t<slash:comments>{}</slash:comments>\n\t</item>\n",
        number % 40
    ));
}

pub(super) fn podcast_head(draft: &mut Draft) {
    let (title, tag, declared) = (escape(&draft.title()), draft.language.tag, draft.declared);
    draft.put(&format!(
        r#"<?xml version="1.0" encoding="{declared}"?>
<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:atom="http://www.w3.org/2005/Atom"
 xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:podcast="https://podcastindex.org/namespace/1.0">
<channel>
<title>{title}</title>
<link>https://example.org/blog/</link>
<atom:link href="{FEED_URL}" rel="self" type="application/rss+xml"/>
<description>{title}</description>
<language>{tag}</language>
<itunes:author>Jo Doe</itunes:author>
<itunes:owner><itunes:name>Jo Doe</itunes:name><itunes:email>jo@example.org</itunes:email></itunes:owner>
<itunes:image href="https://example.org/cover.jpg"/>
<itunes:category text="Society &amp; Culture"><itunes:category text="Documentary"/></itunes:category>
<itunes:explicit>false</itunes:explicit>
<itunes:type>episodic</itunes:type>
"#
    ));
}

pub(super) fn episode(draft: &mut Draft) {
    let size_bytes = draft.random.between(400, 2_500);
    let text = body(draft.language, &mut draft.random, size_bytes, false);
    let summary = escape(&sentences(draft.language, &mut draft.random));
    let (title, link, date) = (escape(&draft.title()), draft.slug(), draft.rfc822());
    let (number, length) = (draft.entries, draft.random.between(10_000_000, 90_000_000));
    let (minutes, seconds) = (draft.random.below(60), draft.random.below(60));
    draft.put(&format!(
        "<item>\n<title>{title}</title>\n<itunes:title>{title}</itunes:title>\n\
         <itunes:episode>{number}</itunes:episode>\n<itunes:episodeType>full</itunes:episodeType>\n\
         <itunes:author>Jo Doe</itunes:author>\n<itunes:subtitle>{summary}</itunes:subtitle>\n\
         <itunes:summary>{summary}</itunes:summary>\n<itunes:duration>01:{minutes:02}:{seconds:02}</itunes:duration>\n\
         <itunes:explicit>false</itunes:explicit>\n<itunes:image href=\"https://example.org/covers/{number}.jpg\"/>\n\
         <link>{link}</link>\n<guid isPermaLink=\"false\">episode-{number}-0a8f</guid>\n<pubDate>{date}</pubDate>\n\
         <enclosure url=\"https://media.example.org/{number}.mp3?source=feed&amp;v=2\" length=\"{length}\" \
         type=\"audio/mpeg\"/>\n\
         <podcast:transcript url=\"https://example.org/{number}.vtt\" type=\"text/vtt\"/>\n\
         <description><![CDATA[{text}]]></description>\n\
         <content:encoded><![CDATA[{text}]]></content:encoded>\n</item>\n"
    ));
}

/// A line or two, and pictures in several sizes: more tags than text.
pub(super) fn news(draft: &mut Draft) {
    let text = escape(&sentences(draft.language, &mut draft.random));
    let (title, link, date) = (escape(&draft.title()), draft.slug(), draft.rfc822());
    draft.put(&format!(
        "<item><title>{title}</title><link>{link}?CMP=feed&amp;x=1</link><description>&lt;p&gt;{text}&lt;/p&gt; \
         &lt;a href=\"{link}\"&gt;...&lt;/a&gt;</description>"
    ));
    for category in ["world", "politics", "weather"] {
        draft.put(&format!("<category domain=\"https://example.org/{category}\">{category}</category>"));
    }
    draft.put(&format!("<pubDate>{date}</pubDate><guid>{link}</guid>"));
    for width in [140, 460, 700] {
        draft.put(&format!(
            "<media:content width=\"{width}\" url=\"https://img.example.org/media/{}/{width}.jpg?q=85&amp;s=5f3a\" \
             type=\"image/jpeg\" medium=\"image\"><media:credit scheme=\"urn:ebu\">Jo Doe/Agency</media:credit>\
             </media:content>",
            draft.entries
        ));
    }
    draft.put(&format!(
        "<dc:creator>Jo Doe</dc:creator><dc:date>{}</dc:date></item>\n",
        draft.published().strftime("%Y-%m-%dT%H:%M:%SZ")
    ));
}

pub(super) fn rdf_head(draft: &mut Draft) {
    let (title, tag, declared) = (escape(&draft.title()), draft.language.tag, draft.declared);
    let contents: String = (1..=15)
        .map(|number| format!("<rdf:li rdf:resource=\"https://example.org/blog/entry-{number}\" />\n"))
        .collect();
    draft.put(&format!(
        r#"<?xml version="1.0" encoding="{declared}"?>
<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/" xml:lang="{tag}">
<channel rdf:about="{FEED_URL}">
<title>{title}</title>
<link>https://example.org/blog/</link>
<description>{title}</description>
<dc:language>{tag}</dc:language>
<items><rdf:Seq>
{contents}</rdf:Seq></items>
</channel>
"#
    ));
}

pub(super) fn rdf_item(draft: &mut Draft) {
    let size_bytes = draft.random.between(1_000, 6_000);
    let text = body(draft.language, &mut draft.random, size_bytes, false);
    let excerpt = escape(&sentences(draft.language, &mut draft.random));
    let (title, link) = (escape(&draft.title()), draft.slug());
    let date = draft.published().strftime("%Y-%m-%dT%H:%M:%S+00:00");
    draft.put(&format!(
        "<item rdf:about=\"{link}\">\n<title>{title}</title>\n<link>{link}</link>\n\
         <description>{excerpt}</description>\n<content:encoded><![CDATA[{text}]]></content:encoded>\n\
         <dc:creator>Jo Doe</dc:creator>\n<dc:subject>news</dc:subject>\n<dc:subject>code</dc:subject>\n\
         <dc:date>{date}</dc:date>\n</item>\n"
    ));
}
