//! Icons of feeds, as followers get them.

use std::time::Duration;

use domain::{
    account::{AccountName, NewAccount},
    icon::{IconLook, NewIcon},
    ports::Store,
};

use super::{between, both};
use crate::world::rss;

pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x20\0\0\0\x20\x08\x06\0\0\0";

/// As if they had been looked for.
pub async fn find_icons(store: &dyn Store) {
    // A host's one after the other.
    while let Some(job) = store.claim_due_icons(1, Duration::from_mins(1)).await.unwrap().pop() {
        store.finish_icon(&job, IconLook::Found(NewIcon::of(PNG.to_vec()).unwrap())).await.unwrap();
    }
}

#[tokio::test]
async fn u1_icons_come_from_here_with_their_type() {
    for reader in both().await {
        let feed = reader.follow("/a", &rss("River", 1), None).await;
        let path = format!("/api/feeds/{}/icon", feed["id"]);
        reader.server.get(&path).await.error(404);
        find_icons(&*reader.store).await;
        let response = reader.server.request("GET", &path).send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!((response.status().as_u16(), header("content-type").as_str()), (200, "image/png"));
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
        assert!(header("cache-control").starts_with("private, max-age="));
        let tag = header("etag");
        assert_eq!(response.bytes().await.unwrap(), PNG);
        let again = crate::server::answer(reader.server.request("GET", &path).header("if-none-match", &tag)).await;
        assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", tag.as_str()));
        reader.server.get("/api/feeds/999/icon").await.error(404);
        reader.server.get("/api/feeds/x/icon").await.error(400);
    }
}

#[tokio::test]
async fn u1_pages_show_icons_from_one_sheet() {
    for reader in both().await {
        let feed = reader.follow("/a", &rss("ärger", 1), None).await;
        let page = reader.page("/unread").await;
        assert!(page.contains(&format!("<li data-feed=\"{}\" data-letter=\"Ä\">", feed["id"])), "{page}");
        assert!(!page.contains("feed-icons.css"), "there are none yet");
        find_icons(&*reader.store).await;
        let page = reader.page("/unread").await;
        let path = format!("/feed-icons.css{}", between(&page, "/feed-icons.css", "\""));
        let sheet = reader.server.get(&path).await;
        assert_eq!((sheet.status, sheet.header("content-type")), (200, "text/css; charset=utf-8"));
        assert!(
            sheet.header("cache-control").contains("private") && sheet.header("cache-control").contains("immutable")
        );
        assert!(sheet.text.starts_with(&format!("[data-feed=\"{}\"]{{--icon:url(data:image/png;base64,", feed["id"])));
        reader.follow("/b", &rss("Sea", 1), None).await;
        find_icons(&*reader.store).await;
        assert!(!reader.page("/unread").await.contains(&path), "another icon, another sheet");
    }
}

#[tokio::test]
async fn a1_icons_of_feeds_that_one_does_not_follow_are_not_there() {
    for reader in both().await {
        let feed = reader.follow("/a", &rss("River", 1), None).await;
        find_icons(&*reader.store).await;
        let new = NewAccount { name: AccountName::parse("ann").unwrap(), password_hash: None, is_admin: false };
        let ann = reader.store.create_account(new).await.unwrap().unwrap();
        let id = domain::FeedId(feed["id"].as_i64().unwrap());
        assert_eq!(reader.store.feed_icon(ann.id, id).await.unwrap(), None);
        assert_eq!(reader.store.feed_icons(ann.id).await.unwrap().icons, []);
    }
}
