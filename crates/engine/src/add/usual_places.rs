//! Where feeds usually are, for pages that do not say where theirs is.

use domain::feed_state::FeedAddress;
use url::Url;

/// The names under which feeds are published, those of the most used programs first.
const NAMES: [&str; 10] = [
    "feed",
    "feed.xml",
    "rss",
    "rss.xml",
    "atom.xml",
    "index.xml",
    "feed.json",
    "feed.atom",
    "index.rdf",
    "feeds/posts/default",
];

/// The places to look at for the feed of a page: in its folder, then at the top of its site. At most twenty.
pub(super) fn usual_places(page: &FeedAddress) -> Vec<FeedAddress> {
    let Ok(url) = Url::parse(&page.url) else { return Vec::new() };
    let mut places: Vec<FeedAddress> = Vec::with_capacity(2 * NAMES.len());
    for folder in [folder_of(&url), "/".to_owned()] {
        for name in NAMES {
            let mut place = url.clone();
            place.set_query(None);
            place.set_path(&format!("{folder}{name}"));
            let is_known = places.iter().any(|known| known.url == place.as_str());
            if place != url && !is_known {
                // The same site as the page: its password may be sent there.
                places.push(FeedAddress { url: place.into(), credentials: page.credentials.clone() });
            }
        }
    }
    places
}

/// The folder that a page stands for: `/blog` is taken as `/blog/`, and `/blog/index.html` as `/blog/`.
fn folder_of(url: &Url) -> String {
    let path = url.path();
    let (above, last) = path.rsplit_once('/').unwrap_or(("", ""));
    if last.is_empty() || last.contains('.') { format!("{above}/") } else { format!("{path}/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(page: &str) -> Vec<String> {
        usual_places(&FeedAddress::parse(page).unwrap()).into_iter().map(|place| place.url).collect()
    }

    #[test]
    fn f1_usual_places_in_folder_and_root() {
        for (page, first, count) in [
            ("https://e.org/", "https://e.org/feed", NAMES.len()),
            ("https://e.org/index.html?a=b", "https://e.org/feed", NAMES.len()),
            ("https://e.org/blog", "https://e.org/blog/feed", 2 * NAMES.len()),
            ("https://e.org/blog/", "https://e.org/blog/feed", 2 * NAMES.len()),
            ("https://e.org/blog/index.html", "https://e.org/blog/feed", 2 * NAMES.len()),
            ("https://e.org/feed", "https://e.org/feed/feed", 2 * NAMES.len() - 1),
        ] {
            let places = places(page);
            assert_eq!((places[0].as_str(), places.len()), (first, count), "{page}");
            assert!(!places.iter().any(|place| place == page), "{page}");
        }
    }
}
