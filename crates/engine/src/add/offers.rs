//! Which of the feeds that a page offers a person wants. Pure: nothing is asked here.

use domain::{feed_state::FeedAddress, push::link::Link};
use url::Url;

use crate::api::OfferedFeed;

/// Feeds of one page that are kept, from its headers and from itself.
const OFFERS_MAX: usize = 64;

/// What pages call the feed of their readers' comments: whole words.
const COMMENTS: [&str; 19] = [
    "comments",
    "commentaire",
    "commentaires",
    "comentario",
    "comentarios",
    "comentário",
    "comentários",
    "commenti",
    "kommentar",
    "kommentare",
    "kommentarer",
    "komentarze",
    "komentáře",
    "reacties",
    "yorumlar",
    "комментарии",
    "комментариев",
    "коментарі",
    "σχόλια",
];

/// The same where words are not separated.
const COMMENTS_UNSEPARATED: [&str; 4] = ["评论", "評論", "コメント", "댓글"];

/// A feed that a page offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FeedOffer {
    pub(super) address: FeedAddress,
    title: Option<String>,
    mime: String,
}

/// The offers of a page: those for what it publishes, and those for what its readers say about that.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Offers {
    pub(super) main: Vec<FeedOffer>,
    pub(super) comments: Vec<FeedOffer>,
}

impl Offers {
    /// Ranks them, best first; what is equally good stays in the page's order. Headers speak before the page, because
    /// that is the order in which they are read.
    pub(super) fn of(in_headers: &[Link], in_page: Vec<feed::Discovered>, page_url: &str) -> Self {
        let base = Url::parse(page_url).ok();
        let linked = in_headers.iter().filter(|link| offers_feed(link)).filter_map(|link| {
            let url = base.as_ref()?.join(&link.target).ok()?;
            Some(feed::Discovered { url: url.into(), title: link.title.clone(), mime: link.mime.clone() })
        });
        let mut offers: Vec<FeedOffer> = Vec::new();
        for found in linked.chain(in_page) {
            let Ok(address) = FeedAddress::parse(&found.url) else { continue };
            // Only the user names a password: what a page writes into its links is not for us.
            let address = FeedAddress { credentials: None, ..address };
            let is_known = offers.iter().any(|known| known.address.url == address.url);
            if address.url != page_url && !is_known && offers.len() < OFFERS_MAX {
                offers.push(FeedOffer { address, title: found.title, mime: found.mime });
            }
        }
        offers.sort_by_key(|offer| doubt(&offer.mime));
        let (comments, main) = offers.into_iter().partition(FeedOffer::is_comments);
        Self { main, comments }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.main.is_empty() && self.comments.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.main.len() + self.comments.len()
    }

    /// All of them, best first, for people.
    pub(super) fn named(&self) -> Vec<OfferedFeed> {
        let named = |offer: &FeedOffer| OfferedFeed { url: offer.address.url.clone(), title: offer.title.clone() };
        self.main.iter().chain(&self.comments).map(named).collect()
    }

    /// The same without this one.
    pub(super) fn without(mut self, url: &str) -> Self {
        self.main.retain(|offer| offer.address.url != url);
        self.comments.retain(|offer| offer.address.url != url);
        self
    }

    /// Lets the page's password go along where it may be sent.
    pub(super) fn with_credentials(mut self, page: &FeedAddress) -> Self {
        for offer in self.main.iter_mut().chain(&mut self.comments) {
            offer.address.credentials =
                page.credentials.clone().filter(|_| crate::poll::same_host(&page.url, &offer.address.url));
        }
        self
    }
}

impl FeedOffer {
    fn is_comments(&self) -> bool {
        let title = self.title.as_deref().unwrap_or_default();
        let place = Url::parse(&self.address.url).map(|url| format!("{} {}", url.path(), url.query().unwrap_or("")));
        speaks_of_comments(title) || speaks_of_comments(&place.unwrap_or_default())
    }
}

fn offers_feed(link: &Link) -> bool {
    link.is("alternate") && feed::is_feed_type(&link.mime) || link.is("feed")
}

fn speaks_of_comments(text: &str) -> bool {
    let text = text.to_lowercase();
    let is_comments = |word: &str| COMMENTS.contains(&word);
    text.split(|c: char| !c.is_alphanumeric()).any(is_comments)
        || COMMENTS_UNSEPARATED.iter().any(|word| text.contains(word))
}

/// How much there is to doubt that a feed is behind a type: none where the type says so; pages name all kinds of
/// documents `application/json`, and a page in h-entry is a poor feed.
fn doubt(mime: &str) -> u8 {
    match mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/rss+xml"
        | "application/atom+xml"
        | "application/x.atom+xml"
        | "application/feed+json"
        | "application/rdf+xml" => 0,
        "text/mf2+html" => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use domain::push::link;

    use super::*;

    fn found(url: &str, title: &str, mime: &str) -> feed::Discovered {
        feed::Discovered { url: url.to_owned(), title: Some(title.to_owned()), mime: mime.to_owned() }
    }

    fn urls(offers: &[FeedOffer]) -> Vec<&str> {
        offers.iter().map(|offer| offer.address.url.as_str()).collect()
    }

    #[test]
    fn f1_offers_are_ranked_comments_apart() {
        let page = vec![
            found("https://e.org/wp-json/wp/v2/pages/2", "JSON", "application/json"),
            found("https://e.org/comments/feed/", "Site » Comments Feed", "application/rss+xml"),
            found("https://e.org/?feed=comments-rss2", "All", "application/rss+xml"),
            found("https://e.org/b", "Beiträge", "application/rss+xml; charset=utf-8"),
            found("https://e.org/k", "Kommentare zu Beiträgen", "application/atom+xml"),
            found("https://e.org/c", "Comment is free: Commentary", "application/atom+xml"),
            found("https://e.org/mf2", "h-feed", "text/mf2+html"),
            found("https://e.org/b", "once more", "application/rss+xml"),
            found("ftp://e.org/x", "no", "application/rss+xml"),
            found("https://e.org/", "itself", "text/mf2+html"),
        ];
        let links = link::parse(
            ["</head.xml>; rel=alternate; type=\"application/atom+xml\", </de>; rel=alternate; hreflang=de"]
                .into_iter(),
        );
        let offers = Offers::of(&links, page, "https://e.org/");
        assert_eq!(
            urls(&offers.main),
            [
                "https://e.org/head.xml",
                "https://e.org/b",
                "https://e.org/c",
                "https://e.org/wp-json/wp/v2/pages/2",
                "https://e.org/mf2"
            ]
        );
        assert_eq!(
            urls(&offers.comments),
            ["https://e.org/comments/feed/", "https://e.org/?feed=comments-rss2", "https://e.org/k"]
        );
        assert_eq!(offers.named()[1].title.as_deref(), Some("Beiträge"));
        assert_eq!((offers.len(), offers.without("https://e.org/k").len()), (8, 7));
    }

    #[test]
    fn f1_no_page_offers_more_than_is_kept() {
        let page = (0..1000).map(|n| found(&format!("https://e.org/{n}"), "x", "text/xml")).collect();
        assert_eq!(Offers::of(&[], page, "https://e.org/").len(), OFFERS_MAX);
    }
}
