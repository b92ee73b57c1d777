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
async fn u1_mark_all_read_by_form_marks_only_what_the_list_shows() {
    for reader in both().await {
        let feed = reader.follow("/a", &rss("River", 3), None).await["id"].clone();
        reader.follow("/b", &rss("Sea", 2), None).await;
        let (of_feed, all) = (reader.listed(&format!("feedId={feed}")).await, reader.listed("").await);
        let other = *all.iter().find(|id| !of_feed.contains(id)).unwrap();
        for id in [of_feed[0], other] {
            reader.browse("POST", &format!("/entry/{id}"), Some("isStarred=true")).await;
        }
        let mark = async |list: &str| {
            let form = format!("list={list}&before=2999-01-01T00:00:00Z");
            assert_eq!(reader.browse("POST", "/mark-read", Some(&form)).await.status, 303);
            reader.listed("unread=false").await
        };
        assert_eq!(mark(&format!("/feed/{feed}%3Fshow%3Dstarred")).await, [of_feed[0]]);
        let read = mark("/starred").await;
        assert!(read.len() == 2 && read.contains(&other), "{read:?}");
    }
}

#[tokio::test]
async fn u1_an_order_that_is_saved_holds_where_the_address_had_another() {
    for reader in both().await {
        let form = "order=oldest&back=/all%3Forder%3Dnewest";
        let saved = reader.browse("POST", "/preferences", Some(form)).await;
        assert_eq!((saved.status, saved.header("location")), (303, "/all"));
    }
}

#[tokio::test]
async fn u1_what_was_searched_for_stands_in_the_field() {
    for reader in both().await {
        let page = reader.page("/search?q=fresh+bread").await;
        assert!(page.contains("enterkeyhint=\"search\" value=\"fresh bread\""), "{page}");
        // On a phone the column that holds the field is not beside the list: there it stands above it once more.
        let list = super::between(&page, "<header class=\"top\"", "</header>");
        assert!(list.contains("name=\"q\" value=\"fresh bread\""), "{list}");
        assert!(!reader.page("/all").await.contains("Search again"));
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
