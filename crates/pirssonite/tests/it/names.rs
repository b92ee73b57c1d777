//! What users call their feeds and folders, in commands as in the API, over export and import (requirements U5, F6).

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Page, Publisher};

use crate::{
    program::{json_of, ok, on, stderr},
    server::{Data, Server},
};

const FEED: &str = "<rss><channel><title>News</title></channel></rss>";

/// As people write them, and as they are kept.
const NAMES: [(&str, &str); 8] = [
    (" two  spaces,\ta tab\r\nand \u{2028} lines ", "two spaces, a tab and lines"),
    ("quotes \" ' and & < > &amp; &#10; ]]>", "quotes \" ' and & < > &amp; &#10; ]]>"),
    ("🦀 👨‍👩‍👧 é e\u{301} \u{200f}א", "🦀 👨‍👩‍👧 é e\u{301} \u{200f}א"),
    ("a bell\u{7} \u{1b} and \u{85}others\u{ffff}", "a bell and others"),
    ("Outer / Inner", "Outer / Inner"),
    ("/ Outer / / Inner /", "/ Outer / / Inner /"),
    ("Outer", "Outer"),
    ("http://e.org/?a=1&b=2", "http://e.org/?a=1&b=2"),
];

/// The same with a server and without.
async fn check_bounds(data: Data<'_>) {
    let publisher = Publisher::start().await;
    publisher.set("/feed", Page::body(FEED));
    let url = publisher.url("/feed");
    for (flag, most) in [("--title", 500), ("--folder", 200)] {
        let long = "ä".repeat(most + 1);
        let refused = on(data, &["add", &url, flag, &long]);
        assert_eq!(refused.status.code(), Some(1), "{flag}");
        let expect = format!("{most} characters");
        assert!(stderr(&refused).contains(&expect), "{flag}: {}", stderr(&refused));
        assert_eq!(publisher.request_count(), 0, "{flag}: nobody is asked for what is refused");
    }
    // It is measured as it is kept.
    let (title, folder) = (format!(" {}  b\n", "ä".repeat(498)), format!("\t{}\n b ", "ö".repeat(198)));
    let added = json_of(data, &["add", &url, "--title", &title, "--folder", &folder, "--json"]);
    assert_eq!(added["customTitle"], format!("{} b", "ä".repeat(498)));
    assert_eq!(json_of(data, &["status", "--json"])["folders"], 1);
    assert!(ok(data, &["export"]).contains(&format!("\"{} b\"", "ö".repeat(198))));
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_names_have_the_same_bounds_everywhere() {
    let (alone, served) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    check_bounds(Data::Folder(alone.path())).await;
    let _server = Server::start(Data::Folder(served.path()), &[]);
    check_bounds(Data::Folder(served.path())).await;
}

/// All that an export holds of a list: folders in their order, and what is known of each feed.
async fn all_of(server: &Server) -> (Vec<String>, Vec<Value>) {
    let folders = server.get("/api/folders").await;
    let folders = folders.as_array().unwrap();
    let name = |id: &Value| folders.iter().find(|folder| &folder["id"] == id).map(|folder| folder["name"].clone());
    let feeds = server.get("/api/feeds").await;
    let known = ["url", "siteUrl", "title", "customTitle", "pollInterval", "pushEnabled"];
    let of = |feed: &Value| known.iter().map(|key| feed[*key].clone()).chain(name(&feed["folderId"])).collect();
    let names = folders.iter().map(|folder| folder["name"].as_str().unwrap().to_owned());
    (names.collect(), feeds.as_array().unwrap().iter().map(of).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn f6_all_that_a_list_holds_survives_export_and_import() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (from_data, to_data) = (Data::Folder(from.path()), Data::Folder(to.path()));
    let publisher = Publisher::start().await;
    let server = Server::start(from_data, &[]);
    let mut folder_ids = Vec::new();
    for (written, kept) in NAMES {
        let (status, folder) = server.call(Method::POST, "/api/folders", Some(json!({ "name": written }))).await;
        assert_eq!((status, &folder["name"]), (201, &json!(kept)));
        folder_ids.push(folder["id"].clone());
    }
    folder_ids.rotate_left(3);
    let order = json!({ "folderIds": folder_ids });
    assert_eq!(server.call(Method::PATCH, "/api/folders/reorder", Some(order)).await.0, 200);
    // The last folder stays empty; one feed is in none, and one has no name of the user's.
    for (number, (written, kept)) in NAMES.iter().enumerate() {
        let path = format!("/{number}");
        publisher.set(&path, Page::body(FEED.replace("News", &format!("<![CDATA[{}]]>", number * 7919))));
        let url = publisher.url(&path);
        let mut arguments = vec!["add", &url, "--title", written, "--json"];
        if number + 1 < NAMES.len() {
            arguments.extend(["--folder", NAMES[NAMES.len() - 2 - number].0]);
        }
        let feed = json_of(from_data, &arguments);
        assert_eq!(feed["customTitle"], *kept);
        let change = match number {
            0 => json!({ "pollInterval": 60 }),
            1 => json!({ "pollInterval": 2_592_000, "pushEnabled": false }),
            2 => json!({ "title": null }),
            _ => continue,
        };
        assert_eq!(server.call(Method::PATCH, &format!("/api/feeds/{}", feed["id"]), Some(change)).await.0, 200);
    }
    let (folders, feeds) = all_of(&server).await;
    assert_eq!((folders.len(), feeds.len()), (NAMES.len(), NAMES.len()));

    let file = from.path().join("feeds.opml");
    ok(from_data, &["export", file.to_str().unwrap()]);
    let imported = json_of(to_data, &["import", file.to_str().unwrap(), "--no-wait", "--json"]);
    assert_eq!((&imported["imported"], &imported["errors"]), (&json!(NAMES.len()), &json!([])));
    assert_eq!(ok(to_data, &["export"]), ok(from_data, &["export"]));
    let other = Server::start(to_data, &[]);
    assert_eq!(all_of(&other).await, (folders, feeds));
}
