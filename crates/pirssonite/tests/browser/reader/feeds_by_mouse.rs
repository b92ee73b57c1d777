//! Feeds and folders with a mouse.

use testkit::Page;

use super::{PLACES, by_mouse::show_side};
use crate::{
    browser::{Browser, DESK, with_browser},
    scene::{Scene, Store, item},
};

#[tokio::test(flavor = "multi_thread")]
async fn u1_feeds_by_mouse() {
    for (width, store) in PLACES {
        let scene = Scene::start(store).await;
        with_browser(&format!("feeds-by-mouse-{width}-{store:?}"), width, async |browser| {
            add(&scene, browser).await;
            settings(&scene, browser).await;
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
    browser.says("#status", "Nothing new.").await;
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

/// Why a feed fails is told where it is read, and in its settings.
async fn failing(scene: &Scene, browser: &Browser) {
    scene.publisher.set("/clouds", Page::status(503));
    browser.click(".list [data-do=refresh]").await;
    browser.says("#status", "503").await;
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
    let links: String = ["one", "two"]
        .map(|name| {
            let url = scene.publish(&format!("Offer {name}"), &format!("/{name}"), &item(name, "Text."));
            format!("<link rel='alternate' type='application/rss+xml' title='Offer {name}' href='{url}'>")
        })
        .concat();
    let page = format!("<!doctype html><html><head>{links}</head><body>Both.</body></html>");
    scene.publisher.set("/site", Page::body(page).header("Content-Type", "text/html"));
    fill_add(scene, browser, &scene.publisher.url("/site")).await;
    browser.says("dialog h2", "This page offers several feeds").await;
    browser.click("dialog .offers li:nth-child(2) button").await;
    browser.says("dialog .offers li:nth-child(2) button", "Remove").await;
    browser.click("dialog .offers li:nth-child(1) button").await;
    browser.says("dialog .offers li:nth-child(1) button", "Add").await;
    browser.click("dialog .buttons .button").await;
    browser.says("#list-title", "Offer two").await;
    assert!(scene.feed("Offer one").await.is_none());
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
async fn u1_feed_is_dragged_into_a_folder() {
    let scene = Scene::start(Store::Sqlite).await;
    let boats = scene.feed_id("Boats").await;
    with_browser("dragging", DESK, async |browser| {
        scene.open(browser, "/unread").await;
        browser.drag(&format!(".tree [data-feed='{boats}'] a"), ".tree .folder:first-child > a.name").await;
        browser.says("#status", "Moved to Daily.").await;
        scene.feed_is(browser, "Boats", |feed| feed["folderId"].is_i64()).await;
        browser.find(&format!(".tree .folder:first-child [data-feed='{boats}']")).await;
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u1_opml_is_imported_and_exported() {
    let scene = Scene::start(Store::Postgres).await;
    let downloads = tempfile::tempdir().unwrap();
    let outlines: String = (0..20)
        .map(|number| {
            let url = scene.publish(&format!("Stone {number}"), &format!("/stone/{number}"), &item("Grey", "Text."));
            format!("<outline text='Stone {number}' xmlUrl='{url}'/>")
        })
        .collect();
    let file = downloads.path().join("in.opml");
    std::fs::write(
        &file,
        format!("<opml version='2.0'><body><outline text='Rocks'>{outlines}</outline></body></opml>"),
    )
    .unwrap();
    with_browser("opml", DESK, async |browser| {
        let allow = serde_json::json!({ "behavior": "allow", "downloadPath": downloads.path() });
        browser.devtools("Browser.setDownloadBehavior", allow).await;
        scene.open(browser, "/unread").await;
        browser.click("#side [data-do=opml]").await;
        browser.type_into("dialog [name=file]", file.to_str().unwrap()).await;
        browser.click("dialog form .button").await;
        browser.says("dialog", "20 feeds are new").await;
        browser.says("dialog", "All were asked for.").await;
        browser.click("dialog a[download]").await;
        let exported = browser.wait("the file", async || {
            let text = std::fs::read_to_string(downloads.path().join("pirssonite.opml")).ok()?;
            text.contains("</opml>").then_some(text)
        });
        let exported = exported.await;
        assert!(
            exported.contains("Rocks") && exported.contains("Stone 19") && exported.contains("Bread"),
            "{exported}"
        );
        browser.click("dialog [aria-label=Close]").await;
        browser.says(".tree", "Rocks").await;
        browser.assert_no_complaints().await;
    })
    .await;
}
