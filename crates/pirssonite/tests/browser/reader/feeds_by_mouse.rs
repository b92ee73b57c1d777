//! Feeds and folders with a mouse.

use std::path::Path;

use reqwest::Method;
use serde_json::json;
use testkit::Page;

use super::{PLACES, by_mouse::show_side};
use crate::{
    browser::{Browser, DESK, Key, key, with_browser},
    scene::{Scene, Store, item},
};

#[tokio::test(flavor = "multi_thread")]
async fn u1_feeds_by_mouse() {
    for (width, store) in PLACES {
        let scene = Scene::start(store).await;
        with_browser(&format!("feeds-by-mouse-{width}-{store:?}"), width, async |browser| {
            add(&scene, browser).await;
            settings(&scene, browser).await;
            folder(&scene, browser).await;
            drag(&scene, browser).await;
            opml(&scene, browser).await;
            failing(&scene, browser).await;
            unsubscribe(&scene, browser).await;
            choose(&scene, browser).await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

async fn fill_add(scene: &Scene, browser: &Browser, url: &str) {
    scene.open(browser, "/unread").await;
    show_side(browser).await;
    browser.click(".brand [data-do=add]").await;
    browser.says("dialog", "Add a feed").await;
    browser.click("dialog [name=url]").await;
    browser.press(url).await;
    browser.click("dialog .buttons .button").await;
}

async fn add(scene: &Scene, browser: &Browser) {
    let url = scene.publish("Clouds", "/clouds", &item("Rain", "Drops."));
    fill_add(scene, browser, &url).await;
    browser.says("#list-title", "Clouds").await;
    browser.ready().await;
    browser.click(".list [data-do=refresh]").await;
    browser.tells("Nothing new.").await;
}

/// Into the folder, another name, another interval, no push.
async fn settings(scene: &Scene, browser: &Browser) {
    browser.click(".list [data-do=feed]").await;
    browser.says("dialog", "It has no hub").await;
    browser.find("dialog [name=folder]").await.select_by_label("Daily").await.unwrap();
    browser.click("dialog [name=title]").await;
    browser.press("Sky").await;
    browser.choose("dialog [name=interval]", "900").await;
    browser.click("dialog [name=push]").await;
    browser.turns_page(async || browser.click("dialog .buttons .button:not(.bad)").await).await;
    browser.says("#list-title", "Sky").await;
    let feed = scene.feed("Sky").await.unwrap();
    assert_eq!((&feed["pollInterval"], &feed["pushEnabled"]), (&900.into(), &false.into()), "{feed}");
    assert!(feed["folderId"].is_i64(), "{feed}");
}

/// A new folder for the feed; it is named, moved up and removed.
async fn folder(scene: &Scene, browser: &Browser) {
    browser.click(".list [data-do=feed]").await;
    browser.choose("dialog [name=folder]", "new").await;
    browser.click("dialog [name=folderName]").await;
    browser.press("Weather").await;
    browser.turns_page(async || browser.click("dialog .buttons .button:not(.bad)").await).await;
    let folders = scene.get("/api/folders").await;
    assert_eq!(folders[1]["name"], "Weather", "{folders}");
    let id = folders[1]["id"].to_string();
    scene.open(browser, &format!("/folder/{id}")).await;
    browser.click(".list [data-do=folder]").await;
    browser.click("dialog [name=name]").await;
    browser.press(&format!("{} report", key(Key::End))).await;
    browser.turns_page(async || browser.click("dialog .buttons .button:first-child").await).await;
    browser.says("#list-title", "Weather report").await;
    browser.click(".list [data-do=folder]").await;
    browser.turns_page(async || browser.click("dialog .button.quiet").await).await;
    assert_eq!(scene.get("/api/folders").await[0]["id"].to_string(), id);
    browser.click(".list [data-do=folder]").await;
    browser.turns_page(async || browser.click("dialog .button.bad").await).await;
    browser.tells("The folder was removed.").await;
    scene.feed_is(browser, "Sky", |feed| feed["folderId"].is_null()).await;
}

async fn drag(scene: &Scene, browser: &Browser) {
    let boats = scene.feed_id("Boats").await;
    show_side(browser).await;
    browser.drag(&format!(".tree [data-feed='{boats}'] a"), ".tree .folder:first-child > a.name").await;
    browser.tells("Moved to Daily.").await;
    scene.feed_is(browser, "Boats", |feed| feed["folderId"].is_i64()).await;
    browser.find(&format!(".tree .folder:first-child [data-feed='{boats}']")).await;
}

async fn opml(scene: &Scene, browser: &Browser) {
    let downloads = tempfile::tempdir().unwrap();
    let outlines: String = (1..=3)
        .map(|number| {
            let url = scene.publish(&format!("Stone {number}"), &format!("/stone/{number}"), &item("Grey", "Text."));
            format!("<outline text='Stone {number}' xmlUrl='{url}'/>")
        })
        .collect();
    let file = downloads.path().join("in.opml");
    let opml = format!("<opml version='2.0'><body><outline text='Rocks'>{outlines}</outline></body></opml>");
    std::fs::write(&file, opml).unwrap();
    scene.open(browser, "/unread").await;
    show_side(browser).await;
    browser.click("#side [data-do=opml]").await;
    browser.type_into("dialog [name=file]", file.to_str().unwrap()).await;
    browser.click("dialog form .button").await;
    browser.says("dialog", "3 feeds are new").await;
    browser.says("dialog", "All were asked for.").await;
    let exported = downloaded(browser, downloads.path(), async || browser.click("dialog a[download]").await).await;
    assert!(exported.contains("Rocks") && exported.contains("Stone 3") && exported.contains("Bread"), "{exported}");
    browser.turns_page(async || browser.click("dialog [aria-label=Close]").await).await;
    browser.holds("document.querySelector('.tree').textContent.includes('Rocks')").await;
}

/// The exported file, which this brings.
pub(super) async fn downloaded(browser: &Browser, folder: &Path, act: impl AsyncFnOnce()) -> String {
    let allow = json!({ "behavior": "allow", "downloadPath": folder });
    browser.devtools("Browser.setDownloadBehavior", allow).await;
    act().await;
    let look =
        async || std::fs::read_to_string(folder.join("pirssonite.opml")).ok().filter(|text| text.contains("</opml>"));
    browser.wait("the file", look).await
}

/// Why a feed fails is told where it is read, and in its settings.
async fn failing(scene: &Scene, browser: &Browser) {
    scene.publisher.set("/clouds", Page::status(503));
    scene.open(browser, &format!("/feed/{}", scene.feed_id("Sky").await)).await;
    browser.click(".list [data-do=refresh]").await;
    browser.tells("503").await;
    browser.reload().await;
    browser.says(".warning", "503").await;
    browser.ready().await;
    browser.click(".list [data-do=feed]").await;
    browser.says("dialog .problem-text", "503").await;
    browser.click("dialog [aria-label=Close]").await;
    browser.gone("dialog").await;
    browser.find(".tree a.failing").await;
}

async fn unsubscribe(scene: &Scene, browser: &Browser) {
    browser.click(".list [data-do=feed]").await;
    browser.click("dialog .button.bad").await;
    browser.says("dialog:last-of-type h2", "Unsubscribe from Sky?").await;
    browser.turns_page(async || browser.click("dialog:last-of-type .button.bad").await).await;
    browser.is_at("/unread").await;
    scene.feed_is_gone(browser, "Sky").await;
}

/// A page that offers several: the first is there, the second instead of it.
async fn choose(scene: &Scene, browser: &Browser) {
    fill_add(scene, browser, &publish_site(scene)).await;
    browser.says("dialog h2", "This page offers several feeds").await;
    browser.click("dialog .offers li:nth-child(2) button").await;
    browser.says("dialog .offers li:nth-child(2) button", "Remove").await;
    browser.click("dialog .offers li:nth-child(1) button").await;
    browser.says("dialog .offers li:nth-child(1) button", "Add").await;
    browser.click("dialog .buttons .button").await;
    browser.says("#list-title", "Offer two").await;
    assert!(scene.feed("Offer one").await.is_none());
}

/// Puts a page there that offers two feeds; returns its URL.
pub(super) fn publish_site(scene: &Scene) -> String {
    let links: String = ["one", "two"]
        .map(|name| {
            let url = scene.publish(&format!("Offer {name}"), &format!("/{name}"), &item(name, "Text."));
            format!("<link rel='alternate' type='application/rss+xml' title='Offer {name}' href='{url}'>")
        })
        .concat();
    let page = format!("<!doctype html><html><head>{links}</head><body>Both.</body></html>");
    scene.publisher.set("/site", Page::body(page).header("Content-Type", "text/html"));
    scene.publisher.url("/site")
}

#[tokio::test(flavor = "multi_thread")]
async fn u1_first_feed_of_several_is_chosen() {
    // Entries that come into an empty list load the page anew, but not under somebody's hands.
    let scene = Scene::start_empty(Store::Sqlite).await;
    with_browser("first-feed", DESK, async |browser| {
        choose(&scene, browser).await;
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u1_folder_that_is_there_is_known_by_its_exact_name() {
    let scene = Scene::start(Store::Sqlite).await;
    for name in ["Weather Report", "weather report"] {
        scene.call(Method::POST, "/api/folders", json!({ "name": name })).await;
    }
    let url = scene.publish("Clouds", "/clouds", &item("Rain", "Drops."));
    with_browser("folder-by-name", DESK, async |browser| {
        scene.open(browser, "/unread").await;
        browser.press("a").await;
        browser.type_into("dialog [name=url]", &url).await;
        browser.choose("dialog [name=folder]", "new").await;
        browser.type_into("dialog [name=folderName]", " weather  report ").await;
        browser.turns_page(async || browser.click("dialog .buttons .button").await).await;
        let feed = scene.feed("Clouds").await.unwrap();
        let folders = scene.get("/api/folders").await;
        let folder = folders.as_array().unwrap().iter().find(|folder| folder["id"] == feed["folderId"]);
        assert_eq!(folder.map(|folder| &folder["name"]), Some(&json!("weather report")), "{feed}");
        browser.assert_no_complaints().await;
    })
    .await;
}
