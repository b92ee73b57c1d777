//! Atom 1.0: weblogs with escaped HTML and with XHTML, and videos.

use super::{Draft, FEED_URL, escape, escape_all, html::body, words::sentences};

pub(super) const TAIL: &str = "</feed>\n";

pub(super) fn head(draft: &mut Draft) {
    let (title, updated) = (escape(&draft.title()), draft.published());
    let (tag, declared) = (draft.language.tag, draft.declared);
    draft.put(&format!(
        r#"<?xml version="1.0" encoding="{declared}"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:thr="http://purl.org/syndication/thread/1.0"
 xmlns:yt="http://www.youtube.com/xml/schemas/2015" xmlns:media="http://search.yahoo.com/mrss/"
 xml:lang="{tag}" xml:base="https://example.org/blog/">
<id>tag:example.org,2004:blog</id>
<title type="text">{title}</title>
<subtitle type="html">{title}</subtitle>
<updated>{updated}</updated>
<link rel="self" type="application/atom+xml" href="{FEED_URL}"/>
<link rel="hub" href="https://hub.example.org/"/>
<link rel="alternate" type="text/html" href="https://example.org/blog/"/>
<link rel="next" type="application/atom+xml" href="{FEED_URL}?page=2"/>
<author><name>Jo Doe</name><uri>https://example.org/jo</uri><email>jo@example.org</email></author>
<generator version="7.00" uri="https://blogger.example">Blogger</generator>
"#
    ));
}

fn opening(draft: &mut Draft) {
    let (title, link, published) = (escape(&draft.title()), draft.slug(), draft.published());
    let number = 100_000 - draft.entries;
    draft.put(&format!(
        "<entry>\n<id>tag:example.org,2004:blog.post-{number}</id>\n<published>{published}</published>\n\
         <updated>{published}</updated>\n<category scheme=\"http://www.blogger.example/atom/ns#\" term=\"news\"/>\n\
         <category scheme=\"http://www.blogger.example/atom/ns#\" term=\"code\"/>\n\
         <title type=\"text\">{title}</title>\n\
         <link rel=\"replies\" type=\"application/atom+xml\" href=\"{link}/comments\" title=\"Comments\"/>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"{link}\" title=\"{title}\"/>\n\
         <author><name>Jo Doe</name><uri>https://example.org/jo</uri></author>\n"
    ));
}

pub(super) fn html(draft: &mut Draft) {
    opening(draft);
    let size_bytes = draft.random.between(1_500, 10_000);
    let text = body(draft.language, &mut draft.random, size_bytes, false);
    let text = if draft.entries.is_multiple_of(3) { escape_all(&text) } else { escape(&text) };
    draft.put(&format!("<content type=\"html\">{text}</content>\n<thr:total>0</thr:total>\n</entry>\n"));
}

pub(super) fn xhtml(draft: &mut Draft) {
    opening(draft);
    let size_bytes = draft.random.between(1_500, 10_000);
    let text = body(draft.language, &mut draft.random, size_bytes, true);
    let summary = escape(&sentences(draft.language, &mut draft.random));
    draft.put(&format!(
        "<summary>{summary}</summary>\n<content type=\"xhtml\" xml:base=\"https://example.org/blog/\">\
         <div xmlns=\"http://www.w3.org/1999/xhtml\">{text}</div></content>\n</entry>\n"
    ));
}

pub(super) fn video(draft: &mut Draft) {
    let (title, link, published) = (escape(&draft.title()), draft.slug(), draft.published());
    let text = escape(&sentences(draft.language, &mut draft.random));
    let (number, views) = (100_000 - draft.entries, draft.random.below(900_000));
    draft.put(&format!(
        "<entry>\n<id>yt:video:{number}</id>\n<yt:videoId>{number}</yt:videoId>\n<yt:channelId>UC81</yt:channelId>\n\
         <title>{title}</title>\n<link rel=\"alternate\" href=\"{link}\"/>\n\
         <author>\n<name>Jo Doe</name>\n<uri>https://videos.example.com/channel/UC81</uri>\n</author>\n\
         <published>{published}</published>\n<updated>{published}</updated>\n<media:group>\n\
         <media:title>{title}</media:title>\n\
         <media:content url=\"https://videos.example.com/v/{number}?version=3\" type=\"video/mp4\" width=\"640\" \
         height=\"390\"/>\n<media:thumbnail url=\"https://img.example.com/vi/{number}/hq.jpg\" width=\"480\" \
         height=\"360\"/>\n<media:description>{text}\n\nhttps://example.org/more</media:description>\n\
         <media:community>\n<media:starRating count=\"{}\" average=\"5.00\" min=\"1\" max=\"5\"/>\n\
         <media:statistics views=\"{views}\"/>\n</media:community>\n</media:group>\n</entry>\n",
        views / 50
    ));
}

/// A whole document, as a hub sends it.
pub(super) fn pushed(draft: &mut Draft, number: usize, topic: &str, hub: &str) {
    const TEXT_BYTES: usize = 300;
    const FIRST_SECS: i64 = 1_735_689_600;
    let published_secs = FIRST_SECS + i64::try_from(number).unwrap_or(0);
    let published = jiff::Timestamp::from_second(published_secs).expect("a time of this century");
    let title = escape(&draft.title());
    let text = escape(&body(draft.language, &mut draft.random, TEXT_BYTES, false));
    let (tag, declared) = (draft.language.tag, draft.declared);
    draft.put(&format!(
        r#"<?xml version="1.0" encoding="{declared}"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{tag}">
<id>{topic}</id>
<title type="text">A weblog</title>
<updated>{published}</updated>
<link rel="self" type="application/atom+xml" href="{topic}"/>
<link rel="hub" href="{hub}"/>
<link rel="alternate" type="text/html" href="https://example.org/blog/"/>
<entry>
<id>tag:example.org,2004:blog.post-{number}</id>
<title type="text">{title}</title>
<link rel="alternate" type="text/html" href="https://example.org/blog/{number}"/>
<published>{published}</published>
<updated>{published}</updated>
<author><name>Jo Doe</name><uri>https://example.org/jo</uri></author>
<category term="news"/>
<content type="html">{text}</content>
</entry>
{TAIL}"#
    ));
}
