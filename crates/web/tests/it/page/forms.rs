//! What can be done without scripts.

use super::both;
use crate::world::rss;

#[tokio::test]
async fn u1_marks_by_forms() {
    for reader in both().await {
        reader.follow("/a", &rss("River", 3), None).await;
        let id = reader.listed("q=word1").await[0];
        let read = reader.browse("POST", &format!("/entry/{id}"), Some(&format!("isRead=true&back=/entry/{id}"))).await;
        assert_eq!((read.status, read.header("location")), (303, &*format!("/entry/{id}")));
        reader.browse("POST", &format!("/entry/{id}"), Some("isStarred=true")).await;
        assert_eq!(reader.listed("starred=true&unread=false").await, [id]);
        let page = reader.page(&format!("/entry/{id}")).await;
        assert!(page.contains("name=\"isStarred\" value=\"false\" aria-pressed=\"true\""), "{page}");
        assert_eq!(reader.browse("POST", "/entry/999", Some("isRead=true")).await.status, 404);
    }
}

#[tokio::test]
async fn u1_mark_all_read_by_form_spares_what_came_later() {
    for reader in both().await {
        let feed = reader.follow("/a", &rss("River", 3), None).await;
        reader.follow("/b", &rss("Sea", 2), None).await;
        let early = "list=/unread&before=2020-01-01T00:00:00Z";
        reader.browse("POST", "/mark-read", Some(early)).await;
        assert_eq!(reader.listed("unread=true").await.len(), 5);
        let form = format!("list=/feed/{}&before=2999-01-01T00:00:00Z", feed["id"]);
        let marked = reader.browse("POST", "/mark-read", Some(&form)).await;
        assert_eq!((marked.status, marked.header("location")), (303, &*format!("/feed/{}", feed["id"])));
        assert_eq!(reader.listed("unread=true").await.len(), 2);
        assert_eq!(reader.browse("POST", "/mark-read", Some("list=/search%3Fq%3Dx")).await.status, 400);
    }
}

#[tokio::test]
async fn u1_forms_of_other_sites_change_nothing() {
    for reader in both().await {
        reader.follow("/a", &rss("River", 1), None).await;
        let request = reader.server.request("POST", "/mark-read").header("origin", "https://evil.example");
        let request = request.header("content-type", "application/x-www-form-urlencoded").body("list=/unread");
        assert_eq!(crate::server::answer(request).await.status, 403);
        assert_eq!(reader.listed("unread=true").await.len(), 1);
    }
}
