//! F3: entries of real documents stay the same as the documents move on, whatever they share.

use std::collections::{BTreeMap, BTreeSet};

use domain::EntryId;
use testkit::Page;

use crate::world::{self, World};

/// How an item is written whose number is given.
type Item = fn(usize) -> String;

/// Which items the documents hold, one after the other: some come, some go, some come back.
const WINDOWS: [&[usize]; 12] =
    [&[0], &[1, 0], &[1], &[0], &[2, 1, 0], &[3], &[3, 2], &[5, 4], &[4], &[6, 5, 4, 3, 2, 1, 0], &[0, 6], &[7]];

/// What items may share without being the same.
const KINDS: [(&str, Item); 6] = [
    ("the front page", |n| format!("<title>Title {n}</title><link>http://e.org/</link><description>T</description>")),
    ("a page", |n| format!("<title>Title {n}</title><link>http://e.org/news</link>")),
    ("a page, and the title", |n| {
        format!("<title>Daily</title><link>http://e.org/news</link><pubDate>0{} Mar 2026 08:00:00 GMT</pubDate>", n + 1)
    }),
    ("the front page, untitled", |n| format!("<link>http://e.org/</link><description>Text {n}</description>")),
    ("a guid", |n| format!("<title>Title {n}</title><link>http://e.org/{n}</link><guid isPermaLink='false'>0</guid>")),
    ("nothing but the text, on another date", |n| {
        format!("<title>All is well</title><pubDate>0{} Mar 2026 08:00:00 GMT</pubDate>", n + 1)
    }),
];

fn rss(items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("<item>{item}</item>")).collect();
    format!("<rss version='2.0'><channel><title>T</title><link>http://e.org</link>{items}</channel></rss>")
}

/// What an entry shows, for which no two of the items are alike.
async fn shown(world: &World, feed: domain::FeedId) -> BTreeMap<String, EntryId> {
    let entries = world.entries(feed).await;
    let guids: BTreeSet<&str> = entries.iter().map(|entry| entry.guid.as_str()).collect();
    assert_eq!(guids.len(), entries.len(), "each has a guid of its own");
    let shown = |entry: &domain::Entry| format!("{:?} {:?} {:?}", entry.title, entry.summary, entry.published_at);
    entries.iter().map(|entry| (shown(entry), entry.id)).collect()
}

#[tokio::test]
async fn f3_entries_survive_a_moving_document() {
    for world in world::each().await {
        for (at, (kind, item)) in KINDS.into_iter().enumerate() {
            let path = format!("/{at}");
            let feed = {
                world.publisher.set(&path, Page::body(rss(&[])));
                world.import(&[path.as_str()]).await[0]
            };
            let (mut seen, mut known) = (BTreeSet::new(), BTreeMap::new());
            for (step, window) in WINDOWS.into_iter().enumerate() {
                let items: Vec<String> = window.iter().map(|number| item(*number)).collect();
                world.publisher.set(&path, Page::body(rss(&items)));
                let new = window.iter().filter(|number| seen.insert(**number)).count();
                let summary = world.refresh(feed).await;
                assert_eq!(
                    (summary.new_entries, summary.changed_entries),
                    (u32::try_from(new).unwrap(), 0),
                    "{kind}: {step} {window:?}"
                );
                let now = shown(&world, feed).await;
                assert_eq!(now.len(), seen.len(), "{kind}: {step}");
                assert!(known.iter().all(|(text, id)| now.get(text) == Some(id)), "{kind}: {step}");
                known = now;
            }
        }
    }
}

#[tokio::test]
async fn f3_edited_entry_is_not_new() {
    let item = |number: usize, title: &str, text: &str| {
        format!("<title>{title}</title><link>http://e.org/{number}</link><description>{text}</description>")
    };
    for world in world::each().await {
        let documents = [
            vec![item(1, "One", "a"), item(2, "Two", "b")],
            vec![item(3, "Three", "c"), item(1, "Uno", "a"), item(2, "Two", "b")],
            vec![item(3, "Three", "c"), item(1, "Eins", "other")],
        ];
        world.publisher.set_all("/feed", documents.map(|items| Page::body(rss(&items))).into());
        let feed = world.import(&["/feed"]).await[0];
        for expect in [(2, 0), (1, 1), (0, 1)] {
            let summary = world.refresh(feed).await;
            assert_eq!((summary.new_entries, summary.changed_entries), expect);
        }
        let titles: BTreeSet<String> = world.titles(feed).await.into_iter().collect();
        assert_eq!(titles, ["Eins", "Three", "Two"].map(str::to_owned).into());
    }
}
