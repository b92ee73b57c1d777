//! Pictures of entries that this server fetches in the place of browsers.

use testkit::Page;

use super::{Reader, between, both, both_with};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x20\0\0\0\x20\x08\x06\0\0\0";

/// Follows a feed whose entry has a picture at `/p.png` of its publisher; returns the entry's id.
async fn follow(reader: &Reader) -> i64 {
    reader.publisher.set("/p.png", Page::body(PNG).header("content-type", "image/png"));
    let picture = reader.publisher.url("/p.png");
    let feed = format!(
        "<rss version=\"2.0\"><channel><title>River</title><item><guid>1</guid><title>One</title>\
         <description>&lt;img src=\"{picture}\" srcset=\"{picture} 2x\" alt=\"A\"&gt;</description>\
         <enclosure url=\"{picture}\" type=\"image/png\" length=\"1\"/></item></channel></rss>"
    );
    reader.follow("/feed", &feed, None).await;
    reader.listed("").await[0]
}

#[tokio::test]
async fn u8_with_image_proxy_no_browser_asks_a_publisher() {
    for reader in both_with(true).await {
        let id = follow(&reader).await;
        let answer = reader.browse("GET", &format!("/entry/{id}"), None).await;
        assert!(answer.header("content-security-policy").contains("img-src 'self' data:;"), "{answer:?}");
        assert!(!answer.text.contains(&reader.publisher.url("/p.png")), "{}", answer.text);
        let path = between(&answer.text, "src=\"/pictures/", "\"");
        assert_eq!(answer.text.matches(path).count(), 3, "src, srcset and the enclosure: {}", answer.text);
        let path = format!("/pictures/{path}");
        let response = reader.server.request("GET", &path).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "image/png");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        assert_eq!(response.headers()["content-security-policy"], "default-src 'none'; frame-ancestors 'none'");
        assert_eq!(response.bytes().await.unwrap(), PNG);
        assert_eq!(reader.publisher.requests("/p.png").len(), 1);
        let proxied = reader.server.get(&format!("/api/entries/{id}?proxied=true")).await.ok(200);
        assert!(proxied["summary"].as_str().unwrap().contains(&path), "{proxied}");
        // What is stored, and what programs get, is the publisher's.
        let plain = reader.server.get(&format!("/api/entries/{id}")).await.ok(200);
        assert!(plain["summary"].as_str().unwrap().contains(&reader.publisher.url("/p.png")), "{plain}");
        reader.server.get(&format!("/api/entries/{id}?proxied=maybe")).await.error(400);
    }
}

#[tokio::test]
async fn u8_the_image_proxy_is_not_open() {
    for reader in both_with(true).await {
        let id = follow(&reader).await;
        let page = reader.page(&format!("/entry/{id}")).await;
        let path = between(&page, "src=\"/pictures/", "\"");
        let (signature, place) = path.split_once('/').unwrap();
        let other = "aHR0cDovLzEyNy4wLjAuMS9wLnBuZw";
        for path in [
            format!("{signature}/{other}"),
            format!("AAAAAAAAAAAAAAAAAAAAAA/{place}"),
            format!("x/{place}"),
            format!("{signature}/x"),
        ] {
            reader.server.get(&format!("/pictures/{path}")).await.error(404);
        }
        assert_eq!(reader.publisher.requests("/p.png").len(), 0);
    }
}

#[tokio::test]
async fn u8_without_image_proxy_pictures_stay_where_they_are() {
    for reader in both().await {
        let id = follow(&reader).await;
        let answer = reader.browse("GET", &format!("/entry/{id}"), None).await;
        assert!(answer.header("content-security-policy").contains("img-src 'self' http: https: data:;"), "{answer:?}");
        assert!(answer.text.contains(&reader.publisher.url("/p.png")) && !answer.text.contains("/pictures/"));
        reader.server.get("/pictures/AAAA/AAAA").await.error(404);
        let same = reader.server.get(&format!("/api/entries/{id}?proxied=true")).await.ok(200);
        assert_eq!(same, reader.server.get(&format!("/api/entries/{id}")).await.ok(200));
    }
}
