//! Icons of feeds: where they are found, what is refused, and that nobody's password goes along.

use domain::account::READER;
use engine::AddFeed;
use testkit::Page;

use crate::world::{self, World};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x20\0\0\0\x20\x08\x06\0\0\0";
const GIF: &[u8] = b"GIF89a\x10\0\x10\0";
const SVG: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='32' height='32'><script>alert(1)</script></svg>";

fn atom(world: &World, site: &str, more: &str) -> Page {
    let site = world.publisher.url(site);
    Page::body(format!(
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>News</title><link href='{site}'/>{more}\
         <entry><id>1</id><title>One</title></entry></feed>"
    ))
}

fn page(head: &str) -> Page {
    Page::body(format!("<!doctype html><html><head>{head}</head><body>Hi</body></html>"))
        .header("content-type", "text/html")
}

/// The icon of a feed once it was looked for.
async fn looked_for(world: &World, path: &str) -> Option<Vec<u8>> {
    let feed = world.engine.add_feed(world.new_feed(path)).await.unwrap();
    assert_eq!(world.engine.settle_icons().await.unwrap(), 1);
    assert_eq!(world.engine.settle_icons().await.unwrap(), 0, "it is not due again");
    world.store.feed_icon(READER, feed.id).await.unwrap().map(|icon| icon.bytes)
}

#[tokio::test]
async fn u1_the_icon_that_the_page_names_is_found() {
    for world in world::each().await {
        world.publisher.set("/feed", atom(&world, "/site", ""));
        world
            .publisher
            .set("/site", page("<link rel='icon' href='drawn.svg'><link rel='shortcut icon' href='/i.png'>"));
        // By its bytes, whatever its server calls it.
        world.publisher.set("/i.png", Page::body(PNG).header("content-type", "text/html"));
        assert_eq!(looked_for(&world, "/feed").await.as_deref(), Some(PNG));
        assert!(world.publisher.requests("/drawn.svg").is_empty());
        assert!(world.publisher.requests("/favicon.ico").is_empty());
    }
}

#[tokio::test]
async fn u1_the_feeds_own_icon_goes_first_and_its_logo_last() {
    for world in world::each().await {
        let (own, logo) = (world.publisher.url("/own.gif"), world.publisher.url("/logo.png"));
        world.publisher.set("/feed", atom(&world, "/", &format!("<icon>{own}</icon><logo>{logo}</logo>")));
        world.publisher.set("/own.gif", Page::body(GIF));
        assert_eq!(looked_for(&world, "/feed").await.as_deref(), Some(GIF));
        assert!(world.publisher.requests("/").is_empty());
        world.publisher.set("/other", atom(&world, "/", &format!("<logo>{logo}</logo>")));
        world.publisher.set("/logo.png", Page::body(PNG));
        assert_eq!(looked_for(&world, "/other").await.as_deref(), Some(PNG));
        assert_eq!(world.publisher.requests("/favicon.ico").len(), 1, "where browsers look goes before it");
    }
}

#[tokio::test]
async fn u1_no_svg_and_no_page_is_an_icon() {
    for world in world::each().await {
        let drawn = world.publisher.url("/icon.png");
        world.publisher.set("/feed", atom(&world, "/", &format!("<icon>{drawn}</icon>")));
        world.publisher.set("/icon.png", Page::body(SVG).header("content-type", "image/png"));
        world.publisher.set("/", page(""));
        world.publisher.set("/favicon.ico", page("Not found"));
        assert_eq!(looked_for(&world, "/feed").await, None);
        let next = world.store.next_icon_in().await.unwrap().unwrap();
        assert!(next.as_secs() > 6 * 24 * 3600, "everybody answered: {next:?}");
    }
}

#[tokio::test]
async fn u1_a_site_that_fails_is_asked_again_sooner() {
    for world in world::each().await {
        world.publisher.set("/feed", atom(&world, "/", ""));
        world.publisher.set("/", Page::status(503));
        assert_eq!(looked_for(&world, "/feed").await, None);
        let next = world.store.next_icon_in().await.unwrap().unwrap();
        assert!(next.as_secs() <= 3600, "{next:?}");
    }
}

#[tokio::test]
async fn f1_no_password_is_sent_for_an_icon() {
    for world in world::each().await {
        world.publisher.set("/feed", atom(&world, "/", ""));
        world.publisher.set("/favicon.ico", Page::body(PNG));
        let url = world.publisher.url("/feed?token=secret").replace("http://", "http://ann:geheim@");
        world.publisher.set("/feed?token=secret", atom(&world, "/", ""));
        let new = AddFeed { url, ..world.new_feed("/feed") };
        world.engine.add_feed(new).await.unwrap();
        world.engine.settle_icons().await.unwrap();
        assert!(world.publisher.requests("/feed?token=secret")[0].header("authorization").is_some());
        for path in ["/", "/favicon.ico"] {
            let requests = world.publisher.requests(path);
            assert_eq!(requests.len(), 1, "{path}");
            assert_eq!((requests[0].header("authorization"), requests[0].header("referer")), (None, None), "{path}");
        }
    }
}

#[tokio::test]
async fn u8_icons_of_private_addresses_are_not_fetched() {
    for world in world::each().await {
        world
            .publisher
            .set("/feed", atom(&world, "/", "<icon>http://192.168.7.7/icon.png</icon><logo>http://[::1]/x</logo>"));
        world.publisher.set("/", page("<link rel=icon href='http://10.0.0.1/icon.png'>"));
        assert_eq!(looked_for(&world, "/feed").await, None);
        let next = world.store.next_icon_in().await.unwrap().unwrap();
        assert!(next.as_secs() > 6 * 24 * 3600, "they are refused for good: {next:?}");
    }
}
