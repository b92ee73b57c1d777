//! F6: lists of feeds, in and out.

use domain::account::READER;
use engine::OpmlError;
use testkit::Page;

use crate::world::{self, World, rss};

/// What a list says of its feeds: address, folder, titles, interval.
async fn listed(world: &World) -> Vec<(String, Option<String>, Option<String>, Option<String>, Option<u32>)> {
    let folders = world.store.folders(READER).await.unwrap();
    let feeds = world.store.feeds(READER).await.unwrap();
    let name = |id| folders.iter().find(|folder| Some(folder.id) == id).map(|folder| folder.name.clone());
    let mut listed: Vec<_> = feeds
        .into_iter()
        .map(|feed| (feed.url, name(feed.folder_id), feed.title, feed.custom_title, feed.poll_interval))
        .collect();
    listed.sort();
    listed
}

async fn folder_names(world: &World) -> Vec<String> {
    world.store.folders(READER).await.unwrap().into_iter().map(|folder| folder.name).collect()
}

#[tokio::test]
async fn f6_export_import_roundtrip() {
    let (from, to) = (world::each().await, world::each().await);
    for (from, to) in from.into_iter().zip(to) {
        let opml = r#"<opml version="1.0"><body>
            <outline text="News &amp; more"><outline text="World"><outline text="A &lt;b&gt;" xmlUrl="http://a.org/?x=1&amp;y=2"/></outline>
            <outline title="B" xmlUrl="http://b.org/" htmlUrl="http://b.org/site"/></outline>
            <outline text="Empty"/><outline text="Later"><outline text="C" xmlUrl="http://c.org/"/></outline>
            <outline text="News &amp; more"><outline text="Local"><outline text="D" xmlUrl="http://d.org/"/></outline></outline>
            <outline text="E" xmlUrl="http://e.org/"/></body></opml>"#;
        let report = from.engine.import_opml(READER, opml.as_bytes()).await.unwrap();
        assert_eq!((report.imported, report.skipped, report.errors.len()), (5, 0, 0));
        let id = from.store.feed_by_url(READER, "http://c.org/").await.unwrap().unwrap();
        let patch = domain::FeedPatch {
            custom_title: Some(Some("My \"C\"".to_owned())),
            poll_interval: Some(Some(3600)),
            ..domain::FeedPatch::default()
        };
        from.store.update_feed(READER, id, patch).await.unwrap();
        let exported = from.engine.export_opml(READER).await.unwrap();
        let report = to.engine.import_opml(READER, exported.as_bytes()).await.unwrap();
        assert_eq!((report.imported, report.skipped, report.errors.len()), (5, 0, 0), "{exported}");
        assert_eq!(listed(&to).await, listed(&from).await, "{exported}");
        let folders = ["News & more / World", "News & more", "Empty", "Later", "News & more / Local"];
        assert_eq!(
            (folder_names(&from).await, folder_names(&to).await),
            (folders.map(str::to_owned).into(), folders.map(str::to_owned).into())
        );
        assert_eq!(to.engine.export_opml(READER).await.unwrap(), exported);
        let again = to.engine.import_opml(READER, exported.as_bytes()).await.unwrap();
        assert_eq!((again.imported, again.skipped), (0, 5));
    }
}

#[tokio::test]
async fn f6_imports_a_thousand_feeds() {
    for world in world::each().await {
        let outlines: String = (0..1000)
            .map(|n| {
                format!("<outline text='{}'><outline text='Feed {n}' xmlUrl='http://e.org/{n}'/></outline>", n % 50)
            })
            .collect();
        let opml = format!(
            "<opml><body>{outlines}<outline type='rss' text='Lost'/><outline xmlUrl='http://u:geheim@e.org/7'/>\
             <outline xmlUrl='mailto:me@e.org'/><outline xmlUrl='nonsense'/><outline xmlUrl='http://e.org/last'/>"
        );
        let report = world.engine.import_opml(READER, opml.as_bytes()).await.unwrap();
        assert_eq!((report.imported, report.skipped), (1001, 1));
        let errors: Vec<_> = report.errors.iter().map(|error| (error.url.as_str(), error.error.as_str())).collect();
        let expect = [
            ("", "the outline \"Lost\" is of a feed, but has no `xmlUrl`"),
            ("://e.org", "only http and https feeds can be read, not mailto"),
            ("nonsense", "not a URL: it does not begin with http:// or https://"),
        ];
        assert_eq!(errors, expect);
        assert_eq!(folder_names(&world).await.len(), 50);
    }
}

#[tokio::test]
async fn f6_imported_feeds_are_polled_next() {
    for world in world::each().await {
        world.publisher.set("/feed", Page::body(rss(&[("1", "One")])));
        let opml = format!("<opml><outline text='Given' xmlUrl='{}'/></opml>", world.publisher.url("/feed"));
        world.engine.import_opml(READER, opml.as_bytes()).await.unwrap();
        assert_eq!(world.engine.refresh_due().await.unwrap().new_entries, 1);
        let feed = &world.store.feeds(READER).await.unwrap()[0];
        assert_eq!((feed.title.as_deref(), feed.unread_count), (Some("News"), 1));
    }
}

#[tokio::test]
async fn f6_foreign_title_is_kept() {
    for world in world::each().await {
        for path in ["/named", "/both", "/bare"] {
            world.publisher.set(path, Page::body(rss(&[("1", "One")])));
        }
        let [given, both, bare] = ["/named", "/both", "/bare"].map(|path| world.publisher.url(path));
        let opml = format!(
            "<opml><outline text=' My \n  own&#7; name ' xmlUrl='{given}'/>\
             <outline text='Shown' title='Its own' xmlUrl='{both}'/><outline text='{bare}' xmlUrl='{bare}'/></opml>"
        );
        world.engine.import_opml(READER, opml.as_bytes()).await.unwrap();
        world.engine.refresh_due().await.unwrap();
        let names = async |world: &World| {
            let mut names = Vec::new();
            for url in [&given, &both, &bare] {
                let id = world.store.feed_by_url(READER, url).await.unwrap().unwrap();
                let feed = world.store.feed(READER, id).await.unwrap().unwrap();
                names.push((feed.custom_title, feed.title));
            }
            names
        };
        let name = |name: &str| Some(name.to_owned());
        let expect = [(name("My own name"), name("News")), (name("Shown"), name("News")), (None, name("News"))];
        assert_eq!(names(&world).await, expect);

        // Our own list tells the two apart: a feed that has no name of the user's gets none.
        let exported = world.engine.export_opml(READER).await.unwrap();
        for id in world.store.feeds(READER).await.unwrap().iter().map(|feed| feed.id) {
            assert!(world.store.delete_feed(READER, id).await.unwrap());
        }
        world.engine.import_opml(READER, exported.as_bytes()).await.unwrap();
        assert_eq!(names(&world).await, expect, "{exported}");
    }
}

#[tokio::test]
async fn f6_bad_value_costs_no_feed() {
    for world in world::each().await {
        let (long, folder) = ("ä".repeat(501), "ö".repeat(201));
        let opml = format!(
            "<opml xmlns:p='urn:pirssonite:opml'><outline xmlUrl='http://e.org/short' p:pollInterval='59'/>\
             <outline xmlUrl='http://e.org/long' p:pollInterval='2592001'/>\
             <outline xmlUrl='http://e.org/@nonsense' p:pollInterval='soon'/>\
             <outline xmlUrl='http://e.org/right' p:pollInterval='60' p:customTitle='Right'/>\
             <outline text='{folder}'><outline xmlUrl='http://e.org/title' p:customTitle='{long}'/></outline></opml>"
        );
        let report = world.engine.import_opml(READER, opml.as_bytes()).await.unwrap();
        assert_eq!((report.imported, report.skipped), (5, 0));
        let errors: Vec<_> = report.errors.iter().map(|error| (error.url.as_str(), error.error.as_str())).collect();
        let interval = |secs| {
            let [a, b] = ["imported without its poll interval:", "is not from 60 to 2592000 seconds"];
            format!("{a} {secs} {b}")
        };
        let cut = "ö".repeat(200);
        let expect = [
            ("", &*format!("the name of the folder {cut:?} was cut to 200 characters")),
            ("http://e.org/short", &interval("59")),
            ("http://e.org/long", &interval("2592001")),
            ("http://e.org/@nonsense", &interval("soon")),
            ("http://e.org/title", "imported with its title cut to 500 characters"),
        ];
        assert_eq!(errors, expect);
        let kept: Vec<_> = listed(&world).await.into_iter().map(|feed| (feed.3, feed.4)).collect();
        let none = (None, None);
        let expect =
            [none.clone(), none.clone(), (Some("Right".to_owned()), Some(60)), none, (Some("ä".repeat(500)), None)];
        assert_eq!(kept, expect);
        assert_eq!(folder_names(&world).await, [cut]);
        // What is there already is left as it is, so nothing of it was mended.
        let again = world.engine.import_opml(READER, opml.as_bytes()).await.unwrap();
        assert_eq!((again.skipped, again.errors.len()), (5, 1));
    }
}

#[tokio::test]
async fn f6_what_is_no_opml_changes_nothing() {
    for world in world::each().await {
        for bad in ["", "hello", "<rss><channel/></rss>"] {
            let error = world.engine.import_opml(READER, bad.as_bytes()).await.unwrap_err();
            assert!(matches!(error, OpmlError::NotOpml(_)), "{bad}: {error}");
        }
        assert_eq!(world.feed_count().await, 0);
    }
}
