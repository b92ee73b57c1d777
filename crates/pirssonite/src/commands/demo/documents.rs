//! The demo's feeds as documents: RSS, Atom, JSON Feed and h-feed, each naming the hub in the way of its format.

use serde_json::json;

use super::{
    contents::Format,
    publisher::{Channel, Document, Post},
    sounds,
};

/// The path of the hub, beside the publisher.
pub(super) const HUB_PATH: &str = "/hub";

/// The document of a feed.
pub(super) fn write(base_url: &str, channel: &Channel) -> Document {
    match channel.content.format {
        Format::Rss => document(channel, "application/rss+xml; charset=utf-8", rss(base_url, channel)),
        Format::Atom => document(channel, "application/atom+xml; charset=utf-8", atom(base_url, channel)),
        Format::Json => document(channel, "application/feed+json; charset=utf-8", json_feed(base_url, channel)),
        Format::HFeed => site(base_url, channel),
    }
}

/// The page of a feed's site: an h-feed, and a link to the document where that is another.
pub(super) fn site(base_url: &str, channel: &Channel) -> Document {
    let content = &channel.content;
    let kind = match content.format {
        Format::Rss => Some("application/rss+xml"),
        Format::Atom => Some("application/atom+xml"),
        Format::Json => Some("application/feed+json"),
        Format::HFeed => None,
    };
    let alternate =
        kind.map(|kind| format!("<link rel=\"alternate\" type=\"{kind}\" href=\"{}\">\n", content.url(base_url)));
    let posts: String = channel.posts().iter().map(|post| h_entry(channel, post)).collect();
    let body = format!(
        "<div class=\"h-feed\">\n<h1 class=\"p-name\">{}</h1>\n<p class=\"p-summary\">{}</p>\n{posts}</div>\n",
        escape(&content.title),
        escape(&content.about),
    );
    document(channel, "text/html; charset=utf-8", page(channel, &alternate.unwrap_or_default(), &content.title, &body))
}

/// The page of a post.
pub(super) fn post(channel: &Channel, post: &Post) -> Document {
    let title = post.title.as_deref().unwrap_or(&channel.content.title);
    document(channel, "text/html; charset=utf-8", page(channel, "", title, &h_entry(channel, post)))
}

fn document(channel: &Channel, content_type: &'static str, body: String) -> Document {
    let number = channel.posts().first().map_or(0, |post| post.number);
    Document { content_type, body, etag: format!("\"{}-{number}\"", channel.content.name) }
}

fn page(channel: &Channel, head: &str, title: &str, body: &str) -> String {
    let direction = if channel.content.language == "ar" { "rtl" } else { "ltr" };
    format!(
        "<!doctype html>\n<html lang=\"{}\" dir=\"{direction}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n{head}\
         <link rel=\"icon\" sizes=\"32x32\" href=\"/icons/{}.ico\">\n<link rel=\"stylesheet\" href=\"/demo.css\">\n</head>\n<body class=\"site\">\n<main>\n{body}</main>\n</body>\n</html>\n",
        channel.content.language,
        escape(title),
        channel.content.name,
    )
}

fn h_entry(channel: &Channel, post: &Post) -> String {
    let title = post.title.as_ref().map(|title| format!("<h2 class=\"p-name\">{}</h2>\n", escape(title)));
    format!(
        "<article class=\"h-entry\">\n{}<div class=\"e-content\">{}</div>\n<p><a class=\"u-url u-uid\" href=\"{}\">\
         <time class=\"dt-published\" datetime=\"{}\">{}</time></a>, <span class=\"p-author h-card\">{}</span></p>\n</article>\n",
        title.unwrap_or_default(),
        post.html,
        post.url,
        post.published_at,
        post.published_at.strftime("%Y-%m-%d %H:%M UTC"),
        escape(&channel.content.author),
    )
}

fn rss(base_url: &str, channel: &Channel) -> String {
    let content = &channel.content;
    let url = content.url(base_url);
    let items: String = channel.posts().iter().map(|post| rss_item(channel, post)).collect();
    let hub = content.has_hub.then(|| format!("<atom:link rel=\"hub\" href=\"{base_url}{HUB_PATH}\"/>\n"));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" \
         xmlns:content=\"http://purl.org/rss/1.0/modules/content/\" xmlns:itunes=\"http://www.itunes.com/dtds/podcast-1.0.dtd\">\n\
         <channel>\n<title>{}</title>\n<link>{base_url}/{}/</link>\n<description>{}</description>\n<language>{}</language>\n\
         <atom:link rel=\"self\" type=\"application/rss+xml\" href=\"{url}\"/>\n{}{items}</channel>\n</rss>\n",
        escape(&content.title),
        content.name,
        escape(&content.about),
        content.language,
        hub.unwrap_or_default(),
    )
}

fn rss_item(channel: &Channel, post: &Post) -> String {
    let optional = |name: &str, text: Option<&String>| {
        text.map(|text| format!("<{name}>{}</{name}>\n", escape(text))).unwrap_or_default()
    };
    let sound = post.sound.as_ref().map(|url| {
        let length = sounds::BYTES;
        let secs = sounds::SECS;
        format!("<enclosure url=\"{url}\" type=\"audio/wav\" length=\"{length}\"/>\n<itunes:duration>{secs}</itunes:duration>\n")
    });
    let categories: String =
        post.categories.iter().map(|category| format!("<category>{}</category>\n", escape(category))).collect();
    format!(
        "<item>\n{}<link>{url}</link>\n<guid isPermaLink=\"true\">{url}</guid>\n<pubDate>{}</pubDate>\n\
         <dc:creator>{}</dc:creator>\n{}{categories}{}<content:encoded>{}</content:encoded>\n</item>\n",
        optional("title", post.title.as_ref()),
        post.published_at.strftime("%a, %d %b %Y %H:%M:%S +0000"),
        escape(&channel.content.author),
        optional("description", post.summary.as_ref()),
        sound.unwrap_or_default(),
        escape(&post.html),
        url = post.url,
    )
}

fn atom(base_url: &str, channel: &Channel) -> String {
    let content = &channel.content;
    let entries: String = channel.posts().iter().map(atom_entry).collect();
    let hub = content.has_hub.then(|| format!("<link rel=\"hub\" href=\"{base_url}{HUB_PATH}\"/>\n"));
    let updated = channel.posts().first().map(|post| post.published_at).unwrap_or_default();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"{}\">\n\
         <title>{}</title>\n<subtitle>{}</subtitle>\n<id>{base_url}/{name}/</id>\n<updated>{updated}</updated>\n\
         <author><name>{}</name></author>\n<link rel=\"alternate\" href=\"{base_url}/{name}/\"/>\n\
         <link rel=\"self\" href=\"{}\"/>\n{}{entries}</feed>\n",
        content.language,
        escape(&content.title),
        escape(&content.about),
        escape(&content.author),
        content.url(base_url),
        hub.unwrap_or_default(),
        name = content.name,
    )
}

fn atom_entry(post: &Post) -> String {
    let summary = post.summary.as_ref().map(|summary| format!("<summary>{}</summary>\n", escape(summary)));
    let categories: String =
        post.categories.iter().map(|category| format!("<category term=\"{}\"/>\n", escape(category))).collect();
    format!(
        "<entry>\n<title>{}</title>\n<id>{url}</id>\n<link href=\"{url}\"/>\n<published>{at}</published>\n\
         <updated>{at}</updated>\n{categories}{}<content type=\"html\">{}</content>\n</entry>\n",
        escape(post.title.as_deref().unwrap_or_default()),
        summary.unwrap_or_default(),
        escape(&post.html),
        url = post.url,
        at = post.published_at,
    )
}

fn json_feed(base_url: &str, channel: &Channel) -> String {
    let content = &channel.content;
    let item = |post: &Post| {
        json!({
            "id": post.url,
            "url": post.url,
            "title": post.title,
            "summary": post.summary,
            "content_html": post.html,
            "date_published": post.published_at,
            "tags": post.categories,
        })
    };
    let hubs = content.has_hub.then(|| json!([{ "type": "WebSub", "url": format!("{base_url}{HUB_PATH}") }]));
    let feed = json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": content.title,
        "description": content.about,
        "home_page_url": format!("{base_url}/{}/", content.name),
        "feed_url": content.url(base_url),
        "language": content.language,
        "authors": [{ "name": content.author }],
        "hubs": hubs.unwrap_or_else(|| json!([])),
        "items": channel.posts().iter().map(item).collect::<Vec<_>>(),
    });
    feed.to_string()
}

/// A text as it may stand between tags and in quoted attributes.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use feed::{Hints, parse};

    use crate::commands::demo::{contents, publisher::Publisher};

    #[test]
    fn u5_demo_documents_are_read_without_warnings() {
        let base = "http://127.0.0.1:1";
        let publisher = Publisher::new(base.to_owned(), contents::read(), "2026-03-01T12:00:00Z".parse().unwrap());
        for (url, _) in publisher.feeds() {
            let document = publisher.document(&url).unwrap();
            let parsed = parse(document.body.as_bytes(), &Hints { url: Some(&url), ..Hints::default() });
            let parsed = parsed.unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(parsed.entries.len(), 4, "{url}");
            assert!(parsed.warnings.is_empty(), "{url}: {:?}", parsed.warnings);
        }
    }
}
