//! What is around the content: what a page loads, and how it is found its way in.

use super::both;
use crate::world::rss;

/// Paths of assets that a page names.
fn assets(page: &str) -> Vec<&str> {
    let quoted = page.split('"').filter(|part| part.starts_with("/assets/"));
    let mut paths: Vec<_> = quoted.collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

#[tokio::test]
async fn u1_assets_are_immutable_compressed_and_few() {
    let [reader, _] = both().await;
    let page = reader.page("/unread").await;
    let paths = assets(&page);
    assert!((4..=7).contains(&paths.len()), "{paths:?}");
    // One that shows what is sent.
    let client = reqwest::Client::builder().no_proxy().no_gzip().no_brotli().build().unwrap();
    for path in paths {
        let request = client.get(format!("{}{path}", reader.server.url)).header("accept-encoding", "gzip, br");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let headers = response.headers();
        assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable", "{path}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        if headers["content-type"] != "image/png" {
            assert_eq!(headers["content-encoding"], "br", "{path}");
        }
    }
    assert_eq!(reader.server.get("/assets/page-000000000000.js").await.status, 404);
}

#[tokio::test]
async fn u1a_pages_are_landmarks_with_names() {
    for reader in both().await {
        reader.follow("/a", &rss("River", 2), None).await;
        let page = reader.page("/unread").await;
        for expected in [
            "<html lang=\"en\"",
            "<a class=\"skip\" href=\"#main\">",
            "<nav class=\"side\" id=\"side\" popover aria-label=\"Feeds\">",
            "<main class=\"panes\" id=\"main\"",
            "role=\"status\" aria-live=\"polite\"",
            "role=\"list\"",
            "aria-label=\"Search entries\"",
            "<link rel=\"manifest\"",
        ] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
        // Every button has a name.
        for button in page.split("<button").skip(1) {
            let (tag, rest) = button.split_once('>').unwrap();
            let text = rest.split("</button>").next().unwrap();
            let is_named = tag.contains("aria-label=") || tag.contains("hidden") || text.rsplit('>').next() != Some("");
            assert!(is_named, "<button{tag}>{text}");
        }
    }
}

#[tokio::test]
async fn u1a_manifest_makes_it_installable() {
    let [reader, _] = both().await;
    let page = reader.page("/unread").await;
    let path = assets(&page).into_iter().find(|path| path.starts_with("/assets/manifest-")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&reader.server.get(path).await.text).unwrap();
    assert_eq!((&manifest["display"], &manifest["start_url"]), (&"standalone".into(), &"/unread".into()));
    for icon in manifest["icons"].as_array().unwrap() {
        let icon = reader.server.get(icon["src"].as_str().unwrap()).await;
        assert_eq!(icon.status, 200, "{icon:?}");
    }
    let sizes = |purpose: Option<&str>| -> Vec<String> {
        let icons = manifest["icons"].as_array().unwrap().iter().filter(|icon| icon["purpose"].as_str() == purpose);
        icons.map(|icon| icon["sizes"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(sizes(None), ["any", "192x192", "512x512"]);
    assert_eq!(sizes(Some("maskable")), ["512x512"]);
}

#[tokio::test]
async fn u1_a_wrong_address_is_a_page_and_robots_stay_out() {
    let [reader, _] = both().await;
    let missing = reader.browse("GET", "/no/such/page", None).await;
    assert_eq!((missing.status, missing.header("content-type")), (404, "text/html; charset=utf-8"));
    assert!(missing.text.contains("There is no page at this address.") && missing.text.contains("href=\"/unread\""));
    assert!(missing.header("content-security-policy").starts_with("default-src 'none'"), "{missing:?}");
    // A program gets JSON.
    reader.server.get("/no/such/page").await.error(404);
    let gone = reader.browse("GET", "/entry/999", None).await;
    assert_eq!((gone.status, gone.text.contains("There is no such entry.")), (404, true));
    let robots = reader.server.get("/robots.txt").await;
    assert_eq!((robots.status, robots.text.as_str()), (200, "User-agent: *\nDisallow: /\n"));
    let icon = reader.server.request("GET", "/favicon.ico").send().await.unwrap();
    assert_eq!((icon.status().as_u16(), icon.headers()["content-type"].to_str().unwrap()), (200, "image/png"));
}

#[tokio::test]
async fn u1_empty_states_say_what_to_do() {
    for reader in both().await {
        assert!(reader.page("/unread").await.contains("Add the first feed"));
        let feed = reader.follow("/a", &rss("River", 1), None).await;
        reader.browse("POST", "/mark-read", Some("list=/unread")).await;
        assert!(reader.page("/unread").await.contains("All read"));
        assert!(reader.page("/starred").await.contains("No stars yet"));
        assert!(reader.page("/search").await.contains("must not be there"));
        assert!(reader.page("/search?q=nowhere").await.contains("Nothing found"));
        reader.publisher.set("/a", testkit::Page::body("broken").with_status(500));
        reader.server.send("POST", &format!("/api/feeds/{}/refresh", feed["id"]), "").await;
        let failing = reader.page(&format!("/feed/{}", feed["id"])).await;
        assert!(failing.contains("This feed cannot be fetched.") && failing.contains("class=\"failing\""), "{failing}");
    }
}
