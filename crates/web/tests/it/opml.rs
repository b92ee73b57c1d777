//! OPML in and out.

use serde_json::json;

use crate::world::{World, fields, keys};

const FILE: &str = r#"<?xml version="1.0"?>
<opml version="2.0"><head><title>Mine</title></head><body>
  <outline text="Daily"><outline type="rss" text="One" xmlUrl="http://one.example/feed" htmlUrl="http://one.example/"/></outline>
  <outline type="rss" text="Two" xmlUrl="http://two.example/feed"/>
  <outline type="rss" text="Bad" xmlUrl="ftp://bad.example/feed"/>
</body></opml>"#;

impl World {
    async fn feeds_in_folders(&self) -> Vec<(String, bool)> {
        let feeds = self.get("/api/feeds").await;
        let feeds = feeds.as_array().unwrap().iter();
        feeds.map(|feed| (feed["url"].as_str().unwrap().to_owned(), feed["folderId"].is_i64())).collect()
    }
}

#[tokio::test]
async fn f6_import_reports_failures() {
    let world = World::start().await;
    let report = world.import("text/x-opml", FILE).await.ok(200);
    assert_eq!(keys(&report), fields("imported skipped errors"));
    assert_eq!((&report["imported"], &report["skipped"]), (&json!(2), &json!(0)));
    assert_eq!(report["errors"].as_array().unwrap().len(), 1);
    assert_eq!(keys(&report["errors"][0]), fields("url error"));
    assert_eq!(report["errors"][0]["url"], "ftp://bad.example/feed");
    let expected = [("http://one.example/feed".to_owned(), true), ("http://two.example/feed".to_owned(), false)];
    assert_eq!(world.feeds_in_folders().await, expected);
    assert_eq!(world.get("/api/folders").await[0]["name"], "Daily");
    let again = world.import("application/xml", FILE).await.ok(200);
    assert_eq!((&again["imported"], &again["skipped"]), (&json!(0), &json!(2)));
}

#[tokio::test]
async fn f6_import_takes_forms_and_text_types() {
    let form = format!(
        "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nx\r\n\
         --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.opml\"\r\n\
         Content-Type: text/x-opml\r\n\r\n{FILE}\r\n--b--\r\n"
    );
    for (kind, body) in [
        ("multipart/form-data; boundary=b", form.as_str()),
        ("application/octet-stream", FILE),
        ("application/x-www-form-urlencoded", FILE),
        ("text/plain; charset=utf-8", FILE),
        ("", FILE),
    ] {
        let world = World::start().await;
        assert_eq!(world.import(kind, body).await.ok(200)["imported"], 2, "{kind}");
    }
}

#[tokio::test]
async fn f6_what_is_not_opml_is_400() {
    let world = World::start().await;
    for body in ["", "not opml", "<html></html>", "{}"] {
        assert!(world.import("text/x-opml", body).await.error(400).contains("OPML"), "{body}");
    }
}

#[tokio::test]
async fn f6_export_imports_as_the_same() {
    let world = World::start().await;
    world.import("text/x-opml", FILE).await.ok(200);
    let export = world.server.get("/api/opml/export").await;
    assert_eq!(export.status, 200);
    assert_eq!(export.header("content-type"), "text/x-opml; charset=utf-8");
    assert_eq!(export.header("content-disposition"), "attachment; filename=\"pirssonite.opml\"");
    let other = World::start().await;
    let report = other.import("text/x-opml", &export.text).await.ok(200);
    assert_eq!(report, json!({"imported": 2, "skipped": 0, "errors": []}));
    assert_eq!(other.feeds_in_folders().await, world.feeds_in_folders().await);
    assert_eq!(other.get("/api/folders").await[0]["name"], "Daily");
}
