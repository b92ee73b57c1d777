//! Each view has an address that shows it as a whole.

use super::{between, both};
use crate::world::rss;

#[tokio::test]
async fn u1_every_view_can_be_opened() {
    for reader in both().await {
        let folder = reader.folder("Daily").await;
        let feed = reader.follow("/a", &rss("River", 3), Some(&folder)).await;
        let other = reader.follow("/b", &rss("Sea", 2), None).await;
        let start = reader.browse("GET", "/", None).await;
        assert_eq!((start.status, start.header("location")), (303, "/unread"));

        let starred = reader.listed("q=word1").await[0];
        let patch = r#"{"isStarred":true,"isRead":true}"#;
        reader.server.send("PATCH", &format!("/api/entries/{starred}"), patch).await.ok(200);
        for (path, query, title) in [
            ("/unread".to_owned(), "unread=true".to_owned(), "(4) Unread".to_owned()),
            ("/all".to_owned(), String::new(), "All entries".to_owned()),
            ("/starred".to_owned(), "starred=true".to_owned(), "Starred".to_owned()),
            (format!("/feed/{}", feed["id"]), format!("feedId={}", feed["id"]), "River".to_owned()),
            (
                format!("/feed/{}?show=unread", other["id"]),
                format!("feedId={}&unread=true", other["id"]),
                "Sea".to_owned(),
            ),
            (format!("/folder/{}", folder["id"]), format!("folderId={}", folder["id"]), "Daily".to_owned()),
            ("/search?q=word2".to_owned(), "q=word2".to_owned(), "Search: word2".to_owned()),
        ] {
            let page = reader.page(&path).await;
            assert_eq!(super::ids(&page), reader.listed(&query).await, "{path}");
            assert_eq!(between(&page, "<title>", "</title>"), format!("{title} · piRSSonite"), "{path}");
        }
        let oldest = reader.rows("/all?order=oldest").await;
        let mut newest = reader.rows("/all").await;
        newest.reverse();
        assert_eq!(oldest, newest);
        for gone in [
            "/feed/999",
            "/folder/999",
            "/entry/999",
            "/nothing",
            "/feed/x",
            "/entry/x",
            "/webhooks/9",
            "/webhooks/x",
            "/deliveries/x",
        ] {
            let page = reader.browse("GET", gone, None).await;
            assert_eq!(page.status, 404, "{gone}");
            assert!(page.text.contains("Not here") && page.text.contains("href=\"/unread\""), "{page:?}");
        }
        assert_eq!(reader.server.get("/api/nothing").await.error(404), "there is no such path");
    }
}

#[tokio::test]
async fn u1_sidebar_shows_feeds_folders_and_counts() {
    for reader in both().await {
        let folder = reader.folder("Daily").await;
        let feed = reader.follow("/a", &rss("River", 3), Some(&folder)).await;
        reader.follow("/b", &rss("Sea", 2), None).await;
        let page = reader.page(&format!("/feed/{}", feed["id"])).await;
        let side = between(&page, "<nav", "</nav>");
        for expected in [
            r#"href="/unread" data-n="5""#.to_owned(),
            format!(r#"href="/folder/{}" dir="auto" data-n="3""#, folder["id"]),
            format!(
                r#"href="/feed/{}" draggable="true" dir="auto" data-n="3" aria-current="page">River</a>"#,
                feed["id"]
            ),
        ] {
            assert!(side.contains(&expected), "{expected}: {side}");
        }
        assert_eq!(side.matches("aria-current").count(), 1);
    }
}

#[tokio::test]
async fn u1_entry_stands_beside_its_list() {
    for reader in both().await {
        let feed = reader.follow("/a", &rss("River", 3), None).await;
        let id = reader.listed("q=word2").await[0];
        let bare = reader.page(&format!("/entry/{id}")).await;
        assert_eq!(super::ids(&bare).len(), 3, "beside its feed");
        assert!(bare.contains(&format!("data-list=\"/feed/{}\"", feed["id"])), "{bare}");
        let page = reader.page(&format!("/entry/{id}?in=/unread%3Forder%3Doldest")).await;
        assert!(page.contains("data-list=\"/unread?order=oldest\""), "{page}");
        assert_eq!(between(&page, "<title>", "</title>"), "River 2 · piRSSonite");
        assert!(page.contains("<section class=\"reading\" aria-label=\"River 2\""), "{page}");
        let article = between(&page, "<article", "</article>");
        for expected in [
            "<a href=\"https://news.example/2\" target=\"_blank\" rel=\"noopener noreferrer\">River 2</a>",
            "<template shadowrootmode=\"open\">",
            "about word2",
            "<audio controls preload=\"none\" src=\"https://news.example/2.mp3\">",
            "<a class=\"icon back\" href=\"/unread?order=oldest\"",
        ] {
            assert!(article.contains(expected), "{expected}: {article}");
        }
        // Opening it by a plain link changes nothing: that is what forms, and scripts, are for.
        assert_eq!(reader.listed("unread=true").await.len(), 3);
    }
}

#[tokio::test]
async fn u1_lists_go_on_by_links() {
    for reader in both().await {
        let feed = reader.follow("/a", &rss("Wire", 120), None).await;
        let mut path = format!("/feed/{}", feed["id"]);
        let mut seen = Vec::new();
        for _ in 0..3 {
            let page = reader.page(&path).await;
            seen.extend(super::ids(&page));
            if let Some((_, rest)) = page.split_once("rel=\"next\" href=\"") {
                path = format!("/feed/{}{}", feed["id"], rest.split('"').next().unwrap());
            }
        }
        assert_eq!(seen, reader.listed(&format!("feedId={}&limit=500", feed["id"])).await);
    }
}

#[tokio::test]
async fn u1_lists_show_summaries_or_titles_only() {
    for reader in both().await {
        reader.follow("/a", &rss("River", 2), None).await;
        assert!(reader.page("/unread").await.contains("<p dir=\"auto\">about word2</p>"));
        let saved = reader.browse("POST", "/preferences", Some("excerpts=off&theme=dark&back=/all")).await;
        assert_eq!((saved.status, saved.header("location")), (303, "/all"));
        let page = reader.page("/all").await;
        assert!(page.contains("data-theme=\"dark\"") && !page.contains("about word2"), "{page}");
        let foreign = reader.browse("POST", "/preferences", Some("back=//evil.example/")).await;
        assert_eq!(foreign.header("location"), "/");
    }
}

#[tokio::test]
async fn u1_api_gives_excerpts() {
    for reader in both().await {
        reader.follow("/a", &rss("River", 1), None).await;
        let page = reader.server.get("/api/entries?excerpt=true").await.ok(200);
        let entry = &page["entries"][0];
        assert_eq!((entry["excerpt"].as_str(), entry["summary"].as_str()), (Some("about word1"), None));
        let usual = reader.server.get("/api/entries").await.ok(200);
        assert_eq!(usual["entries"][0].get("excerpt"), None);
        reader.server.get("/api/entries?excerpt=true&content=true").await.error(400);
    }
}
