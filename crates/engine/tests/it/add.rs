//! F1: adding a feed.

use domain::FolderId;
use domain::account::READER;
use engine::{AddFeed, AddFeedError, EngineSettings};
use testkit::{Gate, Page, Publisher};

use crate::world::{self, World, rss};

fn page(links: &[&str]) -> Page {
    let links: String =
        links.iter().map(|href| format!("<link rel=alternate type='application/rss+xml' href='{href}'>")).collect();
    Page::body(format!("<!doctype html><html><head>{links}</head><body>Hi</body></html>"))
        .header("Content-Type", "text/html")
}

#[tokio::test]
async fn f1_a_feed_is_stored_with_its_entries() {
    for world in world::each().await {
        world.stop_clocks().await;
        world.publisher.set("/feed", Page::body(rss(&[("1", "One"), ("2", "Two")])).etag("\"1\""));
        let new = AddFeed { title: Some(" Mine ".to_owned()), ..world.new_feed("/feed") };
        let feed = world.engine.add_feed(new).await.unwrap();
        assert_eq!((feed.url.as_str(), feed.title.as_deref()), (world.publisher.url("/feed").as_str(), Some("News")));
        assert_eq!((feed.custom_title.as_deref(), feed.unread_count), (Some("Mine"), 2));
        assert_eq!(feed.site_url.as_deref(), Some("http://e.org/"));
        assert!(feed.last_fetched_at.is_some());
        assert!((3500..4100).contains(&world.due_in(&feed)), "{}", world.due_in(&feed));
        assert_eq!(world.titles(feed.id).await, ["One", "Two"]);
        let again = world.refresh(feed.id).await;
        assert_eq!((again.polled, again.unchanged), (1, 1));
        assert_eq!(world.publisher.requests("/feed")[1].header("if-none-match"), Some("\"1\""));
    }
}

#[tokio::test]
async fn f1_page_yields_first_feed_that_parses() {
    for world in world::each().await {
        world.publisher.set("/", page(&["/gone", "/page", "/feed", "/other"]));
        world.publisher.set("/page", page(&[]));
        world.publisher.set("/feed", Page::body(rss(&[("1", "One")])));
        let feed = world.engine.add_feed(world.new_feed("/")).await.unwrap();
        assert_eq!(feed.url, world.publisher.url("/feed"));
        assert!(world.publisher.requests("/other").is_empty());
        // By the page as well, it is there already.
        assert_eq!(world.engine.add_feed(world.new_feed("/feed")).await, Err(AddFeedError::AlreadyThere(feed.id)));
        world.publisher.set("/", page(&["/feed"]));
        assert_eq!(world.engine.add_feed(world.new_feed("/")).await, Err(AddFeedError::AlreadyThere(feed.id)));
    }
}

/// Its path, without a scheme: the publisher speaks no TLS.
fn typed(world: &World, path: &str) -> AddFeed {
    AddFeed { url: world.publisher.url(path).replace("http://", ""), ..world.new_feed(path) }
}

#[tokio::test]
async fn f1_missing_scheme_tries_https_then_http() {
    for world in world::each().await {
        world.publisher.set("/feed", Page::body(rss(&[("1", "One")])));
        let feed = world.engine.add_feed(typed(&world, "/feed")).await.unwrap();
        assert_eq!(feed.url, world.publisher.url("/feed"));
        let asked = world.publisher.request_count();
        assert_eq!(world.engine.add_feed(typed(&world, "/feed")).await, Err(AddFeedError::AlreadyThere(feed.id)));
        assert_eq!(world.publisher.request_count(), asked, "what is known is not asked for");
        // With a scheme nothing else is asked.
        let https = AddFeed { url: world.publisher.url("/other").replace("http:", "https:"), ..world.new_feed("/") };
        let error = world.engine.add_feed(https).await.unwrap_err();
        assert!(matches!(error, AddFeedError::Unreachable(_)) && error.to_string().contains("TLS"), "{error}");
        assert!(world.publisher.requests("/other").is_empty());
        // What a server refuses over http is told as that.
        let missing = world.engine.add_feed(typed(&world, "/missing")).await.unwrap_err();
        assert_eq!(missing.to_string(), "the server answered 404 Not Found");
    }
}

#[tokio::test]
async fn f1_best_feed_of_page_is_added() {
    let html = "<html><head><link rel=alternate type=application/rss+xml href=/comments title='Comments on News'>\
                <link rel=alternate type=application/json href=/wp-json><link rel=alternate \
                type=application/atom+xml href=/main title=News></head></html>";
    for world in world::each().await {
        world
            .publisher
            .set("/", Page::body(html).header("Link", "</head>; rel=alternate; type=\"application/rss+xml\""));
        for path in ["/comments", "/main"] {
            world.publisher.set(path, Page::body(rss(&[("1", path)])));
        }
        world.publisher.set("/wp-json", Page::body("{}"));
        // What the header names cannot be read, so the page's own is next; comments are not even asked for.
        let added = world.engine.add(world.new_feed("/")).await.unwrap();
        assert_eq!(added.feed.url, world.publisher.url("/main"));
        assert_eq!((world.publisher.requests("/head").len(), world.publisher.requests("/comments").len()), (1, 0));
        let offered: Vec<_> = added.offered.iter().map(|offer| (offer.url.clone(), offer.title.as_deref())).collect();
        assert_eq!(
            offered,
            [("/head", None), ("/main", Some("News")), ("/wp-json", None), ("/comments", Some("Comments on News"))]
                .map(|(path, title)| (world.publisher.url(path), title))
        );
        // A feed's own address offers nothing.
        world.publisher.set("/feed2", Page::body(rss(&[])));
        assert_eq!(world.engine.add(world.new_feed("/feed2")).await.unwrap().offered, []);
    }
}

#[tokio::test]
async fn f1_comments_feed_is_the_last_resort() {
    let html = "<html><head><link rel=alternate type=application/rss+xml href=/comments title=Comments></head></html>";
    for world in world::each().await {
        world.publisher.set("/", Page::body(html));
        world.publisher.set("/comments", Page::body(rss(&[("1", "One")])));
        let feed = world.engine.add_feed(world.new_feed("/")).await.unwrap();
        assert_eq!(feed.url, world.publisher.url("/comments"));
        // It is looked for elsewhere first.
        assert_eq!(world.publisher.requests("/feed").len(), 1);
    }
}

#[tokio::test]
async fn f1_usual_places_are_tried_last() {
    for world in world::each().await {
        world.publisher.set("/blog/", page(&[]));
        world.publisher.set("/elsewhere", Page::redirect(302, "/blog/"));
        world.publisher.set("/blog/feed", page(&[]));
        world.publisher.set("/atom.xml", Page::body(rss(&[("1", "One")])));
        let feed = world.engine.add_feed(world.new_feed("/elsewhere")).await.unwrap();
        assert_eq!(feed.url, world.publisher.url("/atom.xml"));
        assert_eq!(world.publisher.requests("/blog/rss.xml").len(), 1, "first where the page is, after redirects");
        let asked = world.publisher.request_count();
        assert_eq!(world.engine.add_feed(world.new_feed("/blog/")).await, Err(AddFeedError::AlreadyThere(feed.id)));
        assert!(world.publisher.request_count() < asked + 20);
    }
}

#[tokio::test]
async fn f1_u8_page_without_feed_costs_bounded_requests() {
    for world in world::each().await {
        let links: Vec<String> = (0..100).map(|number| format!("/none/{number}")).collect();
        world.publisher.set("/blog/", page(&links.iter().map(String::as_str).collect::<Vec<_>>()));
        let error = world.engine.add_feed(world.new_feed("/blog/")).await.unwrap_err();
        assert!(error.to_string().contains("none of the 64 feeds that it offers can be read"), "{error}");
        assert_eq!(world.publisher.request_count(), 1 + 5 + 20);
        // One that has had enough is asked no more.
        world.publisher.set("/busy/", page(&[]));
        world.publisher.set("/busy/feed", Page::status(429));
        let asked = world.publisher.request_count();
        assert!(matches!(world.engine.add_feed(world.new_feed("/busy/")).await, Err(AddFeedError::NotAFeed(_))));
        assert_eq!(world.publisher.request_count(), asked + 2);
        assert_eq!(world.feed_count().await, 0);
    }
}

#[tokio::test]
async fn f1_offered_feed_is_preferred_to_hfeed() {
    let hfeed = |href: &str| {
        Page::body(format!(
            "<html><head><link rel=alternate type='application/rss+xml' href='{href}'></head><body class=h-feed>\
             <article class=h-entry><a class='u-url p-name' href='/post'>Post</a></article></body></html>"
        ))
    };
    for world in world::each().await {
        world.publisher.set("/with", hfeed("/feed"));
        world.publisher.set("/without", hfeed("/none"));
        world.publisher.set("/feed", Page::body(rss(&[("1", "One")])));
        let with = world.engine.add_feed(world.new_feed("/with")).await.unwrap();
        assert_eq!(with.url, world.publisher.url("/feed"));
        let without = world.engine.add_feed(world.new_feed("/without")).await.unwrap();
        assert_eq!(without.url, world.publisher.url("/without"));
        assert_eq!(world.titles(without.id).await, ["Post"]);
    }
}

#[tokio::test]
async fn f1_existing_feed_is_found_by_every_address() {
    for world in world::each().await {
        world.publisher.set("/feed", Page::body(rss(&[])));
        world.publisher.set("/elsewhere", Page::redirect(302, "/feed"));
        world.publisher.set("/moved", Page::redirect(301, "/new"));
        world.publisher.set("/new", Page::body(rss(&[])));
        let feed = world.engine.add_feed(world.new_feed("/feed")).await.unwrap();
        let asked = world.publisher.request_count();
        assert_eq!(world.engine.add_feed(world.new_feed("/feed#x")).await, Err(AddFeedError::AlreadyThere(feed.id)));
        assert_eq!(world.publisher.request_count(), asked, "it is not asked for what is known");
        assert_eq!(world.engine.add_feed(world.new_feed("/elsewhere")).await, Err(AddFeedError::AlreadyThere(feed.id)));
        let moved = world.engine.add_feed(world.new_feed("/moved")).await.unwrap();
        assert_eq!(moved.url, world.publisher.url("/new"));
        assert_eq!(world.engine.add_feed(world.new_feed("/moved")).await, Err(AddFeedError::AlreadyThere(moved.id)));
    }
}

#[tokio::test]
async fn f1_temporary_redirect_keeps_address() {
    for world in world::each().await {
        world.publisher.set("/given", Page::redirect(302, "/today"));
        world.publisher.set("/today", Page::body(rss(&[])));
        let feed = world.engine.add_feed(world.new_feed("/given")).await.unwrap();
        assert_eq!(feed.url, world.publisher.url("/given"));
    }
}

#[tokio::test]
async fn f1_errors_store_nothing() {
    for world in world::each().await {
        set_bad_pages(&world.publisher);
        for (path, expect) in [
            ("/page", "not a feed: it is a web page that offers no feed"),
            ("/offers", "not a feed: it is a web page, and the feed that it offers cannot be read"),
            ("/garbage", "not a feed: the document is no feed"),
            ("/empty", "not a feed: the document is empty"),
            ("/json", "not a feed: the document is JSON but no feed"),
            ("/endless", "not a feed: the answer is larger than"),
            ("/404", "the server answered 404 Not Found"),
            ("/410", "the server answered 410 Gone"),
            ("/500", "the server answered 500 Internal Server Error"),
            ("/reset", "could not connect to"),
            ("/loop", "the redirects of"),
        ] {
            let error = world.engine.add_feed(world.new_feed(path)).await.unwrap_err();
            assert!(error.to_string().starts_with(expect), "{path}: {error}");
            let is_422 = matches!(error, AddFeedError::NotAFeed(_));
            assert_eq!(is_422, expect.starts_with("not a feed"), "{path}");
            assert_eq!(is_422, !matches!(error, AddFeedError::Unreachable(_)), "{path}");
        }
        assert_eq!(world.feed_count().await, 0);
    }
}

fn set_bad_pages(publisher: &Publisher) {
    publisher.set("/page", page(&[]));
    publisher.set("/offers", page(&["/404"]));
    publisher.set("/garbage", Page::body([0x89, b'P', b'N', b'G', 0, 1, 2, 3]));
    publisher.set("/empty", Page::body(" \n"));
    publisher.set("/json", Page::body("{\"a\": 1}"));
    publisher.set("/endless", Page::endless("<rss>".repeat(10_000)));
    publisher.set("/410", Page::status(410));
    publisher.set("/500", Page::body(rss(&[("1", "One")])).with_status(500));
    publisher.set("/reset", Page::reset());
    publisher.set("/loop", Page::redirect(301, "/loop"));
}

#[tokio::test]
async fn f1_bad_and_private_addresses_are_refused() {
    for world in world::each().await {
        for bad in ["", "news", "me@e.org", "ftp://e.org/", "javascript:alert(1)", "http://"] {
            let error =
                world.engine.add_feed(AddFeed { url: bad.to_owned(), ..world.new_feed("/") }).await.unwrap_err();
            assert!(matches!(error, AddFeedError::BadAddress(_)), "{bad}: {error}");
        }
        let private = AddFeed { url: "http://10.1.2.3/feed".to_owned(), ..world.new_feed("/") };
        let error = world.engine.add_feed(private).await.unwrap_err();
        assert_eq!(error.to_string(), "the address of 10.1.2.3 is not public; `allow_networks` can allow it");
        world.publisher.set("/feed", Page::body(rss(&[])));
        let nowhere = AddFeed { folder_id: Some(FolderId(99)), ..world.new_feed("/feed") };
        assert_eq!(world.engine.add_feed(nowhere).await, Err(AddFeedError::NoSuchFolder));
        assert_eq!(world.feed_count().await, 0);
    }
}

#[tokio::test]
async fn f1_a_password_is_used_and_shown_nowhere() {
    for world in world::each().await {
        world.publisher.set("/", page(&["/feed"]));
        world.publisher.set("/feed", Page::body(rss(&[("1", "One")])));
        let url = world.publisher.url("/").replace("http://", "http://me:geheim@");
        let feed = world.engine.add_feed(AddFeed { url, ..world.new_feed("/") }).await.unwrap();
        assert!(!format!("{feed:?}").contains("geheim"));
        world.refresh(feed.id).await;
        let sent =
            |path: &str| world.publisher.requests(path).iter().all(|request| request.header("authorization").is_some());
        assert!(sent("/") && sent("/feed"));
        assert_eq!(world.publisher.requests("/feed").len(), 2);
        let exported = world.engine.export_opml(READER).await.unwrap();
        assert!(exported.contains("/feed") && !exported.contains("geheim"));
    }
}

#[tokio::test]
async fn f1_concurrent_adds_make_one_feed() {
    for world in world::each().await {
        world.publisher.set("/feed", Page::body(rss(&[("1", "One")])));
        let (one, two) = tokio::join!(
            world.engine.add_feed(world.new_feed("/feed")),
            world.engine.add_feed(world.new_feed("/feed"))
        );
        assert_eq!(usize::from(one.is_ok()) + usize::from(two.is_ok()), 1, "{one:?} {two:?}");
        assert_eq!(world.feed_count().await, 1);
        drop::<World>(world);
    }
}

#[tokio::test]
async fn u8_concurrent_adds_are_bounded() {
    const ADDS: usize = 40;
    const AT_ONCE: usize = 16;
    let settings = EngineSettings { host_concurrency: ADDS, ..world::settings() };
    for world in world::each_with(settings).await {
        let gate = Gate::default();
        let other = Publisher::start().await;
        other.set("/feed", Page::body(rss(&[("1", "One")])));
        let waiting = world::import(&world.store, &[other.url("/feed")]).await[0];
        // All lead to one document, so that it can be waited for however they are ordered.
        world.publisher.set("/shared", Page::body(rss(&[("1", "One")])).behind(&gate));
        let paths: Vec<String> = (0..ADDS).map(|n| format!("/{n}")).collect();
        for path in &paths {
            world.publisher.set(path, Page::redirect(302, "/shared"));
        }
        let adds = paths.iter().map(|path| world.engine.add_feed(world.new_feed(path)));
        let opened = async {
            world.publisher.asked("/shared", AT_ONCE).await;
            // Whoever waits for a poll does not wait for those who add.
            assert_eq!(world.refresh(waiting).await.new_entries, 1);
            assert_eq!(world.publisher.request_count(), 2 * AT_ONCE);
            gate.open();
        };
        let (added, ()) = tokio::join!(futures_util::future::join_all(adds), opened);
        assert!(added.iter().all(Result::is_ok), "{added:?}");
        assert_eq!((world.publisher.request_count(), world.publisher.concurrency_max()), (2 * ADDS, AT_ONCE));
        assert_eq!(world.feed_count().await, ADDS + 1);
    }
}
