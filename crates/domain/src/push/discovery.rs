//! Which hubs push a feed, and under which name: the `Link` headers before the document, the document before the table
//! of known hubs (WebSub, section 4).

use serde::{Deserialize, Serialize};
use url::Url;

use super::link::Link;

/// Hubs of a feed that are kept.
pub const HUBS_MAX: usize = 8;

/// Bytes of a hub's URL, and of a topic: longer ones are nobody's.
pub const HUB_URL_BYTES_MAX: usize = 2048;

/// What an answer says about push.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The hubs, in order of preference.
    pub hubs: Vec<String>,
    /// The feed's own name for itself, as found; without one its URL is the topic.
    pub topic: Option<String>,
}

/// What a document itself says about push: its links are absolute already.
#[derive(Debug, Clone, Copy, Default)]
pub struct InDocument<'d> {
    /// The hubs, in order.
    pub hubs: &'d [String],
    /// `self`.
    pub topic: Option<&'d str>,
}

/// A hub that pushes feeds which do not name it, and knows them by their URLs, whatever they call themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownHub {
    /// What the URLs of those feeds begin with.
    pub prefix: String,
    pub hub: String,
}

impl KnownHub {
    /// Under which topic it pushes the feed at this URL, if it does: with the prefix as it is written in the table, also if
    /// the feed was fetched without encryption.
    fn topic_of(&self, url: &str) -> Option<String> {
        let without_scheme = |url: &str| url.split_once("://").map(|(_, rest)| rest.to_owned());
        let (prefix, url) = (without_scheme(&self.prefix)?, without_scheme(url)?);
        Some(format!("{}{}", self.prefix, url.strip_prefix(&prefix)?))
    }

    /// Whether it is this one, also without encryption.
    fn is_at(&self, hub: &str) -> bool {
        let bare = |url: &str| {
            let url = Url::parse(url).ok()?;
            Some((url.host_str()?.to_owned(), url.port(), url.path().to_owned(), url.query().map(str::to_owned)))
        };
        bare(&self.hub).is_some_and(|known| bare(hub) == Some(known))
    }
}

/// Finds hubs and topic. `url` is where the document came from, after redirects.
pub fn discover(links: &[Link], document: InDocument<'_>, url: &str, known: &[KnownHub]) -> Discovery {
    let base = Url::parse(url).ok();
    let without_password =
        |hub: &String| Url::parse(hub).is_ok_and(|hub| hub.username().is_empty() && hub.password().is_none());
    let of = |rel: &'static str| {
        links.iter().filter(move |link| link.is(rel)).filter_map(|link| absolute(&link.target, base.as_ref()))
    };
    // A known hub may be named as well, and goes by the feed's URL all the same.
    let known_topic = |hubs: &[String]| {
        let mut named = known.iter().filter(|known| hubs.iter().any(|hub| known.is_at(hub)));
        named.find_map(|known| known.topic_of(url))
    };
    let in_headers = hubs(of("hub").filter(without_password));
    if !in_headers.is_empty() {
        // A hub in the headers goes before all others; a self that is missing there is the document's.
        let topic = known_topic(&in_headers).or_else(|| of("self").next());
        let topic = topic.or_else(|| document.topic.and_then(|topic| absolute(topic, base.as_ref())));
        return Discovery { hubs: in_headers, topic };
    }
    let topic = document.topic.and_then(|topic| absolute(topic, base.as_ref()));
    let in_document =
        hubs(document.hubs.iter().filter_map(|hub| absolute(hub, base.as_ref())).filter(without_password));
    if !in_document.is_empty() {
        let topic = known_topic(&in_document).or(topic).or_else(|| of("self").next());
        return Discovery { hubs: in_document, topic };
    }
    let pushing: Vec<(&KnownHub, String)> =
        known.iter().filter_map(|known| Some((known, known.topic_of(url)?))).collect();
    let topic = pushing.first().map(|(_, topic)| topic.clone()).or(topic);
    Discovery { hubs: hubs(pushing.iter().map(|(known, _)| known.hub.clone())), topic }
}

/// The first so many, each once.
fn hubs(found: impl Iterator<Item = String>) -> Vec<String> {
    let mut hubs = Vec::new();
    for hub in found {
        if hubs.len() < HUBS_MAX && !hubs.contains(&hub) {
            hubs.push(hub);
        }
    }
    hubs
}

/// An http(s) URL as it was written; a relative one is resolved. A topic is a string: nothing in it is put in order.
fn absolute(target: &str, base: Option<&Url>) -> Option<String> {
    let written = match Url::parse(target) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => target.to_owned(),
        Ok(_) => return None,
        Err(_) => {
            let joined = base?.join(target).ok()?;
            matches!(joined.scheme(), "http" | "https").then(|| joined.to_string())?
        }
    };
    (written.len() <= HUB_URL_BYTES_MAX).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::link;

    const URL: &str = "https://e.org/blog/feed";

    fn found(header: &str, hubs: &[&str], topic: Option<&str>) -> (Vec<String>, Option<String>) {
        let hubs: Vec<String> = hubs.iter().map(|hub| (*hub).to_owned()).collect();
        let links = link::parse([header].into_iter());
        let Discovery { hubs, topic } = discover(&links, InDocument { hubs: &hubs, topic }, URL, &[]);
        (hubs, topic)
    }

    fn expected(hubs: &[&str], topic: Option<&str>) -> (Vec<String>, Option<String>) {
        (hubs.iter().map(|hub| (*hub).to_owned()).collect(), topic.map(str::to_owned))
    }

    #[test]
    fn w1_headers_take_precedence_over_the_document() {
        let both = "<https://h.org/>; rel=hub, <https://e.org/Self>; rel=self";
        assert_eq!(found(both, &[], None), expected(&["https://h.org/"], Some("https://e.org/Self")));
        assert_eq!(
            found(both, &["https://other.org/"], Some("https://e.org/other")),
            expected(&["https://h.org/"], Some("https://e.org/Self"))
        );
        assert_eq!(
            found("<https://h.org/>; rel=hub", &[], Some("https://e.org/x")),
            expected(&["https://h.org/"], Some("https://e.org/x")),
            "the document's self for the headers' hub"
        );
        assert_eq!(
            found("", &["https://h.org/", "https://i.org/", "https://h.org/"], None),
            expected(&["https://h.org/", "https://i.org/"], None)
        );
        assert_eq!(found("<https://e.org/s>; rel=self", &[], None), expected(&[], None));
    }

    #[test]
    fn w1_relative_urls_are_resolved_and_others_left_as_they_are() {
        assert_eq!(
            found("</hub>; rel=hub, <feed?a=%7e>; rel=self", &[], None),
            expected(&["https://e.org/hub"], Some("https://e.org/blog/feed?a=%7e"))
        );
        let odd = "HTTPS://E.org:443/a/../b?x=%7E#f";
        assert_eq!(found("<//h.org>; rel=hub", &[], Some(odd)), expected(&["https://h.org/"], Some(odd)));
        assert_eq!(found("<ftp://h.org/>; rel=hub, <mailto:x>; rel=hub", &[], None), expected(&[], None));
        let secret = "<https://u:p@h.org/>; rel=hub";
        assert_eq!(
            found(secret, &["https://u@i.org/"], None),
            expected(&[], None),
            "nobody but the user names a password"
        );
        let long = format!("<https://h.org/{}>; rel=hub", "x".repeat(HUB_URL_BYTES_MAX));
        assert_eq!(found(&long, &[], None), expected(&[], None));
    }

    #[test]
    fn w1_known_hubs_push_feeds_that_do_not_name_theirs() {
        let known = [KnownHub { prefix: "https://e.org/blog/".into(), hub: "https://k.org/".into() }];
        let topic = Some("http://e.org/s");
        let find = |hubs: &[String]| discover(&[], InDocument { hubs, topic }, URL, &known);
        assert_eq!(find(&[]), Discovery { hubs: vec!["https://k.org/".into()], topic: Some(URL.to_owned()) });
        let named = find(&["https://h.org/".into()]);
        assert_eq!((named.hubs, named.topic.as_deref()), (vec!["https://h.org/".to_owned()], topic));
        assert_eq!(discover(&[], InDocument::default(), "https://f.org/", &known), Discovery::default());
    }

    #[test]
    fn w1_youtube_topic_is_the_feed_url() {
        let known = [KnownHub {
            prefix: "https://www.youtube.com/feeds/videos.xml".into(),
            hub: "https://pubsubhubbub.appspot.com/".into(),
        }];
        let address = "https://www.youtube.com/feeds/videos.xml?channel_id=UC1";
        for (url, itself) in [
            (address, "http://www.youtube.com/feeds/videos.xml?channel_id=UC1"),
            (address, "yt:channel:1"),
            ("http://www.youtube.com/feeds/videos.xml?channel_id=UC1", "https://www.youtube.com/xml?user=x"),
        ] {
            let document = InDocument { hubs: &[], topic: Some(itself) };
            let found = discover(&[], document, url, &known);
            assert_eq!(found.hubs, ["https://pubsubhubbub.appspot.com/"], "{url}");
            assert_eq!(found.topic.as_deref(), Some(address), "{url} {itself}");
            // What its hub is sent names the hub, too.
            for hub in ["https://pubsubhubbub.appspot.com", "http://pubsubhubbub.appspot.com/"] {
                let hubs = [hub.to_owned()];
                let in_document = discover(&[], InDocument { hubs: &hubs, ..document }, url, &known);
                assert_eq!((in_document.topic.as_deref(), in_document.hubs.len()), (Some(address), 1), "{url} {hub}");
                let links = link::parse([format!("<{hub}>; rel=hub, <{itself}>; rel=self").as_str()].into_iter());
                let in_headers = discover(&links, document, url, &known);
                assert_eq!((in_headers.topic.as_deref(), in_headers.hubs.len()), (Some(address), 1), "{url} {hub}");
            }
        }
    }
}
